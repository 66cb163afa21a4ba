"""Learned simulators as folders: equality after a round trip, names, the hub when offline, and every refusal."""

import dataclasses
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import HfApi
from torch import Tensor, nn

from tests.world_model.tiny import SIZE, tiny_contract
from world_model.checkpoint import (
    MANIFEST,
    open_folder,
    read_json,
    read_tensors,
    sha256,
    write_json,
    write_tensors,
    writing_folder,
)
from world_model.codecs import PcaConfig, fit_pca
from world_model.diffusion.samplers import RenoiseConfig, RenoiseSampler
from world_model.errors import ContractError, DataError, InputError
from world_model.heads import OutcomeConfig, OutcomeHeads
from world_model.models import MODELS
from world_model.pretrained import LearnedSimulator, Starts, packaged_names, register_folder, resolve


@dataclass(frozen=True)
class NetConfig:
    width: int = 8
    grid: tuple[int, int] = (4, 4)


class Net(nn.Module):
    table: Tensor

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = config
        self.layer = nn.Linear(config.width, config.width)
        self.register_buffer("table", torch.linspace(0, 1, 5))


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "test_net", (NetConfig, Net))
    monkeypatch.setattr("world_model.pretrained.names._FOLDERS", [])


@pytest.fixture
def starts() -> Starts:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (3, SIZE, SIZE, 3), dtype=np.uint8)
    return Starts(("seed-1", "near-1", "human-12"), frames, rng.uniform(0, 100, (3, 2)).astype(np.float32))


@pytest.fixture
def simulator(starts: Starts) -> LearnedSimulator:
    torch.manual_seed(0)
    return LearnedSimulator(
        model=Net(NetConfig(width=6)),
        codec=fit_pca(torch.from_numpy(starts.frames), PcaConfig(4, 12)),
        contract=tiny_contract(),
        sampler=RenoiseSampler(RenoiseConfig((0.5, 0.1))),
        history=4,
        starts=starts,
        recipe={"command": "simforcing train", "minutes": 1.5, "seed": 3},
    )


