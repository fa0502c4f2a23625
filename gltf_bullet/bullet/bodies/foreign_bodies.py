"""Bodies that are not ours to solve, as one mass each: what a drive or a limit presses on."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.solver.contact_island import FreeMass
from gltf_bullet.transforms import FloatArray, matrices_from_quats

__all__ = ["read_free_mass"]


def read_free_mass(client_id: int, body: int, link: int, gain: FloatArray) -> FreeMass:
    """Mass, inertia and motion of a body as it is now.

    Somebody else's robot counts as one rigid body, as if its motors held its joints; where its
    base is fixed, the link alone counts: taken for immovable it would answer a stiff drive's force
    one step late, which throws both to and fro (measured).

    Args:
        client_id: The world.
        body: Body id.
        link: -1, or a link of a robot with a fixed base.
        gain: What gravity adds to the velocity within the step [m/s].
    """
    position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
    linear, angular = pybullet.getBaseVelocity(body, client_id)
    if link >= 0:
        state = pybullet.getLinkState(body, link, computeLinkVelocity=1, physicsClientId=client_id)
        position, rotation, linear, angular = state[0], state[1], state[6], state[7]
    com, velocity = np.array(position), np.array([*linear, *angular])
    mass, inertia = _inertia(client_id, body, link, rotation)
    if mass == 0.0 or (link >= 0 and _is_welded(client_id, body, link)):
        return FreeMass(
            com=com,
            inverse_mass=0.0,
            inverse_inertia=np.zeros((3, 3)),
            velocity=velocity,
            velocity_free=velocity,
        )
    joints = pybullet.getNumJoints(body, physicsClientId=client_id)
    if joints and link < 0:
        moved, mass, inertia = _composite(client_id, body, joints, com, mass, inertia)
        velocity[:3] += np.cross(velocity[3:], moved - com)
        com = moved
    velocity_free = velocity.copy()
    velocity_free[:3] += gain
    return FreeMass(
        com=com,
        inverse_mass=1.0 / mass,
        inverse_inertia=np.asarray(np.linalg.inv(inertia), dtype=np.float64),
        velocity=velocity,
        velocity_free=velocity_free,
    )


def _is_welded(client_id: int, body: int, link: int) -> bool:
    """Whether no joint between a link and the base can move."""
    while link >= 0:
        info = pybullet.getJointInfo(body, link, physicsClientId=client_id)
        if info[2] != pybullet.JOINT_FIXED:
            return False
        link = info[16]
    return True


def _inertia(
    client_id: int, body: int, link: int, rotation: tuple[float, ...]
) -> tuple[float, FloatArray]:
    """Mass and inertia about the centre of mass, world axes."""
    info = pybullet.getDynamicsInfo(body, link, physicsClientId=client_id)
    turn = matrices_from_quats(np.array(rotation))
    moments = np.maximum(np.array(info[2]), 1e-12)
    return float(info[0]), turn @ np.diag(moments) @ turn.T


def _composite(
    client_id: int, body: int, joints: int, com: FloatArray, mass: float, inertia: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Centre of mass, mass and inertia of base and links as one rigid body."""
    parts = [(com, mass, inertia)]
    states = pybullet.getLinkStates(body, list(range(joints)), physicsClientId=client_id)
    for link, state in enumerate(states):
        parts.append((np.array(state[0]), *_inertia(client_id, body, link, state[1])))
    total = sum(part_mass for _, part_mass, _ in parts)
    centre = sum((part_mass * place for place, part_mass, _ in parts), np.zeros(3)) / total
    whole = np.zeros((3, 3))
    for place, part_mass, part in parts:
        arm = place - centre
        whole += part + part_mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return centre, total, whole
