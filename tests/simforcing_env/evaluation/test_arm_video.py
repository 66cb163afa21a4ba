"""The arm's video report on a model that is known to be perfect, and on one that is known to be a frame late."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from simforcing_env.evaluation.arm_pictures import arm_grid
from simforcing_env.evaluation.arm_video import arm_metrics, evaluate_arm_video, moved
from tests.simforcing_env.evaluation.painted import HISTORY, painted_episodes, painted_rollout
from world_model.metrics.clips import cut_clips

NAMES = ("cup_x", "cup_y", "cup_z", *(f"other_{i}" for i in range(5)))


@pytest.fixture(scope="module")
def episodes():
    made = painted_episodes(5)
    ends = [np.full(len(e), float(i < 2), np.float32) for i, e in enumerate(made)]
    return [dataclasses.replace(e, labels={"success": end}) for e, end in zip(made, ends, strict=True)]


@pytest.fixture(scope="module")
def clips(episodes):
    return cut_clips(episodes, HISTORY, 8, 1, np.random.default_rng(0))


def _metrics(episodes, clips, late=False):
    generator = np.random.default_rng(0)
    report = evaluate_arm_video(painted_rollout(late), clips, episodes, NAMES, None, (1, 8), generator)
    return report, arm_metrics(report, (1, 8), generator)


def test_a_perfect_model(episodes, clips):
    report, metrics = _metrics(episodes, clips)
    for name in ("psnr_h8", "psnr_top_h8", "psnr_h8_success", "psnr_h8_failure"):
        assert metrics[name].value == 60.0
    assert (metrics["psnr_h8_success"].n, metrics["psnr_h8_failure"].n) == (2, 3)
    assert metrics["gripper_cm_h8"].value < 1e-2
    assert metrics["gripper_cm_copy_h8"].value == pytest.approx(100 * 8 * 15, rel=0.02)  # 15 units a frame
    assert metrics["best_shift"].value == 0
    assert metrics["shuffle_gap_db"].value > 10
    assert arm_grid(report).shape[2] == 3


def test_a_late_model_is_best_with_early_actions(episodes, clips):
    assert _metrics(episodes, clips, late=True)[1]["best_shift"].value == 1


def test_moved_is_by_any_object_and_by_a_centimetre(clips):
    state = np.zeros((len(clips), HISTORY + 8, 8))
    state[0, HISTORY + 3 :, 2] = 0.02
    state[1, HISTORY:, 2] = 0.005
    state[2, :, 0] = 1.0  # it lies elsewhere, but does not move
    found = moved(dataclasses.replace(clips, state=state), NAMES)
    assert found[0].tolist() == [False] * 3 + [True] * 5
    assert not found[1:].any()
