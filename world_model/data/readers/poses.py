"""IRASim's rule for actions: where the hand goes, seen from where it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

EULER = "xyz"  # turns about fixed axes, x first: R = Rz Ry Rx


def relative_poses(poses: NDArray[np.float32], accumulate: bool = False) -> NDArray[np.float32]:
    """Actions ``(T - 1, 7)`` from poses ``(T, 7)``: place m, roll pitch yaw rad, gripper.

    Action k - 1 is the move from pose k - 1 to k in the hand's frame at k - 1, the turn likewise, and the gripper at
    k. With ``accumulate`` all are seen from the first pose.
    """
    place, turn = poses[:, :3].astype(np.float64), Rotation.from_euler(EULER, poses[:, 3:6])
    before = np.zeros(len(poses) - 1, np.intp) if accumulate else np.arange(len(poses) - 1)
    seen_from = turn[before].inv()
    moved = seen_from.apply(place[1:] - place[before])
    turned = (seen_from * turn[1:]).as_euler(EULER)
    return np.concatenate([moved, turned, poses[1:, 6:7]], axis=1).astype(np.float32)
