"""Pictures of a MuJoCo model, upright, in a context of their own."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.gl import make_context

GEOMS = 1000
VISUAL = (0, 1, 0, 0, 0, 0)  # robosuite's groups: 0 holds collision shapes, 1 what is to be seen
MOST = 4  # renderers open at a time: each takes half a gigabyte, and one that was closed is made anew in a second
_open: list[weakref.ref[Renderer]] = []  # the longest unused first


class Renderer:
    """Draws one model.

    Args:
        model: a `mujoco.MjModel`, whose meshes and textures are uploaded now.
        size: largest height and width of a picture.
        groups: which of the model's six groups of geoms are seen.
    """

    def __init__(self, model: Any, size: int, groups: tuple[int, ...] = VISUAL) -> None:
        import mujoco

        self._mujoco, self._model, self.size = mujoco, model, size
        self._gl: Any = make_context(size)
        _note(self)
        self._gl.make_current()
        model.vis.global_.offwidth = model.vis.global_.offheight = size
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=GEOMS)
        self._camera, self._options, self._perturb = mujoco.MjvCamera(), mujoco.MjvOption(), mujoco.MjvPerturb()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._options.geomgroup[:] = groups

    def upload(self, textures: Iterable[int]) -> None:
        """Take over the present pixels of some of the model's textures."""
        self._gl.make_current()
        for texture in textures:
            self._mujoco.mjr_uploadTexture(self._model, self._context, texture)

    def render(
        self,
        data: Any,
        camera: int,
        height: int,
        width: int | None = None,
        decorate: Callable[[Any], None] | None = None,
    ) -> NDArray[np.uint8]:
        """Picture ``(height, width, 3)`` of a state through a camera of the model, first row on top.

        It is square without a ``width``. ``decorate`` may add geoms to the scene before it is drawn.
        """
        mujoco = self._mujoco
        _note(self)
        self._gl.make_current()  # another renderer of this process may have drawn since
        self._camera.fixedcamid = camera
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._options, self._perturb, self._camera, everything, self._scene)
        if decorate is not None:
            decorate(self._scene)
        width = width or height
        view, picture = mujoco.MjrRect(0, 0, width, height), np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(view, self._scene, self._context)
        mujoco.mjr_readPixels(picture, None, view, self._context)
        return picture[::-1].copy()

    @property
    def closed(self) -> bool:
        """Whether this one can draw no more."""
        return self._gl is None

    def close(self) -> None:
        """Release the context and all that was uploaded."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None


def _note(renderer: Renderer) -> None:
    """This one is in use; close the longest unused if there are too many."""
    if not _open:
        atexit.register(_close_all)  # now, for it must run before the driver's own farewell
    _open[:] = [kept for kept in _open if (other := kept()) is not None and other is not renderer and not other.closed]
    _open.append(weakref.ref(renderer))
    for oldest in [kept() for kept in _open[:-MOST]]:
        if oldest is not None:
            oldest.close()


def _close_all() -> None:
    for kept in _open:
        renderer = kept()
        if renderer is not None:
            renderer.close()
