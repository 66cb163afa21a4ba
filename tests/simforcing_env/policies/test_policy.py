"""What a policy answers is checked, and its hash names all that decides about it."""

import numpy as np
import pytest

from simforcing_env.policies.policy import batch_size, check_chunk, generators, policy_hash
from world_model.errors import InputError


class Still:
    """Answers with what it was given."""

    name, hash, horizon = "still", "0", 2

    def reset(self, seeds, tasks):
        pass

    def act(self, observation):
        return np.zeros((batch_size(observation), 2, 3), np.float32)


def test_a_chunk_of_the_right_shape_becomes_float32():
    actions = check_chunk(Still(), np.ones((4, 2, 3), np.float64), 4, 3)
    assert actions.dtype == np.float32
    assert actions.shape == (4, 2, 3)


@pytest.mark.parametrize("answer", [np.ones((4, 3)), np.ones((3, 2, 3)), "no numbers", None])
def test_another_answer_is_refused(answer):
    with pytest.raises(InputError, match=r"policy 'still' answered with .* shape \(4, 2, 3\)"):
        check_chunk(Still(), answer, 4, 3)


def test_the_hash_changes_with_settings_and_files(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    first = policy_hash("a", {"x": 1, "y": 2}, path)
    assert first == policy_hash("a", {"y": 2, "x": 1}, path)
    assert first != policy_hash("b", {"x": 1, "y": 2}, path)
    assert first != policy_hash("a", {"x": 2, "y": 2}, path)
    path.write_bytes(b"two")
    assert first != policy_hash("a", {"x": 1, "y": 2}, path)


def test_streams_follow_from_seed_and_salt_alone():
    one, two = generators([5, 6], 1)
    assert one.random() == generators([9, 5], 1)[1].random()
    assert two.random() != generators([6], 2)[0].random()
