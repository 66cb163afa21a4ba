"""The learned simulator as a single environment."""

from __future__ import annotations

from simforcing_env.single_env import ChunkEnv
from simforcing_env.vector_env import WorldModelVectorEnv


class WorldModelEnv(ChunkEnv):
    """One episode of a learned simulator; arguments as of `WorldModelVectorEnv`."""

    form = WorldModelVectorEnv
