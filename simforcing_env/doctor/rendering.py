"""Which picture backends work here, each tried in a child process: a bad driver kills the child, not us."""

from __future__ import annotations

import os
import subprocess
import sys

from simforcing_env.doctor.finding import Finding
from world_model.extras import absent

TIMEOUT = 60.0

SDL = """
import pygame
surface = pygame.Surface((64, 64))
pygame.draw.circle(surface, (0, 0, 255), (32, 32), 10)
assert surface.get_at((32, 32))[:3] == (0, 0, 255)
print(pygame.version.ver, "SDL", ".".join(map(str, pygame.version.SDL)))
"""

MUJOCO = """
import mujoco, numpy
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light pos="0 0 3"/>'
    '<geom type="sphere" size="1" rgba="1 0 0 1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    assert numpy.ptp(renderer.render()) > 0
print(mujoco.__version__)
"""

EGL_MEND = (
    "install libegl1, libegl-mesa0 and libgl1-mesa-dri (or your GPU's driver), or use MUJOCO_GL=osmesa with libosmesa6"
)


def check_rendering() -> list[Finding]:
    """Findings for Push-T's drawing and MuJoCo's renderers, where their packages are installed."""
    return [_push_t(), *_mujoco()]


def _push_t() -> Finding:
    if absent("pusht"):
        return Finding("Push-T drawing", "note", "not installed", 'pip install "simforcing-env[pusht]"')
    works, said = probe(SDL, SDL_VIDEODRIVER="dummy")
    if works:
        return Finding("Push-T drawing", "ok", f"pygame {said}, headless")
    mend = "reinstall pygame: pip install --force-reinstall pygame"
    return Finding("Push-T drawing", "fault", said, mend)


def _mujoco() -> list[Finding]:
    if "mujoco" in absent("libero"):
        return [Finding("MuJoCo drawing", "note", "not installed", 'pip install "simforcing-env[libero]"')]
    tried = {backend: probe(MUJOCO, MUJOCO_GL=backend) for backend in ("egl", "osmesa")}
    working = [backend for backend, (works, _) in tried.items() if works]
    said = "; ".join(f"{backend}: {'works' if works else said}" for backend, (works, said) in tried.items())
    if not working:
        return [Finding("MuJoCo drawing", "fault", said, EGL_MEND)]
    chosen = os.environ.get("MUJOCO_GL")
    if chosen in tried and chosen not in working:
        mend = f"MUJOCO_GL={chosen} does not work here: set MUJOCO_GL={working[0]}"
        return [Finding("MuJoCo drawing", "fault", said, mend)]
    mend = "" if chosen in working else f"set MUJOCO_GL={working[0]}"
    return [Finding("MuJoCo drawing", "ok" if not mend else "note", said, mend)]


def probe(code: str, **environment: str) -> tuple[bool, str]:
    """Whether a child process that runs ``code`` ends well, and the last line that it said."""
    command = [sys.executable, "-c", code]
    variables = {**os.environ, "PYGAME_HIDE_SUPPORT_PROMPT": "1", **environment}
    try:
        child = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer in {TIMEOUT:.0f} s"
    lines = (child.stdout if child.returncode == 0 else child.stderr).strip().splitlines()
    return child.returncode == 0, lines[-1] if lines else f"ended with status {child.returncode}"
