"""Options that no command may begin to work with, and places where its results could not be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simforcing_env.commands.checks import above, at_least, results_file, share, some
from simforcing_env.commands.main import main
from world_model.errors import InputError


def test_numbers_are_checked_against_their_range() -> None:
    at_least(1, threads=1, steps=None, sizes=(1, 2))
    above(0, minutes=0.1)
    share(part=0, other=1)
    cases = (
        (lambda: at_least(1, sampler_steps=0), "--sampler-steps is 0 but must be at least 1; raise it"),
        (lambda: at_least(1, sizes=(3, 0)), "--sizes is 0 but"),
        (lambda: at_least(1, training__steps=0), "--training.steps is 0 but"),
        (lambda: at_least(0, x=float("nan")), "--x is nan but"),
        (lambda: above(0, minutes=0.0), "--minutes is 0 but must be a number above 0; correct it"),
        (lambda: above(0, minutes=float("inf")), "--minutes is inf but"),
        (lambda: share(near_share=1.1), "--near-share is 1.1 but must be a share from 0 to 1; correct it"),
        (lambda: some(starts=()), "--starts is empty; give at least one, or leave the option out"),
        (lambda: some(starts=("a", "b", "a")), "--starts holds 'a' twice; give it once"),
    )
    for call, sentence in cases:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value).startswith(sentence)


def test_a_results_file_is_tried_before_the_work(tmp_path: Path) -> None:
    results_file(None)
    results_file(tmp_path / "new" / "folder" / "x.json")
    assert [p.name for p in (tmp_path / "new" / "folder").iterdir()] == []
    with pytest.raises(InputError, match=r"--json is .*, which is a folder; give the name of a file in it"):
        results_file(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"nothing can be written \(.*\); choose another place"):
        results_file(tmp_path / "file" / "x.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        results_file(tmp_path / "x.json")


NOWHERE = {
    "train": "--dataset nowhere --held-out nowhere --out OUT",
    "train heads": "--checkpoint nowhere --dataset nowhere --held-out nowhere --out OUT",
    "train reader": "--out OUT --training.scenes 999999999",
    "pack": "--checkpoint nowhere --out OUT",
    "study": "--dataset nowhere --held-out nowhere --out OUT",
    "evaluate video": "--checkpoint nowhere",
    "evaluate coverage": "--checkpoint nowhere",
    "evaluate calibration": "--checkpoint nowhere",
    "bench codec": "--dataset nowhere",
    "bench env": "--checkpoint nowhere",
    "bench kill": "--kills 9999999",
    "doctor": "--dataset nowhere",
}
"""Options with which each command would go on to another mistake, or to hours of work: what is refused comes first."""

MISTAKES = (
    ("train", "--minutes 0", "--minutes is 0"),
    ("train", "--cpu-minutes nan", "--cpu-minutes is nan"),
    ("train", "--minutes 1 --cpu-minutes 1", "--minutes and --cpu-minutes cannot go together"),
    ("train", "--codec a --initial b", "--codec and --initial cannot go together"),
    ("train", "--threads 0", "--threads is 0"),
    ("train", "--stop-at -1", "--stop-at is -1"),
    ("train", "--set train.batch=-1", "train.batch is -1"),
    ("train", "--set train.precision=half", "train.precision is 'half'"),
    ("train", "--set train.windows.length=3", "train.windows holds 3 known frames of 3"),
    ("train", "--set train.model.wings=2", "unknown field 'wings'"),
    ("train", "--set train.model.kind.x=1", "names 'x' in 'key_points', which has no fields"),
    ("train", "--set history=0", "the recipe's history is 0"),
    ("train", "--set codec.channels=many", "field 'channels' is 'many'"),
    ("train", "--device cuda", "device 'cuda' cannot be used"),
    ("train", "--codec nowhere/codec", "nowhere/codec; check the path"),
    ("train heads", "--scenes -1", "--scenes is -1"),
    ("train heads", "--training.minutes 0", "--training.minutes is 0"),
    ("train heads", "--out FILE", "holds something that is no checkpoint"),
    ("train reader", "--check-scenes 0", "--check-scenes is 0"),
    ("train reader", "--out FILE", "holds something that is no checkpoint"),
    ("train reader", "--training.minutes 0", "--training.minutes is 0"),
    ("pack", "--starts", "--starts is empty"),
    ("pack", "--starts seed-1 seed-1", "--starts holds 'seed-1' twice"),
    ("pack", "--sampler-steps 0", "--sampler-steps is 0"),
    ("pack", "--out FILE", "holds something that is no checkpoint"),
    ("study", "--cpu-minutes 0", "--cpu-minutes is 0"),
    ("study", "--clips 0", "--clips is 0"),
    ("study", "--forms pusht-form-a pusht-form-z", "there is no recipe 'pusht-form-z'"),
    ("study", "--json FOLDER", "which is a folder"),
    ("evaluate video", "--horizons 0", "--horizons is 0"),
    ("evaluate video", "--horizons", "--horizons is empty"),
    ("evaluate video", "--episodes 1", "--episodes is 1 but must be at least 2"),
    ("evaluate video", "--history 1", "--history is 1 but must be at least 2"),
    ("evaluate video", "--device cuda:99", "device 'cuda:99' cannot be used"),
    ("evaluate video", "--device abacus", "device 'abacus' cannot be used"),
    ("evaluate video", "--json FOLDER", "which is a folder"),
    ("evaluate coverage", "--episodes -3", "--episodes is -3"),
    ("evaluate coverage", "--frames 0", "--frames is 0"),
    ("evaluate coverage", "--sampler-steps 0", "--sampler-steps is 0"),
    ("evaluate coverage", "--json FILE/x.json", "nothing can be written"),
    ("evaluate calibration", "--clips-per-episode 0", "--clips-per-episode is 0"),
    ("evaluate calibration", "--near-share -0.1", "--near-share is -0.1"),
    ("evaluate calibration", "--threads 0", "--threads is 0"),
    ("bench codec", "--minutes 0", "--minutes is 0"),
    ("bench codec", "--json FOLDER", "which is a folder"),
    ("bench env", "--batches 1 0", "--batches is 0"),
    ("bench env", "--batches 1 1", "--batches holds 1 twice"),
    ("bench env", "--seconds 0", "--seconds is 0"),
    ("bench env", "--device cuda:99", "device 'cuda:99' cannot be used"),
    ("bench env", "--json FOLDER", "which is a folder"),
    ("bench kill", "--kills 0", "--kills is 0"),
    ("bench kill", "--json FOLDER", "which is a folder"),
    ("doctor", "--episodes 0", "--episodes is 0"),
    ("doctor", "--json FOLDER", "which is a folder"),
)


@pytest.mark.parametrize(("command", "options", "sentence"), MISTAKES, ids=lambda text: text.replace("/", "|"))
def test_a_mistake_is_one_sentence_before_anything_is_opened(
    command: str, options: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    places = {"OUT": "out", "FILE": "file", "FOLDER": ""}
    words = f"{command} {NOWHERE[command]} {options}"
    for name, place in places.items():
        words = words.replace(name, str(tmp_path / place))
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert error.startswith("simforcing: ")
    assert sentence in error
    assert not (tmp_path / "out").exists()
