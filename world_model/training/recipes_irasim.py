"""IRASim on real robots at its published settings, and its study in small on Push-T.

The published runs took 32 GPUs with 2 clips each (300,000 steps of AdamW at 1e-4, clipped at 0.1, average 0.9999). On
one GPU, with the SDXL autoencoder in a folder (or in the hub's cache)::

    simforcing train --config irasim-rt1 --dataset RT1 --held-out RT1-VAL --out RUN \\
        --set train.batch=2 --set 'train.model.conditioning="frame"'

and on several, through accelerate::

    accelerate launch --num_processes 8 --mixed_precision bf16 -m simforcing_env.commands.main train \\
        --config irasim-rt1 --dataset RT1 --held-out RT1-VAL --out RUN --set train.batch=8

``train.batch`` counts clips of each process: 64 divided by their number is as published. RT1 is a folder that
``simforcing data convert`` writes from IRASim's own layout, so that its contract multiplies actions by 20. With
``irasim-robonet`` two frames are known and ten generated, of 256 x 256 pixels, as the paper has it (``--size 256`` of
the conversion); it is for files with 5 actions, others take ``--set train.model.action_dim=4``. The paper has no
DROID: ``irasim-droid`` has the other settings for pictures of 192 x 320.
"""

from __future__ import annotations

from typing import Any

from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.recipes_pusht import PUSHT_STATE
from world_model.training.state_encoding import StateEncoding
from world_model.training.windows import WindowConfig

_PUBLISHED = OptimConfig(
    learning_rate=1e-4, final_rate=1.0, weight_decay=0.0, betas=(0.9, 0.999), warmup=0, clip=0.1, ema=0.9999
)
_FRAMES = 16


def _robot(
    action_dim: int, grid: tuple[int, int], embedding: str = "mlp", frames: int = _FRAMES, history: int = 1
) -> Recipe:
    """XL/2 with Frame-Ada; the sizes are those of `models.irasim.SIZES`."""
    model = {"kind": "irasim", "action_dim": action_dim, "grid": grid, "embedding": embedding, "frames": frames}
    train = TrainConfig(
        model=model if history == 1 else {**model, "history": history},
        windows=WindowConfig(length=frames, history=history, still_weight=1.0),
        optim=_PUBLISHED,
        batch=2,
        seed=3407,
        steps=300_000,
        checkpoint_seconds=3600.0,
        validate_seconds=7200.0,
        overfit_steps=0,
        validation_clips=8,
        validation_frames=frames - history,
    )
    sampler = {"kind": "diffusers", "scheduler": "pndm", "steps": 50}
    return Recipe(train, codec={"kind": "published"}, sampler=sampler, history=history)


_SHARED = {
    "action_dim": 2,
    "action_octaves": 4,
    "proprio_dim": 2,
    "frames": _FRAMES,
    "history": 1,
    "objective": "clean",
    "anchored": True,
    "noise": {"pure": 0.8},
}
_IRASIM = {"kind": "irasim", **_SHARED, "latent_channels": 24, "grid": (16, 16), "depth": 8, "dim": 128, "heads": 4}
_ROBOTS = {**_IRASIM, "action_dim": 7, "action_octaves": 2, "proprio_dim": 0, "frames": 10}
_UNET = {"kind": "video_unet", **_SHARED, "dim": 16, "mults": (1, 2, 4, 8), "heads": 2, "condition_dim": 128}


def _study(model: dict[str, Any], codec: dict[str, Any], batch: int = 2, state: StateEncoding = PUSHT_STATE) -> Recipe:
    """A model of 2.6 million parameters that is to learn in minutes: it begins with copying and tells the change."""
    frames = model["frames"]
    train = TrainConfig(
        model=model,
        state=state,
        windows=WindowConfig(length=frames, history=1),
        optim=OptimConfig(learning_rate=1e-3, warmup=50, ema=0.998, weight_decay=0.0),
        batch=batch,
        overfit_steps=0,
        validation_clips=8,
        validation_frames=frames - 1,
        validate_seconds=1e9,
    )
    return Recipe(train, codec=codec, sampler={"kind": "euler", "steps": 2, "shift": 1.0}, history=1)


STUDY_LATENTS = {"kind": "pca", "patch": 4, "channels": 24}
"""Of the study's latent models, and of its latent L2."""
_PIXELS = {"kind": "space_to_depth", "patch": 1}

IRASIM_RECIPES: dict[str, Recipe] = {
    "irasim-rt1": _robot(7, (32, 40)),
    "irasim-bridge": _robot(7, (32, 40)),
    "irasim-languagetable": _robot(2, (36, 64), "linear"),
    "irasim-robonet": _robot(5, (32, 32), frames=12, history=2),
    "irasim-droid": _robot(7, (24, 40)),
    "pusht-irasim-frame-ada": _study({**_IRASIM, "conditioning": "frame"}, STUDY_LATENTS),
    "pusht-irasim-video-ada": _study({**_IRASIM, "conditioning": "video"}, STUDY_LATENTS),
    "pusht-lvdm": _study({**_UNET, "latent_channels": 24}, STUDY_LATENTS),
    "robots-nano": _study(_ROBOTS, STUDY_LATENTS, state=StateEncoding()),
    "pusht-vdm": _study({**_UNET, "latent_channels": 3}, _PIXELS),
}
