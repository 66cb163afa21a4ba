"""The vector environment over any `Backend`.

Learned simulators and teachers share this code: chunks, ends, auto-reset, infos, snapshots and branches mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from simforcing_env.backend import Backend, Start
from simforcing_env.chunks import chunk_ends
from simforcing_env.config import NUM_ENVS, EnvConfig
from simforcing_env.episodes import Episodes
from simforcing_env.infos import objects, put, rows_of
from simforcing_env.rendering import RENDER_MODES, FrameCollector
from simforcing_env.reset_options import parse_options, parse_seeds
from simforcing_env.snapshot import Snapshot
from simforcing_env.spaces import PROPRIO_KEYS, action_space, image_keys, observation_space
from world_model.canvas import canvas_shape, split
from world_model.errors import InputError
from world_model.noise import frame_generator
from world_model.rules import FLAG, Whole, array_of, follow, shown

Observation = dict[str, NDArray[Any]]
_BACKEND = "backend/"


class ChunkVectorEnv(VectorEnv[Observation, NDArray[Any], NDArray[Any]]):
    """``num_envs`` episodes advanced by one batched call.

    Observation: ``Dict(image (H, W, 3) uint8 RGB, proprio (P,) float32 in the contract's units)``.
    Action: ``(chunk, A)``, or ``(A,)`` without a chunk, in the contract's units and bounds.

    ``step`` generates n = chunk / actions_per_frame frames. The reward is the sum of the rewards of the frames that
    count; a frame whose success probability is above the threshold terminates the episode and is the observation,
    later frames of the chunk count for nothing. Infos of a step (each with its mask ``_key``):

    - ``frames`` ``(K, n, H, W, 3)``, ``proprio`` ``(K, n, P)``: the whole chunk;
    - ``rewards``, ``success`` (probability), ``uncertainty`` ``(K, n)``, ``labels`` (a dict of ``(K, n)``);
    - ``frames_valid`` ``(K,)``: how many frames count; ``is_success`` ``(K,)``;
    - each label by its name ``(K,)``, of the observation that is returned; ``start`` and ``episode_seed`` ``(K,)``.

    ``reset`` gives the last line's. ``reset(seed=info["episode_seed"][i])`` and the same actions repeat episode i.

    Auto-reset is as the mode says. In DISABLED mode an episode that has ended stays as it is (reward 0,
    ``frames_valid`` 0, the same flags) until ``reset(options={"reset_mask": ...})`` takes it up.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES)}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(self, backend: Backend, num_envs: int, config: EnvConfig) -> None:
        contract = backend.contract
        self.backend, self.config, self.contract = backend, config, contract
        self.num_envs = num_envs
        self.single_observation_space = observation_space(contract, config.observation_keys)
        self.single_action_space = action_space(contract, config.chunk)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.frames_per_step = (config.chunk or contract.actions_per_frame) // contract.actions_per_frame
        self.metadata = {
            **type(self).metadata,
            "autoreset_mode": config.autoreset_mode,
            "render_fps": contract.frame_hz,
        }
        self.render_mode = config.render_mode
        self._collector = FrameCollector(num_envs, config.render_mode, config.render_scale)
        self._episodes = Episodes.empty(num_envs, canvas_shape(contract), contract.proprio_dim, backend.label_names)
        self._running = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: environment i gets ``seed + i``, or its own of a list; the seed is the episode's seed and also
                draws its start where none is asked for.
            options: "start" (a name or one for each), or "image" with "proprio" (one or one for each);
                "reset_mask" (bool array) restarts some environments and leaves the others.

        Raises:
            InputError: an unknown option or start, or a value of a wrong type, shape or range.
        """
        self._require_open()
        seeds = parse_seeds(seed, self.num_envs)
        request = parse_options(options, self.contract, self.num_envs)
        if not self._running and len(request.rows) < self.num_envs:
            raise InputError("reset option 'reset_mask' needs running episodes; call reset without it first")
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        infos: dict[str, Any] = {}
        self._begin(request.rows, [seeds[row] for row in request.rows], request.starts, infos)
        self._running = True
        return self._observation(), infos

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance every episode by its chunk.

        Raises:
            InputError: actions that are no numbers, of a wrong shape, not finite or out of bounds; names the slot.
        """
        self._require_running("step")
        episodes, mode = self._episodes, self.config.autoreset_mode
        before = episodes.ended
        live, over = np.flatnonzero(~before), np.flatnonzero(before)
        checked = self._check_actions(actions, live)
        rewards = np.zeros(self.num_envs)
        infos: dict[str, Any] = {}
        if live.size:
            rewards[live] = self._advance(live, checked, infos)
        terminated, truncated = episodes.terminated.copy(), episodes.truncated.copy()
        if mode is AutoresetMode.SAME_STEP and (terminated | truncated).any():
            infos = self._finish(np.flatnonzero(terminated | truncated), infos)
        elif mode is AutoresetMode.NEXT_STEP and over.size:
            terminated[over] = truncated[over] = False
            self._restart(over, infos)
        elif over.size:
            still = {"frames_valid": np.zeros(len(over), np.int64), "is_success": terminated[over]}
            put(infos, self.num_envs, over, still | episodes.facts(over))
        return self._observation(), rewards, terminated, truncated, infos

    def _advance(
        self, rows: NDArray[np.intp], actions: NDArray[np.float32], infos: dict[str, Any]
    ) -> NDArray[np.float64]:
        """Step the episodes ``rows`` by actions ``(R, n, a, A)``; returns their rewards."""
        episodes = self._episodes
        frames = self.backend.advance(rows, actions)
        ends = chunk_ends(frames.rewards, frames.success, self.config.success_threshold)
        episodes.show(rows, frames, ends.frames_valid - 1)
        self._collector.add(rows, frames.images, ends.frames_valid)
        episodes.elapsed[rows] += 1
        episodes.terminated[rows] = ends.terminated
        if self.config.max_episode_steps is not None:
            episodes.truncated[rows] = episodes.elapsed[rows] >= self.config.max_episode_steps
        record: dict[str, Any] = {
            "proprio": frames.proprio,
            "rewards": frames.rewards,
            "success": frames.success,
            "uncertainty": frames.uncertainty,
            "labels": frames.labels,
            "frames_valid": ends.frames_valid,
            "is_success": ends.terminated,
        }
        if self.config.frames_in_info:
            record |= split(self.contract, frames.images, image_keys(self.contract, single="frames"))
        put(infos, self.num_envs, rows, record | episodes.facts(rows))
        return ends.reward

    def _finish(self, rows: NDArray[np.intp], infos: dict[str, Any]) -> dict[str, Any]:
        """SAME_STEP: move what is known of ended episodes to ``final_obs`` and ``final_info``, and begin anew."""
        last = self._observation()
        final = objects([{key: value[row] for key, value in last.items()} for row in rows])
        ended, infos = rows_of(infos, rows), rows_of(infos, np.setdiff1d(np.arange(self.num_envs), rows))
        infos |= {"final_info": ended, "_final_info": ended["_start"].copy()}
        put(infos, self.num_envs, rows, {"final_obs": final})
        self._restart(rows, infos)
        return infos

    def _restart(self, rows: NDArray[np.intp], infos: dict[str, Any]) -> None:
        self._begin(rows, [None] * len(rows), [None] * len(rows), infos)

    def _begin(
        self, rows: NDArray[np.intp], seeds: list[int | None], starts: list[Start | None], infos: dict[str, Any]
    ) -> None:
        episodes = self._episodes
        before = episodes.seeds.copy(), deepcopy(episodes.rngs)
        episodes.seed(rows, seeds)
        try:
            # Frame 0 is never generated, so its stream of noise is free to draw the start.
            draws = (frame_generator(int(seed), 0, 0) for seed in episodes.seeds[rows])
            chosen = [s or Start(self.backend.draw_start(draw)) for s, draw in zip(starts, draws, strict=True)]
            frames = self.backend.reset(rows, chosen, episodes.seeds[rows])
        except Exception:
            episodes.seeds[:], episodes.rngs[:] = before  # a refused reset leaves the running episodes as they are
            raise
        episodes.begin(rows, [start.name for start in chosen], frames)
        self._collector.clear(rows)
        self._collector.add(rows, frames.images, np.ones(len(rows), np.int64))
        put(infos, self.num_envs, rows, episodes.facts(rows))

    def _check_actions(self, actions: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Actions of ``rows`` as ``(R, n, a, A)``."""
        array = array_of("actions", actions)
        if array.shape != self.action_space.shape:
            raise InputError(
                f"actions have shape {array.shape} but {self.num_envs} environments take {self.action_space.shape}; "
                "reshape them or make the environment with another chunk"
            )
        flat = array.reshape(self.num_envs, -1, self.contract.action_dim)
        try:
            checked = self.contract.check_actions(flat[rows], 3)
        except InputError:
            for row in rows:
                try:
                    self.contract.check_actions(flat[row], 2)
                except InputError as error:
                    raise InputError(f"environment {row}: {error}") from None
            raise
        return checked.reshape(
            len(rows), self.frames_per_step, self.contract.actions_per_frame, self.contract.action_dim
        )

    def snapshot(self) -> Snapshot:
        """This moment of all episodes, to `restore` here or in another process."""
        self._require_running("snapshot")
        slots, arrays = self._episodes.save()
        arrays |= {_BACKEND + name: array for name, array in self.backend.save().items()}
        return Snapshot(self.backend.identity, slots, arrays)

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Go back to a moment; returns its observation and what is known of the episodes.

        Raises:
            ContractError: a snapshot of another checkpoint, contract or number of environments.
            DataError: a damaged snapshot; everything stays as it is.
            InputError: no snapshot.
        """
        self._require_open()
        if not isinstance(snapshot, Snapshot):
            raise InputError(f"restore got {shown(snapshot)} but takes a Snapshot; make one of bytes by from_bytes")
        snapshot.require(self.backend.identity, self.num_envs)
        state = {n.removeprefix(_BACKEND): array for n, array in snapshot.arrays.items() if n.startswith(_BACKEND)}
        episodes = self._episodes.load(snapshot.slots, snapshot.arrays)
        self.backend.load(state, self.num_envs)
        self._episodes = episodes
        return self._resume()

    def branch(
        self, count: int, *, index: int = 0, share_noise: bool = True, chunk: int | None = None
    ) -> ChunkVectorEnv:
        """``count`` independent copies of environment ``index`` in its present moment.

        The copies never reset themselves (DISABLED mode). They are ready to ``step``, without a ``reset``.

        Args:
            share_noise: copies meet the same noise, so that they differ by their actions alone; without it each
                has noise of its own.
            chunk: actions per step of the copies; None keeps this environment's form.

        Raises:
            InputError: an argument of a wrong type or out of its range.
        """
        self._require_running("branch")
        count = follow(NUM_ENVS, "count", count)
        index = follow(Whole(0, self.num_envs - 1), "index", index)
        share_noise = follow(FLAG, "share_noise", share_noise)
        config = replace(
            self.config, autoreset_mode=AutoresetMode.DISABLED, chunk=self.config.chunk if chunk is None else chunk
        )
        copies = ChunkVectorEnv(self.backend.branch(index, count, share_noise), count, config)
        copies._episodes = self._episodes.repeat(index, count)
        copies._resume()
        return copies

    def render(self) -> tuple[Any, ...] | None:
        """A picture ``(H, W, 3)`` of each environment, or a list of those since the last call."""
        if self.render_mode is None:
            gym.logger.warn(
                "render was called without a render_mode; make the environment with render_mode='rgb_array'"
            )
            return None
        self._require_running("render")
        return self._collector.render(self._episodes.images)

    def close_extras(self, **kwargs: Any) -> None:
        self.backend.close()

    def _observation(self) -> Observation:
        images, style = self._episodes.images, self.config.observation_keys
        pictures = split(self.contract, images, image_keys(self.contract, style))
        return {**pictures, PROPRIO_KEYS[style]: self._episodes.proprio.copy()}

    def _resume(self) -> tuple[Observation, dict[str, Any]]:
        """Go on from episodes that did not begin here."""
        rows = np.arange(self.num_envs)
        self._running = True
        self._collector.clear(rows)
        self._collector.add(rows, self._episodes.images[:, None], np.ones(self.num_envs, np.int64))
        infos: dict[str, Any] = {}
        put(infos, self.num_envs, rows, self._episodes.facts(rows))
        return self._observation(), infos

    def _require_open(self) -> None:
        if self.closed:
            raise gym.error.ClosedEnvironmentError("this environment is closed; make a new one")

    def _require_running(self, verb: str) -> None:
        self._require_open()
        if not self._running:
            raise gym.error.ResetNeeded(f"{verb} was called before reset; call reset first")
