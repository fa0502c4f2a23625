"""KHR_physics_rigid_bodies: one small file per rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.filters import FILTER_BOTH_LISTS
from gltf_bullet.dialects.khr.geometry import GEOMETRY_AMBIGUOUS, GEOMETRY_MISSING
from gltf_bullet.dialects.materials import COMBINE_MODE_UNKNOWN
from gltf_bullet.dialects.motions import INERTIA_NEGATIVE, MASS_NEGATIVE
from gltf_bullet.dialects.precedence import DIALECT_SHADOWED
from gltf_bullet.dialects.reading import LIST_EMPTY, UNKNOWN_PROPERTY
from gltf_bullet.dialects.references import (
    TRIGGER_NODE_NOT_BELOW,
    TRIGGER_NODE_WITHOUT_TRIGGER,
)
from gltf_bullet.dialects.triggers import (
    TRIGGER_FILTER_UNUSED,
    TRIGGER_NODE_REPEATED,
    TRIGGER_SHAPE_AND_NODES,
    TRIGGER_WITHOUT_SHAPE,
)
from gltf_bullet.gltf.fields import (
    INDEX_MEANS_NONE,
    NOT_UNIT_LENGTH,
    RANGE_MENDED,
    REFERENCE_MISSING,
    TYPE_MENDED,
    VALUE_OUT_OF_RANGE,
)
from gltf_bullet.model import (
    Box,
    CollisionFilter,
    CombineMode,
    MeshShape,
    Motion,
    MotionKind,
    PhysicsMaterial,
)
from tests.dialects.khr_nodes import (
    BOX,
    DRIVE,
    KHR,
    NODE,
    SHAPES,
    Json,
    Read,
    on_node,
    root,
)

# --- motion -------------------------------------------------------------------------------------


def read_motion(read: Read, motion: Json) -> Motion:
    return read([on_node(motion=motion)]).motions[0]


def test_an_empty_motion_derives_everything_from_the_shapes(read: Read) -> None:
    assert read_motion(read, {}) == Motion(
        kind=MotionKind.DYNAMIC, mass=None, center_of_mass=None, inertia_diagonal=None
    )


def test_every_property_of_a_motion_is_read(read: Read) -> None:
    half = math.sqrt(0.5)
    motion = {
        "isKinematic": True,
        "mass": 5,
        "centerOfMass": [1, 2, 3],
        "inertiaDiagonal": [4, 5, 6],
        "inertiaOrientation": [0, half, 0, half],
        "linearVelocity": [7, 8, 9],
        "angularVelocity": [10, 11, 12],
        "gravityFactor": -0.5,
    }
    assert read_motion(read, motion) == Motion(
        kind=MotionKind.KINEMATIC,
        mass=5.0,
        center_of_mass=(1.0, 2.0, 3.0),
        inertia_diagonal=(4.0, 5.0, 6.0),
        inertia_orientation_xyzw=pytest.approx((0.0, half, 0.0, half)),
        linear_velocity=(7.0, 8.0, 9.0),
        angular_velocity=(10.0, 11.0, 12.0),
        gravity_factor=-0.5,
    )


def test_a_zero_mass_or_moment_is_infinite(read: Read) -> None:
    motion = read_motion(read, {"mass": 0, "inertiaDiagonal": [0, 2, 0.0]})
    assert motion.mass == math.inf
    assert motion.inertia_diagonal == (math.inf, 2.0, math.inf)


@pytest.mark.parametrize(
    ("motion", "kind", "key"),
    [
        ({"mass": -1}, MASS_NEGATIVE, "mass"),
        ({"inertiaDiagonal": [1, -1, 1]}, INERTIA_NEGATIVE, "inertiaDiagonal"),
        ({"mass": "1"}, TYPE_MENDED, "mass"),
        ({"mass": True}, TYPE_MENDED, "mass"),
        ({"isKinematic": 1}, TYPE_MENDED, "isKinematic"),
        ({"centerOfMass": [1, 2]}, TYPE_MENDED, "centerOfMass"),
        ({"inertiaDiagonal": [1, 2, 3, 4]}, TYPE_MENDED, "inertiaDiagonal"),
        ({"linearVelocity": None}, TYPE_MENDED, "linearVelocity"),
        ({"angularVelocity": {}}, TYPE_MENDED, "angularVelocity"),
        ({"gravityFactor": []}, TYPE_MENDED, "gravityFactor"),
        ({"inertiaOrientation": [0, 0, 0, 0]}, RANGE_MENDED, "inertiaOrientation"),
        ({"inertiaOrientation": [0, 1e39, 0, 1]}, VALUE_OUT_OF_RANGE, "inertiaOrientation/1"),
        ({"inertiaOrientation": [0, 0, 0, 2]}, NOT_UNIT_LENGTH, "inertiaOrientation"),
        ({"friction": 1}, UNKNOWN_PROPERTY, "friction"),
    ],
)
def test_a_wrong_motion_property_is_reported_at_its_place(
    read: Read, diagnostics: Diagnostics, motion: Json, kind: IssueKind, key: str
) -> None:
    assert read_motion(read, motion).mass is None
    assert diagnostics.take(kind).pointer == f"{NODE}/motion/{key}"


def test_a_motion_knows_where_it_came_from(read: Read) -> None:
    assert read_motion(read, {}).pointer == f"{NODE}/motion"


# --- colliders, materials, filters --------------------------------------------------------------


def test_a_collider_takes_material_and_filter_from_the_tables(read: Read) -> None:
    collider = {**BOX, "physicsMaterial": 1, "collisionFilter": 0}
    material = {
        "staticFriction": 0.9,
        "dynamicFriction": 0.8,
        "restitution": 0.7,
        "frictionCombine": "minimum",
        "restitutionCombine": "multiply",
    }
    filters = [{"collisionSystems": ["a"], "collideWithSystems": ["b", "c"]}]
    scene = read(
        [on_node(collider=collider)],
        root(physicsMaterials=[{}, material], collisionFilters=filters),
    )
    found = scene.colliders[0]
    assert found.shape == Box(size=(1.0, 1.0, 1.0))
    assert found.material == PhysicsMaterial(
        static_friction=0.9,
        dynamic_friction=0.8,
        restitution=0.7,
        friction_combine=CombineMode.MINIMUM,
        restitution_combine=CombineMode.MULTIPLY,
    )
    assert found.filter == CollisionFilter(
        systems=frozenset("a"), collide_with=frozenset(("b", "c"))
    )
    assert found.pointer == f"{NODE}/collider"


def test_an_unstated_combine_mode_has_no_opinion(read: Read) -> None:
    scene = read([on_node(collider={**BOX, "physicsMaterial": 0})], root(physicsMaterials=[{}]))
    assert scene.colliders[0].material == PhysicsMaterial(
        static_friction=0.6,
        dynamic_friction=0.6,
        restitution=0.0,
        friction_combine=None,
        restitution_combine=None,
    )


def test_combine_modes_are_compared_without_case(read: Read) -> None:
    collider = {**BOX, "physicsMaterial": 0}
    scene = read(
        [on_node(collider=collider)], root(physicsMaterials=[{"frictionCombine": "MAXIMUM"}])
    )
    material = scene.colliders[0].material
    assert material is not None
    assert material.friction_combine is CombineMode.MAXIMUM


def test_an_unknown_combine_mode_is_an_error_and_averages(
    read: Read, diagnostics: Diagnostics
) -> None:
    collider = {**BOX, "physicsMaterial": 0}
    scene = read(
        [on_node(collider=collider)], root(physicsMaterials=[{"restitutionCombine": "sum"}])
    )
    material = scene.colliders[0].material
    assert material is not None
    assert material.restitution_combine is CombineMode.AVERAGE
    issue = diagnostics.take(COMBINE_MODE_UNKNOWN)
    assert issue.pointer == f"/extensions/{KHR}/physicsMaterials/0/restitutionCombine"


@pytest.mark.parametrize("key", ["staticFriction", "dynamicFriction", "restitution"])
@pytest.mark.parametrize(("value", "kind"), [(-0.1, RANGE_MENDED), ("0.1", TYPE_MENDED)])
def test_a_wrong_coefficient_gives_the_default_and_says_so(
    read: Read, diagnostics: Diagnostics, key: str, value: object, kind: IssueKind
) -> None:
    nodes = [on_node(collider={**BOX, "physicsMaterial": 0})]
    scene = read(nodes, root(physicsMaterials=[{key: value}]))
    assert scene.colliders[0].material == PhysicsMaterial()
    issue = diagnostics.take(kind)
    assert issue.pointer == f"/extensions/{KHR}/physicsMaterials/0/{key}"
    assert issue.message.endswith("; 0 is used" if key == "restitution" else "; 0.6 is used")


@pytest.mark.parametrize(
    ("admitted", "refused", "expected"),
    [
        (["a"], ["b"],
         CollisionFilter(collide_with=frozenset("a"), not_collide_with=frozenset("b"))),
        (["a"], [], CollisionFilter(collide_with=frozenset("a"))),
        ([], ["b"], CollisionFilter(not_collide_with=frozenset("b"))),
        ([], [], CollisionFilter()),
    ],
)  # fmt: skip
def test_both_lists_of_a_filter_count_but_for_an_empty_one(
    read: Read,
    diagnostics: Diagnostics,
    admitted: list[str],
    refused: list[str],
    expected: CollisionFilter,
) -> None:
    both = {"collideWithSystems": admitted, "notCollideWithSystems": refused}
    nodes = [on_node(collider={**BOX, "collisionFilter": 0})]
    scene = read(nodes, root(collisionFilters=[both]))
    assert scene.colliders[0].filter == expected
    issue = diagnostics.take(FILTER_BOTH_LISTS)
    assert issue.pointer == f"/extensions/{KHR}/collisionFilters/0"


def test_a_single_word_is_a_list_of_one(read: Read, diagnostics: Diagnostics) -> None:
    nodes = [on_node(collider={**BOX, "collisionFilter": 0})]
    scene = read(nodes, root(collisionFilters=[{"collisionSystems": "a"}]))
    assert scene.colliders[0].filter == CollisionFilter(systems=frozenset("a"))
    assert diagnostics.take(TYPE_MENDED)


def test_an_empty_list_of_systems_is_not_the_same_as_none(read: Read) -> None:
    filters = [{"collideWithSystems": []}, {"notCollideWithSystems": ["x"]}]
    nodes = [on_node(collider={**BOX, "collisionFilter": i}) for i in range(2)]
    scene = read(nodes, root(collisionFilters=filters))
    assert scene.colliders[0].filter == CollisionFilter(collide_with=frozenset())
    assert scene.colliders[1].filter == CollisionFilter(not_collide_with=frozenset("x"))


@pytest.mark.parametrize("key", ["physicsMaterials", "collisionFilters", "physicsJoints"])
def test_an_empty_table_is_told(read: Read, diagnostics: Diagnostics, key: str) -> None:
    read([{}], root(**{key: []}))
    assert diagnostics.take(LIST_EMPTY).pointer == f"/extensions/{KHR}/{key}"


@pytest.mark.parametrize(
    ("collider", "kind", "place"),
    [
        ({}, GEOMETRY_MISSING, ""),
        ({"geometry": {}}, GEOMETRY_MISSING, "/geometry"),
        ({"geometry": {"shape": 1}}, REFERENCE_MISSING, "/geometry/shape"),
        ({"geometry": {"shape": -1}}, INDEX_MEANS_NONE, "/geometry/shape"),
        ({"geometry": {"node": 9}}, REFERENCE_MISSING, "/geometry/node"),
        ({"geometry": {"mesh": 3}}, REFERENCE_MISSING, "/geometry/mesh"),
        ({"geometry": {"shape": "0"}}, TYPE_MENDED, "/geometry/shape"),
        ({"geometry": 0}, TYPE_MENDED, "/geometry"),
        ({"shape": 1}, REFERENCE_MISSING, "/shape"),
    ],
)
def test_a_collider_without_a_usable_geometry_is_left_out(
    read: Read, diagnostics: Diagnostics, collider: Json, kind: IssueKind, place: str
) -> None:
    assert not read([on_node(collider=collider)], SHAPES).colliders
    assert diagnostics.take(kind).pointer == f"{NODE}/collider{place}"


def test_of_two_geometries_the_shape_is_used(read: Read, diagnostics: Diagnostics) -> None:
    geometry = {"node": 0, "shape": 0}
    scene = read([on_node(collider={"geometry": geometry})], SHAPES)
    assert scene.colliders[0].shape == Box(size=(1.0, 1.0, 1.0))
    assert diagnostics.take(GEOMETRY_AMBIGUOUS).values["used"] == "shape"


@pytest.mark.parametrize("key", ["physicsMaterial", "collisionFilter"])
def test_minus_one_names_none(read: Read, diagnostics: Diagnostics, key: str) -> None:
    scene = read([on_node(collider={**BOX, key: -1})], SHAPES)
    assert (scene.colliders[0].material, scene.colliders[0].filter) == (None, None)
    assert diagnostics.take(INDEX_MEANS_NONE).pointer == f"{NODE}/collider/{key}"


@pytest.mark.parametrize("key", ["physicsMaterial", "collisionFilter"])
def test_a_wrong_index_costs_only_what_it_names(
    read: Read, diagnostics: Diagnostics, key: str
) -> None:
    scene = read([on_node(collider={**BOX, key: 0})], SHAPES)
    assert scene.colliders[0].material is None
    assert diagnostics.take(REFERENCE_MISSING).pointer == f"{NODE}/collider/{key}"


def test_geometry_wins_over_an_older_shape_beside_it(read: Read, diagnostics: Diagnostics) -> None:
    older = {"KHR_collision_shapes": {"shapes": [{"type": "sphere", "sphere": {}}]}}
    scene = read([on_node(collider={**BOX, "shape": 0})], {**SHAPES, **older})
    assert scene.colliders[0].shape == Box(size=(1.0, 1.0, 1.0))
    assert diagnostics.take(DIALECT_SHADOWED).pointer == f"{NODE}/collider/shape"


# --- triggers -----------------------------------------------------------------------------------


def test_a_compound_trigger_names_triggers_below_it(read: Read) -> None:
    nodes = [
        on_node(children=[1], trigger={"nodes": [2, 1]}),
        on_node(children=[2], trigger=BOX),
        on_node(trigger=BOX),
    ]
    scene = read(nodes, SHAPES)
    assert scene.triggers[0].part_nodes == (2, 1)
    assert scene.triggers[0].shape is None
    assert scene.triggers[1].shape == Box(size=(1.0, 1.0, 1.0))


def test_a_trigger_has_a_filter(read: Read) -> None:
    scene = read(
        [on_node(trigger={**BOX, "collisionFilter": 0})],
        root(collisionFilters=[{"collisionSystems": ["s"]}]),
    )
    assert scene.triggers[0].filter == CollisionFilter(systems=frozenset("s"))


@pytest.mark.parametrize(
    ("trigger", "kind", "place"),
    [
        ({}, TRIGGER_WITHOUT_SHAPE, ""),
        ({"nodes": [1], **BOX}, TRIGGER_SHAPE_AND_NODES, ""),
        ({"nodes": [1], "collisionFilter": 0}, TRIGGER_FILTER_UNUSED, "/collisionFilter"),
        ({"nodes": [1, 1]}, TRIGGER_NODE_REPEATED, "/nodes"),
        ({"nodes": [], **BOX}, LIST_EMPTY, "/nodes"),
        ({"nodes": [7]}, REFERENCE_MISSING, "/nodes/0"),
        ({"nodes": {}}, TYPE_MENDED, "/nodes"),
        ({"nodes": 1}, TYPE_MENDED, "/nodes"),
        ({"nodes": [2]}, TRIGGER_NODE_WITHOUT_TRIGGER, "/nodes"),
        ({"nodes": [3]}, TRIGGER_NODE_NOT_BELOW, "/nodes"),
        ({"nodes": [0]}, TRIGGER_NODE_NOT_BELOW, "/nodes"),
    ],
)
def test_the_rules_of_compound_triggers(
    read: Read, diagnostics: Diagnostics, trigger: Json, kind: IssueKind, place: str
) -> None:
    nodes = [
        on_node(children=[1, 2, 4], trigger=trigger),
        on_node(trigger=BOX),
        {},
        on_node(trigger=BOX),
        on_node(children=[5], trigger={"nodes": [5]}),
        on_node(trigger=BOX),
    ]
    scene = read(nodes, SHAPES)
    assert 3 in scene.triggers
    assert diagnostics.take(kind).pointer == f"{NODE}/trigger{place}"


# --- the object on the node ---------------------------------------------------------------------


def test_motion_collider_and_joint_may_share_a_node(read: Read) -> None:
    joint = {"joint": 0, "connectedNode": 1}
    scene = read([on_node(motion={}, collider=BOX, joint=joint), {}], root(physicsJoints=[{}]))
    assert set(scene.motions) == set(scene.colliders) == set(scene.joints) == {0}


def test_unknown_keys_are_told_on_every_object(read: Read, diagnostics: Diagnostics) -> None:
    nodes = [
        on_node(
            motion={},
            collider={**BOX, "q1": 0},
            joint={"joint": 0, "connectedNode": 1, "q2": 0},
            q3=0,
        ),
        on_node(trigger={"geometry": {"shape": 0, "q4": 0}, "q5": 0}),
    ]
    tables = root(
        physicsJoints=[{"drives": [DRIVE | {"q6": 0}], "q7": 0}],
        physicsMaterials=[{"q8": 0}],
        collisionFilters=[{"q9": 0}],
        q10=0,
    )
    read(nodes, tables)
    found = set()
    while diagnostics.issues:
        found.add(diagnostics.take(UNKNOWN_PROPERTY).values["key"])
    assert found == {f"q{i}" for i in range(1, 11)}


def test_the_order_of_keys_does_not_matter(read: Read) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(item) for key, item in reversed(value.items())}
        return [turned(item) for item in value] if isinstance(value, list) else value

    nodes = [
        on_node(motion={"mass": 1, "gravityFactor": 2}, collider={**BOX, "physicsMaterial": 0})
    ]
    tables = root(physicsMaterials=[{"staticFriction": 1, "restitution": 0.5}])
    assert read(turned(nodes), turned(tables)) == read(nodes, tables)


def test_the_older_key_finds_the_newer_table_and_the_other_way_round(read: Read) -> None:
    """The text's own example has collider.shape over KHR_implicit_shapes (001)."""
    newer = {"KHR_implicit_shapes": {"shapes": [{"type": "box"}]}}
    older = {"KHR_collision_shapes": {"shapes": [{"type": "box", "box": {}}]}}
    for tables, owner in ((newer, {"shape": 0}), (older, {"geometry": {"shape": 0}})):
        scene = read([on_node(collider=owner), on_node(trigger=owner)], tables)
        assert isinstance(scene.colliders[0].shape, Box)
        assert isinstance(scene.triggers[1].shape, Box)


def test_compounds_may_hold_compounds(read: Read) -> None:
    """ "descendent nodes which must have trigger properties": a compound has one."""
    outer = {**on_node(trigger={"nodes": [1]}), "children": [1]}
    inner = {**on_node(trigger={"nodes": [2]}), "children": [2]}
    scene = read([outer, inner, on_node(trigger=BOX)], SHAPES)
    assert scene.triggers[0].part_nodes == (1,)
    assert scene.triggers[1].part_nodes == (2,)


def test_a_mesh_shape_of_the_core_takes_the_hull_flag(read: Read) -> None:
    shapes = [{"type": "mesh", "mesh": {"mesh": 0}}]
    for flag in (False, True):
        owner = {"geometry": {"shape": 0, "convexHull": flag}}
        shape = read([on_node(collider=owner)], {}, shapes=shapes).colliders[0].shape
        assert isinstance(shape, MeshShape)
        assert shape.convex_hull == flag
