"""simforcing collect: mistakes cost one sentence and leave nothing behind."""

import subprocess
import sys

import pytest

from world_model.extras import absent

MAIN = "import sys; from simforcing_env.commands.main import main; sys.exit(main(sys.argv[1:]))"
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({}))\n" + MAIN


def collect(tmp_path, *words, code=MAIN):
    command = [sys.executable, "-c", code, "collect", "--out", str(tmp_path / "out"), "--frames", "10", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)


def refused(done, tmp_path, sentence):
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--size", "0"], "size"),
        (["--goal", "nan", "1", "2"], "goal"),
        (["--seed", "-1"], "seed is -1"),
        (["--look", "pretty"], "look"),
        (["--suite", "libero_goal"], "Push-T has no option 'suite'"),
        (["--episodes", "3"], "10 frames and 3 episodes"),
        (["--workers", "0"], "not 10 and 0"),
    ],
)
def test_mistakes_with_push_t(tmp_path, words, sentence):
    pytest.importorskip("gym_pusht")
    refused(collect(tmp_path, *words), tmp_path, sentence)


@pytest.mark.skipif(bool(absent("libero")), reason="libero is not installed: pip install '.[libero]'")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--suite", "libero_moon"], "no LIBERO suite 'libero_moon'"),
        (["--tasks", "99"], "libero_goal has no task 99"),
        (["--cameras", "roof"], "roof"),
        (["--goal", "1", "2", "3"], "LIBERO has no option 'goal'"),
        (["--behaviours", "dance"], "'dance'"),
    ],
)
def test_mistakes_with_libero(tmp_path, words, sentence):
    refused(collect(tmp_path, "--teacher", "libero", *words), tmp_path, sentence)


@pytest.mark.parametrize(
    ("teacher", "modules", "extra"),
    [
        ("pusht", ("gym_pusht", "pymunk", "pygame", "shapely"), "pusht"),
        ("libero", ("libero", "robosuite", "mujoco", "bddl"), "libero"),
    ],
)
def test_a_missing_extra(tmp_path, teacher, modules, extra):
    done = collect(tmp_path, "--teacher", teacher, code=WITHOUT.format(modules))
    refused(done, tmp_path, f"simforcing-env[{extra}]")


def test_an_unknown_teacher_and_a_file_in_the_way(tmp_path):
    refused(collect(tmp_path, "--teacher", "chess"), tmp_path, "teacher 'chess' cannot be recorded")
    pytest.importorskip("gym_pusht")
    (tmp_path / "out").write_text("mine")
    done = collect(tmp_path)
    assert done.returncode != 0
    assert "cannot be written to" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"
