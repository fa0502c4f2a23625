"""Planning of shapes: which scale keeps a primitive, what becomes a hull, and what is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.model import Box, Capsule, Cylinder, MeshPart, MeshShape, Plane, Shape, Sphere
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes import decomposition
from gltf_bullet.planning.shapes.concave_meshes import (
    CONCAVE_AS_HULL,
    CONCAVE_DECOMPOSED,
    DECOMPOSITION_FAILED,
    DECOMPOSITION_STOPPED,
)
from gltf_bullet.planning.shapes.decomposition import WorkerResult
from gltf_bullet.planning.shapes.planner import (
    HULL_REDUCED,
    INFINITE_EXTENT,
    MESH_OPEN,
    NEARLY_ROUND,
    PLANE_SIDES_APPROXIMATED,
    ROUND_SHAPE_APPROXIMATED,
    SHAPE_DEGENERATE,
    SHAPE_DISABLED,
    SHAPE_EMPTY,
    PlannedShape,
    ShapePlanner,
)
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    SpherePlan,
    TriangleSet,
)

AT = ROOT / "nodes" / 3
MESH = MeshShape(parts=(MeshPart(mesh=0),), convex_hull=False)
HULL = MeshShape(parts=(MeshPart(mesh=0),), convex_hull=True)

BOX = Box(size=(1.0, 2.0, 3.0))
BALL = Sphere(radius=0.5)
PILL = Capsule(mid_height=1.0, radius_bottom=0.3, radius_top=0.3)
TAPERED_PILL = Capsule(mid_height=1.0, radius_bottom=0.3, radius_top=0.1)
ROD = Cylinder(height=1.0, radius_bottom=0.3, radius_top=0.3)
CONE = Cylinder(height=1.0, radius_bottom=0.3, radius_top=0.0)

SHEAR = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def plan(
    shape: Shape,
    linear: np.ndarray,
    diagnostics: Diagnostics,
    *,
    moving: bool = True,
    bvh_allowed: bool = True,
    mesh: TriangleSet | None = None,
    options: LoadOptions | None = None,
) -> PlannedShape | None:
    planner = ShapePlanner(lambda _: mesh, options or LoadOptions(), diagnostics)
    return planner.plan(shape, linear, moving=moving, bvh_allowed=bvh_allowed, at=AT)


def triangles_of(mesh: trimesh.Trimesh) -> TriangleSet:
    return TriangleSet(mesh.vertices, mesh.faces)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (BOX, BoxPlan((1.0, 2.0, 3.0))),
        (BALL, SpherePlan(1.0)),
        (PILL, CapsulePlan(0.6, 2.0)),
        (ROD, CylinderPlan(0.6, 2.0)),
    ],
)
def test_uniform_scale_keeps_primitives(shape, expected, sign, diagnostics) -> None:
    planned = plan(shape, sign * 2.0 * np.eye(3), diagnostics)
    assert planned is not None
    assert planned.placed.shape == expected


@pytest.mark.parametrize("shape", [CONE, TAPERED_PILL])
@pytest.mark.parametrize("sign", [(1, -1, 1), (-1, -1, -1)])
def test_no_negative_scale_turns_a_tapered_shape_over(shape, sign, diagnostics) -> None:
    scale = np.array([2.0, 1.5, 2.0])
    upright, mirrored = (
        plan(shape, np.diag(scale), diagnostics),
        plan(shape, np.diag(sign * scale), diagnostics),
    )
    assert upright is not None
    assert mirrored is not None
    assert mirrored.placed == upright.placed
    np.testing.assert_allclose(mirrored.moments.first, upright.moments.first, atol=1e-12)
    while len(diagnostics):
        assert diagnostics.take().kind is ROUND_SHAPE_APPROXIMATED


@pytest.mark.parametrize(
    ("shape", "scale", "expected"),
    [
        (BOX, (2.0, 0.5, -1.0), BoxPlan((1.0, 0.5, 1.5))),
        (ROD, (2.0, 0.5, 2.0), CylinderPlan(0.6, 0.5)),
        (ROD, (-2.0, 0.5, 2.0), CylinderPlan(0.6, 0.5)),
    ],
)
def test_scale_along_the_axes_keeps_boxes_and_round_cylinders(
    shape, scale, expected, diagnostics
) -> None:
    planned = plan(shape, np.diag(scale), diagnostics)
    assert planned is not None
    assert planned.placed.shape == expected


@pytest.mark.parametrize(
    ("shape", "linear"),
    [
        (BALL, np.diag([2.0, 1.0, 1.0])),
        (PILL, np.diag([1.0, 2.0, 1.0])),
        (ROD, np.diag([2.0, 1.0, 1.0])),
        (TAPERED_PILL, np.eye(3)),
        (CONE, np.eye(3)),
        (BALL, SHEAR),
        (ROD, SHEAR),
    ],
)
def test_what_bullet_has_no_primitive_for_becomes_a_hull_with_its_deviation(
    shape, linear, diagnostics
) -> None:
    planned = plan(shape, linear, diagnostics)
    assert planned is not None
    assert isinstance(planned.placed.shape, HullPlan)
    issue = diagnostics.take(ROUND_SHAPE_APPROXIMATED)
    assert issue.pointer == AT
    points = planned.placed.shape.vertices.points
    assert 0.0 < issue.values["deviation"] < 0.03 * np.ptp(points, axis=0).max()
    # Mass comes from the true solid, not from the stand-in.
    hull_volume = trimesh.convex.convex_hull(points).volume
    assert hull_volume < planned.moments.volume < 1.05 * hull_volume


def test_a_sheared_box_is_its_exact_hull_without_a_warning(diagnostics) -> None:
    planned = plan(BOX, SHEAR, diagnostics)
    assert planned is not None
    assert isinstance(planned.placed.shape, HullPlan)
    assert len(planned.placed.shape.vertices.points) == 8
    assert planned.moments.volume == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("shape", "kind"), [(BALL, SpherePlan), (PILL, CapsulePlan), (ROD, CylinderPlan)]
)
def test_all_but_a_primitive_is_that_primitive(shape, kind, diagnostics) -> None:
    """A scale of 1 + e along one axis: off by at most e times the radius."""
    stretch = 1e-4
    planned = plan(shape, np.diag([1.0 + stretch, 1.0, 1.0]), diagnostics)
    assert planned is not None
    assert isinstance(planned.placed.shape, kind)
    true = plan(shape, np.eye(3), diagnostics)
    assert true is not None
    assert planned.placed.shape.radius == pytest.approx(true.placed.shape.radius, rel=stretch)
    issue = diagnostics.take(NEARLY_ROUND)
    assert 0.0 < issue.values["deviation"] <= 1.01 * stretch * true.placed.shape.radius


def test_a_round_shape_at_rest_has_four_times_the_points(diagnostics) -> None:
    moving = plan(TAPERED_PILL, np.eye(3), diagnostics)
    off = diagnostics.take(ROUND_SHAPE_APPROXIMATED).values["deviation"]
    resting = plan(TAPERED_PILL, np.eye(3), diagnostics, moving=False)
    less = diagnostics.take(ROUND_SHAPE_APPROXIMATED).values["deviation"]
    assert moving is not None
    assert resting is not None
    counts = [len(found.placed.shape.vertices.points) for found in (moving, resting)]
    assert counts[0] <= 256 < counts[1] <= 1024
    # Half of every way between two points: a quarter of what a facet cuts off.
    assert less == pytest.approx(0.25 * off, rel=0.2)


@pytest.mark.parametrize("shape", [BOX, BALL, PILL, ROD, HULL])
def test_zero_scale_disables_a_shape(shape, diagnostics) -> None:
    assert plan(shape, np.zeros((3, 3)), diagnostics) is None
    diagnostics.take(SHAPE_DISABLED)


@pytest.mark.parametrize("shape", [BOX, BALL, PILL, ROD])
def test_zero_scale_on_one_axis_gives_a_thin_shape(shape, diagnostics) -> None:
    planned = plan(shape, np.diag([1.0, 0.0, 1.0]), diagnostics)
    assert planned is not None
    diagnostics.take(SHAPE_DEGENERATE)
    if not isinstance(planned.placed.shape, (BoxPlan, CylinderPlan)):
        diagnostics.take(ROUND_SHAPE_APPROXIMATED)
    assert planned.moments.volume > 0.0


def test_an_infinite_plane_is_a_half_space_where_it_rests(diagnostics) -> None:
    plane = Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
    planned = plan(plane, np.eye(3), diagnostics, moving=False)
    assert planned is not None
    assert isinstance(planned.placed.shape, InfinitePlanePlan)


def test_a_mirrored_infinite_plane_still_looks_up(diagnostics) -> None:
    """A negative scale means its absolute value ("Geometry" of KHR_physics_rigid_bodies)."""
    plane = Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
    planned = plan(plane, np.diag([1.0, -1.0, 1.0]), diagnostics, moving=False)
    assert planned is not None
    assert planned.placed.body_from_shape.rotate((0.0, 1.0, 0.0)) == pytest.approx((0, 1, 0))


def test_a_finite_two_sided_plane_is_two_triangles_of_its_size(diagnostics) -> None:
    plane = Plane(size_x=2.0, size_z=4.0, double_sided=True)
    planned = plan(plane, np.diag([3.0, 1.0, 1.0]), diagnostics, moving=False)
    assert planned is not None
    assert isinstance(planned.placed.shape, BvhPlan)
    assert np.ptp(planned.placed.shape.mesh.points, axis=0) == pytest.approx([6, 0, 4])
    assert planned.moments.volume == 0.0


def test_a_finite_one_sided_plane_says_that_it_has_two_sides(diagnostics) -> None:
    plane = Plane(size_x=2.0, size_z=4.0, double_sided=False)
    assert plan(plane, np.eye(3), diagnostics, moving=False) is not None
    diagnostics.take(PLANE_SIDES_APPROXIMATED)


def test_a_plane_that_moves_is_a_thin_solid(diagnostics) -> None:
    plane = Plane(size_x=2.0, size_z=2.0, double_sided=True)
    planned = plan(plane, np.eye(3), diagnostics, moving=True)
    assert planned is not None
    assert isinstance(planned.placed.shape, (HullPlan, BoxPlan))


@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("size", [math.inf, 4.0])
def test_a_one_sided_plane_that_moves_has_its_surface_where_it_was_authored(
    diagnostics, size: float, scale: float
) -> None:
    plane = Plane(size_x=size, size_z=size, double_sided=False)
    planned = plan(plane, scale * np.eye(3), diagnostics, moving=True)
    assert planned is not None
    assert isinstance(planned.placed.shape, HullPlan)
    points = planned.placed.shape.vertices.points
    half = 0.5 * size * scale if math.isfinite(size) else INFINITE_EXTENT
    assert points.max(axis=0) == pytest.approx([half, 0.0, half])
    assert points[:, 1].min() < 0.0
    diagnostics.take(PLANE_SIDES_APPROXIMATED)


def test_a_static_mesh_stays_triangles(diagnostics) -> None:
    mesh = triangles_of(trimesh.creation.annulus(0.3, 0.8, 0.5))
    planned = plan(MESH, 2.0 * np.eye(3), diagnostics, moving=False, mesh=mesh)
    assert planned is not None
    assert isinstance(planned.placed.shape, BvhPlan)
    assert planned.placed.shape.mesh.points == pytest.approx(2.0 * mesh.points)


def test_a_mirrored_mesh_keeps_its_outside(diagnostics) -> None:
    mesh = triangles_of(trimesh.creation.icosphere(1))
    planned = plan(MESH, np.diag([-1.0, 1.0, 1.0]), diagnostics, moving=False, mesh=mesh)
    assert planned is not None
    assert isinstance(planned.placed.shape, BvhPlan)
    result = planned.placed.shape.mesh
    assert trimesh.Trimesh(result.points, result.triangles, process=False).volume > 0.0


def test_a_moving_convex_mesh_becomes_a_hull(diagnostics) -> None:
    mesh = trimesh.creation.icosphere(2)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=triangles_of(mesh))
    assert planned is not None
    assert isinstance(planned.placed.shape, HullPlan)
    assert planned.moments.volume == pytest.approx(mesh.volume)


def test_the_hull_of_a_box_mesh_is_a_box(diagnostics) -> None:
    mesh = trimesh.creation.box([0.4, 0.6, 0.8])
    planned = plan(HULL, np.eye(3), diagnostics, mesh=triangles_of(mesh))
    assert planned is not None
    assert isinstance(planned.placed.shape, BoxPlan)
    assert sorted(planned.placed.shape.half_extents) == pytest.approx([0.2, 0.3, 0.4])


def boxes(*places: float) -> TriangleSet:
    """Cubes of 1 m along X, each with all its faces."""
    made = [trimesh.creation.box(extents=[1, 1, 1]) for _ in places]
    for mesh, place in zip(made, places, strict=True):
        mesh.apply_translation([place, 0, 0])
    return triangles_of(trimesh.util.concatenate(made))


def test_parts_that_touch_and_fill_a_convex_shape_are_it(diagnostics) -> None:
    """Two cubes face to face, as exporters write one mesh of two primitives."""
    planned = plan(MESH, np.eye(3), diagnostics, mesh=boxes(-0.5, 0.5), bvh_allowed=False)
    assert planned is not None
    assert isinstance(planned.placed.shape, BoxPlan)
    assert sorted(planned.placed.shape.half_extents) == pytest.approx([0.5, 0.5, 1.0])
    assert planned.moments.volume == pytest.approx(2.0)


@pytest.mark.parametrize("places", [(-0.6, 0.6), (-0.5, 0.5, 1.8)], ids=["apart", "three"])
def test_parts_that_leave_a_gap_are_no_convex_shape(places: tuple[float, ...], diagnostics) -> None:
    mesh = boxes(*places)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=mesh, bvh_allowed=True)
    assert planned is not None
    assert isinstance(planned.placed.shape, BvhPlan)
    assert planned.moments.volume == pytest.approx(float(len(places)))


def test_a_moving_concave_mesh_stays_triangles_among_convex_partners(diagnostics) -> None:
    mesh = trimesh.creation.annulus(0.3, 0.8, 0.5)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=triangles_of(mesh), bvh_allowed=True)
    assert planned is not None
    assert isinstance(planned.placed.shape, BvhPlan)
    assert planned.moments.volume == pytest.approx(mesh.volume)


def test_a_moving_concave_mesh_is_decomposed_among_meshes(diagnostics, tmp_path) -> None:
    mesh = trimesh.creation.annulus(0.3, 0.8, 0.5, sections=12)
    planned = plan(
        MESH,
        np.eye(3),
        diagnostics,
        mesh=triangles_of(mesh),
        bvh_allowed=False,
        options=LoadOptions(cache_folder=tmp_path, decomposition_seconds=120.0),
    )
    assert planned is not None
    assert isinstance(planned.placed.shape, ConvexPartsPlan)
    issue = diagnostics.take(CONCAVE_DECOMPOSED)
    assert issue.values["parts"] == len(planned.placed.shape.parts) > 1
    assert planned.moments.volume == pytest.approx(mesh.volume)


def test_the_hull_option_says_how_much_volume_it_adds(diagnostics) -> None:
    mesh = trimesh.creation.annulus(0.3, 0.8, 0.5)
    planned = plan(
        MESH, np.eye(3), diagnostics, mesh=triangles_of(mesh), options=LoadOptions(concave="hull")
    )
    assert planned is not None
    ratio = mesh.convex_hull.volume / mesh.volume
    assert diagnostics.take(CONCAVE_AS_HULL).values["ratio"] == pytest.approx(ratio)


def test_a_hull_over_the_budget_is_reduced_and_says_so(diagnostics) -> None:
    mesh = trimesh.creation.icosphere(4)
    planned = plan(
        HULL,
        np.eye(3),
        diagnostics,
        mesh=triangles_of(mesh),
        options=LoadOptions(max_hull_points=64),
    )
    assert planned is not None
    assert len(planned.placed.shape.vertices.points) <= 64
    assert 0.0 < diagnostics.take(HULL_REDUCED).values["deviation"] < 0.1


def test_an_open_moving_mesh_takes_its_mass_from_the_hull(diagnostics) -> None:
    mesh = trimesh.creation.icosphere(2)
    mesh.update_faces(np.arange(len(mesh.faces)) > 20)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=triangles_of(mesh))
    assert planned is not None
    diagnostics.take(MESH_OPEN)
    assert planned.moments.volume == pytest.approx(mesh.convex_hull.volume)


@pytest.mark.parametrize(
    "mesh",
    [None, TriangleSet(np.zeros((0, 3)), []), TriangleSet(np.zeros((3, 3)), [[0, 1, 2]])],
    ids=["unreadable", "empty", "one point"],
)
def test_a_mesh_without_a_volume_is_left_out(mesh, diagnostics) -> None:
    assert plan(HULL, np.eye(3), diagnostics, mesh=mesh) is None
    diagnostics.take(SHAPE_EMPTY)


def test_equal_shapes_under_equal_scale_are_planned_once(diagnostics) -> None:
    planner = ShapePlanner(lambda _: None, LoadOptions(), diagnostics)
    first, second = (
        planner.plan(Sphere(radius=0.5), np.eye(3), moving=True, bvh_allowed=True, at=AT / k)
        for k in range(2)
    )
    assert first is second


def test_a_decomposition_that_fails_says_what_stands_in(diagnostics, tmp_path) -> None:
    mesh = triangles_of(trimesh.creation.annulus(0.3, 0.8, 0.5))
    hull = 0.8**2 / (0.8**2 - 0.3**2)
    options = LoadOptions(cache_folder=tmp_path, decomposition_seconds=0.0)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=mesh, bvh_allowed=False, options=options)
    assert isinstance(planned.placed.shape, HullPlan)
    issue = diagnostics.take(DECOMPOSITION_FAILED)
    assert issue.values["why"] == "no time is left"
    assert issue.values["ratio"] == pytest.approx(hull, rel=0.01)


def test_a_decomposition_that_stops_early_says_what_stands_in(
    diagnostics, tmp_path, monkeypatch
) -> None:
    mesh = triangles_of(trimesh.creation.annulus(0.3, 0.8, 0.5))
    draft = WorkerResult((mesh.points,), is_full=False, reason="it took long")
    monkeypatch.setattr(decomposition, "run_worker", lambda *_, **__: draft)
    options = LoadOptions(cache_folder=tmp_path)
    planned = plan(MESH, np.eye(3), diagnostics, mesh=mesh, bvh_allowed=False, options=options)
    assert isinstance(planned.placed.shape, ConvexPartsPlan)
    issue = diagnostics.take(DECOMPOSITION_STOPPED)
    assert issue.values["parts"] == 1
    assert issue.values["why"] == "it took long"
