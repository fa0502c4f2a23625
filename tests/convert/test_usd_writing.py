"""Stages that are written: what comes back when they are read, and what OpenUSD says of them.

Attributes of UsdPhysics have single precision, 6e-8 of a number.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.convert.issues import NOT_IN_USD, USD_APPROXIMATED, USD_NEEDS_USD_CORE
from gltf_bullet.convert.usd import process
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.model import (
    CombineMode,
    JointDescription,
    JointLimit,
    MotionKind,
    may_collide,
)
from gltf_bullet.planning.mass_planner import MASS_UNDEFINED
from gltf_bullet.runtime.world_export import robot_file, write_usd
from gltf_bullet.transforms import FloatArray
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # a fixture
from tests.convert.robots import DATA
from tests.convert.usd_stages import (
    at,
    convert,
    cube,
    inertia_of,
    joint,
    joint_of,
    motion_of,
    node_of,
    prim,
    stage,
)
from tools.gltf_builder import GltfBuilder

pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdPhysics, UsdValidation

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "assets").glob("*.gltf"))
MODELS = sorted((Path(__file__).parent / "usd_models").glob("*.xml"))
KHR = "KHR_physics_rigid_bodies"
SHAPES = "KHR_implicit_shapes"
PROBES = np.array([[0, 0, 0, 1], [0.3, 0, 0, 1], [0, 0.3, 0, 1], [0, 0, 0.3, 1]], dtype=float).T
"""Points of a body that show its turn, too [m]."""
OFF = {
    "cart_pole_task.gltf": (math.inf, "the behavior graph"),
    "sorting_gate.gltf": (math.inf, "the behavior graph"),
    "ragdoll.gltf": (1.0, "a cone of 2 axes"),
    "friction_ramp.gltf": (0.5e-3, ""),
    "shape_zoo.gltf": (1.0, "a plane that ends"),
    "vehicle.gltf": (4e-3, ""),
}
"""Examples that are elsewhere after 1 s, how far [m], and what is named. Where bodies are and what
they weigh, changed by 6e-8 of itself, moves ``friction_ramp`` by 0.3, ``shape_zoo`` by 834 and
``vehicle`` by 3 mm (measured): single precision."""


def written(asset: gb.Asset, folder: Path, name: str = "out.usda") -> tuple[gb.Asset, Diagnostics]:
    """What is read of an asset's stage, and the findings of writing."""
    diagnostics = Diagnostics()
    write_usd(asset, folder / name, diagnostics)
    return gb.read_asset(folder / name), diagnostics


def places(asset: gb.Asset, seconds: float) -> dict[str, FloatArray]:
    """Frames of bodies without scale, by the names that prims have."""
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    scene = asset.instantiate(client, options=gb.LoadOptions(visuals="none"))
    scene.step(round(240 * seconds))
    found = {}
    for node in asset.physics.motions:
        frame = np.array(scene.world_from_node(node))
        frame[:3, :3] /= np.linalg.norm(frame[:3, :3], axis=0)
        found[asset.tree.names[node].replace(".", "_").replace(" ", "_")] = frame
    pybullet.disconnect(client)
    return found


def distance(one: gb.Asset, other: gb.Asset, seconds: float = 1.0) -> float:
    """Largest distance of probes of the bodies [m]."""
    a, b = places(one, seconds), places(other, seconds)
    assert sorted(a) == sorted(b)
    return max(
        float(np.linalg.norm(((a[name] - b[name]) @ PROBES)[:3], axis=0).max()) for name in a
    )


def complaints(path: Path) -> list[str]:
    """What OpenUSD's validators and its parser of physics say of a stage."""
    found = Usd.Stage.Open(str(path))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(found)
    said = [f"{error.GetName()}: {error.GetMessage()}" for error in errors]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is renamed in versions that still have it
        parsed = UsdPhysics.LoadUsdPhysicsFromRange(found, ["/"])
    for kind, (paths, descriptions) in parsed.items():
        pairs = zip(paths, descriptions, strict=True)
        said += [f"{kind} {where} is not valid" for where, one in pairs if not one.isValid]
    return said


