"""Limits and damping of joints come out as they act, whoever made the joint."""

from __future__ import annotations

import math
from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import LinkJointDescription
from gltf_bullet.diagnostics import Diagnostics
from tests.physics.scenes import Scenery


def lever(client: int) -> int:
    """A link of 1 kg on a horizontal axis, 0.3 m off it; its motor is off."""
    body = pybullet.createMultiBody(
        0.0, linkMasses=[1.0], linkCollisionShapeIndices=[-1], linkVisualShapeIndices=[-1],
        linkPositions=[[0, 0, 0]], linkOrientations=[[0, 0, 0, 1]],
        linkInertialFramePositions=[[0.3, 0, 0]], linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0], linkJointTypes=[pybullet.JOINT_REVOLUTE],
        linkJointAxis=[[0, 1, 0]], physicsClientId=client,
    )  # fmt: skip
    pybullet.changeDynamics(body, 0, localInertiaDiagonal=[0.1] * 3, physicsClientId=client)
    pybullet.changeDynamics(body, -1, linearDamping=0, angularDamping=0, physicsClientId=client)
    pybullet.setJointMotorControl2(
        body, 0, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
    )
    return int(body)


def joints(client: int) -> list[LinkJointDescription]:
    world = read_world(client, None, Diagnostics())
    return [link.joint for body in world.bodies for link in body.links if link.joint is not None]


def test_limits_and_damping_that_were_changed_come_out(tmp_path: Path) -> None:
    """``getJointInfo`` goes on answering those of creation; the lever falls to its new stop."""
    path = tmp_path / "world.glb"
    with headless_world() as client:
        body = lever(client)
        pybullet.changeDynamics(
            body, 0, jointLowerLimit=-0.3, jointUpperLimit=0.4, physicsClientId=client
        )
        pybullet.changeDynamics(body, 0, jointDamping=0.5, physicsClientId=client)
        assert pybullet.getJointInfo(body, 0, client)[6:10:2] == (0.0, 1.0)
        (joint,) = joints(client)
        assert (joint.lower, joint.upper, joint.damping) == (-0.3, 0.4, 0.5)
        gb.export_world(path, client)
        angles = []
        for _ in range(240):
            pybullet.stepSimulation(client)
            angles.append(pybullet.getJointState(body, 0, client)[0])
    with headless_world() as client:
        scene = gb.load_gltf(path, physics_client=client)
        (view,) = scene.joints.values()
        again = []
        for _ in range(240):
            scene.step()
            again.append(view.degrees_of_freedom[0].position)
    assert again[-1] == pytest.approx(0.4, abs=1e-3)
    # PyBullet takes damping of the velocity before the step, the solve of that after it.
    assert max(abs(a - b) for a, b in zip(angles, again, strict=True)) < 0.02


def test_a_joint_without_limits_has_none() -> None:
    with headless_world() as client:
        lever(client)
        (joint,) = joints(client)
    assert (joint.lower, joint.upper, joint.damping) == (-math.inf, math.inf, 0.0)


def hinge(minimum: float | None, maximum: float | None) -> bytes:
    scenery = Scenery()
    ends = {"min": minimum, "max": maximum}
    limit = {"angularAxes": [0], **{k: v for k, v in ends.items() if v is not None}}
    joint = scenery.entry(
        "physicsJoints",
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [1, 2], "min": 0, "max": 0},
            *([limit] if len(limit) > 1 else []),
        ],
        drives=[{"type": "angular", "mode": "force", "axis": 0, "damping": 0.25}],
    )
    arm = scenery.node("arm", motion={"mass": 1.0})
    pin = scenery.node("pin", joint={"connectedNode": arm, "joint": joint})
    scenery.node("base", motion={"mass": 1.0}, children=[pin])
    return scenery.bytes()


@pytest.mark.parametrize("link_names", [True, False])
@pytest.mark.parametrize(
    ("minimum", "maximum"), [(-0.5, 0.75), (None, 0.75), (-0.5, None), (None, None)]
)
def test_limits_of_our_own_scenes_are_those_of_the_file(
    minimum: float | None, maximum: float | None, link_names: bool
) -> None:
    """The engine's own are none, or wider by 1e-3 to back the solve up."""
    wanted = (
        -math.inf if minimum is None else minimum,
        math.inf if maximum is None else maximum,
    )
    with headless_world() as client:
        scene = gb.load_gltf(
            hinge(minimum, maximum),
            physics_client=client,
            options=gb.LoadOptions(link_names=link_names),
        )
        for steps in (0, 30):
            scene.step(steps)
            (joint,) = joints(client)
            assert (joint.lower, joint.upper) == pytest.approx(wanted, abs=1e-12)


def test_damping_that_is_added_to_a_scene_comes_out() -> None:
    """On joints of ours ``jointDamping`` adds to the file's."""
    with headless_world() as client:
        scene = gb.load_gltf(hinge(-0.5, 0.75), physics_client=client)
        (joint,) = joints(client)
        assert joint.damping == pytest.approx(0.25)
        (body,) = {body.body_id for body in scene.bodies.values()}
        pybullet.changeDynamics(body, 0, jointDamping=0.5, physicsClientId=client)
        (joint,) = joints(client)
        assert joint.damping == pytest.approx(0.75)
