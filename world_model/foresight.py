"""Futures without pictures: proprio and state frame by frame, for models that carry the teacher's state (form e).

Drawing is nearly all of a generated frame's cost. A planner that judges where things end up needs none of it, so it can
look at some thirty times as many futures; and what it sees is a differentiable function of the actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.contract import Contract
from world_model.errors import InputError
from world_model.interface import History, _Rows
from world_model.models.key_points import KeyPointNet
from world_model.runtime import Runtime


@dataclass(frozen=True)
class Foreseen(_Rows):
    """Where B futures stand: what the foreseer is given for the next frame."""

    proprio: Tensor  # (B, h, P) in [-1, 1]
    actions: Tensor  # (B, h - 1, a, A) in [-1, 1]
    valid: Tensor  # (B, h) bool
    state: Tensor  # (B, S)
    doubt: Tensor  # (B, 1) log of the expected mean squared error of proprio and state

    def __len__(self) -> int:
        return len(self.state)

    def repeat(self, count: int) -> Foreseen:
        """``count`` copies of every row, side by side."""
        return self.map(lambda t: t.repeat_interleave(count, dim=0))

    @staticmethod
    def concatenate(parts: Sequence[Foreseen]) -> Foreseen:
        """Rows of several after one another."""
        names = ("proprio", "actions", "valid", "state", "doubt")
        return Foreseen(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


class Foresight:
    """The reader and the foreseer of a model.

    Args:
        runtime: of the foreseer, which plans call most; frames are read in float32, for what a reading is off stays.

    Raises:
        InputError: a model of a form that foresees no state.
    """

    def __init__(self, model: Any, codec: Any, contract: Contract, runtime: Runtime | None = None) -> None:
        if not isinstance(model, KeyPointNet):
            raise InputError(
                f"a {type(model).__name__} foresees no state without drawing frames; use a model of kind key_points"
            )
        self.model, self.codec, self.contract = model, codec, contract
        self.runtime = runtime or Runtime()
        self._net = self.runtime.prepare(model)
        self.history = model.config.step.history

    @torch.inference_mode()
    def start(self, frames: NDArray[np.uint8], proprio: NDArray[Any], actions: NDArray[Any]) -> Foreseen:
        """Read the last frames ``(B, H, W, 3)`` of episodes whose last T proprios and T - 1 actions are known.

        Args:
            proprio: ``(B, T, P)`` in units.
            actions: ``(B, T - 1, a, A)`` in units.
        """
        h = self.history
        seen = torch.from_numpy(self.contract.normalize_proprio(proprio[:, -h:]))
        between = torch.from_numpy(self.contract.normalize_actions(actions[:, max(0, actions.shape[1] - h + 1) :]))
        pad = h - seen.shape[1]
        valid = torch.ones(len(seen), h, dtype=torch.bool)
        valid[:, :pad] = False
        if pad:
            seen = torch.cat([seen[:, :1].expand(-1, pad, -1), seen], 1)
            between = torch.cat([between.new_zeros(len(between), pad, *between.shape[2:]), between], 1)
        latents = self.codec.encode(torch.from_numpy(np.ascontiguousarray(frames)))
        anchor = self.model.look(latents, seen[:, -1])
        return Foreseen(seen, between, valid, anchor.state.float(), anchor.doubt.float())

    def advance(self, now: Foreseen, actions: Tensor) -> Foreseen:
        """One frame on by ``actions`` ``(B, a, A)`` in [-1, 1]; differentiable."""
        history = History(now.proprio[..., None, None], now.proprio, now.actions, now.valid)
        with self.runtime.autocast():
            condition = self._net.step(history, actions[:, None])
            proprio, state, hidden = self._net.foreseer(condition, now.proprio[:, -1], now.state)
            doubt = self._net.doubt(hidden, now.doubt)
        return replace(
            now,
            proprio=torch.cat([now.proprio[:, 1:], proprio.clamp(-1, 1)[:, None]], 1),
            actions=torch.cat([now.actions[:, 1:], actions[:, None]], 1),
            valid=torch.cat([now.valid[:, 1:], torch.ones_like(now.valid[:, :1])], 1),
            state=state,
            doubt=doubt,
        )

    def run(self, now: Foreseen, actions: Tensor) -> tuple[Foreseen, Tensor, Tensor, Tensor]:
        """n frames on by ``actions`` ``(B, n, a, A)``; also proprio ``(B, n, P)``, state and doubt of each frame."""
        proprio, state, doubt = [], [], []
        for frame in range(actions.shape[1]):
            now = self.advance(now, actions[:, frame])
            proprio.append(now.proprio[:, -1])
            state.append(now.state)
            doubt.append(now.doubt)
        return now, torch.stack(proprio, 1), torch.stack(state, 1), torch.stack(doubt, 1)[..., 0]
