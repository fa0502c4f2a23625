"""What single elements of a USD stage become; expected values are formulas of UsdPhysics' texts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.convert.issues import (
    LINK_WITHOUT_MASS,
    NOT_IN_GLTF,
    USD_APPROXIMATED,
    USD_NO_UNITS,
    USD_ZERO_MASS,
)
from gltf_bullet.model import (
    Box,
    Capsule,
    CombineMode,
    Cylinder,
    DofKind,
    DriveMode,
    MeshShape,
    MotionKind,
    Plane,
    Sphere,
    may_collide,
)
from gltf_bullet.transforms import quat_rotate
from tests.convert.usd_stages import (
    at,
    convert,
    cube,
    inertia_of,
    joint,
    joint_of,
    motion_of,
    node_of,
    owner_of,
    prim,
    stage,
)

pytest.importorskip("pxr")

DEGREE = math.pi / 180.0
PAIR = cube("a") + cube("b", at(2, 0, 0))


# --- units and axes -------------------------------------------------------------------------------


def test_centimetres_grams_and_y_up_become_si_and_y_up(tmp_path: Path) -> None:
    """A cube of 10 cm at 3 g/cm3 is 3 kg; 50 cm/s are 0.5 m/s."""
    text = stage(
        prim("PhysicsScene", "scene")
        + cube("box", at(0, 20, 0), "float physics:density = 3",
               "vector3f physics:velocity = (0, 50, 0)", size=10),
        metres=0.01, kilograms=0.001, up="Y",
    )  # fmt: skip
    asset, diagnostics = convert(tmp_path, text)
    motion = motion_of(asset, "box")
    assert motion.mass == pytest.approx(3.0, rel=1e-6)
    assert motion.linear_velocity == pytest.approx((0.0, 0.5, 0.0))
    assert asset.tree.translations[node_of(asset, "box")] == pytest.approx((0.0, 0.2, 0.0))
    gravity = asset.physics.world_gravity
    assert gravity is not None
    assert gravity.gravity == pytest.approx(9.81)
    assert gravity.direction == pytest.approx((0.0, -1.0, 0.0))
    assert not len(diagnostics)


def test_a_stage_without_units_is_in_centimetres(tmp_path: Path) -> None:
    text = '#usda 1.0\ndef Xform "World"\n{\n' + cube("box", size=100) + "}\n"
    asset, diagnostics = convert(tmp_path, text)
    assert diagnostics.take(USD_NO_UNITS).values["length"] == 0.01
    (collider,) = asset.physics.colliders.values()
    assert collider.shape == Box(size=(1.0, 1.0, 1.0))


def test_gravity_is_stated_by_a_scene_alone(tmp_path: Path) -> None:
    lines = (
        "vector3f physics:gravityDirection = (2, 0, 0)",
        "float physics:gravityMagnitude = 300",
    )
    scene = prim("PhysicsScene", "scene", *lines)
    gravity = convert(tmp_path, stage(scene + PAIR, metres=0.01))[0].physics.world_gravity
    assert gravity is not None
    assert gravity.gravity == pytest.approx(3.0)
    assert gravity.direction == pytest.approx((1.0, 0.0, 0.0))
    assert convert(tmp_path, stage(PAIR))[0].physics.world_gravity is None


# --- bodies ---------------------------------------------------------------------------------------


def test_velocities_are_in_the_space_of_the_parent(tmp_path: Path) -> None:
    """Y of a parent turned by 90 degrees about Z is -X of the world; degrees per second."""
    body = cube("box", at(0, 0, 0, "float3 rotateXYZ = (0, 0, 90)"),
                "vector3f physics:velocity = (0, 3, 0)",
                "vector3f physics:angularVelocity = (0, 180, 0)")  # fmt: skip
    turned = prim("Xform", "turned", at(0, 0, 0, "float3 rotateXYZ = (0, 0, 90)"), body)
    asset, _ = convert(tmp_path, stage(turned))
    motion = motion_of(asset, "box")
    # The node itself is turned by 180 degrees: -X of the world is its +X.
    assert motion.linear_velocity == pytest.approx((3.0, 0.0, 0.0), abs=1e-6)
    assert motion.angular_velocity == pytest.approx((math.pi, 0.0, 0.0), abs=1e-6)


def test_nested_bodies_have_their_own_colliders(tmp_path: Path) -> None:
    ball = prim("Sphere", "ball", "double radius = 1", apis="PhysicsCollisionAPI")
    inner = prim("Xform", "inner", at(5, 0, 0), ball, apis="PhysicsRigidBodyAPI")
    asset, _ = convert(
        tmp_path, stage(prim("Xform", "outer", ball, inner, apis="PhysicsRigidBodyAPI"))
    )
    each = 1000.0 * 4.0 / 3.0 * math.pi  # the density that UsdPhysics takes where none is stated
    assert motion_of(asset, "outer").mass == pytest.approx(each, rel=1e-6)
    assert motion_of(asset, "inner").mass == pytest.approx(each, rel=1e-6)


def test_disabled_and_kinematic_bodies(tmp_path: Path) -> None:
    asset, _ = convert(
        tmp_path,
        stage(
            cube("off", "bool physics:rigidBodyEnabled = 0")
            + cube("moved", "bool physics:kinematicEnabled = 1")
        ),
    )
    assert motion_of(asset, "moved").kind is MotionKind.KINEMATIC
    assert len(asset.physics.motions) == 1
    assert len(asset.physics.colliders) == 2


def test_mass_of_the_body_counts_before_that_of_its_shapes(tmp_path: Path) -> None:
    shape = prim("Cube", "shape", "double size = 1", "float physics:mass = 7",
                 apis="PhysicsCollisionAPI PhysicsMassAPI")  # fmt: skip
    body = prim("Xform", "body", "float physics:mass = 2", shape,
                apis="PhysicsRigidBodyAPI PhysicsMassAPI")  # fmt: skip
    other = prim("Xform", "other", shape, apis="PhysicsRigidBodyAPI")
    asset, _ = convert(tmp_path, stage(body + other))
    assert motion_of(asset, "body").mass == 2.0
    assert motion_of(asset, "other").mass == 7.0
    assert inertia_of(motion_of(asset, "body")) == pytest.approx(np.eye(3) * 2.0 / 6.0)


def test_stated_inertia_without_axes_is_along_those_of_the_body(tmp_path: Path) -> None:
    """The centre is in the prim's space, which is scaled; OpenUSD leaves the axes undefined."""
    body = cube("body", at(0, 0, 0, "float3 scale = (2, 2, 2)"), "float physics:mass = 2",
                "float3 physics:diagonalInertia = (1, 2, 3)",
                "point3f physics:centerOfMass = (0.5, 0, 0)")  # fmt: skip
    motion = motion_of(convert(tmp_path, stage(body))[0], "body")
    assert motion.inertia_diagonal == (1.0, 2.0, 3.0)
    assert motion.inertia_orientation_xyzw == (0.0, 0.0, 0.0, 1.0)
    assert motion.center_of_mass == (1.0, 0.0, 0.0)


