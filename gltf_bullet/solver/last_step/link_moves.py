"""How far the links of an articulation went in a step: which of them are to be looked after."""

from __future__ import annotations

import math

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import (
    LINK_HALF_LENGTH,
    LINK_HALF_THICKNESS,
    LINK_SIZE,
    MOVE_HALF_THICKNESS,
    MOVE_IS_HURRIED,
    MOVE_SIZE,
    MOVE_TRAVEL,
    MOVE_TURNING,
    MOVES_FURTHEST,
    MOVES_HEAD,
    MOVES_HIGH,
    MOVES_LOW,
    MOVES_SPREAD,
    MOVES_THINNEST,
    POSE_COM,
    POSE_SIZE,
)
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.tree_kinematics import follow_state
from gltf_bullet.transforms import FloatArray, IntArray

RUNAWAY = 10.0
"""[m] in one step from which on a link is not put back: at 400 m and 1e12 kg it became NaN."""
REACH = 3.5
"""Half lengths, at most, from a link's centre of mass to its furthest point: the centre may be at
one end of each of its axes, 2 sqrt(3)."""


@kernel
def note_moves(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, dt: float) -> None:
    """Fill MOVES from the state as it was read after a step of ``dt`` seconds."""
    follow_state(ints, floats, work, a)
    head, reference = ints[a + arena.MOVES], ints[a + arena.REFERENCE]
    twists, first = ints[a + arena.TWIST], -1
    work[head + MOVES_FURTHEST] = work[head + MOVES_SPREAD] = 0.0
    work[head + MOVES_THINNEST] = math.inf
    for k in range(3):
        work[head + MOVES_LOW + k], work[head + MOVES_HIGH + k] = math.inf, -math.inf
    for f in range(ints[a + arena.FRAME_COUNT]):
        link, t = ints[a + arena.LINK] + LINK_SIZE * f, twists + 6 * f
        com = ints[a + arena.POSE] + POSE_SIZE * f + POSE_COM
        length, thickness = floats[link + LINK_HALF_LENGTH], floats[link + LINK_HALF_THICKNESS]
        row = head + MOVES_HEAD + MOVE_SIZE * f
        travelled, turned = 0.0, 0.0
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            speed = work[t + 3 + k] + work[t + i] * work[com + j] - work[t + j] * work[com + i]
            work[row + MOVE_TRAVEL + k] = dt * speed
            work[row + MOVE_TURNING + k] = dt * length * work[t + k]
            travelled += (dt * speed) ** 2
            turned += (dt * length * work[t + k]) ** 2
        reach = math.sqrt(travelled) + math.sqrt(turned)
        is_hurried = thickness < reach < RUNAWAY
        work[row + MOVE_HALF_THICKNESS] = thickness
        work[row + MOVE_IS_HURRIED] = 1.0 if is_hurried else 0.0
        if thickness == math.inf:  # nothing of it collides
            continue
        if first < 0:
            first = row
        apart = 0.0
        for k in range(MOVE_TRAVEL, MOVE_TRAVEL + 3):
            apart += (work[row + k] - work[first + k]) ** 2
        spread = math.sqrt(apart) + math.sqrt(turned)
        work[head + MOVES_SPREAD] = max(work[head + MOVES_SPREAD], spread)
        if not is_hurried:
            continue
        work[head + MOVES_FURTHEST] = max(work[head + MOVES_FURTHEST], reach)
        work[head + MOVES_THINNEST] = min(work[head + MOVES_THINNEST], thickness)
        for k in range(3):
            place = work[reference + k] + work[com + k]
            low, high = head + MOVES_LOW + k, head + MOVES_HIGH + k
            work[low] = min(work[low], place - REACH * length)
            work[high] = max(work[high], place + REACH * length)
