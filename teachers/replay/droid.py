"""Episodes of DROID in the layout of Ctrl-World's examples: annotations in JSON beside three videos."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world_model.data.lerobot.video import VideoReader
from world_model.errors import DataError, InputError

CAMERAS = 2  # fixed ones: videos 0 and 1; the third is on the wrist
RAW_PER_FRAME = 3  # 15 Hz logs beside 5 frames/s
RATES = {"droid_subset": 5.0, "droid_new_setup": 4.0}


@dataclass(frozen=True)
class DroidEpisode:
    """One episode; row i of all arrays is of frame i."""

    name: str
    """Set, split and number, such as "droid_new_setup/val/0012"."""
    videos: tuple[Path, ...]
    joints: NDArray[np.float64]  # (T, 7) rad
    gripper: NDArray[np.float64]  # (T,) 0 open to 1 closed
    states: NDArray[np.float32]  # (T, 7) hand position m, roll pitch yaw rad, gripper
    task: str
    frame_hz: float

    def __len__(self) -> int:
        return len(self.joints)

    def frames(self, camera: int) -> NDArray[np.uint8]:
        """Pictures ``(T, 192, 320, 3)`` of a fixed camera.

        Raises:
            InputError: there is no such camera.
            DataError: the video is missing, damaged or short.
        """
        if not 0 <= camera < CAMERAS:
            raise InputError(f"camera {camera} of {self.name} is not fixed; the fixed ones are 0 to {CAMERAS - 1}")
        return _video(self.videos[camera], len(self))


def read_episode(root: Path, name: str) -> DroidEpisode:
    """The episode of a name such as "droid_new_setup/val/0012".

    Raises:
        InputError: the name is not of that form.
        DataError: a file is missing or damaged, or joints are not logged.
    """
    if name.count("/") != 2:
        raise InputError(f"episode {name!r} is unknown; use SET/SPLIT/NUMBER, such as 'droid_new_setup/val/0012'")
    group, split, number = name.split("/")
    path = root / group / "annotation" / split / f"{number}.json"
    try:
        raw = json.loads(path.read_text())
        states = np.array(raw["states"], np.float32)
        if "observation.state.joint_position" in raw:
            joints = np.array(raw["observation.state.joint_position"], np.float64)[::RAW_PER_FRAME]
            gripper = np.array(raw["observation.state.gripper_position"], np.float64)[::RAW_PER_FRAME]
        else:
            both = np.array(raw["joints"], np.float64)
            joints, gripper = both[:, :7], both[:, 7]
        videos = tuple(root / group / video["video_path"] for video in raw["videos"])
        task = str(raw["texts"][0])
    except FileNotFoundError as error:
        raise DataError(f"there is no {path}; point the source at the folder that holds {group}") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(f"{path} is not an annotation with joints ({error}); copy it again") from error
    length = min(len(states), len(joints))
    if joints.shape[1:] != (7,) or length < 2 or abs(len(states) - len(joints)) > 1:
        raise DataError(f"{path} has {len(states)} states and joints {joints.shape}; copy it again")
    return DroidEpisode(name, videos, joints[:length], gripper[:length], states[:length], task, RATES.get(group, 5.0))


@lru_cache(maxsize=4)
def _video(path: Path, length: int) -> NDArray[np.uint8]:
    return VideoReader(path).read(0, length)
