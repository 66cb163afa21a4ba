"""Writer of IRASim's layout: an annotation and videos for each episode."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from world_model.data.episode import Episode
from world_model.data.lerobot.writer import write_text
from world_model.data.readers.irasim import PLANE, POSE, SPLITS
from world_model.data.readers.poses import relative_poses
from world_model.data.writers.base import Writer
from world_model.errors import DataError

TOLERANCE = 1e-5  # m, rad: what float32 poses leave open


class IrasimWriter(Writer):
    """Poses, of which the actions follow, or two-dimensional actions; nothing else has a place.

    Episodes whose actions do not follow from their poses are refused, for the layout would give other actions back.
    """

    layout = "irasim"

    def _refuse_unfit(self) -> None:
        contract = self.contract
        self.warnings.append("episodes are numbered anew: layout irasim holds no names")
        self._posed = contract.proprio_dim == len(POSE)
        if contract.actions_per_frame != 1:
            raise self._unfit(f"it holds one action a frame, not {contract.actions_per_frame}; use another layout")
        if not self._posed and (contract.action_dim != len(PLANE) or self.has_proprio):
            shape = f"{contract.action_dim} actions and {contract.proprio_dim} proprio numbers"
            raise self._unfit(f"it holds {len(POSE)}-number poses or {len(PLANE)} actions alone, not {shape}")
        if not self._posed and len(contract.cameras) != 1:
            raise self._unfit("an annotation without poses names one video; choose one with --cameras")

    def _add(self, episode: Episode, name: str, split_name: str) -> None:
        part = split_name if split_name in SPLITS else SPLITS[0]
        number = str(self.count)
        places = {}
        for index, (camera, frames) in enumerate(self._pictures(episode).items()):
            places[camera] = f"videos/{part}/{number}/{index if self._posed else 'rgb'}.mp4"
            self._video(self.folder / places[camera], frames)
        annotation: dict[str, Any] = {"episode_id": number, "texts": [self.origin.tasks[episode.task]]}
        if self._posed:
            self._check(episode, name)
            annotation |= {
                "state": episode.proprio[:, :6].tolist(),
                "continuous_gripper_state": episode.proprio[:, 6].tolist(),
                "videos": [{"video_path": place} for place in places.values()],
                "latent_videos": [],
            }
        else:
            annotation |= {"actions": episode.actions[:, 0].tolist(), "video_path": next(iter(places.values()))}
        write_text(self.folder / "annotation" / part / f"{number}.json", json.dumps(annotation))

    def _check(self, episode: Episode, name: str) -> None:
        follow, stored = relative_poses(episode.proprio), episode.actions[:, 0]
        if follow.shape != stored.shape or (len(stored) and np.abs(follow - stored).max() > TOLERANCE):
            raise DataError(
                f"episode {name} has actions that do not follow from its poses, and layout irasim holds poses only; "
                "choose another layout"
            )
