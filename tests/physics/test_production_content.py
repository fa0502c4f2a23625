"""What authors build of joints, filters and colliders together, against formulas."""

from __future__ import annotations

import math

import numpy as np
import pybullet
import pytest

from tests.physics.scenes import G, Jointed, Scenery, world

RATES = [60.0, 120.0, 240.0, 1000.0]
UPRIGHT = [
    {"linearAxes": [2], "min": 0, "max": 0},
    {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
]


def sprung_wheel(speed: float, stiffness: float, damping: float) -> bytes:
    """A body of 5 kg on a spring over a ball of 0.3 m that rolls; it cannot tilt."""
    scenery, radius = Jointed(), 0.3
    rough = scenery.material(staticFriction=1.0, dynamicFriction=1.0)
    floor = scenery.shape("box", size=[400, 1, 400])
    ball = scenery.shape("sphere", radius=radius)
    scenery.node("Floor", at=(0, -0.5, 0), shape=floor, material=rough)
    anchor = scenery.node("World")
    motion = {"mass": 5.0, "inertiaDiagonal": [2, 3, 2], "linearVelocity": [speed, 0, 0]}
    body = scenery.node("Body", at=(0, 0.6, 0), motion=motion)
    rolls = {"linearVelocity": [speed, 0, 0], "angularVelocity": [0, 0, -speed / radius]}
    wheel = scenery.node(
        "Wheel", at=(0, radius, 0), shape=ball, material=rough,
        motion={"mass": 1.0, "inertiaDiagonal": [0.036] * 3, **rolls},
    )  # fmt: skip
    ends = scenery.attachment(anchor, (0, 0.6, 0)), scenery.attachment(body, (0, 0, 0))
    scenery.join(*ends, limits=UPRIGHT)
    hub = scenery.attachment(body, (0, radius - 0.6, 0)), scenery.attachment(wheel, (0, 0, 0))
    straight = [
        {"linearAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
    ]
    spring = {
        "type": "linear", "mode": "force", "axis": 1, "positionTarget": 0.0, "velocityTarget": 0.0,
        "stiffness": stiffness, "damping": damping,
    }  # fmt: skip
    scenery.join(*hub, limits=straight, drives=[spring])
    return scenery.bytes()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_the_suspension_of_a_rolling_wheel_stands_at_its_law(rate: float, speed: float) -> None:
    stiffness = 2000.0
    with world(sprung_wheel(speed, stiffness, 200.0), rate=rate) as scene:
        scene.step(int(3.0 * rate))
        travel = scene.world_from_node("Wheel")[1, 3] - scene.world_from_node("Body")[1, 3] + 0.3
        assert travel == pytest.approx(5.0 * G / stiffness, rel=0.01)


def test_a_suspension_stands_where_the_engine_makes_substeps() -> None:
    """Contacts are found when the last of them begins."""
    stiffness, rate = 2000.0, 60.0
    with world(sprung_wheel(3.0, stiffness, 200.0), rate=rate) as scene:
        pybullet.setPhysicsEngineParameter(numSubSteps=4, physicsClientId=scene.client_id)
        scene.step(int(3.0 * rate))
        travel = scene.world_from_node("Wheel")[1, 3] - scene.world_from_node("Body")[1, 3] + 0.3
        assert travel == pytest.approx(5.0 * G / stiffness, rel=0.01)


def into_a_soft_limit(mass: float, stiffness: float, damping: float) -> bytes:
    """A body slides at 1 m/s towards the end of a range 0.5 m away."""
    scenery = Jointed()
    anchor = scenery.node("World")
    motion = {"mass": mass, "gravityFactor": 0.0, "linearVelocity": [1, 0, 0]}
    box = scenery.shape("box", size=[0.2, 0.2, 0.2])
    body = scenery.node("Body", motion=motion, shape=box)
    ends = scenery.attachment(anchor, (0, 0, 0)), scenery.attachment(body, (0, 0, 0))
    range_of = {"min": -10.0, "max": 0.5, "stiffness": stiffness, "damping": damping}
    limits = [
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [0], **range_of},
    ]
    scenery.join(*ends, limits=limits)
    return scenery.bytes()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("stiffness", "damping"), [(200.0, 10.0), (20.0, 10.0), (0.0, 1.0)])
