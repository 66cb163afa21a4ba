"""The single environment: a view of the vector form with one slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import gymnasium as gym
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from simforcing_env.chunk_env import ChunkVectorEnv, Observation
from simforcing_env.infos import take
from simforcing_env.rendering import RENDER_MODES
from simforcing_env.snapshot import Snapshot
from world_model.errors import InputError
from world_model.rules import array_of


class ChunkEnv(gym.Env[Observation, NDArray[Any]]):
    """One episode of a `ChunkVectorEnv` (see there for spaces, rewards and infos); it does not reset itself."""

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012

    form: ClassVar[Callable[..., ChunkVectorEnv]]
    """What makes the vector form."""

    def __init__(self, **options: Any) -> None:
        for name in ("num_envs", "autoreset_mode"):
            if name in options:
                raise InputError(f"{name!r} is for vector environments; leave it out, or use gymnasium.make_vec")
        vector = self.vector = type(self).form(1, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.contract = vector.contract
        self.observation_space = vector.single_observation_space
        self.action_space = vector.single_action_space
        self.metadata = {**type(self).metadata, "render_fps": vector.metadata["render_fps"]}
        self.render_mode = vector.render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; ``seed`` and ``options`` as in `ChunkVectorEnv.reset`, without "reset_mask"."""
        if isinstance(options, Mapping) and "reset_mask" in options:
            raise InputError("reset option 'reset_mask' is for vector environments; leave it out")
        observation, infos = self.vector.reset(seed=[seed], options=options)
        super().reset(seed=None if seed is None else int(seed))
        return _first(observation), take(infos, 0)

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance by one chunk."""
        observation, reward, terminated, truncated, infos = self.vector.step(array_of("actions", action)[None])
        return _first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), take(infos, 0)

    def snapshot(self) -> Snapshot:
        """This moment, to `restore` here or in another process (a TimeLimit wrapper's count is not part of it)."""
        return self.vector.snapshot()

    def restore(self, snapshot: Snapshot) -> tuple[Observation, dict[str, Any]]:
        """Go back to a moment; returns its observation and info."""
        observation, infos = self.vector.restore(snapshot)
        return _first(observation), take(infos, 0)

    def branch(self, count: int, *, share_noise: bool = True, chunk: int | None = None) -> ChunkVectorEnv:
        """``count`` copies of this moment as a vector environment (see `ChunkVectorEnv.branch`)."""
        return self.vector.branch(count, share_noise=share_noise, chunk=chunk)

    def render(self) -> Any:
        """The present frame ``(H, W, 3)``, or the list of frames since the last call."""
        rendered = self.vector.render()
        return None if rendered is None else rendered[0]

    def close(self) -> None:
        self.vector.close()


def _first(observation: Observation) -> Observation:
    return {key: value[0] for key, value in observation.items()}
