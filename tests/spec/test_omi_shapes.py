"""OMI_physics_shape (schemas and README) and OMI_collider (003)."""

from __future__ import annotations

import numpy as np
import pytest

import gltf_bullet as gb
from tests.spec.files import Json, codes, file, loaded, node
from tools.gltf_builder import GltfBuilder

BODY, SHAPE, OLDER = "OMI_physics_body", "OMI_physics_shape", "OMI_collider"


def extent(scene: gb.Scene, axis: int) -> float:
    far = 50.0 * np.eye(3)[axis]
    ahead, back = scene.ray_cast(far, -far), scene.ray_cast(-far, far)
    assert ahead is not None
    assert back is not None
    return float(ahead.position[axis] - back.position[axis])


PRESENT = [
    ("box", {}, (1, 1, 1)),
    ("box", {"size": [1, 2, 3]}, (1, 2, 3)),
    ("sphere", {}, (1, 1, 1)),
    ("sphere", {"radius": 0.25}, (0.5, 0.5, 0.5)),
    # The mid height, between the centres of the caps: 1 m and radii of 0.5 m by default.
    ("capsule", {}, (1, 2, 1)),
    ("capsule", {"height": 2, "radiusBottom": 0.25, "radiusTop": 0.25}, (0.5, 2.5, 0.5)),
    ("cylinder", {}, (1, 2, 1)),
    ("cylinder", {"height": 1, "radiusBottom": 0.25, "radiusTop": 0.25}, (0.5, 1, 0.5)),
]


@pytest.mark.parametrize(("kind", "values", "size"), PRESENT)
def test_shapes_have_their_sizes_and_defaults(
    kind: str, values: Json, size: tuple[float, ...]
) -> None:
    tables = {SHAPE: {"shapes": [{"type": kind, kind: values}]}}
    content = file([node({BODY: {"collider": {"shape": 0}}})], tables)
    with loaded(content) as scene:
        assert [extent(scene, k) for k in range(3)] == pytest.approx(size, abs=2e-3)
    assert codes(content) == set()


def test_one_radius_of_older_files_comes_with_the_total_height() -> None:
    shape = {"type": "capsule", "capsule": {"height": 2, "radius": 0.25}}
    content = file([node({BODY: {"collider": {"shape": 0}}})], {SHAPE: {"shapes": [shape]}})
    with loaded(content) as scene:
        assert extent(scene, 1) == pytest.approx(2.0, abs=2e-3)
    assert codes(content) == {"LEGACY_RADIUS"}


@pytest.mark.parametrize(
    ("extension", "kind", "is_convex"),
    [(SHAPE, "convex", True), (SHAPE, "trimesh", False), (OLDER, "hull", True),
     (OLDER, "trimesh", False)],
)  # fmt: skip
def test_meshes_are_hulls_or_triangles(extension: str, kind: str, is_convex: bool) -> None:
    """A notch: two slabs at a right angle, between which a ray passes unless it is a hull."""
    points = [(0, 0, -1), (0, 0, 1), (2, 0, 1), (2, 0, -1), (0, 2, -1), (0, 2, 1)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 1), (2, 1, 0), (3, 2, 0), (5, 4, 0), (1, 5, 0)]
    builder = GltfBuilder()
    mesh = builder.mesh(points, faces)
    if extension == SHAPE:
        builder.root_extension(SHAPE, {"shapes": [{"type": kind, kind: {"mesh": mesh}}]})
        builder.node("Notch", extensions={BODY: {"collider": {"shape": 0}}})
    else:
        builder.root_extension(OLDER, {"colliders": [{"type": kind, "mesh": mesh}]})
        builder.node("Notch", extensions={OLDER: {"collider": 0}})
    with loaded(builder.glb()) as scene:
        hit = scene.ray_cast((0.5, 9, 0.1), (0.5, -9, 0.1))
        assert hit is not None
        height = 1.5 if is_convex else 0.0
        assert hit.position[1] == pytest.approx(height, abs=5e-3)


# --- 003 ------------------------------------------------------------------------------------------

