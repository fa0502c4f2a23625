"""The tables of properties fit the model, and say what the schemas say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gltf_bullet.model import CombineMode, DofKind, JointLimit, Motion, PhysicsMaterial
from gltf_bullet.model.properties import (
    BOX,
    CAPSULE,
    CYLINDER,
    DRIVE,
    GRAVITY,
    GRAVITY_BLOCKS,
    JOINT,
    LIMIT,
    MATERIAL,
    MOTION,
    PLANE,
    SPHERE,
    TABLES,
    WORLD_GRAVITY,
    Dialect,
    Properties,
    Property,
)

SCHEMAS = Path(__file__).resolve().parents[3] / "shared" / "specs" / "schema"
CASES = [
    pytest.param(table, entry, id=f"{table.what}-{entry.key}")
    for table in TABLES
    for entry in table
]


def schemas() -> dict[str, tuple[Properties, Dialect]]:
    """The schema files of the objects that the tables describe, below :data:`SCHEMAS`."""
    khr = {
        "{}/glTF.KHR_physics_rigid_bodies.material": MATERIAL,
        "{}/glTF.KHR_physics_rigid_bodies.joint.limit": LIMIT,
        "{}/glTF.KHR_physics_rigid_bodies.joint.drive": DRIVE,
        "{}/node.KHR_physics_rigid_bodies.joint": JOINT,
        "{}/node.KHR_physics_rigid_bodies.motion": MOTION,
    }
    shapes = {"box": BOX, "sphere": SPHERE, "capsule": CAPSULE, "cylinder": CYLINDER}
    found = {
        name.format(f"KHR_physics_rigid_bodies__{revision}"): (table, Dialect.KHR)
        for revision in ("implicit", "collision_shapes")
        for name, table in khr.items()
    }
    for folder, start, dialect in (
        ("KHR_implicit_shapes", "glTF.KHR_implicit_shapes.shape", Dialect.KHR),
        ("KHR_collision_shapes", "glTF.KHR_collision_shapes.shape", Dialect.KHR),
        ("gltf_2.1_shapes", "shape", Dialect.CORE),
        ("OMI_physics_shape", "glTF.OMI_physics_shape.shape", Dialect.OMI),
        (
            "MSFT_collision_primitives__later",
            "glTF.MSFT_collision_primitives.collider",
            Dialect.MSFT_LATER,
        ),
        (
            "MSFT_CollisionPrimitives",
            "glTF.MSFT_CollisionPrimitives.collider",
            Dialect.MSFT_CAMEL,
        ),
    ):
        found |= {f"{folder}/{start}.{kind}": (table, dialect) for kind, table in shapes.items()}
    found["KHR_implicit_shapes/glTF.KHR_implicit_shapes.shape.plane"] = (PLANE, Dialect.KHR)
    found["gltf_2.1_shapes/shape.plane"] = (PLANE, Dialect.CORE)
    for name, table, dialect in (
        ("OMI_physics_body/glTF.OMI_physics_body.material", MATERIAL, Dialect.OMI),
        ("OMI_physics_body/node.OMI_physics_body.motion", MOTION, Dialect.OMI),
        ("OMI_physics_joint/glTF.OMI_physics_joint.joint.limit", LIMIT, Dialect.OMI),
        ("OMI_physics_joint/glTF.OMI_physics_joint.joint.drive", DRIVE, Dialect.OMI),
        ("OMI_physics_joint/node.OMI_physics_joint", JOINT, Dialect.OMI),
        ("OMI_physics_gravity/glTF.OMI_physics_gravity", WORLD_GRAVITY, Dialect.OMI),
        ("OMI_physics_gravity/node.OMI_physics_gravity", GRAVITY, Dialect.OMI),
        ("MSFT_rigid_bodies__later/glTF.MSFT_rigid_bodies.material", MATERIAL, Dialect.MSFT_LATER),
        ("MSFT_rigid_bodies__later/node.MSFT_rigid_bodies.motion", MOTION, Dialect.MSFT_LATER),
        ("MSFT_rigid_bodies__later/glTF.MSFT_rigid_bodies.joint_limit", LIMIT, Dialect.MSFT_LATER),
        ("MSFT_RigidBodies/glTF.MSFT_RigidBodies.material", MATERIAL, Dialect.MSFT_CAMEL),
        ("MSFT_RigidBodies/node.MSFT_RigidBodies.rigidBody", MOTION, Dialect.MSFT_CAMEL),
        ("MSFT_RigidBodies/glTF.MSFT_RigidBodies.jointLimit", LIMIT, Dialect.MSFT_CAMEL),
    ):
        found[name] = (table, dialect)
    for kind, block in GRAVITY_BLOCKS.items():
        found[f"OMI_physics_gravity/node.OMI_physics_gravity.{kind.value}"] = (block, Dialect.OMI)
    return found


READ_OTHERWISE = {
    # From the geometry, as the successor's text says (specs/dialects.md).
    (Dialect.MSFT_LATER, "mass"),
    (Dialect.MSFT_LATER, "inertiaDiagonal"),
    # Zero means "compute".
    (Dialect.OMI, "inertiaDiagonal"),
    # A polyline has two points at least: the schema's empty default is none.
    (Dialect.OMI, "points"),
}
"""Properties whose schema states a default, or a bound, that is not what is read."""


def as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else getattr(value, "value", value)


@pytest.mark.shared
@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the schemas are not here")
@pytest.mark.parametrize("name", schemas())
def test_defaults_and_bounds_are_those_of_the_schema(name: str) -> None:
    table, dialect = schemas()[name]
    stated = json.loads((SCHEMAS / f"{name}.schema.json").read_text())["properties"]
    keys = {entry.key_in(dialect): entry for entry in table if dialect in entry.dialects}
    assert set(keys) <= set(stated)
    for key, entry in keys.items():
        if (dialect, key) in READ_OTHERWISE:
            continue
        schema, default = stated[key], entry.default_in(dialect)
        if "default" in schema:
            expected = schema["default"]
            if isinstance(expected, str):
                expected = expected.lower()
            assert as_json(entry.type.to_json(default)) == expected, key
        if "minimum" in schema:
            # Sizes of 0 are bent to thin shapes; the object model sets none in any dialect.
            least = entry.range.at_least if entry.range.above is None else entry.range.above
            assert least == schema["minimum"], key
        if type(schema.get("exclusiveMinimum")) is float:
            above = entry.range.at_least if key == "mass" else entry.range.above
            assert above == schema["exclusiveMinimum"], key


@pytest.mark.parametrize(("table", "entry"), CASES)
def test_an_entry_names_a_field_of_the_model(table: Properties, entry: Property) -> None:
    fields = table.owner.__dataclass_fields__
    assert entry.field.partition(".")[0] in fields


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.what)
@pytest.mark.parametrize("dialect", Dialect)
def test_a_name_means_one_property(table: Properties, dialect: Dialect) -> None:
    names = table.names(dialect)
    assert len(names) == len(set(names))


def test_a_default_is_that_of_the_field() -> None:
    assert PhysicsMaterial(**MATERIAL.defaults(Dialect.KHR)) == PhysicsMaterial()
    assert Motion(**MOTION.defaults(Dialect.KHR)) == Motion()
    limit = {"kind": DofKind.LINEAR, "axes": (0,)}
    assert JointLimit(**limit, **LIMIT.defaults(Dialect.KHR)) == JointLimit(**limit)


def test_a_dialect_may_have_another_name_and_default() -> None:
    assert LIMIT["stiffness"].key_in(Dialect.MSFT_CAMEL) == "springConstant"
    assert MOTION["mass"].default_in(Dialect.OMI) == 1.0
    assert MATERIAL["frictionCombine"].default_in(Dialect.OMI) is CombineMode.AVERAGE
    assert CAPSULE["height"].default_in(Dialect.OMI_COLLIDER) == 2.0
    assert "sizeX" not in PLANE.names(Dialect.OMI)
    assert "isKinematic" not in MOTION.names(Dialect.OMI)


def test_a_pointers_value_is_in_range() -> None:
    mass = MOTION["mass"]
    assert mass.type.from_json(0, mass.range) == math.inf
    with pytest.raises(ValueError, match="must be >= 0"):
        mass.type.from_json(-1.0, mass.range)
    with pytest.raises(ValueError, match="must be > 0"):
        SPHERE["radius"].type.from_json(0.0, SPHERE["radius"].range)
    with pytest.raises(TypeError, match="read-only"):
        MATERIAL["frictionCombine"].type.from_json("average", MATERIAL["frictionCombine"].range)
