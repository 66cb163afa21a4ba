"""A small whole data set of every layout, made from the recorded real files: what tests and the fuzz read.

What is real and what is added is said at each; where real sets lack a part (tables, videos), it is made here.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.video import VideoWriter
from world_model.data.lerobot.writer import DatasetWriter, write_text
from world_model.data.readers.base import View
from world_model.data.readers.mp4_npz import Mp4NpzReader
from world_model.data.readers.pusht_zarr import PushtZarrReader
from world_model.data.readers.tfrecord import CHECK, record_places
from world_model.extras import require

PUSHT = "pusht_human/pusht_cchi_v7_ep000-044.zarr"
KEPT_RECORDS = 6  # of the RLDS shard
SHORT = 12  # frames that are kept of long videos


def bridge(shared: Path, out: Path) -> None:
    """Two real episodes of Bridge V2."""
    for stem in ("000000005", "000000007"):
        for ending in (".mp4", ".npz"):
            shutil.copy(shared / "bridge_v2_256" / f"{stem}{ending}", out)


def language_table(shared: Path, out: Path) -> None:
    """IRASim's own example, whole."""
    shutil.copytree(shared / "language_table_irasim/opensource_robotdata/languagetable", out, dirs_exist_ok=True)


def droid(shared: Path, out: Path) -> None:
    """One real episode of DROID with three cameras; its latents are those of another one, cut to its length."""
    import torch

    source = shared / "droid_ctrlworld" / "droid_subset"
    for place in ("annotation/val/199.json", *(f"videos/val/199/{camera}.mp4" for camera in range(3))):
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / place, out / place)
    length = len(json.loads((out / "annotation/val/199.json").read_text())["states"])
    latents = torch.load(source / "latent_videos/train/0/0.pt", weights_only=True)
    target = out / "latent_videos/val/199/0.pt"
    target.parent.mkdir(parents=True)
    torch.save(latents[:length].clone(), target)


