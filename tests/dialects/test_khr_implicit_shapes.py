"""KHR_implicit_shapes: defaults and ranges of its schemas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.reading import LIST_EMPTY, UNKNOWN_PROPERTY
from gltf_bullet.dialects.shape_table import (
    SHAPE_BLOCK_UNUSED,
    SHAPE_TYPE_UNKNOWN,
    SHAPE_WITHOUT_EXTENT,
)
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    RANGE_MENDED,
    TYPE_MENDED,
)
from gltf_bullet.model import Box, Capsule, Cylinder, PhysicsScene, Plane, Shape, Sphere

Read = Callable[..., PhysicsScene]
AT = "/extensions/KHR_implicit_shapes/shapes/0"


def read_shape(read: Read, entry: Any) -> Shape | None:
    collider = {"collider": {"geometry": {"shape": 0}}}
    scene = read(
        [{"extensions": {"KHR_physics_rigid_bodies": collider}}],
        {"KHR_implicit_shapes": {"shapes": [entry]}},
    )
    return scene.colliders[0].shape if 0 in scene.colliders else None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("box", Box(size=(1.0, 1.0, 1.0))),
        ("sphere", Sphere(radius=0.5)),
        ("capsule", Capsule(mid_height=0.5, radius_bottom=0.25, radius_top=0.25)),
        ("cylinder", Cylinder(height=0.5, radius_bottom=0.25, radius_top=0.25)),
        ("plane", Plane(size_x=math.inf, size_z=math.inf, double_sided=False)),
    ],
)
def test_defaults_are_those_of_the_schema_with_and_without_a_block(
    read: Read, kind: str, expected: Shape
) -> None:
    assert read_shape(read, {"type": kind, kind: {}}) == expected
    assert read_shape(read, {"type": kind}) == expected


def test_every_property_is_read(read: Read) -> None:
    tapered = {"height": 3, "radiusBottom": 2, "radiusTop": 1}
    plane = {"sizeX": 4, "sizeZ": 5, "doubleSided": True}
    assert read_shape(read, {"type": "box", "box": {"size": [1, 2, 3]}}) == Box(size=(1, 2, 3))
    assert read_shape(read, {"type": "sphere", "sphere": {"radius": 2}}) == Sphere(radius=2)
    assert read_shape(read, {"type": "capsule", "capsule": tapered}) == Capsule(
        mid_height=3, radius_bottom=2, radius_top=1
    )
    assert read_shape(read, {"type": "cylinder", "cylinder": tapered}) == Cylinder(
        height=3, radius_bottom=2, radius_top=1
    )
    assert read_shape(read, {"type": "plane", "plane": plane}) == Plane(
        size_x=4, size_z=5, double_sided=True
    )


def test_a_cone_may_have_one_radius_of_zero(read: Read) -> None:
    cone = {"type": "cylinder", "cylinder": {"radiusTop": 0}}
    assert read_shape(read, cone) == Cylinder(height=0.5, radius_bottom=0.25, radius_top=0.0)


@pytest.mark.parametrize(
    ("kind", "block", "key", "shape"),
    [
        ("box", {"size": [1, 0, 2]}, "size/1", Box(size=(1.0, 0.0, 2.0))),
        ("box", {"size": [1, 3, -2]}, "size/2", Box(size=(1.0, 3.0, 2.0))),
        ("capsule", {"height": 0}, "height",
         Capsule(mid_height=0.0, radius_bottom=0.25, radius_top=0.25)),
        ("cylinder", {"height": 0}, "height",
         Cylinder(height=0.0, radius_bottom=0.25, radius_top=0.25)),
        ("plane", {"sizeX": 0, "sizeZ": 2}, "sizeX",
         Plane(size_x=math.inf, size_z=2.0, double_sided=False)),
        ("sphere", {"radius": -1}, "radius", None),
        ("capsule", {"radiusTop": -1}, "radiusTop", None),
        ("capsule", {"height": -1}, "height", None),
        ("cylinder", {"height": -2}, "height", None),
        ("cylinder", {"radiusBottom": -2}, "radiusBottom", None),
    ],
)  # fmt: skip
def test_a_degenerate_size_is_taken_as_flat_as_it_is_and_a_negative_one_not(
    read: Read,
    diagnostics: Diagnostics,
    kind: str,
    block: dict[str, Any],
    key: str,
    shape: Shape | None,
) -> None:
    assert read_shape(read, {"type": kind, kind: block}) == shape
    assert diagnostics.take(RANGE_MENDED).pointer == f"{AT}/{kind}/{key}"


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("box", {"size": [0, 0, 0]}),
        ("sphere", {"radius": 0}),
    ],
)
def test_a_point_is_no_shape(
    read: Read, diagnostics: Diagnostics, kind: str, block: dict[str, Any]
) -> None:
    assert read_shape(read, {"type": kind, kind: block}) is None
    assert diagnostics.take(SHAPE_WITHOUT_EXTENT).pointer == f"{AT}/{kind}"


def test_a_size_of_two_numbers_gives_the_default(read: Read, diagnostics: Diagnostics) -> None:
    assert read_shape(read, {"type": "box", "box": {"size": [1, 1]}}) == Box(size=(1.0, 1.0, 1.0))
    assert diagnostics.take(TYPE_MENDED).pointer == f"{AT}/box/size"


def test_an_unknown_type_leaves_the_collider_out(read: Read, diagnostics: Diagnostics) -> None:
    assert read_shape(read, {"type": "torus"}) is None
    assert diagnostics.take(SHAPE_TYPE_UNKNOWN).pointer == f"{AT}/type"


def test_a_vendors_shape_and_its_block_are_named_once(read: Read, diagnostics: Diagnostics) -> None:
    """The schema: "type" is one of five words, or any string."""
    assert read_shape(read, {"type": "VENDOR_torus", "VENDOR_torus": {"radius": 2}}) is None
    assert diagnostics.take(SHAPE_TYPE_UNKNOWN).values["got"] == "'VENDOR_torus'"
    assert not len(diagnostics)


def test_a_single_block_says_the_type_as_well(read: Read, diagnostics: Diagnostics) -> None:
    assert read_shape(read, {"sphere": {"radius": 2}}) == Sphere(radius=2.0)
    assert diagnostics.take(ABSENCE_MENDED).pointer == AT


@pytest.mark.parametrize("entry", [{}, {"box": {}, "sphere": {}}])
def test_without_a_type_a_shape_is_left_out(
    read: Read, diagnostics: Diagnostics, entry: dict[str, Any]
) -> None:
    assert read_shape(read, entry) is None
    assert diagnostics.take(ABSENCE_MENDED).pointer == AT


def test_a_block_of_another_type_is_reported(read: Read, diagnostics: Diagnostics) -> None:
    read_shape(read, {"type": "box", "sphere": {}})
    assert diagnostics.take(SHAPE_BLOCK_UNUSED).pointer == f"{AT}/sphere"


def test_unknown_keys_are_told_but_names_extras_and_extensions_are_not(
    read: Read, diagnostics: Diagnostics
) -> None:
    read_shape(read, {"type": "box", "name": "a", "extras": 1, "extensions": {}, "margin": 1})
    assert diagnostics.take(UNKNOWN_PROPERTY).pointer == f"{AT}/margin"


def test_an_empty_table_is_told(read: Read, diagnostics: Diagnostics) -> None:
    read([{}], {"KHR_implicit_shapes": {"shapes": []}})
    assert diagnostics.take(LIST_EMPTY).pointer == "/extensions/KHR_implicit_shapes/shapes"
