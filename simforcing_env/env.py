"""The learned simulator as a single environment."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from gymnasium.vector import AutoresetMode

from simforcing_env.config import EnvOptions
from simforcing_env.single_env import ChunkEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from world_model.pretrained import LearnedSimulator
from world_model.runtime import Precision


class WorldModelEnv(ChunkEnv):
    """One episode of a learned simulator; arguments as of `WorldModelVectorEnv`."""

    def __init__(
        self,
        *,
        checkpoint: str | Path | LearnedSimulator = "pusht-nano",
        world: str | None = None,
        sampler_steps: int | None = None,
        history: int | None = None,
        device: str = "auto",
        precision: Precision = "auto",
        threads: int | None = None,
        **options: Unpack[EnvOptions],
    ) -> None:
        super().__init__(
            WorldModelVectorEnv(
                1,
                checkpoint=checkpoint,
                world=world,
                sampler_steps=sampler_steps,
                history=history,
                device=device,
                precision=precision,
                threads=threads,
                autoreset_mode=AutoresetMode.DISABLED,
                **options,
            )
        )
