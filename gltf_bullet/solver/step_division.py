"""Lengths of steps: of the user's step, of the engine steps it is divided into, and of the last one.

How many engine steps a step is made of follows from the file and the time step alone: see
``planning.step_division``. Here they are only told apart.
"""

from __future__ import annotations

from gltf_bullet.numba_aot import kernel
from gltf_bullet.solver.articulation_arrays import articulation_at, scene_at
from gltf_bullet.transforms import FloatArray, IntArray


@kernel
def whole_step(ints: IntArray, dt: float) -> float:
    """Seconds of the step that the coming engine step of ``dt`` seconds is part of."""
    scene = scene_at(ints, 0)
    return float(dt * max(scene.parts, 1))


@kernel
def last_engine_step(ints: IntArray, floats: FloatArray, dt: float) -> float:
    """Seconds of the last engine step, before one of ``dt`` seconds; as long, where none is known.

    PyBullet tells forces of contacts as impulse by *present* time step, whatever the step was that
    they acted in: where the user has changed the time step that is another one.
    """
    scene = scene_at(ints, 0)
    for k in range(scene.articulation_count):
        articulation = articulation_at(ints, ints[scene.articulations + k])
        if articulation.participation == 1 and floats[articulation.last_dt] > 0.0:
            return float(floats[articulation.last_dt])
    return dt
