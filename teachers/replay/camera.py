"""A fixed camera whose place is found from the robot in its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from world_model.errors import DataError, InputError

PARAMETERS = 7
STRETCH = 192 / 180
"""DROID's pictures are 16 : 9; 320 x 192 ones are stretched along the height."""
TOLERANCE = 2.0  # px; key points that lie further off count less
STARTS = 40  # at most
SMALLEST = PARAMETERS // 2 + 1  # key points with as many numbers as there are parameters


@dataclass(frozen=True)
class Camera:
    """A pinhole camera in the robot's base frame; pictures are 320 x 192 px."""

    turn: tuple[float, float, float]
    """Rotation vector (rad) from the base's axes to the camera's: right, down, forward."""
    place: tuple[float, float, float]
    """m"""
    focal: float
    """px along the width"""
    width: int = 320
    height: int = 192
    stretch: float = STRETCH
    """Focal length along the height over that along the width."""

    @property
    def parameters(self) -> NDArray[np.float64]:
        """What is fitted ``(7,)``."""
        return np.array([*self.turn, *self.place, self.focal])

    @classmethod
    def of(cls, parameters: NDArray[np.float64]) -> Camera:
        """The camera of `parameters`."""
        a, b, c, x, y, z, focal = np.asarray(parameters, np.float64).tolist()
        return cls((a, b, c), (x, y, z), focal)

    @property
    def axes(self) -> NDArray[np.float64]:
        """Its right, down and forward axes as rows ``(3, 3)`` in the base frame."""
        return np.asarray(Rotation.from_rotvec(self.turn).as_matrix())

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where points ``(N, 3)`` in m appear: x, y in px and the depth in m, ``(N, 3)``."""
        local = (np.asarray(points, np.float64) - self.place) @ self.axes.T
        depth = np.where(np.abs(local[:, 2]) < 1e-6, 1e-6, local[:, 2])
        x = self.width / 2 + self.focal * local[:, 0] / depth
        y = self.height / 2 + self.focal * self.stretch * local[:, 1] / depth
        return np.stack([x, y, local[:, 2]], 1)


@dataclass(frozen=True)
class Fit:
    """A camera and how well it explains the key points."""

    camera: Camera
    error_px: float
    """Root mean square distance of projected and seen key points."""
    worst_px: float
    points: int


def fit_camera(
    points: NDArray[np.float64],
    pixels: NDArray[np.float64],
    generator: np.random.Generator,
    focal: float | None = None,
) -> Fit:
    """The camera that sees ``points`` ``(N, 3)`` (m, base frame) at ``pixels`` ``(N, 2)``.

    It is looked for from many places about the robot, for a single descent may end beside the truth.

    Args:
        focal: focal length in px where it is known; else it is fitted too.

    Raises:
        DataError: too few key points, or none of the places leads to a camera that sees them.
    """
    if len(points) < SMALLEST or points.shape != (len(points), 3) or pixels.shape != (len(points), 2):
        raise DataError(
            f"{len(points)} key points ({points.shape}, {pixels.shape}) do not tell where a camera is; give at least "
            f"{SMALLEST}, spread over the picture"
        )

    def camera(parameters: NDArray[np.float64]) -> Camera:
        return Camera.of(parameters if focal is None else np.append(parameters, focal))

    def residuals(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        seen = camera(parameters).project(points)
        off = seen[:, :2] - pixels
        off[seen[:, 2] < 0.05] = 500.0  # behind the camera
        return off.ravel()

    free = PARAMETERS if focal is None else PARAMETERS - 1
    low = np.array([-10.0] * 3 + [-4.0] * 3 + [80.0])[:free]
    high = np.array([10.0] * 3 + [4.0] * 3 + [320.0])[:free]
    best: Any = None
    for _ in range(STARTS):
        guess = np.clip(_guess(points.mean(0), generator)[:free], low + 1e-3, high - 1e-3)
        found = least_squares(residuals, guess, loss="soft_l1", f_scale=TOLERANCE, bounds=(low, high), max_nfev=100)
        if best is None or found.cost < best.cost:
            best = found
        if best.cost < TOLERANCE * len(points):  # no other place can be much better
            break
    fit = measure(camera(best.x), points, pixels)
    if fit.error_px > 30:
        raise DataError(f"no camera sees the key points: the best is {fit.error_px:.0f} px off; look at them again")
    return fit


def measure(camera: Camera, points: NDArray[np.float64], pixels: NDArray[np.float64]) -> Fit:
    """How far from ``pixels`` ``(N, 2)`` a camera sees ``points`` ``(N, 3)``.

    Raises:
        InputError: there is no point.
    """
    if not len(points):
        raise InputError("a camera is measured on key points but there are 0; give some")
    off = np.hypot(*(camera.project(points)[:, :2] - pixels).T)
    return Fit(camera, float(np.sqrt((off**2).mean())), float(off.max()), len(points))


def _guess(target: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """A camera somewhere about the target and above it, that looks at it."""
    around, up, far = generator.uniform(-np.pi, np.pi), generator.uniform(0.1, 1.0), generator.uniform(0.4, 1.5)
    place = target + far * np.array([np.cos(around) * np.cos(up), np.sin(around) * np.cos(up), np.sin(up)])
    forward = (target - place) / far
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(forward, right), forward])
    return np.array([*Rotation.from_matrix(axes).as_rotvec(), *place, generator.uniform(100, 200)])
