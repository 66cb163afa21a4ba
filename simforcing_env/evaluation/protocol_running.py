"""What the commands of the published protocols do alike: open, say what is missing, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.commands.checks import at_least
from simforcing_env.evaluation.episodes import true_episodes
from simforcing_env.evaluation.loading import open_rollout
from simforcing_env.evaluation.protocol_options import ProtocolOptions
from simforcing_env.evaluation.reporting import print_metrics, provenance
from simforcing_env.evaluation.track_files import write_track_files
from simforcing_env.evaluation.tracks import Track, episodes_hash
from world_model.checkpoint import sha256
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.diffusion.guidance import guided
from world_model.errors import InputError
from world_model.metrics.lpips import SMALLEST, Lpips, load_lpips
from world_model.metrics.weights import NETWORKS, find
from world_model.pretrained import LearnedSimulator
from world_model.results import Metric, write_results
from world_model.rollout import Rollout


@dataclass
class Tools:
    """LPIPS where it is here, a sentence for each metric that is missing, and the hashes of the networks in use."""

    lpips: Lpips | None = None
    missing: dict[str, str] = field(default_factory=dict)
    networks: dict[str, str] = field(default_factory=dict)


def open_guided(config: ProtocolOptions) -> tuple[LearnedSimulator, Rollout]:
    """As `open_rollout`, with the guidance that is asked for.

    Raises:
        InputError: also guidance of a model that needs its actions.
    """
    at_least(0, guidance=config.guidance)
    simulator, rollout = open_rollout(config)
    if config.guidance is not None:
        rollout.sampler = guided(rollout.sampler, simulator.model, config.guidance)
    return simulator, rollout


def find_tools(contract: Contract, download: bool) -> Tools:
    """LPIPS for the contract's pictures, or why it is missing."""
    path = find("lpips", download=download)
    if path is None:
        return Tools(missing={"lpips": NETWORKS["lpips"].missing})
    side = min(min(camera.height, camera.width) for camera in contract.cameras)
    if side < SMALLEST:
        reason = f"LPIPS is left out: it takes pictures of {SMALLEST} px and more, these have {side}"
        return Tools(missing={"lpips": reason})
    return Tools(load_lpips(path), networks={"lpips": sha256(path)[:16]})


def held_out_episodes(config: ProtocolOptions, contract: Contract) -> list[Episode]:
    """The first ``config.episodes`` of all its data sets in turn, or as many that the teacher records.

    Raises:
        ContractError: a data set follows another contract.
        InputError: further data sets without a first one, or what `true_episodes` refuses.
    """
    if config.also and config.dataset is None:
        raise InputError(f"--also is {config.also[0]} but there is no --dataset that it could follow; give it as that")
    found: list[Episode] = []
    for place in (config.dataset, *config.also):
        if not config.episodes or len(found) < config.episodes:
            found += true_episodes(place, config.split, config.episodes, contract)
    return found[: config.episodes or None]


def finish(
    config: ProtocolOptions,
    simulator: LearnedSimulator,
    rollout: Rollout,
    episodes: Sequence[Episode],
    tracks: Sequence[Track],
    metrics: Mapping[str, Metric],
    *,
    protocol: str,
    settings: Mapping[str, Any],
    tools: Tools,
    plotted: Sequence[str],
    compared: dict[str, NDArray[np.float64]] | None = None,
) -> None:
    """Print the metrics and what is missing; with ``--json`` write the results, tables, pictures and films."""
    print_metrics(metrics)
    for sentence in tools.missing.values():
        print(sentence)  # noqa: T201
    if config.json is None:
        return
    path, generator = Path(config.json), np.random.default_rng(config.seed)
    shown = write_track_files(path, tracks, plotted, simulator.contract.frame_hz, generator, compared)
    notes = {
        "protocol": protocol,
        "checkpoint": config.checkpoint if Path(config.checkpoint).name == config.checkpoint else "a folder",
        "episodes": {
            "count": len(episodes),
            "hash": episodes_hash(episodes),
            "from": _source(config),
        },
        "settings": {**settings, **({} if config.guidance is None else {"guidance": config.guidance})},
        "missing": tools.missing,
        "networks": tools.networks,
        "films": shown,
    }
    write_results(path, metrics=metrics, notes=notes, **provenance(simulator, rollout, [config.seed]))
    print(f"written: {path}, tables beside it, pictures and films in {path.parent / 'media'}")  # noqa: T201


def _source(config: ProtocolOptions) -> str:
    if config.dataset is None:
        return f"recorded on the spot, {config.split} split"
    return ", ".join(place.resolve().name for place in (config.dataset, *config.also))
