"""A policy for LIBERO: sees key points through the reader that ships, is told its task, learns from solved episodes."""

import numpy as np
import pytest
import torch

from simforcing_env.evaluation.loading import open_simulator
from simforcing_env.policies.diffusion import load_diffusion, new_policy
from simforcing_env.policies.diffusion_data import Choice, recorded_moments
from simforcing_env.policies.diffusion_training import PolicyTrainer, PolicyTraining
from simforcing_env.policies.policy import Task
from simforcing_env.policies.scene_eyes import scene_eyes
from simforcing_env.spaces import PROPRIO_KEYS, image_keys
from world_model.canvas import split
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.reader import read_dataset
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.errors import DataError, InputError
from world_model.training.recipes import RECIPES

NAME = "libero-goal-nano"


@pytest.fixture(scope="module")
def simulator():
    return open_simulator(NAME)


@pytest.fixture(scope="module")
def eyes(simulator):
    return scene_eyes(simulator, RECIPES[NAME].train.state, 10)


def first_frames(simulator, count=3):
    starts = simulator.starts
    return starts.frames[:count], starts.proprio[:count]


def test_the_eyes_see_what_the_world_model_reads(simulator, eyes):
    frames, proprio = first_frames(simulator)
    pictures, numbers = torch.from_numpy(frames), torch.from_numpy(simulator.contract.normalize_proprio(proprio))
    with torch.inference_mode():
        seen = eyes(pictures, numbers, torch.tensor([0, 4, 9]))
        read = simulator.model.read_state(simulator.codec.encode(pictures), numbers)
    assert seen.shape == (3, eyes.dim) == (3, 7 + 40 + 10)
    torch.testing.assert_close(seen[:, 7:47], read)
    torch.testing.assert_close(seen[:, :7], numbers)
    assert seen[:, 47:].argmax(1).tolist() == [0, 4, 9]
    assert seen[:, 47:].sum(1).tolist() == [1, 1, 1]
    with pytest.raises(InputError, match="told the task of each episode but none came"):
        eyes(pictures, numbers)
    with pytest.raises(InputError, match="task 10 is unknown"):
        eyes(pictures, numbers, torch.tensor([0, 1, 10]))


def test_a_model_without_a_scene_has_no_such_eyes():
    with pytest.raises(InputError, match="reads no scene"):
        scene_eyes(open_simulator("pusht-nano"), RECIPES[NAME].train.state, 10)


def test_a_saved_policy_acts_by_its_task(simulator, eyes, tmp_path):
    policy = new_policy(simulator.contract, eyes, horizon=8, width=32, layers=1, sample_steps=2)
    policy.save(tmp_path / "it")
    again = load_diffusion(tmp_path / "it", simulator.contract, name="diffusion:it")
    assert again.name == "diffusion:it"
    frames, proprio = first_frames(simulator, 2)
    seen = {**split(simulator.contract, frames, image_keys(simulator.contract)), PROPRIO_KEYS["plain"]: proprio}
    chunks = []
    for one, tasks in ((policy, (3, 5)), (again, (3, 5)), (again, (3, 6))):
        one.reset([1, 2], [Task(number) for number in tasks])
        chunks.append(one.act(seen))
    assert chunks[0].shape == (2, 8, 7)
    np.testing.assert_array_equal(chunks[0], chunks[1])
    np.testing.assert_array_equal(chunks[1][0], chunks[2][0])
    numbers = torch.from_numpy(simulator.contract.normalize_proprio(proprio))
    with torch.inference_mode():
        state = simulator.model.read_state(simulator.codec.encode(torch.from_numpy(frames)), numbers)
    assert again.reads_state == 40
    twice = again.see_state(proprio.repeat(2, 0), state.numpy().repeat(2, 0))  # as a world model foresees it
    torch.testing.assert_close(twice, again.see(seen).repeat_interleave(2, dim=0))
    assert np.abs(chunks[1][1] - chunks[2][1]).max() > 1e-4


