"""SimForcing: what a model learns from a simulator's frames beside real ones, and how these steer it at run time."""

from world_model.diffusion.flow import level_weight
from world_model.simforcing.condition import ConditionConfig, SimCondition, corrupt, draw_gate
from world_model.simforcing.motion import Estimates, PairLossConfig, latent_motion, pair_loss
from world_model.simforcing.pairs import PairClip, PairWindows
from world_model.simforcing.steer import Steered

__all__ = [
    "ConditionConfig",
    "Estimates",
    "PairClip",
    "PairLossConfig",
    "PairWindows",
    "SimCondition",
    "Steered",
    "corrupt",
    "draw_gate",
    "latent_motion",
    "level_weight",
    "pair_loss",
]
