"""KHR_physics_rigid_bodies, "Colliders" and "Geometry", and the shapes of both texts (000, 001)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gltf_bullet as gb
from tests.spec.files import KHR, Json, Khr, codes, file, loaded, node
from tools.gltf_builder import GltfBuilder


def extent(scene: gb.Scene, axis: int) -> float:
    """How long what stands at the origin is along an axis, by rays from both sides [m]."""
    far = 50.0 * np.eye(3)[axis]
    ahead, back = scene.ray_cast(far, -far), scene.ray_cast(-far, far)
    assert ahead is not None
    assert back is not None
    return float(ahead.position[axis] - back.position[axis])


def solid(named: Json, **members: object) -> Json:
    return {KHR: {"collider": {**named, **members}}}


# --- colliders ------------------------------------------------------------------------------------


def test_a_collider_belongs_to_the_body_of_itself_or_an_ascendant(khr: Khr) -> None:
    nodes = [
        node({KHR: {"motion": {}}}, children=[1]),
        node(children=[2]),
        node(solid(khr.box(1, 1, 1))),
    ]
    with loaded(khr.file(nodes)) as scene:
        carrier = scene.body_of(2)
        assert carrier is not None
        assert carrier.body_id == scene.bodies[0].body_id
        scene.step(60)
        assert scene.world_from_node(2)[1, 3] < -0.2


def test_otherwise_it_is_static_and_is_not_moved_by_collisions(khr: Khr) -> None:
    heavy = {KHR: {"motion": {"mass": 1e3}, "collider": khr.ball(0.5)}}
    nodes = [node(solid(khr.box(2, 1, 2))), node(heavy, translation=[0, 3, 0])]
    with loaded(khr.file(nodes)) as scene:
        scene.step(360)
        assert scene.world_from_node(0)[:3, 3].tolist() == [0, 0, 0]
        assert scene.world_from_node(1)[1, 3] == pytest.approx(1.0, abs=0.01)
        assert scene.body_of(0) is None


def test_descendent_colliders_make_a_compound(khr: Khr) -> None:
    """Two balls, 2 m apart, land with one on a block: the pair tips over it as one body."""
    nodes = [
        node({KHR: {"motion": {}}}, children=[1, 2], translation=[0, 3, 0]),
        node(solid(khr.ball(0.25)), translation=[-1, 0, 0]),
        node(solid(khr.ball(0.25)), translation=[1, 0, 0]),
        node(solid(khr.box(20, 1, 20)), translation=[0, -0.5, 0]),
        node(solid(khr.box(1, 1, 1)), translation=[1, 0.5, 0]),
    ]
    with loaded(khr.file(nodes)) as scene:
        scene.step(240)
        left, right = (scene.world_from_node(k)[:3, 3] for k in (1, 2))
        assert np.linalg.norm(right - left) == pytest.approx(2.0, abs=1e-6)
        assert right[1] - left[1] > 0.3


# --- the shapes of both texts ---------------------------------------------------------------------

SIZES = [
    ("box", {}, (1, 1, 1)),
    ("box", {"size": [1, 2, 3]}, (1, 2, 3)),
    ("sphere", {}, (1, 1, 1)),
    ("sphere", {"radius": 0.25}, (0.5, 0.5, 0.5)),
    ("capsule", {}, (0.5, 1.0, 0.5)),
    ("capsule", {"height": 1, "radiusBottom": 0.5, "radiusTop": 0.5}, (1, 2, 1)),
    ("cylinder", {}, (0.5, 0.5, 0.5)),
    ("cylinder", {"height": 2, "radiusBottom": 0.5, "radiusTop": 0.5}, (1, 2, 1)),
]


@pytest.mark.parametrize(("kind", "values", "size"), SIZES)
def test_shapes_have_their_sizes_and_defaults(
    khr: Khr, kind: str, values: Json, size: tuple[float, ...]
) -> None:
    """A capsule's height is the distance between the centres of its caps."""
    with loaded(khr.file([node(solid(khr.shape(kind, **values)))])) as scene:
        assert [extent(scene, k) for k in range(3)] == pytest.approx(size, abs=2e-3)


