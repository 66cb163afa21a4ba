"""Optional packages: which extra brings them, and the sentence for one that is missing."""

from __future__ import annotations

import importlib
import importlib.util
from types import MappingProxyType
from typing import Any

from world_model.errors import MissingExtraError

EXTRAS = MappingProxyType(
    {
        "pusht": ("gym_pusht", "pymunk", "pygame", "shapely", "cv2"),
        "pusht-mujoco": ("gym_pusht", "pymunk", "pygame", "shapely", "cv2", "mujoco"),
        "libero": ("libero", "robosuite", "mujoco", "bddl"),
        "hdf5": ("h5py",),
        "diffusers": ("diffusers",),
        "rlds": ("google_crc32c", "google"),
        "rl": ("stable_baselines3", "moviepy"),
        "socket": ("msgpack",),
        "train": ("accelerate", "tensorboard", "torchmetrics", "matplotlib", "imageio"),
        "dev": ("pytest", "pytest_timeout", "ruff", "mypy"),
    }
)
"""Extra of the distribution to the import names that it brings."""


def require(module: str, extra: str) -> Any:
    """Import and return an optional module.

    Raises:
        MissingExtraError: the module, or a package that it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error.name or module, extra) from error


def missing(module: str, extra: str) -> MissingExtraError:
    """The error for a module of an extra that cannot be found."""
    return MissingExtraError(f'{module} is not installed; run: pip install "simforcing-env[{extra}]"')


def extra_of(module: str) -> str | None:
    """The extra that brings a (dotted) module, or None."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def absent(extra: str) -> list[str]:
    """Modules of an extra that are not installed; finds them without importing."""
    return [module for module in EXTRAS[extra] if importlib.util.find_spec(module) is None]
