"""What a user chooses of an environment, whatever stands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, Unpack

from gymnasium.vector import AutoresetMode

from simforcing_env.rendering import RENDER_MODES
from simforcing_env.spaces import KEY_STYLES, KeyStyle
from world_model.errors import InputError


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
    """Checked options.

    Raises:
        InputError: a value out of its range.
    """

    chunk: int | None = None
    """Actions per step; None is one frame's worth, without the chunk axis if that is a single action."""
    success_threshold: float = 0.5
    """An episode terminates at the first frame whose success probability is above this."""
    max_episode_steps: int | None = None
    """Calls of ``step`` after which an episode is truncated, as Gymnasium's TimeLimit counts them."""
    autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP
    render_mode: str | None = None
    """"rgb_array" shows the present frame, "rgb_array_list" all frames since the last call."""
    render_scale: int = 1
    """Whole factor by which rendered frames are enlarged."""
    frames_in_info: bool = True
    """Put the frames of every chunk into ``info["frames"]``."""
    observation_keys: KeyStyle = "plain"
    """"plain" is ``image`` and ``proprio``; "lerobot" is LeRobot's naming (see `simforcing_env.spaces`)."""

    def __post_init__(self) -> None:
        if not 0 <= self.success_threshold <= 1:
            raise InputError(f"success_threshold is {self.success_threshold} but must lie in [0, 1]")
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise InputError(f"max_episode_steps is {self.max_episode_steps} but must be at least 1, or None")
        if self.render_mode is not None and self.render_mode not in RENDER_MODES:
            raise InputError(
                f"render_mode is {self.render_mode!r} but must be one of {', '.join(RENDER_MODES)}, or None"
            )
        if self.observation_keys not in KEY_STYLES:
            raise InputError(
                f"observation_keys is {self.observation_keys!r} but must be one of {', '.join(KEY_STYLES)}"
            )
        if self.render_scale < 1:
            raise InputError(f"render_scale is {self.render_scale} but must be at least 1")

    @classmethod
    def of(cls, autoreset_mode: AutoresetMode | str, **options: Unpack[EnvOptions]) -> EnvConfig:
        """The options with a mode given as such or by its value ("NextStep", "SameStep", "Disabled")."""
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError as error:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise InputError(f"autoreset_mode is {autoreset_mode!r} but must be one of {modes}") from error
        return cls(autoreset_mode=mode, **options)
