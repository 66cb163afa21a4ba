"""Names to folders: a folder on disk, a packaged name, or a repository of the Hugging Face hub."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from world_model.atomic import recover
from world_model.errors import DataError
from world_model.rules import Is, follow, shown

CHECKPOINT = Is((str, Path), "a folder, a packaged name, a hub id or a loaded simulator")
_FOLDERS: list[Path] = []
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
HUB_OPTIONS = ("revision", "token", "cache_dir", "local_dir", "local_files_only", "force_download", "endpoint")
_WANTED = ["*.json", "*.safetensors", "README.md"]  # nothing that could hold a pickle is even downloaded


def register_folder(folder: Path | str) -> None:
    """Let the sub-folders of ``folder`` be opened by their names."""
    path = Path(folder).absolute()
    if path not in _FOLDERS:
        _FOLDERS.append(path)


def packaged_names() -> list[str]:
    """Names of the simulators that the registered folders hold now; other weights there have no contract."""
    return sorted({path.parent.name for folder in _FOLDERS for path in folder.glob("[!.]*/contract.json")})


def resolve(name: str | Path, **hub: Any) -> Path:
    """The folder of a checkpoint; ``hub`` goes to `huggingface_hub.snapshot_download` for hub ids.

    Raises:
        DataError: no such folder, name or repository, or the hub cannot be reached.
        InputError: no name.
    """
    name = follow(CHECKPOINT, "checkpoint", name)
    if not str(name).strip():
        raise DataError("the checkpoint's name is empty; give a folder, a packaged name or a hub id")
    if str(name) in packaged_names():  # a folder of the same name in the working directory is './name'
        return next(parent / str(name) for parent in _FOLDERS if (parent / str(name)).is_dir())
    with suppress(OSError):  # such as a name that is too long
        folder = recover(Path(name))
        if folder.is_dir():
            return folder
    if _HUB_ID.fullmatch(str(name)):
        return _download(str(name), hub)
    names = ", ".join(packaged_names()) or "none"
    raise DataError(
        f"there is no checkpoint {shown(str(name))}: it is no folder and none of the packaged names ({names}); "
        "give a folder, a packaged name or a hub id such as 'owner/name'"
    )


def _download(name: str, hub: dict[str, Any]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(name, allow_patterns=_WANTED, **hub))
    # The hub's HTTP, offline and not-found errors are all OSError; the others are of options that it does not take.
    except (OSError, HFValidationError, TypeError, ValueError) as error:
        reason = type(error).__name__
        raise DataError(
            f"checkpoint {name!r} is no folder here and could not be fetched from the Hugging Face hub ({reason}); "
            "check the name, or download the repository where there is a network and give its folder"
        ) from error
