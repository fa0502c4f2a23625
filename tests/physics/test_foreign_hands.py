"""What PyBullet's users do to loaded joints with its own calls means what it means there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.solver.articulation_step import RECOVERY_SPEED, RECOVERY_TIME
from tests.physics.scenes import Jointed, world

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
RATES = [60.0, 240.0, 1000.0]


@contextmanager
def loaded(name: str, rate: float, substeps: int = 0) -> Iterator[tuple[gb.Scene, int]]:
    """An example under gravity; the scene and its world."""
    with headless_world() as client:
        pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=1.0 / rate, numSubSteps=substeps, physicsClientId=client
        )
        yield gb.load_gltf(ASSETS / f"{name}.gltf", client), client


def axis_of(scene: gb.Scene, joint: int) -> tuple[int, int]:
    """Body and link of a joint's only degree of freedom."""
    [axis] = scene.joints[joint].degrees_of_freedom
    return axis.body_id, axis.link_index


def place(client: int, axis: tuple[int, int]) -> tuple[float, float]:
    """Position and velocity of an axis."""
    position, velocity, *_ = pybullet.getJointState(*axis, physicsClientId=client)
    return position, velocity


# --- motors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
def test_a_motor_takes_an_axis_over_from_its_drive_until_it_is_switched_off(rate: float) -> None:
    with loaded("six_axis_arm", rate) as (scene, client):
        shoulder = list(scene.joints)[1]
        axis = axis_of(scene, shoulder)
        scene.step(round(rate))
        authored = place(client, axis)[0]
        others = [axis_of(scene, joint) for joint in scene.joints if joint != shoulder]
        before = [place(client, other)[0] for other in others]
        assert not scene.joints[shoulder].is_taken_over

        goal = authored + 0.4
        pybullet.setJointMotorControl2(
            *axis, pybullet.POSITION_CONTROL, goal, force=2000.0, physicsClientId=client
        )
        scene.step(round(2.0 * rate))
        assert place(client, axis)[0] == pytest.approx(goal, abs=2e-3)
        assert scene.joints[shoulder].is_taken_over
        assert [i.pointer for i in scene.issues if i.code == "DRIVE_TAKEN_OVER"] == [
            f"/nodes/{shoulder}"
        ]
        for other, was in zip(others, before, strict=True):
            # Their drives hold: what they give way to the new pose is soft by their own law.
            assert place(client, other)[0] == pytest.approx(was, abs=0.02)

        pybullet.setJointMotorControl2(
            *axis, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
        )
        scene.step(round(3.0 * rate))
        assert not scene.joints[shoulder].is_taken_over
        assert place(client, axis)[0] == pytest.approx(authored, abs=2e-3)


@pytest.mark.parametrize("rate", RATES)
def test_a_motor_at_its_largest_force_keeps_its_axis(rate: float) -> None:
    """What it exerts is the same in every step, as of one that was switched off."""
    with loaded("six_axis_arm", rate) as (scene, client):
        shoulder = list(scene.joints)[1]
        axis = axis_of(scene, shoulder)
        scene.step(round(rate))
        pybullet.setJointMotorControl2(
            *axis, pybullet.VELOCITY_CONTROL, targetVelocity=50.0, force=5.0, physicsClientId=client
        )
        scene.step(2)
        for _ in range(round(0.3 * rate)):
            scene.step()
            assert scene.joints[shoulder].is_taken_over
            exerted = pybullet.getJointState(*axis, physicsClientId=client)[3]
            assert exerted == pytest.approx(5.0)


def test_drives_resume_when_they_are_told_to() -> None:
    with loaded("six_axis_arm", 240.0) as (scene, client):
        turret = next(iter(scene.joints))
        axis = axis_of(scene, turret)
        scene.step(60)
        authored = place(client, axis)[0]
        pybullet.setJointMotorControl2(
            *axis, pybullet.POSITION_CONTROL, authored + 0.5, force=2000.0, physicsClientId=client
        )
        scene.step(240)
        scene.joints[turret].resume_drives()
        assert not scene.joints[turret].is_taken_over
        scene.step(720)
        assert not scene.joints[turret].is_taken_over
        assert place(client, axis)[0] == pytest.approx(authored, abs=2e-3)


