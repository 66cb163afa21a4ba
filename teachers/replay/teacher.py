"""The replay teacher: a Franka in MuJoCo follows the joint log of a real episode, seen as its camera sees it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.replay.camera import Fit, fit_camera, measure
from teachers.replay.droid import DroidEpisode, read_episode
from teachers.replay.franka import Franka
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.data.episode import Episode
from world_model.data.pairs import Domain, Pair
from world_model.errors import InputError

KEY_POINTS = Path(__file__).with_name("key_points.json")
STATE_NAMES = (*(f"joint_{i}" for i in range(1, 8)), "gripper")
SEED = 0


def droid_contract(frame_hz: float = 4.0) -> Contract:
    """Contract of a replayed arm: an action is the hand's next pose in the base's frame, as the log has it."""
    pose = (
        *(Dimension(f"hand_{axis}", "m", -1.0, 1.0) for axis in "xyz"),
        *(Dimension(f"hand_{turn}", "rad", -math.pi, math.pi) for turn in ("roll", "pitch", "yaw")),
        Dimension("gripper", "share", 0.0, 1.0),
    )
    low, high = (tuple(getattr(d, end) for d in pose) for end in ("low", "high"))
    return Contract(
        name="droid",
        cameras=(Camera("side", 192, 320, "upright"),),
        control_hz=frame_hz,
        actions_per_frame=1,
        actions=pose,
        proprio=pose,
        normalizer=Normalizer("bounds", low, high, low, high),
        gripper="plus_closes",
    )


class ReplayTeacher:
    """Pairs from real data: the video of an episode, and the same joints in MuJoCo through a camera fitted to it.

    The data tell nothing about where cameras stand. `KEY_POINTS` holds places of the robot's finger tips and wrist cap
    in some pictures, read off by eye; the cameras are fitted to those when they are asked for. They are of one make, so
    all have the median of the focal lengths that are found for each alone.

    Args:
        root: folder that holds Ctrl-World's example sets, such as ``droid_new_setup``.
    """

    state_names = STATE_NAMES

    def __init__(self, root: Path) -> None:
        self.root, self.contract = root, droid_contract()
        self._groups: dict[str, dict[str, Any]] = json.loads(KEY_POINTS.read_text())
        self._of = {name: group for group, entry in self._groups.items() for name in entry["episodes"]}
        self._franka: Franka | None = None
        self._fit = functools.lru_cache(maxsize=None)(self._fit_group)
        self._read = functools.lru_cache(maxsize=8)(functools.partial(read_episode, root))

    @property
    def names(self) -> tuple[str, ...]:
        """Episodes whose cameras are known."""
        return tuple(self._of)

    @property
    def franka(self) -> Franka:
        """The arm that is posed and drawn.

        Raises:
            MissingExtraError: robosuite, which has its model, is not installed.
        """
        if self._franka is None:
            self._franka = Franka()
        return self._franka

    def episode(self, name: str) -> DroidEpisode:
        """One real episode.

        Raises:
            InputError: its camera is not known.
            DataError: its files are missing or damaged.
        """
        if name not in self._of:
            raise InputError(f"episode {name!r} has no key points; those that have are {', '.join(self.names)}")
        return self._read(name)

    def fit(self, name: str) -> Fit:
        """The camera of an episode, fitted to all episodes that share it.

        Raises:
            InputError: its camera is not known.
            DataError: files are missing or damaged.
        """
        self.episode(name)
        return self._fit(self._of[name])

    def held_out(self, name: str) -> Fit | None:
        """How well the camera explains key points that it was not fitted to, if there are any."""
        rows = self._groups[self._of[name]]["held_out"]
        return measure(self.fit(name).camera, *self._key_points(rows)) if rows else None

    def frames(self, name: str, domain: Domain) -> NDArray[np.uint8]:
        """Pictures ``(T, 192, 320, 3)`` of an episode: its video, or the arm in MuJoCo.

        Raises:
            InputError: its camera is not known.
            DataError: files are missing or damaged.
            NoRendererError: this machine cannot draw.
        """
        episode, fit = self.episode(name), self.fit(name)
        if domain == "real":
            return episode.frames(self._groups[self._of[name]]["camera"])
        drawn = []
        for joints, gripper in zip(episode.joints, episode.gripper, strict=True):
            self.franka.pose(joints, float(gripper))
            drawn.append(self.franka.render(fit.camera))
        return np.stack(drawn)

    def draw(self, name: str, row: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """The arm in one moment, ``(192, 320, 3)``, and where it is seen, ``(192, 320)`` in [0, 1]."""
        episode, camera = self.episode(name), self.fit(name).camera
        self.franka.pose(episode.joints[row], float(episode.gripper[row]))
        return self.franka.render(camera), self.franka.mask(camera)

    def play(self, name: str, domain: Domain) -> Episode:
        """An episode in one domain; raises as `frames` does."""
        episode = self.episode(name)
        low, high = self.contract.proprio_bounds()
        states = episode.states.clip(low, high)
        return Episode(
            frames=self.frames(name, domain),
            proprio=states,
            actions=states[1:, None],
            state=np.concatenate([episode.joints, episode.gripper[:, None]], 1).astype(np.float32),
            start=name,
            behaviour="teleoperation",
        )

    def appearance(self, name: str) -> dict[str, Any]:
        """What is known of the real side, as JSON values: the camera and its error in px."""
        fit, held_out = self.fit(name), self.held_out(name)
        return {**dataclasses.asdict(fit), "held_out_px": None if held_out is None else held_out.error_px}

    def pair(self, name: str) -> Pair:
        """Both domains of an episode; raises as `frames` does."""
        return Pair(self.play(name, "sim"), self.play(name, "real"), self.appearance(name))

    @functools.cached_property
    def _focal(self) -> float:
        return float(np.median([self._fit_alone(group).camera.focal for group in self._groups]))

    def _fit_group(self, group: str) -> Fit:
        return self._fit_alone(group, self._focal)

    def _fit_alone(self, group: str, focal: float | None = None) -> Fit:
        return fit_camera(*self._key_points(self._groups[group]["fitted"]), np.random.default_rng(SEED), focal)

    def _key_points(self, rows: list[list[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places ``(N, 3)`` in m and pixels ``(N, 2)`` of (episode, frame, mark, x, y)."""
        points = []
        for name, row, mark, _, _ in rows:
            episode = self._read(name)
            self.franka.pose(episode.joints[row], float(episode.gripper[row]))
            points.append(self.franka.key_point(mark))
        return np.array(points), np.array([row[3:] for row in rows], np.float64)
