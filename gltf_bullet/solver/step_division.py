"""Number of engine steps that a step is divided into, from how far joints can move in it.

Forces are found for a step as if joints turned little in it. Where they do not, limits are passed,
momentum is lost and energy comes from nowhere, all in proportion to the step: finer steps are the
simplest remedy (measured: a doll whose limb a cone flings lost 17 % of its momentum at 240
Hz, 4 % at 960; ragdolls dropped in pairs at 60 Hz gained half their energy).
"""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import (
    FLOATING,
    LINK,
    POSE,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    Articulation,
    articulation_at,
    scene_at,
)
from gltf_bullet.solver.row_metrics import is_length
from gltf_bullet.solver.tree_kinematics import follow_state
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = [
    "LIMBS_APART",
    "LIMBS_MEET",
    "MOST_STEPS",
    "NO_ROOM",
    "last_engine_step",
    "remember_division",
    "steps_needed",
    "whole_step",
]

LARGEST_TURN = 0.15
"""[rad] of a joint within one engine step."""
LARGEST_WAY = 0.03
"""[m] of a joint or a floating base within one engine step."""
IN_LOOPS = 3.0
"""Factor by which steps of loops are finer, which the engine's own constraints hold: of 20 rings
of thin bars that fell on the ground, the engine alone threw 20, 17, 14 and 7 away at 60, 120, 240
and 960 Hz."""
STIFFEST = 8.0
"""Largest factor by which steps are finer for springs and drives that swing faster than a step:
what they press against something is thrown where it comes out otherwise than foreseen (measured: 37
of 40 chains of plates on springs of 100 kN/m that fell on a floor at 60 Hz)."""
LIVELY = 0.1
"""Share of what joints may move in an engine step, below which no link goes through anything."""
NO_ROOM, LIMBS_APART, LIMBS_MEET = 0, 1, 2
"""Reach of links: other bodies; nothing, for those that never collide with each other; only each
other."""
MOST_STEPS = 32
"""Engine steps in a step at most."""
LASTING = 0.9
"""Share of what a step needed that the next one needs at least: impacts of many limbs, and springs
that they have pressed, take some steps."""


@kernel
def whole_step(ints: IntArray, dt: float) -> float:
    """Seconds of the step that the coming engine step of ``dt`` seconds is part of."""
    scene = scene_at(ints, 0)
    return float(dt * max(scene.parts, 1))


@kernel
def last_engine_step(ints: IntArray, floats: FloatArray, dt: float) -> float:
    """Seconds of the last engine step, before one of ``dt`` seconds; as long, where none is known.

    PyBullet tells forces of contacts as impulse by *present* time step, whatever the step was that
    they acted in: where steps are divided that is another one.
    """
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation == 1 and floats[articulation.last_dt] > 0.0:
            return float(floats[articulation.last_dt])
    return dt


@kernel
def steps_needed(ints: IntArray, floats: FloatArray, work: FloatArray, dt: float, room: int) -> int:
    """Engine steps for a step of ``dt`` seconds of all articulations, whose state was read.

    With ``room`` nothing else is in their way: how fast they move as a whole is no matter then but
    for loops, nor how thin they are unless :data:`LIMBS_MEET`. What changed the velocities in the
    last step, as contacts and springs do, may do so again. Asked twice it says the same:
    :func:`remember_division` is what remembers.
    """
    scene = scene_at(ints, 0)
    most = 1
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation == 0:
            continue
        # A loop between limits that turns freely at 16 rad/s came to 166 in parts of 1/480 s.
        is_free = room != NO_ROOM and articulation.closure_count == 0
        is_free = is_free and not _is_held_to_others(ints, articulation)
        fastest = 0.0
        for f in range(articulation.frame_count):
            joint = ints[articulation.frame_joint + f]
            speeds = ints[articulation.frame_state + f]
            lately = articulation.last_velocity + ints[articulation.frame_first_dof + f]
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
        if dt * fastest > LIVELY and not (is_free and room == LIMBS_APART):
            follow_state(ints, floats, work, articulation)
            thinness = _thinnest(ints, floats, work, articulation, is_free)
        if articulation.closure_count:
            fastest *= IN_LOOPS
        if dt * fastest * STIFFEST > 1.0:
            fastest *= min(
                max(2.0 * dt * math.sqrt(_stiffest(ints, floats, articulation)), 1.0), STIFFEST
            )
        # In loops a drive moves more than its own axis carries: on a bridge each plank asked for 32
        # parts, and the box that lands there bounced and slid by 0.4 m.
        pushed = 0.0 if articulation.closure_count else _pushed(ints, floats, articulation)
        coming = articulation.coming_division
        # Within a step that is divided, only the rest of it counts.
        lately = 0.0 if scene.parts > 1 else LASTING * floats[articulation.last_division]
        floats[coming] = max(dt * max(fastest, thinness, pushed), lately)
        if floats[coming] > 1.0:
            most = max(most, int(min(floats[coming], MOST_STEPS - 1.0)) + 1)
    return most


