"""Free bodies that the engine alone would tumble wrongly, and the torques that mend it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.state import link_state
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Quat,
    Vec3,
    cross,
    matrices_from_quats,
    quat_from_rotation_vector,
)

__all__ = ["GyroscopicBodies"]

_ENERGY_DRIFT = 1e-4
"""Relative energy error per second above which a tumbling body gets the gyroscopic correction."""

_MOST_SHIFT = 0.5
"""Relative change of ``w I w`` within a step, above which the step is too long for the torques."""

_ENDLESS = 1e6
"""Ratio of moments from which on the larger stand for infinite ones. What they lack of their
momentum by rounding would spin the body about the others (measured: 1 rad/s became 184 in 2 s), so
spins stay as they are."""

_ITERATIONS = 4
"""Of the fixed point for the new spin."""


class GyroscopicBodies:
    """Bodies whose principal moments differ.

    Bullet integrates ``w x I w`` explicitly: a body tumbling at 5 rad/s gained half its energy in
    5 s at 240 Hz (measured).
    """

    def __init__(
        self, client_id: int, ids: Sequence[int], rows: IntArray, moments: FloatArray
    ) -> None:
        """Watch some bodies.

        Args:
            client_id: The world.
            ids: Of all free bodies.
            rows: Which of them.
            moments: Principal ones of all free bodies [n, 3], kg m^2.
        """
        self._client_id = client_id
        self._ids = ids
        self._rows = rows
        self.fastest = math.inf
        """[m/s] Speed of the fastest one, as the coming step begins."""
        self.weigh(moments)

    def weigh(self, moments: FloatArray) -> None:
        """Take other moments, as of the constructor."""
        self._moments = moments
        self._principal: list[list[float]] = moments.tolist()
        least, span = moments.min(axis=1), np.ptp(moments, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The torque is at most span w^2, along each axis; the energy least w^2 / 2.
            slow = np.sqrt(_ENERGY_DRIFT / 3.0) * least / span
        self._slow: list[tuple[int, int, float]] = [
            (row, self._ids[row], float(slow[row] ** 2)) for row in self._rows.tolist()
        ]
        """Row, body and the square of the spin [rad/s], times the time step [s], up to which the
        engine is right enough."""

    @property
    def are_any(self) -> bool:
        """Whether there is anything to watch."""
        return bool(self._slow)

    @property
    def count(self) -> int:
        """How many are watched."""
        return len(self._slow)

    def forget(self, row: int) -> None:
        """Ask no more about a body that was removed."""
        self._slow = [entry for entry in self._slow if entry[0] != row]

    def steady(self, time_step: float) -> None:
        """Apply the torques that keep angular momentum through the coming engine step [s]."""
        picked: list[int] = []
        read, client_id, fastest = pybullet.getBaseVelocity, self._client_id, 0.0
        for row, body, slow in self._slow:
            (u, v, w), spin = read(body, client_id)
            x, y, z = spin
            fastest = max(fastest, u * u + v * v + w * w)
            if (x * x + y * y + z * z) * time_step <= slow:
                continue
            rotation = pybullet.getBasePositionAndOrientation(body, client_id)[1]
            if _drifts(rotation, spin, self._principal[row], time_step):
                picked.append(row)
        self.fastest = math.sqrt(fastest)
        if not picked:
            return
        states = [link_state(client_id, self._ids[row], -1) for row in picked]
        frames = matrices_from_quats(np.array([state[1] for state in states]))
        moments = self._moments[picked, None, :]
        inertia = (frames * moments) @ np.swapaxes(frames, 1, 2)
        # Not by a solve: moments may differ by more than doubles can tell.
        ease = (frames / moments) @ np.swapaxes(frames, 1, 2)
        spins = np.array([state[3] for state in states])
        torques = _torques(inertia, ease, spins, time_step)
        endless = moments.max(axis=(1, 2)) > _ENDLESS * moments.min(axis=(1, 2))
        if endless.any():
            momenta = np.einsum("kij,kj->ki", inertia[endless], spins[endless])
            torques[endless] = cross(spins[endless], momenta)
        for row, torque in zip(picked, torques.tolist(), strict=True):
            pybullet.applyExternalTorque(
                self._ids[row],
                -1,
                torque,
                pybullet.WORLD_FRAME,
                physicsClientId=client_id,
            )


def _drifts(rotation: Quat, spin: Vec3, moments: Sequence[float], time_step: float) -> bool:
    """Whether the engine's explicit term changes the energy by more than the threshold per second.

    Of a capsule that rolls about its own axis it does not. Plain numbers: arrays of three take ten
    times as long.
    """
    (x, y, z, w), (a, b, c), (i, j, k) = rotation, spin, moments
    # The spin in principal axes, by the conjugate rotation.
    p, q, r = 2.0 * (z * b - y * c), 2.0 * (x * c - z * a), 2.0 * (y * a - x * b)
    u = a + w * p + z * q - y * r
    v = b + w * q + x * r - z * p
    s = c + w * r + y * p - x * q
    e, f, g = (k - j) * v * s, (i - k) * s * u, (j - i) * u * v
    growth = (e * e / i if i else 0.0) + (f * f / j if j else 0.0) + (g * g / k if k else 0.0)
    return not growth * time_step <= _ENERGY_DRIFT * (i * u * u + j * v * v + k * s * s)


def _torques(
    inertia: FloatArray, ease: FloatArray, spins: FloatArray, time_step: float
) -> FloatArray:
    """:func:`_full_torques`, where a step is short enough for them; else spins stay.

    Beyond a turn of about a radian per step the fixed point of slender bodies may not exist. What
    it then gives is another energy, which contacts turn into speed (measured: rods of 10 cm left
    the floor with 40 times their energy).
    """
    torques = _full_torques(inertia, ease, spins, time_step)
    momenta = np.einsum("kij,kj->ki", inertia, spins)
    explicit = cross(spins, momenta)
    change = time_step * np.einsum("kij,kj->ki", ease, torques - explicit)
    turned = spins + change
    energies = (spins * momenta).sum(axis=1)
    found = np.einsum("ki,kij,kj->k", turned, inertia, turned)
    # Seen with the old orientation, the energy of a spin that is right differs as well.
    off = np.abs(found - energies) > _MOST_SHIFT * energies
    torques[off] = explicit[off]
    return torques


def _full_torques(
    inertia_in_world: FloatArray, ease_in_world: FloatArray, angular_velocity: FloatArray, dt: float
) -> FloatArray:
    """Torques [k, 3] for one step, world axes, that make the engine's spin keep its momentum.

    Bullet takes ``-w x I w`` at the old instant. A body turns through a step with the new spin, so
    spins belong to the middle of steps: here the spin of the coming step carries the momentum of
    the last one, both with the orientation at mid-step. That of the step's end keeps momentum, but
    wastes energy: 9 % in 5 s at 9 rad/s and 240 Hz about the middle axis, 29 % at 60 (measured).

    Args:
        inertia_in_world: [k, 3, 3], kg m^2.
        ease_in_world: Its inverse, [k, 3, 3].
        angular_velocity: [k, 3], rad/s, world axes.
        dt: [s]
    """
    explicit = cross(angular_velocity, np.einsum("kij,kj->ki", inertia_in_world, angular_velocity))
    momentum = np.einsum(
        "kij,kj->ki", _turned(inertia_in_world, -0.5 * dt * angular_velocity), angular_velocity
    )
    spin = angular_velocity
    for _ in range(_ITERATIONS):
        at_mid_step = _turned(ease_in_world, 0.5 * dt * spin)
        spin = np.einsum("kij,kj->ki", at_mid_step, momentum)
    result: FloatArray = (
        np.einsum("kij,kj->ki", inertia_in_world, spin - angular_velocity) / dt + explicit
    )
    return result


def _turned(inertia_in_world: FloatArray, rotation_vectors: FloatArray) -> FloatArray:
    """The inertia of bodies after they have turned."""
    turn = matrices_from_quats(quat_from_rotation_vector(rotation_vectors))
    inertia: FloatArray = turn @ inertia_in_world @ np.swapaxes(turn, -1, -2)
    return inertia
