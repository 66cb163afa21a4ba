"""The fast look: a MuJoCo model's visible meshes with fewer faces, lent to a renderer while it uploads them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachers.libero.simplify import Ints, simplify

TOLERANCES = {"robot0_": 0.006, "mount0_": 0.006, "gripper0_": 0.0004}
"""Metres that a surface may stray, by how its body's name begins: cameras are far from the arm and near the fingers."""
TOLERANCE = 0.002  # of all other bodies
REACH = 0.1  # m that one collapse may move a vertex: longer ones would shear textures
FEW = 100  # faces: smaller meshes stay as they are
LENT = ("mesh_face", "mesh_facenormal", "mesh_facetexcoord", "mesh_facenum")
NEAR_UV = 0.05  # corners farther apart on the texture belong to different patches of it
NEAR_NORMAL = 0.3  # length between unit normals beyond which an edge is sharp

Mesh = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
_cache: dict[bytes, Mesh] = {}


@contextlib.contextmanager
def low_poly(model: Any) -> Iterator[int]:
    """Within this context the model's meshes have few faces, and those that are never seen have none.

    Yields:
        Faces of all visible meshes.
    """
    before = {name: getattr(model, name).copy() for name in LENT}
    try:
        visible = _visible(model)
        for mesh in range(model.nmesh):
            if mesh in visible:
                _replace(model, mesh, visible[mesh])
            else:
                model.mesh_facenum[mesh] = 0
        yield int(model.mesh_facenum.sum())
    finally:
        for name, values in before.items():
            getattr(model, name)[:] = values


def _visible(model: Any) -> dict[int, float]:
    """Meshes of geoms in robosuite's visual group, and their tolerances."""
    import mujoco

    seen = (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH) & (model.geom_group == 1)
    found: dict[int, float] = {}
    for geom in np.flatnonzero(seen):
        body = model.body(model.geom_bodyid[geom]).name
        tolerance = next((t for prefix, t in TOLERANCES.items() if body.startswith(prefix)), TOLERANCE)
        mesh = int(model.geom_dataid[geom])
        found[mesh] = min(tolerance, found.get(mesh, tolerance))
    return found


def _replace(model: Any, mesh: int, tolerance: float) -> None:
    at, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    if count < FEW:
        return
    rows = slice(at, at + count)
    vertices = _part(model, "vert", mesh)
    arrays = [model.mesh_face[rows], model.mesh_facenormal[rows], model.mesh_facetexcoord[rows]]
    digest = hashlib.sha256(vertices.tobytes() + str(tolerance).encode())
    for array in arrays:
        digest.update(array.tobytes())
    key = digest.digest()
    if key not in _cache:
        faces, normals, uvs = (array.copy() for array in arrays)
        alive, corners = simplify(vertices, faces, tolerance, REACH)
        normals = _follow(vertices, faces, normals, alive, corners, _part(model, "normal", mesh), NEAR_NORMAL)
        if model.mesh_texcoordadr[mesh] >= 0:
            uvs = _follow(vertices, faces, uvs, alive, corners, _part(model, "texcoord", mesh), NEAR_UV)
        else:
            uvs = uvs[alive]
        _cache[key] = corners.astype(np.int32), normals, uvs
    few = len(_cache[key][0])
    for name, values in zip(LENT[:3], _cache[key], strict=True):
        getattr(model, name)[at : at + few] = values
    model.mesh_facenum[mesh] = few


def _part(model: Any, kind: str, mesh: int) -> NDArray[np.float32]:
    """A mesh's vertices, normals or texture coordinates."""
    at, count = getattr(model, f"mesh_{kind}adr")[mesh], getattr(model, f"mesh_{kind}num")[mesh]
    return getattr(model, f"mesh_{kind}")[at : at + count].copy()


def _follow(
    vertices: NDArray[np.float32],
    faces: Ints,
    attribute: NDArray[np.int32],
    alive: Ints,
    corners: Ints,
    values: NDArray[np.float32],
    near: float,
) -> NDArray[np.int32]:
    """Attribute ``(K, 3)`` of corners that moved: the one at the new place that is nearest to the old one.

    An old attribute with nothing ``near`` at the new place stays.
    """
    place = np.unique(vertices, axis=0, return_inverse=True)[1].reshape(-1)
    known = np.unique(np.stack([place[faces].ravel(), attribute.ravel()], axis=1), axis=0)  # (place, attribute) pairs
    first = np.searchsorted(known[:, 0], np.arange(place.max() + 2))
    old, wanted = attribute[alive].ravel(), place[corners].ravel()
    counts = np.diff(first)[wanted]
    corner = np.repeat(np.arange(len(old)), counts)
    choice = np.arange(len(corner)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first[wanted], counts)
    candidate = known[choice, 1]
    distance = np.linalg.norm(values[candidate] - values[old[corner]], axis=1)
    order = np.lexsort((distance, corner))
    best = order[np.searchsorted(corner[order], np.arange(len(old)))]
    return np.where(distance[best] < near, candidate[best], old).astype(np.int32).reshape(-1, 3)