def test_small_moments_are_those_that_are_stated(tmp_path: Path) -> None:
    """Only (0, 0, 0) means "not stated"; OpenUSD ignores what is below 1e-6."""
    moments = "float3 physics:diagonalInertia = (1e-7, 2e-7, 2e-7)"
    text = stage(cube("a", "float physics:mass = 1", moments))
    motion = motion_of(convert(tmp_path, text)[0], "a")
    assert motion.inertia_diagonal == pytest.approx((1e-7, 2e-7, 2e-7), rel=1e-6)


def test_a_mass_of_0_means_that_none_is_stated(tmp_path: Path) -> None:
    asset, diagnostics = convert(tmp_path, stage(cube("body", "float physics:mass = 0", size=0.1)))
    assert motion_of(asset, "body").mass == pytest.approx(1.0, rel=1e-6)
    issue = diagnostics.take(USD_ZERO_MASS)
    assert issue.values["mass"] == pytest.approx(1.0, rel=1e-6)
    assert issue.values["names"] == "/World/body"


def test_a_body_without_shape_and_mass_weighs_next_to_nothing(tmp_path: Path) -> None:
    text = stage(cube("a") + prim("Xform", "frame", apis="PhysicsRigidBodyAPI"))
    asset, diagnostics = convert(tmp_path, text)
    diagnostics.take(LINK_WITHOUT_MASS)
    assert (motion_of(asset, "frame").mass or 0.0) < 1e-3


def test_sleep_and_damping_are_named(tmp_path: Path) -> None:
    _, diagnostics = convert(
        tmp_path,
        stage(cube("a", "bool physics:startsAsleep = 1", "float physxRigidBody:linearDamping = 2")),
    )
    messages = [issue.message for issue in diagnostics if issue.kind is NOT_IN_GLTF]
    assert any("startsAsleep of /World/a" in message for message in messages)
    assert any("linear damping 2 1/s of /World/a" in message for message in messages)


# --- shapes ---------------------------------------------------------------------------------------

