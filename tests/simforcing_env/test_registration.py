"""What ``import simforcing_env`` does, in fresh processes."""

import subprocess
import sys

import gymnasium as gym
import pytest

import simforcing_env
from simforcing_env.registration import register_worlds


def python(code, root, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_ids_are_registered_with_both_entry_points():
    for world in simforcing_env.WORLDS:
        for name in (world.id, world.teacher_id):
            spec = gym.spec(name)
            assert spec.entry_point
            assert spec.vector_entry_point
            assert spec.max_episode_steps == world.max_episode_steps
    before = dict(gym.registry)
    register_worlds()  # a second time changes nothing
    assert dict(gym.registry) == before


def test_import_loads_neither_torch_nor_simulators(root):
    code = "import sys, simforcing_env; print(*sys.modules)"
    loaded = {name.split(".")[0] for name in python(code, root)}
    assert "simforcing_env" in loaded
    assert not loaded & {
        "torch",
        "diffusers",
        "pygame",
        "pymunk",
        "gym_pusht",
        "mujoco",
        "cv2",
        "scipy",
        "huggingface_hub",
    }


def test_classes_are_at_hand_lazily():
    assert simforcing_env.WorldModelEnv.__name__ == "WorldModelEnv"
    assert simforcing_env.TeacherVectorEnv.__name__ == "TeacherVectorEnv"
    with pytest.raises(AttributeError, match="Nothing"):
        _ = simforcing_env.Nothing


def test_gymnasium_imports_the_module_itself(root):
    code = """
import gymnasium as gym
env = gym.make("simforcing_env:SimForcing/PushT-Teacher-v0")
env.reset(seed=0)
print(env.spec.id, env.observation_space["image"].shape[0])
"""
    assert python(code, root)[-2:] == ["SimForcing/PushT-Teacher-v0", "64"]
