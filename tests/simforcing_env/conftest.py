import pytest

from simforcing_env.env import WorldModelEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.world_model.tiny import tiny_simulator


@pytest.fixture
def make_vector():
    """Vector environments over the tiny world."""

    def make(num_envs=3, **options):
        return WorldModelVectorEnv(num_envs, checkpoint=options.pop("checkpoint", None) or tiny_simulator(), **options)

    return make


@pytest.fixture
def make_single():
    """Single environments over the tiny world."""

    def make(**options):
        return WorldModelEnv(checkpoint=tiny_simulator(), **options)

    return make
