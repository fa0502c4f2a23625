"""OMI_physics_gravity: accelerations against formulas."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

DT = 1.0 / 240.0
SHAPES = [
    {"type": "sphere", "sphere": {"radius": 0.05}},
    {"type": "sphere", "sphere": {"radius": 50.0}},
    {"type": "box", "box": {"size": [4, 4, 4]}},
    {"type": "box", "box": {"size": [2, 2, 2]}},
    {"type": "capsule", "capsule": {"radiusBottom": 0.5, "radiusTop": 0.5, "height": 2.0}},
    {"type": "cylinder", "cylinder": {"radiusBottom": 1.0, "radiusTop": 1.0, "height": 2.0}},
]
BALL, SPACE, ROOM, BOX, CAPSULE, CYLINDER = range(6)
EARTH = (0.0, -9.81, 0.0)


pytestmark = pytest.mark.world(gravity=EARTH, time_step=DT)


def field(
    kind: str,
    gravity: float,
    at: Any = (0, 0, 0),
    *,
    where: int = SPACE,
    block: dict[str, Any] | None = None,
    scale: float = 1.0,
    **more: Any,
) -> dict[str, Any]:
    return {
        "translation": list(map(float, at)),
        "scale": [scale] * 3,
        "extensions": {
            "OMI_physics_body": {"trigger": {"shape": where}},
            "OMI_physics_gravity": {
                "type": kind, "gravity": gravity, kind: block or {}, **more,
            },
        },
    }  # fmt: skip


def probe(at: Any, mass: float = 1.0, **motion: Any) -> dict[str, Any]:
    return {
        "translation": list(map(float, at)),
        "extensions": {
            "OMI_physics_body": {
                "motion": {"type": "dynamic", "mass": mass, **motion},
                "collider": {"shape": BALL},
            }
        },
    }


def load(
    client: int,
    *nodes: dict[str, Any],
    world: dict[str, Any] | None = None,
    tables: dict[str, Any] | None = None,
    **arguments: Any,
) -> gb.Scene:
    extensions: dict[str, Any] = {"OMI_physics_shape": {"shapes": SHAPES}}
    if tables is not None:
        extensions["OMI_physics_body"] = tables
    if world is not None:
        extensions["OMI_physics_gravity"] = world
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["OMI_physics_shape", "OMI_physics_body", "OMI_physics_gravity"],
        "extensions": extensions,
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": list(nodes),
    }
    return gb.load_gltf(json.dumps(document).encode(), client, **{"up_axis": "y", **arguments})


def acceleration(scene: gb.Scene, node: int) -> np.ndarray:
    """From the velocity after one step, which Bullet gains before it moves."""
    before = scene.bodies[node].linear_velocity
    scene.step()
    return (scene.bodies[node].linear_velocity - before) / DT


def test_the_worlds_gravity_is_the_files_where_it_states_one(client: int) -> None:
    world = {"gravity": 3.7, "direction": [1.0, 0.0, 0.0]}
    scene = load(client, probe((0, 0, 0)), world=world)
    np.testing.assert_allclose(acceleration(scene, 0), [3.7, 0, 0], atol=1e-9)
    assert pybullet.getPhysicsEngineParameters(client)["gravityAccelerationY"] == -9.81


def test_the_worlds_gravity_turns_with_the_asset(client: int) -> None:
    scene = load(client, probe((0, 0, 0)), world={"gravity": 3.7}, up_axis="z")
    np.testing.assert_allclose(acceleration(scene, 0), [0, 0, -3.7], atol=1e-9)


def test_the_engines_gravity_acts_where_the_file_or_the_caller_leaves_it(client: int) -> None:
    np.testing.assert_allclose(acceleration(load(client, probe((0, 0, 0))), 0), EARTH, atol=1e-9)
    scene = load(
        client,
        probe((5, 0, 0)),
        world={"gravity": 3.7},
        options=gb.LoadOptions(world_gravity="engine"),
    )
    np.testing.assert_allclose(acceleration(scene, 0), EARTH, atol=1e-9)


@pytest.mark.parametrize("substeps", [1, 4])
def test_gravity_factor_and_substeps_scale_the_files_gravity(client: int, substeps: int) -> None:
    pybullet.setPhysicsEngineParameter(numSubSteps=substeps, physicsClientId=client)
    scene = load(
        client,
        probe((0, 0, 0), mass=5.0, gravityFactor=0.5),
        probe((2, 0, 0), mass=5.0, gravityFactor=0.0),
        world={"gravity": 4.0},
    )
    scene.step(240)
    np.testing.assert_allclose(scene.bodies[0].linear_velocity, [0, -2.0, 0], atol=1e-6)
    np.testing.assert_allclose(scene.bodies[1].linear_velocity, [0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_point_gravity_falls_off_with_the_square_of_the_distance(client: int, scale: float) -> None:
    at = np.array([3.0, 4.0, 0.0])
    scene = load(
        client,
        field("point", 9.0, scale=scale, block={"unitDistance": 2.0}, stop=True),
        probe(at),
    )
    # g (u / r)^2 towards the centre; the unit distance grows with the node.
    expected = -at / 5.0 * 9.0 * (2.0 * scale / 5.0) ** 2
    np.testing.assert_allclose(acceleration(scene, 1), expected, atol=1e-6)


def _nearest_cases() -> list[Any]:
    ring = 2.0
    return [
        # A disc of radius 2 across Y: above it straight down, beside it to the rim.
        ("disc", {"radius": ring}, (1, 3, 0), (1, 0, 0)),
        ("disc", {"radius": ring}, (5, 4, 0), (ring, 0, 0)),
        # A ring is hollow: above its middle ground the nearest point is on the circle.
        ("torus", {"radius": ring}, (1, 3, 0), (ring, 0, 0)),
        ("line", {"points": [-1, 0, 0, 1, 0, 0, 1, 5, 0]}, (0.5, -2, 0), (0.5, 0, 0)),
        ("line", {"points": [-1, 0, 0, 1, 0, 0, 1, 5, 0]}, (3, 4, 0), (1, 4, 0)),
        ("line", {"points": [-1, 0, 0, 1, 0, 0, 1, 5, 0]}, (-4, 4, 0), (-1, 0, 0)),
        ("shaped", {"shape": BOX}, (3, 4, 0), (1, 1, 0)),
        ("shaped", {"shape": BALL}, (3, 4, 0), (0.03, 0.04, 0)),
        ("shaped", {"shape": CAPSULE}, (3, 0.5, 0), (0.5, 0.5, 0)),
        ("shaped", {"shape": CYLINDER}, (3, 3, 0), (1, 1, 0)),
    ]


@pytest.mark.parametrize(("kind", "block", "at", "nearest"), _nearest_cases())
@pytest.mark.parametrize("unit", [0.0, 1.5])
def test_fields_pull_to_their_nearest_point(
    client: int, kind: str, block: dict[str, Any], at: Any, nearest: Any, unit: float
) -> None:
    scene = load(
        client, field(kind, 6.0, block={**block, "unitDistance": unit}, stop=True), probe(at)
    )
    arm = np.subtract(nearest, at)
    distance = float(np.linalg.norm(arm))
    strength = 6.0 if unit == 0.0 else 6.0 * (unit / distance) ** 2
    np.testing.assert_allclose(acceleration(scene, 1), strength * arm / distance, atol=1e-6)


def test_a_directional_field_turns_with_its_node_and_ends_with_its_volume(client: int) -> None:
    node = field("directional", 2.0, where=ROOM, block={"direction": [0, -1, 0]}, stop=True)
    node["rotation"] = [0, 0, math.sin(math.pi / 4), math.cos(math.pi / 4)]
    scene = load(client, node, probe((1.9, 0, 0)), probe((2.1, 0, 0)), world={"gravity": 0.0})
    inside, outside = acceleration(scene, 1), scene.bodies[2].linear_velocity
    # A quarter turn about +Z takes -Y to +X.
    np.testing.assert_allclose(inside, [2, 0, 0], atol=1e-9)
    np.testing.assert_allclose(outside, [0, 0, 0], atol=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # (priority, replace, stop) of fields of 1 along +X and 2 along +Y; the world: 4 along +Z.
        ((1, False, False), (0, False, False), (1, 2, 4)),
        ((1, False, False), (0, True, False), (0, 2, 4)),
        ((1, True, False), (0, False, False), (1, 2, 4)),
        ((1, False, True), (0, False, False), (1, 0, 0)),
        ((1, False, False), (0, False, True), (1, 2, 0)),
        ((1, False, False), (0, True, True), (0, 2, 0)),
        ((-1, False, True), (0, False, False), (1, 2, 4)),
        ((-1, False, True), (-2, False, False), (1, 0, 4)),
        ((0, True, False), (5, False, False), (1, 0, 4)),
    ],
)
def test_priority_replace_and_stop(
    client: int,
    first: tuple[int, bool, bool],
    second: tuple[int, bool, bool],
    expected: tuple[float, float, float],
) -> None:
    def one(strength: float, direction: list[float], rules: tuple[int, bool, bool]) -> Any:
        priority, replace, stop = rules
        return field(
            "directional", strength, block={"direction": direction},
            priority=priority, replace=replace, stop=stop,
        )  # fmt: skip

    scene = load(
        client,
        one(1.0, [1, 0, 0], first),
        one(2.0, [0, 1, 0], second),
        probe((0, 0, 0)),
        world={"gravity": 4.0, "direction": [0, 0, 1]},
    )
    np.testing.assert_allclose(acceleration(scene, 2), expected, atol=1e-9)


def test_a_planet_does_not_pull_itself(client: int) -> None:
    planet = field("point", 5.0, (0, 0, 0), stop=True)
    planet["extensions"]["OMI_physics_body"]["motion"] = {"type": "dynamic", "mass": 10.0}
    planet["extensions"]["OMI_physics_body"]["collider"] = {"shape": BALL}
    scene = load(client, planet, probe((3, 0, 0)), world={"gravity": 0.0})
    moon = acceleration(scene, 1)
    np.testing.assert_allclose(moon, [-5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(scene.bodies[0].linear_velocity, [0, 0, 0], atol=1e-9)


def test_a_circular_orbit_closes(client: int) -> None:
    # v^2 / r = g (u / r)^2 with g = 4, u = 2, r = 4: a = 1 m/s^2, v = 2 m/s, period 4 pi s.
    scene = load(
        client,
        field("point", 4.0, block={"unitDistance": 2.0}, stop=True),
        probe((4, 0, 0), linearVelocity=[0, 2, 0]),
    )
    radii = []
    for _ in range(round(4 * math.pi / DT)):
        scene.step()
        radii.append(float(np.linalg.norm(scene.world_from_node(1)[:3, 3])))
    assert min(radii) > 3.98
    assert max(radii) < 4.02
    np.testing.assert_allclose(scene.world_from_node(1)[:3, 3], [4, 0, 0], atol=0.1)


def test_gravity_without_a_volume_is_reported_and_acts_nowhere(client: int) -> None:
    node = field("directional", 5.0)
    del node["extensions"]["OMI_physics_body"]
    scene = load(client, node, probe((0, 0, 0)))
    assert [issue.code for issue in scene.issues] == ["GRAVITY_WITHOUT_TRIGGER"]
    np.testing.assert_allclose(acceleration(scene, 1), EARTH, atol=1e-9)


def test_a_jointed_pendulum_swings_in_the_fields_gravity(client: int) -> None:
    # A point mass on a hinge 1 m above, in a field along +X of 9: rest is at +X of the pivot.
    arm = probe((0, -1, 0))
    arm["extensions"]["OMI_physics_body"]["motion"]["angularDamping"] = 0.0
    joints = {
        "OMI_physics_joint": {
            "physicsJoints": [
                {"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0},
                            {"angularAxes": [0, 1], "min": 0, "max": 0}]}
            ]
        }
    }  # fmt: skip
    nodes: list[dict[str, Any]] = [
        field("directional", 9.0, block={"direction": [1, 0, 0]}, stop=True),
        arm,
        {"translation": [0, 1, 0]},
        {"extensions": {"OMI_physics_joint": {"joint": 0, "connectedNode": 2}}},
    ]
    nodes[1]["children"] = [2]
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [
            "OMI_physics_shape", "OMI_physics_body", "OMI_physics_gravity", "OMI_physics_joint",
        ],
        "extensions": {"OMI_physics_shape": {"shapes": SHAPES}, **joints},
        "scene": 0,
        "scenes": [{"nodes": [0, 1, 3]}],
        "nodes": nodes,
    }  # fmt: skip
    scene = gb.load_gltf(json.dumps(document).encode(), client, up_axis="y")
    # From rest at a right angle to the field: falls through it to the other side and back, in
    # the time that a pendulum of amplitude 90 degrees takes: 2 pi sqrt(l / g) * 1.18034.
    period = 2 * math.pi * math.sqrt(1.0 / 9.0) * 1.18034
    scene.step(round(0.5 * period / DT))
    np.testing.assert_allclose(scene.world_from_node(1)[:3, 3], [0, 1, 0], atol=0.03)
    scene.step(round(0.25 * period / DT))
    np.testing.assert_allclose(scene.world_from_node(1)[:3, 3], [1, 0, 0], atol=0.06)


def test_on_the_axis_of_a_ring_all_of_it_is_equally_far(client: int) -> None:
    """g (u / r)^2 with r = sqrt(3^2 + 2^2), towards the middle of the nearest points."""
    scene = load(
        client, field("torus", 5.0, block={"radius": 2.0, "unitDistance": 1.0}, stop=True),
        probe((0, 3, 0)),
    )  # fmt: skip
    np.testing.assert_allclose(acceleration(scene, 1), [0.0, -5.0 / 13.0, 0.0], atol=1e-6)


def test_a_field_spares_whom_its_trigger_does_not_sense(client: int) -> None:
    """The volume is the trigger, whose filter says what it senses."""
    volume, passing, sensed = field("point", 9.0, stop=True), probe((3, 0, 0)), probe((-3, 0, 0))
    volume["extensions"]["OMI_physics_body"]["trigger"]["collisionFilter"] = 0
    passing["extensions"]["OMI_physics_body"]["collider"]["collisionFilter"] = 1
    scene = load(
        client, volume, passing, sensed,
        tables={
            "collisionFilters": [
                {"collisionSystems": ["field"], "notCollideWithSystems": ["ghost"]},
                {"collisionSystems": ["ghost"]},
            ]
        },
    )  # fmt: skip
    before = [scene.bodies[node].linear_velocity for node in (1, 2)]
    scene.step()
    gained = [
        scene.bodies[node].linear_velocity - v for node, v in zip((1, 2), before, strict=True)
    ]
    np.testing.assert_allclose(gained[0] / DT, EARTH, atol=1e-6)
    np.testing.assert_allclose(gained[1] / DT, [9.0, 0.0, 0.0], atol=1e-6)
