"""Training windows cut from recorded episodes; which windows a step sees is a pure function of (seed, step)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from world_model.codecs.clips import encode_clip
from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import DataError
from world_model.interface import Clip, Codec
from world_model.training.state_encoding import Encoding


@dataclass(frozen=True)
class WindowConfig:
    """``length`` frames a window, the history included; starts of episodes are padded up to ``history`` frames."""

    length: int = 7
    history: int = 3
    still_weight: float = 0.3
    """How often a window in which the teacher's state rests is drawn, relative to one in which it moves."""
    still_below: float = 1e-3
    """Largest change of an encoded state number in a window that counts as rest."""


class Windows:
    """All windows of a set of episodes, held in memory as 8-bit frames."""

    state: Tensor | None
    text: Callable[[Tensor], Tensor] | None
    """Embedded prompts ``(B, L, E)`` from the first rows of episodes, where there are any."""

    def __init__(
        self,
        episodes: Sequence[Episode],
        contract: Contract,
        config: WindowConfig,
        state: Encoding | None = None,
        names: Sequence[str] = (),
    ) -> None:
        usable = [e for e in episodes if len(e.frames) > config.length - config.history]
        if not usable:
            longest = max((len(e.frames) for e in episodes), default=0)
            raise DataError(
                f"no episode is long enough for windows of {config.length} frames (the longest has {longest}); "
                "record longer episodes or shorten the window"
            )
        self.config = config
        self.frames = torch.from_numpy(np.concatenate([e.frames for e in usable]))  # (N, H, W, 3)
        self.proprio = torch.from_numpy(contract.normalize_proprio(np.concatenate([e.proprio for e in usable])))
        padded = [np.concatenate([e.actions, e.actions[-1:]]) for e in usable]
        self.actions = torch.from_numpy(contract.normalize_actions(np.concatenate(padded)))  # (N, a, A)
        self.state, self.text = None, None
        if state is not None and state.dim:
            if any(e.state is None for e in usable):
                raise DataError(
                    "the data set holds no teacher state, which this recipe learns; record it again with it"
                )
            self.state = torch.from_numpy(state.encode(np.concatenate([e.state for e in usable]), names))  # (N, S)
        self._index(np.array([len(e.frames) for e in usable]))

    def _index(self, lengths: NDArray[np.int64]) -> None:
        """Enumerate the windows of episodes of these lengths."""
        self.lengths = lengths
        first = np.cumsum(lengths) - lengths
        pad = self.config.history - 1
        counts = np.maximum(0, lengths + pad - self.config.length + 1)
        offset = np.concatenate([np.arange(c) for c in counts]) - pad
        self.first = torch.from_numpy(np.repeat(first, counts))  # first frame of a window's episode
        self.start = self.first + torch.from_numpy(offset)  # may lie before it: padding
        self.weight = self._weights()

    def resized(self, config: WindowConfig) -> Windows:
        """Other windows of the same episodes; the frames are shared, not copied."""
        other = copy.copy(self)
        other.config = config
        other._index(self.lengths)
        return other

    def __len__(self) -> int:
        return len(self.start)

    def rows(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Frame rows ``(B, T)`` of windows ``(B,)`` and which of them are real."""
        rows = self.start[windows, None] + torch.arange(self.config.length)
        first = self.first[windows, None]
        return torch.maximum(rows, first), rows >= first

    def draw(self, batch: int, seed: int, step: int) -> Tensor:
        """Window numbers ``(batch,)`` of a training step, the same for the same arguments."""
        generator = np.random.Generator(np.random.Philox(key=[seed, step]))
        return torch.from_numpy(np.searchsorted(self.weight, generator.random(batch) * self.weight[-1]))

    def clip(self, windows: Tensor, codec: Codec | None) -> Clip:
        """The windows as encoded frames; action i of a window leads from its frame i to i + 1.

        Without a codec the latents are left empty (for losses that need no frames).
        """
        rows, valid = self.rows(windows)
        actions = self.actions[rows[:, :-1]] * valid[:, :-1, None, None]
        with torch.no_grad():
            latents = torch.empty(*rows.shape, 0, 0, 0) if codec is None else self._encoded(rows, codec)
        state = None if self.state is None else self.state[rows]
        text = None if self.text is None else self.text(self.first[windows])
        return Clip(latents, self.proprio[rows], actions, valid, state, text)

    def _encoded(self, rows: Tensor, codec: Codec) -> Tensor:
        """Latents ``(B, T, C, U, V)``, where the codec is."""
        tensors = codec.state_dict().values() if isinstance(codec, nn.Module) else ()
        return encode_clip(codec, self.frames[rows].to(next((t.device for t in tensors), self.frames.device)))

    def _weights(self) -> NDArray[np.float64]:
        """Cumulated drawing weights."""
        weight = np.ones(len(self.start))
        if self.state is not None:
            rows, _ = self.rows(torch.arange(len(self.start)))
            spread = self.state[rows].amax(1) - self.state[rows].amin(1)  # (windows, S)
            weight[(spread.amax(1) < self.config.still_below).numpy()] = self.config.still_weight
        return np.cumsum(weight)
