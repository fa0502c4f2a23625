"""Each asset with joints runs 5 s at 240 Hz and does what it is for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
G = 9.81
RATE = 240

Load = Callable[[str], gb.Scene]


@pytest.fixture
def load() -> Iterator[Load]:
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0.0, 0.0, -G, physicsClientId=client)
    pybullet.setTimeStep(1.0 / RATE, physicsClientId=client)
    yield lambda name: gb.load_gltf(ASSETS / f"{name}.gltf", client)
    pybullet.disconnect(client)


def place(scene: gb.Scene, node: str) -> np.ndarray:
    return scene.world_from_node(node)[:3, 3]


def position(scene: gb.Scene, joint: str, dof: int = 0) -> float:
    return float(scene.joints[joint].degrees_of_freedom[dof].position)


def gaps(scene: gb.Scene) -> dict[str, float]:
    """Distance [m] between the two attachment nodes of every joint."""
    joints = scene.joints
    places = scene.node_matrices[:, :3, 3]
    apart = places[list(joints)] - places[[j.model.connected_node for j in joints.values()]]
    lengths = np.linalg.norm(apart, axis=1).tolist()
    return dict(zip((joint.name for joint in joints.values()), lengths, strict=True))


def ends(scene: gb.Scene, joint: str) -> list[int]:
    """Both attachment nodes of a joint."""
    return [scene.joints[joint].node, scene.joints[joint].model.connected_node]


def tilt(scene: gb.Scene, nodes: list[int]) -> float:
    """Angle [rad] between the upright (glTF +Y) axes of two attachment nodes."""
    one, other = scene.node_matrices[nodes, :3, 1]
    return math.acos(float(np.clip(one @ other, -1.0, 1.0)))


def fastest(scene: gb.Scene) -> float:
    return max(float(np.linalg.norm(body.linear_velocity)) for body in scene.bodies.values())


def energy(scene: gb.Scene, inertia: float) -> float:
    """Of bodies that are spheres of one ``inertia``, but for the last one's spin [J]."""
    total = 0.0
    for body in scene.bodies.values():
        v, w = body.linear_velocity, body.angular_velocity
        total += 0.5 * body.mass * (v @ v) + 0.5 * inertia * (w @ w)
        total += body.mass * G * body.center_of_mass[2]
    return total


def test_the_door_opens_to_its_stop_and_its_spring_closes_it(load: Load) -> None:
    scene = load("hinge_door")
    scene.apply_impulse("Door", (0, 0, 0), (0, 0, 25))
    widest = 0.0
    for _ in range(5 * RATE):
        scene.step()
        widest = max(widest, abs(position(scene, "HingeOnDoor")))
    assert math.degrees(widest) == pytest.approx(100.0, abs=0.2)
    # I = m (w^2 + t^2) / 12 + m r^2 about the edge; the spring dies out as exp(-d t / 2 I).
    inertia = 15 * ((0.9**2 + 0.05**2) / 12 + 0.46**2)
    assert abs(position(scene, "HingeOnDoor")) < 1.745 * math.exp(-8 * 4 / (2 * inertia)) * 2
    scene.step(10 * RATE)
    assert abs(position(scene, "HingeOnDoor")) < 1e-3


def test_the_lift_rises_at_its_motors_speed_under_load_and_stops_at_the_top(load: Load) -> None:
    scene = load("slider_motor")
    scene.step(2 * RATE)
    # The motor's law d (v_t - v) carries m g.
    assert scene.bodies["Car"].linear_velocity[2] == pytest.approx(0.5 - 5 * G / 500, rel=1e-3)
    scene.step(3 * RATE)
    assert position(scene, "Slide") == pytest.approx(1.5, abs=1e-3)
    assert fastest(scene) < 1e-3


def test_the_joystick_falls_onto_its_cone_and_not_through(load: Load) -> None:
    scene = load("ball_and_cone")
    socket = ends(scene, "Socket")
    assert math.degrees(tilt(scene, socket)) == pytest.approx(5.0, abs=1e-3)
    widest = 0.0
    for _ in range(5 * RATE):
        scene.step()
        widest = max(widest, math.degrees(tilt(scene, socket)))
    assert widest < 40.1
    assert math.degrees(tilt(scene, socket)) == pytest.approx(40.0, abs=0.1)
    assert gaps(scene)["Socket"] < 1e-4


def test_the_rope_swings_whole_and_without_gaining_energy(load: Load) -> None:
    scene = load("rope")
    start = energy(scene, 5e-5)
    lowest, swing = math.inf, 0.0
    for _ in range(5 * RATE):
        scene.step()
        assert max(gaps(scene).values()) < 1e-4
        assert np.linalg.norm(place(scene, "Weight") - (0, 0, 3)) < 2.08 + 1e-3
        lowest, swing = (
            min(lowest, place(scene, "Weight")[2]),
            min(swing, place(scene, "Weight")[0]),
        )
    # From 45 degrees on one side through the bottom to the other.
    assert lowest == pytest.approx(3 - 2.08, abs=0.05)
    assert swing < -1.2
    # 2 m of height times 2 kg are 12 J of swing; one per cent of that is the engine's error.
    assert energy(scene, 5e-5) < start + 0.12


def test_the_crank_goes_round_and_the_rocker_swings_between_its_dead_centres(load: Load) -> None:
    scene = load("four_bar")
    angles = []
    for _ in range(5 * RATE):
        scene.step()
        assert max(gaps(scene).values()) < 1e-4
        tip = place(scene, "RockerPin") - place(scene, "RockerPivot")
        angles.append(math.atan2(tip[2], -tip[0]))
    assert position(scene, "CrankMotor") == pytest.approx(2 * 5, rel=0.05)
    # At the dead centres crank (0.2) and coupler (0.5) lie on one line: law of cosines.
    for found, reach in ((max(angles), 0.5 + 0.2), (min(angles), 0.5 - 0.2)):
        cosine = (0.6**2 + 0.4**2 - reach**2) / (2 * 0.6 * 0.4)
        assert found == pytest.approx(math.acos(cosine), abs=0.01)


