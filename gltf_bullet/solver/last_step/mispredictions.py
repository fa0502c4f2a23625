"""Steps that went otherwise than their solve foresaw: contacts came out otherwise."""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import Articulation
from gltf_bullet.transforms import FloatArray

MISS = 0.1
"""[m/s, rad/s] and share of a velocity, by which a step may end otherwise than its solve foresaw
and still be trusted."""

MOTOR_MISS = 2.0
"""The same, beyond which the engine's velocity motors take the place of torques. With less, an arm
that carries a load at its stop goes to and fro between the two (measured at 0.1)."""


@kernel
def notice_misses(floats: FloatArray, work: FloatArray, articulation: Articulation) -> None:
    """Notice where the last step went otherwise than foreseen."""
    n, last_dt = articulation.dof_count, floats[articulation.last_dt]
    velocity, expected = articulation.velocity, articulation.expected_velocity
    articulation.mispredicted, articulation.uses_motors = 0, 0
    if last_dt > 0.0:
        for i in range(n):
            speed = abs(work[velocity + i])
            miss = abs(work[velocity + i] - floats[expected + i])
            if not miss <= MISS * (1.0 + speed):
                articulation.mispredicted = 1
            if not miss <= MOTOR_MISS * (1.0 + speed):
                articulation.uses_motors = 1
