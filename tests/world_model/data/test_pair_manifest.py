"""Manifests of paired videos: both layouts read alike, mistakes named by their line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from tests.world_model.tiny import SIZE, tiny_contract
from world_model.checkpoint import write_tensors
from world_model.data.lerobot.video import VideoWriter
from world_model.data.pair_manifest import CONTRACT, MANIFEST, PairedVideos, PairManifest, write_manifest
from world_model.errors import DataError
from world_model.simforcing import PairClip, PairWindows
from world_model.training.manifest_windows import ManifestSource
from world_model.training.sources import open_source
from world_model.training.state_encoding import StateEncoding
from world_model.training.windows import WindowConfig

LENGTH = 12
SHADES = {"sim": 200, "real": 90}


def _video(path: Path, frames: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with VideoWriter(path, *frames.shape[1:3], 8.0) as writer:
        writer.add(frames)


def record_videos(folder: Path, count: int = 3, length: int = LENGTH) -> Path:
    """Episodes by turns in both layouts: frame t of side s is of the shade of s plus 3 t."""
    rng, entries = np.random.default_rng(0), []
    for number in range(count):
        sides = {
            side: np.stack([np.full((SIZE, SIZE, 3), shade + 3 * t, np.uint8) for t in range(length)])
            for side, shade in SHADES.items()
        }
        values = {name: rng.uniform(0, 100, (length, 2)).astype(np.float32) for name in ("action", "state")}
        text = f"text/{number % 2}.safetensors"
        write_tensors(folder / text, {"text": torch.full((3, 10), 1.0 + number % 2)})
        entry = PairedVideos(length, f"data/{number}.npz", task="push", text=text)
        (folder / "data").mkdir(exist_ok=True)
        if number % 2:
            lead = np.zeros_like(sides["sim"][:2])  # another episode stands before it in the simulator's video
            _video(folder / f"sim/{number}.mp4", np.concatenate([lead, sides["sim"]]))
            _video(folder / f"real/{number}.mp4", sides["real"])
            names = {"action": "action", "state": "observation.state"}
            table = pa.table({names[name]: list(value) for name, value in values.items()})
            pq.write_table(table, folder / f"data/{number}.parquet")
            places = {"sim": f"sim/{number}.mp4", "real": f"real/{number}.mp4", "sim_first": 2}
            entries.append(replace(entry, arrays=f"data/{number}.parquet", **places))
        else:
            _video(folder / f"videos/{number}.mp4", np.concatenate([sides["sim"], sides["real"]], axis=2))
            np.savez(folder / f"data/{number}.npz", **values)
            entries.append(replace(entry, side_by_side=f"videos/{number}.mp4"))
    write_manifest(folder, tiny_contract(), entries)
    return folder


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_videos(tmp_path_factory.mktemp("videos"))


class Shades:
    """A codec whose only channel is the mean shade."""

    latent_channels, downsample = 1, SIZE

    def encode(self, frames: torch.Tensor) -> torch.Tensor:
        return frames.float().mean(dim=(-3, -2, -1))[..., None, None, None]

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def test_windows_of_both_layouts_show_the_same_moments(videos: Path) -> None:
    source = open_source(videos, "pairs")
    assert isinstance(source, ManifestSource)
    assert source.counts() == {"episodes": 3, "frames": 3 * LENGTH}
    windows = source.windows(WindowConfig(length=5, history=1), StateEncoding())
    assert isinstance(windows, PairWindows)
    each = LENGTH - 4
    assert len(windows) == 3 * each
    clip = windows.clip(torch.tensor([2, each + 3, 2 * each]), Shades())
    assert isinstance(clip, PairClip)
    for side, shade in SHADES.items():
        wanted = shade + 3 * (torch.tensor([[2], [3], [0]]) + torch.arange(5))
        found = getattr(clip, side).latents.flatten(1)
        assert (found - wanted).abs().max() < 4  # the video's compression
    assert torch.equal(clip.real.actions, clip.sim.actions)
    assert clip.real.text is not None
    assert clip.real.text[:, 0, 0].tolist() == [1, 2, 1]
    manifest = PairManifest(videos)
    state, action = manifest.arrays(manifest.entries[1])
    contract = manifest.contract
    assert np.allclose(clip.real.proprio[1, 0].numpy(), contract.normalize_proprio(state)[3])
    assert np.allclose(clip.real.actions[1, 0, 0].numpy(), contract.normalize_actions(action[:, None])[3, 0])
    assert source.pictures(windows).shape == (6, SIZE, SIZE, 3)
    assert windows.frames[::9].shape == (4, SIZE, SIZE, 3)


def test_pictures_are_made_the_camera_s_size(videos: Path) -> None:
    manifest = PairManifest(videos)
    camera = manifest.contract.cameras[0]
    manifest.contract = replace(manifest.contract, cameras=(replace(camera, height=8, width=24),))
    assert manifest.read(manifest.entries[0], "real", 1, 2).shape == (2, 8, 24, 3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"frames": 1}, "line 2 of .*frames is 1 but must be"),
        ({"pictures": "a.mp4"}, "line 2 of .*field 'pictures' is unknown"),
        ({"side_by_side": "videos/1.mp4"}, "either side_by_side or both sim and real"),
        ({"real": None}, "either side_by_side or both sim and real"),
        ({"arrays": "../other.npz"}, "'../other.npz', which is not inside"),
    ],
)
def test_a_wrong_line_is_named(videos: Path, tmp_path: Path, change: dict[str, object], text: str) -> None:
    lines = [json.loads(line) for line in (videos / MANIFEST).read_text().splitlines()]
    lines[1] |= change
    (tmp_path / CONTRACT).write_text((videos / CONTRACT).read_text())
    (tmp_path / MANIFEST).write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(DataError, match=text):
        PairManifest(tmp_path)


def test_wrong_files_are_named(videos: Path, tmp_path: Path) -> None:
    manifest = PairManifest(videos)
    first = manifest.entries[0]
    with pytest.raises(DataError, match=r"action of .*0.npz has shape|state of .*0.npz has shape"):
        manifest.arrays(replace(first, frames=LENGTH + 1))
    with pytest.raises(DataError, match=r"none of \.npz, \.parquet"):
        manifest.arrays(replace(first, arrays="text/0.safetensors"))
    with pytest.raises(DataError, match="is missing"):
        manifest.read(replace(first, side_by_side="videos/9.mp4"), "sim", 0, 1)
    with pytest.raises(DataError, match="ends after"):
        manifest.read(first, "sim", LENGTH - 1, 2)
    (tmp_path / CONTRACT).write_text((videos / CONTRACT).read_text())
    (tmp_path / MANIFEST).write_text("{broken\n")
    with pytest.raises(DataError, match=r"line 1 of .*no JSON"):
        PairManifest(tmp_path)
