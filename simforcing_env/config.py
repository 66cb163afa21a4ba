"""What a user chooses of an environment, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from gymnasium.vector import AutoresetMode

from simforcing_env.rendering import RENDER_MODES
from simforcing_env.spaces import KEY_STYLES, KeyStyle
from world_model.rules import FLAG, Choice, Member, Number, Rule, Whole, or_none, refuse_unknown, settle

MAX_ENVS = 65_536
RULES: Mapping[str, Rule] = {
    "chunk": or_none(Whole(1, 1024)),
    "success_threshold": Number(0, 1),
    "max_episode_steps": or_none(Whole(1, 10**9)),
    "autoreset_mode": Member(AutoresetMode),
    "render_mode": or_none(Choice(RENDER_MODES)),
    "render_scale": Whole(1, 64),
    "frames_in_info": FLAG,
    "observation_keys": Choice(KEY_STYLES),
}
NUM_ENVS = Whole(1, MAX_ENVS)


class EnvOptions(TypedDict, total=False):
    """Keyword arguments of every environment; see `EnvConfig`."""

    chunk: int | None
    success_threshold: float
    max_episode_steps: int | None
    render_mode: str | None
    render_scale: int
    frames_in_info: bool
    observation_keys: KeyStyle


@dataclass(frozen=True)
class EnvConfig:
    """Checked options, in the ranges of `RULES`.

    Raises:
        InputError: a value of a wrong type, or out of its range.
    """

    chunk: int | None = None
    """Actions per step, at most 1024; None is one frame's worth, without the chunk axis if that is a single action."""
    success_threshold: float = 0.5
    """An episode terminates at the first frame whose success probability is above this."""
    max_episode_steps: int | None = None
    """Calls of ``step`` after which an episode is truncated, as Gymnasium's TimeLimit counts them."""
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP
    render_mode: str | None = None
    """"rgb_array" shows the present frame, "rgb_array_list" all frames since the last call."""
    render_scale: int = 1
    """Whole factor by which rendered frames are enlarged, at most 64."""
    frames_in_info: bool = True
    """Put the frames of every chunk into ``info["frames"]``."""
    observation_keys: KeyStyle = "plain"
    """"plain" is ``image`` and ``proprio``; "lerobot" is LeRobot's naming (see `simforcing_env.spaces`)."""

    def __post_init__(self) -> None:
        settle(self, RULES)

    @classmethod
    def of(cls, autoreset_mode: AutoresetMode | str, options: Mapping[str, Any], own: Sequence[str] = ()) -> EnvConfig:
        """The ``options`` that are not an environment's ``own``.

        Raises:
            InputError: an option that is neither, and as above.
        """
        refuse_unknown(options, [*own, *EnvOptions.__annotations__])
        return cls(autoreset_mode=autoreset_mode, **{k: v for k, v in options.items() if k not in own})  # type: ignore[arg-type]
