"""Coverage and calibration reports on outcomes with known errors, and their files."""

import csv
import dataclasses
import re

import numpy as np
import pytest

from simforcing_env.evaluation.calibration import calibration_metrics, judged, reliability_table
from simforcing_env.evaluation.calibration_files import write_files
from simforcing_env.evaluation.coverage import coverage_figure, coverage_metrics, coverage_table
from simforcing_env.evaluation.mistakes import mistakes, mistakes_sheet
from simforcing_env.evaluation.outcomes import Outcomes, predict_outcomes
from simforcing_env.evaluation.plots import save_figure
from tests.simforcing_env.evaluation.painted import HISTORY, painted_episodes, painted_rollout
from tests.world_model.untrained import untrained_pusht
from world_model.errors import InputError
from world_model.metrics.clips import cut_clips

EVENT = "success_coverage"


@pytest.fixture(scope="module")
def clips():
    return cut_clips(painted_episodes(6), HISTORY, 4, 1, np.random.default_rng(0))


def outcomes_of(clips, truth, generated, on_truth, before):
    """Coverages at four frames of six clips; the event is a coverage above 0.95 and its probability a step at 0.9."""

    def with_event(coverage, probability):
        return {"coverage": coverage, EVENT: probability}

    return Outcomes(
        clips,
        clips.truth.copy(),
        with_event(generated, np.where(generated > 0.9, 0.8, 0.1)),
        with_event(on_truth, np.where(on_truth > 0.9, 0.8, 0.1)),
        with_event(truth, (truth > 0.95).astype(float)),
        {"coverage": before},
    )


@pytest.fixture(scope="module")
def outcomes(clips):
    last = np.array([0.0, 0.2, 0.4, 0.6, 0.92, 1.0])
    truth = np.tile(last[:, None], (1, 4))
    wrong = np.array([0.1, -0.1, 0.1, -0.1, 0.0, -0.1])
    return outcomes_of(
        clips, truth, (truth + wrong[:, None]).clip(0, 1), truth, last - np.array([0, 0, 0.2, 0, 0, 0.3])
    )


def test_coverage_metrics(outcomes):
    found = coverage_metrics(outcomes, np.random.default_rng(0))
    truth, guess = outcomes.truth["coverage"][:, -1], outcomes.generated["coverage"][:, -1]
    assert found["mae"].value == pytest.approx(0.5 / 6)
    assert found["pearson"].value == pytest.approx(np.corrcoef(truth, guess)[0, 1])
    assert found["pearson"].low < found["pearson"].value <= found["pearson"].high <= 1
    assert found["mae_true_frames"].value == 0
    assert found["mae_copy"].value == pytest.approx(0.5 / 6)
    assert found["mae_near"].value == pytest.approx(0.2 / 3)
    assert found["mae_changed"].value == pytest.approx(0.1)  # the third and the last clip
    assert found["bias"].value == pytest.approx(-0.1 / 6)
    assert found["n"].value == found["mae"].n == 6


def test_coverage_files(outcomes, tmp_path):
    coverage_table(tmp_path / "starts.csv", outcomes)
    rows = list(csv.DictReader((tmp_path / "starts.csv").open()))
    assert [float(row["true"]) for row in rows] == [0.0, 0.2, 0.4, 0.6, 0.92, 1.0]
    assert rows[2]["start"] == outcomes.clips.start[2]
    pytest.importorskip("matplotlib")
    save_figure(tmp_path / "scatter.png", coverage_figure(outcomes))
    assert (tmp_path / "scatter.png").stat().st_size > 5000


def test_calibration_metrics(outcomes):
    frames = judged(outcomes, EVENT)
    found = calibration_metrics(frames, np.random.default_rng(0), resamples=200)
    # Of 24 true frames 4 are events, called 0.8; the 4 at coverage 0.92 are called 0.8 as well, the others 0.1.
    assert found["brier_true"].value == pytest.approx((4 * 0.04 + 4 * 0.64 + 16 * 0.01) / 24)
    assert found["auroc_true"].value == pytest.approx((16 + 4 / 2) / 20)
    # On generated frames the events' coverage reads 0.9, which is not above 0.9: missed.
    assert found["brier_generated"].value == pytest.approx((4 * 0.81 + 4 * 0.64 + 16 * 0.01) / 24)
    assert (found["misses_generated"].value, found["false_positives_generated"].value) == (4, 4)
    assert found["base_rate"].value == pytest.approx(1 / 6)
    assert found["brier_base_rate"].value == pytest.approx(5 / 36)
    assert found["brier_true"].low <= found["brier_true"].value <= found["brier_true"].high
    assert ["true", "0.8000", "0.5000", 8] in reliability_table(frames)


def test_pages_of_mistakes(outcomes, tmp_path):
    found = mistakes(outcomes, EVENT, "generated", "false positives")
    assert [m.facts[0] for m in found] == [outcomes.clips.start[4]]
    assert found[0].facts[2:] == ("probability 0.80", "coverage 0.920, read 0.920")
    assert mistakes(outcomes, EVENT, "true", "misses") == []
    assert mistakes_sheet(found).shape[1] == 2 * 130
    assert mistakes_sheet([]).shape[0] == 18
    pytest.importorskip("matplotlib")
    write_files(tmp_path / "calibration.json", outcomes, [EVENT])
    page = (tmp_path / "media/calibration-mistakes.html").read_text()
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "false positives on generated frames: 1 clips",
        "false positives on true frames: 1 clips",
        "misses on generated frames: 1 clips",
        "misses on true frames: 0 clips",
    ]
    assert page.count("data:image/png") == 3
    assert {p.name for p in (tmp_path / "media").iterdir()} == {
        "calibration-mistakes.html",
        "calibration-false-positives.png",
        "calibration.png",
    }


def test_an_event_that_never_happens_is_refused(clips):
    zero = np.zeros((6, 4))
    with pytest.raises(InputError, match="never"):
        judged(outcomes_of(clips, zero, zero, zero, zero[:, 0]), EVENT)


def test_heads_judge_the_same_moments(clips):
    """With a perfect model the two kinds of frames are the same pictures, and so are the answers."""
    simulator = untrained_pusht()
    simulator.codec = painted_rollout().codec
    found = predict_outcomes(simulator, painted_rollout(), clips, np.random.default_rng(0))
    np.testing.assert_array_equal(found.frames, clips.truth)
    assert set(found.truth) == set(simulator.heads.labels)
    for name in simulator.heads.labels:
        np.testing.assert_allclose(found.generated[name], found.on_truth[name], atol=1e-5)
    np.testing.assert_array_equal(found.before["coverage"], clips.labels["coverage"][:, HISTORY - 1])
    lacking = dataclasses.replace(clips, labels={"coverage": clips.labels["coverage"]})
    with pytest.raises(InputError, match="'iou'"):
        predict_outcomes(simulator, painted_rollout(), lacking, np.random.default_rng(0))
