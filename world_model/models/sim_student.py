"""The joint student over networks of nano size: IRASim's, and form e."""

from __future__ import annotations

from dataclasses import dataclass, field

from world_model.models.forecast import ForecastConfig
from world_model.models.irasim import Irasim, IrasimConfig
from world_model.models.joint_student import JointStudent, StudentConfig
from world_model.models.key_points import KeyPointConfig
from world_model.models.key_video import KeyPointVideo
from world_model.models.step_condition import StepConditionConfig


@dataclass(frozen=True)
class SimForcingConfig(StudentConfig):
    """See `StudentConfig`."""

    video: IrasimConfig = field(default_factory=lambda: IrasimConfig(objective="flow", known_clean=True))


class SimForcing(JointStudent):
    """See `JointStudent`."""

    def __init__(self, config: SimForcingConfig) -> None:
        super().__init__(config, Irasim)


@dataclass(frozen=True)
class KeyForcingConfig(StudentConfig):
    """See `StudentConfig`."""

    video: KeyPointConfig = field(
        default_factory=lambda: KeyPointConfig(StepConditionConfig(2, 2), ForecastConfig(state_dim=6))
    )


class KeyForcing(JointStudent):
    """See `JointStudent`; told of the simulator in the blocks that draw."""

    def __init__(self, config: KeyForcingConfig) -> None:
        super().__init__(config, KeyPointVideo)
