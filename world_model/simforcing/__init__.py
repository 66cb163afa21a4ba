"""SimForcing: what a model learns from a simulator's frames beside real ones, and how these steer it at run time."""

from world_model.simforcing.condition import ConditionConfig, SimCondition, corrupt, draw_gate
from world_model.simforcing.motion import Estimates, PairLossConfig, latent_motion, level_weight, pair_loss

__all__ = [
    "ConditionConfig",
    "Estimates",
    "PairLossConfig",
    "SimCondition",
    "corrupt",
    "draw_gate",
    "latent_motion",
    "level_weight",
    "pair_loss",
]
