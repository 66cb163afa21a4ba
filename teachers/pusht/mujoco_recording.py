"""Episodes of Push-T in MuJoCo: the behaviours of gym-pusht's recordings, acting in the other simulator."""

from __future__ import annotations

from teachers.pusht.mujoco_teacher import MujocoPushTConfig, MujocoPushTTeacher
from teachers.pusht.recording import PushTRecorder


class MujocoPushTRecorder(PushTRecorder):
    """As `PushTRecorder`, for data of the `sim` domain alone; pairs are made from a recording of gym-pusht."""

    config_type = MujocoPushTConfig
    teacher_type = MujocoPushTTeacher
