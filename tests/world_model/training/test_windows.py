"""Windows: alignment of frames and actions, padding at starts, weights, deterministic order."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.world_model.tiny import tiny_contract
from tests.world_model.training.moving_square import STATE, episodes
from world_model.data.episode import Episode
from world_model.errors import DataError
from world_model.training.state_encoding import PlanarBody, StateEncoding
from world_model.training.windows import WindowConfig, Windows


def windows(length: int = 4, history: int = 2, count: int = 3) -> Windows:
    return Windows(episodes(count), tiny_contract(), WindowConfig(length=length, history=history), STATE)


def test_action_leads_to_the_next_frame_of_the_same_episode() -> None:
    """In this world the square jumps to its target: the proprio of frame i + 1 is the action of frame i."""
    data = windows()
    clip = data.clip(torch.arange(len(data)), None)
    real = clip.valid[:, :-1]
    assert torch.equal(clip.actions[real][:, 0], clip.proprio[:, 1:][real])
    assert len(data) == 3 * (24 + 1 - 4 + 1)


def test_padding_repeats_the_first_frame_and_blanks_its_action() -> None:
    data = windows()
    first = data.clip(torch.tensor([0]), None)
    assert first.valid.tolist() == [[False, True, True, True]]
    assert torch.equal(first.proprio[0, 0], first.proprio[0, 1])
    assert first.actions[0, 0].abs().sum() == 0
    assert windows(history=1).clip(torch.tensor([0]), None).valid.all()


def test_order_is_a_function_of_seed_and_step() -> None:
    data = windows()
    assert torch.equal(data.draw(32, 1, 5), data.draw(32, 1, 5))
    assert not torch.equal(data.draw(32, 1, 5), data.draw(32, 1, 6))
    assert not torch.equal(data.draw(32, 1, 5), data.draw(32, 2, 5))


def test_resting_windows_are_drawn_less() -> None:
    moving, resting = episodes(1, 40)[0], episodes(1, 40, seed=1)[0]
    still = np.repeat(resting.state[:1], 40, axis=0)
    resting = Episode(resting.frames, resting.proprio, resting.actions, still)
    data = Windows([moving, resting], tiny_contract(), WindowConfig(4, 1, still_weight=0.25), STATE)
    drawn = data.draw(8000, 0, 0)
    share = (data.first[drawn] == 40).float().mean()
    assert abs(share - 0.2) < 0.02


def test_points_of_a_turned_body() -> None:
    """A body at (5, 5) turned by a quarter: its point (2, 0) stands at (5, 7)."""
    encoding = StateEncoding((PlanarBody(0, 1, 2, ((0.0, 0.0), (2.0, 0.0))),), low=0.0, high=10.0)
    assert encoding.dim == 4
    points = encoding.encode(np.array([[5.0, 5.0, np.pi / 2]]))
    np.testing.assert_allclose(points, [[0.0, 0.0, 0.0, 0.4]], atol=1e-6)


def test_too_short_episodes_and_missing_state() -> None:
    with pytest.raises(DataError, match="no episode is long enough for windows of 99 frames"):
        windows(length=99)
    bare = [Episode(e.frames, e.proprio, e.actions) for e in episodes(1)]
    with pytest.raises(DataError, match="no teacher state"):
        Windows(bare, tiny_contract(), WindowConfig(4, 2), STATE)
