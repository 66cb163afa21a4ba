"""Fewer triangles for the same picture: half-edge collapses by quadric error, many at a time.

A vertex moves onto a neighbour if that strays less than a tolerance from the planes of all faces merged so far. No
vertex gets a new place, so shading and textures can stay those of the full mesh.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Floats = NDArray[np.floating]

ROUNDS = 40
LEAST_TURN = 0.3  # cosine between a face's normal before and after a collapse
BORDER = 3.0  # weight of the planes that keep open borders in place
EDGE = 1e-4  # weight of an edge's squared length: prefers short collapses where the surface is flat


def simplify(vertices: Floats, faces: Ints, tolerance: float, reach: float) -> tuple[Ints, Ints]:
    """Faces to draw instead of ``faces``.

    Args:
        vertices: ``(V, 3)``.
        faces: ``(F, 3)`` indices into vertices.
        tolerance: how far a surface may stray, in the unit of the vertices.
        reach: how far one collapse may move a vertex, in the same unit.

    Returns:
        Numbers ``(K,)`` of the faces that stay, and their new corners ``(K, 3)``.
    """
    _, member, weld = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    points = vertices[member].astype(np.float64)  # meshes with textures keep a vertex for every corner
    alive, corners = np.arange(len(faces)), weld.reshape(-1)[faces]
    keep = _whole(corners)
    alive, corners = alive[keep], corners[keep]
    quadrics = _quadrics(points, corners)
    haste = 1 + np.random.default_rng(0).random(len(points))  # else on a flat mesh all would wait for one neighbour
    for _ in range(ROUNDS):
        source, target = _collapses(points, corners, quadrics, haste, tolerance, reach)
        if len(source) < 1 + len(corners) // 500:
            break
        goal = np.arange(len(points))
        goal[source] = target
        np.add.at(quadrics, target, quadrics[source])
        corners = goal[corners]
        keep = _whole(corners)
        alive, corners = alive[keep], corners[keep]
    return alive, member[corners]


def _normals(points: Floats, corners: Ints) -> Floats:
    """Unnormalised face normals ``(F, 3)``, twice the area long."""
    a, b, c = (points[corners[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def _quadrics(points: Floats, corners: Ints) -> Floats:
    """Sum over each vertex's planes of the outer product of (normal, offset), ``(V, 4, 4)``."""
    normal = _normals(points, corners)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    quadrics = np.zeros((len(points), 4, 4))
    for i in range(3):
        _add_planes(quadrics, points, corners[:, i], normal)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    _, first, count = np.unique(_keys(np.sort(edges, axis=1)), return_index=True, return_counts=True)
    border = first[count == 1]
    way = points[edges[border, 1]] - points[edges[border, 0]]
    wall = np.cross(way, normal[border % len(corners)])
    wall *= BORDER / np.maximum(np.linalg.norm(wall, axis=1, keepdims=True), 1e-12)
    for end in range(2):
        _add_planes(quadrics, points, edges[border, end], wall)
    return quadrics


def _add_planes(quadrics: Floats, points: Floats, at: Ints, normal: Floats) -> None:
    plane = np.concatenate([normal, -(normal * points[at]).sum(axis=1, keepdims=True)], axis=1)
    np.add.at(quadrics, at, plane[:, :, None] * plane[:, None, :])


def _collapses(
    points: Floats, corners: Ints, quadrics: Floats, haste: Floats, tolerance: float, reach: float
) -> tuple[Ints, Ints]:
    """Vertices no two of which are neighbours, and the neighbour that each moves onto."""
    pairs = np.concatenate([corners[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = pairs[np.unique(_keys(pairs), return_index=True)[1]]
    source, target = pairs.T
    where = np.concatenate([points[target], np.ones((len(target), 1))], axis=1)
    length = np.square(points[source] - points[target]).sum(axis=1)
    error = np.einsum("ei,eij,ej->e", where, quadrics[source], where)
    cost = (error + EDGE * length) * haste[source]
    cost[(error > tolerance**2) | (length > reach**2)] = np.inf
    order = np.lexsort((cost, source))
    first = order[np.flatnonzero(np.diff(source[order], prepend=-1))]  # cheapest of each source
    best = np.full(len(points), np.inf)
    goal = np.arange(len(points))
    best[source[first]], goal[source[first]] = cost[first], target[first]
    best[_flipping(points, corners, goal)] = np.inf
    ring = np.full(len(points), np.inf)
    np.minimum.at(ring, source, best[target])
    chosen = np.flatnonzero(np.isfinite(best) & (best < ring))
    return chosen, goal[chosen]


def _flipping(points: Floats, corners: Ints, goal: Ints) -> Ints:
    """Vertices whose move to their goal would turn one of their remaining faces too far."""
    before = _normals(points, corners)
    size = np.linalg.norm(before, axis=1)
    flips = []
    for i in range(3):
        moved = corners.copy()
        moved[:, i] = goal[corners[:, i]]
        after = _normals(points, moved)
        stays = (moved[:, i] != corners[:, (i + 1) % 3]) & (moved[:, i] != corners[:, (i + 2) % 3])
        turn = (before * after).sum(axis=1)
        flips.append(corners[stays & (turn < LEAST_TURN * size * np.linalg.norm(after, axis=1)), i])
    return np.concatenate(flips)


def _whole(corners: Ints) -> Ints:
    """Faces with three different corners, each set of corners once."""
    a, b, c = corners.T
    whole = np.flatnonzero((a != b) & (b != c) & (a != c))
    ordered = np.sort(corners[whole], axis=1)
    base = corners.max(initial=0) + 1
    if base**3 > 2**62:  # three numbers do not fit in one
        return whole
    key = (ordered[:, 0] * base + ordered[:, 1]) * base + ordered[:, 2]
    return whole[np.sort(np.unique(key, return_index=True)[1])]


def _keys(pairs: Ints) -> Ints:
    return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
