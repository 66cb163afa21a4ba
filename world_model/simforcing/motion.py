"""The losses of a joint student on pairs: flow matching in both domains, and the frozen teacher's latent motion.

SimForcing's public code: both clips of a pair share their noise and their level; the teacher sees the simulated clip
at that level. With the clean estimate ``x = z - s v`` and its change ``D(x)[k] = x[k + 1] - x[k]`` along time,

    flow(d)   = w mse(v_student(d), noise - clean(d))
    motion(d) = w mse(D(x_student(d)), D(x_teacher(sim)))
    loss      = video / 2 (real flow(real) + sim flow(sim)) + motion / 2 (real motion(real) + sim motion(sim))

for the domains d, with a weight w of the level that is 0 for pure noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from world_model.diffusion.flow import level_weight
from world_model.rules import Number, Whole, settle


@dataclass(frozen=True)
class PairLossConfig:
    """Weights as published."""

    video: float = 1.0
    motion: float = 0.5
    """0 leaves the distillation out."""
    real: float = 1.0
    sim: float = 0.1
    shift: float = 5.0
    """Of the levels, see `shift_levels`."""
    known: int = 1
    """Frames at the front that are clean and count for no flow loss."""

    def __post_init__(self) -> None:
        weight = Number(0, 1e6)
        settle(self, {"video": weight, "motion": weight, "real": weight, "sim": weight})
        settle(self, {"shift": Number(1e-3, 1e3), "known": Whole(1, 256)})


@dataclass(frozen=True)
class Estimates:
    """Clean latents that a network makes of both clips of a pair, and the truth, ``(B, T, C, U, V)`` each."""

    real: Tensor
    sim: Tensor
    real_truth: Tensor
    sim_truth: Tensor


def latent_motion(latents: Tensor) -> Tensor:
    """``(B, T, ...)`` to the changes from frame to frame ``(B, T - 1, ...)``."""
    return latents[:, 1:] - latents[:, :-1]


def pair_loss(
    student: Estimates, teacher_sim: Tensor | None, levels: Tensor, config: PairLossConfig
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss above, and its parts by name.

    Velocities differ as clean estimates do, divided by the level: ``v - (noise - clean) = (clean - x) / s``.

    Args:
        student: clean estimates; the known frames at the front equal the truth.
        teacher_sim: the frozen teacher's clean estimate of the simulated clip; None leaves the motion terms out.
        levels: ``(B,)`` in (0, 1], shared by both clips and all frames but the known ones.
    """
    weight = level_weight(levels, config.shift)  # (B,)
    new = slice(config.known, None)
    logs: dict[str, Tensor] = {}
    total = levels.new_zeros((), dtype=torch.float32)
    for domain, share, made, truth in (
        ("real", config.real, student.real, student.real_truth),
        ("sim", config.sim, student.sim, student.sim_truth),
    ):
        flow = weight * _mse(made[:, new], truth[:, new]) / levels.float().square()
        logs[f"flow_{domain}"] = flow.mean()
        total = total + config.video * share / 2 * logs[f"flow_{domain}"]
        if teacher_sim is not None and config.motion:
            moved = weight * _mse(latent_motion(made), latent_motion(teacher_sim).detach())
            logs[f"motion_{domain}"] = moved.mean()
            total = total + config.motion * share / 2 * logs[f"motion_{domain}"]
    return total, {name: value.detach() for name, value in logs.items()}


def _mse(one: Tensor, other: Tensor) -> Tensor:
    """``(B,)``"""
    return (one.float() - other.float()).square().flatten(1).mean(dim=1)