SOLIDS = [
    ('Sphere', "double radius = 0.5", Sphere(radius=0.5), math.pi / 6.0),
    ('Capsule', 'double radius = 0.5\ndouble height = 2\nuniform token axis = "X"',
     Capsule(mid_height=2.0, radius_bottom=0.5, radius_top=0.5), math.pi * (0.5 + 1.0 / 6.0)),
    ('Cylinder', 'double radius = 0.5\ndouble height = 2\nuniform token axis = "Y"',
     Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.5), 0.5 * math.pi),
    ('Cone', "double radius = 0.5\ndouble height = 2",
     Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.0), math.pi / 6.0),
    ('Cylinder_1', "double radiusBottom = 0.5\ndouble radiusTop = 0.25\ndouble height = 2",
     Cylinder(height=2.0, radius_bottom=0.5, radius_top=0.25),
     math.pi * 2.0 / 3.0 * (0.25 + 0.125 + 0.0625)),
    ('Cube', "double size = 2", Box(size=(2.0, 2.0, 2.0)), 8.0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "lines", "shape", "volume"), SOLIDS, ids=[s[0] for s in SOLIDS])
def test_solids_keep_their_kind_and_volume(
    tmp_path: Path, kind: str, lines: str, shape: object, volume: float
) -> None:
    body = prim(kind, "body", lines, apis="PhysicsRigidBodyAPI PhysicsCollisionAPI")
    asset, _ = convert(tmp_path, stage(body))
    (collider,) = asset.physics.colliders.values()
    assert collider.shape == shape
    assert motion_of(asset, "body").mass == pytest.approx(1000.0 * volume, rel=1e-6)


def test_a_cone_points_where_its_axis_does_also_when_mirrored(tmp_path: Path) -> None:
    """The centre of a cone is a quarter of its height from its base."""
    cone = prim("Cone", "cone", 'uniform token axis = "X"', "double height = 2",
                apis="PhysicsCollisionAPI")  # fmt: skip
    plain = prim("Xform", "plain", cone, apis="PhysicsRigidBodyAPI")
    mirrored = prim("Xform", "mirrored", at(0, 5, 0), prim(
        "Xform", "inside", at(0, 0, 0, "float3 scale = (-1, 1, 1)"), cone
    ), apis="PhysicsRigidBodyAPI")  # fmt: skip
    asset, _ = convert(tmp_path, stage(plain + mirrored))
    assert motion_of(asset, "plain").center_of_mass == pytest.approx((-0.5, 0, 0), abs=1e-6)
    assert motion_of(asset, "mirrored").center_of_mass == pytest.approx((0.5, 0, 0), abs=1e-6)


def test_scale_goes_into_sizes_where_a_shape_has_them(tmp_path: Path) -> None:
    lines = at(0, 0, 0, "float3 scale = (2, 2, 3)")
    bodies = [
        prim(kind, kind, lines, apis="PhysicsRigidBodyAPI PhysicsCollisionAPI")
        for kind in ("Cylinder", "Sphere", "Cube")
    ]
    asset, _ = convert(tmp_path, stage("".join(bodies)))
    shapes = {owner_of(asset, k): c.shape for k, c in asset.physics.colliders.items()}
    assert shapes["Cylinder"] == Cylinder(height=6.0, radius_bottom=2.0, radius_top=2.0)
    assert shapes["Cube"] == Box(size=(4.0, 4.0, 6.0))
    assert shapes["Sphere"] == Sphere(radius=1.0)  # an ellipsoid, by the scale of its node
    ellipsoid = 1000.0 * 4.0 / 3.0 * math.pi * 12.0
    assert motion_of(asset, "Sphere").mass == pytest.approx(ellipsoid, rel=1e-6)


TETRAHEDRON = """point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
int[] faceVertexCounts = [3, 3, 3, 3]
int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
uniform token subdivisionScheme = "none"
"""


@pytest.mark.parametrize(
    ("approximation", "kind", "volume"),
    [
        ("none", "mesh", 1.0 / 6.0),
        ("convexHull", "hull", 1.0 / 6.0),
        ("convexDecomposition", "mesh", 1.0 / 6.0),
        ("boundingCube", "box", 1.0),
        ("boundingSphere", "ball", 4.0 / 3.0 * math.pi * 0.75**1.5),
        ("sdf", "mesh", 1.0 / 6.0),
    ],
)
def test_meshes_collide_as_their_approximation_says(
    tmp_path: Path, approximation: str, kind: str, volume: float
) -> None:
    body = prim("Mesh", "body", TETRAHEDRON,
                f'uniform token physics:approximation = "{approximation}"',
                apis="PhysicsRigidBodyAPI PhysicsCollisionAPI PhysicsMeshCollisionAPI")  # fmt: skip
    asset, diagnostics = convert(tmp_path, stage(body))
    (collider,) = asset.physics.colliders.values()
    shape = collider.shape
    assert motion_of(asset, "body").mass == pytest.approx(1000.0 * volume, rel=1e-6)
    if isinstance(shape, MeshShape):
        assert kind == ("hull" if shape.convex_hull else "mesh")
    else:
        assert isinstance(shape, {"box": Box, "ball": Sphere}[kind])
    if approximation == "sdf":
        assert "/World/body" in diagnostics.take(USD_APPROXIMATED).message
    assert not len(diagnostics)


