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
    scene_at,
)
from gltf_bullet.transforms import FloatArray, IntArray

SAME = 1e-9
"""[m, rad, and per second] and share, by which sums of the same numbers may differ."""

TURNED = 1e-6
"""[rad] The same of turns."""

LARGEST_TURN = 0.7
"""[rad] per step, up to which the engine turns bases as they spin; faster ones it holds back."""


@kernel
def remember_state(floats: FloatArray, articulation: Articulation, is_over: bool) -> None:
    """Remember the coordinates and velocities of an articulation.

    ``is_over``: no step lies between this and the next reading.
    """
    last, states = articulation.last_state, articulation.state
    for k in range(articulation.state_size):
        floats[last + k] = floats[states + k]
    floats[articulation.is_at_last_state] = 1.0 if is_over else 0.0


@kernel
def _differ(one: float, other: float) -> bool:
    return not abs(one - other) <= SAME * (1.0 + abs(one))


@kernel
def _turn_between(floats: FloatArray, one: int, other: int) -> float:
    """Angle between two rotations xyzw [rad]."""
    x, y, z, w = floats[one], floats[one + 1], floats[one + 2], floats[one + 3]
    p, q, r, s = floats[other], floats[other + 1], floats[other + 2], floats[other + 3]
    i = s * x - p * w - (q * z - r * y)
    j = s * y - q * w - (r * x - p * z)
    k = s * z - r * w - (p * y - q * x)
    return 2.0 * math.atan2(math.sqrt(i * i + j * j + k * k), abs(w * s + x * p + y * q + z * r))


@kernel
def _is_elsewhere(floats: FloatArray, place: int, before: int, size: int, way: float) -> bool:
    """Tell whether coordinates are not where velocities, ``size`` numbers on, have led."""
    for k in range(size):
        if _differ(floats[place + k], floats[before + k] + way * floats[place + size + k]):
            return True
    return False


@kernel
def _is_turned(floats: FloatArray, place: int, before: int, spin: int, way: float) -> bool:
    """Tell whether a rotation deviates from where its spin leads in a time."""
    x, y, z = floats[spin], floats[spin + 1], floats[spin + 2]
    expected = way * math.sqrt(x * x + y * y + z * z)
    if expected > LARGEST_TURN:
        return False
    return abs(_turn_between(floats, place, before) - expected) > TURNED * (1.0 + expected)


@kernel
def _is_set(ints: IntArray, floats: FloatArray, articulation: Articulation) -> bool:
    """Tell whether coordinates or velocities were set since :func:`remember_state`."""
    scene = scene_at(ints, 0)
    is_over = floats[articulation.is_at_last_state] != 0.0
    way = 0.0 if is_over else floats[articulation.last_dt]
    if not is_over and (way <= 0.0 or scene.substeps > 1):
        return False
    shift = articulation.last_state - articulation.state
    for f in range(articulation.frame_count):
        joint = ints[articulation.frame_joint + f]
        place = ints[articulation.frame_state + f]
        before, size, first = place + shift, 0, 0
        if joint == REVOLUTE or joint == PRISMATIC:
            size, first = 1, 1
            if _is_elsewhere(floats, place, before, 1, way):
                return True
        elif joint == SPHERICAL:
            size, first = 3, 4
            if _is_turned(floats, place, before, place + 4, way):
                return True
        elif joint == FLOATING:
            size, first = 6, 7
            for k in range(3):
                if _differ(floats[place + k], floats[before + k] + way * floats[place + 7 + k]):
                    return True
            if _is_turned(floats, place + 3, before + 3, place + 10, way):
                return True
        if is_over:
            for k in range(first, first + size):
                if _differ(floats[place + k], floats[before + k]):
                    return True
    return False


@kernel
def detect_external_change(ints: IntArray, floats: FloatArray, articulation: Articulation) -> bool:
    """Detect a changed state, and forget what was predicted of it; return whether it was changed.

    Its change of momentum is no external force.
    """
    articulation.state_set_by_user = 0
    if not _is_set(ints, floats, articulation):
        return False
    articulation.state_set_by_user = 1
    articulation.mispredicted, articulation.uses_motors = 0, 0
    return True