@pytest.mark.parametrize("ending", ["off", "resumed"])
def test_a_motor_on_a_ball_joint_takes_its_drive_over(ending: str) -> None:
    """Drives pull a bob on a ball joint straight; a motor turns it about one of its axes."""
    scenery = Jointed()
    bob = scenery.node(
        "Bob", at=(0.0, -0.3, 0.0), shape=scenery.shape("box", size=[0.2, 0.6, 0.2]),
        motion={"mass": 1.0},
    )  # fmt: skip
    spring = {"type": "angular", "mode": "force", "stiffness": 200.0, "damping": 20.0}
    scenery.join(
        scenery.node("Top"),
        scenery.attachment(bob, (0.0, 0.3, 0.0)),
        limits=[{"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}],
        drives=[{**spring, "axis": axis, "positionTarget": 0.0} for axis in range(3)],
    )
    angle = 0.6
    with world(scenery.bytes()) as scene:
        [joint] = scene.joints.values()
        [ball] = joint.degrees_of_freedom
        scene.step(60)
        assert not joint.is_taken_over
        assert ball.position == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)

        def turn(force: float) -> None:
            pybullet.setJointMotorControlMultiDof(
                ball.body_id,
                ball.link_index,
                pybullet.POSITION_CONTROL,
                targetPosition=[0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle)],
                force=[force] * 3,
                physicsClientId=scene.client_id,
            )

        turn(50.0)
        scene.step(240)
        assert joint.is_taken_over
        assert ball.position == pytest.approx((0.0, 0.0, angle), abs=0.01)
        if ending == "off":
            turn(0.0)
            scene.step(8)
        else:
            joint.resume_drives()
            scene.step()
        assert not joint.is_taken_over
        scene.step(240)
        assert not joint.is_taken_over
        assert ball.position == pytest.approx((0.0, 0.0, 0.0), abs=1e-3)


# --- positions and velocities ---------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ["hinge_door", "six_axis_arm"])
def test_an_axis_that_is_put_beyond_its_limit_comes_back_as_one_that_begins_there(
    name: str, rate: float
) -> None:
    with loaded(name, rate) as (scene, client):
        joint = next(iter(scene.joints))
        axis = axis_of(scene, joint)
        upper = scene.joints[joint].degrees_of_freedom[0].state.upper
        scene.step(round(0.25 * rate))
        pybullet.resetJointState(*axis, upper + 0.5, physicsClientId=client)
        fastest, gap = 0.0, 0.5
        for _ in range(round(0.5 * rate)):
            scene.step()
            position, velocity = place(client, axis)
            if position < upper + 1e-3:
                break  # a drive that pulls further in is free to
            fastest = max(fastest, abs(velocity))
            assert position - upper < gap
            gap = position - upper
        # What violates a limit at load is brought back with this time constant.
        assert fastest <= 0.5 / RECOVERY_TIME * (1.0 + 1e-6)
        assert gap < 5e-3


