"""The losses of a joint student on pairs: flow matching in both domains, and the frozen teacher's latent motion.

SimForcing's public code: both clips of a pair share their noise and their level; the teacher sees the simulated clip
at that level. With the clean estimate ``x = z - s v`` and its change ``D(x)[k] = x[k + 1] - x[k]`` along time,

    flow(d)   = w mse(v_student(d), noise - clean(d))
    motion(d) = w mse(D(x_student(d)), D(x_teacher(sim)))
    loss      = video / 2 (real flow(real) + sim flow(sim)) + motion / 2 (real motion(real) + sim motion(sim))

for the domains d, with a weight w of the level that is 0 for pure noise. Models of one step, which are trained at pure
noise, have another weighting: "clean" counts errors of clean latents alike at all levels. A model that foresees
numbers, such as key points, has motion of these too, which is the same whatever the two domains look like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from world_model.diffusion.flow import channel_error, level_weight
from world_model.rules import Choice, Number, Whole, settle


@dataclass(frozen=True)
class PairLossConfig:
    """Weights as published."""

    video: float = 1.0
    motion: float = 0.5
    """0 leaves the distillation out."""
    pictures: float = 1.0
    """Part of it that is of latents."""
    foreseen: float = 0.0
    """Part of it that is of what the model foresees."""
    perturbed: float = 0.0
    """Most deviation of changes to the starts and actions from which that is foreseen: the teacher is asked about more
    than what was recorded."""
    real: float = 1.0
    sim: float = 0.1
    shift: float = 5.0
    """Of the levels, see `shift_levels`."""
    known: int = 1
    """Frames at the front that are clean and count for no flow loss."""
    weighting: Literal["bell", "clean"] = "bell"

    def __post_init__(self) -> None:
        weight = Number(0, 1e6)
        weights = ("video", "motion", "pictures", "foreseen", "perturbed", "real", "sim")
        settle(self, dict.fromkeys(weights, weight))
        settle(self, {"shift": Number(1e-3, 1e3), "known": Whole(1, 256), "weighting": Choice(("bell", "clean"))})

    @property
    def shares(self) -> dict[str, float]:
        """Of the two domains."""
        return {"real": self.real / 2, "sim": self.sim / 2}


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
    student: Estimates,
    teacher_sim: Tensor | None,
    levels: Tensor,
    config: PairLossConfig,
    channel_weights: tuple[float, ...] = (),
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss above of latents, and its parts by name.

    Velocities differ as clean estimates do, divided by the level: ``v - (noise - clean) = (clean - x) / s``.

    Args:
        student: clean estimates; the known frames at the front equal the truth.
        teacher_sim: the frozen teacher's clean estimate of the simulated clip; None leaves the motion terms out.
        levels: ``(B,)`` in (0, 1], shared by both clips and all frames but the known ones.
        channel_weights: of latent channels, with the weighting "clean".
    """
    bell = config.weighting == "bell"
    weight = level_weight(levels, config.shift) if bell else torch.ones_like(levels, dtype=torch.float32)  # (B,)
    scale = levels.float().square() if bell else 1.0
    weights, new = () if bell else channel_weights, slice(config.known, None)
    logs: dict[str, Tensor] = {}
    total = levels.new_zeros((), dtype=torch.float32)
    for domain, made, truth in (
        ("real", student.real, student.real_truth),
        ("sim", student.sim, student.sim_truth),
    ):
        share = config.shares[domain]
        flow = weight * channel_error(made[:, new], truth[:, new], weights).mean(dim=1) / scale
        logs[f"flow_{domain}"] = flow.mean()
        total = total + config.video * share * logs[f"flow_{domain}"]
        if teacher_sim is not None and config.motion * config.pictures:
            moved = channel_error(latent_motion(made), latent_motion(teacher_sim).detach(), weights).mean(dim=1)
            logs[f"motion_{domain}"] = (weight * moved).mean()
            total = total + config.motion * config.pictures * share * logs[f"motion_{domain}"]
    return total, {name: value.detach() for name, value in logs.items()}
