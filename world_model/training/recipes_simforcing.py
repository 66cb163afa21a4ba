"""SimForcing in small on the two looks of Push-T or LIBERO-Goal, from a folder that ``simforcing pairs`` writes.

Stage 1 learns the simulator's side alone; stage 2 goes on from it with pairs, few of them real::

    simforcing train --config pusht-simforcing-stage1 --dataset PAIRS --held-out VAL --out STAGE1
    simforcing train --config pusht-simforcing --dataset PAIRS --held-out VAL --out STAGE2 --initial STAGE1/checkpoint

The student is the shipped form (key points, drawn from an anchor), in LIBERO ``libero-goal-simforcing``;
``pusht-simforcing-irasim`` and its ``-stage1`` are over IRASim's transformer, which learns far more slowly; so are
``droid-simforcing`` and its ``-stage1``, for what ``simforcing pairs droid`` makes: no objects' state is known there.

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
from world_model.training.recipes_libero import LIBERO_RECIPES
from world_model.training.recipes_pusht import PUSHT_RECIPES
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
_IRASIM = Recipe(
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


def _staged(nano: Recipe, shaken: float, batch: int) -> tuple[Recipe, Recipe]:
    """Both stages of a shipped model's form.

    Args:
        shaken: most deviation of errors and changes of its state: in what training tells of where things stand, and
            in what the teacher is asked to foresee.
        batch: windows of pairs.
    """
    model: dict[str, Any] = {
        "kind": "key_simforcing",
        "video": {name: value for name, value in nano.train.model.items() if name != "kind"},
        "condition": {"present": 0.7},
        # Motion of latents is not the same in two looks of other colours; that of key points is.
        "loss": {
            "weighting": "clean",
            "video": 10.0,
            "motion": 0.5,
            "pictures": 0.0,
            "foreseen": 40.0,
            "perturbed": shaken,
        },
        "own": 0.0,
        "own_steps": 1,
        "misread": shaken,
    }
    first = replace(nano.train, model=model, overfit_steps=0, validation_clips=16)
    second = replace(first, batch=batch)
    windows = replace(second.windows, length=min(24, second.windows.length))
    return (
        replace(nano, train=first, side="sim"),
        replace(nano, train=replace(second, windows=windows), side="pairs", episodes=50),
    )


_PUSHT = _staged(PUSHT_RECIPES["pusht-nano"], shaken=0.1, batch=8)
_GOAL = _staged(LIBERO_RECIPES["libero-goal-nano"], shaken=0.02, batch=6)

_DROID_FRAMES = 6
_DROID = replace(
    _IRASIM,
    train=replace(
        _IRASIM.train,
        model={
            **_IRASIM.train.model,
            "video": {
                **_VIDEO,
                "action_dim": 7,
                "action_octaves": 2,
                "proprio_dim": 7,
                "latent_channels": 48,
                "frames": _DROID_FRAMES,
                "grid": (24, 40),
                "depth": 6,
            },
        },
        windows=WindowConfig(length=_DROID_FRAMES, history=1),
        optim=OptimConfig(learning_rate=1e-3, warmup=50, ema=0.99),
        batch=1,
        validation_frames=_DROID_FRAMES - 1,
        validation_clips=4,
    ),
    codec={"kind": "pca", "patch": 8, "channels": 48},
    episodes=0,
)

SIMFORCING_RECIPES: dict[str, Recipe] = {
    "pusht-simforcing-stage1": _PUSHT[0],
    "pusht-simforcing": _PUSHT[1],
    "pusht-simforcing-irasim-stage1": replace(_IRASIM, side="sim", episodes=0),
    "pusht-simforcing-irasim": _IRASIM,
    "libero-goal-simforcing-stage1": _GOAL[0],
    "libero-goal-simforcing": _GOAL[1],
    "droid-simforcing-stage1": replace(_DROID, side="sim"),
    "droid-simforcing": _DROID,
}
