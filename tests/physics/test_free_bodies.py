"""Bodies without joints against formulas: flight, tumbling, mass properties, gravity, belts."""

from __future__ import annotations

import math

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.transforms import matrices_from_quats
from tests.physics.scenes import G, Scenery, world

RATE = 240.0
DT = 1.0 / RATE


def lone_body(
    motion: dict[str, object],
    *,
    size: tuple[float, float, float] | None = (0.4, 0.4, 0.4),
    **node: object,
) -> bytes:
    scenery = Scenery()
    shape = None if size is None else scenery.shape("box", size=list(size))
    scenery.node("Body", shape=shape, motion=motion, **node)
    return scenery.bytes()


def semi_implicit_flight(
    start: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, steps: int
) -> np.ndarray:
    """Velocities advance first: n steps fall by a dt^2 n (n + 1) / 2."""
    return start + steps * DT * velocity + acceleration * DT * DT * steps * (steps + 1) / 2.0


def test_a_body_falls_by_the_semi_implicit_formula() -> None:
    with world(lone_body({"mass": 3.0}, at=(1, 2, 3))) as scene:
        scene.step(240)
        expected = semi_implicit_flight(
            np.array([1.0, 2.0, 3.0]), np.zeros(3), np.array([0.0, -G, 0.0]), 240
        )
        assert scene.world_from_node("Body")[:3, 3] == pytest.approx(expected, abs=1e-9)
        assert scene.bodies["Body"].linear_velocity == pytest.approx([0, -G, 0], abs=1e-9)
        assert scene.time == pytest.approx(1.0)


def test_a_thrown_body_follows_the_parabola() -> None:
    throw = [2.0, 7.0, -1.5]
    with world(lone_body({"linearVelocity": throw})) as scene:
        scene.step(300)
        expected = semi_implicit_flight(np.zeros(3), np.array(throw), np.array([0.0, -G, 0.0]), 300)
        assert scene.world_from_node("Body")[:3, 3] == pytest.approx(expected, abs=1e-9)


def test_a_fast_body_is_not_clamped() -> None:
    with world(lone_body({"linearVelocity": [900.0, 0.0, 0.0]}), gravity=0.0) as scene:
        scene.step(240)
        assert scene.world_from_node("Body")[0, 3] == pytest.approx(900.0, rel=1e-9)


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 2.0])
def test_the_gravity_factor_multiplies_gravity(factor: float) -> None:
    with world(lone_body({"gravityFactor": factor, "mass": 2.5})) as scene:
        scene.step(240)
        expected = semi_implicit_flight(
            np.zeros(3), np.zeros(3), np.array([0.0, -G * factor, 0.0]), 240
        )
        assert scene.world_from_node("Body")[:3, 3] == pytest.approx(expected, abs=1e-6)


def energy_and_momentum(scene: gb.Scene, moments: np.ndarray) -> tuple[float, np.ndarray]:
    """Rotational energy and angular momentum of a body whose principal axes are its node's."""
    rotation = scene.world_from_node("Body")[:3, :3]
    spin = scene.bodies["Body"].angular_velocity
    in_body = rotation.T @ spin
    return 0.5 * float(in_body @ (moments * in_body)), rotation @ (moments * in_body)


