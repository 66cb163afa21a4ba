"""Files that are replaced: whole or not at all, and nothing of a killed writer stays beside them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from world_model.atomic import replace_text, replacing_file


def test_a_file_is_replaced_and_its_folder_made(tmp_path: Path) -> None:
    target = tmp_path / "new" / "x.txt"
    for text in ("one", "two"):
        replace_text(target, text)
        assert target.read_text() == text
    assert [p.name for p in target.parent.iterdir()] == ["x.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "x.txt"
    replace_text(target, "old")

    def fail() -> None:
        with replacing_file(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_the_next_writer_removes_what_a_killed_one_left_and_nothing_of_others(tmp_path: Path) -> None:
    target = tmp_path / "[x].txt"  # the name is no pattern
    code = (
        "import os, sys; from pathlib import Path; from world_model.atomic import replacing_file\n"
        "with replacing_file(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(target)], check=False).returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.read_text() == "half"
    alive = tmp_path / f".[x].txt.new-{os.getpid()}-00"
    other = tmp_path / left.name.replace("[x]", "x")
    alive.touch()
    other.touch()
    replace_text(target, "whole")
    assert {p.name for p in tmp_path.iterdir()} == {target.name, alive.name, other.name}
    assert target.read_text() == "whole"
