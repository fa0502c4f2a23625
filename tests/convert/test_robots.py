"""A robot loaded from glTF is to PyBullet code what its URDF is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.records import replace
from tests.convert.robots import (
    ROBOTS,
    WITHOUT_BALLS,
    angle_between,
    axes,
    body_of,
    continuous_joints,
    converted,
    load_native,
)
from tests.figures import Figure

NO_VISUALS = gb.LoadOptions(visuals="none")
LIMITS, EFFORT, SPEED_LIMIT, DAMPING, AXIS = (8, 9), (10,), (11,), (6, 7), (13,)
"""Places in getJointInfo."""
BY_NAME = (0, 1, 2, 3, 4, 12, 16)
"""Places in getJointInfo: indices, names, type and parent."""


@pytest.fixture(params=ROBOTS)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[int, int, int]]:
    """A client, a native robot and the same from glTF, 5 m beside it."""
    with headless_world() as client:
        native = load_native(client, request.param)
        scene = converted(request.param).instantiate(
            client, position=(5.0, 0.0, 0.0), options=NO_VISUALS
        )
        yield client, native, body_of(scene)


def worst(found: object, wanted: object) -> float:
    """The largest difference of numbers that belong together."""
    return float(np.abs(np.subtract(found, wanted)).max(initial=0.0))


def test_names_limits_effort_masses_and_inertias_are_those_of_load_urdf(
    pair: tuple[int, int, int], figure: Figure
) -> None:
    client, native, ours = pair
    count = pybullet.getNumJoints(native, physicsClientId=client)
    assert pybullet.getNumJoints(ours, physicsClientId=client) == count
    links = [
        [pybullet.getDynamicsInfo(b, k, physicsClientId=client) for k in range(-1, count)]
        for b in (ours, native)
    ]
    joints = [
        [pybullet.getJointInfo(b, k, physicsClientId=client) for k in range(count)]
        for b in (ours, native)
    ]
    names = [
        [*pybullet.getBodyInfo(b, client), *(info[k] for info in infos for k in BY_NAME)]
        for b, infos in zip((ours, native), joints, strict=True)
    ]
    differ = sum(one != other for one, other in zip(*names, strict=True))
    figure("names, types, parents that differ", differ, most=0)
    free = {name.encode() for robot in ROBOTS for name in continuous_joints(robot)}
    assert all(info[8] > info[9] for info in joints[0] if info[1] in free)
    figure("masses", worst(*([i[0] for i in infos] for infos in links)), most=1e-6, unit="kg")
    figure("inertias", worst(*([i[2] for i in infos] for infos in links)), most=1e-6, unit="kg m^2")
    for name, places, infos, unit in (
        ("limits", LIMITS, joints, "rad, m"),
        ("efforts", EFFORT, joints, "N m, N"),
        ("speed limits", SPEED_LIMIT, joints, "rad/s, m/s"),
        ("damping, friction", DAMPING, joints, "N m s"),
        ("axes", AXIS, joints, ""),
    ):
        found, wanted = (
            [[i[k] for k in places] for i in rows if name != "limits" or i[1] not in free]
            for rows in infos
        )
        figure(name, worst(found, wanted), most=1e-6, unit=unit)


def test_forward_kinematics_at_20_random_poses(pair: tuple[int, int, int], figure: Figure) -> None:
    client, native, ours = pair
    links = range(pybullet.getNumJoints(native, physicsClientId=client))
    chance = np.random.default_rng(16)
    off, turned = [], []
    for _ in range(20):
        pose_at_random(client, (native, ours), chance)
        for link in links:
            wanted, found = (
                pybullet.getLinkState(
                    body, link, computeForwardKinematics=1, physicsClientId=client
                )
                for body in (native, ours)
            )
            for place, turn in ((0, 1), (4, 5)):  # of the centre of mass, and of the link
                off.append(worst(np.subtract(found[place], (5, 0, 0)), wanted[place]))
                turned.append(angle_between(found[turn], wanted[turn]))
    figure("positions", np.max(off), most=1e-6, unit="m")
    figure("orientations", np.max(turned), most=1e-6, unit="rad")


def pose_at_random(client: int, bodies: tuple[int, ...], chance: np.random.Generator) -> None:
    for joint in range(pybullet.getNumJoints(bodies[0], physicsClientId=client)):
        kind = pybullet.getJointInfo(bodies[0], joint, physicsClientId=client)[2]
        position, turn = chance.uniform(-1.5, 1.5), chance.normal(size=4)
        turn /= np.linalg.norm(turn)
        for body in bodies:
            if kind == pybullet.JOINT_SPHERICAL:
                pybullet.resetJointStateMultiDof(
                    body, joint, turn.tolist(), [0.0] * 3, physicsClientId=client
                )
            elif kind != pybullet.JOINT_FIXED:
                pybullet.resetJointState(body, joint, position, physicsClientId=client)


def state_of(client: int, body: int) -> list[list[float]]:
    """Positions, speeds and accelerations for all degrees of freedom of a robot."""
    widths = {pybullet.JOINT_FIXED: 0, pybullet.JOINT_SPHERICAL: 3}
    count = sum(
        widths.get(pybullet.getJointInfo(body, joint, physicsClientId=client)[2], 1)
        for joint in range(pybullet.getNumJoints(body, physicsClientId=client))
    )
    return [[0.1 * (-1) ** k * (k % 4) for k in range(count)], [0.2] * count, [0.3] * count]


def test_mass_matrix_and_inverse_dynamics_are_equal(
    pair: tuple[int, int, int], figure: Figure
) -> None:
    client, native, ours = pair
    q, speed, gain = state_of(client, native)
    masses = [pybullet.calculateMassMatrix(b, q, physicsClientId=client) for b in (ours, native)]
    figure("mass matrix", worst(*masses), most=1e-6, unit="kg m^2, kg")
    torques = [
        pybullet.calculateInverseDynamics(b, q, speed, gain, physicsClientId=client)
        for b in (ours, native)
    ]
    figure("inverse dynamics", worst(*torques), most=1e-6, unit="N m, N")


@pytest.mark.parametrize("pair", WITHOUT_BALLS, indirect=True)
def test_inverse_kinematics_and_jacobian_are_equal(
    pair: tuple[int, int, int], figure: Figure
) -> None:
    client, native, ours = pair
    state = state_of(client, native)
    tip = axes(client, native)[-1]
    jacobians = [
        pybullet.calculateJacobian(b, tip, [0.0] * 3, *state, physicsClientId=client)
        for b in (ours, native)
    ]
    figure("Jacobian", worst(*jacobians), most=1e-6)
    place = pybullet.getLinkState(native, tip, computeForwardKinematics=1, physicsClientId=client)
    target = np.array(place[4]) * 0.95
    solved = [
        pybullet.calculateInverseKinematics(
            b, tip, (target + shift).tolist(), maxNumIterations=50, physicsClientId=client
        )
        for b, shift in ((ours, np.array([5.0, 0.0, 0.0])), (native, 0.0))
    ]
    figure("inverse kinematics", worst(*solved), most=1e-6, unit="rad, m")


def test_resetting_a_fixed_base_moves_all_of_it() -> None:
    with headless_world() as client:
        scene = converted("kuka_iiwa/model.urdf").instantiate(client, options=NO_VISUALS)
        body = body_of(scene)
        pybullet.resetBasePositionAndOrientation(
            body, [0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 1.0], physicsClientId=client
        )
        hit = pybullet.rayTest([0.0, 3.0, 5.0], [0.0, 3.0, -1.0], physicsClientId=client)[0]
        gone = pybullet.rayTest([0.0, 0.0, 5.0], [0.0, 0.0, -1.0], physicsClientId=client)[0]
        assert (hit[0], gone[0]) == (body, -1)
        scene.step(10)
        base = scene.world_from_node(scene.node("lbr_iiwa_link_0").index)[:3, 3]
        assert base == pytest.approx([0.0, 3.0, 0.0], abs=1e-9)
        state = pybullet.getLinkState(body, 0, computeForwardKinematics=1, physicsClientId=client)
        assert state[0][1] == pytest.approx(3.0, abs=0.05)


def test_without_link_names_equal_robots_share_their_shapes() -> None:
    plain = replace(NO_VISUALS, link_names=False)
    with headless_world() as client:
        scene = converted("kuka_iiwa/model.urdf").instantiate(client, options=plain)
        body = body_of(scene)
        assert pybullet.getJointInfo(body, 0, physicsClientId=client)[1] == b"joint1"
        assert scene.joints["lbr_iiwa_joint_1"].degrees_of_freedom[0].link_index == 0