# --- whole files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_come_back(path: Path, tmp_path: Path) -> None:
    asset = gb.read_asset(path)
    back, diagnostics = written(asset, tmp_path)
    assert complaints(tmp_path / "out.usda") == []
    ours = {asset.tree.names[k].replace(".", "_"): m for k, m in asset.physics.motions.items()}
    assert len(ours) == len(asset.physics.motions) == len(back.physics.motions)
    for name, motion in ours.items():
        other = motion_of(back, name) if name in back.tree.names else motion_of(
            back, name.replace(".", "_")
        )  # fmt: skip
        assert other.kind is motion.kind
        if motion.mass is not None and motion.kind is MotionKind.DYNAMIC:
            assert other.mass == pytest.approx(motion.mass, rel=1e-7)
    assert len(back.physics.joints) == len(asset.physics.joints)
    most, named = OFF.get(path.name, (5e-5, ""))
    assert named in " ".join(issue.message for issue in diagnostics)
    if most < math.inf:
        assert distance(asset, back) < most


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_models_of_mujoco_come_back(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    asset = robot_file(path, Diagnostics())[1]
    back, _ = written(asset, tmp_path)
    assert complaints(tmp_path / "out.usda") == []
    assert distance(asset, back) < 5e-5


@pytest.mark.parametrize("name", ["r2d2.urdf", "kuka_iiwa/model.urdf"])
def test_robots_come_back(name: str, tmp_path: Path) -> None:
    asset = robot_file(DATA / name, Diagnostics())[1]
    back, _ = written(asset, tmp_path)
    assert complaints(tmp_path / "out.usda") == []
    assert distance(asset, back, 0.5) < 5e-5


# --- joints ---------------------------------------------------------------------------------------

TWO = cube("a") + cube("b", at(2, 0, 0))
SIDES = ("point3f physics:localPos0 = (1, 0, 0)", "point3f physics:localPos1 = (-1, 0, 0)")


def limits_of(description: JointDescription) -> dict[tuple[str, tuple[int, ...]], JointLimit]:
    return {(limit.kind.value, limit.axes): limit for limit in description.limits}


def test_limits_and_drives_of_a_joint_come_back(tmp_path: Path) -> None:
    """Axes with limits, springs at limits and drives of both modes, in degrees in the stage."""
    free = joint(
        "Joint", "j", "a", "b", *SIDES,
        "float limit:transX:physics:low = -0.1", "float limit:transX:physics:high = 0.2",
        "float physxLimit:transX:stiffness = 300", "float physxLimit:transX:damping = 4",
        "float limit:transY:physics:low = 1", "float limit:transY:physics:high = -1",
        "float limit:rotX:physics:low = -30", "float limit:rotX:physics:high = 60",
        'uniform token drive:rotX:physics:type = "force"',
        "float drive:rotX:physics:stiffness = 5", "float drive:rotX:physics:damping = 0.5",
        "float drive:rotX:physics:targetPosition = 20", "float drive:rotX:physics:maxForce = 7",
        'uniform token drive:rotZ:physics:type = "acceleration"',
        "float drive:rotZ:physics:damping = 3", "float drive:rotZ:physics:targetVelocity = 90",
        "bool physics:collisionEnabled = 1",
        apis="PhysicsLimitAPI:transX PhysicsLimitAPI:transY PhysicsLimitAPI:rotX "
        "PhysicsDriveAPI:rotX PhysicsDriveAPI:rotZ",
    )  # fmt: skip
    asset, _ = convert(tmp_path, stage(TWO + free))
    back, diagnostics = written(asset, tmp_path)
    assert not len(diagnostics)
    ours, theirs = joint_of(asset, "j"), joint_of(back, "j")
    assert theirs.enable_collision
    one, other = limits_of(ours.description), limits_of(theirs.description)
    assert one.keys() == other.keys()
    for key, limit in one.items():
        for field in ("minimum", "maximum", "stiffness", "damping"):
            assert getattr(other[key], field) == pytest.approx(getattr(limit, field), rel=3e-7)
    for a, b in zip(ours.description.drives, theirs.description.drives, strict=True):
        assert (a.kind, a.axis, a.mode) == (b.kind, b.axis, b.mode)
        for field in (
            "stiffness", "damping", "position_target", "velocity_target", "max_force",
        ):  # fmt: skip
            assert getattr(b, field) == pytest.approx(getattr(a, field), rel=3e-7)


@pytest.mark.parametrize(
    ("kind", "lines", "word"),
    [
        ("FixedJoint", (), "FixedJoint"),
        ("SphericalJoint",
         ("float physics:coneAngle0Limit = 40", "float physics:coneAngle1Limit = 40",
          'uniform token physics:axis = "Y"'), "SphericalJoint"),
        ("DistanceJoint",
         ("float physics:minDistance = 0.1", "float physics:maxDistance = 0.5"), "DistanceJoint"),
        ("PrismaticJoint",
         ("float physics:lowerLimit = -0.2", 'uniform token physics:axis = "Z"'),
         "PrismaticJoint"),
        ("RevoluteJoint",
         ("float physics:lowerLimit = -20", "float physics:upperLimit = 70",
          "float newton:armature = 0.3", "float physxJoint:maxJointVelocity = 90"),
         "RevoluteJoint"),
    ],
)  # fmt: skip
def test_kinds_of_joints_come_back(
    kind: str, lines: tuple[str, ...], word: str, tmp_path: Path
) -> None:
    asset, _ = convert(tmp_path, stage(TWO + joint(kind, "j", "a", "b", *SIDES, *lines)))
    back, _ = written(asset, tmp_path)
    opened = Usd.Stage.Open(str(tmp_path / "out.usda"))
    found = opened.GetPrimAtPath("/World/joints/j")
    assert found.GetTypeName() == f"Physics{word}"
    ours, theirs = joint_of(asset, "j"), joint_of(back, "j")
    one, other = limits_of(ours.description), limits_of(theirs.description)
    assert one.keys() == other.keys()
    for key, limit in one.items():
        bounds = (other[key].minimum, other[key].maximum)
        assert bounds == pytest.approx((limit.minimum, limit.maximum), rel=3e-7)
    assert theirs.max_velocity == pytest.approx(ours.max_velocity, rel=3e-7)
    if "newton:armature" in " ".join(lines):
        assert found.GetAttribute("newton:armature").Get() == pytest.approx(0.3)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
@pytest.mark.parametrize("kind", ["RevoluteJoint", "PrismaticJoint", "Joint"])
def test_a_joint_whose_child_is_its_first_prim_keeps_its_sense(
    kind: str, axis: str, tmp_path: Path
) -> None:
    """Readers want the parent first; the child turns or slides the same way from either end."""
    name = ("trans" if kind == "PrismaticJoint" else "rot") + axis
    lines = [f'uniform token physics:axis = "{axis}"']
    apis = {"RevoluteJoint": "PhysicsDriveAPI:angular", "PrismaticJoint": "PhysicsDriveAPI:linear"}
    word = "angular" if kind == "RevoluteJoint" else "linear"
    if kind == "Joint":
        word, lines = name, []
        others = ("transX", "transY", "transZ")
        lines = [f"float limit:{n}:physics:low = 1\nfloat limit:{n}:physics:high = -1"
                 for n in others]  # fmt: skip
    lines.append(f"float drive:{word}:physics:damping = 100")
    lines.append(f"float drive:{word}:physics:targetVelocity = {40 if 'rot' in name else 0.5}")
    locked = "PhysicsLimitAPI:transX PhysicsLimitAPI:transY PhysicsLimitAPI:transZ"
    schemas = apis.get(kind) or f"PhysicsDriveAPI:{name} {locked}"
    text = stage(
        prim("PhysicsScene", "scene", "float physics:gravityMagnitude = 0")
        + cube("a", "float physics:mass = 1")
        + joint(kind, "j", "a", "", "point3f physics:localPos0 = (1, 0, 0)",
                "point3f physics:localPos1 = (1, 0, 0)", *lines, apis=schemas)
    )  # fmt: skip
    asset, _ = convert(tmp_path, text)
    back, _ = written(asset, tmp_path)
    opened = Usd.Stage.Open(str(tmp_path / "out.usda"))
    found = UsdPhysics.Joint(opened.GetPrimAtPath("/World/joints/j"))
    assert [str(p) for p in found.GetBody1Rel().GetTargets()] == ["/World/world/a"]
    assert not found.GetBody0Rel().GetTargets()
    moved = places(asset, 0.5)["a"]
    assert np.abs(moved - places(asset, 0.0)["a"]).max() > 0.05
    assert distance(asset, back, 0.5) < 1e-5


def test_a_follower_comes_back(tmp_path: Path) -> None:
    bodies = cube("a") + cube("b", at(2, 0, 0)) + cube("c", at(4, 0, 0))
    lead = joint("RevoluteJoint", "lead", "a", "b", *SIDES)
    follow = joint(
        "RevoluteJoint", "follow", "b", "c", *SIDES,
        "rel newton:mimicJoint = </World/lead>", "float newton:mimicCoef0 = 30",
        "float newton:mimicCoef1 = -2", apis="NewtonMimicAPI",
    )  # fmt: skip
    asset, _ = convert(tmp_path, stage(bodies + lead + follow))
    back, _ = written(asset, tmp_path)
    coupling = joint_of(back, "follow").coupling
    assert coupling is not None
    assert back.tree.names[coupling.leader] == "lead"
    assert (coupling.multiplier, coupling.offset) == pytest.approx((-2.0, math.pi / 6.0), rel=1e-6)


def test_two_drives_of_an_axis_become_their_sum(tmp_path: Path) -> None:
    """k1 (t1 - x) + k2 (t2 - x) = (k1 + k2) ((k1 t1 + k2 t2) / (k1 + k2) - x)."""
    asset, _ = convert(tmp_path, stage(TWO + joint(
        "PrismaticJoint", "j", "a", "b", *SIDES,
        "float drive:linear:physics:stiffness = 30", "float drive:linear:physics:damping = 2",
        "float drive:linear:physics:targetPosition = 0.5", "double mjc:stiffness = 10",
        "double mjc:damping = 3", apis="PhysicsDriveAPI:linear",
    )))  # fmt: skip
    assert len(joint_of(asset, "j").description.drives) == 2
    (drive,) = joint_of(written(asset, tmp_path)[0], "j").description.drives
    assert (drive.stiffness, drive.damping) == pytest.approx((40.0, 5.0))
    assert drive.position_target == pytest.approx(30 * 0.5 / 40)


def test_loops_are_marked_and_each_tree_has_one_root(tmp_path: Path) -> None:
    write_usd(gb.read_asset(_example("four_bar")), tmp_path / "out.usda", Diagnostics())
    found = Usd.Stage.Open(str(tmp_path / "out.usda"))
    joints = [UsdPhysics.Joint(p) for p in found.Traverse() if p.IsA(UsdPhysics.Joint)]
    outside = [j.GetExcludeFromArticulationAttr().Get() for j in joints]
    assert outside.count(True) == 1
    assert len(joints) == 4
    roots = [p for p in found.Traverse() if p.HasAPI(UsdPhysics.ArticulationRootAPI)]
    assert len(roots) == 1


# --- bodies and colliders -------------------------------------------------------------------------


def _example(name: str) -> Path:
    return next(path for path in EXAMPLES if path.stem == name)


def test_bodies_below_scaled_nodes_keep_velocities_centres_and_joints(tmp_path: Path) -> None:
    builder = GltfBuilder()
    builder.root_extension(SHAPES, {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]})
    locked = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0},
              {"angularAxes": [1, 2], "min": 0, "max": 0}]  # fmt: skip
    builder.root_extension(KHR, {"physicsJoints": [{"limits": locked}]})
    motion = {
        "mass": 2, "centerOfMass": [0.1, 0.2, 0.3], "inertiaDiagonal": [1, 2, 2.5],
        "linearVelocity": [1, 2, 3], "angularVelocity": [0.5, 0.25, -1], "gravityFactor": 0.25,
    }  # fmt: skip
    turned = [0.0, math.sin(0.3), 0.0, math.cos(0.3)]
    top = builder.node("top", scale=[2, 3, 2], translation=[0, 5, 0], rotation=turned)
    body = builder.node(
        "body", parent=top, translation=[1, 1, 0], rotation=[math.sin(0.2), 0, 0, math.cos(0.2)],
        extensions={KHR: {"motion": motion, "collider": {"geometry": {"shape": 0}}}},
    )  # fmt: skip
    inner = builder.node(
        "inner", parent=body, translation=[0, 2, 0],
        extensions={KHR: {"motion": {"mass": 1, "gravityFactor": 0},
                          "collider": {"geometry": {"shape": 0}}}},
    )  # fmt: skip
    end = builder.node("end", parent=inner, translation=[0, -1, 0])
    builder.node(
        "hinge",
        parent=body,
        translation=[0, 1, 0],
        extensions={KHR: {"joint": {"connectedNode": end, "joint": 0}}},
    )
    asset = gb.read_asset(builder.glb())
    back, diagnostics = written(asset, tmp_path)
    assert "gravity factor 0.25" in diagnostics.take(NOT_IN_USD).message
    assert complaints(tmp_path / "out.usda") == []
    assert motion_of(back, "body").gravity_factor == pytest.approx(0.25)
    assert motion_of(back, "inner").gravity_factor == 0.0
    one, other = places(asset, 0.25), places(back, 0.25)
    for name, frame in one.items():  # the axes of the file's nodes are skewed
        assert np.abs(frame[:3, 3] - other[name][:3, 3]).max() < 1e-5


