"""The video report on a model that is known to be perfect, and on one that is known to be a frame late."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from simforcing_env.evaluation.baselines import extrapolated, true_poses
from simforcing_env.evaluation.following import hold_actions
from simforcing_env.evaluation.loading import rollout_of
from simforcing_env.evaluation.pictures import comparison_grid
from simforcing_env.evaluation.pose_reader import load_reader
from simforcing_env.evaluation.video import evaluate_video
from simforcing_env.evaluation.video_metrics import (
    headline,
    video_metrics,
    write_clip_table,
    write_curve_table,
    write_metric_table,
)
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.simforcing_env.evaluation.painted import HISTORY, painted_episodes, painted_rollout
from tests.world_model.untrained import untrained_pusht
from world_model.errors import InputError
from world_model.metrics.clips import cut_clips
from world_model.metrics.rollouts import generate
from world_model.runtime import Runtime

HORIZONS = (1, 8)


@pytest.fixture(scope="module")
def clips():
    return cut_clips(painted_episodes(5), HISTORY, 8, 1, np.random.default_rng(0))


@pytest.fixture(scope="module")
def reader():
    return load_reader()


@pytest.fixture(scope="module")
def perfect(clips, reader):
    return evaluate_video(painted_rollout(), clips, reader, None, HORIZONS, np.random.default_rng(0))


@pytest.fixture(scope="module")
def metrics(perfect):
    return video_metrics(perfect, HORIZONS, np.random.default_rng(0))


def test_a_perfect_model(perfect, metrics):
    assert metrics["psnr_h1"].value == metrics["psnr_h8"].value == 60.0
    assert metrics["ssim_h8"].value == pytest.approx(1.0)
    assert metrics["proprio_px_h8"].value < 0.01
    for name in ("agent_px", "block_px", "block_deg"):  # only the reader errs
        np.testing.assert_array_equal(perfect.curves[name], perfect.curves[f"reader_{name}"])
    assert metrics["block_px_h8"].value < 3
    assert metrics["block_deg_h8"].value < 2


def test_from_one_known_frame(perfect, metrics):
    # This world has no memory, so that one frame is as good as three.
    for name in ("psnr", "block_px", "block_deg", "agent_px"):
        np.testing.assert_array_equal(perfect.curves[f"{name}_one_frame"], perfect.curves[name])
        assert metrics[f"{name}_h8_one_frame"].value == metrics[f"{name}_h8"].value


def test_one_known_frame_is_what_an_environment_knows(clips):
    simulator = untrained_pusht()
    rollout = rollout_of(simulator, Runtime())
    made = generate(rollout, clips.knowing(1), clips.future, np.arange(len(clips)))
    envs = WorldModelVectorEnv(len(clips), checkpoint=simulator, chunk=clips.horizon, precision="float32")
    pictures = {"image": clips.last[:, 0], "proprio": clips.proprio[:, HISTORY - 1]}
    envs.reset(seed=list(range(len(clips))), options=pictures)
    *_, infos = envs.step(clips.future[:, :, 0])
    np.testing.assert_array_equal(infos["frames"], made.frames)
    three = generate(rollout, clips, clips.future, np.arange(len(clips)))
    assert (three.frames != made.frames).any()


def test_actions_matter_and_are_in_time(metrics):
    assert metrics["shuffle_gap_db"].value > 10
    assert metrics["zero_gap_db"].value > 10
    assert metrics["best_shift"].value == 0
    assert min(metrics["shift_minus_gap_db"].value, metrics["shift_plus_gap_db"].value) > 10


def test_baselines_beside_it(clips, perfect, metrics):
    # The block moves 15 / 4 px a frame: 8 frames are 30 px. Constant velocity is right in this world.
    assert metrics["block_px_copy_h8"].value == pytest.approx(30.0, abs=0.2)
    assert metrics["block_px_velocity_h8"].value == pytest.approx(0.0, abs=0.5)
    assert metrics["agent_px_copy_h1"].value == pytest.approx(15.0, abs=0.2)
    assert metrics["psnr_velocity_h8"].value > metrics["psnr_copy_h8"].value + 5
    np.testing.assert_allclose(extrapolated(clips), true_poses(clips)[:, HISTORY:], atol=1.0)
    assert metrics["psnr_moving_gain_h8"].value == pytest.approx(60 - metrics["psnr_copy_h8"].value)
    assert metrics["moving_clips_h8"].value == len(clips)
    assert not perfect.moving[:, 0].any()  # 3.75 px are not yet motion


def test_a_late_model_is_found_out(clips, reader):
    late = evaluate_video(painted_rollout(late=True), clips, reader, None, HORIZONS, np.random.default_rng(0))
    found = video_metrics(late, HORIZONS, np.random.default_rng(0))
    assert found["best_shift"].value == 1
    assert found["agent_px_h8"].value == pytest.approx(15, abs=5)


def test_hold_asks_for_no_motion(clips):
    held = hold_actions(clips, painted_rollout().contract)
    assert held.shape == clips.future.shape
    np.testing.assert_array_equal(held[:, 5, 0], clips.proprio[:, HISTORY - 1])


def test_a_gripper_without_proprio_stays_as_it_was(clips):
    contract = painted_rollout().contract
    moves = replace(contract.actions[0], kind="relative")
    bounds = contract.normalizer
    bounds = replace(bounds, proprio_low=bounds.proprio_low[:1], proprio_high=bounds.proprio_high[:1])
    actions = (moves, contract.actions[1])
    held = hold_actions(clips, replace(contract, actions=actions, proprio=contract.proprio[:1], normalizer=bounds))
    assert (held[:, :, 0, 0] == 0).all()
    np.testing.assert_array_equal(held[:, 5, 0, 1], clips.future[:, 0, 0, 1])


def test_the_results_file_keeps_the_headline(metrics):
    kept = headline(metrics, horizon=8)
    wanted = ["psnr_h1", "psnr_h8", "psnr_copy_h8", "psnr_moving_gain_h8", "ssim_h8", "agent_px_h8", "block_px_h8"]
    wanted += ["block_deg_h8", "reader_px", "reader_deg", "shuffle_gap_db", "zero_gap_db", "best_shift"]
    assert set(wanted) <= set(kept)
    assert len(kept) < 45
    assert "agent_px_velocity_h8" not in kept


def test_tables_and_picture(tmp_path, perfect, metrics):
    write_clip_table(tmp_path / "clips.csv", perfect, HORIZONS)
    write_curve_table(tmp_path / "curves.csv", perfect)
    write_metric_table(tmp_path / "metrics.csv", metrics)
    read = {p.name: list(csv.DictReader(p.open())) for p in tmp_path.glob("*.csv")}
    assert [row["start"] for row in read["clips.csv"]] == list(perfect.clips.start)
    assert float(read["clips.csv"][0]["psnr_h8"]) == 60.0
    assert [row["frame"] for row in read["curves.csv"]] == [str(k) for k in range(1, 9)]
    assert {row["metric"] for row in read["metrics.csv"]} == set(metrics)
    picture = comparison_grid(perfect, count=3, horizon=8)
    first = picture[18 + 1 : 18 + 129, 170 + 1 : 170 + 129]  # the first clip's last known frame, twice its size
    ranked = np.argsort(perfect.curves["block_px"][:, 7], kind="stable")
    np.testing.assert_array_equal(first[::2, ::2], perfect.clips.last[ranked[0], 0])


def test_episodes_without_poses_are_refused(clips, reader):
    import dataclasses

    bare = dataclasses.replace(clips, state=None)
    with pytest.raises(InputError, match="no block poses"):
        evaluate_video(painted_rollout(), bare, reader, None, HORIZONS, np.random.default_rng(0))