def test_round_trip_is_equal(simulator: LearnedSimulator, starts: Starts, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim", dtype=None)
    again = LearnedSimulator.from_pretrained(tmp_path / "sim", contract=tiny_contract())
    assert again.config == simulator.config
    assert again.contract == simulator.contract
    assert (again.history, again.recipe, again.heads) == (4, simulator.recipe, None)
    assert again.sampler.config == simulator.sampler.config
    for ours, theirs in ((simulator.model, again.model), (simulator.codec, again.codec)):
        assert all(torch.equal(v, theirs.state_dict()[k]) for k, v in ours.state_dict().items())
        assert not theirs.training
        assert not any(p.requires_grad for p in theirs.parameters())
    assert again.starts is not None
    assert again.starts.names == starts.names
    assert np.array_equal(again.starts.frames, starts.frames)
    assert np.array_equal(again.starts.proprio, starts.proprio)
    assert (simulator.hash, again.hash) == ("unsaved", open_folder(tmp_path / "sim").hash)
    assert "Learned simulator of tiny" in again.card
    again.save_pretrained(tmp_path / "copy", dtype=None)
    assert open_folder(tmp_path / "copy").files == open_folder(tmp_path / "sim").files


def test_heads_come_back(simulator: LearnedSimulator, tmp_path: Path) -> None:
    heads = OutcomeHeads(OutcomeConfig(latent_channels=12, grid=(4, 4), width=8, hidden=8, dilations=(1,))).eval()
    simulator.heads = heads
    simulator.save_pretrained(tmp_path / "sim")
    again = LearnedSimulator.from_pretrained(tmp_path / "sim")
    latents, proprio = torch.randn(3, 12, 4, 4), torch.rand(3, 2)
    ours, theirs = heads.outcome(latents, proprio), again.heads.outcome(latents, proprio)
    assert again.heads.labels == heads.labels
    assert torch.equal(ours.values, theirs.values)
    assert not again.heads.training
    (tmp_path / "sim/heads/model.safetensors").unlink()
    with pytest.raises(DataError, match=r"lacks heads/model\.safetensors"):
        LearnedSimulator.from_pretrained(tmp_path / "sim")


def test_folder_layout_and_manifest(simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim", ema=simulator.model.state_dict())
    folder = tmp_path / "sim"
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()) == [
        "README.md", "codec/config.json", "codec/model.safetensors", "config.json", "contract.json",
        "ema.safetensors", "manifest.json", "model.safetensors", "starts.safetensors",
    ]  # fmt: skip
    files = read_json(folder / MANIFEST)["files"]
    assert files == {name: sha256(folder / name) for name in files}
    assert len(files) == 8


def test_bf16_storage_float32_loading_and_moving_average(simulator: LearnedSimulator, tmp_path: Path) -> None:
    average = {k: v + 1 for k, v in simulator.model.state_dict().items()}
    simulator.save_pretrained(tmp_path / "sim", ema=average)
    weight = simulator.model.layer.weight.detach()
    again = LearnedSimulator.from_pretrained(tmp_path / "sim")
    assert torch.equal(again.model.layer.weight, weight.bfloat16().float())
    assert torch.equal(again.model.table, simulator.model.table)
    half = LearnedSimulator.from_pretrained(tmp_path / "sim", dtype=torch.bfloat16)
    assert half.model.layer.weight.dtype == torch.bfloat16
    assert half.codec.basis.dtype == torch.float32
    averaged = LearnedSimulator.from_pretrained(tmp_path / "sim", weights="ema")
    assert torch.equal(averaged.model.layer.weight, weight + 1)


def test_saving_replaces_a_folder(simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim", ema=simulator.model.state_dict())
    simulator.starts = None
    simulator.save_pretrained(tmp_path / "sim")
    assert not (tmp_path / "sim/ema.safetensors").exists()
    assert LearnedSimulator.from_pretrained(tmp_path / "sim").starts is None
    assert [p.name for p in tmp_path.iterdir()] == ["sim"]


def test_kill_9_while_saving(simulator: LearnedSimulator, tmp_path: Path) -> None:
    folder = tmp_path / "sim"
    simulator.save_pretrained(folder)
    rng = random.Random(0)
    for attempt in range(5):
        child = os.fork()
        if child == 0:
            for number in range(10_000):
                simulator.recipe["seed"] = 10_000 * attempt + number
                simulator.save_pretrained(folder)
            os._exit(1)
        time.sleep(rng.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert LearnedSimulator.from_pretrained(folder).config["model"] == simulator.config["model"]


def test_names_of_registered_folders(
    simulator: LearnedSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator.save_pretrained(tmp_path / "weights/tiny-nano")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"'tiny-nano': it is no folder and none of the packaged names \(none\)"):
        resolve("tiny-nano")
    register_folder(tmp_path / "weights")
    register_folder(tmp_path / "weights")
    assert packaged_names() == ["tiny-nano"]
    assert resolve("tiny-nano") == tmp_path / "weights/tiny-nano"
    assert resolve("weights/tiny-nano") == tmp_path / "weights/tiny-nano"
    assert LearnedSimulator.from_pretrained("tiny-nano").history == 4
    with pytest.raises(DataError, match=r"'tiny-mega'.*packaged names \(tiny-nano\); give a folder"):
        LearnedSimulator.from_pretrained("tiny-mega")
    with pytest.raises(DataError, match=r"'\.\./weights': it is no folder"):
        LearnedSimulator.from_pretrained("../weights")


def test_hub_ids_offline_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'nobody/pusht' is no folder here and could not be fetched") as error:
        LearnedSimulator.from_pretrained("nobody/pusht", local_files_only=True, cache_dir=tmp_path)
    assert "\n" not in str(error.value)


def test_hub_cache_is_opened_offline(simulator: LearnedSimulator, tmp_path: Path) -> None:
    """The layout in which the hub's client keeps a download: links into a folder of blobs."""
    repository = tmp_path / "models--owner--tiny"
    commit = "0123456789abcdef0123456789abcdef01234567"
    simulator.save_pretrained(repository / "snapshots" / commit)
    (repository / "blobs").mkdir()
    for path in [p for p in (repository / "snapshots").rglob("*") if p.is_file()]:
        blob = repository / "blobs" / sha256(path)
        path.rename(blob)
        path.symlink_to(os.path.relpath(blob, path.parent))
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(commit)
    again = LearnedSimulator.from_pretrained("owner/tiny", local_files_only=True, cache_dir=tmp_path)
    assert again.config == simulator.config


def test_push_to_hub_uploads_the_saved_folder(
    simulator: LearnedSimulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two network calls of the mixin are replaced; everything else is its own code."""
    uploaded: dict[str, Any] = {}

    @dataclass
    class Created:
        repo_id: str

    def upload(self: HfApi, *, folder_path: Path, repo_id: str, **rest: Any) -> str:
        again = LearnedSimulator.from_pretrained(folder_path)
        uploaded.update(repo=repo_id, config=again.config)
        return "url"

    monkeypatch.setattr(HfApi, "create_repo", lambda self, repo_id, **rest: Created(repo_id))
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    assert simulator.push_to_hub("owner/tiny") == "url"
    assert uploaded == {"repo": "owner/tiny", "config": simulator.config}


def _remanifest(folder: Path) -> None:
    """Make the manifest fit an edited folder, so that the refusal must come from the content."""
    files = {n: sha256(folder / n) for n in read_json(folder / MANIFEST)["files"] if (folder / n).is_file()}
    write_json(folder / MANIFEST, {"format": 1, "files": files})


def _edit(name: str, **values: Any) -> Any:
    def edit(folder: Path) -> None:
        write_json(folder / name, {**read_json(folder / name), **values})
        _remanifest(folder)

    return edit


def _remove(name: str) -> Any:
    def remove(folder: Path) -> None:
        (folder / name).unlink()
        _remanifest(folder)

    return remove


def _replace(name: str, content: bytes) -> Any:
    def replace(folder: Path) -> None:
        (folder / name).write_bytes(content)
        _remanifest(folder)

    return replace


def _spoil(name: str, value: float) -> Any:
    """Overwrite the last number of every tensor of floats."""

    def spoil(folder: Path) -> None:
        tensors, metadata = read_tensors(folder / name)
        for tensor in tensors.values():
            if tensor.is_floating_point():
                tensor.view(-1)[-1] = value
        write_tensors(folder / name, tensors, metadata)
        _remanifest(folder)

    return spoil


def _bounds(low: object) -> Any:
    def change(folder: Path) -> None:
        contract = read_json(folder / "contract.json")
        contract["actions"][0]["low"] = low
        write_json(folder / "contract.json", contract)
        _remanifest(folder)

    return change


DAMAGE = {
    "unknown kind": (_edit("config.json", model={"kind": "robot"}), r"config\.json has kind 'robot'.*test_net"),
    "unknown sampler": (_edit("config.json", sampler={"kind": "magic"}), r"kind 'magic'.*renoise"),
    "other width": (
        _edit("config.json", model={"kind": "test_net", "width": 7}),
        r"model\.safetensors has 'layer\.(weight|bias)' of shape \(6",
    ),
    "no history": (_edit("config.json", history=None), r"config\.json: history is None but must be a whole number"),
    "endless history": (_edit("config.json", history=10**6), r"config\.json: history is 1000000 but must be"),
    "no steps": (_edit("config.json", sampler={"kind": "euler", "steps": 0}), r"kind 'euler': steps is 0 but must be"),
    "unknown field": (_edit("config.json", modle={}), r"config\.json: field 'modle' is unknown; the fields are model"),
    "weights that are no numbers": (_spoil("model.safetensors", torch.nan), r"model\.safetensors has NaN or infinite"),
    "endless codec": (_spoil("codec/model.safetensors", torch.inf), r"codec/model\.safetensors has NaN or infinite"),
    "starts nowhere": (_spoil("starts.safetensors", torch.nan), r"starts in .* have NaN or infinite proprio"),
    "bounds that are none": (_bounds(math.nan), r"contract\.json does not hold a contract \(contract 'tiny' has"),
    "bounds of words": (_bounds("low"), r"contract\.json does not hold a contract"),
    "no model": (_remove("model.safetensors"), r"has no model\.safetensors; it holds"),
    "no codec": (_remove("codec/config.json"), r"has no codec/config\.json"),
    "no contract": (_remove("contract.json"), r"has no contract\.json"),
    "contract of words": (_replace("contract.json", b"hello"), r"contract\.json does not hold a contract"),
    "pickled weights": (_replace("model.safetensors", b"\x80\x04K\x01."), "truncated or no safetensors file"),
    "other hash": (lambda folder: (folder / "contract.json").write_text("{}"), r"contract\.json has SHA-256"),
    "unknown codec": (_edit("codec/config.json", kind="jpeg"), r"codec/config\.json has kind 'jpeg'.*pca"),
    "starts": (
        lambda f: (write_tensors(f / "starts.safetensors", {"frames": torch.zeros(1)}), _remanifest(f)),
        r"starts\.safetensors does not hold starts",
    ),
}


@pytest.mark.parametrize("kind", sorted(DAMAGE))
def test_damaged_folders_are_refused_in_one_sentence(kind: str, simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim")
    damage, words = DAMAGE[kind]
    damage(tmp_path / "sim")
    with pytest.raises(DataError, match=words) as error:
        LearnedSimulator.from_pretrained(tmp_path / "sim")
    assert "\n" not in str(error.value)


def test_missing_key_names_key_and_file(simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim")
    write_tensors(tmp_path / "sim/model.safetensors", {"layer.weight": torch.zeros(6, 6), "table": torch.zeros(5)})
    _remanifest(tmp_path / "sim")
    with pytest.raises(DataError, match=r"sim/model\.safetensors lacks key 'layer\.bias' for Net"):
        LearnedSimulator.from_pretrained(tmp_path / "sim")


def test_foreign_contract_names_the_field(simulator: LearnedSimulator, tmp_path: Path) -> None:
    simulator.save_pretrained(tmp_path / "sim")
    other = dataclasses.replace(tiny_contract(), control_hz=20.0)
    with pytest.raises(ContractError, match=r"field 'control_hz' is 20\.0 here and 10\.0 there"):
        LearnedSimulator.from_pretrained(tmp_path / "sim", contract=other)


def test_starts_by_name_and_shape(starts: Starts, tmp_path: Path) -> None:
    assert starts.index("human-12") == 2
    with pytest.raises(InputError, match=r"no start 'human-13' among the 3 shipped ones; try human-12"):
        starts.index("human-13")
    with pytest.raises(DataError, match=r"3 names \(2 different\)"):
        Starts(("a", "a", "b"), starts.frames, starts.proprio)
    camera = dataclasses.replace(tiny_contract().cameras[0], height=32)
    with pytest.raises(DataError, match=r"starts in x have frames \(16, 16, 3\).*says \(32, 16, 3\)"):
        starts.check(dataclasses.replace(tiny_contract(), cameras=(camera,)), "x")


def test_offline_environment_in_a_fresh_process(root: Path) -> None:
    code = (
        "import json\nfrom world_model.pretrained import LearnedSimulator\n"
        "try: LearnedSimulator.from_pretrained('nobody/nothing')\n"
        "except Exception as error: print(json.dumps([type(error).__name__, str(error)]))"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True)
    name, text = json.loads(done.stdout)
    assert name == "DataError", done.stderr
    assert "could not be fetched from the Hugging Face hub" in text
    assert done.stderr == ""


def test_other_things_are_never_replaced(tmp_path: Path) -> None:
    """A folder that is no checkpoint would be lost: it is refused and left as it is."""
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="holds something that is no checkpoint"), writing_folder(tmp_path):
        pass
    with (
        pytest.raises(DataError, match="holds something that is no checkpoint"),
        writing_folder(tmp_path / "thesis.txt"),
    ):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_packaged_name_wins_over_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = tmp_path / "packaged"
    (packaged / "world").mkdir(parents=True)
    (packaged / "world/contract.json").write_text("{}")
    (tmp_path / "world").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("world_model.pretrained.names._FOLDERS", [packaged])
    assert resolve("world") == packaged / "world"
    assert resolve("./world") == tmp_path / "world"
    with pytest.raises(DataError, match="name is empty"):
        resolve("")
