"""Whole episodes replayed: by hand, and batch against single."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from simforcing_env.evaluation.loading import rollout_of
from simforcing_env.evaluation.openloop import Replay, openloop_metrics, replay
from simforcing_env.evaluation.openloop_files import write_openloop_files
from tests.simforcing_env.evaluation.painted import painted_episodes
from tests.world_model.untrained import untrained_pusht
from world_model.metrics.agreement import cohen_kappa
from world_model.runtime import Runtime


def _replay(truth: list[float], generated: list[float], task: int = 0) -> Replay:
    values = (np.array(v, np.float64) for v in (truth, generated, truth))
    return Replay(f"suite/{task}/0", "expert", task, *values, np.zeros((len(truth), 8, 8, 3), np.uint8))


def test_metrics_by_hand() -> None:
    """Two of three agree: true 1, 0, 0; learned 1, 0, 1. Chance agrees 4 in 9, so kappa is (2/3 - 4/9) / (5/9)."""
    replays = [_replay([0, 1], [0.1, 0.9]), _replay([0, 0], [0.2, 0.4]), _replay([0, 0], [0.6, 0.0])]
    found = openloop_metrics(replays, 0.5, np.random.default_rng(0))
    assert found["agreement"].value == pytest.approx(2 / 3)
    assert found["kappa"].value == pytest.approx(0.4)
    assert found["kappa_true_frames"].value == found["agreement_true_frames"].value == 1.0
    assert found["success_true"].value == pytest.approx(1 / 3)
    assert found["success_auroc_true"].value == 1.0
    assert found["success_auroc_generated"].value == 1.0
    assert found["success_brier_true"].value == 0.0


def test_kappa_without_variation_is_left_out() -> None:
    yes = np.ones(4, bool)
    assert cohen_kappa(yes, yes) is None
    assert cohen_kappa(yes, ~yes) == 0.0


def test_a_batch_replays_as_single_episodes_do(tmp_path) -> None:
    simulator = untrained_pusht()
    rollout = rollout_of(simulator, Runtime())
    episodes = []
    for episode, length in zip(painted_episodes(3), (14, 9, 12), strict=True):
        cut = {name: values[:length] for name, values in episode.labels.items()}
        cut["success"] = cut["success_coverage"]
        episodes.append(
            dataclasses.replace(
                episode,
                frames=episode.frames[:length],
                proprio=episode.proprio[:length],
                actions=episode.actions[: length - 1],
                state=None,
                labels=cut,
            )
        )
    together = replay(simulator, rollout, episodes, np.random.default_rng(0))
    alone = replay(simulator, rollout, episodes, np.random.default_rng(0), rows=1)
    assert [len(r.truth) for r in together] == [13, 8, 11]
    for one, other in zip(together, alone, strict=True):
        assert np.abs(one.frames.astype(int) - other.frames.astype(int)).max() <= 1
        np.testing.assert_allclose(one.on_truth, other.on_truth, atol=1e-5)
    write_openloop_files(tmp_path / "x.json", together, episodes, 0.5)
    assert len((tmp_path / "x-episodes.csv").read_text().splitlines()) == 4
    assert (tmp_path / "media" / "x-mistakes.png").stat().st_size > 1000
