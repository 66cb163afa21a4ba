"""Putting an appearance on a MuJoCo model, and taking it off without a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.appearance.appearance import Appearance, Distractor, Triple, View
from teachers.appearance.patterns import paint

CHANGED = (
    *("light_pos", "light_dir", "light_diffuse", "light_specular", "mat_rgba", "geom_rgba"),
    *("cam_pos", "cam_quat", "cam_fovy", "geom_friction", "dof_damping"),
)
"""Arrays of a model that an appearance changes, beside its headlight and the pixels of some textures."""
ROBOT = ("robot", "gripper", "mount")
KINDS = ("robot", "objects", "surroundings")
SKYBOX = 2
ALPHA_SEEN = 0.05


class Wardrobe:
    """One model and what it wears.

    Args:
        model: a `mujoco.MjModel` of robosuite's making, plain.
        objects: bodies of the task's objects and furniture (their roots).
        wrist: name of the camera on the hand.
    """

    def __init__(self, model: Any, objects: Iterable[int], wrist: str) -> None:
        import mujoco

        self._mujoco, self._model = mujoco, model
        self._plain = {name: getattr(model, name).copy() for name in CHANGED}
        head = model.vis.headlight
        self._headlight = {name: getattr(head, name).copy() for name in ("ambient", "diffuse", "specular")}
        self._textures: dict[int, NDArray[np.uint8]] = {}  # plain pixels of those that are painted over
        self._wrist = model.camera(wrist).id
        roots = set(objects)
        kinds = [self._kind(body, roots) for body in range(model.nbody)]
        self._geoms = {kind: [g for g in range(model.ngeom) if kinds[model.geom_bodyid[g]] == kind] for kind in KINDS}
        self._materials = {
            kind: sorted({int(model.geom_matid[g]) for g in geoms} - {-1}) for kind, geoms in self._geoms.items()
        }
        painted = (model.mat_texid[m] for m in self._materials["surroundings"])
        found = {int(texture) for row in painted for texture in np.atleast_1d(row) if texture >= 0}
        self._surfaces = sorted(t for t in found if model.tex_type[t] != SKYBOX)
        self.repainted: set[int] = set()
        """Textures whose pixels are others than those that were last drawn."""

    def wear(self, appearance: Appearance) -> None:
        """Look and act as it says, whatever was worn before."""
        self.undress()
        model = self._model
        for i, lamp in zip(range(model.nlight), cycle(appearance.lamps), strict=False):
            model.light_pos[i] += lamp.shift
            model.light_dir[i] += lamp.tilt
            model.light_dir[i] /= np.linalg.norm(model.light_dir[i])
            model.light_diffuse[i] *= lamp.colour
            model.light_specular[i] *= lamp.colour
        for name in self._headlight:
            getattr(model.vis.headlight, name)[:] *= appearance.headlight
        self._tint("objects", cycle(appearance.objects))
        self._tint("robot", cycle([appearance.robot]))
        fixed = cycle(appearance.views)
        for camera in range(model.ncam):
            self._move(camera, appearance.wrist if camera == self._wrist else next(fixed))
        for texture, surface in zip(self._surfaces, cycle(appearance.surfaces), strict=False):
            pixels = self._pixels(texture)
            self._textures[texture] = pixels.copy()
            pixels[:] = paint(pixels, surface)
            self.repainted.add(texture)
        model.geom_friction[:, 0] *= appearance.friction
        model.dof_damping[:] *= appearance.damping

    def undress(self) -> None:
        """Be plain again, bit for bit."""
        for name, values in self._plain.items():
            getattr(self._model, name)[:] = values
        for name, values in self._headlight.items():
            getattr(self._model.vis.headlight, name)[:] = values
        for texture, pixels in self._textures.items():
            self._pixels(texture)[:] = pixels
            self.repainted.add(texture)
        self._textures = {}

    def _kind(self, body: int, roots: set[int]) -> str:
        if self._model.body(body).name.startswith(ROBOT):
            return "robot"
        while body:
            if body in roots:
                return "objects"
            body = int(self._model.body_parentid[body])
        return "surroundings"

    def _tint(self, kind: str, colours: Iterable[Triple]) -> None:
        model, painter = self._model, iter(colours)
        for material in self._materials[kind]:
            model.mat_rgba[material, :3] *= next(painter)
        for geom in self._geoms[kind]:
            if model.geom_matid[geom] < 0 and model.geom_rgba[geom, 3] > ALPHA_SEEN:
                model.geom_rgba[geom, :3] *= next(painter)

    def _move(self, camera: int, view: View) -> None:
        model, mujoco = self._model, self._mujoco
        turned, place, turn = np.empty(4), np.empty(3), np.empty(4)
        angle = float(np.linalg.norm(view.turn))
        mujoco.mju_axisAngle2Quat(turn, np.array(view.turn) / max(angle, 1e-12), angle)
        quaternion = np.array(model.cam_quat[camera], np.float64)
        mujoco.mju_rotVecQuat(place, np.array(view.shift), quaternion)
        mujoco.mju_mulQuat(turned, quaternion, turn)
        model.cam_pos[camera] += place
        model.cam_quat[camera] = turned
        model.cam_fovy[camera] += view.fov

    def _pixels(self, texture: int) -> NDArray[np.uint8]:
        """A texture's pixels ``(height, width, channels)``, in the model's own memory."""
        model = self._model
        shape = int(model.tex_height[texture]), int(model.tex_width[texture]), int(model.tex_nchannel[texture])
        first = int(model.tex_adr[texture])
        pixels: NDArray[np.uint8] = model.tex_data[first : first + int(np.prod(shape))].reshape(shape)
        return pixels


SHAPES: dict[str, Callable[[Triple], tuple[Triple, float]]] = {
    "box": lambda size: (size, size[2]),
    "sphere": lambda size: ((size[0], size[0], size[0]), size[0]),
    "cylinder": lambda size: ((size[0], size[2], 0.0), size[2]),
    "ellipsoid": lambda size: (size, size[2]),
}
"""From a distractor's three half sizes to those of MuJoCo's geom, and half its height."""


def decoration(things: Iterable[Distractor], middle: NDArray[np.float64]) -> Callable[[Any], None]:
    """Adds things that stand about ``middle`` (m, on the workspace's surface) to a scene that is about to be drawn."""
    import mujoco

    def add(scene: Any) -> None:
        for thing in things:
            size, height = SHAPES[thing.shape](thing.size)
            place = middle + np.array([*thing.place, height])
            cos, sin = np.cos(thing.turn), np.sin(thing.turn)
            turn = np.array([cos, -sin, 0, sin, cos, 0, 0, 0, 1])
            kind = getattr(mujoco.mjtGeom, f"mjGEOM_{thing.shape.upper()}")
            colour = np.array([*thing.colour, 1.0], np.float32)
            mujoco.mjv_initGeom(scene.geoms[scene.ngeom], kind, np.array(size), place, turn, colour)
            scene.ngeom += 1

    return add
