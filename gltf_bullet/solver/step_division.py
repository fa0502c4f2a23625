"""How many engine steps a step is made of: before it, it is known how far things can go in it.

Forces are found for a step as if joints turned little in it. Where they do not, limits are passed,
momentum is lost and energy comes from nowhere, all in proportion to the step; finer steps mend it,
and nothing as simple (measured: a doll whose limb a cone flings lost 17 % of its momentum at 240
Hz, 4 % at 960; ragdolls dropped in pairs at 60 Hz gained half their energy).
"""

from __future__ import annotations

from gltf_bullet.solver import arena
from gltf_bullet.solver.arena import FLOATING, PRISMATIC, REVOLUTE, SPHERICAL
from gltf_bullet.solver.compiling import kernel
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["MOST_STEPS", "steps_needed"]

LARGEST_TURN = 0.15
"""[rad] of a joint within one engine step."""
LARGEST_WAY = 0.03
"""[m] of a joint or a floating base within one engine step."""
MOST_STEPS = 8
"""Engine steps in a step at most."""


@kernel
def _largest(floats: FloatArray, start: int, count: int) -> float:
    largest = 0.0
    for k in range(start, start + count):
        largest = max(largest, abs(floats[k]))
    return largest


@kernel
def steps_needed(ints: IntArray, floats: FloatArray, dt: float) -> int:
    """Engine steps for a step of ``dt`` seconds of all articulations, whose state was read."""
    most = 0.0
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] == 0:
            continue
        for f in range(ints[a + arena.FRAME_COUNT]):
            joint = ints[ints[a + arena.FRAME_JOINT] + f]
            state = ints[ints[a + arena.FRAME_STATE] + f]
            if joint == REVOLUTE:
                most = max(most, abs(floats[state + 1]) / LARGEST_TURN)
            elif joint == PRISMATIC:
                most = max(most, abs(floats[state + 1]) / LARGEST_WAY)
            elif joint == SPHERICAL:
                most = max(most, _largest(floats, state + 4, 3) / LARGEST_TURN)
            elif joint == FLOATING:
                most = max(most, _largest(floats, state + 7, 3) / LARGEST_WAY)
    needed = most * dt
    if not needed > 1.0:
        return 1
    return int(min(needed, MOST_STEPS - 1.0)) + 1