def test_a_damped_soft_limit_brakes_beyond_its_bound_alone(
    stiffness: float, damping: float, rate: float
) -> None:
    mass, bound = 2.0, 0.5
    with world(into_a_soft_limit(mass, stiffness, damping), rate=rate) as scene:
        deepest = 0.0
        for _ in range(int(1.5 * rate)):
            before = scene.world_from_node("Body")[0, 3]
            scene.step()
            after = scene.world_from_node("Body")[0, 3]
            if max(before, after) < bound and deepest < bound:
                assert (after - before) * rate == pytest.approx(1.0, rel=1e-6)
            deepest = max(deepest, after)
        natural = math.sqrt(stiffness / mass)
        if stiffness:
            # m x" + c x' + k x = 0 from x = 0 at 1 m/s, at its first turn.
            share = damping / (2.0 * math.sqrt(stiffness * mass))
            turn = math.acos(share) / math.sqrt(1.0 - share**2)
            assert deepest - bound == pytest.approx(math.exp(-share * turn) / natural, rel=0.03)
        else:
            passed = 1.5 - bound / 1.0
            way = mass / damping * (1.0 - math.exp(-damping / mass * passed))
            assert deepest - bound == pytest.approx(way, rel=0.02)


def governor(spin: float, damping: float) -> bytes:
    """A bob hangs on a damped hinge from a rotor that turns evenly about the vertical."""
    scenery = Jointed()
    small = scenery.shape("box", size=[0.1, 0.1, 0.1])
    turning = {"isKinematic": True, "angularVelocity": [0, spin, 0]}
    rotor = scenery.node("Rotor", motion=turning, shape=small)
    moving = {"linearVelocity": [0, 0, -0.5 * spin], "angularVelocity": [0, spin, 0]}
    motion = {"mass": 2.0, "inertiaDiagonal": [1e-4] * 3, **moving}
    bob = scenery.node("Bob", at=(0.5, -0.6, 0), motion=motion)
    ends = scenery.attachment(bob, (0, 0.6, 0)), scenery.attachment(rotor, (0.5, 0, 0))
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
    ]
    damper = {
        "type": "angular", "mode": "force", "axis": 2, "velocityTarget": 0.0, "damping": damping,
    }  # fmt: skip
    scenery.join(*ends, limits=limits, drives=[damper])
    return scenery.bytes()


@pytest.mark.parametrize("rate", [60.0, 240.0])
def test_the_bob_of_a_governor_swings_on_from_where_it_turns(rate: float) -> None:
    spin, damping, arm, radius, mass = 4.0, 1.0, 0.6, 0.5, 2.0
    moment = mass * arm**2 + 1e-4

    def pull(angle: float, speed: float) -> float:
        out = mass * spin**2 * (radius + arm * math.sin(angle)) * arm * math.cos(angle)
        return (out - mass * G * arm * math.sin(angle) - damping * speed) / moment

    angle, speed, fine = 0.0, 0.0, 1e-4
    with world(governor(spin, damping), rate=rate) as scene:
        for _ in range(int(3.0 * rate)):
            scene.step()
            for _ in range(round(1.0 / (rate * fine))):
                speed += fine * pull(angle, speed)
                angle += fine * speed
        x, y, z = scene.world_from_node("Bob")[:3, 3]
        assert math.atan2(math.hypot(x, z) - radius, -y) == pytest.approx(angle, abs=0.02)


@pytest.mark.parametrize(("rate", "speed"), [(60.0, 6.0), (120.0, 6.0), (240.0, 20.0)])
def test_a_part_that_a_filter_lets_through_the_floor_stops_nothing(
    rate: float, speed: float
) -> None:
    scenery = Scenery()
    smooth = scenery.material(staticFriction=0.0, dynamicFriction=0.0)
    ground = scenery.entry("collisionFilters", collisionSystems=["ground"])
    ghost = scenery.entry(
        "collisionFilters", collisionSystems=["ghost"], notCollideWithSystems=["ground"]
    )
    floor = scenery.shape("box", size=[200, 1, 200])
    skid, hull = scenery.shape("sphere", radius=0.05), scenery.shape("box", size=[0.5] * 3)
    scenery.node("Floor", at=(0, -0.5, 0), shape=floor, material=smooth, collision_filter=ground)
    corners = [(x, -0.25, z) for x in (-0.8, 0.8) for z in (-0.3, 0.3)]
    parts = [scenery.node(f"Skid {k}", at=at, shape=skid, material=smooth)
             for k, at in enumerate(corners)]  # fmt: skip
    parts.append(scenery.node("Hull", at=(0, -0.3, 0), shape=hull, collision_filter=ghost))
    motion = {"mass": 10.0, "inertiaDiagonal": [1, 1, 1], "linearVelocity": [speed, 0, 0]}
    scenery.node("Sled", at=(0, 0.3, 0), motion=motion, children=parts)
    with world(scenery.bytes(), rate=rate) as scene:
        scene.step(int(0.5 * rate))
        assert scene.world_from_node("Sled")[0, 3] == pytest.approx(0.5 * speed, rel=1e-3)