def bridge_rlds(shared: Path, out: Path) -> None:
    """The first episodes of the real shard, byte for byte."""
    source = shared / "bridge_rlds_octo/bridge_dataset/1.0.0"
    shard = next(source.glob("*.tfrecord-*"))
    start, length = record_places(shard)[KEPT_RECORDS - 1]
    (out / shard.name).write_bytes(shard.read_bytes()[: start + length + CHECK.size])
    shutil.copy(source / "features.json", out)
    info = json.loads((source / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = [str(KEPT_RECORDS)]
    (out / "dataset_info.json").write_text(json.dumps(info, indent=2))


def bair(shared: Path, out: Path) -> None:
    """The real sample."""
    shutil.copy(shared / "bair_ivideogpt/bair_sample.npz", out)


def rt1(shared: Path, out: Path) -> None:
    """The real sample, which has no actions."""
    shutil.copy(shared / "rt1_fractal_ivideogpt/fractal_sample.npz", out)


def lift(shared: Path, out: Path) -> None:
    """The real file of human demonstrations, which has no pictures."""
    shutil.copy(shared / "robosuite_teleop/lift_demo.hdf5", out)


def pusht_zarr(shared: Path, out: Path) -> None:
    """The first human demonstration, which fills just one chunk of the real arrays."""
    source = shared / PUSHT
    for name in ("img", "state", "action"):
        folder = out / "data" / name
        folder.mkdir(parents=True)
        meta = json.loads((source / "data" / name / ".zarray").read_text())
        for file in (".zarray", ".".join(["0"] * len(meta["shape"]))):
            shutil.copy(source / "data" / name / file, folder)
        meta["shape"][0] = meta["chunks"][0]
        (folder / ".zarray").write_text(json.dumps(meta))
    ends = out / "meta" / "episode_ends"
    ends.mkdir(parents=True)
    kept = PushtZarrReader(source).ends[:1].astype("<i8")
    meta = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<i8", "order": "C", "compressor": None}
    (ends / ".zarray").write_text(json.dumps({**meta, "fill_value": 0, "filters": None}))
    (ends / "0").write_bytes(kept.tobytes())


def pusht_v3(shared: Path, out: Path) -> None:
    """The real LeRobot v3.0 tables cut to two episodes, with the video that they lack made of the zarr's pictures."""
    source, place = shared / "pusht_lerobot_v30", "chunk-000/file-000.parquet"
    shutil.copytree(source / "meta", out / "meta")
    episodes = pq.read_table(source / "meta/episodes" / place).slice(0, 2)
    rows = sum(episodes.column("length").to_pylist())
    _table(episodes, out / "meta/episodes" / place)
    _table(pq.read_table(source / "data" / place).slice(0, rows), out / "data" / place)
    _edit(out / "meta/info.json", total_episodes=2, total_frames=rows, splits={"train": "0:2"})
    demonstrations = PushtZarrReader(shared / PUSHT)
    video = out / "videos/observation.image/chunk-000/file-000.mp4"
    video.parent.mkdir(parents=True)
    with VideoWriter(video, 96, 96, 10.0) as writer:
        for index in range(2):
            writer.add(demonstrations.pictures(index))


def so101(shared: Path, out: Path) -> None:
    """Real LeRobot v2.1 metadata and AV1 video (cut to its first frames, not coded anew); the tables are made."""
    source = shared / "lerobot_v21_so101_chess"
    shutil.copytree(source / "meta", out / "meta")
    lines = (source / "meta/episodes.jsonl").read_text().splitlines()
    episodes = [json.loads(lines[0]) | {"length": SHORT}, json.loads(lines[4]) | {"episode_index": 1}]
    write_text(out / "meta/episodes.jsonl", "".join(f"{json.dumps(e)}\n" for e in episodes))
    _edit(out / "meta/info.json", total_episodes=2, total_frames=SHORT + 1, total_videos=2, splits={"train": "0:2"})
    folder = "videos/chunk-000/observation.images.follower_wrist"
    (out / folder).mkdir(parents=True)
    _cut(source / folder / "episode_000000.mp4", out / folder / "episode_000000.mp4", SHORT)
    shutil.copy(source / folder / "episode_000004.mp4", out / folder / "episode_000001.mp4")
    first = 0
    for episode in episodes:
        table = _so101_rows(episode["episode_index"], episode["length"], first)
        _table(table, out / f"data/chunk-000/episode_{episode['episode_index']:06d}.parquet")
        first += episode["length"]


def robonet(shared: Path, out: Path) -> None:
    """Two files in RoboNet's published layout, one with mp4 and one with JPEG, of real frames and actions of BAIR."""
    with np.load(shared / "bair_ivideogpt/bair_sample.npz") as file:
        frames, actions = file["image"].astype(np.uint8), file["action"]
    robonet_file(out / "sawyer_traj0.hdf5", frames, actions[:-1], encoding="mp4")
    robonet_file(out / "sawyer_traj1.hdf5", frames[:SHORT], actions[: SHORT - 1], encoding="jpg")


def lerobot(shared: Path, out: Path) -> None:
    """LeRobot v3.0 with our contract, of real Bridge episodes at 64 x 64."""
    (work := out / ".work").mkdir()
    bridge(shared, work)
    reader = Mp4NpzReader(work, View((64, 64)))
    spec = DatasetSpec(reader.contract)
    (part := out / ".part").mkdir()
    with ShardWriter(part, spec, 0, 0) as shard:
        for episode in reader:
            shard.add(episode)
    writer = DatasetWriter(out, spec)
    writer.commit(part)
    shutil.rmtree(work)
    part.rmdir()


SAMPLES: MappingProxyType[str, tuple[str, Callable[[Path, Path], None]]] = MappingProxyType(
    {
        "bridge-mp4-npz": ("mp4-npz", bridge),
        "language-table": ("irasim", language_table),
        "droid": ("irasim", droid),
        "bridge-rlds": ("rlds", bridge_rlds),
        "bair": ("npz", bair),
        "rt1": ("npz", rt1),
        "robosuite": ("robomimic", lift),
        "robonet": ("robonet", robonet),
        "pusht-zarr": ("zarr", pusht_zarr),
        "pusht-lerobot-v3": ("lerobot-v3", pusht_v3),
        "so101-lerobot-v2": ("lerobot-v2", so101),
        "lerobot": ("lerobot", lerobot),
    }
)
"""Name of a sample to its layout and what fills an empty folder with it."""


def robonet_file(path: Path, frames: NDArray[np.uint8], actions: NDArray[Any], encoding: str) -> None:
    """One episode in RoboNet's layout: frames ``(T, H, W, 3)``, actions ``(T - 1, A)``."""
    from PIL import Image

    length, height, width, _ = frames.shape
    attributes = {"shape": (height, width, 3), "T": length, "image_format": "RGB"}
    with require("h5py", "hdf5").File(path, "w") as file:
        file["file_version"] = "0.1.0"
        file["env/state"] = np.linspace(0, 1, length * 5).reshape(length, 5)
        file["policy/actions"] = np.asarray(actions, np.float64)
        file["env"].attrs.update({"n_cams": 1, "cam_encoding": encoding})
        file.create_group("metadata").attrs["robot"] = "sawyer"
        video = file["env"].create_group("cam0_video")
        if encoding == "mp4":
            temporary = path.with_suffix(".mp4")
            with VideoWriter(temporary, height, width, 5.0) as writer:
                writer.add(frames)
            video["frames"] = np.frombuffer(temporary.read_bytes(), np.uint8)
            video["frames"].attrs.update(attributes)
            temporary.unlink()
            return
        for number, frame in enumerate(frames):
            buffer = io.BytesIO()
            Image.fromarray(frame).save(buffer, "JPEG", quality=95)
            video[f"frame{number}"] = np.frombuffer(buffer.getvalue(), np.uint8)
            video[f"frame{number}"].attrs.update(attributes)


def make_sample(name: str, shared: Path, out: Path) -> str:
    """Fill the empty folder ``out`` with a sample; gives its layout."""
    layout, fill = SAMPLES[name]
    fill(shared, out)
    return layout


def _so101_rows(number: int, length: int, first: int) -> pa.Table:
    rows = np.random.default_rng(number).normal(50, 10, (length, 6)).astype(np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 6)
    return pa.table(
        {
            "action": lists,
            "observation.state": lists,
            "timestamp": pa.array(np.arange(length) / 30, pa.float32()),
            "frame_index": np.arange(length),
            "episode_index": np.full(length, number),
            "index": first + np.arange(length),
            "task_index": np.zeros(length, np.int64),
        }
    )


def _cut(source: Path, target: Path, frames: int) -> None:
    """Copy the first packets of a video as they are."""
    with av.open(str(source), "r") as old, av.open(str(target), "w") as new:
        stream = old.streams.video[0]
        copied = new.add_stream_from_template(stream, opaque=True)
        for count, packet in enumerate(old.demux(stream)):
            if count == frames or packet.dts is None:
                break
            packet.stream = copied
            new.mux(packet)


def _table(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def _edit(path: Path, **changes: Any) -> None:
    write_text(path, json.dumps(json.loads(path.read_text()) | changes, indent=2))