def test_a_left_handed_or_mirrored_mesh_has_its_outside_outside(tmp_path: Path) -> None:
    left = TETRAHEDRON.replace("0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3",
                               "0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2")  # fmt: skip
    apis = "PhysicsRigidBodyAPI PhysicsCollisionAPI"
    bodies = prim("Mesh", "left", left, 'uniform token orientation = "leftHanded"', apis=apis)
    bodies += prim("Mesh", "mirrored", TETRAHEDRON, at(0, 3, 0, "float3 scale = (-1, 1, 1)"),
                   apis=apis)  # fmt: skip
    asset, _ = convert(tmp_path, stage(bodies))
    for name, x in (("left", 0.25), ("mirrored", -0.25)):
        motion = motion_of(asset, name)
        assert motion.mass == pytest.approx(1000.0 / 6.0, rel=1e-6)
        turn = np.array(asset.tree.rotations_xyzw[node_of(asset, name)])
        center = quat_rotate(turn, np.array(motion.center_of_mass))
        assert center[0] == pytest.approx(x, abs=1e-6)


def test_a_mesh_whose_faces_do_not_add_up_is_named(tmp_path: Path) -> None:
    broken = TETRAHEDRON.replace("1, 2, 3]", "1, 2, 9]")
    _, diagnostics = convert(
        tmp_path, stage(PAIR + prim("Mesh", "broken", broken, apis="PhysicsCollisionAPI"))
    )
    assert any("/World/broken" in issue.message for issue in diagnostics)


def test_a_plane_is_one_with_its_normal_along_its_axis(tmp_path: Path) -> None:
    plane = prim("Plane", "floor", 'uniform token axis = "X"', apis="PhysicsCollisionAPI")
    asset, _ = convert(tmp_path, stage(plane))
    (collider,) = asset.physics.colliders.values()
    assert isinstance(collider.shape, Plane)


# --- materials and filters ------------------------------------------------------------------------


def material(name: str, *lines: str) -> str:
    return prim("Material", name, *lines, apis="PhysicsMaterialAPI")


def test_materials_with_the_combine_modes_of_physx(tmp_path: Path) -> None:
    bound = cube("box", "rel material:binding:physics = </World/ice>", apis="MaterialBindingAPI")
    ice = material("ice", "float physics:staticFriction = 0.2",
                   "float physics:dynamicFriction = 0.1",
                   "float physics:restitution = 0.3",
                   'uniform token physxMaterial:frictionCombineMode = "min"',
                   'uniform token physxMaterial:restitutionCombineMode = "max"')  # fmt: skip
    asset, _ = convert(tmp_path, stage(bound + ice + cube("bare", at(3, 0, 0))))
    found = {owner_of(asset, k): c.material for k, c in asset.physics.colliders.items()}
    box, bare = found["box"], found["bare"]
    assert box is not None
    assert bare is not None
    assert (box.static_friction, box.dynamic_friction) == pytest.approx((0.2, 0.1))
    assert box.restitution == pytest.approx(0.3)
    assert box.friction_combine is CombineMode.MINIMUM
    assert box.restitution_combine is CombineMode.MAXIMUM
    assert (bare.dynamic_friction, bare.restitution) == (0.5, 0.0)


def test_a_bound_material_without_friction_has_none(tmp_path: Path) -> None:
    bound = cube("box", "rel material:binding:physics = </World/ice>", apis="MaterialBindingAPI")
    asset, _ = convert(tmp_path, stage(bound + material("ice")))
    (collider,) = asset.physics.colliders.values()
    assert collider.material is not None
    assert collider.material.dynamic_friction == 0.0


def meets(asset: gb.Asset, one: str, other: str) -> bool:
    filters = {owner_of(asset, k): c.filter for k, c in asset.physics.colliders.items()}
    return may_collide(filters[one], filters[other])


FOUR = "".join(cube(name, at(2 * k, 0, 0)) for k, name in enumerate("abcd"))


def group(name: str, members: str, *lines: str) -> str:
    paths = ", ".join(f"</World/{member}>" for member in members)
    return prim("PhysicsCollisionGroup", name, f"rel collection:colliders:includes = [{paths}]",
                *lines, apis="CollectionAPI:colliders")  # fmt: skip


def test_groups_do_not_collide_with_those_they_filter(tmp_path: Path) -> None:
    text = FOUR + group("g", "ab", "rel physics:filteredGroups = </World/h>") + group("h", "c")
    asset, _ = convert(tmp_path, stage(text))
    assert not meets(asset, "a", "c")
    assert not meets(asset, "b", "c")
    assert meets(asset, "a", "b")
    assert meets(asset, "a", "d")
    assert meets(asset, "c", "d")


