"""Triangles for shapes that are drawn: glTF has no primitives to look at."""

from __future__ import annotations

import numpy as np

from gltf_bullet.convert.description import (
    BallShape,
    BoxShape,
    MeshGeometry,
    PlaneShape,
    RoundShape,
    ShapeGeometry,
)
from gltf_bullet.transforms import FloatArray, Pose, quat_rotate, rotation_to

__all__ = ["shown_geometry"]

_SECTORS = 24
"""Of a cylinder."""
_RINGS = 6
"""Of half a ball, four sectors more in each: 288 triangles hold 96 % of its volume, as many sectors
in every ring take 384. An engine takes 0.3 us and 0.2 kB for each of every copy, in memory that it
uses for the first time (measured).
"""
_PLANE = 50.0
"""[m] Half the edge of what is shown of an infinite plane."""


def shown_geometry(shape: ShapeGeometry) -> MeshGeometry:
    """The surface of a shape in its own frame (Bullet's: round ones stand on +Z)."""
    if isinstance(shape, BoxShape):
        return _box(shape.size)
    if isinstance(shape, BallShape):
        return _rounded(shape.radius, 0.0, "sphere")
    if isinstance(shape, RoundShape):
        half, r = 0.5 * shape.height, shape.radius
        if shape.is_capsule:
            return _rounded(r, half, "capsule")
        profile = [
            (0.0, -half, 0.0, -1.0), (r, -half, 0.0, -1.0),
            (r, -half, 1.0, 0.0), (r, half, 1.0, 0.0),
            (r, half, 0.0, 1.0), (0.0, half, 0.0, 1.0),
        ]  # fmt: skip
        return _revolved(profile, "cylinder")
    if isinstance(shape, PlaneShape):
        square = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * _PLANE
        turn = Pose(rotation_to((0.0, 0.0, 1.0), shape.normal), (0.0, 0.0, 0.0))
        points = quat_rotate(np.array(turn.rotation_xyzw), square)
        normals = np.tile(np.array(shape.normal), (4, 1))
        return MeshGeometry(points, np.array([[0, 1, 2], [0, 2, 3]]), normals, name="plane")
    return shape.geometry


def _box(size: tuple[float, float, float]) -> MeshGeometry:
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            u, v = np.roll(np.eye(3), 1, axis=0)[axis], np.roll(np.eye(3), 2, axis=0)[axis]
            first, second = (u, v) if np.cross(u, v) @ normal > 0.0 else (v, u)
            start = len(points)
            points += [normal + a * first + b * second
                       for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip
            normals += [normal] * 4
            triangles += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
    return MeshGeometry(
        np.array(points) * np.array(size) * 0.5, np.array(triangles), np.array(normals), name="box"
    )


def _rounded(radius: float, half: float, name: str) -> MeshGeometry:
    """Two halves of a ball about Z, moved apart by ``half`` each."""
    rings = [(np.zeros(1), 0.0)]
    rings += [
        (np.linspace(0.0, 2.0 * np.pi, 4 * k, endpoint=False), 0.5 * np.pi * k / _RINGS)
        for k in range(1, _RINGS + 1)
    ]
    upper = np.concatenate(
        [
            np.column_stack(
                [np.cos(at) * np.sin(off), np.sin(at) * np.sin(off), np.full(len(at), np.cos(off))]
            )
            for at, off in rings
        ]
    )
    triangles = []
    inner, outer = 0, 1  # where the rings begin
    for k in range(_RINGS):
        count, further = max(4 * k, 1), 4 * (k + 1)
        for quarter in range(4):
            for j in range(k + 1):
                near = inner + (quarter * k + j) % count
                far = outer + quarter * (k + 1) + j
                next_far = outer + (quarter * (k + 1) + j + 1) % further
                triangles.append([near, far, next_far])
                if j < k:
                    triangles.append([near, next_far, inner + (quarter * k + j + 1) % count])
        inner, outer = outer, outer + further
    lower = [[a, c, b] for a, b, c in (np.array(triangles) + len(upper)).tolist()]
    if half > 0.0:
        for k in range(4 * _RINGS):
            a, b = inner + k, inner + (k + 1) % (4 * _RINGS)
            c, d = a + len(upper), b + len(upper)
            lower += [[c, d, b], [c, b, a]]
    normals = np.concatenate([upper, upper * (1.0, 1.0, -1.0)])
    shift = np.repeat([half, -half], len(upper))
    points = radius * normals + np.column_stack([0.0 * shift, 0.0 * shift, shift])
    return MeshGeometry(points, np.array(triangles + lower), normals, name=name)


def _revolved(profile: list[tuple[float, float, float, float]], name: str) -> MeshGeometry:
    """Rings from bottom to top about Z."""
    angle = np.linspace(0.0, 2.0 * np.pi, _SECTORS, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    for radius, z, outwards, upwards in profile:
        points.append(np.column_stack([radius * circle, np.full(_SECTORS, z)]))
        normals.append(np.column_stack([outwards * circle, np.full(_SECTORS, upwards)]))
    triangles = []
    for ring in range(len(profile) - 1):
        if profile[ring][:2] == profile[ring + 1][:2]:
            continue  # an edge: one place, two normals
        for k in range(_SECTORS):
            a, b = ring * _SECTORS + k, ring * _SECTORS + (k + 1) % _SECTORS
            c, d = a + _SECTORS, b + _SECTORS
            if profile[ring][0] > 1e-12:
                triangles.append([a, b, d])
            if profile[ring + 1][0] > 1e-12:
                triangles.append([a, d, c])
    return MeshGeometry(
        np.concatenate(points), np.array(triangles), np.concatenate(normals), name=name
    )
