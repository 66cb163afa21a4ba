"""The pose reader: its geometry, its error on frames of the true renderer, and its training."""

import math

import numpy as np
import pytest
import torch

from simforcing_env.evaluation.pose_reader import (
    BLOCK_POINTS,
    PACKAGED,
    PoseReaderConfig,
    fit_block,
    load_reader,
    rotate,
    save_reader,
)
from simforcing_env.evaluation.pose_training import train_reader
from simforcing_env.evaluation.reader_config import ReaderTraining
from simforcing_env.evaluation.reading_error import reading_error
from simforcing_env.evaluation.scene_config import SceneMix
from simforcing_env.evaluation.scenes import draw_scenes, scene_examples
from teachers.pusht.physics import PushTState
from teachers.pusht.teacher import PushTTeacher
from world_model.data.spoil import blur
from world_model.errors import DataError, InputError

CLEAN = SceneMix(smeared=0.0, other_goal=0.0)


@pytest.fixture(scope="module")
def reader():
    return load_reader()


def test_rigid_fit_is_exact_and_tells_a_bent_block():
    shape = np.array(BLOCK_POINTS)
    angles = np.array([0.0, 2.0, -3.0])
    places = np.array([[10.0, 20.0], [256, 256], [500, 1]])
    points = rotate(shape, angles) + places[:, None]
    block, angle, misfit = fit_block(points)
    np.testing.assert_allclose(block, places, atol=1e-9)
    np.testing.assert_allclose(angle, angles, atol=1e-12)
    np.testing.assert_allclose(misfit, 0, atol=1e-9)
    points[0, 3] += (0.0, 40.0)  # the stem is pulled out by 40 px
    assert fit_block(points)[2][0] > 10


def test_a_turn_by_half_is_not_the_same_block(reader):
    teacher = PushTTeacher()
    frames = [teacher.reset_to_state(PushTState(50, 50, 300, 200, a)).frames["top"] for a in (0.7, 0.7 + math.pi)]
    read = reader.read(np.stack(frames))
    assert abs(abs(read.angle[0] - read.angle[1]) - math.pi) < 0.05


def test_error_on_true_frames(reader):
    scenes = draw_scenes(300, np.random.default_rng(7), CLEAN)
    error = reading_error(reader.read(scenes.frames), scenes.truth)
    assert error.agent_px.mean() < 1.5
    assert error.block_px.mean() < 1.5
    assert error.block_deg.mean() < 1.0
    assert "| block, degrees |" in error.table()


def test_blur_and_noise_cost_little(reader):
    scenes = draw_scenes(150, np.random.default_rng(8), CLEAN)
    spoiled = blur(torch.from_numpy(scenes.frames).float(), 1.0)
    spoiled += torch.randn(spoiled.shape, generator=torch.Generator().manual_seed(0)) * 4
    error = reading_error(reader.read(spoiled.round().clamp(0, 255).to(torch.uint8).numpy()), scenes.truth)
    assert error.block_px.mean() < 2.5
    assert error.block_deg.mean() < 2.0


def test_a_frame_without_a_block_has_a_large_misfit(reader):
    noise = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), dtype=np.uint8)
    scenes = draw_scenes(50, np.random.default_rng(9), CLEAN)
    assert reader.read(noise).misfit.min() > reader.read(scenes.frames).misfit.max()


def test_other_frames_are_refused(reader):
    with pytest.raises(InputError, match=r"\(2, 96, 96, 3\)"):
        reader.read(np.zeros((2, 96, 96, 3), np.uint8))
    assert reader.read(np.zeros((0, 64, 64, 3), np.uint8)).block.shape == (0, 2)


def test_packaged_weights_are_small():
    assert sum(p.stat().st_size for p in PACKAGED.iterdir()) < 2_000_000


def test_training_repeats_itself_and_is_saved(tmp_path):
    scenes = draw_scenes(40, np.random.default_rng(0), SceneMix())
    plan, shape = ReaderTraining(steps=3, batch=8), PoseReaderConfig(width=16, dilations=(1,))
    first, second = (train_reader(scenes, plan, torch.Generator().manual_seed(0), shape) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    save_reader(first, tmp_path / "reader", "card")
    again = load_reader(tmp_path / "reader")
    np.testing.assert_array_equal(again.read(scenes.frames).block, first.read(scenes.frames).block)
    (tmp_path / "reader/model.safetensors").write_bytes(b"cut off")
    with pytest.raises(DataError, match="damaged"):
        load_reader(tmp_path / "reader")


def test_scenes_carry_the_teacher_s_truth():
    scenes = draw_scenes(20, np.random.default_rng(3), SceneMix(near=1.0, near_spreads=(1.0,), smeared=0, other_goal=0))
    examples = scene_examples(scenes)
    assert examples.labels["coverage"].min() > 0.7
    teacher = PushTTeacher()
    agent_x, agent_y, x, y, angle = scenes.truth[4]
    drawn = teacher.reset_to_state(PushTState(agent_x, agent_y, x, y, angle))
    np.testing.assert_array_equal(drawn.frames["top"], scenes.frames[4])
    assert examples.labels["coverage"][4] == pytest.approx(teacher.labels()["coverage"])
    assert examples.proprio[4, 0] == pytest.approx(agent_x / 256 - 1, abs=1e-6)