def test_inverted_groups_collide_with_none_but_those_they_name(tmp_path: Path) -> None:
    text = FOUR + group("g", "a", "bool physics:invertFilteredGroups = 1",
                        "rel physics:filteredGroups = </World/h>")  # fmt: skip
    asset, _ = convert(tmp_path, stage(text + group("h", "b") + group("i", "c")))
    assert meets(asset, "a", "b")
    assert not meets(asset, "a", "c")
    assert meets(asset, "b", "c")


def test_merged_groups_filter_as_one(tmp_path: Path) -> None:
    text = FOUR + group("g", "a", 'string physics:mergeGroup = "m"',
                        "rel physics:filteredGroups = </World/h>")  # fmt: skip
    text += group("other", "b", 'string physics:mergeGroup = "m"') + group("h", "c")
    asset, _ = convert(tmp_path, stage(text))
    assert not meets(asset, "b", "c")


def test_filtered_pairs(tmp_path: Path) -> None:
    filtered = cube("e", at(0, 3, 0), "rel physics:filteredPairs = </World/a>",
                    apis="PhysicsFilteredPairsAPI")  # fmt: skip
    asset, _ = convert(tmp_path, stage(FOUR + filtered))
    assert not meets(asset, "a", "e")
    assert meets(asset, "b", "e")


@pytest.mark.parametrize(
    "attribute", ["newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions"]
)
def test_articulations_without_self_collision(tmp_path: Path, attribute: str) -> None:
    robot = prim("Xform", "robot", cube("a"), cube("b", at(3, 0, 0)), f"bool {attribute} = 0",
                 apis="PhysicsArticulationRootAPI")  # fmt: skip
    asset, _ = convert(tmp_path, stage(robot + cube("c", at(9, 0, 0))))
    assert not meets(asset, "a", "b")
    assert meets(asset, "a", "c")


def test_a_trigger_of_physx_is_one(tmp_path: Path) -> None:
    zone = prim("Cube", "zone", apis="PhysicsCollisionAPI PhysxTriggerAPI")
    asset, _ = convert(tmp_path, stage(cube("a") + zone))
    assert len(asset.physics.triggers) == 1
    assert len(asset.physics.colliders) == 1


# --- joints ---------------------------------------------------------------------------------------


def test_a_hinge_has_degrees_and_gains_per_degree(tmp_path: Path) -> None:
    hinge = joint("RevoluteJoint", "hinge", "a", "b", 'uniform token physics:axis = "Y"',
                  "float physics:lowerLimit = -30", "float physics:upperLimit = 90",
                  'uniform token drive:angular:physics:type = "force"',
                  "float drive:angular:physics:stiffness = 2",
                  "float drive:angular:physics:damping = 0.5",
                  "float drive:angular:physics:targetPosition = 45",
                  "float drive:angular:physics:targetVelocity = 90",
                  "float drive:angular:physics:maxForce = 12",
                  apis="PhysicsDriveAPI:angular")  # fmt: skip
    description = joint_of(convert(tmp_path, stage(PAIR + hinge))[0], "hinge").description
    limits = {(k.kind, k.axes): (k.minimum, k.maximum) for k in description.limits}
    assert limits.pop((DofKind.ANGULAR, (1,))) == pytest.approx((-30 * DEGREE, 90 * DEGREE))
    assert limits == {(DofKind.LINEAR, (0, 1, 2)): (0, 0), (DofKind.ANGULAR, (0, 2)): (0, 0)}
    (drive,) = description.drives
    assert (drive.kind, drive.axis, drive.mode) == (DofKind.ANGULAR, 1, DriveMode.FORCE)
    assert drive.stiffness == pytest.approx(2.0 / DEGREE)
    assert drive.damping == pytest.approx(0.5 / DEGREE)
    assert drive.position_target == pytest.approx(45.0 * DEGREE)
    assert drive.velocity_target == pytest.approx(90.0 * DEGREE)
    assert drive.max_force == 12.0


