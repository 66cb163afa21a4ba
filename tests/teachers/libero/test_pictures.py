"""Few and small pictures: orientation, several worlds in one process, the fast look, machines that cannot draw."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from teachers.libero import gl, renderer
from teachers.libero.lowpoly import LENT, low_poly
from teachers.libero.world import LiberoWorld

CAMERAS = ("agentview", "robot0_eye_in_hand")


@pytest.fixture(scope="module")
def world(drawing):
    world = LiberoWorld.open("libero_goal", 8)
    yield world
    world.close()


def psnr(one, other):
    return 10 * np.log10(255**2 / np.square(one.astype(float) - other).mean())


def project(world, camera, point, size):
    """Row from the top and column from the left of a point in the world."""
    at = world.sim.model.camera_name2id(camera)
    local = world.sim.data.cam_xmat[at].reshape(3, 3).T @ (point - world.sim.data.cam_xpos[at])
    focal = size / 2 / np.tan(np.radians(world.sim.model.cam_fovy[at]) / 2)
    return np.array([size / 2 - focal * local[1] / -local[2], size / 2 + focal * local[0] / -local[2]])


def test_pictures_are_upright_and_not_mirrored(world):
    world.reset(0, settle=False)
    bowl = "akita_black_bowl_1"
    place = world.object_poses()[bowl][:3]
    before = world.render("agentview", 96)
    pose = world.sim.data.get_joint_qpos(f"{bowl}_joint0").copy()
    pose[2] += 5
    world.sim.data.set_joint_qpos(f"{bowl}_joint0", pose)
    world.sim.forward()
    changed = np.abs(before.astype(int) - world.render("agentview", 96)).sum(-1) > 30
    assert changed.sum() > 20
    assert np.argwhere(changed).mean(axis=0) == pytest.approx(project(world, "agentview", place, 96), abs=6)


def test_worlds_in_one_process_do_not_disturb_each_other(world):
    world.reset(0, settle=False)
    alone = world.render("agentview", 64)
    other = LiberoWorld.open("libero_object", 0)
    other.reset(0, settle=False)
    others = other.render("agentview", 64)
    assert psnr(alone, others) < 20
    assert np.array_equal(world.render("agentview", 64), alone)
    assert np.array_equal(other.render("agentview", 64), others)
    other.close()
    assert np.array_equal(world.render("agentview", 64), alone)


def test_a_closed_renderer_opens_again_with_the_same_picture(world, monkeypatch):
    world.reset(0, settle=False)
    before = world.render("agentview", 64)
    monkeypatch.setattr(renderer, "MOST", 1)
    other = LiberoWorld.open("libero_goal", 8)
    other.reset(0, settle=False)
    assert np.array_equal(other.render("agentview", 64), before)
    assert world._renderer.closed
    assert np.array_equal(world.render("agentview", 64), before)
    other.close()


def test_the_fast_look_is_nearly_the_stock_look(world):
    world.reset(0)
    fast = LiberoWorld.open("libero_goal", 8, look="fast")
    fast.restore(world.snapshot())
    for camera in CAMERAS:
        assert psnr(world.render(camera, 128), fast.render(camera, 128)) > 30
    lent = {name: getattr(world._model, name).copy() for name in LENT}
    with low_poly(world._model) as faces:
        assert faces < lent["mesh_facenum"].sum() / 4
    assert all(np.array_equal(getattr(world._model, name), values) for name, values in lent.items())
    fast.close()


def test_what_draws_is_named(drawing):
    assert drawing.name in gl.BACKENDS
    assert drawing.renderer


def test_a_machine_that_cannot_draw_says_so(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(gl, "probe", lambda name: f"no library lib{name}")
    with pytest.raises(gl.NoRendererError) as raised:
        gl.backend.__wrapped__()
    assert str(raised.value).startswith("pictures need EGL or OSMesa, and neither works here (egl: no library libegl;")
    assert "apt-get install libegl1" in str(raised.value)


def test_osmesa_is_the_second_choice_and_the_variable_the_first(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(gl, "probe", lambda name: gl.Backend(name, "soft") if name == "osmesa" else "broken")
    assert gl.backend.__wrapped__().name == "osmesa"
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(gl.NoRendererError, match="egl: broken"):
        gl.backend.__wrapped__()


def test_a_driver_that_aborts_takes_only_the_probe_with_it(monkeypatch):
    monkeypatch.setattr(gl, "PROBE", "import os; os.abort()")
    assert gl.probe("egl") == "the driver ended the process with code -6"
    monkeypatch.setattr(gl, "PROBE", "raise ImportError('no EGL library')")
    assert gl.probe("egl") == "ImportError: no EGL library"


@pytest.mark.slow
def test_200_resets_take_no_memory(drawing):
    if sys.platform != "linux":
        pytest.skip("memory is read from /proc")
    world = LiberoWorld.open("libero_goal", 8)

    def megabytes():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    for turn in range(200):
        world.reset(turn % 50, settle=False)
        world.step(np.zeros(7))
        world.render("agentview", 64)
        if turn == 10:
            before = megabytes()
    assert megabytes() - before < 20
    world.close()
