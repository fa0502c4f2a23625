"""Volumes, centres and inertia in closed form against trimesh and against laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gltf_bullet.model import Box, Capsule, Cylinder, Sphere
from gltf_bullet.model.mass_properties import (
    Moments,
    mesh_moments,
    principal_inertia,
    solid_moments,
)

SEGMENTS = 128


def revolved(profile: list[tuple[float, float]]) -> trimesh.Trimesh:
    """A mesh from (radius, y) pairs, bottom first, turned about Y."""
    angles = 2.0 * math.pi * np.arange(SEGMENTS) / SEGMENTS
    rings = [
        np.stack([r * np.cos(angles), np.full(SEGMENTS, y), r * np.sin(angles)], axis=1)
        for r, y in profile
    ]
    return trimesh.convex.convex_hull(np.concatenate(rings))


def capsule_profile(shape: Capsule) -> list[tuple[float, float]]:
    half = 0.5 * shape.mid_height
    latitudes = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 65)
    caps = ((-half, shape.radius_bottom), (half, shape.radius_top))
    return [(r * math.cos(a), y + r * math.sin(a)) for y, r in caps for a in latitudes]


SOLIDS = [
    (Box(size=(0.4, 1.0, 2.0)), lambda s: trimesh.creation.box(s.size)),
    (Sphere(radius=0.7), lambda s: trimesh.creation.icosphere(5, s.radius)),
    (
        Cylinder(height=1.5, radius_bottom=0.6, radius_top=0.6),
        lambda s: revolved([(s.radius_bottom, -s.height / 2), (s.radius_top, s.height / 2)]),
    ),
    (
        Cylinder(height=1.5, radius_bottom=0.6, radius_top=0.2),
        lambda s: revolved([(s.radius_bottom, -s.height / 2), (s.radius_top, s.height / 2)]),
    ),
    (
        Cylinder(height=1.5, radius_bottom=0.0, radius_top=0.8),
        lambda s: revolved([(s.radius_bottom, -s.height / 2), (s.radius_top, s.height / 2)]),
    ),
    (
        Capsule(mid_height=1.0, radius_bottom=0.4, radius_top=0.4),
        lambda s: revolved(capsule_profile(s)),
    ),
    (
        Capsule(mid_height=1.0, radius_bottom=0.5, radius_top=0.2),
        lambda s: revolved(capsule_profile(s)),
    ),
    (
        Capsule(mid_height=0.2, radius_bottom=0.5, radius_top=0.1),
        lambda s: revolved(capsule_profile(s)),
    ),
]

LINEAR_MAPS = [
    np.eye(3),
    np.diag([2.0, 0.5, 1.5]),
    np.diag([-1.0, 1.0, 2.0]),
    np.array([[1.0, 0.4, 0.0], [0.0, 0.8, -0.3], [0.2, 0.0, 1.3]]),
]


@pytest.mark.parametrize("linear", LINEAR_MAPS, ids=["plain", "stretched", "mirrored", "sheared"])
@pytest.mark.parametrize(("shape", "mesh_of"), SOLIDS)
def test_solids_agree_with_trimesh_under_every_scale(shape, mesh_of, linear) -> None:
    mesh = mesh_of(shape)
    # Inscribed polygons are smaller than circles; 128 segments are within 0.04 %.
    transform = np.eye(4)
    transform[:3, :3] = linear
    mesh.apply_transform(transform)
    moments = solid_moments(shape).mapped(linear, np.zeros(3))
    size = float(np.ptp(mesh.vertices, axis=0).max())
    assert moments.volume == pytest.approx(mesh.volume, rel=2e-3)
    assert moments.center == pytest.approx(mesh.center_mass, abs=1e-3 * size)
    inertia = moments.inertia_about(moments.center)
    assert inertia == pytest.approx(mesh.moment_inertia, abs=3e-3 * np.abs(inertia).max())


def test_a_box_has_the_textbook_inertia() -> None:
    x, y, z = 0.4, 1.0, 2.0
    inertia = solid_moments(Box(size=(x, y, z))).inertia_about(np.zeros(3))
    expected = x * y * z / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    assert inertia == pytest.approx(np.diag(expected))


def test_a_cone_has_its_centre_at_a_quarter_of_its_height() -> None:
    cone = solid_moments(Cylinder(height=1.2, radius_bottom=0.5, radius_top=0.0))
    assert cone.volume == pytest.approx(math.pi * 0.25 * 1.2 / 3.0)
    assert cone.center == pytest.approx([0, -0.6 + 0.3, 0])


def test_mesh_moments_agree_with_trimesh() -> None:
    mesh = trimesh.creation.annulus(0.3, 0.8, 0.5)
    mesh.apply_translation([1.0, -2.0, 0.5])
    moments = mesh_moments(mesh.vertices, mesh.faces)
    assert moments.volume == pytest.approx(mesh.volume)
    assert moments.center == pytest.approx(mesh.center_mass)
    assert moments.inertia_about(moments.center) == pytest.approx(mesh.moment_inertia, abs=1e-9)


finite = st.floats(-3.0, 3.0)
maps = hnp.arrays(np.float64, (3, 3), elements=finite).filter(
    lambda m: abs(np.linalg.det(m)) > 1e-3
)
offsets = hnp.arrays(np.float64, 3, elements=finite)


@given(maps, offsets, maps, offsets)
def test_mapping_twice_is_mapping_by_the_product(a, p, b, q) -> None:
    moments = solid_moments(Capsule(mid_height=0.5, radius_bottom=0.3, radius_top=0.2))
    twice = moments.mapped(a, p).mapped(b, q)
    once = moments.mapped(b @ a, b @ p + q)
    assert twice.volume == pytest.approx(once.volume, rel=1e-9)
    assert twice.first == pytest.approx(once.first, rel=1e-6, abs=1e-9)
    scale = np.abs(once.second).max()
    assert twice.second == pytest.approx(once.second, abs=1e-9 * scale + 1e-12)


def test_parts_add_up_to_the_whole() -> None:
    left = solid_moments(Box(size=(1, 2, 3))).mapped(np.eye(3), np.array([-0.5, 0, 0]))
    right = solid_moments(Box(size=(1, 2, 3))).mapped(np.eye(3), np.array([0.5, 0, 0]))
    whole = solid_moments(Box(size=(2, 2, 3)))
    total = Moments.zero() + left + right
    assert total.volume == pytest.approx(whole.volume)
    assert total.second == pytest.approx(whole.second, abs=1e-12)


@given(hnp.arrays(np.float64, (3, 3), elements=finite))
def test_principal_axes_rebuild_the_tensor(root: np.ndarray) -> None:
    second = root @ root.T + 1e-3 * np.eye(3)
    tensor = np.trace(second) * np.eye(3) - second
    principal = principal_inertia(tensor)
    axes = np.eye(3) if principal.orientation is None else principal.orientation
    assert np.linalg.det(axes) == pytest.approx(1.0)
    rebuilt = axes @ np.diag(principal.diagonal) @ axes.T
    assert rebuilt == pytest.approx(tensor, abs=1e-8 * np.trace(tensor))


def test_axes_of_a_diagonal_tensor_stay_where_they_are() -> None:
    principal = principal_inertia(np.diag([3.0, 1.0, 2.0]))
    assert principal.diagonal == (3.0, 1.0, 2.0)
    assert principal.orientation is None