@pytest.mark.parametrize("kind", ["force", "acceleration"])
def test_drives_in_units_of_the_stage(tmp_path: Path, kind: str) -> None:
    """In cm and g: torques per degree are 1e-7 N m, forces per length 1e-3 N/m; an acceleration
    per length is per length whatever the units."""
    lines = [
        line
        for name in ("angular", "linear")
        for line in (
            f'uniform token drive:{name}:physics:type = "{kind}"',
            f"float drive:{name}:physics:stiffness = 10",
            f"float drive:{name}:physics:targetPosition = 3",
        )
    ]
    text = PAIR + cube("c", at(4, 0, 0))
    text += joint("RevoluteJoint", "hinge", "a", "b", *lines, apis="PhysicsDriveAPI:angular")
    text += joint("PrismaticJoint", "slide", "b", "c", *lines, apis="PhysicsDriveAPI:linear")
    asset, _ = convert(tmp_path, stage(text, metres=0.01, kilograms=0.001))
    (turn,) = joint_of(asset, "hinge").description.drives
    (push,) = joint_of(asset, "slide").description.drives
    is_force = kind == "force"
    assert turn.stiffness == pytest.approx(10.0 / DEGREE * (1e-7 if is_force else 1.0))
    assert push.stiffness == pytest.approx(10.0 * (1e-3 if is_force else 1.0))
    assert push.position_target == pytest.approx(0.03)


def test_frames_of_joints_are_scaled_with_their_bodies(tmp_path: Path) -> None:
    scaled = cube("a", at(0, 0, 0, "float3 scale = (2, 2, 2)"))
    hinge = joint("RevoluteJoint", "hinge", "a", "b", "point3f physics:localPos0 = (0.5, 0, 0)",
                  "point3f physics:localPos1 = (-1, 0, 0)")  # fmt: skip
    asset, _ = convert(tmp_path, stage(scaled + cube("b", at(2, 0, 0)) + hinge))
    node = joint_of(asset, "hinge").node
    assert asset.tree.translations[node] == pytest.approx((1.0, 0.0, 0.0))


def test_a_generic_joint_is_free_where_it_has_no_limit(tmp_path: Path) -> None:
    lines = [
        f"float limit:{name}:physics:{end} = {value}"
        for name, low, high in (("transX", 1, -1), ("transY", -0.5, 0.5), ("rotX", -10, 20))
        for end, value in (("low", low), ("high", high))
    ]
    apis = "PhysicsLimitAPI:transX PhysicsLimitAPI:transY PhysicsLimitAPI:rotX"
    text = stage(PAIR + joint("Joint", "d6", "a", "b", *lines, apis=apis))
    limits = joint_of(convert(tmp_path, text)[0], "d6").description.limits
    found = {(limit.kind, limit.axes): (limit.minimum, limit.maximum) for limit in limits}
    assert found[DofKind.LINEAR, (0,)] == (0.0, 0.0)
    assert found[DofKind.LINEAR, (1,)] == (-0.5, 0.5)
    assert found[DofKind.ANGULAR, (0,)] == pytest.approx((-10 * DEGREE, 20 * DEGREE))
    assert len(found) == 3


def test_distance_and_equal_cone(tmp_path: Path) -> None:
    text = PAIR + cube("c", at(4, 0, 0))
    text += joint("DistanceJoint", "rope", "a", "b", "float physics:minDistance = 1",
                  "float physics:maxDistance = 3")  # fmt: skip
    text += joint("SphericalJoint", "ball", "b", "c", 'uniform token physics:axis = "X"',
                  "float physics:coneAngle0Limit = 40",
                  "float physics:coneAngle1Limit = 40")  # fmt: skip
    asset, diagnostics = convert(tmp_path, stage(text))
    (rope,) = joint_of(asset, "rope").description.limits
    assert (rope.kind, rope.axes, rope.minimum, rope.maximum) == (
        DofKind.LINEAR, (0, 1, 2), 1.0, 3.0,
    )  # fmt: skip
    cone = joint_of(asset, "ball").description.limits[-1]
    assert (cone.kind, cone.axes) == (DofKind.ANGULAR, (1, 2))
    assert cone.maximum == pytest.approx(40 * DEGREE)
    assert not len(diagnostics)


def test_an_elliptic_cone_is_two_limits_and_named(tmp_path: Path) -> None:
    """The first angle swings towards the next axis: of Z that is X, by a turn about Y."""
    ball = joint("SphericalJoint", "ball", "a", "b", 'uniform token physics:axis = "Z"',
                 "float physics:coneAngle0Limit = 40",
                 "float physics:coneAngle1Limit = 20")  # fmt: skip
    asset, diagnostics = convert(tmp_path, stage(PAIR + ball))
    issue = diagnostics.take(USD_APPROXIMATED)
    assert "/World/ball" in issue.message
    assert "41 %" in issue.message
    limits = {limit.axes: limit.maximum for limit in joint_of(asset, "ball").description.limits}
    assert limits[1,] == pytest.approx(40 * DEGREE)
    assert limits[0,] == pytest.approx(20 * DEGREE)


