"""Mesh geometry by node, by mesh and by shape: plain meshes are equal however they are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.khr.collision_shapes import WEIGHTS_TWICE
from gltf_bullet.dialects.mesh_geometry import (
    GEOMETRY_NODE_WITHOUT_MESH,
    NODE_WEIGHTS_MISSING,
    WEIGHTS_COUNT,
)
from gltf_bullet.dialects.reading import LIST_EMPTY
from gltf_bullet.dialects.shape_table import SHAPE_BLOCK_MISSING
from gltf_bullet.gltf.fields import ABSENCE_MENDED, INDEX_MENDED, REFERENCE_MISSING
from gltf_bullet.model import Box, Capsule, MeshPart, MeshShape, PhysicsScene

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]

KHR = "KHR_physics_rigid_bodies"
MORPHING = [{"primitives": [{"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}]}]}]
SKINS = [{"joints": [0]}]


def collider(**content: Any) -> Json:
    return {"extensions": {KHR: {"collider": content}}}


def shape_of(scene: PhysicsScene, node: int = 0) -> MeshShape:
    shape = scene.colliders[node].shape
    assert isinstance(shape, MeshShape)
    return shape


def table(*shapes: Json) -> Json:
    return {"KHR_collision_shapes": {"shapes": list(shapes)}}


def test_a_plain_mesh_is_the_same_by_node_by_mesh_and_by_shape(read: Read) -> None:
    by_node = read([collider(geometry={"node": 1}), {"mesh": 2, "translation": [1, 2, 3]}])
    by_mesh = read([collider(geometry={"mesh": 2}), {}])
    by_shape = read([collider(shape=0), {}], table({"type": "mesh", "mesh": {"mesh": 2}}))
    by_type = read([collider(shape=0), {}], table({"type": "trimesh", "trimesh": {"mesh": 2}}))
    expected = MeshShape(parts=(MeshPart(mesh=2),), convex_hull=False)
    for scene in (by_node, by_mesh, by_shape, by_type):
        assert shape_of(scene) == expected


def test_a_hull_is_the_same_however_it_is_asked_for(read: Read) -> None:
    flag = {"extensions": {KHR: {"convexHull": True}}}
    scenes = (
        read([collider(geometry={"node": 0, "convexHull": True}) | {"mesh": 1}]),
        read([collider(geometry={"mesh": 1, "convexHull": True})]),
        read([collider(shape=0)], table({"type": "mesh", "mesh": {"mesh": 1}} | flag)),
        read([collider(shape=0)], table({"type": "convex", "convex": {"mesh": 1}})),
    )
    for scene in scenes:
        assert shape_of(scene) == MeshShape(parts=(MeshPart(mesh=1),), convex_hull=True)


def test_the_hull_flag_has_no_effect_on_a_convex_shape(read: Read) -> None:
    flag = {"extensions": {KHR: {"convexHull": True}}}
    scene = read([collider(shape=0)], table({"type": "box", "box": {}} | flag))
    assert scene.colliders[0].shape == Box(size=(1.0, 1.0, 1.0))


def test_child_meshes_are_placed_relative_to_the_referenced_node(read: Read) -> None:
    nodes = [
        collider(geometry={"node": 1}),
        {"mesh": 0, "translation": [9, 9, 9], "children": [2, 4]},
        {"translation": [1, 0, 0], "scale": [2, 2, 2], "children": [3]},
        {"mesh": 1, "translation": [0, 1, 0]},
        {"mesh": 2},
    ]
    parts = shape_of(read(nodes)).parts
    # Node 3 in node 1: scaled by 2 about node 2, then moved by (1, 0, 0).
    expected = np.diag([2.0, 2.0, 2.0, 1.0])
    expected[:3, 3] = (1.0, 2.0, 0.0)
    assert [part.mesh for part in parts] == [0, 1, 2]
    assert parts[0].shape_from_part is None
    assert parts[1].shape_from_part == pytest.approx(tuple(expected.ravel()))
    assert parts[2].shape_from_part is None, "the identity is None"


def test_a_node_without_any_mesh_is_an_error(read: Read, diagnostics: Diagnostics) -> None:
    assert not read([collider(geometry={"node": 0})]).colliders
    assert diagnostics.take(GEOMETRY_NODE_WITHOUT_MESH)


def test_a_skinned_node_is_brought_back_into_the_referenced_frame(read: Read) -> None:
    nodes = [
        collider(geometry={"node": 1}),
        {"children": [2]},
        {"mesh": 0, "skin": 0, "translation": [5, 0, 0]},
    ]
    # The transform of a skinned mesh's own node counts for nothing (glTF 2.0, "Skins").
    part = MeshPart(mesh=0, skin=0, skin_frame_node=1)
    assert shape_of(read(nodes, skins=SKINS)).parts == (part,)


def test_the_node_weights_are_those_of_the_node_with_the_mesh(read: Read) -> None:
    nodes = [collider(geometry={"node": 1}), {"mesh": 0, "weights": [0.5]}]
    part = MeshPart(mesh=0, weights=(0.5,), weights_node=1)
    assert shape_of(read(nodes, meshes=MORPHING)).parts == (part,)


def test_a_morphing_node_without_weights_may_still_be_animated(read: Read) -> None:
    nodes = [collider(geometry={"node": 1}), {"mesh": 0}]
    part = MeshPart(mesh=0, weights=None, weights_node=1)
    assert shape_of(read(nodes, meshes=MORPHING)).parts == (part,)


def test_a_shape_with_a_skin_uses_the_frame_of_each_node_that_has_it(read: Read) -> None:
    shapes = table({"type": "mesh", "mesh": {"mesh": 0, "skin": 0}})
    scene = read([collider(shape=0), collider(shape=0)], shapes, skins=SKINS)
    for node in (0, 1):
        assert shape_of(scene, node).parts == (MeshPart(mesh=0, skin=0, skin_frame_node=node),)


def test_a_shape_has_weights_of_its_own_or_of_the_node(read: Read) -> None:
    shapes = table(
        {"type": "mesh", "mesh": {"mesh": 0, "weights": [0.25]}},
        {"type": "mesh", "mesh": {"mesh": 0, "useNodeWeights": True}},
    )
    nodes = [collider(shape=0), collider(shape=1) | {"mesh": 0, "weights": [0.75]}]
    scene = read(nodes, shapes, meshes=MORPHING)
    assert shape_of(scene, 0).parts == (MeshPart(mesh=0, weights=(0.25,)),)
    assert shape_of(scene, 1).parts == (MeshPart(mesh=0, weights=(0.75,), weights_node=1),)


@pytest.mark.parametrize(
    ("mesh", "kind", "place"),
    [
        ({}, ABSENCE_MENDED, "/mesh"),
        ({"mesh": 3}, REFERENCE_MISSING, "/mesh/mesh"),
        ({"mesh": 0, "skin": 0}, INDEX_MENDED, "/mesh/skin"),
        ({"mesh": 0, "weights": []}, LIST_EMPTY, "/mesh/weights"),
        ({"mesh": 0, "weights": [1], "useNodeWeights": False}, WEIGHTS_TWICE, "/mesh"),
        ({"mesh": 0, "weights": [1, 2]}, WEIGHTS_COUNT, "/mesh/weights"),
    ],
)
def test_the_rules_of_a_mesh_shape(
    read: Read, diagnostics: Diagnostics, mesh: Json, kind: IssueKind, place: str
) -> None:
    meshes = [*MORPHING, {}, {}]
    read([{}], table({"type": "mesh", "mesh": mesh}), meshes=meshes)
    assert diagnostics.take(kind).pointer == "/extensions/KHR_collision_shapes/shapes/0" + place


def test_use_node_weights_needs_weights_on_the_node(read: Read, diagnostics: Diagnostics) -> None:
    read([collider(shape=0)], table({"type": "mesh", "mesh": {"mesh": 0, "useNodeWeights": True}}))
    assert diagnostics.take(NODE_WEIGHTS_MISSING).pointer == "/nodes/0"


def test_the_weights_of_the_node_must_fit_the_mesh(read: Read, diagnostics: Diagnostics) -> None:
    shapes = table({"type": "mesh", "mesh": {"mesh": 0, "useNodeWeights": True}})
    node = collider(shape=0) | {"mesh": 0, "weights": [1, 2]}
    shape = shape_of(read([node], shapes, meshes=MORPHING))
    assert shape.parts[0].weights is None
    assert diagnostics.take(WEIGHTS_COUNT).pointer == "/nodes/0/weights"


def test_collision_shapes_default_like_their_schema_but_need_their_block(
    read: Read, diagnostics: Diagnostics
) -> None:
    scene = read([collider(shape=0)], table({"type": "capsule"}))
    assert scene.colliders[0].shape == Capsule(mid_height=0.5, radius_bottom=0.25, radius_top=0.25)
    assert diagnostics.take(SHAPE_BLOCK_MISSING)


def test_both_revisions_may_stand_in_one_file(read: Read) -> None:
    roots = {
        **table({"type": "sphere", "sphere": {}}),
        "KHR_implicit_shapes": {"shapes": [{"type": "box"}]},
    }
    scene = read([collider(shape=0), collider(geometry={"shape": 0})], roots)
    assert [type(c.shape).__name__ for c in scene.colliders.values()] == ["Sphere", "Box"]