@pytest.mark.parametrize("rate", RATES)
def test_an_axis_that_an_impact_has_wound_up_comes_back_at_the_speed_of_recovery(
    rate: float,
) -> None:
    """In one step of a heap a limb went round 13 times; on its way back it threw all others."""
    scenery = Jointed()
    body = scenery.node("Body", motion={"mass": 1.0, "inertiaDiagonal": [0.1, 0.1, 0.1]})
    locked = {"min": 0.0, "max": 0.0}
    scenery.join(
        scenery.node("Frame"), scenery.attachment(body, (0.0, 0.0, 0.0)),
        limits=[{"linearAxes": [0, 1, 2], **locked}, {"angularAxes": [1, 2], **locked},
                {"angularAxes": [0], "min": -1.0, "max": 1.0}],
    )  # fmt: skip
    with world(scenery.bytes(), rate=rate, gravity=0.0) as scene:
        client, axis = scene.client_id, axis_of(scene, next(iter(scene.joints)))
        start, steps = 1.0 + 26.0 * math.pi, round(0.5 * rate)
        scene.step()
        pybullet.resetJointState(*axis, start, physicsClientId=client)
        scene.step()
        arena = scene.core.world.articulations.arena
        recovering = arena.numbers(arena.records[0], "row_recovering")
        assert recovering[0]
        # It was nobody's hand: nothing says that the axis is on its way back.
        recovering[0] = 0
        for _ in range(steps):
            scene.step()
            assert abs(place(client, axis)[1]) == pytest.approx(RECOVERY_SPEED, rel=1e-6)
        assert place(client, axis)[0] == pytest.approx(
            start - (1 + steps) * RECOVERY_SPEED / rate, rel=1e-6
        )


@pytest.mark.parametrize("substeps", [0, 2, 4])
@pytest.mark.parametrize("rate", RATES)
def test_velocities_that_are_set_are_kept(rate: float, substeps: int) -> None:
    """A cart-pole's pole that is given a turn: the first step takes no more than gravity can."""
    with loaded("cart_pole", rate, substeps) as (scene, client):
        pole = axis_of(scene, list(scene.joints)[-1])
        scene.step(round(rate))
        for speed in (3.0, -5.0):
            pybullet.resetJointState(*pole, place(client, pole)[0], speed, physicsClientId=client)
            scene.step()
            # 3 g / 2 l is the most that gravity gives a rod, of 1 m at least.
            assert abs(place(client, pole)[1] - speed) < 1.5 * 9.81 / rate + 0.02 * abs(speed)
            scene.step(round(0.2 * rate))


@pytest.mark.parametrize("substeps", [0, 3])
@pytest.mark.parametrize("rate", RATES)
def test_bases_and_balls_keep_the_velocities_that_are_set(rate: float, substeps: int) -> None:
    with loaded("ragdoll", rate, substeps) as (scene, client):
        scene.step(round(2.0 * rate))
        base = next(body.body_id for body in scene.bodies.values() if body.link_index == -1)
        pybullet.resetBaseVelocity(base, [0, 0, 6.0], [0, 0, 0], physicsClientId=client)
        for link in range(pybullet.getNumJoints(base, physicsClientId=client)):
            state = pybullet.getJointStateMultiDof(base, link, physicsClientId=client)
            if state[0]:
                pybullet.resetJointStateMultiDof(
                    base, link, state[0], [0.0] * len(state[1]), physicsClientId=client
                )
        height = pybullet.getBasePositionAndOrientation(base, client)[0][2]
        scene.step(round(0.5 * rate))
        # All of it moves at 6 m/s, and is thrown: v t - g t^2 / 2.
        rise = pybullet.getBasePositionAndOrientation(base, client)[0][2] - height
        assert rise == pytest.approx(6.0 * 0.5 - 0.5 * 9.81 * 0.25, rel=0.1)


def test_an_impulse_on_a_jointed_body_is_kept_after_many_steps() -> None:
    with loaded("cart_pole", 240.0) as (scene, _):
        scene.step(240)
        cart = next(iter(scene.bodies.values()))
        before = cart.linear_velocity
        cart.apply_impulse([3.0, 0.0, 0.0])
        pushed = cart.linear_velocity - before
        scene.step()
        most = 0.05 + 0.02 * abs(pushed).max()
        assert cart.linear_velocity - before == pytest.approx(pushed, abs=most)


# --- nodes ----------------------------------------------------------------------------------------