def test_names_of_any_language_and_of_our_own_scopes(tmp_path: Path) -> None:
    builder = GltfBuilder()
    names = ["轮子", "joints", "Materials", "PhysicsMaterials", "a b", "a.b", "3rd", "", "a b"]
    for number, name in enumerate(names):
        motion = {"mass": number + 1.0, "inertiaDiagonal": [1, 1, 1]}
        builder.node(name, extensions={KHR: {"motion": motion}})
    back, _ = written(gb.read_asset(builder.glb()), tmp_path)
    found = {back.tree.names[k]: m.mass for k, m in back.physics.motions.items()}
    prims = ["轮子", "joints", "Materials", "PhysicsMaterials", "a_b", "a_b_2", "_3rd", "node_7"]
    assert list(found) == [*prims, "a_b_3"]
    assert list(found.values()) == [number + 1.0 for number in range(9)]
    opened = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert opened.GetPrimAtPath("/World/a_b_2").GetDisplayName() == "a.b"


def test_a_mass_that_nothing_gives_is_named(tmp_path: Path) -> None:
    builder = GltfBuilder()
    builder.node("ghost", extensions={KHR: {"motion": {}}})
    back, diagnostics = written(gb.read_asset(builder.glb()), tmp_path)
    assert diagnostics.take(MASS_UNDEFINED)
    assert motion_of(back, "ghost").mass == 1.0


