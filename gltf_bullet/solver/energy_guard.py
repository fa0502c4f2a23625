"""Energy from nowhere is taken back: what keeps a fall of limbs from exploding.

Forces are found for contacts as they are foreseen. Where they come about otherwise, the impulse of
a stop may have thrown a light limb aside, and the next one throws it further (measured: 6 of 24
ragdolls dropped at 60 Hz ended as NaN). The balance of work tells: known forces, drives, soft
limits and bodies that move may add energy, hard limits and what stands still may not.
"""

from __future__ import annotations

import math

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import ANCHOR, FLOATING, SPHERICAL
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.tree_kinematics import move_frames
from gltf_bullet.solver.types import IntArray
from gltf_bullet.transforms import FloatArray

MISS = 0.1
"""[m/s, rad/s] and share of a velocity, by which a step may end otherwise than its solve foresaw
and still be trusted."""

TOLERANCE = 1e-3
"""Share of its energy that an articulation may gain in a mispredicted step by rounding of all
kinds."""


@kernel
def kinetic_energy(ints: IntArray, work: FloatArray, a: int) -> float:
    """Of an articulation as it moves now [J]."""
    n, mass = ints[a + arena.DOF_COUNT], ints[a + arena.MASS]
    velocity, total = ints[a + arena.VELOCITY], 0.0
    for i in range(n):
        momentum = 0.0
        for k in range(n):
            momentum += work[mass + n * i + k] * work[velocity + k]
        total += 0.5 * momentum * work[velocity + i]
    return total


@kernel
def judge_step(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Notice where the last step went otherwise than foreseen, and slow down what it threw."""
    n, last_dt = ints[a + arena.DOF_COUNT], floats[ints[a + arena.LAST_DT]]
    velocity, expected = ints[a + arena.VELOCITY], ints[a + arena.EXPECTED]
    mistrust, before = ints[a + arena.MISTRUST], ints[a + arena.LAST_VELOCITY]
    tuning = ints[a + arena.TUNING]
    ints[a + arena.SLOWED] = 0
    ints[a + arena.MISPREDICTED] = 0
    if last_dt > 0.0:
        floats[mistrust] = max(0.0, floats[mistrust] - last_dt)
        for i in range(n):
            miss = abs(work[velocity + i] - floats[expected + i])
            if not miss <= MISS * (1.0 + abs(work[velocity + i])):
                floats[mistrust] = max(floats[tuning], 0.5 * last_dt)
        if floats[mistrust] > 0.0:
            ints[a + arena.MISPREDICTED] = 1
            energy, allowed = kinetic_energy(ints, work, a), floats[ints[a + arena.LAST_ENERGY]]
            gain = 0.0
            for i in range(n):
                mean = 0.5 * (floats[before + i] + work[velocity + i])
                gain += last_dt * mean * floats[ints[a + arena.LEGITIMATE] + i]
                gain += last_dt * mean * work[ints[a + arena.MOVING_FORCE] + i]
            allowed = (1.0 + TOLERANCE) * allowed + max(gain, 0.0) + 1e-9
            if energy > allowed and floats[tuning + 1] == 0.0:
                _slow_down(ints, floats, work, a, math.sqrt(allowed / energy))
    for i in range(n):
        floats[before + i] = work[velocity + i]
    floats[ints[a + arena.LAST_ENERGY]] = kinetic_energy(ints, work, a)


@kernel
def _slow_down(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, factor: float) -> None:
    """Scale all velocities."""
    ints[a + arena.SLOWED] = 1
    velocity = ints[a + arena.VELOCITY]
    for f in range(ints[a + arena.FRAME_COUNT]):
        dof, joint = (
            ints[ints[a + arena.FRAME_FIRST_DOF] + f],
            ints[ints[a + arena.FRAME_JOINT] + f],
        )
        if dof < 0 or joint == ANCHOR:
            continue
        state = ints[ints[a + arena.FRAME_STATE] + f]
        size, start = 1, state + 1
        if joint == SPHERICAL:
            size, start = 3, state + 4
        elif joint == FLOATING:
            size, start = 6, state + 7
        for k in range(size):
            speed = factor * work[velocity + dof + k]
            work[velocity + dof + k] = speed
            floats[start + k] = speed
    move_frames(ints, floats, work, a, velocity, ints[a + arena.TWIST])