def test_colliders_of_one_body_may_stand_in_each_other() -> None:
    scenery = Scenery()
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    rubber, steel = scenery.material(dynamicFriction=0.9), scenery.material(dynamicFriction=0.2)
    parts = [scenery.node("Tyre", shape=box, material=rubber),
             scenery.node("Hub", at=(0.1, 0, 0), shape=box, material=steel)]  # fmt: skip
    scenery.node("Wheel", motion={"mass": 1.0}, children=parts)
    with world(scenery.bytes()) as scene:
        assert [issue.code for issue in scene.issues] == []


@pytest.mark.parametrize("axes", [[0, 1], [0, 1, 2]])
def test_a_rope_that_is_too_short_at_load_is_named_and_pulls_gently(axes: list[int]) -> None:
    scenery = Jointed()
    anchor = scenery.node("World")
    motion = {"mass": 1.0, "inertiaDiagonal": [0.1] * 3, "gravityFactor": 0.0}
    body = scenery.node("Body", at=(3, 0, 0), motion=motion)
    ends = scenery.attachment(anchor, (0, 0, 0)), scenery.attachment(body, (0, 0, 0))
    scenery.join(*ends, limits=[{"linearAxes": axes, "min": 0.0, "max": 1.0}])
    with world(scenery.bytes()) as scene:
        (issue,) = scene.issues
        assert issue.code == "JOINT_STARTS_VIOLATED"
        assert "starts at 3, 2 outside" in issue.message
        for _ in range(480):
            scene.step()
            assert np.linalg.norm(scene.bodies["Body"].linear_velocity) <= 10.1
        assert np.linalg.norm(scene.world_from_node("Body")[:3, 3]) <= 1.001


@pytest.mark.parametrize("rate", [60.0, 240.0])
def test_a_cone_is_not_left_from_its_very_centre(rate: float) -> None:
    most = 0.1
    scenery = Jointed()
    anchor = scenery.node("World")
    motion = {"mass": 1.0, "inertiaDiagonal": [0.1] * 3, "gravityFactor": 0.0}
    body = scenery.node("Body", motion={**motion, "angularVelocity": [0, 14.0, 14.0]})
    ends = scenery.attachment(anchor, (0, 0, 0)), scenery.attachment(body, (0, 0, 0))
    limits = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [1, 2], "min": 0.0, "max": most},
    ]
    scenery.join(*ends, limits=limits)
    with world(scenery.bytes(), rate=rate) as scene:
        for _ in range(60):
            scene.step()
            pole = scene.world_from_node("Body")[:3, 0]
            assert math.acos(min(1.0, pole[0])) <= most + math.radians(0.2)


SKEWED = {"mirrored": (-1.0, 1.0, 1.0), "uneven": (1.0, 2.0, 1.0)}
TILT = (0.0, 0.0, math.sin(math.pi / 8), math.cos(math.pi / 8))


@pytest.mark.parametrize("kind", SKEWED)
@pytest.mark.parametrize("what", ["joint", "velocity"])
def test_axes_that_scales_turn_away_from_rotations_are_named(kind: str, what: str) -> None:
    x, y, _ = SKEWED[kind]
    # Half a right angle between the axes of the node is mirrored, or drawn to the longer one.
    turned = math.atan2(y, x) - math.pi / 4
    scenery = Jointed()
    if what == "joint":
        motion = {"mass": 1.0, "inertiaDiagonal": [0.1] * 3}
        body = scenery.node("Body", motion=motion)
        ends = scenery.attachment(body, (0, 0, 0)), scenery.node("End", rotation=TILT)
        limits = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]
        scenery.join(*ends, limits=limits)
        below = [body, ends[1]]
    else:
        motion = {"mass": 1.0, "inertiaDiagonal": [0.1] * 3, "linearVelocity": [1, 0, 0]}
        below = [scenery.node("Body", rotation=TILT, motion=motion)]
    scenery.node("Side", scale=SKEWED[kind], children=below)
    with world(scenery.bytes()) as scene:
        (issue,) = [found for found in scene.issues if found.code == "AXES_SKEWED"]
        assert f"{math.degrees(turned):.3g} degrees" in issue.message