def test_infinite_masses_are_large_and_named(tmp_path: Path) -> None:
    builder = GltfBuilder()
    builder.node("wall", extensions={KHR: {"motion": {"mass": 0}}})
    builder.node("ball", extensions={KHR: {"motion": {"mass": 3, "inertiaDiagonal": [1, 1, 1]}}})
    back, diagnostics = written(gb.read_asset(builder.glb()), tmp_path)
    assert "infinite mass" in diagnostics.take(NOT_IN_USD).message
    assert motion_of(back, "wall").mass == pytest.approx(3e9)


def test_materials_and_combine_modes_come_back(tmp_path: Path) -> None:
    builder = GltfBuilder()
    builder.root_extension(SHAPES, {"shapes": [{"type": "sphere", "sphere": {"radius": 0.5}}]})
    materials = [
        {"staticFriction": 0.7, "dynamicFriction": 0.4, "restitution": 0.3,
         "frictionCombine": mode, "restitutionCombine": "maximum"}
        for mode in ("average", "minimum", "maximum", "multiply")
    ]  # fmt: skip
    builder.root_extension(KHR, {"physicsMaterials": materials})
    for number in range(5):
        collider = {"geometry": {"shape": 0}}
        if number < 4:
            collider["physicsMaterial"] = number  # type: ignore[assignment]
        builder.node(f"n{number}", translation=[number, 0, 0], extensions={KHR: {
            "motion": {}, "collider": collider,
        }})  # fmt: skip
    back, _ = written(gb.read_asset(builder.glb()), tmp_path)
    for number, mode in enumerate(CombineMode):
        found = _collider(back, f"n{number}").material
        assert found is not None
        values = (found.static_friction, found.dynamic_friction, found.restitution)
        assert values == pytest.approx((0.7, 0.4, 0.3))
        assert (found.friction_combine, found.restitution_combine) == (mode, CombineMode.MAXIMUM)
    plain = _collider(back, "n4").material
    assert plain is not None
    # The default of KHR_physics_rigid_bodies, which UsdPhysics leaves to engines.
    assert (plain.static_friction, plain.dynamic_friction) == pytest.approx((0.6, 0.6))