def test_the_arm_holds_its_reach_with_the_sag_of_statics_and_goes_where_it_is_told(
    load: Load,
) -> None:
    scene = load("six_axis_arm")
    names = ("Turret", "Shoulder", "Elbow", "Forearm", "Wrist", "Hand")
    scene.step(2 * RATE)
    torque = G * (2 * 0.15 + 1 * 0.4 + 0.5 * 0.55 + 0.3 * 0.65)
    assert position(scene, "ShoulderAxis") == pytest.approx(-torque / 2e4, rel=0.02)
    targets = {"Turret": 0.8, "Shoulder": -0.3, "Elbow": 0.6, "Forearm": 1.0, "Wrist": -0.7,
               "Hand": 0.5}  # fmt: skip
    order = [scene.joints[d.joint_node].name[:-4] for d in scene.joint_controls.drives]
    scene.set_drive_targets([targets[name] for name in order])
    scene.step(3 * RATE)
    most = G * (3 * 0.2 + 2 * 0.4 + 1 * 0.8 + 0.5 * 0.95 + 0.3 * 1.05) / 2e4
    for name in names:
        assert position(scene, f"{name}Axis") == pytest.approx(targets[name], abs=most)
        dof = scene.joints[f"{name}Axis"].degrees_of_freedom[0]
        state = pybullet.getJointState(dof.body_id, dof.link_index, physicsClientId=scene.client_id)
        assert state[0] == pytest.approx(targets[name], abs=most)


def test_the_ragdoll_falls_within_its_limits_and_comes_to_rest(load: Load) -> None:
    scene = load("ragdoll")
    hinges = {"Elbow": (-2.4, 0.0), "Knee": (0.0, 2.2)}
    cones = [
        (ends(scene, f"{side}{name}"), math.radians(opening))
        for side in ("Left", "Right")
        for name, opening in (("Shoulder", 85.0), ("Hip", 60.0))
    ]
    # The solve does not know contacts: limbs hit the ground at up to sqrt(2 g 1 m) = 4.5 m/s, 19 mm
    # per step, which are 3 degrees of a limb of 0.4 m.
    slack = math.radians(3.0)
    for _ in range(5 * RATE):
        scene.step()
        for side in ("Left", "Right"):
            for name, (low, high) in hinges.items():
                assert low - slack < position(scene, f"{side}{name}") < high + slack
        for nodes, opening in cones:
            assert tilt(scene, nodes) < opening + slack
    assert max(gaps(scene).values()) < 1e-4
    assert fastest(scene) < 0.05
    assert 0.05 < place(scene, "Chest")[2] < 0.5, "it lies on the floor"
    assert min(body.center_of_mass[2] for body in scene.bodies.values()) > 0.03


def test_the_bridge_carries_a_box_on_its_cables(load: Load) -> None:
    scene = load("suspension_bridge")
    scene.step(5 * RATE)
    apart = gaps(scene)
    assert max(gap for name, gap in apart.items() if "Pin" in name and name != "PlankPin10") < 1e-3
    for side, number in itertools.product(("Left", "Right"), range(1, 10)):
        name = f"{side}Hanger{number}"
        longest = scene.joints[name].limits[0].maximum
        assert apart[name] < 1.005 * longest, f"{name} has torn"
        if number in (4, 5, 6):
            assert apart[name] > 0.99 * longest, f"{name} is slack and carries nothing"
    # The deck gives way by some centimetres; the box (half of 0.5 m) stands on it (3 cm thick).
    x, _, z = place(scene, "Box")
    assert abs(x) < 0.1
    assert 2.28 - 0.15 < z < 2.28
    assert fastest(scene) < 0.1


def test_the_wheels_push_the_car_off_and_roll_it_at_their_speed(load: Load) -> None:
    scene = load("vehicle")
    scene.step(RATE // 2)
    before = scene.bodies["Car"].linear_velocity[0]
    scene.step(RATE // 4)
    # Four motors of 100 N m on wheels of 0.3 m; rolling wheels weigh I / r^2 more.
    mass = 400 + 4 * (15 + 0.7 / 0.3**2)
    gain = scene.bodies["Car"].linear_velocity[0] - before
    assert gain / 0.25 == pytest.approx(4 * 100 / 0.3 / mass, rel=0.03)
    scene.step(5 * RATE - RATE * 3 // 4)
    assert scene.bodies["Car"].linear_velocity[0] == pytest.approx(10 * 0.3, rel=0.01)
    assert abs(place(scene, "Car")[1]) < 0.1, "it drives straight on"


def test_steered_wheels_lead_the_car_round_the_circle_of_its_wheelbase(load: Load) -> None:
    scene = load("vehicle")
    for name in ("FrontLeftAxle", "FrontRightAxle"):
        joint = scene.joints[name]
        drive = next(k for k, d in enumerate(joint.drives) if d.axis == 1 and d.stiffness == 2e3)
        pointer = joint.model.description.pointer
        scene.set(f"{pointer}/drives/{drive}/positionTarget", 0.3)
    scene.step(5 * RATE)
    car = scene.bodies["Car"]
    speed = np.linalg.norm(car.linear_velocity[:2])
    # Rear wheels roll on a circle of wheelbase / tan(angle); the middle of the car is 0.7 m ahead.
    radius = math.hypot(1.4 / math.tan(0.3), 0.7)
    assert car.angular_velocity[2] == pytest.approx(speed / radius, rel=0.1)