def arm_contract():
    moves = (Dimension("move", "m", -1, 1, "relative"), Dimension("gripper", "sign", -1, 1))
    proprio = (Dimension("hand", "m", -1, 1),)
    normalizer = Normalizer("bounds", (-1, -1), (1, 1), (-1,), (1,))
    return Contract("arm", (Camera("top", 16, 16),), 20.0, 4, moves, proprio, normalizer)


def recorded(root):
    """Six episodes of two tasks; actions count up in hundredths; the even episodes succeed at frame 3."""
    spec = DatasetSpec(arm_contract(), ("a",), ("reward", "success"), ("One.", "Two."))
    writer, part = DatasetWriter(root, spec), root.parent / "part"
    part.mkdir()
    with ShardWriter(part, spec, 0, 0) as shard:
        for number in range(6):
            success = np.zeros(7, np.float32)
            success[3:] = float(number % 2 == 0)
            actions = (np.arange(48, dtype=np.float32) / 100).reshape(6, 4, 2)
            shard.add(
                Episode(
                    np.zeros((7, 16, 16, 3), np.uint8),
                    np.full((7, 1), number / 10, np.float32),
                    actions,
                    np.zeros((7, 1), np.float32),
                    {"reward": success, "success": success},
                    f"s{number}",
                    ("expert", "noisy")[number > 3],
                    number // 3,
                )
            )
    writer.commit(part)
    writer.write_stats()
    return read_dataset(root)


def points(states, names):
    assert tuple(names) == ("a",)
    return states.astype(np.float32)


def test_solved_episodes_are_learned_up_to_their_success(tmp_path):
    data = recorded(tmp_path / "data")
    moments = recorded_moments(data, 8, Choice(solved=True), points_of=points)
    assert len(moments) == 3 * 4  # frames 0 to 3 of episodes 0, 2 and 4
    assert moments.tasks.tolist() == [0] * 8 + [1] * 4
    chunks = moments.chunks(torch.tensor([0, 2, 3]), 8)
    torch.testing.assert_close(chunks[0].flatten(), torch.arange(16) / 100)
    # Two frames on: the last four actions before the success, then rest with the gripper as it is.
    torch.testing.assert_close(chunks[1][:4].flatten(), torch.arange(16, 24) / 100)
    torch.testing.assert_close(chunks[1][4:], torch.tensor([0.0, 0.23]).expand(4, 2))
    torch.testing.assert_close(chunks[2], torch.tensor([0.0, 0.23]).expand(8, 2))


def test_which_episodes_are_learned_from(tmp_path):
    data = recorded(tmp_path / "data")
    assert len(recorded_moments(data, 8, Choice(per_task=1, solved=True), points_of=points)) == 2 * 4
    assert len(recorded_moments(data, 8, Choice(("noisy",), solved=True), points_of=points)) == 4
    # Failures end before the recording does: two frames of actions follow each of the first five.
    assert len(recorded_moments(data, 8, points_of=points)) == 3 * 6 + 3 * 5
    with pytest.raises(DataError, match="other behaviours"):
        recorded_moments(data, 8, Choice(("wander",)), points_of=points)


def test_training_leaves_the_eyes_alone(simulator, eyes, tmp_path):
    generator = torch.Generator().manual_seed(0)
    from simforcing_env.policies.diffusion_data import Moments

    count = 40
    moments = Moments(
        torch.rand(count, 7, generator=generator),
        torch.rand(count * 4, 7, generator=generator),
        torch.arange(count) * 4,
        torch.full((count,), count * 4 - 1),
        torch.rand(count, 40, generator=generator),
        tasks=torch.arange(count) % 10,
    )
    policy = new_policy(simulator.contract, eyes, horizon=8, width=16, layers=1)
    before = {name: value.clone() for name, value in eyes.state_dict().items()}
    trained = PolicyTrainer(policy, moments, PolicyTraining(steps=3, batch=8, keep=()), tmp_path / "run", 0).run()
    assert all(torch.equal(value, before[name]) for name, value in trained.eyes.state_dict().items())
    assert trained.net.out.weight.abs().max() > 0
