"""OMI_collider (archived): flat fields, total height, triggers by a flag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.reading import UNKNOWN_PROPERTY
from gltf_bullet.dialects.shape_table import (
    CAPSULE_TOO_SHORT,
    SHAPE_IN_OTHER_FORM,
    SHAPE_TYPE_UNKNOWN,
    SHAPE_WITHOUT_EXTENT,
)
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    INDEX_MEANS_NONE,
    RANGE_MENDED,
)
from gltf_bullet.model import (
    Box,
    Capsule,
    Cylinder,
    MeshPart,
    MeshShape,
    PhysicsScene,
    Shape,
    Sphere,
)

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]
NODES = [{"extensions": {"OMI_collider": {"collider": 0}}}]
AT = "/extensions/OMI_collider/colliders/0"


def read_entry(read: Read, entry: Json) -> PhysicsScene:
    return read(NODES, {"OMI_collider": {"colliders": [entry]}})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"type": "box"}, Box(size=(1.0, 1.0, 1.0))),
        ({"type": "sphere"}, Sphere(radius=0.5)),
        ({"type": "cylinder"}, Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.5)),
        ({"type": "hull", "mesh": 1}, MeshShape(parts=(MeshPart(mesh=1),), convex_hull=True)),
        ({"type": "trimesh", "mesh": 1}, MeshShape(parts=(MeshPart(mesh=1),), convex_hull=False)),
        ({"type": "box", "size": [1, 2, 3]}, Box(size=(1.0, 2.0, 3.0))),
        ({"type": "sphere", "radius": 2}, Sphere(radius=2.0)),
        (
            {"type": "cylinder", "radius": 2, "height": 3},
            Cylinder(height=3.0, radius_bottom=2.0, radius_top=2.0),
        ),
    ],
)
def test_shapes_have_flat_fields_with_the_defaults_of_the_text(
    read: Read, entry: Json, expected: Shape
) -> None:
    scene = read_entry(read, entry)
    assert scene.colliders[0].shape == expected
    assert not scene.motions


@pytest.mark.parametrize(
    ("fields", "height", "radius"), [({}, 2.0, 0.5), ({"height": 3, "radius": 1}, 3.0, 1.0)]
)
def test_capsule_height_is_total_in_omi_collider(
    read: Read, fields: Json, height: float, radius: float
) -> None:
    shape = read_entry(read, {"type": "capsule", **fields}).colliders[0].shape
    assert shape == Capsule(mid_height=height - 2 * radius, radius_bottom=radius, radius_top=radius)


def test_a_capsule_as_tall_as_wide_is_a_sphere_and_lower_as_well(
    read: Read, diagnostics: Diagnostics
) -> None:
    shape = read_entry(read, {"type": "capsule", "height": 2, "radius": 1}).colliders[0].shape
    assert shape == Capsule(mid_height=0.0, radius_bottom=1.0, radius_top=1.0)
    lower = read_entry(read, {"type": "capsule", "height": 1.9, "radius": 1}).colliders[0].shape
    assert lower == shape
    assert diagnostics.take(CAPSULE_TOO_SHORT).pointer == f"{AT}/height"


def test_a_flag_makes_a_trigger(read: Read) -> None:
    scene = read_entry(read, {"type": "box", "isTrigger": True})
    assert not scene.colliders
    assert scene.triggers[0].shape == Box(size=(1.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({}, ABSENCE_MENDED),
        ({"type": "compound"}, SHAPE_TYPE_UNKNOWN),
        ({"type": "hull"}, ABSENCE_MENDED),
        ({"type": "trimesh", "mesh": -1}, INDEX_MEANS_NONE),
        ({"type": "box", "size": [0, 0, 0]}, SHAPE_WITHOUT_EXTENT),
        ({"type": "sphere", "radius": -1}, RANGE_MENDED),
        ({"type": "capsule", "height": -0.1}, RANGE_MENDED),
    ],
)
def test_an_entry_that_cannot_be_used_is_left_out(
    read: Read, diagnostics: Diagnostics, entry: Json, kind: IssueKind
) -> None:
    assert not read_entry(read, entry).colliders
    assert diagnostics.take(kind).pointer.startswith(AT)


def test_a_field_of_another_type_is_told(read: Read, diagnostics: Diagnostics) -> None:
    read_entry(read, {"type": "sphere", "height": 1})
    assert diagnostics.take(UNKNOWN_PROPERTY).pointer == f"{AT}/height"


def test_a_node_must_name_a_collider(read: Read, diagnostics: Diagnostics) -> None:
    read([{"extensions": {"OMI_collider": {}}}], {"OMI_collider": {"colliders": [{"type": "box"}]}})
    assert diagnostics.take(ABSENCE_MENDED).pointer == "/nodes/0/extensions/OMI_collider"


@pytest.mark.parametrize("is_trigger", [False, True])
def test_a_collider_may_stand_on_its_node(
    read: Read, diagnostics: Diagnostics, is_trigger: bool
) -> None:
    collider = {"type": "box", "size": [1, 2, 3], "isTrigger": is_trigger}
    scene = read([{"extensions": {"OMI_collider": collider}}], {})
    (found,) = (scene.triggers if is_trigger else scene.colliders).values()
    assert found.shape == Box(size=(1.0, 2.0, 3.0))
    assert diagnostics.take(SHAPE_IN_OTHER_FORM).pointer == "/nodes/0/extensions/OMI_collider"


@pytest.mark.parametrize(("name", "convex_hull"), [("convex", True), ("mesh", False)])
def test_meshes_go_by_the_names_of_other_revisions(
    read: Read, diagnostics: Diagnostics, name: str, convex_hull: bool
) -> None:
    scene = read_entry(read, {"type": name, "mesh": 1})
    expected = MeshShape(parts=(MeshPart(mesh=1),), convex_hull=convex_hull)
    assert scene.colliders[0].shape == expected
    assert diagnostics.take(SHAPE_IN_OTHER_FORM).pointer == f"{AT}/type"
