"""An episode's arrays must fit together."""

import numpy as np
import pytest

from world_model.data.episode import Episode
from world_model.errors import InputError


def arrays(**changes):
    values = {
        "frames": np.zeros((4, 8, 8, 3), np.uint8),
        "proprio": np.zeros((4, 2), np.float32),
        "actions": np.zeros((3, 1, 2), np.float32),
        "state": np.zeros((4, 5), np.float32),
        "labels": {"reward": np.zeros(4, np.float32)},
    }
    return values | changes


def test_length_is_the_number_of_observations():
    assert len(Episode(**arrays())) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"actions": np.zeros((4, 1, 2), np.float32)},
        {"proprio": np.zeros((3, 2), np.float32)},
        {"state": np.zeros((5, 5), np.float32)},
        {"labels": {"reward": np.zeros(3, np.float32)}},
        {"frames": np.zeros((4, 8, 8, 3), np.float32)},
        {"frames": np.zeros((4, 8, 8), np.uint8)},
        {"actions": np.zeros((3, 2), np.float32)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes):
    with pytest.raises(InputError, match="episode"):
        Episode(**arrays(**changes))
