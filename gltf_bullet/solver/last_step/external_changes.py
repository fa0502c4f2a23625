"""Changes of coordinates and velocities between two steps, detected from what the engine reports.

``resetJointState``, ``resetBaseVelocity`` and the like leave no trace but this: a step ends where
its new velocities have led, and where no step lies in between, nothing may differ.
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    FLOATING,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
    scene_around,
)
from gltf_bullet.transforms import FloatArray

SAME = 1e-9
"""[m, rad, and per second] and share, by which sums of the same numbers may differ."""

TURNED = 1e-6
"""[rad] The same of turns."""

LARGEST_TURN = 0.7
"""[rad] per step, up to which the engine turns bases as they spin; faster ones it holds back."""


@kernel
def remember_state(a: Articulation, is_over: bool) -> None:
    """Remember the coordinates and velocities of an articulation.

    ``is_over``: no step lies between this and the next reading.

    Sets ``last_state`` and ``is_at_last_state``.
    """
    last, states = a.last_state, a.state
    for k in range(a.state_size):
        last[k] = states[k]
    a.is_at_last_state[0] = 1.0 if is_over else 0.0


@kernel
def _differ(one: float, other: float) -> bool:
    return not abs(one - other) <= SAME * (1.0 + abs(one))


@kernel
def _turn_between(one: FloatArray, other: FloatArray) -> float:
    """Angle between two rotations xyzw [rad]."""
    x, y, z, w = one[0], one[1], one[2], one[3]
    p, q, r, s = other[0], other[1], other[2], other[3]
    i = s * x - p * w - (q * z - r * y)
    j = s * y - q * w - (r * x - p * z)
    k = s * z - r * w - (p * y - q * x)
    return 2.0 * math.atan2(math.sqrt(i * i + j * j + k * k), abs(w * s + x * p + y * q + z * r))


@kernel
def _is_elsewhere(place: FloatArray, before: FloatArray, size: int, way: float) -> bool:
    """Tell whether coordinates are not where velocities, ``size`` numbers on, have led."""
    for k in range(size):  # noqa: SIM110  # kernels know no generators
        if _differ(place[k], before[k] + way * place[size + k]):
            return True
    return False


@kernel
def _is_turned(place: FloatArray, before: FloatArray, spin: FloatArray, way: float) -> bool:
    """Tell whether a rotation deviates from where its spin leads in a time."""
    x, y, z = spin[0], spin[1], spin[2]
    expected = way * math.sqrt(x * x + y * y + z * z)
    if expected > LARGEST_TURN:
        return False
    return abs(_turn_between(place, before) - expected) > TURNED * (1.0 + expected)


@kernel
def _is_set(a: Articulation) -> bool:
    """Tell whether coordinates or velocities were set since :func:`remember_state`."""
    scene = scene_around(a)
    is_over = a.is_at_last_state[0] != 0.0
    way = 0.0 if is_over else a.last_dt[0]
    if not is_over and (way <= 0.0 or scene.substeps > 1):
        return False
    for f in range(a.frame_count):
        joint = a.frame_joint[f]
        place = a.floats[a.frame_state[f] :]
        before = a.last_state[a.frame_state[f] - a.first_state :]
        size, first = 0, 0
        if joint == REVOLUTE or joint == PRISMATIC:
            size, first = 1, 1
            if _is_elsewhere(place, before, 1, way):
                return True
        elif joint == SPHERICAL:
            size, first = 3, 4
            if _is_turned(place, before, place[4:], way):
                return True
        elif joint == FLOATING:
            size, first = 6, 7
            for k in range(3):
                if _differ(place[k], before[k] + way * place[7 + k]):
                    return True
            if _is_turned(place[3:], before[3:], place[10:], way):
                return True
        if is_over:
            for k in range(first, first + size):
                if _differ(place[k], before[k]):
                    return True
    return False


@kernel
def detect_external_change(a: Articulation) -> bool:
    """Detect a changed state, and forget what was predicted of it; return whether it was changed.

    Its change of momentum is no external force.
    """
    a.state_set_by_user = 0
    if not _is_set(a):
        return False
    a.state_set_by_user = 1
    a.mispredicted, a.uses_motors = 0, 0
    return True