def body_id(scene: gb.Scene, name: str) -> int:
    names = scene.asset.tree.names
    body = scene.body_of(next(k for k in scene.asset.physics.motions if names[k] == name))
    assert body is not None
    return body.body_id


def _collider(asset: gb.Asset, owner: str) -> Any:
    top = node_of(asset, owner)
    return next(
        c for k, c in asset.physics.colliders.items() if top in (k, *asset.tree.ancestors(k))
    )


def test_filters_come_back(tmp_path: Path) -> None:
    asset = gb.read_asset(_example("filter_gallery"))
    back, _ = written(asset, tmp_path)
    ours = {asset.tree.names[k]: c.filter for k, c in asset.physics.colliders.items()}
    theirs = {}
    for node, collider in back.physics.colliders.items():
        names = [back.tree.names[k] for k in (node, *back.tree.ancestors(node))]
        own = next(n for name in names for n in ours if name.split("/")[0] in (n, f"{n}_collider"))
        theirs[own] = collider.filter
    assert theirs.keys() == ours.keys()
    moving = {asset.tree.names[k] for k in asset.physics.motions}
    for a in ours:
        for b in ours:
            if a != b and (a in moving or b in moving):
                assert may_collide(ours[a], ours[b]) == may_collide(theirs[a], theirs[b])


