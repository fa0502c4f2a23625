"""State and impulses of single links, on demand; never in the default step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.transforms import Quat, Vec3, matrices_from_quats

__all__ = [
    "ZERO",
    "LinkState",
    "apply_base_force",
    "apply_base_impulse",
    "link_state",
    "set_base_pose",
    "set_base_velocity",
    "velocity_after_turn",
    "velocity_before_turn",
]

ZERO: Vec3 = (0.0, 0.0, 0.0)
"""No velocity."""

LinkState: TypeAlias = tuple[Vec3, Quat, Vec3, Vec3]
"""Centre of mass [m], world_from_inertial (xyzw), its velocity [m/s] and spin [rad/s]."""


def link_state(client_id: int, body_id: int, link_index: int) -> LinkState:
    """The inertial frame of a link (-1: the base) and its velocities, world axes."""
    if link_index < 0:
        position, rotation = pybullet.getBasePositionAndOrientation(body_id, client_id)
        linear, angular = pybullet.getBaseVelocity(body_id, client_id)
    else:
        state = pybullet.getLinkState(
            body_id,
            link_index,
            computeLinkVelocity=1,
            computeForwardKinematics=1,
            physicsClientId=client_id,
        )
        position, rotation, linear, angular = state[0], state[1], state[6], state[7]
    return position, rotation, linear, angular


def velocity_at(state: LinkState, place: Sequence[float]) -> Vec3:
    """Of what is at a place [m] on a link [m/s], world axes; arrays take 40 times as long."""
    (x, y, z), _, (u, v, w), (p, q, r) = state
    a, b, c = place[0] - x, place[1] - y, place[2] - z
    return u + q * c - r * b, v + r * a - p * c, w + p * b - q * a


def apply_base_force(
    client_id: int, body_id: int, force: Sequence[float], torque: Sequence[float]
) -> None:
    """Push [N] and turn [N m] a free body during the coming step, world axes."""
    point, _ = pybullet.getBasePositionAndOrientation(body_id, client_id)
    if any(force):
        pybullet.applyExternalForce(
            body_id, -1, force, point, pybullet.WORLD_FRAME, physicsClientId=client_id
        )
    if any(torque):
        pybullet.applyExternalTorque(
            body_id, -1, torque, pybullet.WORLD_FRAME, physicsClientId=client_id
        )


def apply_base_impulse(
    client_id: int,
    body_id: int,
    mass: float,
    moments: Vec3,
    linear: Sequence[float],
    angular: Sequence[float],
) -> None:
    """Change the velocity of a free body at once by an impulse at its centre of mass.

    Args:
        client_id: The world.
        body_id: A base-only multibody.
        mass: [kg]
        moments: Principal moments [kg m^2].
        linear: [N s], world axes.
        angular: [N m s], world axes.
    """
    _, rotation, velocity, spin = link_state(client_id, body_id, -1)
    frame = matrices_from_quats(np.array(rotation))
    change = frame @ ((frame.T @ np.asarray(angular, dtype=np.float64)) / np.array(moments))
    pybullet.resetBaseVelocity(
        body_id,
        (np.array(velocity) + np.asarray(linear, dtype=np.float64) / mass).tolist(),
        (np.array(spin) + change).tolist(),
        physicsClientId=client_id,
    )


def set_base_velocity(client_id: int, body_id: int, linear: Vec3, angular: Vec3) -> None:
    """Set the velocity of a base's centre of mass [m/s] and its spin [rad/s], world axes."""
    pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=client_id)


def set_base_pose(client_id: int, body_id: int, position: Vec3, rotation_xyzw: Quat) -> None:
    """Put a base's inertial frame somewhere else; its velocity stays as it is in the world."""
    linear, angular = pybullet.getBaseVelocity(body_id, client_id)
    pybullet.resetBasePositionAndOrientation(
        body_id, position, rotation_xyzw, physicsClientId=client_id
    )
    # The engine keeps velocities in the body's own axes.
    pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=client_id)


def velocity_after_turn(velocity: Sequence[float], spin: Sequence[float], dt: float) -> Vec3:
    """The velocity at which a mass-0 base moves in a step: see :func:`velocity_before_turn`."""
    vx, vy, vz = velocity
    wx, wy, wz = spin[0] * dt, spin[1] * dt, spin[2] * dt
    return vx + wy * vz - wz * vy, vy + wz * vx - wx * vz, vz + wx * vy - wy * vx


def velocity_before_turn(velocity: Sequence[float], spin: Sequence[float], dt: float) -> Vec3:
    """The velocity to give a mass-0 base so that it moves at ``velocity`` in a step of ``dt``.

    The engine turns the velocity of such a base with its spin first: it moves at ``v + dt w x v``
    (measured). This is the inverse of that, in closed form.
    """
    vx, vy, vz = velocity
    wx, wy, wz = spin[0] * dt, spin[1] * dt, spin[2] * dt
    along = wx * vx + wy * vy + wz * vz
    share = 1.0 / (1.0 + wx * wx + wy * wy + wz * wz)
    return (
        share * (vx - wy * vz + wz * vy + wx * along),
        share * (vy - wz * vx + wx * vz + wy * along),
        share * (vz - wx * vy + wy * vx + wz * along),
    )
