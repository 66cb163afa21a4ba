"""The command that kills recording and training, at its smallest."""

from pathlib import Path

import pytest

from simforcing_env.commands.main import main
from world_model.results import read_results

pytest.importorskip("gym_pusht", reason="needs the pusht extra")


@pytest.mark.slow
def test_nothing_is_lost(tmp_path: Path) -> None:
    target = tmp_path / "kill.json"
    words = ["bench", "kill", "--kills", "2", "--frames", "300", "--steps", "6", "--json", str(target)]
    assert main(words) == 0
    metrics = read_results(target)["metrics"]
    for name, unit in (("collect", "frames"), ("train", "steps")):
        assert metrics[f"{name}_kills"].value == 2
        assert (metrics[f"{name}_lost"].value, metrics[f"{name}_lost"].unit) == (0, unit)
        assert metrics[f"{name}_equal"].value == 1