def test_nodes_follow_at_once_where_pybullet_puts_bodies() -> None:
    with loaded("toy_blocks", 240.0) as (scene, client):
        scene.step(10)
        node, body = next(iter(scene.bodies.items()))
        height = scene.node(node).world_matrix[2, 3]
        position, rotation = pybullet.getBasePositionAndOrientation(body.body_id, client)
        x, y, z = position
        pybullet.resetBasePositionAndOrientation(
            body.body_id, [x + 1.0, y, z + 2.0], rotation, physicsClientId=client
        )
        assert scene.node(node).world_matrix[2, 3] == pytest.approx(height + 2.0, abs=1e-9)
        assert scene.node_matrices[node][2, 3] == pytest.approx(height + 2.0, abs=1e-9)


def test_nodes_follow_at_once_where_pybullet_puts_joints() -> None:
    with loaded("hinge_door", 240.0) as (scene, client):
        scene.step(10)
        joint = next(iter(scene.joints))
        [axis] = scene.joints[joint].degrees_of_freedom
        door = next(node for node, body in scene.bodies.items() if body.link_index >= 0)
        before = scene.node(door).world_matrix
        pybullet.resetJointState(
            axis.body_id, axis.link_index, place(client, (axis.body_id, axis.link_index))[0] + 0.3,
            physicsClientId=client,
        )  # fmt: skip
        after = scene.node(door).world_matrix
        turn = after[:3, :3] @ np.linalg.inv(before[:3, :3])
        assert math.acos((np.trace(turn) - 1.0) / 2.0) == pytest.approx(0.3, abs=1e-9)
        assert scene.joints[joint].degrees_of_freedom[0].position == pytest.approx(
            place(client, (axis.body_id, axis.link_index))[0], abs=1e-12
        )


# --- pushes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 4, 24])
@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("speed", [0.3, 1.0])
def test_a_push_gives_its_momentum(rate: float, steps: int, speed: float) -> None:
    """Of a force in PyBullet's own call, on a ragdoll that floats: M v, for as long as it acts."""
    with loaded("ragdoll", rate) as (scene, client):
        pybullet.setGravity(0, 0, 0, physicsClientId=client)
        base = next(body.body_id for body in scene.bodies.values() if body.link_index == -1)
        x, y, z = pybullet.getBasePositionAndOrientation(base, client)[0]
        pybullet.resetBasePositionAndOrientation(
            base, (x, y, z + 5.0), (0, 0, 0, 1), physicsClientId=client
        )
        scene.step(round(rate))
        before = sum(body.mass * body.linear_velocity for body in scene.bodies.values())
        total = sum(body.mass for body in scene.bodies.values())
        force = [total * speed * rate / steps, 0.0, 0.0]
        for _ in range(steps):
            place = pybullet.getBasePositionAndOrientation(base, client)[0]
            pybullet.applyExternalForce(
                base, -1, force, place, pybullet.WORLD_FRAME, physicsClientId=client
            )
            scene.step()
        scene.step(2)
        after = sum(body.mass * body.linear_velocity for body in scene.bodies.values())
        # Of a push in a step that is divided, what its first part shows is given in the others.
        part = 0.15 if rate == 60.0 and speed == 1.0 else 0.05
        assert (after - before) / total == pytest.approx([speed, 0.0, 0.0], abs=part * speed)


def test_a_restitution_that_is_changed_stays() -> None:
    """PyBullet multiplies those of the two that meet."""
    with loaded("falling_box", 240.0) as (scene, client):
        box = next(iter(scene.bodies.values()))
        pybullet.changeDynamics(
            box.body_id, box.link_index, restitution=0.7, physicsClientId=client
        )
        scene.step(10)
        pybullet.setTimeStep(1.0 / 120.0, physicsClientId=client)
        scene.step(10)
        found = pybullet.getDynamicsInfo(box.body_id, box.link_index, physicsClientId=client)
        assert found[5] == 0.7
