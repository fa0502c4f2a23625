"""Meshes that are boxes: recognised by corners, faces and normals, and drawn as the mesh is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.convert.description import BoxShape
from gltf_bullet.convert.writer import shown_geometry
from gltf_bullet.rendering.solids import box_of
from gltf_bullet.rendering.visual_plans import Texture, VisualMesh
from gltf_bullet.transforms import FloatArray, Vec3

LENGTHS = st.tuples(*[st.floats(1e-3, 1e3)] * 3)
PLACES = st.tuples(*[st.floats(-100.0, 100.0)] * 3)


def box(size: Vec3 = (1.0, 2.0, 3.0), centre: Vec3 = (0.0, 0.0, 0.0)) -> VisualMesh:
    """Of 24 corners and 12 triangles, as every exporter writes it."""
    made = shown_geometry(BoxShape(size))
    assert made.normals is not None
    return VisualMesh(made.points + centre, made.normals, made.triangles)


def other(mesh: VisualMesh, **changes: FloatArray) -> VisualMesh:
    parts = {"points": mesh.points, "normals": mesh.normals, "triangles": mesh.triangles} | changes
    return VisualMesh(*(np.array(part) for part in parts.values()))


@given(LENGTHS, PLACES, st.randoms())
def test_a_box_is_found_whatever_the_order_of_its_triangles(
    size: Vec3, centre: Vec3, random: np.random.Generator
) -> None:
    mesh = box(size, centre)
    rows = [
        triangle[k % 3 :] + triangle[: k % 3] for k, triangle in enumerate(mesh.triangles.tolist())
    ]
    random.shuffle(rows)
    found = box_of(other(mesh, triangles=np.array(rows)))
    assert found is not None
    # Both ends of an edge are rounded to the numbers that the mesh has.
    rounding = 4.0 * np.spacing(np.abs(centre) + np.array(size))
    assert (np.abs(np.subtract(found.size, size)) <= rounding).all()
    assert (np.abs(np.subtract(found.centre, centre)) <= rounding).all()


def first_face(mesh: VisualMesh) -> list[int]:
    """Its corners in order, the first two triangles being (a, b, c) and (a, c, d)."""
    one, two = mesh.triangles[:2].tolist()
    while one[1] in two:
        one = one[1:] + one[:1]
    return [*one, *(set(two) - set(one))]


def test_a_face_may_be_cut_along_either_diagonal() -> None:
    mesh = box()
    a, b, c, d = first_face(mesh)
    triangles = np.concatenate([[[b, c, d], [b, d, a]], mesh.triangles[2:]])
    assert box_of(other(mesh, triangles=triangles)) is not None


def inside_out(mesh: VisualMesh) -> VisualMesh:
    return other(mesh, triangles=mesh.triangles[:, ::-1])


def with_a_hole(mesh: VisualMesh) -> VisualMesh:
    return other(mesh, triangles=np.concatenate([mesh.triangles[1:], mesh.triangles[1:2]]))


def with_crossed_halves(mesh: VisualMesh) -> VisualMesh:
    """One face of two triangles that overlap, so that a quarter of it is open."""
    a, b, c, d = first_face(mesh)
    return other(mesh, triangles=np.concatenate([[[a, b, c], [b, c, d]], mesh.triangles[2:]]))


def round_edged(mesh: VisualMesh) -> VisualMesh:
    normals = mesh.points / np.linalg.norm(mesh.points, axis=1, keepdims=True)
    return other(mesh, normals=normals)


def sheared(mesh: VisualMesh) -> VisualMesh:
    return other(mesh, points=mesh.points @ np.array([[1.0, 0, 0], [0.2, 1, 0], [0, 0, 1]]))


def flat(mesh: VisualMesh) -> VisualMesh:
    return other(mesh, points=mesh.points * (1.0, 1.0, 0.0))


def textured(mesh: VisualMesh) -> VisualMesh:
    texture = Texture(np.zeros((2, 2, 3), np.uint8))
    return VisualMesh(mesh.points, mesh.normals, mesh.triangles, texture=texture)


@pytest.mark.parametrize(
    "changed",
    [inside_out, with_a_hole, with_crossed_halves, round_edged, sheared, flat, textured],
)
def test_what_looks_otherwise_is_none(changed) -> None:  # type: ignore[no-untyped-def]
    assert box_of(changed(box())) is None