def test_triggers_are_those_of_physx_and_named(tmp_path: Path) -> None:
    asset = gb.read_asset(_example("goal_line"))
    back, diagnostics = written(asset, tmp_path)
    lost = [issue.message for issue in diagnostics if issue.kind is NOT_IN_USD]
    assert any("for others it is solid" in message for message in lost)
    assert any("several shapes" in message for message in lost)
    single = [t for t in asset.physics.triggers.values() if t.shape is not None]
    assert len(back.physics.triggers) == len(single)


def test_round_shapes_that_are_scaled_unevenly_become_what_is_simulated(tmp_path: Path) -> None:
    """A long cylinder is exact; a ball becomes a hull, whose volume is named."""
    builder = GltfBuilder()
    shapes = [
        {"type": "cylinder", "cylinder": {"height": 1, "radiusBottom": 0.5, "radiusTop": 0.5}},
        {"type": "sphere", "sphere": {"radius": 0.5}},
        {"type": "cylinder", "cylinder": {"height": 1, "radiusBottom": 0.5, "radiusTop": 0.2}},
    ]
    builder.root_extension(SHAPES, {"shapes": shapes})
    for shape, (name, scale) in enumerate(
        (("long", [1, 3, 1]), ("egg", [1, 2, 3]), ("flipped", [1, -1, 1]))
    ):
        builder.node(name, scale=scale, translation=[5 * shape, 0, 0], extensions={KHR: {
            "motion": {}, "collider": {"geometry": {"shape": shape}},
        }})  # fmt: skip
    asset = gb.read_asset(builder.glb())
    back, diagnostics = written(asset, tmp_path)
    assert complaints(tmp_path / "out.usda") == []
    message = diagnostics.take(USD_APPROXIMATED).message
    assert "1 x an uneven round shape" in message
    assert "egg" in message
    for name in ("long", "egg", "flipped"):
        client = pybullet.connect(pybullet.DIRECT)
        bounds = []
        for one in (asset, back):
            scene = one.instantiate(client)
            bounds.append(np.array(pybullet.getAABB(body_id(scene, name))))
        pybullet.disconnect(client)
        assert bounds[0] == pytest.approx(bounds[1], abs=1e-5)
        tensors = [inertia_of(motion_of(back, name))]
        assert np.isfinite(tensors).all()


