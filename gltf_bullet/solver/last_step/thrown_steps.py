"""Steps that throw an articulation are taken back: it stays where it was, as fast as it may be.

The guard of energy takes speeds back after the step; by then the engine has moved everything by
them (measured at 60 Hz: a body of 10 kg on a spring of 100 kN/m that hit a floor at 5 m/s was 27 m
away one step later, at rest). The time of the step is lost to what was thrown.

What the engine throws at every step, as a plate that springs have pressed into the floor, is let
out of there slowly: 7 of 100 chains of such bodies hung in the floor for good at 60 Hz (measured).
"""

from __future__ import annotations

import math

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import FLOATING, PRISMATIC, REVOLUTE, SPHERICAL
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.solver.last_step.energy_guard import (
    SLOW,
    kinetic_energy,
    scale_velocities,
    square_of_speed,
)
from gltf_bullet.solver.tree_dynamics import evaluate_tree
from gltf_bullet.transforms import FloatArray, IntArray

THROWN = 4.0
"""Times the speed that any body had before, has afterwards, or what it hits, from which on a step
was none."""

PATIENCE = 3.0
"""Steps in a row that are taken back whole."""
REST = 5.0
"""[m/s] What is left of the fastest body's speed then, at most, where they are to go on."""
CREEP = 2.0
"""[m/s] As fast as that the fastest body goes afterwards, the way that the engine throws it."""


@kernel
def fastest_body(ints: IntArray, floats: FloatArray, work: FloatArray, a: int) -> float:
    """Speed of the fastest centre of mass, as the articulation moves now [m/s]."""
    return math.sqrt(square_of_speed(ints, floats, work, a, ints[a + arena.TWIST], 0.0))


@kernel
def is_thrown(ints: IntArray, floats: FloatArray, work: FloatArray, a: int, fastest: float) -> bool:
    """Whether a step made a body as ``fastest`` as that [m/s], of which too much was taken back."""
    now = fastest_body(ints, floats, work, a)
    known = max(floats[ints[a + arena.FASTEST]], work[ints[a + arena.PUSHED_BY]])
    return bool(fastest > THROWN * max(SLOW, now, known))


@kernel
def undo_step(
    ints: IntArray, floats: FloatArray, work: FloatArray, a: int, energy: float, fastest: float
) -> None:
    """Put joints and bases back to where they were before the step, with the velocities of after.

    They hold no more than the ``energy`` of before [J]: weight has done nothing either. After
    PATIENCE such steps what rests goes a part of the way, on which a body became as ``fastest`` as
    that. What whirls stays: let out, it whirls on (measured: a limb at 24 m/s, then at 200).
    """
    undone = ints[a + arena.UNDONE]
    whole = kinetic_energy(ints, work, a)
    slower = math.sqrt(energy / whole) if whole > energy else 1.0
    rests = slower * fastest_body(ints, floats, work, a) < REST
    share = CREEP / fastest if rests and floats[undone] >= PATIENCE else 0.0
    floats[undone] += 1.0
    shift = ints[a + arena.LAST_STATE] - ints[a + arena.STATE]
    for f in range(ints[a + arena.FRAME_COUNT]):
        joint, size = ints[ints[a + arena.FRAME_JOINT] + f], 0
        if joint == REVOLUTE or joint == PRISMATIC:
            size = 1
        elif joint == SPHERICAL:
            size = 4
        elif joint == FLOATING:
            size = 7
        place = ints[ints[a + arena.FRAME_STATE] + f]
        for k in range(place, place + size):
            gone = share * (floats[k] - floats[k + shift]) if share > 0.0 else 0.0
            floats[k] = floats[k + shift] + gone  # of nothing, also where the engine is at infinity
        if size >= 4:
            _scale_to_one(floats, place + size - 4)
    evaluate_tree(ints, floats, work, a)
    now, ledger = kinetic_energy(ints, work, a), ints[a + arena.LAST_ENERGY]
    if now > energy:
        scale_velocities(ints, floats, work, a, math.sqrt(energy / now))
    floats[ledger] = min(now, energy)
    velocity, before = ints[a + arena.VELOCITY], ints[a + arena.LAST_VELOCITY]
    for i in range(ints[a + arena.DOF_COUNT]):
        floats[before + i] = work[velocity + i]


@kernel
def _scale_to_one(floats: FloatArray, place: int) -> None:
    """Make a rotation of four numbers that are nearly one."""
    square = 0.0
    for k in range(place, place + 4):
        square += floats[k] * floats[k]
    length = math.sqrt(square)
    for k in range(place, place + 4):
        floats[k] /= length
