"""Learned worlds of moments that were seen elsewhere: in the true environment, in another learned one, by a camera."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simforcing_env.planning.world import Array, Imagination, Imagined, Moment
from simforcing_env.spaces import image_keys
from world_model.canvas import join
from world_model.contract import Contract
from world_model.errors import InputError
from world_model.foresight import Foreseen, Foresight
from world_model.interface import Heads, Outcome
from world_model.pretrained import LearnedSimulator
from world_model.rollout import Rollout
from world_model.rollout_state import RolloutState
from world_model.runtime import Runtime


def imagination(simulator: LearnedSimulator, pictures: bool, runtime: Runtime | None = None) -> Imagination:
    """What makes worlds of a learned simulator: with all frames drawn, or foreseen without ``pictures``.

    Args:
        runtime: precision and device; by default the processor, in bfloat16 where it computes in that.

    Raises:
        InputError: no heads where frames are to be judged, or a model that foresees nothing without drawing.
    """
    runtime = runtime or Runtime.choose("cpu")
    if not pictures:
        foresight = Foresight(simulator.model, simulator.codec, simulator.contract, runtime)
        return lambda moment: ForeseenWorld(foresight, moment, simulator.heads)
    if simulator.heads is None:
        raise InputError(
            f"checkpoint {simulator.hash} has no heads to judge futures; train them by simforcing train heads"
        )
    parts = simulator.codec, simulator.contract, simulator.sampler, simulator.history
    rollout = Rollout(runtime.prepare(simulator.model), *parts, runtime=runtime)
    return lambda moment: DrawnWorld(rollout, moment, simulator.heads)


def canvases(moment: Moment, contract: Contract) -> NDArray[np.uint8]:
    """Present frames ``(B, H, W, 3)`` of a moment."""
    keys = image_keys(contract)
    views = {c.name: moment.observation[k] for c, k in zip(contract.cameras, keys, strict=True)}
    return join(contract, views)


class ForeseenWorld:
    """Proprio and state only (see `world_model.foresight`); heads that judge the state give labels."""

    def __init__(self, foresight: Foresight, moment: Moment, heads: Heads | None) -> None:
        self.foresight, self.contract = foresight, foresight.contract
        self.heads = heads if getattr(heads, "reads_state", False) else None
        self.tasks = moment.tasks
        frames = canvases(moment, self.contract)
        self.begin = foresight.start(frames, moment.proprio, moment.actions)

    def branch(self, count: int, share_noise: bool = True) -> ForeseenFutures:
        """See `World.branch`; there is no noise here."""
        return ForeseenFutures(self, self.begin.repeat(count), len(self.begin), count)


class ForeseenFutures:
    """B x K rows of `Foreseen`."""

    def __init__(self, world: ForeseenWorld, now: Foreseen, rows: int, count: int) -> None:
        self.world, self.now, self.shape = world, now, (rows, count)

    @torch.inference_mode()
    def step(self, actions: Array) -> Imagined:
        """See `Futures.step`."""
        contract = self.world.contract
        normal = torch.from_numpy(contract.normalize_actions(actions)).flatten(0, 1)
        normal = normal.reshape(len(normal), -1, contract.actions_per_frame, normal.shape[-1])
        self.now, proprio, state, doubt = self.world.foresight.run(self.now, normal)
        labels, success = {}, torch.zeros_like(doubt)
        if self.world.heads is not None:
            nothing = state.new_zeros(state.shape[:2].numel(), 0)  # these heads look at no latents
            tasks = _tasks(self.world.tasks, len(nothing))
            read = self.world.heads.outcome(nothing, proprio.flatten(0, 1), tasks, state.flatten(0, 1))
            success = read.success.view_as(doubt)
            labels = self._labels(read, doubt.shape[1])
        return Imagined(
            contract.denormalize_proprio(self._numbers(proprio)),
            self._numbers(success),
            self._numbers(doubt.exp()),
            labels,
            self._numbers(state),
        )

    def _labels(self, read: Outcome, frames: int) -> dict[str, Array]:
        assert self.world.heads is not None
        names = self.world.heads.labels
        return {name: self._numbers(read.values[:, i].view(-1, frames)) for i, name in enumerate(names)}

    def _numbers(self, values: Tensor) -> Array:
        numbers: Array = values.float().numpy()
        return numbers.reshape(*self.shape, *numbers.shape[1:])


class DrawnWorld:
    """Frames of any model, judged by its heads, as in the learned environment."""

    def __init__(self, rollout: Rollout, moment: Moment, heads: Heads) -> None:
        self.rollout, self.contract, self.heads = rollout, rollout.contract, heads
        self.tasks = moment.tasks
        # Earlier frames are not kept: the present one stands for them. Models of form e look at no other.
        known = moment.proprio.shape[1]
        frames = canvases(moment, self.contract)[:, None].repeat(known, axis=1)
        self.begin = rollout.start(frames, moment.proprio, moment.seeds, moment.actions)

    def branch(self, count: int, share_noise: bool = True) -> DrawnFutures:
        """See `World.branch`."""
        return DrawnFutures(self, self.begin.repeat(count, share_noise=share_noise), len(self.begin), count)


class DrawnFutures:
    """B x K rows of a rollout."""

    def __init__(self, world: DrawnWorld, now: RolloutState, rows: int, count: int) -> None:
        self.world, self.now, self.shape = world, now, (rows, count)

    @torch.inference_mode()
    def step(self, actions: Array) -> Imagined:
        """See `Futures.step`."""
        per_frame = self.world.contract.actions_per_frame
        flat = actions.reshape(-1, actions.shape[2] // per_frame, per_frame, actions.shape[3])
        self.now, made = self.world.rollout.advance(self.now, flat)
        state = None if made.state is None else made.state.flatten(0, 1)
        latents, proprio = made.latents.flatten(0, 1), made.normalized_proprio.flatten(0, 1)
        tasks = _tasks(self.world.tasks, len(latents)).to(latents.device)
        read = self.world.heads.outcome(latents, proprio, tasks, state)
        values = read.values.float().cpu().numpy().reshape(*self.shape, flat.shape[1], -1)
        return Imagined(
            self._shaped(made.proprio),
            self._shaped(read.success.float().cpu().numpy().reshape(flat.shape[:2])),
            self._shaped(made.uncertainty),
            {name: values[..., i] for i, name in enumerate(self.world.heads.labels)},
            None if made.state is None else self._shaped(made.state.float().cpu().numpy()),
            made.frames.reshape(*self.shape, *made.frames.shape[1:]),
        )

    def _shaped(self, values: Array) -> Array:
        return values.reshape(*self.shape, *values.shape[1:])


def _tasks(tasks: NDArray[np.int64], rows: int) -> Tensor:
    """Task of each of ``rows`` frames, as many for every moment."""
    return torch.from_numpy(tasks).repeat_interleave(rows // len(tasks))
