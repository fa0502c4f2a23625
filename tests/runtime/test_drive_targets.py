"""Drive targets and gains have one owner: what acts is what is read, saved, restored and kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
DRIVE = "/extensions/KHR_physics_rigid_bodies/physicsJoints/{}/drives/{}/{}"


@pytest.fixture
def arm(client: int) -> gb.Scene:
    return gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)


def pointer_of(scene: gb.Scene, number: int, key: str) -> str:
    """The object-model pointer of a property of the n-th acting drive."""
    handle = scene.joint_controls.drives[number]
    drive = scene.joints[handle.joint_node].drives[handle.drive]
    return f"{drive.pointer}/{key}"


def targets(scene: gb.Scene) -> np.ndarray:
    return scene.joint_controls.drive_targets()[0]


def rollout(scene: gb.Scene, steps: int) -> bytes:
    frames = []
    for _ in range(steps):
        scene.step()
        frames.append(scene.node_matrices.tobytes())
    return b"".join(frames)


def test_a_replay_after_changed_targets_equals_the_first_run_to_the_bit(arm: gb.Scene) -> None:
    arm.step(20)
    saved = arm.save_state()
    first = rollout(arm, 60)
    arm.set_drive_targets(np.full(len(arm.joint_controls.drives), 0.7))
    arm.set(pointer_of(arm, 0, "stiffness"), 3.0)
    arm.step(60)
    arm.restore_state(saved)
    assert rollout(arm, 60) == first


def test_reset_takes_targets_and_gains_back(arm: gb.Scene) -> None:
    before, gain = targets(arm), arm.get(pointer_of(arm, 0, "stiffness"))
    first = rollout(arm, 30)
    arm.set_drive_targets(before + 0.3)
    arm.set(pointer_of(arm, 0, "stiffness"), 2.0 * gain)
    arm.step(10)
    arm.reset()
    assert np.array_equal(targets(arm), before)
    assert arm.get(pointer_of(arm, 0, "stiffness")) == gain
    assert rollout(arm, 30) == first


def test_targets_survive_a_change_that_makes_the_bodies_anew(arm: gb.Scene) -> None:
    wanted = np.linspace(-0.3, 0.3, len(arm.joint_controls.drives))
    arm.set_drive_targets(wanted)
    world = arm.core.world
    body = next(iter(arm.bodies.values()))
    motion = f"/nodes/{body.node}/extensions/KHR_physics_rigid_bodies/motion"
    arm.set(f"{motion}/centerOfMass", [0.0, 0.01, 0.0])
    assert arm.core.world is not world
    assert np.array_equal(targets(arm), wanted)


def test_what_get_answers_is_what_acts(arm: gb.Scene) -> None:
    wanted = np.linspace(-0.3, 0.3, len(arm.joint_controls.drives))
    arm.set_drive_targets(wanted)
    for number, target in enumerate(wanted):
        assert arm.get(pointer_of(arm, number, "positionTarget")) == target
    arm.set(pointer_of(arm, 1, "positionTarget"), 0.05)
    wanted[1] = 0.05
    assert np.array_equal(targets(arm), wanted)
    handle = arm.joint_controls.drives[1]
    joint = arm.joints[handle.joint_node]
    assert joint.drives[handle.drive].position_target == 0.05
    assert joint.model.description.drives == joint.drives


def test_a_state_knows_its_targets_in_a_second_scene(client: int, arm: gb.Scene) -> None:
    arm.set_drive_targets(np.full(len(arm.joint_controls.drives), 0.2))
    saved = arm.save_state(own_bodies_only=True)
    count = pybullet.getNumBodies(physicsClientId=client)
    other = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    other.restore_state(saved)
    assert np.array_equal(targets(other), targets(arm))
    assert pybullet.getNumBodies(physicsClientId=client) == 2 * count


def test_targets_by_joint_and_what_is_said_of_a_wrong_number(arm: gb.Scene) -> None:
    names = [arm.asset.tree.names[d.joint_node] for d in arm.joint_controls.drives]
    before = targets(arm)
    arm.set_drive_targets({names[2]: 0.4, names[0]: [0.1]})
    assert targets(arm).tolist() == [0.1, before[1], 0.4, *before[3:]]
    with pytest.raises(ValueError, match=rf"2 came as positions; in this order: {names[0]}, "):
        arm.set_drive_targets([0.0, 0.0])
    with pytest.raises(ValueError, match="nan is among them"):
        arm.set_drive_targets(velocities=[np.nan] * len(names))
    with pytest.raises(ValueError, match="has 1 drives; got "):
        arm.set_drive_targets({names[0]: [0.0, 1.0]})
    with pytest.raises(KeyError, match="names none of the joints"):
        arm.set_drive_targets({"Elbow of nobody": 0.0})


def test_an_unknown_pointer_suggests_the_one_that_was_meant(arm: gb.Scene) -> None:
    body = next(iter(arm.bodies))
    meant = f"/nodes/{body}/extensions/KHR_physics_rigid_bodies/motion/mass"
    with pytest.raises(KeyError, match=rf"did you mean '{meant}'"):
        arm.get(f"/nodes/{body}/mass")
    with pytest.raises(KeyError, match=rf"did you mean '{meant}'"):
        arm.set(f"/nodes/{body}/mass", 2.0)
