"""The vector that tells a model which way the next frame goes: actions and proprio of the last frames."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.interface import History
from world_model.models.layers import fourier
from world_model.rules import Several, Whole, settle

PAIRS = Several(Several(Whole(0, 65_536), 2), least=0)


def check_pairs(name: str, pairs: tuple[tuple[int, int], ...], firsts: int, seconds: int) -> None:
    """Raise `InputError` for a pair of dimensions that are not there."""
    for first, second in pairs:
        if first >= firsts or second >= seconds:
            raise InputError(f"{name} has the pair {(first, second)} but there are {firsts} and {seconds} dimensions")


@dataclass(frozen=True)
class StepConditionConfig:
    """What goes in.

    ``relative`` pairs (action dimension, proprio dimension) of the same quantity: their difference is a feature,
    which spares the network the subtraction of two large numbers (absolute targets).
    """

    action_dim: int
    proprio_dim: int
    actions_per_frame: int = 1
    history: int = 3
    relative: tuple[tuple[int, int], ...] = ()
    octaves: int = 4

    def __post_init__(self) -> None:
        size = Whole(1, 65_536)
        settle(self, {"action_dim": size, "proprio_dim": size, "actions_per_frame": size, "history": size})
        settle(self, {"octaves": Whole(0, 32), "relative": PAIRS})
        check_pairs("relative", self.relative, self.action_dim, self.proprio_dim)


class StepCondition(nn.Module):
    """Embeds the last ``history`` proprios and actions, the new action included, as ``(B, D)``."""

    def __init__(self, config: StepConditionConfig, dim: int) -> None:
        super().__init__()
        self.config = config
        per_frame = config.proprio_dim + config.actions_per_frame * (config.action_dim + len(config.relative))
        per_frame += config.proprio_dim  # differences of proprio
        inputs = config.history * (per_frame * (1 + 2 * config.octaves) + 1)
        self.net = nn.Sequential(nn.Linear(inputs, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim), nn.SiLU())

    def forward(self, history: History, actions: Tensor) -> Tensor:
        """``history`` of exactly ``config.history`` frames, ``actions`` ``(B, 1, a, A)``; returns ``(B, D)``."""
        every = torch.cat([history.actions, actions], dim=1)  # (B, h, a, A)
        valid = history.valid[..., None].to(every.dtype)  # (B, h, 1)
        pieces = [every.flatten(2)]
        for action_dim, proprio_dim in self.config.relative:
            pieces.append(8 * (every[..., action_dim] - history.proprio[:, :, None, proprio_dim]))
        moved = 8 * torch.diff(history.proprio, dim=1, prepend=history.proprio[:, :1])  # (B, h, P)
        features = torch.cat([history.proprio, *(valid * p for p in pieces), moved], dim=-1)
        return self.net(torch.cat([fourier(features, self.config.octaves), valid], dim=-1).flatten(1))


def last_frames(history: History, count: int) -> History:
    """The last ``count`` frames; a shorter history is padded in front with its first frame, marked invalid."""
    have = history.latents.shape[1]
    if have < count:
        pad = count - have

        def repeat(x: Tensor) -> Tensor:
            return torch.cat([x[:, :1].expand(-1, pad, *x.shape[2:]), x], dim=1)

        batch, _, *action = history.actions.shape
        blank = history.actions.new_zeros(batch, pad, *action)
        return History(
            repeat(history.latents),
            repeat(history.proprio),
            torch.cat([blank, history.actions], dim=1),
            torch.cat([torch.zeros_like(history.valid[:, :1]).expand(-1, pad), history.valid], dim=1),
            history.memory,
        )
    return History(
        history.latents[:, -count:],
        history.proprio[:, -count:],
        history.actions[:, history.actions.shape[1] - count + 1 :],
        history.valid[:, -count:],
        history.memory,
    )