@kernel
def _is_held_to_others(ints: IntArray, articulation: Articulation) -> bool:
    """Tell whether a limit or spring is between two trees: how they move as a whole changes it."""
    for r in range(articulation.row_count):
        if ints[articulation.row_dof + r] >= 0:
            continue
        first, second = ints[articulation.row_frame_a + r], ints[articulation.row_frame_b + r]
        if ints[articulation.frame_root + first] != ints[articulation.frame_root + second]:
            return True
    return False


@kernel
def _thinnest(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    articulation: Articulation,
    among_themselves: bool,
) -> float:
    """Largest speed of a link's ends in multiples of its half thickness per second.

    The engine looks for contacts before its steps alone: what goes further passes through others,
    or meets them from behind. ``among_themselves``: links can only meet those of their own tree, so
    that the speed of its root is left out.
    """
    most = 0.0
    for f in range(articulation.frame_count):
        link, t = articulation.link + LINK.size * f, articulation.twist + 6 * f
        thickness = floats[link + LINK.half_thickness]
        if math.isinf(thickness):
            continue
        x, y, z = _speed_of(work, articulation, f)
        if among_themselves:
            u, v, w = _speed_of(work, articulation, ints[articulation.frame_root + f])
            x, y, z = x - u, y - v, z - w
        wx, wy, wz = work[t], work[t + 1], work[t + 2]
        speed = math.sqrt(x * x + y * y + z * z)
        speed += math.sqrt(wx * wx + wy * wy + wz * wz) * floats[link + LINK.half_length]
        most = max(most, speed / max(thickness, 1e-3))
    return most


@kernel
def _speed_of(work: FloatArray, articulation: Articulation, f: int) -> tuple[float, float, float]:
    """Velocity of a link's centre of mass [m/s]."""
    t, c = articulation.twist + 6 * f, articulation.pose + POSE.size * f + POSE.com
    wx, wy, wz = work[t], work[t + 1], work[t + 2]
    return (
        work[t + 3] + wy * work[c + 2] - wz * work[c + 1],
        work[t + 4] + wz * work[c] - wx * work[c + 2],
        work[t + 5] + wx * work[c + 1] - wy * work[c],
    )


@kernel
def _pushed(ints: IntArray, floats: FloatArray, articulation: Articulation) -> float:
    """Engine steps per second that drives need which press against something.

    Where what they press gives way they go ``F dt^2 / M`` in a step, which must be less than half
    of what pushes is thick (measured: fingers of 0.1 kg that press with 50 N jumped through the
    block between them at 60 Hz; with 100 N it slid out of fingers of 10 mm in steps for 30 mm).
    """
    n, most, last_dt = articulation.dof_count, 0.0, floats[articulation.last_dt]
    if last_dt <= 0.0:
        return 0.0
    for r in range(articulation.row_count):
        dof = ints[articulation.row_dof + r]
        if dof < 0 or ints[articulation.row_is_drive + r] == 0:
            continue
        force = abs(floats[articulation.last_impulse + r]) / last_dt
        inertia = max(floats[articulation.last_mass + (n + 1) * dof], 1e-12)
        frame, most_way = ints[articulation.dof_frame + dof], LARGEST_TURN
        if ints[articulation.frame_joint + frame] == PRISMATIC:
            half = floats[articulation.link + LINK.size * frame + LINK.half_thickness]
            most_way = min(LARGEST_WAY, max(half, 1e-3))
        most = max(most, force / (inertia * most_way))
    return math.sqrt(most)


@kernel
def _stiffest(ints: IntArray, floats: FloatArray, articulation: Articulation) -> float:
    """Square of the frequency of the fastest spring or drive [1/s^2].

    A body of 10 kg that a spring holds 0.3 m beside its centre of mass turns with the inertia of
    40 g: by masses alone such a spring was taken for slow (measured: three plates on springs of
    100 kN/m that fell on a floor gained up to 3 kJ of 0.9 at 240 Hz, now at most 0.03).
    """
    n, fastest, lightest, least = articulation.dof_count, 0.0, math.inf, math.inf
    for f in range(articulation.frame_count):
        link = articulation.link + LINK.size * f
        if floats[link + LINK.mass] > 0.0:
            lightest = min(lightest, floats[link + LINK.mass])
            for k in range(3):
                least = min(least, floats[link + LINK.inertia + k])
    for r in range(articulation.row_count):
        stiffness = floats[articulation.row_stiffness + r]
        dof = ints[articulation.row_dof + r]
        if math.isinf(stiffness):
            continue
        if ints[articulation.row_by_acceleration + r] == 0:
            compliance = floats[articulation.last_compliance + r]
            inertia = lightest if is_length(ints[articulation.row_metric + r]) else least
            if dof >= 0:
                inertia = floats[articulation.last_mass + (n + 1) * dof]
            stiffness *= compliance if compliance > 0.0 else 1.0 / max(inertia, 1e-12)
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
def remember_division(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Remember how fast an articulation is, and what was needed, as a step begins."""
    floats[articulation.last_division] = floats[articulation.coming_division]
    for i in range(articulation.dof_count):
        floats[articulation.last_velocity + i] = work[articulation.velocity + i]
