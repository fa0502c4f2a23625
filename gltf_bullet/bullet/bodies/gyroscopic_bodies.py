"""Free bodies that the engine alone would tumble wrongly, and the torques that mend it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.state.link_states import link_state
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    cross,
    matrices_from_quats,
    quat_conjugate,
    quat_from_rotation_vector,
    quat_multiply,
    quat_rotate,
    rotation_vector_from_quat,
)

__all__ = ["GyroscopicBodies", "SpinState"]

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

SpinState: TypeAlias = tuple[FloatArray | None, FloatArray | None]
"""Turns within the last step [k, 3] and rotations after it [k, 4]."""


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
            moments: See :attr:`moments`.
        """
        self._client_id = client_id
        self._ids = ids
        self._rows = rows
        self.moments = moments
        """Principal ones of all free bodies [n, 3], kg m^2."""
        self.state: SpinState = (None, None)
        """What the next step needs to know of the last one."""

    @property
    def are_any(self) -> bool:
        """Whether there is anything to watch."""
        return bool(len(self._rows))

    def forget(self, row: int) -> None:
        """Ask no more about a body that was removed."""
        self._rows = self._rows[self._rows != row]
        self.state = (None, None)

    def note(self, rotations: FloatArray) -> None:
        """Estimate spins from two successive rotations: free, and enough to find the fast ones.

        Args:
            rotations: Of the inertial frames of all free bodies [n, 4], after a step.
        """
        if not self.are_any:
            return
        now = rotations[self._rows]
        turn, last = self.state
        if last is not None:
            turn = rotation_vector_from_quat(quat_multiply(now, quat_conjugate(last)))
        self.state = (turn, now.copy())

    def steady(self, time_step: float, lively: Collection[int] = ()) -> None:
        """Apply the torques that keep angular momentum through the coming step.

        Args:
            time_step: [s]
            lively: Rows of bodies that may turn faster than two rotations can tell.
        """
        if not self.are_any:
            return
        turn, last = self.state
        picked = self._rows
        if turn is not None and last is not None:
            spins = quat_rotate(quat_conjugate(last), turn / time_step)
            drifts = _drifts(spins, self.moments[picked], time_step)
            if lively:
                drifts |= np.isin(picked, list(lively))
            picked = picked[drifts]
        if not len(picked):
            return
        states = [link_state(self._client_id, self._ids[row], -1) for row in picked.tolist()]
        frames = matrices_from_quats(np.array([state[1] for state in states]))
        moments = self.moments[picked, None, :]
        inertia = (frames * moments) @ np.swapaxes(frames, 1, 2)
        # Not by a solve: moments may differ by more than doubles can tell.
        ease = (frames / moments) @ np.swapaxes(frames, 1, 2)
        spins = np.array([state[3] for state in states])
        torques = _torques(inertia, ease, spins, time_step)
        endless = self.moments[picked].max(axis=1) > _ENDLESS * self.moments[picked].min(axis=1)
        if endless.any():
            momenta = np.einsum("kij,kj->ki", inertia[endless], spins[endless])
            torques[endless] = cross(spins[endless], momenta)
        for row, torque in zip(picked.tolist(), torques.tolist(), strict=True):
            pybullet.applyExternalTorque(
                self._ids[row],
                -1,
                torque,
                pybullet.WORLD_FRAME,
                physicsClientId=self._client_id,
            )


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


def _drifts(spins: FloatArray, moments: FloatArray, time_step: float) -> BoolArray:
    """Where the explicit term would change the energy by more than the threshold per second."""
    momenta = moments * spins
    torques = cross(spins, momenta)
    growth = (torques * torques / moments).sum(axis=1) * time_step
    fast: BoolArray = growth > _ENERGY_DRIFT * (spins * momenta).sum(axis=1)
    return fast


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
