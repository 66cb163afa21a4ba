"""Checkpoint folders: whole or not at all under kill -9, and strict about every kind of damage."""

import os
import pickle
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from world_model import atomic
from world_model.checkpoint import (
    MANIFEST,
    load_state,
    open_folder,
    read_json,
    read_tensors,
    stored_state,
    write_json,
    write_tensors,
    writing_folder,
)
from world_model.errors import DataError

WEIGHTS = "model.safetensors"


def _write(folder: Path, value: float = 1.0) -> None:
    with writing_folder(folder) as temporary:
        write_json(temporary / "config.json", {"value": value})
        write_tensors(temporary / "codec" / WEIGHTS, {"a": torch.full((50, 50), value)})
        write_tensors(temporary / WEIGHTS, {"a": torch.full((500, 100), value)})
        (temporary / "README.md").write_text("# card\n")


def _value(folder: Path) -> float:
    """The one value in all files of a folder that `_write` wrote; fails on a mixture."""
    opened = open_folder(folder)
    values = {opened.json("config.json")["value"]}
    for name in (WEIGHTS, f"codec/{WEIGHTS}"):
        values |= set(opened.tensors(name)["a"].unique().tolist())
    assert len(values) == 1
    return float(values.pop())


def _one_sentence(error: pytest.ExceptionInfo[Any], *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_round_trip_and_hash(tmp_path: Path) -> None:
    _write(tmp_path / "a")
    _write(tmp_path / "b")
    _write(tmp_path / "c", 2.0)
    a, b, c = (open_folder(tmp_path / name) for name in "abc")
    assert sorted(a.files) == ["README.md", f"codec/{WEIGHTS}", "config.json", WEIGHTS]
    assert a.hash == b.hash != c.hash
    assert len(a.hash) == 16
    (tmp_path / "a/README.md").write_text("# edited by hand\n")
    assert open_folder(tmp_path / "a").hash == b.hash
    assert os.stat(tmp_path / "a" / WEIGHTS).st_mode & 0o044  # others can read a packaged folder


def test_an_error_while_writing_keeps_the_old_folder(tmp_path: Path) -> None:
    _write(tmp_path / "a")

    def fail() -> None:
        with writing_folder(tmp_path / "a") as temporary:
            write_json(temporary / "config.json", {"value": 2.0})
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        fail()
    assert _value(tmp_path / "a") == 1.0
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def _child(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked process until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return child


@pytest.mark.parametrize("one_step", [True, False], ids=["exchange", "two renames"])
def test_kill_9_while_saving_leaves_an_openable_folder(
    one_step: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not one_step:  # what systems without an exchange of names do
        monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    folder = tmp_path / "a"
    _write(folder, 0.0)
    rng = random.Random(one_step)
    seen = []

    def save_for_ever(value: float) -> None:
        while True:
            value += 1
            _write(folder, value)

    for attempt in range(20):
        child = _child(partial(save_for_ever, 1000 * attempt))
        time.sleep(rng.uniform(0.02, 0.2))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        seen.append(_value(folder))
    assert len(set(seen)) > 5  # the killed writers did replace the folder
    _write(folder, 7.0)
    assert _value(folder) == 7.0
    assert [p.name for p in tmp_path.iterdir()] == ["a"]  # leftovers are gone


def test_a_kill_between_the_two_renames_is_put_right(tmp_path: Path) -> None:
    _write(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / ".a.old-1-00")
    assert _value(tmp_path / "a") == 1.0


def _damage(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes())) and None


DAMAGE: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "flipped bit": (_damage(WEIGHTS, lambda b: b[:-1] + bytes([b[-1] ^ 1])), (WEIGHTS, "SHA-256", "copy")),
    "truncated": (_damage(WEIGHTS, lambda b: b[: len(b) // 2]), (WEIGHTS, "SHA-256", "copy")),
    "missing file": (lambda folder: (folder / WEIGHTS).unlink(), (WEIGHTS, "lacks", "copy")),
    "missing manifest": (lambda folder: (folder / MANIFEST).unlink(), (MANIFEST, "copy")),
    "broken manifest": (_damage(MANIFEST, lambda b: b[:-9]), (MANIFEST, "JSON", "copy")),
    "foreign manifest": (lambda f: write_json(f / MANIFEST, {"name": "x"}), (MANIFEST, "copy")),
    "path outside": (lambda f: write_json(f / MANIFEST, {"files": {"../x": "0"}}), (MANIFEST, "own folder")),
}


@pytest.mark.parametrize("kind", sorted(DAMAGE))
def test_damage_is_one_sentence(kind: str, tmp_path: Path) -> None:
    _write(tmp_path / "a")
    damage, words = DAMAGE[kind]
    damage(tmp_path / "a")
    with pytest.raises(DataError) as error:
        open_folder(tmp_path / "a")
    _one_sentence(error, str(tmp_path / "a"), *words)


def test_absent_folder_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no checkpoint folder .*nowhere; check the path"):
        open_folder(tmp_path / "nowhere")
    _write(tmp_path / "a")
    with pytest.raises(DataError, match=r"has no ema\.safetensors; it holds"):
        open_folder(tmp_path / "a").tensors("ema.safetensors")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(DataError, match="holds a JSON list, not an object"):
        read_json(tmp_path / "list.json")


class _Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("kind", ["pickle", "torch file", "truncated", "empty"])
def test_other_formats_are_refused_and_never_unpickled(kind: str, tmp_path: Path) -> None:
    path, bomb = tmp_path / WEIGHTS, tmp_path / "exploded"
    if kind == "pickle":
        path.write_bytes(pickle.dumps(_Bomb(bomb)))
    elif kind == "torch file":
        torch.save({"a": _Bomb(bomb)}, path)
    else:
        save_file({"a": torch.zeros(1000)}, path)
        path.write_bytes(path.read_bytes()[: 0 if kind == "empty" else 500])
    with pytest.raises(DataError) as error:
        read_tensors(path)
    _one_sentence(error, WEIGHTS, "truncated or no safetensors file", "copy")
    assert not bomb.exists()


class _Net(nn.Module):
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("table", torch.linspace(0, 1, 7))
        self.register_buffer("count", torch.tensor(70_001))


def test_bf16_storage_keeps_buffers_and_loads_into_float32(tmp_path: Path) -> None:
    net, again = _Net(), _Net()
    net.table.mul_(1.0001)
    write_tensors(tmp_path / WEIGHTS, stored_state(net, torch.bfloat16))
    tensors, _ = read_tensors(tmp_path / WEIGHTS)
    assert tensors["layer.weight"].dtype == torch.bfloat16
    load_state(again, tensors, WEIGHTS)
    assert again.layer.weight.dtype == torch.float32
    assert torch.equal(again.layer.weight, net.layer.weight.bfloat16().float())
    assert torch.equal(again.table, net.table)
    assert int(again.count) == 70_001  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layer.bias": None}, ("lacks key 'layer.bias'", "_Net")),
        ({"layer.extra": torch.zeros(1)}, ("unexpected key 'layer.extra'", "_Net")),
        ({"layer.weight": torch.zeros(2, 4)}, ("'layer.weight' of shape (2, 4)", "takes (2, 3)")),
        ({"layer.weight": torch.zeros(2, 3, dtype=torch.int8)}, ("'layer.weight' of type torch.int8", "takes")),
        ({"layer.weight": torch.full((2, 3), torch.nan)}, ("NaN or infinite numbers in 'layer.weight'", "model")),
        ({"layer.weight": torch.full((2, 3), -torch.inf)}, ("NaN or infinite numbers in 'layer.weight'", "model")),
    ],
)
def test_weights_that_do_not_fit_are_named(change: dict[str, torch.Tensor | None], words: tuple[str, ...]) -> None:
    net = _Net()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    tensors = {k: v for k, v in {**before, **change}.items() if v is not None}
    tensors["layer.bias"] = tensors.get("layer.bias", torch.zeros(0)) + 1
    if change.get("layer.bias", 0) is None:
        del tensors["layer.bias"]
    with pytest.raises(DataError) as error:
        load_state(net, tensors, "some/model.safetensors")
    _one_sentence(error, "some/model.safetensors", *words)
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())  # nothing was half loaded