# --- looks and movement ---------------------------------------------------------------------------


def _textured() -> gb.Asset:
    picture = io.BytesIO()
    Image.new("RGB", (2, 2), (255, 0, 0)).save(picture, "PNG")
    builder = GltfBuilder()
    image = builder.image(picture.getvalue())
    material = builder.material(
        name="red", pbrMetallicRoughness={"baseColorTexture": {"index": builder.texture(image)}}
    )
    mesh = builder.mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], material=material,
        attributes={"TEXCOORD_0": np.array([[0, 0], [1, 0], [0, 1]], dtype=np.float32)},
    )  # fmt: skip
    motion = {"mass": 1, "inertiaDiagonal": [1, 1, 1]}
    builder.node("leaf", mesh=mesh, extensions={KHR: {"motion": motion}})
    return gb.read_asset(builder.glb())


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd", ".usdz"])
def test_textures_are_beside_the_stage_or_in_the_archive(suffix: str, tmp_path: Path) -> None:
    back, diagnostics = written(_textured(), tmp_path, f"leaf{suffix}")
    assert not len(diagnostics)
    assert back.document.count("images") == 1
    assert back.document.count("textures") == 1
    assert complaints(tmp_path / f"leaf{suffix}") == []
    if suffix == ".usdz":
        names = zipfile.ZipFile(tmp_path / "leaf.usdz").namelist()
        assert any(name.endswith(".png") for name in names)
        assert [path.name for path in tmp_path.iterdir()] == ["leaf.usdz"]
    else:
        assert (tmp_path / "leaf_textures" / "image_0.png").read_bytes().startswith(b"\x89PNG")


def test_a_rollout_becomes_time_samples(tmp_path: Path, run: Run) -> None:
    source, out = _example("hinge_door"), tmp_path / "door.usda"
    assert run("bake", source, out, "--seconds", 1).code == 0
    found = Usd.Stage.Open(str(out))
    rate = found.GetTimeCodesPerSecond()
    door = UsdGeom.Xformable(found.GetPrimAtPath("/World/Door"))
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, -9.81, 0, physicsClientId=client)
    scene = gb.load_gltf(source, client, up_axis="y")
    for seconds in (0.0, 0.5, 1.0):
        scene.step(round(240 * (seconds - scene.time)))
        shown = np.array(door.ComputeLocalToWorldTransform(Usd.TimeCode(seconds * rate))).T
        ours = scene.world_from_node(scene.asset.tree.names.index("Door"))
        assert np.abs(shown - ours).max() < 2e-3  # bake's tolerance is 1 mm
    pybullet.disconnect(client)


# --- commands and calls ---------------------------------------------------------------------------


def test_a_world_is_exported_as_a_stage(tmp_path: Path) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.1, 0.2, 0.3], physicsClientId=client
    )
    pybullet.createMultiBody(2.5, shape, basePosition=[1, 2, 3], physicsClientId=client)
    gb.export_world(tmp_path / "world.usda", client)
    pybullet.disconnect(client)
    back = gb.read_asset(tmp_path / "world.usda")
    (motion,) = back.physics.motions.values()
    assert motion.mass == pytest.approx(2.5)


def test_convert_writes_a_stage_and_refuses_what_says_nothing_of_it(
    tmp_path: Path, run: Run
) -> None:
    source, out = _example("ragdoll"), tmp_path / "ragdoll.usda"
    done = run("convert", source, out)
    assert done.code == 0
    assert "USD_APPROXIMATED" in done.out
    assert complaints(out) == []
    for options in (("--to", "gltf-2.1"), ("--servo", "1,2")):
        assert run("convert", source, tmp_path / "x.usda", *options).code == 2
    assert run("convert", out, tmp_path / "x.glb", "--servo", "1,2").code == 2
    assert not (tmp_path / "x.usda").exists()


def test_without_openusd_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda _: None)
    diagnostics = Diagnostics()
    with pytest.raises(ContainerError):
        write_usd(gb.read_asset(_example("falling_box")), tmp_path / "out.usda", diagnostics)
    assert diagnostics.take(USD_NEEDS_USD_CORE)
    assert list(tmp_path.iterdir()) == []
