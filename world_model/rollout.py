"""Actions to frames for any number of episodes at once; what has state is the `RolloutState` handed in and out.

Every generated frame is decoded, rounded to 8 bits and encoded again before it becomes history, as in training. With
``carry="latents"`` its latents become history as they were sampled, which is what IRASim's long rollouts do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.canvas import canvas_shape
from world_model.codecs.clips import decode_after, stride_of
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.interface import Codec, History, Sampler, WorldModel, to_uint8
from world_model.noise import frame_noise
from world_model.rollout_state import RolloutState
from world_model.rules import Choice, Whole, array_of, follow
from world_model.runtime import Runtime
from world_model.simforcing.steer import Steered

HISTORY = Whole(1, 256)
Carry = Literal["frames", "latents"]


@dataclass(frozen=True)
class Generated:
    """n new frames of B episodes."""

    frames: NDArray[np.uint8]  # (B, n, H, W, 3)
    proprio: NDArray[np.float32]  # (B, n, P) in units, within the contract's bounds
    uncertainty: NDArray[np.float32]  # (B, n) the model's expected mean squared error of a frame's latents
    latents: Tensor  # (B, n, C, U, V) of the 8-bit frames, for the heads
    normalized_proprio: Tensor  # (B, n, P) in [-1, 1], for the heads
    sampled: Tensor  # (B, n, C, U, V) latents as the sampler gave them, before they became frames; fewer frames where
    # the codec compresses time
    state: Tensor | None = None  # (B, n, S) the model's estimate of the teacher's state, for the heads


class Rollout:
    """Turns actions into frames, for any number of episodes at once.

    Args:
        history: how many clean frames the model sees, at most 256 (a run-time choice).
        max_frames: longest piece given at once to a model that takes whole chunks.
        carry: what becomes history, the 8-bit "frames" or the sampled "latents".
    """

    def __init__(
        self,
        model: WorldModel,
        codec: Codec,
        contract: Contract,
        sampler: Sampler,
        history: int,
        *,
        max_frames: int = 16,
        runtime: Runtime | None = None,
        carry: Carry = "frames",
    ) -> None:
        self.model, self.codec, self.contract, self.sampler = model, codec, contract, sampler
        self.history = follow(HISTORY, "history", history)
        self.memory_dim = int(getattr(model, "memory_dim", 0))
        self.state_dim = int(getattr(model, "state_dim", 0))
        self.piece = 1 if model.frames_per_call == 1 else min(max_frames, getattr(model, "chunk", max_frames))
        self.runtime = runtime or Runtime()
        self.carry: Carry = follow(Choice(get_args(Carry)), "carry", carry)
        self.stride = stride_of(codec)
        if self.stride > 1:  # published models of this kind take their whole chunk at once
            self.piece = int(getattr(model, "chunk", self.piece // self.stride * self.stride))
        if self.stride > 1 and (self.history != 1 or self.carry == "latents"):
            raise InputError(
                f"history is {self.history} and {self.carry} are carried on, but with {self.stride} frames in a latent "
                'one the last frame alone is; use history 1 and carry "frames"'
            )

    @torch.inference_mode()
    def start(
        self,
        frames: NDArray[np.uint8],
        proprio: NDArray[Any],
        seeds: NDArray[np.int64],
        actions: NDArray[Any] | None = None,
    ) -> RolloutState:
        """Begin B episodes at one frame each, or after T true frames with the actions between them.

        Args:
            frames: ``(B, H, W, 3)`` or ``(B, T, H, W, 3)`` uint8; the last ``history`` of them are kept.
            proprio: ``(B, P)`` or ``(B, T, P)`` in units.
            seeds: ``(B,)`` episode seeds.
            actions: ``(B, T - 1, a, A)`` in units, needed when T > 1.

        Raises:
            InputError: wrong shape or type, NaN, or actions missing.
        """
        frames, proprio = array_of("start frames", frames), array_of("start proprio", proprio)
        if frames.ndim == 4:
            frames, proprio = frames[:, None], proprio[:, None]
        batch, length = self._check_start(frames, proprio, seeds)
        if length > 1:
            if actions is None:
                raise InputError(
                    f"a start of {length} frames needs the {length - 1} actions between them; give actions"
                )
            between = self.contract.check_actions(actions, 4)
        else:
            between = np.zeros((batch, 0, self.contract.actions_per_frame, self.contract.action_dim), np.float32)
        pad = max(0, self.history - length)
        last = slice(max(0, length - self.history), None)
        valid = np.concatenate([np.zeros((batch, pad), bool), np.ones((batch, length), bool)[:, last]], 1)
        kept = torch.from_numpy(np.ascontiguousarray(frames[:, last])).to(self.runtime.device)
        latents = self.codec.encode(kept)
        history = History(
            latents=_pad_front(latents, pad),
            proprio=_pad_front(self._tensor(self.contract.normalize_proprio(self._clamp(proprio[:, last]))), pad),
            actions=_pad_zeros(self._tensor(self.contract.normalize_actions(between[:, last])), pad),
            valid=torch.from_numpy(valid).to(self.runtime.device),
            memory=torch.full((batch, self.memory_dim), torch.nan, device=self.runtime.device),
        )
        indices = torch.full((batch,), length - 1, dtype=torch.int64)
        return RolloutState(history, torch.from_numpy(np.array(seeds, np.int64)), indices)

    def load(self, arrays: Mapping[str, NDArray[Any]], count: int) -> RolloutState:
        """The state of ``count`` episodes whose `RolloutState.to_arrays` gave ``arrays``.

        Raises:
            DataError: damaged, or of another form than the states that begin here.
        """
        blank = np.zeros((1, *canvas_shape(self.contract)), np.uint8), np.zeros((1, self.contract.proprio_dim))
        return RolloutState.from_arrays(arrays, self.start(*blank, np.zeros(1, np.int64)), count)

    def _check_start(self, frames: NDArray[Any], proprio: NDArray[Any], seeds: NDArray[Any]) -> tuple[int, int]:
        if frames.dtype != np.uint8 or frames.ndim != 5 or frames.shape[-1] != 3:
            raise InputError(
                f"start frames are {frames.dtype} {frames.shape} but must be uint8 (B, T, H, W, 3); convert them"
            )
        batch, length = frames.shape[:2]
        if proprio.shape != (batch, length, self.contract.proprio_dim) or not np.isfinite(proprio).all():
            raise InputError(
                f"start proprio has shape {proprio.shape} but must be finite numbers of shape "
                f"{(batch, length, self.contract.proprio_dim)}; give one row for each frame"
            )
        if np.shape(seeds) != (batch,):
            raise InputError(f"there are {batch} starts but seeds have shape {np.shape(seeds)}; give one seed each")
        return batch, length

    @torch.inference_mode()
    def read_state(self, latents: Tensor, proprio: Tensor) -> Tensor | None:
        """What the model reads from true frames: ``(N, C, U, V)`` and ``(N, P)`` to ``(N, S)``; None if it does not."""
        if not self.state_dim:
            return None
        with self.runtime.autocast():
            read: Tensor = self.model.read_state(latents, proprio)  # type: ignore[attr-defined]
        return read.float()

    @torch.inference_mode()
    def advance(
        self, state: RolloutState, actions: NDArray[Any], sim: Tensor | None = None, guidance: float = 1.0
    ) -> tuple[RolloutState, Generated]:
        """Generate one frame for each of ``actions`` ``(B, n, a, A)`` in units.

        ``sim`` ``(B, h + n, C, U, V)`` are the simulator's latents of the h frames of history and of the new ones (as
        many as the codec makes of these), for a model that can be told of them; ``guidance`` is their weight, see
        `Steered`.

        Raises:
            InputError: actions that the contract refuses, or not one row of them for each episode.
        """
        checked = self.contract.check_actions(actions, 4)
        if len(checked) != len(state) or checked.shape[2] != self.contract.actions_per_frame or not checked.shape[1]:
            raise InputError(
                f"actions have shape {checked.shape} but the state holds {len(state)} episodes and a frame takes "
                f"{self.contract.actions_per_frame} actions; reshape to (B, n, a, A)"
            )
        normal, known = self._tensor(self.contract.normalize_actions(checked)), state.history.latents.shape[1]
        if checked.shape[1] % self.stride:
            raise InputError(
                f"{checked.shape[1]} frames were asked for but {self.stride} are generated together; ask for a multiple"
            )
        if sim is not None and sim.shape[:2] != (len(checked), known + checked.shape[1] // self.stride):
            raise InputError(
                f"the simulator's latents are of {tuple(sim.shape[:2])} episodes and frames but must be of "
                f"{(len(checked), known + checked.shape[1] // self.stride)}, the {known} frames of history included"
            )
        parts = []
        for rows in self.runtime.blocks(len(state)):
            pieces: list[Generated] = []
            part, done = state.select(rows), 0
            for piece in torch.split(normal[rows], self.piece, dim=1):
                count = piece.shape[1] // self.stride
                until = done + known + count
                model = self.model if sim is None else Steered(self.model, sim[rows, done:until], guidance)
                part, generated = self._generate(part, piece, model)
                pieces.append(generated)
                done += count
            parts.append((part, _join(pieces, axis=1)))
        return RolloutState.concatenate([p for p, _ in parts]), _join([g for _, g in parts], axis=0)

    def _generate(
        self, state: RolloutState, actions: Tensor, model: WorldModel | Steered
    ) -> tuple[RolloutState, Generated]:
        """One sampler call: ``actions`` ``(B, n, a, A)`` in [-1, 1]."""
        old = state.history
        indices = state.frames.numpy()[:, None] + self.stride * (1 + np.arange(actions.shape[1] // self.stride))

        def noise(step: int) -> Tensor:
            return self._tensor(frame_noise(state.seeds.numpy(), indices, step, tuple(old.latents.shape[2:])))

        with self.runtime.autocast():
            denoised = self.sampler.sample(model, old, actions, noise)  # type: ignore[arg-type]  # Steered has its methods
        sampled = denoised.latents.float()
        frames = to_uint8(decode_after(self.codec, old.latents[:, -1:], sampled))
        latents = self.codec.encode(frames)
        proprio = self._clamp(self.contract.denormalize_proprio(denoised.proprio.float().cpu().numpy()))
        normalized = self._tensor(self.contract.normalize_proprio(proprio))
        new = History(
            latents=_newest(old.latents, sampled if self.carry == "latents" else latents, self.history),
            proprio=_newest(old.proprio, normalized, self.history),
            actions=_newest(old.actions, actions, self.history - 1),
            valid=_newest(old.valid, torch.ones_like(actions[:, :, 0, 0], dtype=torch.bool), self.history),
            memory=old.memory if denoised.memory is None else denoised.memory[:, -1].float(),
            text=old.text,
        )
        uncertainty = denoised.log_error.float().exp().cpu().numpy()
        memory = denoised.memory
        told = None if memory is None or not self.state_dim else memory[..., : self.state_dim].float()
        generated = Generated(frames.cpu().numpy(), proprio, uncertainty, latents, normalized, sampled, told)
        return RolloutState(new, state.seeds, state.frames + actions.shape[1]), generated

    def _clamp(self, proprio: NDArray[Any]) -> NDArray[np.float32]:
        low, high = self.contract.proprio_bounds()
        clipped: NDArray[np.float32] = np.clip(proprio, low, high).astype(np.float32)
        return clipped

    def _tensor(self, array: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(array).to(self.runtime.device)


def _pad_front(values: Tensor, count: int) -> Tensor:
    return torch.cat([values[:, :1].expand(-1, count, *values.shape[2:]), values], 1) if count else values


def _pad_zeros(values: Tensor, count: int) -> Tensor:
    return torch.cat([values.new_zeros(len(values), count, *values.shape[2:]), values], 1) if count else values


def _newest(old: Tensor, new: Tensor, count: int) -> Tensor:
    joined = torch.cat([old, new], 1)
    return joined[:, joined.shape[1] - count :]


def _join(parts: list[Generated], axis: int) -> Generated:
    if len(parts) == 1:
        return parts[0]

    def columns() -> Iterator[Any]:
        for field in fields(Generated):
            values = [getattr(part, field.name) for part in parts]
            if values[0] is None:
                yield None
                continue
            yield torch.cat(values, axis) if isinstance(values[0], Tensor) else np.concatenate(values, axis)

    return Generated(*columns())
