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
MOST_STEPS = 16
"""Engine steps in a step at most."""
LASTING = 0.8
"""Share of what a step needed that the next one needs at least: impacts of many limbs, and springs
that they have pressed, take some steps."""


@kernel
def steps_needed(ints: IntArray, floats: FloatArray, dt: float) -> int:
    """Engine steps for a step of ``dt`` seconds of all articulations, whose state was read.

    What changed the velocities in the last step, as contacts and springs do, may do so again.
    """
    most = 1
    for k in range(ints[arena.ARTICULATIONS]):
        a = ints[ints[arena.RECORDS] + k]
        if ints[a + arena.ACTS] == 0:
            continue
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
                fastest = max(fastest, _fastest(floats, speeds + 7, lately, 3) / LARGEST_WAY)
                fastest = max(fastest, _fastest(floats, speeds + 10, lately + 3, 3) / LARGEST_TURN)
        needed = ints[a + arena.NEEDED]
        floats[needed] = max(dt * fastest, LASTING * floats[needed])
        if floats[needed] > 1.0:
            most = max(most, int(min(floats[needed], MOST_STEPS - 1.0)) + 1)
    return most


@kernel
def _fastest(floats: FloatArray, speeds: int, lately: int, count: int) -> float:
    """Of some velocities, with what they have changed by since the last step; they are noted."""
    fastest = 0.0
    for k in range(count):
        speed = floats[speeds + k]
        fastest = max(fastest, abs(speed) + abs(speed - floats[lately + k]))
        floats[lately + k] = speed
    return fastest
