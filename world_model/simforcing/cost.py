"""What a chunk costs: network passes of each mode, and operations of the published size (specification 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from world_model.interface import History


@dataclass(frozen=True)
class Mode:
    """Where the simulator's latents come from, and their weight."""

    source: str
    guidance: float

    def passes(self, steps: int) -> tuple[int, int]:
        """Passes of a chunk that are not told of the simulator, the simulated video's among them, and that are."""
        told = 0 if self.source == "none" or self.guidance == 0 else steps
        plain = 0 if self.source != "none" and self.guidance == 1 else steps
        return plain + (steps if self.source == "student" else 0), told


MODES = MappingProxyType(
    {
        "w0": Mode("none", 0.0),
        "student_w06": Mode("student", 0.6),
        "student_w1": Mode("student", 1.0),
        "teacher_w06": Mode("teacher", 0.6),
        "teacher_w1": Mode("teacher", 1.0),
    }
)
"""Of weight 0 only what is learned by heart is used, and nothing is simulated."""


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of one clip: the actions once, and a pass."""

    actions: int
    plain: int
    told: int

    def of(self, mode: Mode, steps: int) -> int:
        """Of a whole chunk; each of its generations and contexts reads the actions once."""
        plain, told = mode.passes(steps)
        return (plain + told) // steps * self.actions + plain * self.plain + told * self.told


def operations(model: nn.Module, grid: tuple[int, int], text: int = 0) -> Operations:
    """Count them on the device where the model is, the meta device as a rule.

    Args:
        model: a joint student.
        grid: rows and columns of the latents.
        text: tokens of the prompt; 0 for those that the model keeps.
    """
    student: Any = model
    video = student.config.video
    with torch.device(next(student.parameters()).device):
        count = (video.frames - video.history) // student.stride
        latents = torch.zeros(1, video.history + count, video.latent_channels, *grid)
        words = torch.zeros(1, text, video.whole["text_dim"]) if text else None
        proprio = torch.zeros(1, video.history, max(video.proprio_dim, getattr(video, "told_proprio", 0)))
        between = torch.zeros(1, video.history - 1, video.actions_per_frame, video.action_dim)
        actions = torch.zeros(1, video.frames - video.history, video.actions_per_frame, video.action_dim)
        valid = torch.ones(1, video.history, dtype=torch.bool)
        history = History(latents[:, : video.history], proprio, between, valid, text=words)
        noisy, levels = latents[:, video.history :], torch.ones(1, count)
    found = []
    with torch.no_grad():
        for sim in (None, latents):
            with FlopCounterMode(display=False) as counter:
                told = (
                    student.condition(history, actions) if sim is None else student.condition_on(history, actions, sim)
                )
            before = counter.get_total_flops()
            with FlopCounterMode(display=False) as counter:
                student.denoise(noisy, levels, told)
            found.append((before, counter.get_total_flops()))
    return Operations(found[0][0], found[0][1], found[1][1])
