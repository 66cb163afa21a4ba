"""Stable-Baselines3's ``VecEnv`` over a Gymnasium vector environment, without losing its batching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from simforcing_env.infos import take
from world_model.errors import InputError
from world_model.extras import require
from world_model.rules import Is, Several, Whole, follow, or_none, shown

require("stable_baselines3", "rl")

from stable_baselines3.common.vec_env.base_vec_env import VecEnv  # noqa: E402 (after the check of the extra)

OPTIONS = Is((dict,), "a dict")
Indices = int | Iterable[int] | None


class Sb3VecEnv(VecEnv):
    """One ``step`` of this is one ``step`` of ``env``.

    Args:
        env: a vector environment in SAME_STEP mode, also a wrapped one (`gymnasium.wrappers.vector.RescaleAction`).

    Raises:
        InputError: no vector environment, or another auto-reset mode; SB3 expects the observation after a reset in the
            step that ended.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if not isinstance(env, VectorEnv):
            raise InputError(f"env is {shown(env)} but must be a vector environment; make it with gymnasium.make_vec")
        mode = env.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise InputError(
                f"the vector environment has autoreset_mode {mode} but Stable-Baselines3 needs SAME_STEP; "
                "make it with autoreset_mode='SameStep'"
            )
        self.env = env
        self._actions: NDArray[Any] | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds of the next `reset`: ``seed + i`` for environment i.

        Raises:
            InputError: no whole number in [0, 2^63).
        """
        return super().seed(follow(or_none(Whole(0, 2**63 - 1)), "seed", seed))

    def reset(self) -> Any:
        """First observations; uses and forgets what `seed` and `set_options` left."""
        observation, infos = self.env.reset(seed=self._seeds, options=self._merged_options())  # type: ignore[arg-type]
        self.reset_infos = [take(infos, index) for index in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, dones and infos; ended ones have "terminal_observation" and "TimeLimit.truncated"."""
        assert self._actions is not None
        observation, rewards, terminated, truncated, infos = self.env.step(self._actions)
        dones = terminated | truncated
        records = []
        for index in range(self.num_envs):
            record = take(infos, index)
            if dones[index]:
                final, last = record.pop("final_info"), record.pop("final_obs")
                self.reset_infos[index] = record
                record = {**final, "terminal_observation": last}
                record["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
            records.append(record)
        return observation, rewards.astype(np.float32), dones, records

    def close(self) -> None:
        self.env.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        images: Sequence[Any] = self.env.render() or [None] * self.num_envs
        return images

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The vector environment's attribute, for each index."""
        owner = self.env if hasattr(self.env, attr_name) else self.env.unwrapped
        return [getattr(owner, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise InputError(
            f"{attr_name!r} cannot be set for one environment of a batch; set it on the vector environment"
        )

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        raise InputError(f"{method_name!r} cannot be called for one environment of a batch; call it on `.env`")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def _merged_options(self) -> dict[str, list[Any]]:
        """SB3's options of each environment as one dict of lists."""
        options = follow(Several(OPTIONS, self.num_envs), "reset options", self._options)
        names = set().union(*options)
        if any(set(each) != names for each in options):
            raise InputError(f"reset options name {shown(names)} for some environments only; give all alike")
        return {name: [each[name] for each in options] for name in names}
