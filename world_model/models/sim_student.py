"""The joint student over IRASim's network."""

from __future__ import annotations

from dataclasses import dataclass, field

from world_model.models.irasim import Irasim, IrasimConfig
from world_model.models.joint_student import JointStudent, StudentConfig


@dataclass(frozen=True)
class SimForcingConfig(StudentConfig):
    """See `StudentConfig`."""

    video: IrasimConfig = field(default_factory=lambda: IrasimConfig(objective="flow", known_clean=True))


class SimForcing(JointStudent):
    """See `JointStudent`."""

    def __init__(self, config: SimForcingConfig) -> None:
        super().__init__(config, Irasim)
