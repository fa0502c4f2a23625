"""Motors that users set with PyBullet's calls, over resets, snapshots and changes of the step."""

from __future__ import annotations

import pickle

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.test_foreign_hands import axis_of, loaded, place
from tests.runtime.test_snapshots import run

MACHINES = [("six_axis_arm", 1), ("four_bar", 0)]
"""A tree and a closed loop, each with the number of one of its driven joints."""


def driven(scene: gb.Scene, number: int) -> int:
    """A joint with a drive."""
    return [joint for joint in scene.joints if scene.joints[joint].drives][number]


def turn(client: int, axis: tuple[int, int], speed: float, force: float = 2000.0) -> None:
    pybullet.setJointMotorControl2(
        *axis, pybullet.VELOCITY_CONTROL, targetVelocity=speed, force=force, physicsClientId=client
    )


def switch_off(client: int, axis: tuple[int, int]) -> None:
    turn(client, axis, 0.0, force=0.0)


@pytest.mark.parametrize(
    ("name", "seed", "landed"), [("ragdoll", 0, 40), ("ragdoll", 3, 44), ("walker", 3, 40)]
)
def test_a_change_of_the_time_step_is_no_motor(name: str, seed: int, landed: int) -> None:
    """PyBullet divides what a motor exerted by the length that a step has now: by a quarter."""
    with loaded(name, 60.0) as (scene, client):
        rotation = np.random.default_rng(seed).normal(size=4)
        rotation /= np.linalg.norm(rotation)
        for body in {body.body_id for body in scene.bodies.values()}:
            pybullet.resetBasePositionAndOrientation(
                body, [0.0, 0.0, 2.2], rotation.tolist(), physicsClientId=client
            )
        scene.step(landed)
        pybullet.setTimeStep(1.0 / 240.0, physicsClientId=client)
        for _ in range(48):
            scene.step()
            assert not any(joint.is_taken_over for joint in scene.joints.values())
        assert not [issue for issue in scene.issues if issue.code == "DRIVE_TAKEN_OVER"]


@pytest.mark.parametrize("name", ["ragdoll", "walker", "six_axis_arm", "vehicle", "four_bar"])
def test_what_our_own_motors_exerted_last_is_nobody_elses(name: str) -> None:
    """PyBullet goes on telling it when they are switched off, as where something lands."""
    with loaded(name, 240.0) as (scene, _):
        scene.step(480)
        assert not any(joint.is_taken_over for joint in scene.joints.values())
        assert not [issue for issue in scene.issues if issue.code == "DRIVE_TAKEN_OVER"]


@pytest.mark.parametrize(("name", "number"), MACHINES)
def test_drives_resume_at_once_while_a_motor_moves(name: str, number: int) -> None:
    with loaded(name, 240.0) as (scene, client):
        joint = driven(scene, number)
        axis = axis_of(scene, joint)
        scene.step(60)
        # Against the arm's spring, and against the speed of 2 rad/s that the crank is to have.
        speed = -1.0
        turn(client, axis, speed)
        scene.step(100)
        assert place(client, axis)[1] == pytest.approx(speed, abs=0.01)
        assert scene.joints[joint].is_taken_over
        scene.joints[joint].resume_drives()
        for _ in range(8):
            assert not scene.joints[joint].is_taken_over
            scene.step()
        assert not scene.joints[joint].is_taken_over
        assert place(client, axis)[1] > 0.5


@pytest.mark.parametrize("ending", ["off", "resumed"])
@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize(("name", "number"), MACHINES)
def test_an_episode_after_one_with_a_motor_is_a_clean_one(
    name: str, number: int, rate: float, ending: str
) -> None:
    """What PyBullet still tells of the motor is of the episode before."""
    with loaded(name, rate) as (scene, client):
        joint = driven(scene, number)
        axis = axis_of(scene, joint)

        def episode() -> list[tuple[float, float]]:
            scene.reset()
            course = []
            for _ in range(30):
                scene.step()
                assert not scene.joints[joint].is_taken_over
                course.append(place(client, axis))
            return course

        scene.step()
        clean = episode()
        turn(client, axis, -1.0, force=200.0)
        scene.step(20)
        assert scene.joints[joint].is_taken_over
        if ending == "off":
            switch_off(client, axis)
        else:
            scene.joints[joint].resume_drives()
        assert episode() == clean


def test_a_replay_under_a_motor_is_the_same_to_the_bit() -> None:
    """The motor's force when the state was saved is in no snapshot of PyBullet's."""
    with loaded("six_axis_arm", 60.0) as (scene, client):
        shoulder = driven(scene, 1)
        axis = axis_of(scene, shoulder)
        scene.step(60)
        goal = place(client, axis)[0] + 0.6
        pybullet.setJointMotorControl2(
            *axis, pybullet.POSITION_CONTROL, goal, force=400.0, physicsClientId=client
        )
        scene.step(5)
        assert scene.joints[shoulder].is_taken_over
        state = scene.save_state()
        going_on = run(scene, 60)
        for _ in range(2):
            scene.restore_state(state)
            assert run(scene, 60) == going_on


@pytest.mark.parametrize("alone", [False, True], ids=["whole world", "own bodies"])
def test_a_state_under_a_motor_frees_its_axis_where_there_is_none(alone: bool) -> None:
    with loaded("six_axis_arm", 240.0) as (scene, client):
        shoulder = driven(scene, 1)
        axis = axis_of(scene, shoulder)
        scene.step(60)
        authored = place(client, axis)[0]
        pybullet.setJointMotorControl2(
            *axis, pybullet.POSITION_CONTROL, authored + 0.3, force=2000.0, physicsClientId=client
        )
        scene.step(120)
        assert scene.joints[shoulder].is_taken_over
        data = pickle.dumps(scene.save_state(own_bodies_only=alone))
    with loaded("six_axis_arm", 240.0) as (scene, client):
        scene.step(3)
        scene.restore_state(pickle.loads(data))  # noqa: S301  # our own
        assert place(client, axis)[0] > authored + 0.25
        scene.step(2)
        assert not scene.joints[shoulder].is_taken_over
        scene.step(240)
        assert not scene.joints[shoulder].is_taken_over
        assert place(client, axis)[0] == pytest.approx(authored, abs=2e-3)


def test_a_motor_at_its_largest_force_keeps_its_axis_against_damping() -> None:
    """The damping grows with the speed until it is all of the motor's force: d w = F."""
    force, damping = 20.0, 10.0
    with loaded("six_axis_arm", 240.0) as (scene, client):
        pybullet.setGravity(0, 0, 0, physicsClientId=client)
        turret = driven(scene, 0)
        axis = axis_of(scene, turret)
        scene.step(60)
        turn(client, axis, 1.5 * force / damping, force=force)
        pybullet.changeDynamics(*axis, jointDamping=damping, physicsClientId=client)
        scene.step(2)
        for _ in range(150):
            scene.step()
            assert scene.joints[turret].is_taken_over
        assert place(client, axis)[1] == pytest.approx(force / damping, rel=1e-3)


def test_a_motor_that_nobody_looked_at_is_named_all_the_same() -> None:
    with loaded("six_axis_arm", 60.0) as (scene, client):
        shoulder = driven(scene, 1)
        axis = axis_of(scene, shoulder)
        scene.step(15)
        turn(client, axis, 0.5)
        scene.step(30)
        switch_off(client, axis)
        scene.step(60)
        assert not scene.joints[shoulder].is_taken_over
        named = [issue.pointer for issue in scene.issues if issue.code == "DRIVE_TAKEN_OVER"]
        assert named == [f"/nodes/{shoulder}"]


def test_motors_of_several_joints_are_one_issue_with_a_list() -> None:
    with loaded("six_axis_arm", 60.0) as (scene, client):
        scene.step(15)
        joints = [driven(scene, 1), driven(scene, 2)]
        for joint in joints:  # one after the other: the second step adds to the first one's list
            turn(client, axis_of(scene, joint), 0.5)
            scene.step(30)
        (issue,) = [issue for issue in scene.issues if issue.code == "DRIVE_TAKEN_OVER"]
        assert issue.pointer == f"/nodes/{joints[0]}"
        assert f"(nodes {joints[0]}, {joints[1]})" in issue.message


def test_a_motor_is_named_although_every_step_is_saved() -> None:
    """Saving hears the motors before the next step does."""
    with loaded("six_axis_arm", 60.0) as (scene, client):
        joint = driven(scene, 1)
        scene.step(15)
        turn(client, axis_of(scene, joint), 0.5)
        for _ in range(30):
            scene.step()
            scene.save_state()
        assert scene.joints[joint].is_taken_over
        assert [issue.code for issue in scene.issues].count("DRIVE_TAKEN_OVER") == 1


@pytest.mark.parametrize("again", [False, True])
def test_a_motor_at_its_largest_force_has_its_axis_after_a_reset(again: bool) -> None:
    """What it exerts is what PyBullet tells of the episode before, to the bit.

    PyBullet's states hold no motors: it goes on, whether it is set anew or not.
    """
    with loaded("six_axis_arm", 240.0) as (scene, client):
        joint = driven(scene, 0)
        axis = axis_of(scene, joint)
        scene.step(60)
        turn(client, axis, 100.0, force=20.0)
        scene.step(20)
        scene.reset()
        if again:
            turn(client, axis, 100.0, force=20.0)
        scene.step(8)
        assert scene.joints[joint].is_taken_over
        begun = place(client, axis)[1]
        scene.step(40)
        assert scene.joints[joint].is_taken_over
        assert place(client, axis)[1] > begun + 0.1
