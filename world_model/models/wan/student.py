"""The joint student at its published size: Wan2.2-TI2V-5B with an action expert, told in every block by default."""

from __future__ import annotations

from dataclasses import dataclass, field

from world_model.models.joint_student import JointStudent, StudentConfig
from world_model.models.wan.config import WanConfig
from world_model.models.wan.model import WanVideo


@dataclass(frozen=True)
class WanForcingConfig(StudentConfig):
    """See `StudentConfig`; the defaults are published."""

    video: WanConfig = field(default_factory=WanConfig)


class WanForcing(JointStudent):
    """See `JointStudent`."""

    video: WanVideo

    def __init__(self, config: WanForcingConfig) -> None:
        super().__init__(config, WanVideo)
