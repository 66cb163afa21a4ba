"""Fewer faces, same shape; needs no simulator."""

import numpy as np
import pytest

from teachers.libero.simplify import simplify


def grid(n, height=lambda x, y: 0 * x):
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    at = np.arange(n * n).reshape(n, n)
    a, b, c, d = at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return np.stack([x, y, height(x, y)], -1).reshape(-1, 3).astype(np.float32), faces


def area(vertices, faces):
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def apart(vertices, faces):
    """The same mesh with a vertex for every corner, as textured meshes have."""
    return vertices[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3)


@pytest.mark.parametrize("prepare", [lambda v, f: (v, f), apart])
def test_a_flat_square_keeps_its_outline(prepare):
    vertices, faces = prepare(*grid(25))
    alive, corners = simplify(vertices, faces, 1e-3, 2.0)
    assert len(alive) == len(corners) < 80 < len(faces)
    assert area(vertices, corners) == pytest.approx(1.0, abs=1e-5)
    assert (np.cross(*np.diff(vertices[corners], axis=1).swapaxes(0, 1))[:, 2] > 0).all()  # none is turned over
    assert len(np.unique(alive)) == len(alive)


def test_no_vertex_moves_farther_than_its_reach():
    vertices, faces = grid(25)
    alive, corners = simplify(vertices, faces, 1e-3, 0.9 / 24)
    assert np.array_equal(alive, np.arange(len(faces)))
    assert np.array_equal(corners, faces)


def test_a_hill_stays_within_the_tolerance():
    def height(x, y):
        return 0.2 * np.sin(3 * x) * np.cos(2 * y)

    vertices, faces = grid(41, height)
    _, corners = simplify(vertices, faces, 0.004, 1.0)
    assert len(corners) < len(faces) / 3
    middle = vertices[corners].mean(axis=1)
    assert np.abs(middle[:, 2] - height(middle[:, 0], middle[:, 1])).max() < 0.01


def test_degenerate_meshes():
    vertices, faces = np.zeros((3, 3), np.float32), np.array([[0, 1, 2]])
    alive, corners = simplify(vertices, faces, 0.1, 1.0)
    assert len(alive) == len(corners) == 0
