"""Wan2.2-TI2V-5B as a world model: its video network and an action expert that it attends to, layer by layer."""

from world_model.models.wan.config import PUBLISHED, WanConfig
from world_model.models.wan.model import WanVideo
from world_model.models.wan.pretrained import begin_with, interpolated, read_transformer

__all__ = ["PUBLISHED", "WanConfig", "WanVideo", "begin_with", "interpolated", "read_transformer"]
