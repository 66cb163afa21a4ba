"""From a recipe's name and folders to a `Trainer`."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import torch
from torch import nn

from world_model.atomic import replace_text
from world_model.canvas import canvas_shape
from world_model.checkpoint import load_state, open_folder, read_json
from world_model.codecs import load_codec, save_codec
from world_model.codecs.making import check_codec, make_codec
from world_model.contract import Contract, first_difference
from world_model.diffusion import SAMPLERS
from world_model.errors import DataError, InputError
from world_model.interface import Codec
from world_model.models import MODELS
from world_model.models.joint_student import JointStudent
from world_model.models.video_diffusion import VideoConfig
from world_model.models.wan import begin_with, read_transformer
from world_model.pretrained import LearnedSimulator
from world_model.registry import build, build_config
from world_model.runtime import resolve_device
from world_model.training.recipes import recipe
from world_model.training.sources import open_source
from world_model.training.trainer import Trainer


def start_run(
    name: str,
    overrides: Sequence[str],
    *,
    dataset: Path | Sequence[Path],
    held_out: Path,
    out: Path,
    codec: Path | None = None,
    initial: Path | None = None,
    device: str = "auto",
) -> Trainer:
    """Read the data, fit or load the codec, build the model and pick up what stands in ``out``.

    ``dataset``: one folder, or several data sets. ``initial``: checkpoint with the first weights and the codec.

    Raises:
        ContractError: training and held-out data have different contracts.
        DataError: ``out`` holds a run with other settings, or data cannot be read.
        InputError: the recipe or an override is wrong, or the device is not there.
    """
    plan, device = recipe(name, overrides), resolve_device(device)
    build_config(MODELS, plan.train.model, f"recipe {name!r}")  # refused now: reading the data can take minutes
    check_codec(plan.codec, f"codec of recipe {name!r}")
    sampler = build(SAMPLERS, plan.sampler, f"recipe {name!r}")
    net = None if codec is None else load_codec(codec)
    data, other = open_source(dataset, plan.side, plan.episodes), open_source(held_out, plan.side)
    first = None if initial is None else LearnedSimulator.from_pretrained(initial, contract=data.contract)
    named = dataset if isinstance(dataset, Path) else dataset[0]
    data.contract.require_same(other.contract, str(named), str(held_out))
    out.mkdir(parents=True, exist_ok=True)
    lock = _lock(out)
    settings: dict[str, Any] = {
        **dataclasses.asdict(plan),
        "data": data.counts(),
        "given_codec": None if codec is None else open_folder(codec).hash,
        "given_initial": None if first is None else first.hash,
    }
    if not plan.pretrained:
        del settings["pretrained"]  # runs from before there was such a field go on
    new = _is_new(out, settings)
    windows = data.windows(plan.train.windows, plan.train.state)
    length = plan.train.windows.history + plan.train.validation_frames
    check = dataclasses.replace(plan.train.windows, length=length)
    validation = other.windows(check, plan.train.state)
    if not new:
        net = load_codec(out / "codec")
    elif first is not None:
        net = first.codec
    net = net or make_codec(plan.codec, data.pictures(windows), f"codec of recipe {name!r}")
    weights = tuple(float(w) for w in getattr(net, "scale", torch.ones(1)).square())
    weights = weights * (net.latent_channels // len(weights)) if len(weights) > 1 else ()
    values = {**plan.train.model, "channel_weights": weights}
    kind, model_config = build_config(MODELS, values, f"recipe {name!r}")
    if isinstance(model_config, VideoConfig):
        _check_fits(model_config, data.contract, net, name)
    with torch.random.fork_rng():
        torch.manual_seed(plan.train.seed)  # torch's layers draw their first weights from the global generator
        model = MODELS[kind][1](model_config)
    if first is None and new and plan.pretrained:
        begin_with(getattr(model, "video", model), read_transformer(plan.pretrained), plan.pretrained)
    if first is not None:
        load_state(model, first.model.state_dict(), Path(str(initial)))
        if isinstance(model, JointStudent):
            model.freeze_teacher()
    if new and _is_main():  # now that nothing was refused
        save_codec(net, out / "codec")
        replace_text(out / "config.json", json.dumps(settings, indent=2))

    def export(average: nn.Module, step: int, seconds: float) -> None:
        LearnedSimulator(
            model=average,
            codec=net,
            contract=data.contract,
            sampler=sampler,
            history=plan.history,
            recipe={
                "name": name,
                "overrides": list(overrides),
                "seed": plan.train.seed,
                "steps": step,
                "minutes": round(seconds / 60, 1),
                "frames": len(windows.frames),
            },
        ).save_pretrained(out / "checkpoint")

    trainer = Trainer(plan.train, model, net, data.contract, windows, validation, sampler, out, export, device)
    trainer.lock = lock
    return trainer


def _check_fits(config: VideoConfig, contract: Contract, codec: Codec, name: str) -> None:
    """Refuse a published model whose shapes are not those of the data and the codec."""
    height, width = canvas_shape(contract)[:2]
    needed = {
        "action_dim": contract.action_dim,
        "latent_channels": codec.latent_channels,
        "grid": (height // codec.downsample, width // codec.downsample),
    }
    for field, wanted in needed.items():
        told = getattr(config, field, wanted)
        if told != wanted:
            raise InputError(
                f"recipe {name!r} has a model with {field} {told} but data {contract.name!r} and codec need {wanted}; "
                f"give --set train.model.{field}={json.dumps(wanted)}, or other data"
            )


def _is_main() -> bool:
    """Whether this is the first of a launcher's processes, which share the folder, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def _lock(out: Path) -> IO[str] | None:
    """Keep other processes out of the folder until the handle is closed or this process ends."""
    if not _is_main():
        return None
    handle = open(out / ".lock", "w")  # noqa: SIM115 (held as long as the trainer)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise DataError(f"{out} is in use by another training; wait for it or choose another --out") from None
    return handle


def _is_new(out: Path, settings: dict[str, Any]) -> bool:
    """Whether no run stands in ``out``; one with other settings is refused."""
    path = out / "config.json"
    if not path.exists():
        return True
    difference = first_difference(read_json(path), json.loads(json.dumps(settings)))
    if difference is not None:
        field, there, here = difference
        option = f" (--{field.removeprefix('given_')})" if field.startswith("given_") else ""
        raise DataError(
            f"{out} holds a run with {field} {there!r}{option}, not {here!r}; choose another --out, or go on with it "
            "by the command that it began with"
        )
    return False
