"""SimForcing at its published size, from a manifest of paired videos (see `world_model.data.pair_manifest`).

Settings are those of specification 3.1 to 3.3: Wan2.2-TI2V-5B and its video autoencoder, 16 clips on each of 8 GPUs,
AdamW at 1e-4 with a cosine to 1 %, 20 epochs of 30 windows of each of 2,000 episodes a stage. Stage 1 learns the
simulator's side with 10 % of the actions withheld; stage 2 goes on with pairs and a frozen copy as its teacher::

    accelerate launch --config_file examples/accelerate/fsdp.yaml -m simforcing_env.commands.main \\
        train --config bridge-simforcing-stage1 --dataset BRIDGE --held-out BRIDGE_TEST --out STAGE1
    accelerate launch --config_file examples/accelerate/fsdp.yaml -m simforcing_env.commands.main \\
        train --config bridge-simforcing --dataset BRIDGE --held-out BRIDGE_TEST --out STAGE2 \\
        --initial STAGE1/checkpoint

For InternData-A1 it is ``intern-simforcing-stage1`` and ``intern-simforcing``: 33 frames, the number nearest to the 32
of the project page that the autoencoder takes. Its robots differ: give the contract's numbers with
``--set train.model.video.action_dim=14 --set train.model.video.told_proprio=14``. The public code's way from the data
set to clips of it is not known; ours begins with the manifest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from world_model.models.wan.pretrained import WAN
from world_model.training.config import OptimConfig, TrainConfig
from world_model.training.recipe import Recipe
from world_model.training.windows import WindowConfig

EPISODES, WINDOWS, EPOCHS, GLOBAL_BATCH = 2000, 30, 20, 16 * 8
STEPS = EPISODES * WINDOWS * EPOCHS // GLOBAL_BATCH


def _video(frames: int, dropout: float) -> dict[str, Any]:
    return {"frames": frames, "dropout": dropout, "told_proprio": 7, "text_tokens": 128, "checkpointing": True}


def _recipe(frames: int, dropout: float, side: str) -> Recipe:
    return Recipe(
        TrainConfig(
            model={"kind": "wan_simforcing", "video": _video(frames, dropout)},
            windows=WindowConfig(length=frames, history=1),
            optim=OptimConfig(learning_rate=1e-4, final_rate=0.01, weight_decay=0.01, warmup=STEPS // 20, clip=1.0),
            batch=16,
            steps=STEPS,
            precision="bf16",
            overfit_steps=0,
            checkpoint_seconds=3600.0,
            validate_seconds=3600.0,
            validation_frames=frames - 1,
            validation_clips=8,
        ),
        codec={"kind": "published", "source": WAN, "subfolder": "vae", "clips": True},
        sampler={"kind": "euler", "steps": 20, "shift": 5.0},
        history=1,
        side=side,
        episodes=EPISODES,
        pretrained=WAN,
    )


_STAGES = {"-stage1": (0.1, "sim"), "": (0.0, "pairs")}
WAN_RECIPES: dict[str, Recipe] = {
    f"{data}-simforcing{stage}": _recipe(frames, dropout, side)
    for data, frames in (("bridge", 21), ("intern", 33))
    for stage, (dropout, side) in _STAGES.items()
}
WAN_RECIPES |= {name: replace(recipe, episodes=0) for name, recipe in WAN_RECIPES.items() if name.startswith("intern")}
