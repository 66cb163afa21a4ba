"""SimForcing in small on the two looks of Push-T, from a folder that ``simforcing pairs`` writes.

Stage 1 learns the simulator's side alone; stage 2 goes on from it with pairs, few of them real::

    simforcing train --config pusht-simforcing-stage1 --dataset PAIRS --held-out VAL --out STAGE1
    simforcing train --config pusht-simforcing --dataset PAIRS --held-out VAL --out STAGE2 --initial STAGE1/checkpoint

The study's arms are overrides of stage 2:

- A, real only, without ``--initial``: ``--set side="real"``
- B, both domains, no distillation: ``--set train.model.loss.motion=0 --set train.model.condition.present=0``
- C, distilled: ``--set train.model.condition.present=0``
- D, the whole method, as it stands
- E, without dropout and corruption: ``--set train.model.condition.present=1 --set train.model.condition.corrupted=0``
- F, told of the student's own simulation: ``--set train.model.own=1``
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.windows import WindowConfig

_FRAMES = 9
_VIDEO: dict[str, Any] = {
    "action_dim": 2,
    "proprio_dim": 2,
    "latent_channels": 24,
    "frames": _FRAMES,
    "grid": (16, 16),
    "depth": 8,
    "dim": 128,
    "heads": 4,
    "objective": "flow",
    "known_clean": True,
    "dropout": 0.0,
}
_STAGE_2 = Recipe(
    TrainConfig(
        model={
            "kind": "simforcing",
            "video": _VIDEO,
            "condition": {"present": 0.7},
            "loss": {"motion": 0.5},
            "own": 0.0,
        },
        windows=WindowConfig(length=_FRAMES, history=1),
        optim=OptimConfig(learning_rate=5e-4, ema=0.998),
        batch=8,
        overfit_steps=0,
        validation_frames=_FRAMES - 1,
        validation_clips=16,
    ),
    sampler={"kind": "euler", "steps": 4, "shift": 5.0},
    history=1,
    side="pairs",
    episodes=50,
)

SIMFORCING_RECIPES: dict[str, Recipe] = {
    "pusht-simforcing-stage1": replace(_STAGE_2, side="sim", episodes=0),
    "pusht-simforcing": _STAGE_2,
}
