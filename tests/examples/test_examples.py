"""Every example as a user runs it: a child process with small numbers, on an untrained checkpoint folder."""

import subprocess
import sys

import pytest

from tests.world_model.untrained import untrained_pusht


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints") / "untrained"
    untrained_pusht().save_pretrained(folder)
    return folder


def run(root, name, *arguments):
    command = [sys.executable, str(root / "examples" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_demo(root, checkpoint, tmp_path):
    import av
    from PIL import Image

    out = run(root, "demo.py", "--checkpoint", checkpoint, "--futures", 3, "--frames", 7, "--folder", tmp_path)
    assert "frames/s" in out
    assert out.count("\n") > 8
    assert Image.open(tmp_path / "demo.png").height > 3 * 128
    with av.open(str(tmp_path / "demo.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == 7
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demo.mp4", "demo.png"]


def test_wrapped_transformer_of_diffusers(root):
    pytest.importorskip("diffusers")
    out = run(root, "wrap_diffusers.py", "--frames", 3, "--steps", 2)
    assert "step 1: loss" in out
    assert "generated frames (2, 3, 64, 64, 3) uint8" in out


def test_branch(root, checkpoint):
    out = run(root, "branch.py", "--checkpoint", checkpoint, "--futures", 4, "--frames", 3, "--rounds", 2)
    assert "best of 4" in out


def test_record_video(root, checkpoint, tmp_path):
    pytest.importorskip("moviepy")
    run(root, "record_video.py", "--checkpoint", checkpoint, "--episodes", 2, "--steps", 5, "--folder", tmp_path)
    assert len(list(tmp_path.glob("*.mp4"))) == 2


def test_ppo_of_stable_baselines(root, checkpoint):
    pytest.importorskip("stable_baselines3")
    out = run(root, "ppo_sb3.py", "--checkpoint", checkpoint, "--steps", 32, "--envs", 2, "--rollout", 8, "--length", 4)
    assert "mean return of the last" in out


def test_ppo_in_one_file(root, checkpoint):
    out = run(
        root, "cleanrl_ppo.py", "--checkpoint", checkpoint, "--steps", 32, "--envs", 2, "--rollout", 8, "--length", 4
    )
    assert "steps 32" in out


def test_plan(root):
    out = run(root, "plan.py", "--futures", 6, "--plans", 2)
    assert out.count("px from the goal expected") == 2


def test_libero(root, tmp_path):
    from PIL import Image

    out = run(root, "libero.py", "--tasks", 0, 3, "--frames", 3, "--folder", tmp_path)
    assert "probability of success" in out
    assert Image.open(tmp_path / "libero.png").size == (256, 256)