def test_soft_limits_mimic_and_velocity(tmp_path: Path) -> None:
    text = PAIR + cube("c", at(4, 0, 0))
    lines = ("float physics:lowerLimit = -10", "float physics:upperLimit = 10")
    text += joint("RevoluteJoint", "lead", "a", "b", *lines, "float newton:limitStiffness = 3",
                  "float newton:limitDamping = 0.2", "float newton:velocityLimit = 90")  # fmt: skip
    text += joint("RevoluteJoint", "follow", "b", "c", "rel newton:mimicJoint = </World/lead>",
                  "float newton:mimicCoef0 = 30", "float newton:mimicCoef1 = -2")  # fmt: skip
    asset, _ = convert(tmp_path, stage(text))
    lead, follow = joint_of(asset, "lead"), joint_of(asset, "follow")
    limit = lead.description.limits[-1]
    assert limit.stiffness == pytest.approx(3.0 / DEGREE)
    assert limit.damping == pytest.approx(0.2 / DEGREE)
    assert lead.max_velocity == pytest.approx(90 * DEGREE)
    assert follow.coupling is not None
    assert follow.coupling.leader == lead.node
    assert follow.coupling.multiplier == -2.0
    assert follow.coupling.offset == pytest.approx(30 * DEGREE)


def test_break_forces_are_named_with_their_size(tmp_path: Path) -> None:
    text = PAIR + joint("FixedJoint", "glue", "a", "b", "float physics:breakForce = 200")
    _, diagnostics = convert(tmp_path, stage(text, metres=0.01))
    assert "break force 2 N of /World/glue" in diagnostics.take(NOT_IN_GLTF).message


def test_joints_in_series_move_about_all_their_axes(tmp_path: Path) -> None:
    """As converters of MuJoCo's models write a universal joint: each would lock the others."""
    text = PAIR + "".join(
        joint("RevoluteJoint", f"j{axis}", "a", "b", f'uniform token physics:axis = "{axis}"',
              "point3f physics:localPos0 = (1, 0, 0)", "point3f physics:localPos1 = (-1, 0, 0)")
        for axis in "XYZ"
    )  # fmt: skip
    asset, _ = convert(tmp_path, stage(text))
    ends = {
        name: tuple(
            owner_of(asset, end)
            for end in (joint_of(asset, name).node, joint_of(asset, name).connected_node or 0)
        )
        for name in ("jX", "jY", "jZ")
    }
    assert ends == {"jX": ("a", "jX link"), "jY": ("jX link", "jY link"), "jZ": ("jY link", "b")}
    assert (motion_of(asset, "jX link").mass or 1.0) < 1e-2
    assert not meets(asset, "a", "b")  # as one joint between them would have it


def test_two_hinges_of_a_door_stay_two_hinges(tmp_path: Path) -> None:
    text = PAIR + "".join(
        joint("RevoluteJoint", f"hinge{k}", "a", "b", 'uniform token physics:axis = "Z"',
              f"point3f physics:localPos0 = (1, 0, {k})",
              f"point3f physics:localPos1 = (-1, 0, {k})")
        for k in range(2)
    )  # fmt: skip
    asset, _ = convert(tmp_path, stage(text))
    assert len(asset.physics.motions) == 2


def test_a_joint_to_a_static_collider_names_that_collider(tmp_path: Path) -> None:
    wall = prim("Cube", "wall", apis="PhysicsCollisionAPI")
    other = prim("Cube", "other", at(0, 9, 0), apis="PhysicsCollisionAPI")
    hinge = joint("RevoluteJoint", "hinge", "wall", "a", "point3f physics:localPos0 = (1, 0, 0)")
    asset, _ = convert(tmp_path, stage(wall + other + cube("a", at(2, 0, 0)) + hinge))
    assert owner_of(asset, joint_of(asset, "hinge").node) == "wall"


def test_a_joint_to_a_prim_without_body_is_one_to_the_world(tmp_path: Path) -> None:
    mount = prim("Xform", "mount", at(0, 0, 3))
    hinge = joint("RevoluteJoint", "hinge", "mount", "a")
    asset, _ = convert(tmp_path, stage(mount + cube("a", at(0, 0, 3)) + hinge))
    node = joint_of(asset, "hinge").node
    assert asset.tree.parents[node] == node_of(asset, "world")
    assert asset.tree.translations[node] == pytest.approx((0.0, 0.0, 3.0))


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (("bool physics:jointEnabled = 0",), "disabled joint"),
        (("rel physics:body1 = </World/nothing>",), "no prim"),
        (("rel physics:body1 = </World/a>",), "itself"),
    ],
)
def test_joints_that_hold_nothing_are_named(
    tmp_path: Path, lines: tuple[str, ...], what: str
) -> None:
    text = PAIR + prim("PhysicsFixedJoint", "j", "rel physics:body0 = </World/a>", *lines)
    asset, diagnostics = convert(tmp_path, stage(text))
    message = diagnostics.take(NOT_IN_GLTF).message
    assert what in message
    assert "/World/j" in message
    assert not asset.physics.joints


