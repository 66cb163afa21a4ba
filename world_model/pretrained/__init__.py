"""Learned simulators in checkpoint folders, packaged or on the hub."""

from world_model.pretrained.names import packaged_names, register_folder, resolve
from world_model.pretrained.simulator import LearnedSimulator
from world_model.pretrained.starts import Starts, task_of

__all__ = ["LearnedSimulator", "Starts", "packaged_names", "register_folder", "resolve", "task_of"]
