"""Writer of Bridge V2's layout: a video and an array of actions for each episode."""

from __future__ import annotations

import numpy as np

from world_model.atomic import replacing_file
from world_model.data.episode import Episode
from world_model.data.readers.mp4_npz import ACTIONS, COLUMNS, GRIPPER, HZ, USED
from world_model.data.writers.base import Writer


class Mp4NpzWriter(Writer):
    """One camera and seven actions; the last row of an episode's actions, which leads nowhere, is 0.

    NumPy names the array ``arr_0``, as Bridge's files have it.
    """

    layout = "mp4-npz"
    keeps_tasks = False
    keeps_proprio = False

    def _refuse_unfit(self) -> None:
        contract = self.contract
        if len(contract.cameras) != 1:
            raise self._unfit(f"it holds one camera, not {len(contract.cameras)}; choose one with --cameras")
        if (contract.action_dim, contract.actions_per_frame) != (USED, 1):
            shape = f"{contract.actions_per_frame} of {contract.action_dim} numbers"
            raise self._unfit(f"it holds one action of {USED} numbers for each frame, not {shape}; use another layout")
        there, taken = ([f"{d.unit} ({d.kind})" for d in actions] for actions in (contract.actions, ACTIONS))
        if there != taken or contract.gripper != GRIPPER:
            told, wanted = (", ".join(dict.fromkeys(units)) for units in (there, taken))
            raise self._unfit(
                f"its readers take {wanted} with gripper {GRIPPER} for granted, not {told} with {contract.gripper}; "
                "use a layout that holds a contract (lerobot)"
            )
        if contract.frame_hz != HZ:
            self.warnings.append(f"readers of this layout take {HZ:g} frames/s for granted, not {contract.frame_hz:g}")

    def _add(self, episode: Episode, name: str, split_name: str) -> None:
        rows = np.zeros((len(episode), COLUMNS), np.float32)
        rows[:-1, :USED] = episode.actions[:, 0]
        with replacing_file(self.folder / f"{self.count:09d}.npz") as temporary, temporary.open("wb") as file:
            np.savez(file, rows)
        self._video(self.folder / f"{self.count:09d}.mp4", episode.frames)
