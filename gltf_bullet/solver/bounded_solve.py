"""The joint-space solve: drives, soft and hard limits as rows of one bounded linear problem.

Pure numpy, independent of the engine. Each row i watches a velocity ``J_i v`` and asks for

    J_i v' + softness_i * impulse_i = target_i,   low_i <= impulse_i <= high_i,

with ``v' = v_free + M^-1 J^T impulse``. A spring with damper is a row whose softness is
1 / (dt (theta dt k + d)); a hard limit has softness 0 and an impulse of one sign. All rows of a
articulation are solved together: gains per axis are wrong in coupled chains (measured: a three-link
arm with k = 1e5 jitters by 0.17 rad at 60 Hz).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import FloatArray

__all__ = ["MassFactor", "solve_bounded", "spring_rows"]

MASS_FLOOR = 1e-12
"""Relative addition to the diagonal: keeps a gimbal-locked chain invertible."""


MOST_PIVOTS = 60
"""Exchanges of rows before the pivoting is given up; a few are usual."""

SWEEPS = 30


class MassFactor:
    """A mass matrix and its inverse; a chain in a singular pose is regularised, not refused.

    The inverse is formed: at these sizes it costs less than the calls around a factorisation
    (measured at 40 velocities: 31 us, and 25 us for each ``cho_solve``).
    """

    def __init__(self, mass: FloatArray) -> None:
        self._regular = mass.copy()
        scale = float(mass.trace()) / max(1, len(mass)) or 1.0
        self._regular.flat[:: len(mass) + 1] += MASS_FLOOR * scale
        try:
            self._inverse = np.linalg.inv(self._regular)
        except np.linalg.LinAlgError:
            self._inverse = np.linalg.pinv(self._regular, rcond=1e-12, hermitian=True)

    def multiply(self, velocity: FloatArray) -> FloatArray:
        """``M v``."""
        result: FloatArray = self._regular @ velocity
        return result

    def solve(self, right: FloatArray) -> FloatArray:
        """``M^-1 right``."""
        result: FloatArray = self._inverse @ right
        return result


def spring_rows(
    stiffness: FloatArray,
    damping: FloatArray,
    error: FloatArray,
    velocity_target: FloatArray,
    inverse_mass: FloatArray,
    dt: float,
) -> tuple[FloatArray, FloatArray]:
    """Softness and velocity target of damped springs.

    The force is ``k (error - theta dt v') + d (v_t - v')``. theta goes from 0 (symplectic: a slow
    spring keeps its energy) to 1 (implicit: k = 1e7 N/m is stable at any dt) with the fourth
    power of the spring's own frequency times dt.

    Args:
        stiffness: [m], N/m or N m/rad, finite.
        damping: [m]
        error: Position target minus position [m].
        velocity_target: [m]
        inverse_mass: J M^-1 J^T of each row [m].
        dt: [s]
    """
    speed = 16.0 * (stiffness * inverse_mass * dt * dt) ** 2
    theta = np.maximum(speed / (1.0 + speed), 1e-4)
    resistance = np.maximum(theta * dt * stiffness + damping, 1e-30)
    softness = 1.0 / (dt * resistance)
    target = (stiffness * error + damping * velocity_target) / resistance
    return softness, target


def solve_bounded(
    matrix: FloatArray,
    right: FloatArray,
    low: FloatArray,
    high: FloatArray,
    guess: npt.NDArray[np.int8] | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int8]]:
    """Solve ``w = matrix x - right``: x at ``low`` (w >= 0), at ``high`` (w <= 0) or free (w = 0).

    Block principal pivoting: whole sets of rows change sides at once; when that does not shrink
    the number of wrong rows any more, one row at a time does, which ends for any positive
    definite matrix.

    Args:
        matrix: Symmetric positive definite [m, m].
        right: [m]
        low: [m], may be -inf.
        high: [m], may be inf.
        guess: State per row from an earlier solve: -1 at low, 0 free, 1 at high.

    Returns:
        The impulses and the states.
    """
    count = len(right)
    if guess is not None and len(guess) == count:
        state = guess.copy()
    else:
        state = np.where(low == 0.0, -1, np.where(high == 0.0, 1, 0)).astype(np.int8)
    state[(state == -1) & ~np.isfinite(low)] = 0
    state[(state == 1) & ~np.isfinite(high)] = 0
    scale = float(np.abs(right).max(initial=0.0)) + 1e-12
    best, patience = count + 1, 3
    x = np.zeros(count)
    for _ in range(min(20 + 4 * count, MOST_PIVOTS)):
        x = np.where(state < 0, low, np.where(state > 0, high, 0.0))
        free = np.flatnonzero(state == 0)
        if len(free) == count:
            x = _solve_block(matrix, right)
        elif len(free):
            held = right - matrix @ x
            x[free] = _solve_block(matrix[free[:, None], free], held[free])
        residual = matrix @ x - right
        below = (state == 0) & (x < low - 1e-12 * (1.0 + np.abs(x)))
        above = (state == 0) & (x > high + 1e-12 * (1.0 + np.abs(x)))
        release = ((state < 0) & (residual < -1e-10 * scale)) | (
            (state > 0) & (residual > 1e-10 * scale)
        )
        wrong = below | above | release
        number = int(wrong.sum())
        if number == 0:
            return np.clip(x, low, high), state
        if number < best:
            best, patience = number, 3
        else:
            patience -= 1
        if patience <= 0:
            single = np.zeros(count, dtype=bool)
            single[np.flatnonzero(wrong)[-1]] = True
            below, above, release = below & single, above & single, release & single
        state[below] = -1
        state[above] = 1
        state[release] = 0
    return _sweep(matrix, right, low, high, np.clip(x, low, high))


def _sweep(
    matrix: FloatArray, right: FloatArray, low: FloatArray, high: FloatArray, x: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.int8]]:
    """Projected Gauss-Seidel from ``x``: never far off, whatever the rows are like."""
    x = np.where(np.isfinite(x), x, np.clip(0.0, low, high))
    inverse = 1.0 / np.maximum(matrix.diagonal(), 1e-30)
    for _ in range(SWEEPS):
        for row in range(len(right)):
            value = x[row] + inverse[row] * (right[row] - matrix[row] @ x)
            x[row] = min(max(value, low[row]), high[row])
    state = np.where(x <= low, -1, np.where(x >= high, 1, 0)).astype(np.int8)
    return x, state


def _solve_block(block: FloatArray, right: FloatArray) -> FloatArray:
    if len(right) == 1:
        return np.asarray(right / block[0, 0], dtype=np.float64)
    try:
        solution = np.linalg.solve(block, right)
    except np.linalg.LinAlgError:
        solution = np.linalg.lstsq(block, right, rcond=1e-12)[0]
    return np.asarray(solution, dtype=np.float64)
