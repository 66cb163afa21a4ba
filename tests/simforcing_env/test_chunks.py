import numpy as np
import pytest

from simforcing_env.chunks import chunk_ends


@pytest.mark.parametrize(
    ("success", "valid", "reward", "terminated"),
    [
        ([0.0, 0.0, 0.0], 3, 7.0, False),
        ([0.9, 0.0, 0.0], 1, 1.0, True),  # on the first frame
        ([0.0, 0.0, 0.9], 3, 7.0, True),  # on the last frame
        ([0.0, 0.9, 0.0], 2, 3.0, True),  # undone later
        ([0.5, 0.5, 0.5], 3, 7.0, False),  # the threshold itself is not enough
    ],
)
def test_a_chunk_ends_at_its_first_success(success, valid, reward, terminated):
    ends = chunk_ends(np.array([[1.0, 2.0, 4.0]]), np.array([success]), 0.5)
    assert ends.frames_valid.tolist() == [valid]
    assert ends.reward.tolist() == [reward]
    assert ends.terminated.tolist() == [terminated]


def test_rows_end_on_their_own():
    ends = chunk_ends(np.ones((2, 4)), np.array([[0, 0, 1, 1], [0, 0, 0, 0]]), 0.5)
    assert ends.frames_valid.tolist() == [3, 4]
    assert ends.reward.tolist() == [3.0, 4.0]