ARCHIVED = [
    ({"type": "box"}, (1, 1, 1)),
    ({"type": "box", "size": [1, 2, 3]}, (1, 2, 3)),
    ({"type": "sphere"}, (1, 1, 1)),
    ({"type": "sphere", "radius": 0.25}, (0.5, 0.5, 0.5)),
    # "height": the total height, 2 m by default.
    ({"type": "capsule"}, (1, 2, 1)),
    ({"type": "capsule", "radius": 0.25, "height": 1.5}, (0.5, 1.5, 0.5)),
    ({"type": "cylinder"}, (1, 2, 1)),
    ({"type": "cylinder", "radius": 0.25, "height": 1}, (0.5, 1, 0.5)),
]


@pytest.mark.parametrize(("entry", "size"), ARCHIVED)
def test_003_shapes_have_their_sizes_and_defaults(entry: Json, size: tuple[float, ...]) -> None:
    content = file([node({OLDER: {"collider": 0}})], {OLDER: {"colliders": [entry]}})
    with loaded(content) as scene:
        assert [extent(scene, k) for k in range(3)] == pytest.approx(size, abs=2e-3)


def test_003_the_height_of_a_capsule_must_be_at_least_twice_its_radius() -> None:
    entry = {"type": "capsule", "radius": 1, "height": 1}
    content = file([node({OLDER: {"collider": 0}})], {OLDER: {"colliders": [entry]}})
    assert codes(content) != set()


def test_003_is_trigger_makes_it_no_longer_solid() -> None:
    """A dynamic body of OMI_physics_body falls through it, and is reported."""
    tables = {
        OLDER: {"colliders": [{"type": "box", "isTrigger": True}]},
        SHAPE: {"shapes": [{"type": "sphere", "sphere": {"radius": 0.25}}]},
    }
    ball = {BODY: {"motion": {"type": "dynamic"}, "collider": {"shape": 0}}}
    nodes = [node({OLDER: {"collider": 0}}), node(ball, translation=[0, 2, 0])]
    with loaded(file(nodes, tables)) as scene:
        kinds = []
        for _ in range(240):
            scene.step()
            kinds += [event.kind for event in scene.events]
        assert kinds == ["entered", "exited"]


def test_003_gives_the_shape_of_a_body_of_its_days() -> None:
    tables = {OLDER: {"colliders": [{"type": "box"}]}}
    nodes = [
        node({BODY: {"type": "dynamic", "mass": 2}}, children=[1]),
        node({OLDER: {"collider": 0}}),
    ]
    with loaded(file(nodes, tables)) as scene:
        carrier = scene.body_of(1)
        assert carrier is not None
        assert carrier.mass == 2.0


def test_003_shapes_inherit_the_transform_of_their_node() -> None:
    half = np.sqrt(0.5)
    entry = {"type": "capsule", "radius": 0.25, "height": 2}
    turned = node({OLDER: {"collider": 0}}, translation=[0, 3, 0], rotation=[0, 0, half, half])
    with loaded(file([turned], {OLDER: {"colliders": [entry]}})) as scene:
        hit = scene.ray_cast((5, 3, 0), (-5, 3, 0))
        assert hit is not None
        assert hit.position[0] == pytest.approx(1.0, abs=2e-3)


def test_003_siblings_of_a_body_are_its_colliders() -> None:
    tables = {OLDER: {"colliders": [{"type": "sphere", "radius": 0.25}]}}
    nodes = [
        node({BODY: {"motion": {"type": "dynamic"}}}, children=[1, 2]),
        node({OLDER: {"collider": 0}}, translation=[-1, 0, 0]),
        node({OLDER: {"collider": 0}}, translation=[1, 0, 0]),
    ]
    with loaded(file(nodes, tables)) as scene:
        scene.step(60)
        for x in (-1, 1):
            hit = scene.ray_cast((x, 9, 0), (x, -9, 0))
            assert hit is not None
            assert hit.position[1] < -0.05


def test_003_type_is_required() -> None:
    content = file([node({OLDER: {"collider": 0}})], {OLDER: {"colliders": [{"size": [1, 1, 1]}]}})
    assert "ABSENCE_MENDED" in codes(content)
