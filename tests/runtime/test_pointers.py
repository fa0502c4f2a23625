"""Every object-model pointer acts on the engine at once."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, SHAPES, G, Scenery, world

GRAPHS = Path(__file__).parents[3] / "shared" / "faults" / "graphs"

MOTION = f"/nodes/{{}}/extensions/{KHR}/motion/"
TABLE = f"/extensions/{KHR}/"


def bench() -> bytes:
    """A floor (0), a box (1) above it, a static post (2), a hinged arm (3), a free top (4)."""
    scenery = Scenery()
    slab = scenery.shape("box", size=[20, 1, 20])
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    ball = scenery.shape("sphere", radius=0.25)
    rough = scenery.material(staticFriction=0.5, dynamicFriction=0.5, restitution=0.0)
    scenery.node("Floor", at=(0, -0.5, 0), shape=slab, material=rough)
    scenery.node("Box", at=(0, 0.25, 0), shape=box, material=rough, motion={"mass": 2.0})
    scenery.node("Post", at=(5, 2, 0), shape=ball)
    joint = scenery.entry(
        "physicsJoints",
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [0, 1], "min": 0, "max": 0},
            {"angularAxes": [2], "min": -1.0, "max": 1.0},
        ],
        drives=[
            {
                "type": "angular", "mode": "force", "axis": 2, "positionTarget": 0.0,
                "stiffness": 200.0, "velocityTarget": 0.0, "damping": 20.0,
            }
        ],
    )  # fmt: skip
    scenery.node(
        "Arm", at=(5, 2, 0), motion={"mass": 1.0, "inertiaDiagonal": [0.1, 0.1, 0.1]},
        joint={"connectedNode": 2, "joint": joint},
    )  # fmt: skip
    scenery.node(
        "Top", at=(-5, 5, 0),
        motion={"mass": 1.0, "inertiaDiagonal": [1, 2, 3], "gravityFactor": 0.0},
    )  # fmt: skip
    return scenery.bytes()


@pytest.fixture
def scene() -> gb.Scene:
    with world(bench()) as scene:
        yield scene


def engine_mass(scene: gb.Scene, name: str) -> float:
    body = scene.bodies[name]
    info = pybullet.getDynamicsInfo(body.body_id, body.link_index, physicsClientId=scene.client_id)
    return float(info[0])


def test_mass_reaches_the_engine(scene: gb.Scene) -> None:
    pointer = MOTION.format(1) + "mass"
    assert scene.get(pointer) == 2.0
    scene.set(pointer, 7.0)
    assert scene.get(pointer) == 7.0
    assert engine_mass(scene, "Box") == pytest.approx(7.0)


def test_a_kinematic_switch_stops_gravity_and_gives_it_back(scene: gb.Scene) -> None:
    pointer = MOTION.format(1) + "isKinematic"
    scene.set("/nodes/1/translation", (0, 4, 0))
    scene.set(pointer, True)
    scene.step(48)
    assert scene.world_from_node("Box")[1, 3] == pytest.approx(4.0)
    scene.set(pointer, False)
    scene.step(48)
    fall = 0.5 * G * (48 / 240) ** 2 * (1 + 1 / 48)
    assert scene.world_from_node("Box")[1, 3] == pytest.approx(4.0 - fall, abs=1e-3)


def test_center_of_mass_moves_in_the_body(scene: gb.Scene) -> None:
    scene.set(MOTION.format(4) + "centerOfMass", (0.5, 0, 0))
    assert np.allclose(scene.bodies["Top"].center_of_mass, (-4.5, 5, 0), atol=1e-9)
    assert np.allclose(scene.world_from_node("Top")[:3, 3], (-5, 5, 0), atol=1e-9)


def test_inertia_and_its_orientation_change_the_spin_that_an_impulse_gives(
    scene: gb.Scene,
) -> None:
    scene.set(MOTION.format(4) + "inertiaDiagonal", (4.0, 2.0, 3.0))
    scene.apply_impulse("Top", angular=(2.0, 0, 0))
    assert scene.bodies["Top"].angular_velocity[0] == pytest.approx(0.5)
    scene.set(MOTION.format(4) + "angularVelocity", (0, 0, 0))
    quarter = (0, 0, math.sqrt(0.5), math.sqrt(0.5))
    scene.set(MOTION.format(4) + "inertiaOrientation", quarter)
    scene.apply_impulse("Top", angular=(2.0, 0, 0))
    assert scene.bodies["Top"].angular_velocity[0] == pytest.approx(1.0)


def test_velocities_read_and_write_in_node_space(scene: gb.Scene) -> None:
    scene.set("/nodes/4/rotation", (0, 0, math.sqrt(0.5), math.sqrt(0.5)))
    scene.set(MOTION.format(4) + "linearVelocity", (1, 0, 0))
    assert np.allclose(scene.bodies["Top"].linear_velocity, (0, 1, 0), atol=1e-9)
    assert np.allclose(scene.get(MOTION.format(4) + "linearVelocity"), (1, 0, 0), atol=1e-9)
    scene.step(24)
    assert scene.world_from_node("Top")[1, 3] == pytest.approx(5.1, abs=1e-6)


def test_velocity_of_a_jointed_body(scene: gb.Scene) -> None:
    scene.set(MOTION.format(3) + "angularVelocity", (0, 0, 0.5))
    assert scene.bodies["Arm"].angular_velocity[2] == pytest.approx(0.5, rel=1e-3)


def test_gravity_factor_lets_a_body_rise(scene: gb.Scene) -> None:
    scene.set(MOTION.format(4) + "gravityFactor", -1.0)
    scene.step(48)
    rise = 0.5 * G * (48 / 240) ** 2 * (1 + 1 / 48)
    assert scene.world_from_node("Top")[1, 3] == pytest.approx(5.0 + rise, abs=1e-3)


@pytest.mark.parametrize("coefficient", [0.1, 0.9])
def test_friction_acts_on_a_resting_box(scene: gb.Scene, coefficient: float) -> None:
    scene.step(60)
    ids = scene.bodies["Box"].body_id
    scene.set(TABLE + "physicsMaterials/0/dynamicFriction", coefficient)
    scene.set(TABLE + "physicsMaterials/0/staticFriction", coefficient)
    assert scene.bodies["Box"].body_id == ids
    speed = 2.0
    scene.set(MOTION.format(1) + "linearVelocity", (speed, 0, 0))
    start = scene.world_from_node("Box")[0, 3]
    scene.step(600)
    travelled = scene.world_from_node("Box")[0, 3] - start
    assert travelled == pytest.approx(speed**2 / (2 * coefficient * G), rel=0.03)


def test_restitution_makes_a_box_bounce(scene: gb.Scene) -> None:
    scene.set(TABLE + "physicsMaterials/0/restitution", 0.8)
    scene.set("/nodes/1/translation", (0, 2.25, 0))
    fall = rise = 0.0
    for _ in range(200):
        scene.step()
        speed = scene.bodies["Box"].linear_velocity[1]
        fall, rise = min(fall, speed), max(rise, speed)
    assert rise / -fall == pytest.approx(0.8, abs=0.05)


def test_a_runtime_material_change_acts_on_a_resting_hull() -> None:
    """Cached contacts of hulls keep their friction in Bullet until the pair is made anew."""
    scenery = Scenery()
    slab = scenery.shape("box", size=[20, 1, 20])
    cone = scenery.shape("cylinder", height=0.5, radiusBottom=0.4, radiusTop=0.2)
    rough = scenery.material(staticFriction=1.0, dynamicFriction=1.0)
    angle = 0.3
    turn = [0, 0, math.sin(angle / 2), math.cos(angle / 2)]
    up = np.array([-math.sin(angle), math.cos(angle), 0])
    scenery.node("Ramp", at=(-0.5 * up).tolist(), rotation=turn, shape=slab, material=rough)
    scenery.node(
        "Cone", at=(0.25 * up).tolist(), rotation=turn, shape=cone, material=rough,
        motion={"mass": 1.0},
    )  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(240)
        assert np.linalg.norm(scene.bodies["Cone"].linear_velocity) < 1e-2
        scene.set(TABLE + "physicsMaterials/0/staticFriction", 0.05)
        scene.set(TABLE + "physicsMaterials/0/dynamicFriction", 0.05)
        scene.step(120)
        speed = 0.5 * G * (math.sin(angle) - 0.05 * math.cos(angle))
        assert np.linalg.norm(scene.bodies["Cone"].linear_velocity) == pytest.approx(speed, rel=0.1)


def angle_of_arm(scene: gb.Scene) -> float:
    """Of the connected post in the arm's frame: the arm's own turn with the other sign."""
    (dof,) = scene.joints["Arm"].degrees_of_freedom
    return float(dof.position)


@pytest.mark.parametrize(
    ("field", "value", "angle"), [("positionTarget", 0.5, 0.5), ("positionTarget", -0.7, -0.7)]
)
def test_drive_targets_turn_the_arm(
    scene: gb.Scene, field: str, value: float, angle: float
) -> None:
    pointer = TABLE + f"physicsJoints/0/drives/0/{field}"
    scene.set(pointer, value)
    assert scene.get(pointer) == value
    scene.step(480)
    assert angle_of_arm(scene) == pytest.approx(angle, abs=0.01)


def test_drive_velocity_stiffness_damping_and_max_force(scene: gb.Scene) -> None:
    drive = TABLE + "physicsJoints/0/drives/0/"
    scene.set(drive + "stiffness", 0.0)
    scene.set(drive + "velocityTarget", 0.5)
    scene.step(60)
    (dof,) = scene.joints["Arm"].degrees_of_freedom
    assert dof.velocity == pytest.approx(0.5, rel=0.05)
    scene.set(drive + "damping", 0.0)
    scene.set(drive + "maxForce", 0.0)
    assert scene.get(drive + "damping") == 0.0
    assert scene.get(drive + "maxForce") == 0.0


def test_limits_hold_at_their_new_place(scene: gb.Scene) -> None:
    scene.set(TABLE + "physicsJoints/0/limits/2/max", 0.2)
    scene.set(TABLE + "physicsJoints/0/drives/0/positionTarget", 0.9)
    scene.step(480)
    assert angle_of_arm(scene) == pytest.approx(0.2, abs=0.005)
    scene.set(TABLE + "physicsJoints/0/limits/2/min", -0.1)
    scene.set(TABLE + "physicsJoints/0/drives/0/positionTarget", -0.9)
    scene.step(480)
    assert angle_of_arm(scene) == pytest.approx(-0.1, abs=0.005)


def test_a_limit_becomes_soft(scene: gb.Scene) -> None:
    """Against a soft limit the drive stops where the two springs balance."""
    scene.set(TABLE + "physicsJoints/0/limits/2/stiffness", 200.0)
    scene.set(TABLE + "physicsJoints/0/limits/2/damping", 20.0)
    scene.set(TABLE + "physicsJoints/0/drives/0/positionTarget", 1.4)
    scene.step(960)
    assert angle_of_arm(scene) == pytest.approx(1.2, abs=0.01)


def test_enable_collision_is_read_and_written(scene: gb.Scene) -> None:
    pointer = f"/nodes/3/extensions/{KHR}/joint/enableCollision"
    assert scene.get(pointer) is False
    scene.set(pointer, True)
    assert scene.get(pointer) is True
    assert not scene.core.world.plan.articulations.excluded_static_pairs


def test_shape_sizes_change_what_rests_on_what(scene: gb.Scene) -> None:
    pointer = f"/extensions/{SHAPES}/shapes/1/box/size"
    assert np.allclose(scene.get(pointer), (0.5, 0.5, 0.5))
    scene.set(pointer, (1.0, 1.5, 1.0))
    scene.set("/nodes/1/translation", (0, 1.0, 0))
    scene.step(240)
    assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.75, abs=0.01)


def test_node_transforms_move_bodies_and_static_colliders(scene: gb.Scene) -> None:
    scene.set("/nodes/0/translation", (0, -2.5, 0))
    scene.step(360)
    assert scene.world_from_node("Box")[1, 3] == pytest.approx(-1.75, abs=0.01)
    assert np.allclose(scene.get("/nodes/0/translation"), (0, -2.5, 0))


def test_node_scale_changes_the_collider(scene: gb.Scene) -> None:
    scene.set("/nodes/1/scale", (2, 2, 2))
    scene.set("/nodes/1/translation", (0, 1, 0))
    scene.step(240)
    assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.5, abs=0.01)


def test_lists_that_the_file_does_without_have_no_items(scene: gb.Scene) -> None:
    """The object model has the pointer in every file; nobody must know what the file has."""
    for absent in (
        TABLE + "collisionFilters",
        "/extensions/OMI_physics_joint/physicsJoints",
        "/skins",
        "/nodes/1/children",
    ):
        assert scene.get(f"{absent}.length") == 0, absent
    assert scene.get(TABLE + "physicsJoints/0/drives.length") == 1
    assert scene.get("/nodes.length") == 5
    for nowhere in ("/nodes/999/children.length", "/frogs.length", TABLE + "frogs.length"):
        with pytest.raises(KeyError):
            scene.get(nowhere)


def test_lengths_are_read_only(scene: gb.Scene) -> None:
    assert scene.get(TABLE + "physicsMaterials.length") == 1
    assert scene.get(TABLE + "physicsJoints.length") == 1
    with pytest.raises(KeyError, match="read-only"):
        scene.set(TABLE + "physicsMaterials.length", 2)


@pytest.mark.parametrize(
    ("pointer", "value", "error"),
    [
        ("/nodes/99/translation", (0, 0, 0), KeyError),
        ("/nodes/1/colour", 1, KeyError),
        ("nodes/1/translation", (0, 0, 0), KeyError),
        (MOTION.format(1) + "mass", "heavy", TypeError),
        (MOTION.format(1) + "mass", -1.0, ValueError),
        (MOTION.format(1) + "mass", math.nan, ValueError),
        (MOTION.format(1) + "isKinematic", 1, TypeError),
        (MOTION.format(1) + "linearVelocity", (1, 2), ValueError),
        (MOTION.format(1) + "linearVelocity", (1e300, 0, 0), ValueError),
        (MOTION.format(1) + "angularVelocity", (0, 2e5, 0), ValueError),
        (MOTION.format(0) + "mass", 1.0, KeyError),
        ("/nodes/1/rotation", (0, 0, 0, 0), ValueError),
        (TABLE + "physicsMaterials/0/frictionCombine", "average", KeyError),
    ],
)
def test_wrong_pointers_and_values_are_refused_and_change_nothing(
    scene: gb.Scene, pointer: str, value: object, error: type[Exception]
) -> None:
    before = scene.core.model.now
    with pytest.raises(error):
        scene.set(pointer, value)
    assert scene.core.model.now == before


def test_changes_are_part_of_a_saved_state(scene: gb.Scene) -> None:
    scene.step(10)
    saved = scene.save_state()
    scene.set(MOTION.format(1) + "mass", 9.0)
    scene.restore_state(saved)
    assert scene.get(MOTION.format(1) + "mass") == 2.0
    assert engine_mass(scene, "Box") == pytest.approx(2.0)


SHAPE_POINTERS = [
    ("sphere", {"radius": 0.5}, "radius", 0.25, 0.25),
    ("capsule", {"height": 1.0, "radiusBottom": 0.2, "radiusTop": 0.2}, "height", 2.0, 1.2),
    ("capsule", {"height": 1.0, "radiusBottom": 0.2, "radiusTop": 0.2}, "radiusTop", 0.4, 0.9),
    ("capsule", {"height": 1.0, "radiusBottom": 0.2, "radiusTop": 0.2}, "radiusBottom", 0.1, 0.7),
    ("cylinder", {"height": 1.0, "radiusBottom": 0.2, "radiusTop": 0.2}, "height", 2.0, 1.0),
]


@pytest.mark.parametrize(("kind", "values", "key", "value", "top"), SHAPE_POINTERS)
def test_every_shape_size_moves_the_surface(
    kind: str, values: dict[str, float], key: str, value: float, top: float
) -> None:
    """A ray from above meets the top of the shape where its new size puts it."""
    scenery = Scenery()
    scenery.node("Post", shape=scenery.shape(kind, **values))
    with world(scenery.bytes()) as scene:
        pointer = f"/extensions/{SHAPES}/shapes/0/{kind}/{key}"
        assert scene.get(pointer) == values[key]
        scene.set(pointer, value)
        hit = scene.ray_cast((0, 5, 0), (0, -5, 0))
        assert hit is not None
        assert hit.position[1] == pytest.approx(top, abs=0.01)


@pytest.mark.parametrize("key", ["radiusBottom", "radiusTop"])
def test_the_radii_of_a_cylinder_move_its_side(key: str) -> None:
    scenery = Scenery()
    values = {"height": 1.0, "radiusBottom": 0.2, "radiusTop": 0.2}
    scenery.node("Post", shape=scenery.shape("cylinder", **values))
    with world(scenery.bytes()) as scene:
        scene.set(f"/extensions/{SHAPES}/shapes/0/cylinder/{key}", 0.6)
        height = -0.45 if key == "radiusBottom" else 0.45
        hit = scene.ray_cast((5, height, 0), (-5, height, 0))
        assert hit is not None
        # Linear between 0.2 and 0.6, 0.05 m from the wider end.
        assert hit.position[0] == pytest.approx(0.6 - 0.4 * 0.05, abs=0.01)


@pytest.mark.parametrize(("key", "axis"), [("sizeX", 0), ("sizeZ", 2)])
def test_the_sizes_of_a_plane_move_its_edge(key: str, axis: int) -> None:
    scenery = Scenery()
    scenery.node("Sheet", shape=scenery.shape("plane", sizeX=1.0, sizeZ=1.0))
    with world(scenery.bytes()) as scene:
        point = [0.0, 5.0, 0.0]
        point[axis] = 1.5
        below = [point[0], -5.0, point[2]]
        assert scene.ray_cast(point, below) is None
        scene.set(f"/extensions/{SHAPES}/shapes/0/plane/{key}", 4.0)
        assert scene.ray_cast(point, below) is not None
        pointer = f"/extensions/{SHAPES}/shapes/0/plane/doubleSided"
        assert scene.get(pointer) is False
        scene.set(pointer, True)
        assert scene.get(pointer) is True


@pytest.mark.parametrize("endless", [-1.0, math.inf])
def test_bounds_of_joints_can_be_taken_away(endless: float) -> None:
    """OMI: negative means infinitely stiff, and not force-limited; unstated ones read so."""
    scenery = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["OMI_physics_shape", "OMI_physics_body", "OMI_physics_joint"],
        "extensions": {
            "OMI_physics_shape": {"shapes": [{"type": "sphere", "sphere": {"radius": 0.1}}]},
            "OMI_physics_joint": {
                "physicsJoints": [
                    {
                        "limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0, "stiffness": 10}],
                        "drives": [
                            {"type": "angular", "mode": "force", "axis": 0, "damping": 1,
                             "velocityTarget": 1, "maxForce": 2}
                        ],
                    }
                ]
            },
        },
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"extensions": {"OMI_physics_body": {"collider": {"shape": 0}}}},
            {"children": [2], "extensions": {"OMI_physics_body": {
                "motion": {"type": "dynamic"}, "collider": {"shape": 0}}}},
            {"extensions": {"OMI_physics_joint": {"joint": 0, "connectedNode": 0}}},
        ],
    }  # fmt: skip
    with world(json.dumps(scenery).encode()) as scene:
        for bound, stated in (("limits/0/stiffness", 10.0), ("drives/0/maxForce", 2.0)):
            pointer = f"/extensions/OMI_physics_joint/physicsJoints/0/{bound}"
            assert scene.get(pointer) == stated
            scene.set(pointer, endless)
            assert scene.get(pointer) == math.inf
            scene.step()


def test_what_is_set_of_a_node_is_got_to_the_bit() -> None:
    """Signs and last digits too: ``math/eq`` of a graph compares them. Below turned nodes, and of
    bodies until they move; also after another edit, and after a snapshot is taken back.
    """
    rng = np.random.default_rng(3)
    shape = {"geometry": {"shape": 0}}
    nodes = [
        {"children": [1, 2], "rotation": [0.5, 0.5, -0.5, 0.5], "scale": [2, 2, 2]},
        {"name": "Plain", "translation": [0.1, 0.2, 0.3]},
        {
            "name": "Body", "translation": [5, 5, 5],
            "extensions": {KHR: {"motion": {"mass": 1.0}, "collider": shape}},
        },
        {"name": "Other", "extensions": {KHR: {"motion": {"mass": 1.0}, "collider": shape}}},
    ]  # fmt: skip
    content = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 3]}], "nodes": nodes,
        "extensionsUsed": [KHR, SHAPES],
        "extensions": {SHAPES: {"shapes": [{"type": "sphere", "sphere": {"radius": 0.1}}]}},
    }  # fmt: skip
    with world(json.dumps(content).encode()) as scene:
        scene.step()
        for node in (1, 2):
            turn = rng.normal(size=4)
            stated = {
                "translation": rng.normal(size=3).tolist(),
                "rotation": (turn / np.linalg.norm(turn)).tolist(),
                "scale": [3.0, 3.0, 3.0],
            }
            for field, value in stated.items():
                scene.set(f"/nodes/{node}/{field}", value)
            for repeat in range(3):
                for field, value in stated.items():
                    assert scene.get(f"/nodes/{node}/{field}").tolist() == value, (node, repeat)
                if repeat == 0 and node == 1:
                    scene.set("/nodes/3/extensions/KHR_physics_rigid_bodies/motion/mass", 2.0)
                if repeat == 1 and node == 1:
                    state = scene.save_state()
                    scene.set("/nodes/1/translation", [9, 9, 9])
                    scene.restore_state(state)


@pytest.mark.parametrize("turned", [False, True])
def test_what_was_set_is_got_to_the_bit(turned: bool) -> None:
    """Matrices made 2.9999999999999996 of 3, and turned the sign of quaternions below a turn."""
    half = math.sqrt(0.5)
    scenery = Scenery()
    child = scenery.node("Child")
    scenery.node("Parent", rotation=[0.6, 0, 0, 0.8] if turned else None, children=(child,))
    with world(scenery.bytes()) as scene:
        values = {
            "scale": [1.0, 2.0, 3.0],
            "rotation": [0.0, -half, 0.0, -half],
            "translation": [0.1, 0.2, 0.3],
        }
        for field, value in values.items():
            scene.set(f"/nodes/{child}/{field}", value)
        for _ in range(2):
            for field, value in values.items():
                assert scene.get(f"/nodes/{child}/{field}").tolist() == value
            scene.step()


def test_what_has_moved_since_it_was_set_is_got_where_it_is() -> None:
    scenery = Scenery()
    box = scenery.shape("box")
    falling = scenery.node("Box", shape=box, motion={"mass": 1.0})
    with world(scenery.bytes()) as scene:
        scene.set(f"/nodes/{falling}/translation", [0.0, 3.0, 0.0])
        scene.step(24)
        assert scene.get(f"/nodes/{falling}/translation")[1] < 3.0 - 1e-3


@pytest.mark.shared
@pytest.mark.skipif(not GRAPHS.is_dir(), reason="the graphs are not there")
@pytest.mark.parametrize("name", ["set_then_get_scale", "set_then_get_below_turned"])
def test_graphs_get_what_they_have_set(name: str) -> None:
    with world((GRAPHS / f"{name}.gltf").read_bytes()) as scene:
        scene.step(2)
        assert scene.behavior is not None
        assert scene.behavior.variables[0] is True
