"""Checkpoint folders: written whole or not at all, hashed file by file, read strictly, never unpickled.

A folder holds safetensors and JSON files and a ``manifest.json`` with the SHA-256 of each. It is written
under a temporary name beside its place and swapped in, so a kill leaves the old folder or the new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from world_model.atomic import check_writable, recover, replacing_folder
from world_model.errors import DataError

MANIFEST = "manifest.json"
CARD = "README.md"  # listed in the manifest, but people and the hub may edit it
_FORMAT = 1


@dataclass(frozen=True)
class Folder:
    """An opened checkpoint folder whose files match its manifest."""

    path: Path
    files: dict[str, str]  # relative path -> SHA-256

    @property
    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 over every file's name and hash, the card aside."""
        lines = [f"{name} {digest}\n" for name, digest in sorted(self.files.items()) if name != CARD]
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def file(self, name: str) -> Path:
        """Path of a file of the manifest.

        Raises:
            DataError: the folder has no such file.
        """
        if name not in self.files:
            raise DataError(f"checkpoint {self.path} has no {name}; it holds {', '.join(sorted(self.files))}")
        return self.path / name

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object of the folder."""
        return read_json(self.file(name))

    def tensors(self, name: str) -> dict[str, Tensor]:
        """The tensors of a safetensors file of the folder, on the CPU."""
        return read_tensors(self.file(name))[0]


def open_folder(path: Path) -> Folder:
    """Open a checkpoint folder and check every file against the manifest.

    Raises:
        DataError: no folder or manifest, a missing file, or a file that differs from its hash.
    """
    path = recover(Path(path))
    if not path.is_dir():
        raise DataError(f"there is no checkpoint folder {path}; check the path")
    if not (path / MANIFEST).is_file():
        raise DataError(f"checkpoint {path} has no {MANIFEST}; it is incomplete or not one of ours, copy it again")
    files = read_json(path / MANIFEST).get("files")
    if not isinstance(files, dict) or not all(_is_inside(name) for name in files):
        raise DataError(f"{path / MANIFEST} does not list files of its own folder; copy the checkpoint again")
    for name, digest in files.items():
        if name == CARD:
            continue
        if not (path / name).is_file():
            raise DataError(f"checkpoint {path} lacks {name}, which its manifest lists; copy the checkpoint again")
        if (found := sha256(path / name)) != digest:
            raise DataError(
                f"{path / name} has SHA-256 {found[:16]} but the manifest says {str(digest)[:16]}; "
                "it was damaged or changed after saving, copy the checkpoint again"
            )
    return Folder(path, files)


def check_place(target: Path) -> None:
    """Make sure that a checkpoint may be written to ``target``; its parent folder is made where it is missing.

    Raises:
        DataError: there is a file, or a folder with other things in it, which would be lost, or nothing can be written.
    """
    target = Path(target)
    foreign = target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file()
    if foreign or (target.exists() and not target.is_dir()):
        raise DataError(f"{target} holds something that is no checkpoint and would be lost; choose another folder")
    try:
        check_writable(target.parent)
    except OSError as error:
        raise DataError(f"nothing can be written at {target} ({error.strerror}); choose another folder") from error


@contextmanager
def writing_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end it gets its manifest and takes the place of ``target``.

    An error inside removes it and leaves ``target`` as it was; see `atomic.replacing_folder`.

    Raises:
        DataError: ``target`` is a file, or a folder with other things in it, which would be lost.
    """
    check_place(target)
    with replacing_folder(Path(target)) as temporary:
        yield temporary
        files = {p.relative_to(temporary).as_posix(): sha256(p) for p in sorted(temporary.rglob("*")) if p.is_file()}
        write_json(temporary / MANIFEST, {"format": _FORMAT, "files": files})


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object; its fields keep their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        DataError: the file is absent or holds something else.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not readable as JSON ({error}); copy the checkpoint again") from error
    if not isinstance(values, dict):
        raise DataError(f"{path} holds a JSON {type(values).__name__}, not an object; copy the checkpoint again")
    return values


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file (dense CPU copies of the tensors)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dense = {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}
    save_file(dense, path, metadata=dict(metadata or {}))
    path.chmod(0o644)  # safetensors writes 0600, which a shared or packaged folder cannot use


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors on the CPU and the string metadata of a safetensors file.

    Raises:
        DataError: absent, truncated, or another format (a pickle is refused, never opened).
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; copy the checkpoint again")
    try:
        with safe_open(path, framework="pt") as file:
            return {k: file.get_tensor(k) for k in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(
            f"{path} ({path.stat().st_size} bytes) is truncated or no safetensors file ({error}); "
            "copy the checkpoint again"
        ) from error


def stored_state(module: nn.Module, dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """The state dict with floating parameters cast to ``dtype``; buffers (statistics) keep theirs."""
    parameters = {name for name, p in module.named_parameters() if p.is_floating_point()}
    return {k: v.to(dtype) if dtype and k in parameters else v for k, v in module.state_dict().items()}


def load_state(module: nn.Module, tensors: Mapping[str, Tensor], file: Path | str) -> None:
    """Copy tensors into a module, each cast to the module's own dtype; nothing is skipped.

    Raises:
        DataError: a key is missing, unexpected, of another shape or type, or not finite (named with the file).
    """
    own = module.state_dict()
    for title, keys in (("lacks", own.keys() - tensors.keys()), ("has the unexpected", tensors.keys() - own.keys())):
        if keys:
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            raise DataError(
                f"{file} {title} key {min(keys)!r}{more} for {type(module).__name__}; "
                "use the weights with the config they were saved with"
            )
    for key, value in tensors.items():
        if value.shape != own[key].shape:
            raise DataError(
                f"{file} has {key!r} of shape {tuple(value.shape)} but {type(module).__name__} takes "
                f"{tuple(own[key].shape)}; use the weights with the config they were saved with"
            )
        if value.is_floating_point() != own[key].is_floating_point():
            raise DataError(
                f"{file} has {key!r} of type {value.dtype} but {type(module).__name__} takes {own[key].dtype}; "
                "use the weights that were saved"
            )
        if not torch.isfinite(value).all():
            raise DataError(f"{file} has NaN or infinite numbers in {key!r}; its training has failed, use another")
    module.load_state_dict(dict(tensors), strict=True)


def sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_inside(name: object) -> bool:
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts
