"""Bodies that our solver does not move, read as one rigid body each: loads of drives and limits."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.solver.islands import LEAST_MOMENT
from gltf_bullet.transforms import FloatArray, matrices_from_quats, quats_from_matrices

_IMMOVABLE = (0.0,) * 4


def read_free_body(
    client_id: int, body: int, link: int, gain: tuple[float, float, float], *, is_rigid: bool
) -> tuple[tuple[float, ...], float]:
    """Read a free body's floats for the solve, as ``islands`` has them, and its friction.

    Somebody else's robot counts as one rigid body, as if its motors locked its joints; where its
    base is fixed, the link alone counts: as an immovable body it would answer a stiff drive's force
    one step late, which makes both oscillate (measured).

    Args:
        client_id: The world.
        body: Body id.
        link: -1, or a link of a robot with a fixed base.
        gain: Velocity that gravity adds within the step [m/s].
        is_rigid: The base has only massless parts of it as links.
    """
    if link >= 0:
        state = pybullet.getLinkState(body, link, computeLinkVelocity=1, physicsClientId=client_id)
        com, rotation, linear, angular = state[0], state[1], state[6], state[7]
    else:
        com, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
        linear, angular = pybullet.getBaseVelocity(body, client_id)
    info = pybullet.getDynamicsInfo(body, link, client_id)
    mass, friction, (x, y, z) = info[:3]
    if mass == 0.0 or (link >= 0 and is_welded(client_id, body, link)):
        return (*com, *rotation, *_IMMOVABLE, *linear, *angular, *gain), friction
    if link < 0 and not is_rigid:
        joints = pybullet.getNumJoints(body, physicsClientId=client_id)
        if joints:
            whole = _composite(client_id, body, joints, (com, rotation, linear, angular), gain)
            return whole, friction
    least = LEAST_MOMENT
    moments = max(x, least), max(y, least), max(z, least)
    return (*com, *rotation, mass, *moments, *linear, *angular, *gain), friction


def is_immovable(values: tuple[float, ...]) -> bool:
    """Return True if a body that was read has infinite mass."""
    return values[7] == 0.0


def is_welded(client_id: int, body: int, link: int) -> bool:
    """Return True if all joints between a link and the base are fixed."""
    while link >= 0:
        info = pybullet.getJointInfo(body, link, physicsClientId=client_id)
        if info[2] != pybullet.JOINT_FIXED:
            return False
        link = info[16]
    return True


def _inertia(
    client_id: int, body: int, link: int, rotation: tuple[float, ...]
) -> tuple[float, FloatArray]:
    """Return mass [kg] and inertia about the centre of mass [kg m^2], world axes."""
    info = pybullet.getDynamicsInfo(body, link, physicsClientId=client_id)
    turn = matrices_from_quats(np.array(rotation))
    moments = np.maximum(np.array(info[2]), LEAST_MOMENT)
    return float(info[0]), turn @ np.diag(moments) @ turn.T


def _composite(
    client_id: int,
    body: int,
    joints: int,
    base: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]],
    gain: tuple[float, float, float],
) -> tuple[float, ...]:
    """Return base and links as one rigid body."""
    place, rotation, linear, angular = base
    parts = [(np.array(place), *_inertia(client_id, body, -1, rotation))]
    states = pybullet.getLinkStates(body, list(range(joints)), physicsClientId=client_id)
    for link, state in enumerate(states):
        parts.append((np.array(state[0]), *_inertia(client_id, body, link, state[1])))
    total = sum(mass for _, mass, _ in parts)
    centre = sum((mass * com for com, mass, _ in parts), np.zeros(3)) / total
    whole = np.zeros((3, 3))
    for com, mass, inertia in parts:
        arm = com - centre
        whole += inertia + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, axes = np.linalg.eigh(whole)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    velocity = np.array(linear) + np.cross(angular, centre - np.array(place))
    return (
        *centre.tolist(),
        *quats_from_matrices(axes).tolist(),
        total,
        *moments.tolist(),
        *velocity.tolist(),
        *angular,
        *gain,
    )
