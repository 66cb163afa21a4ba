"""IRASim's short protocol on held-out episodes, as published and named so, and what is beyond the paper.

Windows of one known frame and 15 generated ones at every 16th frame; frame t is held against true frame t, all windows
are averaged, intervals are over episodes. Published: latent_l2 (scaled latents), psnr_grey, ssim_grey (8-bit grey
pictures), fid, fvd. Beyond: psnr, ssim, lpips in colour; _hK at frame K alone; _copy, the known frame for ever; PSNR
lost under another episode's actions (shuffle_gap_db), when told to hold still (zero_gap_db), or with actions a frame
off (shift_*_gap_db, best_shift); action_r2 and action_mae of actions read from the frames by a network trained on true
pairs of training episodes (_true its own error, _generated, _shuffled; _control and _still are controls).
A metric whose network is not on this machine is missing and the line that fetches it is printed; no other
features stand in. Weights are looked for in the folder SIMFORCING_WEIGHTS, then in an installed package, then where a
hub keeps them. A TorchScript file is a program: one that is not the published one runs with --trust-torchscript only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, some
from simforcing_env.evaluation.protocol_options import ProtocolOptions
from world_model.errors import InputError

if TYPE_CHECKING:
    from world_model.contract import Contract
    from world_model.data.episode import Episode


@dataclass(frozen=True)
class Config(ProtocolOptions):
    """Options of ``simforcing evaluate short``."""

    known: int = 1
    """True frames at a window's beginning; 1 as published."""
    frames: int = 15
    """Generated frames of a window; 15 as published."""
    stride: int = 16
    """Frames from one window to the next; 16 as published."""
    horizons: tuple[int, ...] = (1, 8, 15)
    """Generated frames at which PSNR and latent L2 are given alone too; those beyond --frames are left out."""
    distributions: bool = True
    """Whether FID and FVD are taken where their networks are found."""
    fvd_windows: int = 0
    """Windows that FVD takes, evenly spread over all; 0 for all. On a CPU a window takes seconds."""
    trust_torchscript: bool = False
    """Run an i3d_torchscript.pt whose hash is not the published one."""
    training_dataset: Path | None = None
    """LeRobot v3.0 folder of the training split for action recovery; with no --dataset either, the teacher records."""
    training_episodes: int = 150
    """Training episodes for action recovery, 0 to leave it out."""
    inverse_steps: int = 2000
    """Training steps of the network that reads actions."""


def run(config: Config) -> None:
    """Generate, measure, print, write."""
    import numpy as np
    from tqdm import tqdm

    from simforcing_env.evaluation.distributions import distribution_metrics
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.protocol_running import find_tools, finish, held_out_episodes, open_guided
    from simforcing_env.evaluation.recovery import check_apart, recovery_metrics
    from simforcing_env.evaluation.short import evaluate_short, short_metrics
    from world_model.metrics.clips import cut_windows
    from world_model.metrics.inverse import InverseConfig, fit_inverse

    at_least(1, known=config.known, frames=config.frames, stride=config.stride, horizons=config.horizons)
    at_least(2, episodes=config.episodes or None)
    at_least(0, training_episodes=config.training_episodes, fvd_windows=config.fvd_windows)
    at_least(1, inverse_steps=config.inverse_steps)
    some(horizons=config.horizons)
    simulator, rollout = open_guided(config)
    contract = simulator.contract
    tools = find_tools(contract, config.download)
    episodes = held_out_episodes(config, contract)
    windows = cut_windows(episodes, config.known, config.frames, config.stride, 2)
    training, reason = _training_episodes(config, contract)
    if training:
        check_apart(training, windows.start)
    else:
        tools.missing["action_recovery"] = reason
    generator = np.random.default_rng(config.seed)
    report = evaluate_short(rollout, windows, tools.lpips, generator, tqdm.write)
    metrics = short_metrics(report, [k for k in config.horizons if k <= config.frames], generator)
    if config.distributions:
        found = distribution_metrics(
            report.frames,
            windows.truth,
            windows.group,
            fvd_windows=config.fvd_windows,
            download=config.download,
            trust_torchscript=config.trust_torchscript,
            stage=tqdm.write,
        )
        metrics |= found.metrics
        tools.missing |= found.missing
        tools.networks |= found.networks
    else:
        tools.missing |= {name: f"{name.upper()} is left out: --no-distributions was given" for name in ("fid", "fvd")}
    if training:
        with counting("training the reader of actions", config.inverse_steps) as step:
            network = fit_inverse(training, contract, InverseConfig(steps=config.inverse_steps), config.seed, step)
        metrics |= recovery_metrics(network, contract, report, generator)
    finish(
        config,
        simulator,
        rollout,
        episodes,
        report.tracks,
        metrics,
        protocol="short",
        settings={
            **{name: getattr(config, name) for name in ("known", "frames", "stride")},
            "history": rollout.history,
            "training_episodes": len(training),
        },
        tools=tools,
        plotted=("psnr", "ssim", "latent_l2", "lpips"),
        compared={name: values for name, values in report.psnr.items() if name in ("psnr_shuffled", "psnr_zero")},
    )


def _training_episodes(config: Config, contract: Contract) -> tuple[list[Episode], str]:
    """Episodes of the training split, or none and why."""
    from simforcing_env.evaluation.episodes import RECORDED_SEED, first_episodes
    from simforcing_env.evaluation.progress import counting
    from teachers.recording import recorder_for
    from world_model.data.lerobot.reader import read_dataset

    count = config.training_episodes
    if not count:
        return [], "action recovery is left out: --training-episodes is 0"
    if config.training_dataset is not None:
        return first_episodes(read_dataset(config.training_dataset, contract), count), ""
    if config.dataset is not None:
        return [], "action recovery is left out: give --training-dataset, a LeRobot v3.0 folder of the training split"
    try:
        recorder = recorder_for(contract, "train", RECORDED_SEED, {})
    except InputError as error:
        return [], f"action recovery is left out: {error}"
    episodes = []
    with counting("recording training episodes", count) as step:
        for index in range(count):
            episodes.append(recorder.record(index))
            step(index + 1)
    return episodes, ""
