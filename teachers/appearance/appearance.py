"""What the `real` domain of a MuJoCo world looks like: drawn values, all kept with the recordings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from world_model.errors import DataError

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Lamp:
    """How one light of the model differs."""

    shift: Triple
    """m"""
    tilt: Triple
    """Added to its direction, which has length 1."""
    colour: Triple
    """Factors of red, green and blue."""


@dataclass(frozen=True)
class Surface:
    """What a table, floor or wall is painted with."""

    colour: Triple
    """Red, green and blue in [0, 1]."""
    cover: float
    """Share of the colour, in [0, 1]; the rest is the plain texture."""
    pattern: str
    """Name in `teachers.appearance.patterns.PATTERNS`."""
    grain: float
    """Size of the pattern's parts as a share of the texture."""
    contrast: float
    """Strength of the pattern, in [0, 1]."""
    seed: int


@dataclass(frozen=True)
class View:
    """How one camera stands differently."""

    shift: Triple
    """m, in the camera's own axes."""
    turn: Triple
    """rad, about the camera's own axes."""
    fov: float
    """Degrees more or fewer."""


@dataclass(frozen=True)
class Optics:
    """What a sensor makes of the picture."""

    gain: float
    gamma: float
    balance: Triple
    """Factors of red, green and blue."""
    vignette: float
    """Share of light that is lost in the corners."""
    blur: float
    """Standard deviation in pixels of a picture 128 high."""
    noise: float
    """Standard deviation of the dark noise, of 255."""
    shot: float
    """Standard deviation of the noise of a white pixel beyond that, of 255; it grows with the root of brightness."""


@dataclass(frozen=True)
class Distractor:
    """A thing that is only seen: it stands at the edge of the workspace and touches nothing."""

    shape: str
    """"box", "sphere", "cylinder" or "ellipsoid"."""
    size: Triple
    """Half sizes in m."""
    colour: Triple
    place: tuple[float, float]
    """m from the middle of the workspace."""
    turn: float
    """rad about the vertical."""


@dataclass(frozen=True)
class Appearance:
    """Look and physics of one episode in the `real` domain.

    Where a scene has more lamps, surfaces, objects or cameras than are drawn, they are used again from the first.
    """

    seed: int
    headlight: float
    """Factor of the light that comes from the camera."""
    lamps: tuple[Lamp, ...]
    surfaces: tuple[Surface, ...]
    objects: tuple[Triple, ...]
    """Colour factors of the objects' materials."""
    robot: Triple
    """Colour factors of the robot's."""
    views: tuple[View, ...]
    """Of the fixed cameras."""
    wrist: View
    optics: Optics
    distractors: tuple[Distractor, ...]
    friction: float
    """Factor of all sliding friction."""
    damping: float
    """Factor of all joints' damping."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return _listed(dataclasses.asdict(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the form of `to_dict`.

        Raises:
            DataError: a value is missing or unknown.
        """
        try:
            raw: dict[str, Any] = _tupled(dict(values))
            for name, kind in (("lamps", Lamp), ("surfaces", Surface), ("views", View), ("distractors", Distractor)):
                raw[name] = tuple(kind(**part) for part in raw[name])
            return cls(**{**raw, "wrist": View(**raw["wrist"]), "optics": Optics(**raw["optics"])})
        except (KeyError, TypeError) as error:
            raise DataError(f"appearance is not readable ({error}); write it with Appearance.to_dict") from error


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(part) for key, part in value.items()}
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tupled(part) for key, part in value.items()}
    return tuple(_tupled(part) for part in value) if isinstance(value, list | tuple) else value
