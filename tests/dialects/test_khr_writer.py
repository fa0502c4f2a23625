"""Writing the model as KHR JSON, and reading it back."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import physics_to_khr, read_physics, write_physics
from gltf_bullet.dialects.khr.scene import (
    COMPOUND_FILTER_NOT_IN_KHR,
    JOINT_TO_WORLD_NOT_IN_KHR,
    MESH_NOT_IN_KHR,
    SHAPE_NOT_IN_KHR,
    STATIC_MOTION_NOT_IN_KHR,
)
from gltf_bullet.dialects.khr.writer import ANIMATION_POINTER_STALE, BEHAVIOR_POINTER_STALE
from gltf_bullet.gltf import Document, read_document
from gltf_bullet.model import (
    Box,
    Capsule,
    Collider,
    CollisionFilter,
    CombineMode,
    Cylinder,
    DofKind,
    DriveMode,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    MeshPart,
    MeshShape,
    Motion,
    MotionKind,
    PhysicsMaterial,
    PhysicsScene,
    Plane,
    Shape,
    Sphere,
    Trigger,
)
from gltf_bullet.records import replace

DocumentOf = Callable[..., Document]
Json = dict[str, Any]

# --- hypothesis: any scene that KHR can say ------------------------------------------------------

NODES = 8
lengths = st.floats(1e-3, 1e3)
# What is smaller than any 32-bit float is read as 0.
signed = st.floats(-1e3, 1e3).map(lambda x: x if abs(x) > 1e-30 else 0.0)
vectors = st.tuples(signed, signed, signed)
gains = st.just(0.0) | lengths
# Exactly of length 1 in floating point, so that normalizing changes no digit.
quaternions = st.sampled_from(
    [(0.0, 0.0, 0.0, 1.0), (0.6, 0.0, 0.0, 0.8), (0.5, -0.5, 0.5, 0.5), (0.0, 1.0, 0.0, 0.0)]
)
positive_or_infinite = lengths | st.just(math.inf)
motions = st.builds(
    Motion,
    kind=st.sampled_from([MotionKind.DYNAMIC, MotionKind.KINEMATIC]),
    mass=st.none() | positive_or_infinite,
    center_of_mass=st.none() | vectors,
    inertia_diagonal=st.none() | st.tuples(*[positive_or_infinite] * 3),
    inertia_orientation_xyzw=quaternions,
    linear_velocity=vectors,
    angular_velocity=vectors,
    gravity_factor=signed,
)
tapered = st.tuples(lengths, gains, gains)
shapes: st.SearchStrategy[Shape] = st.one_of(
    st.builds(Box, size=st.tuples(lengths, lengths, lengths)),
    st.builds(Sphere, radius=lengths),
    st.builds(Capsule, mid_height=lengths, radius_bottom=gains, radius_top=gains),
    st.builds(Cylinder, height=lengths, radius_bottom=gains, radius_top=gains),
    st.builds(
        Plane,
        size_x=positive_or_infinite,
        size_z=positive_or_infinite,
        double_sided=st.booleans(),
    ),
    st.builds(
        MeshShape,
        parts=st.integers(0, 2).map(lambda mesh: (MeshPart(mesh=mesh),)),
        convex_hull=st.booleans(),
    ),
)
modes = st.none() | st.sampled_from(CombineMode)
materials = st.none() | st.builds(
    PhysicsMaterial,
    static_friction=gains,
    dynamic_friction=gains,
    restitution=st.floats(0.0, 10.0).filter(lambda e: e == 0.0 or e > 1e-3),
    friction_combine=modes,
    restitution_combine=modes,
)
names = st.frozensets(st.text(max_size=3), max_size=3)
filters = st.none() | st.one_of(
    st.builds(CollisionFilter, systems=names),
    st.builds(CollisionFilter, systems=names, collide_with=names),
    st.builds(CollisionFilter, systems=names, not_collide_with=names),
)
ranges = st.tuples(signed, signed).map(sorted)
limits = st.builds(
    lambda kind, axes, bounds, stiffness, damping: JointLimit(
        kind=kind,
        axes=tuple(sorted(axes)),
        minimum=bounds[0],
        maximum=bounds[1],
        stiffness=stiffness,
        damping=damping,
    ),
    st.sampled_from(DofKind),
    st.sets(st.integers(0, 2), min_size=1),
    ranges | ranges.map(lambda r: (-math.inf, r[1])) | ranges.map(lambda r: (r[0], math.inf)),
    gains | st.just(math.inf),
    gains,
)
drives = st.builds(
    JointDrive,
    kind=st.sampled_from(DofKind),
    axis=st.integers(0, 2),
    mode=st.sampled_from(DriveMode),
    max_force=gains | st.just(math.inf),
    position_target=signed,
    velocity_target=signed,
    stiffness=gains,
    damping=gains,
)
descriptions = st.builds(
    JointDescription,
    limits=st.lists(limits, max_size=3).map(tuple),
    drives=st.lists(drives, max_size=2).map(tuple),
)
node_indices = st.integers(0, NODES - 1)


@st.composite
def scenes(draw: st.DrawFn) -> PhysicsScene:
    """Node 0 has node 1 below it, so that it may hold a compound trigger."""
    colliders = {
        node: Collider(
            node=node, shape=draw(shapes), material=draw(materials), filter=draw(filters)
        )
        for node in draw(st.sets(node_indices))
    }
    triggers = {
        node: Trigger(node=node, shape=draw(shapes), filter=draw(filters))
        for node in draw(st.sets(node_indices))
    }
    if 1 in triggers and draw(st.booleans()):
        triggers[0] = Trigger(node=0, part_nodes=(1,))
    joints = {
        node: Joint(
            node=node,
            connected_node=draw(node_indices),
            description=draw(descriptions),
            enable_collision=draw(st.booleans()),
        )
        for node in draw(st.sets(node_indices))
    }
    return PhysicsScene(
        motions={node: draw(motions) for node in draw(st.sets(node_indices))},
        colliders=colliders,
        triggers=triggers,
        joints=joints,
    )


def bare_root() -> Json:
    return {
        "asset": {"version": "2.0"},
        "nodes": [{"children": [1]}, *({} for _ in range(NODES - 1))],
        "meshes": [{"primitives": [{"attributes": {}}]} for _ in range(3)],
    }


def reread(root: Json, sink: Diagnostics) -> PhysicsScene:
    return read_physics(read_document(json.dumps(root).encode(), sink), sink)


def assert_only_joint_advice(sink: Diagnostics) -> None:
    advice = {"JOINT_MOVES_NOTHING", "JOINT_WITHIN_BODY"}
    assert not [str(issue) for issue in sink if issue.code not in advice]


@settings(max_examples=150, deadline=None)
@given(scenes())
def test_what_is_written_reads_back_as_the_same_scene(scene: PhysicsScene) -> None:
    sink = Diagnostics()
    roots, extension_of_node = physics_to_khr(scene, sink)
    root = bare_root()
    root["extensions"] = roots
    for node, extension in extension_of_node.items():
        root["nodes"][node]["extensions"] = {"KHR_physics_rigid_bodies": extension}
    assert reread(root, sink) == scene
    assert_only_joint_advice(sink)


@settings(max_examples=50, deadline=None)
@given(scenes())
def test_a_written_document_reads_back_as_the_same_scene(scene: PhysicsScene) -> None:
    sink = Diagnostics()
    document = read_document(json.dumps(bare_root()).encode(), sink)
    assert reread(write_physics(document, scene, sink), sink) == scene
    assert_only_joint_advice(sink)


# --- the document around it ----------------------------------------------------------------------


def omi_document(document_of: DocumentOf, **members: Any) -> Document:
    nodes = [
        {
            "name": "Crate",
            "extras": {"kept": True},
            "extensions": {
                "OMI_physics_body": {"motion": {"type": "dynamic"}, "collider": {"shape": 0}},
                "KHR_lights_punctual": {"light": 0},
            },
        },
        {"extensions": {"OMI_physics_body": {"collider": {"shape": 0}}}},
    ]
    roots = {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {}}]}, "ACME": {"a": 1}}
    members = {"extensionsUsed": ["OMI_physics_body", "ACME", "OMI_physics_shape"]} | members
    return document_of(nodes, roots, **members)


def test_older_extensions_go_and_everything_else_stays(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    document = omi_document(document_of)
    before = copy.deepcopy(document.json)
    scene = read_physics(document, diagnostics)
    root = write_physics(document, scene, diagnostics)
    assert document.json == before, "the document itself is not changed"
    assert "OMI" not in json.dumps(root)
    assert root["extensionsUsed"] == ["ACME", "KHR_implicit_shapes", "KHR_physics_rigid_bodies"]
    assert "extensionsRequired" not in root
    assert root["extensions"]["ACME"] == {"a": 1}
    assert root["nodes"][0]["extensions"]["KHR_lights_punctual"] == {"light": 0}
    assert root["nodes"][0]["extras"] == {"kept": True}
    assert root["meshes"] == before["meshes"]
    assert reread(root, diagnostics) == scene


def test_required_physics_stays_required(document_of: DocumentOf, diagnostics: Diagnostics) -> None:
    document = omi_document(document_of, extensionsRequired=["OMI_physics_body"])
    root = write_physics(document, read_physics(document, diagnostics), diagnostics)
    assert root["extensionsRequired"] == ["KHR_implicit_shapes", "KHR_physics_rigid_bodies"]


def test_a_file_without_physics_declares_none(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    document = omi_document(document_of)
    root = write_physics(document, PhysicsScene(), diagnostics)
    assert root["extensionsUsed"] == ["ACME"]
    assert root["nodes"][1] == {}


def test_equal_values_share_an_entry(diagnostics: Diagnostics) -> None:
    material = PhysicsMaterial(restitution=0.5)
    box = Box(size=(1.0, 1.0, 1.0))
    colliders = {i: Collider(node=i, shape=box, material=material) for i in range(3)}
    roots, _ = physics_to_khr(PhysicsScene(colliders=colliders), diagnostics)
    assert len(roots["KHR_implicit_shapes"]["shapes"]) == 1
    assert len(roots["KHR_physics_rigid_bodies"]["physicsMaterials"]) == 1


def test_a_mesh_is_named_by_a_node_that_gives_it(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    document = document_of([{}, {"mesh": 1}])
    shape = MeshShape(parts=(MeshPart(mesh=1),), convex_hull=True)
    scene = PhysicsScene(colliders={0: Collider(node=0, shape=shape)})
    root = write_physics(document, scene, diagnostics)
    collider = root["nodes"][0]["extensions"]["KHR_physics_rigid_bodies"]["collider"]
    assert collider == {"geometry": {"node": 1, "convexHull": True}}
    assert len(root["nodes"]) == 2


def test_a_mesh_that_no_node_gives_gets_a_data_node_outside_the_scenes(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    document = document_of([{}])
    moved = (1.0, 0.0, 0.0, 5.0, 0.0, 1.0, 0.0, 6.0, 0.0, 0.0, 1.0, 7.0, 0.0, 0.0, 0.0, 1.0)
    parts = (MeshPart(mesh=1), MeshPart(mesh=2, shape_from_part=moved))
    shape = MeshShape(parts=parts, convex_hull=False)
    scene = PhysicsScene(colliders={0: Collider(node=0, shape=shape)})
    root = write_physics(document, scene, diagnostics)
    assert root["scenes"] == document.json["scenes"]
    # It is the same but for the nodes that it knows now.
    known = tuple(replace(part, node=k, frame_node=3) for k, part in enumerate(parts, 1))
    shape = MeshShape(parts=known, convex_hull=False)
    scene = PhysicsScene(colliders={0: Collider(node=0, shape=shape)})
    assert reread(root, diagnostics) == scene


def test_a_joint_to_the_world_gets_an_anchor_where_it_stands(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    nodes = [
        {"translation": [1, 0, 0], "rotation": [0, 0.6, 0, 0.8], "children": [1]},
        {"translation": [0, 2, 0], "scale": [3, 3, 3]},
    ]
    joint = Joint(node=1, connected_node=None, description=JointDescription())
    scene = PhysicsScene(motions={0: Motion()}, joints={1: joint})
    root = write_physics(document_of(nodes), scene, diagnostics)
    anchor = root["nodes"][2]
    assert anchor["translation"] == pytest.approx([1, 2, 0])
    assert anchor["rotation"] == pytest.approx([0, 0.6, 0, 0.8])
    assert root["scenes"] == [{"nodes": [0, 2]}]
    assert reread(root, diagnostics).joints[1].connected_node == 2


def test_gravity_fields_stay_in_their_own_extension(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    gravity = {"type": "shaped", "gravity": 1, "shaped": {"shape": 0}}
    trigger = {"trigger": {"shape": 0}}
    document = document_of(
        [{"extensions": {"OMI_physics_body": trigger, "OMI_physics_gravity": gravity}}],
        {
            "OMI_physics_shape": {"shapes": [{"type": "sphere", "sphere": {}}]},
            "OMI_physics_gravity": {"gravity": 3},
        },
    )
    scene = read_physics(document, diagnostics)
    root = write_physics(document, scene, diagnostics)
    assert "OMI_physics_body" not in json.dumps(root)
    assert reread(root, diagnostics) == scene


def test_a_static_motion_is_left_out_where_nothing_above_it_moves(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    scene = PhysicsScene(motions={0: Motion(kind=MotionKind.STATIC, mass=1.0)})
    root = write_physics(document_of([{}]), scene, diagnostics)
    assert not reread(root, diagnostics).motions
    assert diagnostics.take(STATIC_MOTION_NOT_IN_KHR)


def test_a_static_motion_below_a_body_becomes_kinematic_at_rest(
    document_of: DocumentOf, diagnostics: Diagnostics
) -> None:
    static = Motion(kind=MotionKind.STATIC, mass=1.0, linear_velocity=(1.0, 0.0, 0.0))
    scene = PhysicsScene(motions={0: Motion(), 1: static})
    root = write_physics(document_of([{"children": [1]}, {}]), scene, diagnostics)
    assert reread(root, diagnostics).motions[1] == Motion(kind=MotionKind.KINEMATIC, mass=1.0)
    assert diagnostics.take(STATIC_MOTION_NOT_IN_KHR)


def test_a_capsule_without_height_is_its_larger_sphere(diagnostics: Diagnostics) -> None:
    capsule = Capsule(mid_height=0.0, radius_bottom=1.0, radius_top=2.0)
    scene = PhysicsScene(colliders={0: Collider(node=0, shape=capsule)})
    roots, _ = physics_to_khr(scene, diagnostics)
    sphere = {"type": "sphere", "sphere": {"radius": 2.0}}
    assert roots["KHR_implicit_shapes"]["shapes"] == [sphere]


SKINNED = MeshShape(parts=(MeshPart(mesh=0, skin=0, skin_frame_node=0),), convex_hull=False)


@pytest.mark.parametrize(
    ("scene", "kind"),
    [
        (
            PhysicsScene(colliders={0: Collider(node=0, shape=Box(size=(1.0, 0.0, 1.0)))}),
            SHAPE_NOT_IN_KHR,
        ),
        (PhysicsScene(triggers={0: Trigger(node=0, shape=Sphere(radius=0.0))}), SHAPE_NOT_IN_KHR),
        (PhysicsScene(colliders={0: Collider(node=0, shape=SKINNED)}), MESH_NOT_IN_KHR),
        (
            PhysicsScene(
                joints={0: Joint(node=0, connected_node=None, description=JointDescription())}
            ),
            JOINT_TO_WORLD_NOT_IN_KHR,
        ),
    ],
)
def test_what_khr_cannot_say_is_left_out_and_reported(
    diagnostics: Diagnostics, scene: PhysicsScene, kind: Any
) -> None:
    assert physics_to_khr(scene, diagnostics) == ({}, {})
    assert diagnostics.take(kind)


def test_a_filter_on_a_compound_trigger_is_reported(diagnostics: Diagnostics) -> None:
    compound = Trigger(node=0, part_nodes=(1,), filter=CollisionFilter())
    _, nodes = physics_to_khr(PhysicsScene(triggers={0: compound}), diagnostics)
    assert nodes == {0: {"trigger": {"nodes": [1]}}}
    assert diagnostics.take(COMPOUND_FILTER_NOT_IN_KHR)


@pytest.mark.parametrize(
    ("pointer", "is_stale"),
    [
        ("/nodes/0/translation", False),
        ("/nodes/0/extensions/KHR_physics_rigid_bodies/motion/mass", False),
        ("/nodes/0/extensions/OMI_physics_body/motion/mass", True),
        ("/extensions/KHR_physics_rigid_bodies/physicsMaterials/0/restitution", True),
    ],
)
def test_animation_pointers_into_rewritten_tables_are_reported(
    document_of: DocumentOf, diagnostics: Diagnostics, pointer: str, is_stale: bool
) -> None:
    target = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": pointer}}}
    document = document_of([{}], animations=[{"channels": [{"target": target}]}])
    write_physics(document, PhysicsScene(), diagnostics)
    if is_stale:
        assert diagnostics.take(ANIMATION_POINTER_STALE).pointer == "/animations/0/channels/0"


@pytest.mark.parametrize(
    ("pointer", "is_stale"),
    [
        ("/nodes/[n]/translation", False),
        ("/nodes/{n}/extensions/KHR_physics_rigid_bodies/motion/mass", False),
        ("/nodes/0/extensions/OMI_physics_body/motion/mass", True),
        ("/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0/positionTarget", True),
    ],
)
def test_pointers_of_graphs_into_rewritten_tables_are_reported(
    document_of: DocumentOf, diagnostics: Diagnostics, pointer: str, is_stale: bool
) -> None:
    graph = {"nodes": [{"configuration": {"pointer": {"value": [pointer]}}}]}
    extension = {"KHR_interactivity": {"graphs": [graph]}}
    document = document_of([{}], extensions=extension)
    root = write_physics(document, PhysicsScene(), diagnostics)
    assert root["extensions"] == extension  # graphs are kept
    if is_stale:
        at = "/extensions/KHR_interactivity/graphs/0/nodes/0/configuration/pointer"
        assert diagnostics.take(BEHAVIOR_POINTER_STALE).pointer == at


OMI_FILE: dict[str, Any] = {
    "nodes": [
        {
            "extensions": {
                "OMI_physics_body": {
                    "motion": {"type": "dynamic", "mass": 2.0},
                    "collider": {"shape": 2},
                }
            }
        },
        {
            "extensions": {
                "OMI_physics_joint": {"joint": 0, "connectedNode": 0},
                "OMI_physics_body": {"motion": {"type": "dynamic"}, "collider": {"shape": 0}},
            }
        },
    ],
    "extensions": {
        "OMI_physics_shape": {
            # The first and the last one are equal, the middle one is not used.
            "shapes": [
                {"type": "box", "box": {"size": [1, 1, 1]}},
                {"type": "sphere", "sphere": {"radius": 0.3}},
                {"type": "box", "box": {"size": [1, 1, 1]}},
            ]
        },
        "OMI_physics_joint": {
            "physicsJoints": [
                {
                    "limits": [
                        {"linearAxes": [0], "angularAxes": [1], "min": -1.0, "max": 1.0},
                        {"linearAxes": [1], "min": -2.0, "max": 2.0},
                    ]
                }
            ]
        },
    },
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "/nodes/0/extensions/OMI_physics_body/motion/mass",
            "/nodes/0/extensions/KHR_physics_rigid_bodies/motion/mass",
        ),
        (
            "/nodes/[n]/extensions/OMI_physics_body/motion/mass",
            "/nodes/[n]/extensions/KHR_physics_rigid_bodies/motion/mass",
        ),
        *[
            (
                f"/extensions/OMI_physics_shape/shapes{rest}",
                f"/extensions/KHR_implicit_shapes/shapes{rest}",
            )
            for rest in ("/1/sphere/radius", "/2/box/size", "/{s}/box/size", "/1", ".length")
        ],
        # The limit before it is two in KHR.
        (
            "/extensions/OMI_physics_joint/physicsJoints/0/limits/1/max",
            "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/limits/2/max",
        ),
        ("/extensions/OMI_physics_joint/physicsJoints/0/limits/0/max", None),
        ("/extensions/OMI_physics_joint/physicsJoints/0/limits/[k]/max", None),
        ("/materials/0/alphaCutoff", "/materials/0/alphaCutoff"),
    ],
)
def test_pointers_go_along_with_what_is_written_anew(
    document_of: DocumentOf, diagnostics: Diagnostics, old: str, new: str | None
) -> None:
    graph = {"nodes": [{"configuration": {"pointer": {"value": [old]}}}]}
    target = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": old}}}
    interactivity = {"KHR_interactivity": {"graphs": [graph]}}
    document = document_of(
        OMI_FILE["nodes"],
        extensions=OMI_FILE["extensions"] | interactivity,
        animations=[{"channels": [{"target": target}]}],
    )
    scene = read_physics(document, Diagnostics())
    root = write_physics(document, scene, diagnostics)
    (node,) = root["extensions"]["KHR_interactivity"]["graphs"][0]["nodes"]
    (channel,) = root["animations"][0]["channels"]
    pointed = channel["target"]["extensions"]["KHR_animation_pointer"]["pointer"]
    assert node["configuration"]["pointer"]["value"] == [new or old]
    assert pointed == (new or old)
    if new is None:
        assert diagnostics.take(ANIMATION_POINTER_STALE)
        assert diagnostics.take(BEHAVIOR_POINTER_STALE)


# --- the published files -------------------------------------------------------------------------

ASSETS = Path(__file__).resolve().parents[2].parent / "shared" / "assets"
FILES = sorted(ASSETS.glob("**/*.gl*"))


@pytest.mark.shared
@pytest.mark.skipif(not FILES, reason="the asset collection is not there")
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ASSETS)))
def test_a_published_file_means_the_same_after_conversion(path: Path) -> None:
    sink = Diagnostics()
    document = read_document(path, sink)
    scene = read_physics(document, sink)
    again = reread(write_physics(document, scene, sink), Diagnostics())
    assert not [str(issue) for issue in sink if issue.is_error]
    assert again.colliders == scene.colliders
    assert again.triggers == scene.triggers
    assert again.gravity_volumes == scene.gravity_volumes
    assert {n: j.description for n, j in again.joints.items()} == {
        n: j.description for n, j in scene.joints.items()
    }
    moving = {n: m for n, m in scene.motions.items() if m.kind is not MotionKind.STATIC}
    assert {n: again.motions[n] for n in moving} == moving
    kept = {n: m for n, m in again.motions.items() if n not in moving}
    assert all(m.kind is MotionKind.KINEMATIC and not any(m.linear_velocity) for m in kept.values())