@pytest.mark.parametrize(("bottom", "top"), [(0.5, 0.0), (0.25, 0.5)])
def test_a_tapered_cylinder_is_the_hull_of_two_discs(khr: Khr, bottom: float, top: float) -> None:
    shape = khr.shape("cylinder", height=2, radiusBottom=bottom, radiusTop=top)
    content = khr.file([node(solid(shape))])
    with loaded(content) as scene:
        for y in (-0.9, 0.0, 0.9):
            hit = scene.ray_cast((5, y, 0), (-5, y, 0))
            assert hit is not None
            radius = bottom + (top - bottom) * (y + 1) / 2
            assert hit.position[0] == pytest.approx(radius, abs=6e-3)
    assert codes(content) == {"ROUND_SHAPE_APPROXIMATED"}


def test_a_tapered_capsule_is_the_hull_of_two_balls(khr: Khr) -> None:
    shape = khr.shape("capsule", height=1, radiusBottom=0.5, radiusTop=0.25)
    with loaded(khr.file([node(solid(shape))])) as scene:
        assert extent(scene, 1) == pytest.approx(0.5 + 1 + 0.25, abs=0.02)


@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "cylinder"])
def test_a_scale_of_zero_on_all_axes_disables_a_shape(khr: Khr, kind: str) -> None:
    with loaded(khr.file([node(solid(khr.shape(kind)), scale=[0, 0, 0])])) as scene:
        assert scene.ray_cast((0, 5, 0), (0, -5, 0)) is None


def test_a_negative_scale_counts_by_its_absolute_value(khr: Khr) -> None:
    """The text's own numbers."""
    content = khr.file([node(solid(khr.box(1, 1, 1)), scale=[1, -2, 3])])
    with loaded(content) as scene:
        assert [extent(scene, k) for k in range(3)] == pytest.approx((1, 2, 3), abs=1e-3)


@pytest.mark.parametrize("scale", [0.5, 3.0])
@pytest.mark.parametrize(("kind", "values", "size"), SIZES)
def test_shapes_scale_with_their_node(
    khr: Khr, kind: str, values: Json, size: tuple[float, ...], scale: float
) -> None:
    content = khr.file([node(solid(khr.shape(kind, **values)), scale=[scale] * 3)])
    with loaded(content) as scene:
        wanted = [scale * each for each in size]
        assert [extent(scene, k) for k in range(3)] == pytest.approx(wanted, abs=5e-3 * scale)


def test_an_offset_shape_stands_on_a_child_node(khr: Khr) -> None:
    half = math.sqrt(0.5)
    nodes = [
        node({KHR: {"motion": {"gravityFactor": 0}}}, children=[1]),
        node(solid(khr.box(3, 1, 1)), translation=[0, 2, 0], rotation=[0, 0, half, half]),
    ]
    with loaded(khr.file(nodes)) as scene:
        hit = scene.ray_cast((0, 9, 0), (0, -9, 0))
        assert hit is not None
        assert hit.position[1] == pytest.approx(3.5, abs=1e-3)


def test_a_plane_of_implicit_shapes_is_endless_and_faces_up() -> None:
    tables = {
        "KHR_implicit_shapes": {"shapes": [{"type": "plane", "plane": {}}, {"type": "sphere"}]}
    }
    ball = {KHR: {"motion": {}, "collider": {"geometry": {"shape": 1}}}}
    nodes = [
        node({KHR: {"collider": {"geometry": {"shape": 0}}}}),
        node(ball, translation=[400, 1, -300]),
    ]
    with loaded(file(nodes, tables)) as scene:
        scene.step(240)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(0.5, abs=0.01)


def test_exactly_one_source_of_a_geometry_should_be_given() -> None:
    builder = GltfBuilder()
    mesh = builder.mesh([(-1, 0, -1), (1, 0, -1), (1, 0, 1)], [(0, 2, 1)])
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "box"}]})
    collider = {"geometry": {"shape": 0, "node": 0}}
    builder.node("Both", mesh=mesh, extensions={KHR: {"collider": collider}})
    assert codes(builder.glb()) == {"GEOMETRY_AMBIGUOUS"}
    tables = {"KHR_implicit_shapes": {"shapes": [{"type": "box"}]}}
    assert codes(file([node({KHR: {"collider": {"geometry": {}}}})], tables)) == {
        "GEOMETRY_MISSING"
    }


# --- meshes ---------------------------------------------------------------------------------------

