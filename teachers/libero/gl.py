"""Which OpenGL can draw here without a screen: EGL, else OSMesa.

It is found out in a child process, for a bad driver may end the process that tries it.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from world_model.errors import SimforcingError

BACKENDS = ("egl", "osmesa")
PROBE = """
import importlib, os, sys
os.environ["MUJOCO_GL"] = "disable"
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(64, 64)
context.make_current()
from OpenGL import GL
print(GL.glGetString(GL.GL_RENDERER).decode())
sys.stdout.flush()
os._exit(0)
"""
SECONDS = 60


class NoRendererError(SimforcingError, RuntimeError):
    """Nothing on this machine can draw without a screen."""


@dataclass(frozen=True)
class Backend:
    """An OpenGL that works."""

    name: str
    """"egl" or "osmesa"."""
    renderer: str
    """What the driver calls itself, such as "llvmpipe (LLVM 15.0.6, 256 bits)"."""


@functools.cache
def backend() -> Backend:
    """The first that works of EGL and OSMesa, or of the one that the environment variable MUJOCO_GL names.

    Raises:
        NoRendererError: none works.
    """
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    failures = []
    for name in (wanted,) if wanted in BACKENDS else BACKENDS:
        found = probe(name)
        if isinstance(found, Backend):
            return found
        failures.append(f"{name}: {found}")
    raise NoRendererError(
        f"pictures need EGL or OSMesa, and neither works here ({'; '.join(failures)}); "
        "install one (Debian: apt-get install libegl1 libgl1-mesa-dri, or libosmesa6), or ask for no pictures"
    )


def probe(name: str) -> Backend | str:
    """Try one backend in a child process; the last line of its complaint if it does not work."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYOPENGL_PLATFORM", "MUJOCO_GL")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, name], capture_output=True, text=True, timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS} s"
    if done.returncode == 0:
        return Backend(name, done.stdout.strip())
    complaint = [line for line in done.stderr.splitlines() if line.strip()]
    return complaint[-1].strip() if complaint else f"the driver ended the process with code {done.returncode}"


def make_context(size: int) -> Any:
    """A context of the backend, with ``make_current`` and ``free``; any number may live in one process."""
    name = backend().name
    os.environ.setdefault("PYOPENGL_PLATFORM", name)
    return importlib.import_module(f"mujoco.{name}").GLContext(size, size)
