"""Latents of a data set's frames, kept beside it under the hash of the codec that made them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from world_model.atomic import replacing_file
from world_model.codecs.base import CodecModule
from world_model.data.lerobot.reader import LeRobotDataset
from world_model.errors import DataError

BATCH = 64  # frames that are encoded at a time


def codec_hash(codec: CodecModule) -> str:
    """First 16 hex digits of the SHA-256 over kind, config, and weights in float32: equal for equal latents."""
    settings = json.dumps(dataclasses.asdict(codec.config), sort_keys=True, default=str)
    digest = hashlib.sha256(f"{type(codec).__name__} {settings}".encode())
    for name, values in sorted(codec.state_dict().items()):
        digest.update(f"{name} {tuple(values.shape)}".encode())
        digest.update(values.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


class LatentCache:
    """Latents of each episode of one data set, made once and read from then on.

    Another codec has a folder of its own, so latents of the wrong codec are never read.
    """

    def __init__(self, dataset: LeRobotDataset, codec: CodecModule) -> None:
        self.dataset, self.codec = dataset, codec
        self.hash = codec_hash(codec)
        self.folder: Path = dataset.path / "latents" / self.hash

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> Tensor:
        """Latents ``(T, C, U, V)`` float32 of an episode, encoded now if they are not there yet.

        Raises:
            IndexError: there is no such episode.
            DataError: the episode or its latents are damaged.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"episode {number} of {len(self)}")
        path = self.path(number)
        if path.is_file():
            return self._read(path, int(self.dataset.lengths[number]))
        latents = self._encode(number)
        with replacing_file(path) as temporary:
            save_file({"latents": latents}, temporary, metadata={"codec": self.hash})
        return latents

    def path(self, number: int) -> Path:
        """Where the latents of an episode are kept."""
        return self.folder / f"episode-{number:06d}.safetensors"

    def fill(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Encode what is not there yet; ``progress`` is called with (episodes in the cache, episodes)."""
        for number in range(len(self)):
            if not self.path(number).is_file():
                self[number]
            progress(number + 1, len(self))

    def _encode(self, number: int) -> Tensor:
        frames = torch.from_numpy(self.dataset.frames(number))
        device = next((weights.device for weights in self.codec.state_dict().values()), torch.device("cpu"))
        with torch.no_grad():
            parts = [self.codec.encode(part.to(device)).float().cpu() for part in torch.split(frames, BATCH)]
        return torch.cat(parts).contiguous()

    def _read(self, path: Path, length: int) -> Tensor:
        try:
            with safe_open(path, "pt") as file:
                marked, latents = (file.metadata() or {}).get("codec"), file.get_tensor("latents")
        except (SafetensorError, OSError) as error:
            raise DataError(f"latents {path} are damaged ({error}); delete the file, it is made again") from error
        if marked != self.hash or len(latents) != length:
            raise DataError(
                f"latents {path} are of codec {marked} and {len(latents)} frames, not of {self.hash} and {length}; "
                "delete the file, it is made again"
            )
        return latents
