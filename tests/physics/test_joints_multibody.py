"""What PyBullet means by link frames, inertial frames and spherical coordinates (3.2.7)."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

from gltf_bullet.bullet.bodies.multibody import (
    MAX_LINKS,
    LinkJoint,
    LinkSpec,
    MultibodySpec,
    create_multibody,
    depth_first_order,
)
from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import IDENTITY_POSE, Pose, quat_from_rotation_vector
from tests.physics.scenes import Scenery, world

RNG = np.random.default_rng(3)


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


def random_pose() -> Pose:
    q = RNG.normal(size=4)
    return Pose(tuple(q / np.linalg.norm(q)), tuple(RNG.normal(size=3)))  # type: ignore[arg-type]


def turn(vector: list[float]) -> Pose:
    return Pose(tuple(quat_from_rotation_vector(np.array(vector))), (0.0, 0.0, 0.0))  # type: ignore[arg-type]


def test_link_poses_are_between_link_frames_and_reports_are_inertial(client: int) -> None:
    axis = (0.0, 0.6, 0.8)
    joints = (LinkJoint.REVOLUTE, LinkJoint.PRISMATIC, LinkJoint.FIXED, LinkJoint.SPHERICAL)
    links = [
        LinkSpec(
            parent=parent,
            joint=joint,
            axis=axis,
            parent_from_link=random_pose(),
            mass=1.0,
            inertia_diagonal=(1.0, 1.0, 1.0),
            link_from_inertial=random_pose(),
        )
        for parent, joint in zip((-1, 0, 1, 0), joints, strict=True)
    ]
    spec = MultibodySpec(
        world_from_base=random_pose(),
        mass=2.0,
        inertia_diagonal=(1.0, 2.0, 2.5),
        base_from_inertial=random_pose(),
        links=tuple(links),
    )
    body = create_multibody(client, spec)
    pybullet.resetJointState(body, 0, 0.7, physicsClientId=client)
    pybullet.resetJointState(body, 1, 0.4, physicsClientId=client)
    ball = quat_from_rotation_vector(np.array([0.3, -0.5, 0.9]))
    pybullet.resetJointStateMultiDof(body, 3, ball, physicsClientId=client)
    # The engine has a ball's position about the axes of its inertial frame.
    inertia_turn = Pose(links[3].link_from_inertial.rotation_xyzw, (0.0, 0.0, 0.0))
    moved = [
        turn([0.0, 0.7 * 0.6, 0.7 * 0.8]),
        Pose.from_translation((0.0, 0.4 * 0.6, 0.4 * 0.8)),
        IDENTITY_POSE,
        inertia_turn @ turn([0.3, -0.5, 0.9]) @ inertia_turn.inverse(),
    ]
    world_from_link = {-1: spec.world_from_base}
    for index, link in enumerate(links):
        world_from_link[index] = world_from_link[link.parent] @ link.parent_from_link @ moved[index]
    states = pybullet.getLinkStates(
        body, range(4), computeForwardKinematics=1, physicsClientId=client
    )
    for index, state in enumerate(states):
        expected = world_from_link[index] @ links[index].link_from_inertial
        np.testing.assert_allclose(state[0], expected.translation, atol=1e-9)
        assert abs(np.dot(state[1], expected.rotation_xyzw)) == pytest.approx(1.0, abs=1e-9)
    reported = pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
    expected = spec.world_from_base @ spec.base_from_inertial
    np.testing.assert_allclose(reported[0], expected.translation, atol=1e-9)


def test_authored_inertia_reaches_base_and_links(client: int) -> None:
    link = LinkSpec(
        parent=-1,
        joint=LinkJoint.REVOLUTE,
        parent_from_link=IDENTITY_POSE,
        mass=3.0,
        inertia_diagonal=(0.1, 0.2, 0.25),
    )
    body = create_multibody(
        client, MultibodySpec(mass=2.0, inertia_diagonal=(1.0, 2.0, 2.5), links=(link,))
    )
    base = pybullet.getDynamicsInfo(body, -1, physicsClientId=client)
    child = pybullet.getDynamicsInfo(body, 0, physicsClientId=client)
    assert base[0] == 2.0
    assert base[2] == (1.0, 2.0, 2.5)
    assert child[0] == 3.0
    assert child[2] == (0.1, 0.2, 0.25)


def test_a_new_joint_turns_without_resistance_beyond_the_stock_velocity_clamp(
    client: int,
) -> None:
    link = LinkSpec(
        parent=-1,
        joint=LinkJoint.REVOLUTE,
        parent_from_link=IDENTITY_POSE,
        mass=1.0,
        inertia_diagonal=(1.0, 1.0, 1.0),
    )
    body = create_multibody(client, MultibodySpec(links=(link,)))
    pybullet.resetJointState(body, 0, 0.0, 300.0, physicsClientId=client)
    for _ in range(240):
        pybullet.stepSimulation(physicsClientId=client)
    assert pybullet.getJointState(body, 0, physicsClientId=client)[1] == pytest.approx(300.0)


def test_an_unknown_shape_is_refused_and_leaves_no_body(client: int) -> None:
    with pytest.raises(EngineError, match="shape 77"):
        create_multibody(client, MultibodySpec(mass=1.0, shape_id=77))
    assert pybullet.getNumBodies(physicsClientId=client) == 0


def test_more_links_than_the_engine_keeps_are_refused(client: int) -> None:
    links = tuple(
        LinkSpec(parent=k - 1, joint=LinkJoint.FIXED, parent_from_link=IDENTITY_POSE)
        for k in range(MAX_LINKS + 1)
    )
    with pytest.raises(EngineError, match="128 links"):
        create_multibody(client, MultibodySpec(links=links))


def test_links_out_of_depth_first_order_are_a_programming_error(client: int) -> None:
    links = tuple(
        LinkSpec(parent=k, joint=LinkJoint.FIXED, parent_from_link=IDENTITY_POSE)
        for k in (-1, -1, 0)
    )
    with pytest.raises(ValueError, match="depth-first"):
        create_multibody(client, MultibodySpec(links=links))
    assert depth_first_order([-1, -1, 0]) == [0, 2, 1]


@pytest.mark.parametrize("alike", [True, False])
def test_a_jointed_body_of_150_hulls_says_what_does_not_collide(alike: bool) -> None:
    """Hulls of one material share a link; one with 150 materials would need 149 more."""
    scenery = Scenery()
    cone = scenery.shape("cylinder", height=0.2, radiusBottom=0.1, radiusTop=0.05)
    parts = [
        scenery.node(
            f"Part{k}", at=(0.3 * k, 0, 0), shape=cone,
            material=None if alike else scenery.material(dynamicFriction=0.005 * k),
        )
        for k in range(150)
    ]  # fmt: skip
    ball = scenery.entry("physicsJoints", limits=[{"linearAxes": [0, 1, 2], "min": 0, "max": 0}])
    anchor = scenery.node("Anchor")
    scenery.node(
        "Body", children=parts, motion={"mass": 1.0}, joint={"connectedNode": anchor, "joint": ball}
    )
    with world(scenery.bytes()) as scene:
        codes = {issue.code for issue in scene.issues}
        wanted = {"BODY_HAS_TOO_MANY_GROUPS", "COMPOUND_TOO_LARGE"}
        assert codes & wanted == (set() if alike else wanted)
        scene.step(3)
