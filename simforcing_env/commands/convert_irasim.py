"""A checkpoint of the published training code, ``{model, ema, opt, args}``, becomes a checkpoint folder of ours: IRASim
in all sizes, VDM and LVDM.

The averaged weights are taken. Nothing in the file is run, and a key or shape that the published models do not have is
refused. What the file does not tell (the contract's numbers, the autoencoder) comes from the options.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from simforcing_env.commands.checks import above

if TYPE_CHECKING:
    from world_model.codecs import CodecModule
    from world_model.contract import Contract


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing convert irasim``."""

    checkpoint: tyro.conf.Positional[Path]
    """The published file, such as ``checkpoints/frame_ada/0300000.pt``."""
    out: tyro.conf.Positional[Path]
    """Folder for the converted checkpoint."""
    world: Literal["rt1", "bridge", "languagetable"] | None = None
    """Data set that it was trained on; otherwise what its arguments say."""
    contract: Path | None = None
    """Contract of other data: a ``contract.json``, or a data set folder that holds one."""
    codec: Path | None = None
    """Folder of the autoencoder: one of ours, or one in the layout of diffusers, such as SDXL's ``vae``. Otherwise
    SDXL's is taken from the hub or its cache. Pixel models need none."""
    steps: int = 50
    """Steps of PNDM that the checkpoint is sampled with unless it is told otherwise."""
    guidance: float = 1.0
    """How strongly its frames follow the actions: 1 as published, more than 1 beyond what training showed."""


def run(config: Config) -> None:
    """Read, translate, load strictly, write."""
    from world_model.checkpoint import check_place, load_state
    from world_model.diffusion import SAMPLERS
    from world_model.diffusion.guidance import GuidedConfig, GuidedSampler
    from world_model.diffusion.schedulers import SchedulerConfig, SchedulerSampler
    from world_model.errors import DataError
    from world_model.models import MODELS
    from world_model.models.released import read_released, translate
    from world_model.pretrained import LearnedSimulator
    from world_model.registry import to_dict

    above(0, steps=config.steps, guidance=config.guidance)
    check_place(config.out)
    released = read_released(config.checkpoint)
    if not released.averaged:
        print(f"warning: {config.checkpoint} holds no 'ema': its plain weights are taken", file=sys.stderr)
    model_config, weights = translate(released, str(config.checkpoint))
    model = next(kind for settings, kind in MODELS.values() if settings is type(model_config))(model_config)
    load_state(model, weights, config.checkpoint)
    codec = _codec(config, model_config.latent_channels)
    grid = getattr(model_config, "grid", None)
    size = None if grid is None else (grid[0] * codec.downsample, grid[1] * codec.downsample)
    contract = _contract(config, released.arguments, size)
    for name, needed, there in (
        ("actions", model_config.action_dim, contract.action_dim),
        ("latent channels", model_config.latent_channels, codec.latent_channels),
    ):
        if needed != there:
            raise DataError(
                f"{config.checkpoint} takes {needed} {name} but the contract {contract.name!r} and codec have {there}; "
                "give --world, --contract or --codec of what it was trained with"
            )
    sampler = SchedulerSampler(SchedulerConfig("pndm", config.steps))
    guided = GuidedSampler(GuidedConfig(to_dict(SAMPLERS, sampler), config.guidance))
    simulator = LearnedSimulator(
        model=model.eval(),
        codec=codec,
        contract=contract,
        sampler=sampler if config.guidance == 1 else guided,
        history=model_config.history,
        recipe={"name": "released", "file": config.checkpoint.name},
    )
    simulator.save_pretrained(config.out, dtype=None)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{config.out}: {type(model).__name__} with {parameters / 1e6:.2f} M parameters for {contract.name}")


def _codec(config: Config, channels: int) -> CodecModule:
    from world_model.checkpoint import MANIFEST
    from world_model.codecs import SpaceToDepth, SpaceToDepthConfig, load_codec, read_autoencoder
    from world_model.codecs.autoencoder import SDXL

    if config.codec is not None:
        return load_codec(config.codec) if (config.codec / MANIFEST).is_file() else read_autoencoder(config.codec)
    if channels == 3:
        return SpaceToDepth(SpaceToDepthConfig(1)).eval()
    return read_autoencoder(SDXL, "vae")


def _contract(config: Config, arguments: Mapping[str, Any], size: tuple[int, int] | None) -> Contract:
    from world_model.contract import Contract
    from world_model.errors import DataError, InputError
    from world_model.models.released.contract import WORLDS, released_contract, world_of

    if config.contract is not None:
        places = (config.contract, config.contract / "contract.json", config.contract / "meta" / "contract.json")
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise InputError(f"--contract is {config.contract}, where there is no contract.json; check the path")
        return Contract.from_json(found.read_text(encoding="utf-8"))
    world = config.world or world_of(arguments)
    if world is None:
        raise DataError(f"{config.checkpoint} does not say what it was trained on; give --world {'|'.join(WORLDS)}")
    return released_contract(world, size)