FRAME = [
    (-2, 0, -2), (2, 0, -2), (2, 0, 2), (-2, 0, 2), (-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1),
]  # fmt: skip
"""A square frame in the plane: its hull has no hole."""
RING = [
    (0, 4, 1), (1, 4, 5), (1, 5, 2), (2, 5, 6), (2, 6, 3), (3, 6, 7), (3, 7, 0), (0, 7, 4),
]  # fmt: skip


def framed(revision: str, *, hull: bool) -> bytes:
    builder = GltfBuilder()
    points = [*FRAME, *[(x, -1, z) for x, _, z in FRAME[:4]]]
    mesh = builder.mesh(points, RING)
    if revision == "000":
        entry: Json = {"type": "mesh", "mesh": {"mesh": mesh}}
        if hull:
            entry["extensions"] = {KHR: {"convexHull": True}}
        builder.root_extension("KHR_collision_shapes", {"shapes": [entry]})
        collider: Json = {"shape": 0}
    elif revision == "001":
        collider = {"geometry": {"node": 0, **({"convexHull": True} if hull else {})}}
    else:
        collider = {"geometry": {"mesh": mesh, **({"convexHull": True} if hull else {})}}
    builder.node("Frame", mesh=mesh, extensions={KHR: {"collider": collider}})
    return builder.glb()


@pytest.mark.parametrize("revision", ["000", "001", "newest"])
def test_a_mesh_is_its_triangles_or_their_convex_hull(revision: str) -> None:
    with loaded(framed(revision, hull=False)) as scene:
        assert scene.ray_cast((0.1, 5, 0.2), (0.1, -5, 0.2)) is None
        assert scene.ray_cast((1.5, 5, 0.2), (1.5, -5, 0.2)) is not None
    with loaded(framed(revision, hull=True)) as scene:
        hit = scene.ray_cast((0.1, 5, 0.2), (0.1, -5, 0.2))
        assert hit is not None
        assert hit.position[1] == pytest.approx(0.0, abs=1e-3)


def test_a_geometrys_node_may_be_outside_of_the_scene() -> None:
    builder = GltfBuilder()
    mesh = builder.mesh(FRAME, RING)
    builder.node("Solid", extensions={KHR: {"collider": {"geometry": {"node": 1}}}})
    builder.node("Data", translation=(9, 9, 9), mesh=mesh)
    root = builder.json()
    root["scenes"] = [{"nodes": [0]}]
    builder.root_extension("X", {})
    with loaded(builder.glb()) as scene:
        hit = scene.ray_cast((1.5, 5, 0.2), (1.5, -5, 0.2))
        assert hit is not None
        assert (hit.node, hit.position[1]) == (0, pytest.approx(0.0, abs=1e-3))


def test_weights_deform_a_geometry() -> None:
    builder = GltfBuilder()
    lift = [(0, 1, 0)] * len(FRAME)
    mesh = builder.mesh(FRAME, RING, targets=[lift])
    extension = {KHR: {"collider": {"geometry": {"node": 0}}}}
    builder.node("Frame", mesh=mesh, weights=[0.5], extensions=extension)
    with loaded(builder.glb()) as scene:
        hit = scene.ray_cast((1.5, 5, 0.2), (1.5, -5, 0.2))
        assert hit is not None
        assert hit.position[1] == pytest.approx(0.5, abs=1e-3)
        scene.set("/nodes/0/weights", [1.0])
        hit = scene.ray_cast((1.5, 5, 0.2), (1.5, -5, 0.2))
        assert hit is not None
        assert hit.position[1] == pytest.approx(1.0, abs=1e-3)


def test_000_node_weights_and_own_weights_exclude_each_other() -> None:
    builder = GltfBuilder()
    mesh = builder.mesh(FRAME, RING, targets=[[(0, 1, 0)] * len(FRAME)])
    shape = {"type": "mesh", "mesh": {"mesh": mesh, "weights": [1.0], "useNodeWeights": True}}
    builder.root_extension("KHR_collision_shapes", {"shapes": [shape]})
    extension = {KHR: {"collider": {"shape": 0}}}
    builder.node("Frame", mesh=mesh, weights=[0.5], extensions=extension)
    assert codes(builder.glb()) == {"WEIGHTS_TWICE"}
