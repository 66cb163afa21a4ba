"""Reader of demonstrations in HDF5 as robosuite, robomimic and LIBERO lay them out: ``data/demo_0`` and so on.

What such files leave unsaid is settled here by the names in them. LIBERO's pictures (``agentview_rgb``) lie upside down
unless the file says otherwise, and row t of its observations was taken after action t. robomimic's
(``agentview_image``) are upright, and row t was taken before action t; the last of ``next_obs`` is one row more.
States always come before their actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from world_model.data.hdf5_opening import open_hdf5
from world_model.errors import DataError

PICTURES = {
    "agentview": ("agentview_rgb", "agentview_image"),
    "wrist": ("eye_in_hand_rgb", "robot0_eye_in_hand_image"),
}
"""Our name of a camera to LIBERO's and robomimic's."""


@dataclass(frozen=True)
class Demonstration:
    """T control steps and N observations: T of them, or T + 1 where they stand on both sides of every action."""

    actions: NDArray[np.float64]  # (T, A)
    rewards: NDArray[np.float64]  # (T,) of each action
    after: bool
    """Whether a row of the observations was taken after the action of that row, or before it."""
    states: NDArray[np.float64] | None = None  # (T, 1 + nq + nv) time, positions, velocities before each action
    hand: NDArray[np.float64] | None = None  # (N, 6) place in m and axis-angle of the hand
    fingers: NDArray[np.float64] | None = None  # (N, 2) m
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)  # camera to (N, H, W, 3), upright


class DemonstrationFile(Sequence[Demonstration]):
    """The demonstrations of one file, in the order of their numbers; use it as a context.

    Raises:
        MissingExtraError: h5py is not installed.
        DataError: the file is missing, damaged, or laid out otherwise.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = open_hdf5(path)
            self._data = self._file["data"]
            self._names = sorted(self._data, key=lambda name: (len(name), name))
            self._attributes = {name: _plain(value) for name, value in self._data.attrs.items()}
            self._lengths = [
                len(demo["actions"]) + int("next_obs" in demo) for demo in map(self._data.__getitem__, self._names)
            ]
        except (OSError, KeyError, RuntimeError, TypeError, AttributeError) as error:
            raise self._damaged(error) from error
        if not self._names:
            raise DataError(f"{path} holds no demonstration; leave it out")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def task(self) -> str:
        """Name of the LIBERO task, or "" if the file does not tell."""
        stem = Path(str(self._attributes.get("bddl_file_name", ""))).stem
        return stem or (self.path.stem.removesuffix("_demo") if self.path.stem.endswith("_demo") else "")

    @property
    def suite(self) -> str:
        """Folder of the LIBERO task, such as "libero_goal", or ""."""
        return Path(str(self._attributes.get("bddl_file_name", ""))).parent.name

    @property
    def settings(self) -> dict[str, Any]:
        """What the simulator was made with: robosuite's ``env_name``, ``control_freq``, ``robots`` and so on.

        Raises:
            DataError: it is not readable.
        """
        text = self._attributes.get("env_info", self._attributes.get("env_args", "{}"))
        try:
            settings = dict(json.loads(text))
        except (ValueError, TypeError) as error:
            raise self._damaged(error) from error
        return {**settings, **settings.get("env_kwargs", {})}

    def lengths(self) -> list[int]:
        """Observations N of each demonstration."""
        return list(self._lengths)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        """Demonstration ``index``.

        Raises:
            DataError: it is damaged, its rows do not fit together, or its numbers are not finite.
        """
        name = self._names[index]
        try:
            return self._read(self._data[name])
        except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
            raise self._damaged(error, name) from error

    def _read(self, demo: Any) -> Demonstration:
        actions = np.asarray(demo["actions"], np.float64)
        seen = {name: np.asarray(values) for name, values in demo["obs"].items()} if "obs" in demo else {}
        if "next_obs" in demo:
            seen = {name: np.append(rows, demo["next_obs"][name][-1:], 0) for name, rows in seen.items()}
        found = {camera: next((n for n in names if n in seen), "") for camera, names in PICTURES.items()}
        after = any(name.endswith("_rgb") for name in found.values()) or "ee_states" in seen
        upside_down = self._attributes.get("macros_image_convention", "opengl" if after else "opencv") == "opengl"
        pictures = {camera: seen[name] for camera, name in found.items() if name}
        fingers = next((n for n in ("gripper_states", "robot0_gripper_qpos") if n in seen), "")
        read = Demonstration(
            actions=actions,
            rewards=np.asarray(demo["rewards"], np.float64) if "rewards" in demo else np.zeros(len(actions)),
            after=after,
            states=np.asarray(demo["states"], np.float64) if "states" in demo else None,
            hand=_hand(seen),
            fingers=np.asarray(seen[fingers], np.float64) if fingers else None,
            pictures={camera: p[:, ::-1] if upside_down else p for camera, p in pictures.items()},
        )
        self._check(read, str(demo.name))
        return read

    def _check(self, demo: Demonstration, name: str) -> None:
        steps = {"actions": demo.actions, "rewards": demo.rewards, "states": demo.states}
        seen = {"hand": demo.hand, "fingers": demo.fingers, **demo.pictures}
        for group in (steps, seen):
            rows = {n: len(array) for n, array in group.items() if array is not None}
            if len(set(rows.values())) > 1 or any(n < 2 for n in rows.values()):
                raise DataError(f"{self.path}: rows of {name} are {rows}, which do not fit; copy the file again")
        for n, array in {**steps, **seen}.items():
            if array is not None and not np.isfinite(array).all():
                raise DataError(f"{self.path}: {n} of {name} hold NaN or infinite numbers; leave the file out")
        for camera, picture in demo.pictures.items():
            if picture.dtype != np.uint8 or picture.ndim != 4 or picture.shape[-1] != 3:
                raise DataError(
                    f"{self.path}: pictures {camera} of {name} are {picture.dtype} {picture.shape}, not uint8 "
                    "(T, H, W, 3); leave the file out"
                )

    def _damaged(self, error: Exception, name: str = "") -> DataError:
        where = f"{name} of {self.path}" if name else str(self.path)
        return DataError(f"{where} is damaged, cut off or no file of demonstrations ({error}); copy it again")


def _hand(seen: Mapping[str, NDArray[Any]]) -> NDArray[np.float64] | None:
    if "ee_states" in seen:
        return np.asarray(seen["ee_states"], np.float64)
    if "robot0_eef_pos" in seen and "robot0_eef_quat" in seen:
        turn = Rotation.from_quat(np.asarray(seen["robot0_eef_quat"], np.float64)).as_rotvec()  # x, y, z, w
        return np.concatenate([np.asarray(seen["robot0_eef_pos"], np.float64), turn], axis=1)
    return None


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