@pytest.mark.parametrize("rate", [60.0, 240.0, pytest.param(1000.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("spin", [(0.1, 5.0, 0.1), (3.0, 2.0, 4.0), (0.0, 0.01, 9.0)])
def test_a_tumbling_body_keeps_energy_and_angular_momentum(
    rate: float, spin: tuple[float, float, float]
) -> None:
    moments = np.array([0.4, 0.9, 0.6])
    motion = {
        "mass": 2.0,
        "inertiaDiagonal": moments.tolist(),
        "angularVelocity": list(spin),
    }
    with world(lone_body(motion), rate=rate, gravity=0.0) as scene:
        energy, momentum = energy_and_momentum(scene, moments)
        scene.step(int(5.0 * rate))
        energy_after, momentum_after = energy_and_momentum(scene, moments)
    assert energy_after == pytest.approx(energy, rel=0.01)
    # Spins belong to the middle of steps: read at their ends they lean by half a step's turn.
    lean = 0.5 * np.linalg.norm(spin) / rate * np.ptp(moments) / moments.max()
    drift = np.linalg.norm(momentum_after - momentum) / np.linalg.norm(momentum)
    assert drift < max(0.01, 2.0 * lean)


def spun(inertia: list[float], spin: list[float], mass: float = 1.0) -> bytes:
    """A box in free space."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 1, 1])
    motion = {"mass": mass, "gravityFactor": 0, "inertiaDiagonal": inertia, "angularVelocity": spin}
    scenery.node("Top", shape=box, motion=motion)
    return scenery.bytes()


def test_about_one_infinite_moment_nothing_changes_a_spin() -> None:
    """0 stands for infinity (KHR_physics_rigid_bodies, "Motions"); no force acts."""
    spin = [1.0, 0.5, 0.2]
    with world(spun([0, 0.2, 0.25], spin)) as scene:
        scene.step(480)
        assert scene.bodies["Top"].angular_velocity == pytest.approx(spin, abs=1e-3)


@pytest.mark.parametrize("mass", [1.0, 0.0])
@pytest.mark.parametrize(("inertia", "axis"), [([0, 0, 0.25], 2), ([0.1, 0, 0], 0)])
def test_beside_two_infinite_moments_a_body_keeps_its_own_spin(
    inertia: list[float], axis: int, mass: float
) -> None:
    """What is infinite turns on as it does, and carries the axis of the third, whose spin stays.

    With an infinite mass as well one of 2 rad/s was one of 10^5 after a second.
    """
    spin = [1.0, 0.5, 0.2]
    across = np.array(spin)
    across[axis] = 0.0
    with world(spun(inertia, spin, mass)) as scene:
        scene.step(480)
        own = spin[axis] * scene.world_from_node("Top")[:3, axis]
        found = scene.bodies["Top"].angular_velocity
    assert found == pytest.approx(across + own, abs=3e-3)


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("radius", [5e-3, 7e-4, 5e-4, 3e-4])
def test_a_thin_rod_keeps_its_own_spin(radius: float, rate: float) -> None:
    """Of rods of 0.7 and 0.5 mm 20 rad/s became 7.2 and 0.15 in a second."""
    across, along = radius**2 / 4.0 + 1.0 / 12.0, radius**2 / 2.0
    with world(spun([across, along, across], [5.0, 20.0, 0.0]), rate=rate) as scene:
        scene.step(int(rate))
        spin = scene.bodies["Top"].angular_velocity
        assert float(spin @ scene.world_from_node("Top")[:3, 1]) == pytest.approx(20.0, rel=1e-3)
        assert np.linalg.norm(spin) == pytest.approx(math.hypot(5.0, 20.0), rel=1e-3)


def test_a_body_tumbles_the_same_in_one_call_and_step_by_step() -> None:
    """What is known of its spin is read after every step, also where nobody looks at the nodes."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.2, 0.4, 0.6])
    scenery.node(
        "Top",
        shape=box,
        motion={"mass": 1, "inertiaDiagonal": [1, 2, 2.5]},
    )
    rotations = []
    for chunk in (1, 240):
        with world(scenery.bytes(), gravity=0.0) as scene:
            scene.step(2)
            scene.apply_impulse("Top", (0, 0, 0), (0.1, 12, 0.1))
            for _ in range(240 // chunk):
                scene.step(chunk)
            rotations.append(scene.world_from_node("Top"))
    assert np.array_equal(*rotations)


def test_the_inertia_orientation_turns_the_principal_axes() -> None:
    half = math.radians(50.0) / 2.0
    orientation = np.array([0.0, math.sin(half), 0.0, math.cos(half)])
    moments = np.array([0.2, 0.7, 0.5])
    motion = {
        "mass": 1.0,
        "inertiaDiagonal": moments.tolist(),
        "inertiaOrientation": orientation.tolist(),
    }
    impulse = np.array([0.3, -0.2, 0.5])
    with world(lone_body(motion), gravity=0.0) as scene:
        scene.bodies["Body"].apply_impulse(angular=impulse.tolist())
        axes = matrices_from_quats(orientation)
        tensor = axes @ np.diag(moments) @ axes.T
        expected = np.linalg.solve(tensor, impulse)
        assert scene.bodies["Body"].angular_velocity == pytest.approx(expected, abs=1e-9)
        # The engine agrees: an external torque changes the spin by the same tensor.
        before = scene.bodies["Body"].angular_velocity
        body = scene.bodies["Body"]
        torque = np.array([0.02, 0.01, -0.03])
        pybullet.applyExternalTorque(
            body.body_id,
            -1,
            torque.tolist(),
            pybullet.WORLD_FRAME,
            physicsClientId=scene.client_id,
        )
        pybullet.stepSimulation(scene.client_id)
        change = (body.angular_velocity - before) / DT
        gyroscopic = np.cross(before, tensor @ before)
        assert change == pytest.approx(np.linalg.solve(tensor, torque - gyroscopic), rel=1e-2)


def test_a_body_turns_about_its_offset_centre_of_mass() -> None:
    center = np.array([0.3, -0.1, 0.2])
    spin = np.array([0.0, 4.0, 0.0])
    motion = {
        "mass": 1.0,
        "centerOfMass": center.tolist(),
        "inertiaDiagonal": [0.5, 0.5, 0.5],
        "angularVelocity": spin.tolist(),
    }
    with world(lone_body(motion), gravity=0.0) as scene:
        assert scene.bodies["Body"].center_of_mass == pytest.approx(center)
        scene.step(120)
        assert scene.bodies["Body"].center_of_mass == pytest.approx(center, abs=1e-9)
        # The origin circles about the centre: after 0.5 s at 4 rad/s it stands 2 rad further.
        turned = math.cos(2.0), math.sin(2.0)
        x, z = -center[0], -center[2]
        expected = [
            center[0] + turned[0] * x + turned[1] * z,
            0.0,
            center[2] - turned[1] * x + turned[0] * z,
        ]
        assert scene.world_from_node("Body")[:3, 3] == pytest.approx(expected, abs=2e-3)


def test_an_infinite_mass_is_not_pushed_by_a_finite_one() -> None:
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.2)
    scenery.node("Wall", shape=ball, motion={"mass": 0, "gravityFactor": 0})
    scenery.node(
        "Ball", at=(-1, 0, 0), shape=ball, motion={"mass": 5.0, "linearVelocity": [4, 0, 0]}
    )
    with world(scenery.bytes(), gravity=0.0) as scene:
        scene.step(240)
        assert np.linalg.norm(scene.world_from_node("Wall")[:3, 3]) < 1e-4
        assert scene.bodies["Ball"].linear_velocity[0] < 0.5


def test_an_infinite_mass_still_falls() -> None:
    with world(lone_body({"mass": 0})) as scene:
        scene.step(240)
        assert scene.bodies["Body"].linear_velocity == pytest.approx([0, -G, 0], rel=1e-6)


@pytest.mark.parametrize("infinite", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_infinite_components_of_inertia_do_not_turn(infinite: tuple[int, ...]) -> None:
    moments = np.array([0.3, 0.4, 0.5])
    authored = [0.0 if axis in infinite else float(moments[axis]) for axis in range(3)]
    impulse = np.array([0.2, 0.3, -0.4])
    with world(lone_body({"mass": 1.0, "inertiaDiagonal": authored}), gravity=0.0) as scene:
        scene.bodies["Body"].apply_impulse(angular=impulse.tolist())
        expected = np.where(np.isin(np.arange(3), infinite), 0.0, impulse / moments)
        assert scene.bodies["Body"].angular_velocity == pytest.approx(expected, abs=1e-6)
        finite_axes = [axis for axis in range(3) if axis not in infinite]
        if len(finite_axes) == 1:
            # One axis left: a plain hinge. It goes on turning at that speed.
            scene.step(240)
            assert scene.bodies["Body"].angular_velocity == pytest.approx(expected, abs=1e-3)


def test_a_belt_carries_a_box_at_its_speed() -> None:
    scenery = Scenery()
    belt, box = scenery.shape("box", size=[20, 0.2, 2]), scenery.shape("box", size=[0.4] * 3)
    rough = scenery.material(staticFriction=1.0, dynamicFriction=1.0)
    scenery.node(
        "Belt",
        shape=belt,
        material=rough,
        motion={"isKinematic": True, "linearVelocity": [0.5, 0, 0]},
    )
    scenery.node("Box", at=(0, 0.3, 0), shape=box, material=rough, motion={"mass": 4.0})
    with world(scenery.bytes()) as scene:
        scene.step(120)
        start = scene.world_from_node("Box")[0, 3]
        scene.step(240)
        assert scene.world_from_node("Box")[0, 3] - start == pytest.approx(0.5, rel=5e-3)
        assert scene.bodies["Box"].linear_velocity[0] == pytest.approx(0.5, rel=1e-3)
        assert scene.world_from_node("Belt")[0, 3] == pytest.approx(0.75, rel=1e-6)


def test_a_turning_kinematic_body_keeps_its_axis() -> None:
    with world(lone_body({"isKinematic": True, "angularVelocity": [0, 1.0, 0]})) as scene:
        scene.step(240)
        rotation = scene.world_from_node("Body")[:3, :3]
        expected = [
            [math.cos(1.0), 0, math.sin(1.0)],
            [0, 1, 0],
            [-math.sin(1.0), 0, math.cos(1.0)],
        ]
        assert rotation == pytest.approx(np.array(expected), abs=1e-4)


def test_velocities_are_in_node_axes() -> None:
    """KHR_physics_rigid_bodies, "Motions": rotated by the node's global rotation, never scaled."""
    quarter = [0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)]  # +X becomes +Y
    motion = {"linearVelocity": [3, 0, 0], "angularVelocity": [0, 2, 0], "gravityFactor": 0}
    with world(lone_body(motion, rotation=quarter, scale=(2, 2, 2))) as scene:
        body = scene.bodies["Body"]
        assert body.linear_velocity == pytest.approx([0, 3, 0], abs=1e-9)
        assert body.angular_velocity == pytest.approx([-2, 0, 0], abs=1e-9)


def bouncing_scene() -> bytes:
    scenery = Scenery()
    floor = scenery.shape("box", size=[20, 1, 20])
    box = scenery.shape("box", size=[0.5, 0.3, 0.4])
    ball = scenery.shape("sphere", radius=0.3)
    scenery.node("Floor", at=(0, -0.5, 0), shape=floor)
    scenery.node(
        "Box",
        at=(0, 1.0, 0),
        rotation=[0.0, 0.0, math.sin(0.2), math.cos(0.2)],
        shape=box,
        motion={"mass": 2.0, "linearVelocity": [1, 0, 0.5], "angularVelocity": [0, 1, 2]},
    )
    scenery.node("Ball", at=(1.5, 0.8, 0), shape=ball, motion={"linearVelocity": [-1, 0, 0]})
    return scenery.bytes()


def rollout(**arguments: object) -> np.ndarray:
    with world(bouncing_scene(), **arguments) as scene:
        frames = []
        for _ in range(60):
            scene.step(2)
            frames.append(scene.node_matrices.copy())
        return np.array(frames)


def test_up_axis_y_and_z_give_the_same_motion() -> None:
    y_up, z_up = rollout(up_axis="y"), rollout(up_axis="z")
    stand_up = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    assert np.abs(stand_up @ y_up - z_up).max() < 1e-3


def test_a_turned_and_moved_load_gives_the_same_motion() -> None:
    """About the vertical axis: gravity must stay where it is in the asset."""
    half = math.radians(35.0) / 2.0
    quat = (0.0, math.sin(half), 0.0, math.cos(half))
    placement = np.eye(4)
    placement[:3, :3] = matrices_from_quats(np.array(quat))
    placement[:3, 3] = (4.0, -2.0, 7.0)
    plain = rollout(up_axis="y")
    moved = rollout(up_axis="y", position=(4.0, -2.0, 7.0), orientation=quat)
    assert np.abs(placement @ plain - moved).max() < 2e-2


def test_free_flight_is_the_same_below_any_placement() -> None:
    half = math.radians(70.0) / 2.0
    axis = np.array([1.0, 2.0, -0.5])
    axis /= np.linalg.norm(axis)
    quat = (*(math.sin(half) * axis), math.cos(half))
    turn = matrices_from_quats(np.array(quat))
    motion = {"mass": 1.0, "linearVelocity": [1, 2, 3]}
    with world(
        lone_body(motion, at=(1, 0, 0)),
        gravity=0.0,
        position=(1, 2, 3),
        orientation=quat,
        scale=2.0,
    ) as scene:
        scene.step(240)
        # Lengths grow with the scale, stated velocities stay.
        expected = np.array([1, 2, 3]) + turn @ (2.0 * np.array([1.0, 0, 0]) + [1, 2, 3])
        assert scene.world_from_node("Body")[:3, 3] == pytest.approx(expected, abs=1e-9)
        columns = np.linalg.norm(scene.world_from_node("Body")[:3, :3], axis=0)
        assert columns == pytest.approx([2, 2, 2])


def test_a_scaled_load_is_the_scaled_scene() -> None:
    """A scene loaded at scale 2 moves like the same scene authored twice as large."""

    def authored(factor: float) -> bytes:
        scenery = Scenery()
        box = scenery.shape("box", size=[0.5 * factor, 0.3 * factor, 0.4 * factor])
        floor = scenery.shape("box", size=[8 * factor, factor, 8 * factor])
        scenery.node("Floor", at=(0, -0.5 * factor, 0), shape=floor)
        scenery.node("Box", at=(0, factor, 0), rotation=[0, 0, math.sin(0.2), math.cos(0.2)],
                     shape=box, motion={"linearVelocity": [1, 0, 0]})  # fmt: skip
        return scenery.bytes()

    with world(authored(1.0), scale=2.0) as scaled, world(authored(2.0)) as large:
        for _ in range(30):
            scaled.step(4)
            large.step(4)
            a, b = scaled.world_from_node("Box"), large.world_from_node("Box")
            assert a[:3, 3] == pytest.approx(b[:3, 3], abs=1e-3)
        assert scaled.bodies["Box"].mass == pytest.approx(large.bodies["Box"].mass)


def test_nested_motions_are_independent_bodies() -> None:
    scenery = Scenery()
    shape = scenery.shape("sphere", radius=0.1)
    inner = scenery.node("Inner", at=(1, 0, 0), shape=shape, motion={"gravityFactor": 0})
    scenery.node("Outer", at=(0, 3, 0), shape=shape, motion={}, children=(inner,))
    with world(scenery.bytes()) as scene:
        scene.step(240)
        assert scene.world_from_node("Inner")[:3, 3] == pytest.approx([1, 3, 0], abs=1e-9)
        assert scene.world_from_node("Outer")[1, 3] < 0.0
        # The inner node's local transform now cancels the outer one's fall.
        fallen = 3.0 - scene.world_from_node("Outer")[1, 3]
        assert scene.node("Inner").translation == pytest.approx([1, fallen, 0], abs=1e-9)


def test_a_body_falls_the_same_in_a_batch_and_alone() -> None:
    scenery = Scenery()
    shape = scenery.shape("box", size=[0.2, 0.3, 0.4])
    for number in range(6):
        scenery.node(
            f"Body{number}",
            at=(number, 5, 0),
            shape=shape,
            motion={"mass": 1.0 + number, "angularVelocity": [1, 2, 3]},
        )
    data = scenery.bytes()
    with (
        world(data, options=gb.LoadOptions(batch_size=2)) as batched,
        world(data, options=gb.LoadOptions(batch_size=100)) as single,
    ):
        batched.step(100)
        single.step(100)
        assert batched.node_matrices == pytest.approx(single.node_matrices, abs=1e-12)
        assert [b.mass for b in batched.bodies.values()] == [1, 2, 3, 4, 5, 6]


def test_moments_further_apart_than_doubles_can_tell_stay_finite() -> None:
    """Found by the fuzzer: a matrix of such moments has no inverse that a solver finds."""
    scenery = Scenery()
    motion = {"mass": 1e12, "inertiaDiagonal": [1, 1e18, 1], "angularVelocity": [1, 2, 3]}
    scenery.node("Body", shape=scenery.shape("sphere", radius=0.5), motion=motion)
    with world(scenery.bytes()) as scene:
        for _ in range(20):
            scene.step()
        assert np.isfinite(scene.world_from_node("Body")).all()
