"""Checkpoints of the published code to models of ours: read without running anything in them, converted strictly."""

from world_model.models.released.reading import Released, read_released
from world_model.models.released.translate import translate

__all__ = ["Released", "read_released", "translate"]
