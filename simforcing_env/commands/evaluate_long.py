"""IRASim's long protocol on held-out episodes, as published and named so.

Whole episodes from their first frame alone, in chunks of 15 actions, each on what was generated before; the last chunk
is filled by repeating its first remaining action and frames beyond the episode are not counted. Frame t is held against
true frame t. Published: latent_l2 (scaled latents) and psnr (colour), means over an episode's frames, then over all
episodes; intervals are over episodes. Beyond: ssim, lpips, psnr_copy (the first frame for ever), _hK at frame K of the
episodes that reach it, curves by frame. What is carried from chunk to chunk is a choice: the sampled latents as they
are, as published, or --carry frames, the rule of the environments: decode, round to 8 bits, encode again; with latents
the PSNR of the other rule stands beside as psnr_8bit_carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simforcing_env.commands.checks import at_least, some
from simforcing_env.evaluation.protocol_options import ProtocolOptions


@dataclass(frozen=True)
class Config(ProtocolOptions):
    """Options of ``simforcing evaluate long``."""

    chunk: int = 15
    """Actions of a chunk; 15 as published. A model that takes fewer at once has chunks of as many as it takes."""
    carry: Literal["latents", "frames"] = "latents"
    """What becomes history: sampled latents, as published, or 8-bit frames encoded again, as in the environments."""
    horizons: tuple[int, ...] = (1, 8, 15, 30, 60, 120)
    """Generated frames at which PSNR and latent L2 are given alone too, where episodes are long enough."""


def run(config: Config) -> None:
    """Generate, measure, print, write."""
    import numpy as np

    from simforcing_env.evaluation.long import carrying, evaluate_long, long_metrics
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.protocol_running import find_tools, finish, held_out_episodes, open_guided

    at_least(1, chunk=config.chunk, horizons=config.horizons)
    at_least(1, episodes=config.episodes or None)
    some(horizons=config.horizons)
    simulator, rollout = open_guided(config)
    tools = find_tools(simulator.contract, config.download)
    episodes = held_out_episodes(config, simulator.contract)
    generator = np.random.default_rng(config.seed)
    asked = carrying(rollout, config.carry, config.chunk)
    other = carrying(rollout, "frames", config.chunk) if config.carry == "latents" else None
    chunk = config.chunk if asked.piece == 1 else asked.piece
    with counting("generating whole episodes", len(episodes)) as step:
        tracks = evaluate_long(asked, episodes, chunk, tools.lpips, generator, other, step)
    finish(
        config,
        simulator,
        rollout,
        episodes,
        tracks,
        long_metrics(tracks, config.horizons, generator),
        protocol="long",
        settings={"chunk": chunk, "carry": config.carry, "history": rollout.history},
        tools=tools,
        plotted=("psnr", "ssim", "latent_l2", "lpips"),
    )
