"""How many engine steps a step is made of: before it, it is known how far things can go in it.

Forces are found for a step as if joints turned little in it. Where they do not, limits are passed,
momentum is lost and energy comes from nowhere, all in proportion to the step; finer steps mend it,
and nothing as simple (measured: a doll whose limb a cone flings lost 17 % of its momentum at 240
Hz, 4 % at 960; ragdolls dropped in pairs at 60 Hz gained half their energy).
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import (
    FLOATING,
    LINK_HALF_LENGTH,
    LINK_HALF_THICKNESS,
    LINK_INERTIA,
    LINK_MASS,
    LINK_SIZE,
    POSE_COM,
    POSE_SIZE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
)
from gltf_bullet.solver.row_metrics import is_length
from gltf_bullet.solver.tree_kinematics import follow_state
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["MOST_STEPS", "last_engine_step", "note_division", "steps_needed", "whole_step"]

LARGEST_TURN = 0.15
"""[rad] of a joint within one engine step."""
LARGEST_WAY = 0.03
"""[m] of a joint or a floating base within one engine step."""
IN_LOOPS = 3.0
"""How many times finer the steps of loops are, which the engine's own constraints hold: of 20 rings
of thin bars that fell on the ground, the engine alone threw 20, 17, 14 and 7 away at 60, 120, 240
and 960 Hz."""
STIFFEST = 8.0
"""How many times finer steps are at most for springs and drives that swing faster than a step: what
they press against something is thrown where it comes out otherwise than foreseen (measured: 37 of
40 chains of plates on springs of 100 kN/m that fell on a floor at 60 Hz)."""
LIVELY = 0.1
"""Share of what joints may move in an engine step, below which no link goes through anything."""
MOST_STEPS = 32
"""Engine steps in a step at most."""
LASTING = 0.9
"""Share of what a step needed that the next one needs at least: impacts of many limbs, and springs
that they have pressed, take some steps."""


@kernel
def whole_step(ints: IntArray, dt: float) -> float:
    """Seconds of the step that the coming engine step of ``dt`` seconds is part of."""
    return float(dt * max(ints[arena.PARTS], 1))


@kernel
def last_engine_step(ints: IntArray, floats: FloatArray, dt: float) -> float:
    """Seconds of the last engine step, before one of ``dt`` seconds; as long, where none is known.

    PyBullet tells forces of contacts as impulse by *present* time step, whatever the step was that
    they acted in: where steps are divided that is another one.
    """
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] == 1 and floats[ints[a + arena.LAST_DT]] > 0.0:
            return float(floats[ints[a + arena.LAST_DT]])
    return dt


@kernel
def steps_needed(
    ints: IntArray, floats: FloatArray, work: FloatArray, dt: float, has_room: bool
) -> int:
    """Engine steps for a step of ``dt`` seconds of all articulations, whose state was read.

    With ``has_room`` nothing is in their way: how thin they are is no matter then, nor how fast
    they move as a whole, where each limit and spring is about one joint's coordinate. What changed
    the velocities in the last step, as contacts and springs do, may do so again. Asked twice it
    says the same: :func:`note_division` is what remembers.
    """
    most = 1
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] == 0:
            continue
        is_free = has_room and not _has_bent_rows(ints, a)
        fastest = 0.0
        for f in range(ints[a + arena.FRAME_COUNT]):
            joint = ints[ints[a + arena.FRAME_JOINT] + f]
            speeds = ints[ints[a + arena.FRAME_STATE] + f]
            lately = ints[a + arena.LAST_VELOCITY] + ints[ints[a + arena.FRAME_FIRST_DOF] + f]
            if joint == REVOLUTE:
                fastest = max(fastest, _fastest(floats, speeds + 1, lately, 1) / LARGEST_TURN)
            elif joint == PRISMATIC:
                fastest = max(fastest, _fastest(floats, speeds + 1, lately, 1) / LARGEST_WAY)
            elif joint == SPHERICAL:
                fastest = max(fastest, _fastest(floats, speeds + 4, lately, 3) / LARGEST_TURN)
            elif joint == FLOATING:
                if not is_free:
                    fastest = max(fastest, _length(floats, speeds + 7, lately, 3) / LARGEST_WAY)
                fastest = max(fastest, _length(floats, speeds + 10, lately + 3, 3) / LARGEST_TURN)
        thinness = 0.0
        if dt * fastest > LIVELY and not is_free:
            follow_state(ints, floats, work, a)
            thinness = _thinnest(ints, floats, work, a)
        if ints[a + arena.CLOSURE_COUNT]:
            fastest *= IN_LOOPS
        if dt * fastest * STIFFEST > 1.0:
            fastest *= min(max(2.0 * dt * math.sqrt(_stiffest(ints, floats, a)), 1.0), STIFFEST)
        # In loops a drive moves more than its own axis carries: on a bridge each plank asked for 32
        # parts, and the box that lands there bounced and slid by 0.4 m.
        pushed = 0.0 if ints[a + arena.CLOSURE_COUNT] else _pushed(ints, floats, a)
        coming = ints[a + arena.COMING]
        # Within a step that is divided, only what is left of it is asked about.
        lately = 0.0 if ints[arena.PARTS] > 1 else LASTING * floats[ints[a + arena.NEEDED]]
        floats[coming] = max(dt * max(fastest, thinness, pushed), lately)
        if floats[coming] > 1.0:
            most = max(most, int(min(floats[coming], MOST_STEPS - 1.0)) + 1)
    return most


@kernel
def _has_bent_rows(ints: IntArray, a: int) -> bool:
    """Tell whether a limit or spring watches a number that several coordinates change."""
    lowest = 0
    for r in range(ints[a + arena.ROW_COUNT]):
        lowest = min(lowest, ints[ints[a + arena.ROW_DOF] + r])
    return lowest < 0


@kernel
def _thinnest(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> float:
    """How often a link's ends go as far in a second as it is thick by half, of the one that does.

    The engine looks for contacts before its steps alone: what goes further passes through others,
    or meets them from behind.
    """
    most = 0.0
    for f in range(ints[a + arena.FRAME_COUNT]):
        link, t = ints[a + arena.LINK] + LINK_SIZE * f, ints[a + arena.TWIST] + 6 * f
        thickness = floats[link + LINK_HALF_THICKNESS]
        if math.isinf(thickness):
            continue
        c = ints[a + arena.POSE] + POSE_SIZE * f + POSE_COM
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        x = work[t + 3] + wy * work[c + 2] - wz * work[c + 1]
        y = work[t + 4] + wz * work[c] - wx * work[c + 2]
        z = work[t + 5] + wx * work[c + 1] - wy * work[c]
        speed = math.sqrt(x * x + y * y + z * z)
        speed += math.sqrt(wx * wx + wy * wy + wz * wz) * floats[link + LINK_HALF_LENGTH]
        most = max(most, speed / max(thickness, 1e-3))
    return most


@kernel
def _pushed(ints: IntArray, floats: FloatArray, a: int) -> float:
    """Engine steps per second that drives need which press against something.

    Where what they press gives way they go ``F dt^2 / M`` in a step (measured: fingers of 0.1 kg
    that press with 50 N jumped through the block between them at 60 Hz).
    """
    n, most, last_dt = ints[a + arena.DOF_COUNT], 0.0, floats[ints[a + arena.LAST_DT]]
    if last_dt <= 0.0:
        return 0.0
    for r in range(ints[a + arena.ROW_COUNT]):
        dof = ints[ints[a + arena.ROW_DOF] + r]
        if dof < 0 or ints[ints[a + arena.ROW_IS_DRIVE] + r] == 0:
            continue
        force = abs(floats[ints[a + arena.LAST_IMPULSE] + r]) / last_dt
        inertia = max(floats[ints[a + arena.LAST_MASS] + (n + 1) * dof], 1e-12)
        is_way = (
            ints[ints[a + arena.FRAME_JOINT] + ints[ints[a + arena.DOF_FRAME] + dof]] == PRISMATIC
        )
        most = max(most, force / (inertia * (LARGEST_WAY if is_way else LARGEST_TURN)))
    return math.sqrt(most)


@kernel
def _stiffest(ints: IntArray, floats: FloatArray, a: int) -> float:
    """Square of the frequency of the fastest spring or drive [1/s^2]."""
    n, fastest, lightest, least = ints[a + arena.DOF_COUNT], 0.0, math.inf, math.inf
    for f in range(ints[a + arena.FRAME_COUNT]):
        link = ints[a + arena.LINK] + LINK_SIZE * f
        if floats[link + LINK_MASS] > 0.0:
            lightest = min(lightest, floats[link + LINK_MASS])
            for k in range(3):
                least = min(least, floats[link + LINK_INERTIA + k])
    for r in range(ints[a + arena.ROW_COUNT]):
        stiffness, dof = (
            floats[ints[a + arena.ROW_STIFFNESS] + r],
            ints[ints[a + arena.ROW_DOF] + r],
        )
        if math.isinf(stiffness):
            continue
        if ints[ints[a + arena.ROW_BY_ACCELERATION] + r] == 0:
            inertia = lightest if is_length(ints[ints[a + arena.ROW_METRIC] + r]) else least
            if dof >= 0:
                inertia = floats[ints[a + arena.LAST_MASS] + (n + 1) * dof]
            stiffness /= max(inertia, 1e-12)
        fastest = max(fastest, stiffness)
    return fastest


@kernel
def _length(floats: FloatArray, speeds: int, lately: int, count: int) -> float:
    """Add up a velocity's length and what it changed by since the last step began.

    Lengths, not components: a scene that is turned must be divided as often.
    """
    square, change = 0.0, 0.0
    for k in range(count):
        square += floats[speeds + k] ** 2
        change += (floats[speeds + k] - floats[lately + k]) ** 2
    return math.sqrt(square) + math.sqrt(change)


@kernel
def _fastest(floats: FloatArray, speeds: int, lately: int, count: int) -> float:
    """Find the largest of some velocities about axes, with what each changed by since then."""
    fastest = 0.0
    for k in range(count):
        speed = floats[speeds + k]
        fastest = max(fastest, abs(speed) + abs(speed - floats[lately + k]))
    return fastest


@kernel
def note_division(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> None:
    """Remember how fast an articulation is, and what was needed, as a step begins."""
    floats[ints[a + arena.NEEDED]] = floats[ints[a + arena.COMING]]
    for i in range(ints[a + arena.DOF_COUNT]):
        floats[ints[a + arena.LAST_VELOCITY] + i] = work[ints[a + arena.VELOCITY] + i]
