"""What a user sees who gives an environment the wrong checkpoint, or lacks an extra: one sentence with the mend."""

import subprocess
import sys

import gymnasium as gym
import pytest

import simforcing_env  # noqa: F401 (registers the ids)
from tests.world_model.tiny import tiny_simulator
from tests.world_model.untrained import untrained_pusht
from world_model.errors import ContractError, DataError

ID = "SimForcing/PushT-v0"


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_a_checkpoint_of_another_world(make):
    with pytest.raises(ContractError, match="simulates 'tiny' but this environment is 'pusht'"):
        make(ID, checkpoint=tiny_simulator())


def test_no_such_checkpoint():
    with pytest.raises(DataError, match="there is no checkpoint 'pusht-giant'"):
        gym.make(ID, checkpoint="pusht-giant")


def test_truncated_weights(tmp_path):
    untrained_pusht().save_pretrained(tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"model\.safetensors"):
        gym.make(ID, checkpoint=tmp_path / "cut")


WITHOUT = """
import sys
for name in ("pymunk", "pygame", "gym_pusht", "shapely"):
    sys.modules[name] = None  # importing it now fails as if it were not installed
import gymnasium as gym
import simforcing_env
from world_model.errors import SimforcingError

def attempt(action):
    try:
        action()
        print("done")
    except SimforcingError as error:
        print(type(error).__name__, error)

env = gym.make("SimForcing/PushT-v0", checkpoint=sys.argv[1])
attempt(lambda: env.reset(seed=0))
attempt(lambda: env.step(env.action_space.sample()))
attempt(lambda: env.reset(options={"start": "seed-77"}))
attempt(lambda: gym.make("SimForcing/PushT-Teacher-v0"))
"""


def test_without_the_simulators_extra(root, tmp_path):
    """The learned environment runs; only what needs the true simulator says what to install."""
    untrained_pusht().save_pretrained(tmp_path / "untrained")
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "untrained")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=120)
    assert done.returncode == 0, done.stderr
    reset, step, start, teacher = done.stdout.splitlines()
    assert reset == step == "done"
    assert start.startswith("InputError start 'seed-77' is not among the 3 that checkpoint")
    for sentence in (start, teacher):
        assert 'pip install "simforcing-env[pusht]"' in sentence
    assert teacher.startswith("MissingExtraError")