def test_attributes_that_nothing_comes_from_are_named(tmp_path: Path) -> None:
    _, diagnostics = convert(tmp_path, stage(cube("a", "float newton:wobble = 3")))
    message = diagnostics.take(NOT_IN_GLTF).message
    assert "newton:wobble" in message
    assert "/World/a" in message


# --- the same scene in other units, axes and scales -----------------------------------------------


def swinging(metres: float, kilograms: float, up: str, scale: float) -> str:
    """Two links on a driven hinge, and a ball that falls on a box; ``scale``: of the root.

    A box that falls would lie on other corners first if its axes were others, 1e-5 m beside.
    """
    unit = metres * scale

    def place(x: float, y: float, z: float) -> str:
        a, b, c = (value / unit for value in ((x, z, -y) if up == "Y" else (x, y, z)))
        return f"({a!r}, {b!r}, {c!r})"

    def box(
        name: str, at_: tuple[float, float, float], size: float, mass: float, *more: str
    ) -> str:
        return prim(
            "Sphere" if name == "ball" else "Cube", name,
            f"double {'radius' if name == 'ball' else 'size'} = {size / unit!r}",
            f"double3 xformOp:translate = {place(*at_)}",
            'uniform token[] xformOpOrder = ["xformOp:translate"]',
            *([f"float physics:mass = {mass / kilograms!r}"] if mass else []), *more,
            apis="PhysicsCollisionAPI" + (" PhysicsRigidBodyAPI PhysicsMassAPI" if mass else ""),
        )  # fmt: skip

    axis = "Z" if up == "Y" else "Y"  # Y of the world with Z up is -Z of that with Y up
    sense = -1.0 if up == "Y" else 1.0
    torque = kilograms * metres**2
    low, high = sorted((sense * -120.0, sense * 60.0))
    hinge = (
        f'uniform token physics:axis = "{axis}"',
        f"float physics:lowerLimit = {low}", f"float physics:upperLimit = {high}",
        f"float drive:angular:physics:stiffness = {0.05 / torque!r}",
        f"float drive:angular:physics:damping = {0.01 / torque!r}",
        f"float drive:angular:physics:targetPosition = {sense * 20.0}",
    )  # fmt: skip

    def ends(first: tuple[float, float, float], second: tuple[float, float, float]) -> list[str]:
        # Frames in prims, whose own space is the root's; the world's is not scaled.
        return [f"point3f physics:localPos{k} = {place(*v)}" for k, v in enumerate((first, second))]

    root = f"float3 xformOp:scale = ({scale}, {scale}, {scale})\n"
    root += 'uniform token[] xformOpOrder = ["xformOp:scale"]\n'
    text = (
        prim("PhysicsScene", "scene")
        + box("ground", (0, 0, -1.5), 1.0, 0.0)
        + box("post", (0, 0, 1.0), 0.1, 0.0)
        + box("upper", (0.4, 0, 1.0), 0.3, 2.0, f"vector3f physics:velocity = {place(0, 0, 0.7)}")
        + box("lower", (1.0, 0, 1.0), 0.2, 1.0)
        + box("ball", (0.2, 0.05, -0.6), 0.2, 3.0)
        + joint("RevoluteJoint", "shoulder", "post", "upper", *ends((0, 0, 0), (-0.4, 0, 0)),
                *hinge, apis="PhysicsDriveAPI:angular")
        + joint("RevoluteJoint", "elbow", "upper", "lower", *ends((0.3, 0, 0), (-0.3, 0, 0)),
                f'uniform token physics:axis = "{axis}"')
    )  # fmt: skip
    return stage(root + text, metres=metres, kilograms=kilograms, up=up)


def test_units_axes_and_scale_do_not_change_a_motion(tmp_path: Path) -> None:
    """To 1e-6 m after 1 s, in contact: single precision of the numbers in the text."""
    found = []
    for number, (metres, kilograms, up, scale) in enumerate(
        ((1.0, 1.0, "Z", 1.0), (0.01, 0.001, "Y", 1.0), (1.0, 1.0, "Z", 2.5))
    ):
        text = swinging(metres, kilograms, up, scale)
        asset, _ = convert(tmp_path, text, name=f"stage{number}.usda")
        client = pybullet.connect(pybullet.DIRECT)
        scene = asset.instantiate(client)
        scene.step(240)
        found.append(
            np.array(
                [scene.world_from_node(node_of(asset, name))[:3, 3]
                 for name in ("upper", "lower", "ball")]
            )
        )  # fmt: skip
        pybullet.disconnect(client)
    assert np.abs(found[0][0] - [0.4, 0.0, 1.0]).max() > 0.1
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert found[0] == pytest.approx(found[2], abs=1e-6)
