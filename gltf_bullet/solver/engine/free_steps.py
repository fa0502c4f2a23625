"""Forces on free bodies before an engine step, and looks at them after it: one pass each."""

from __future__ import annotations

from gltf_bullet.numba_aot import IntTable, entry, ints_at, kernel
from gltf_bullet.solver.engine.calls import Engine, begin_call, engine_at
from gltf_bullet.solver.engine.free_loads import find_loads, remember_motion, repeat_loads
from gltf_bullet.solver.engine.free_motion import apply_forces, look_for_fast
from gltf_bullet.solver.scene_table import SCENE
from gltf_bullet.transforms import FloatArray


@kernel
def before_part(
    engine: Engine,
    client: int,
    values: FloatArray,
    part: int,
    parts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> bool:
    """Apply what bodies need in the coming engine step, the ``part``-th of a step's ``parts``.

    Returns False where the engine does not answer.
    """
    if part and not repeat_loads(engine, client, values):
        return False
    if not apply_forces(engine, client, values, dt, gx, gy, gz):
        return False
    return bool(remember_motion(engine, client, values, part, parts))


@kernel
def after_part(
    engine: Engine, client: int, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> int:
    """Find what others gave to bodies, and mark those that went far; how many, -1: no answer."""
    if not find_loads(engine, client, values, dt, gx, gy, gz):
        return -1
    return int(look_for_fast(engine, client, values, dt, gx, gy, gz))


@entry
def before_free(
    scenes: IntTable,
    values: FloatArray,
    part: int,
    parts: int,
    dt: float,
    gx: float,
    gy: float,
    gz: float,
) -> int:
    """Read free bodies and apply what they need in the coming engine step.

    Args:
        scenes: A row of the world, for its engine: see ``scene_table.row_of``.
        values: HEADER.size numbers, then FREE.size of each body.
        part: Number of the engine step in its step, from 0 on.
        parts: Number of engine steps in that step.
        dt: Length of the engine step [s].
        gx: Gravity of the engine [m/s^2], world axes.
        gy: Likewise.
        gz: Likewise.

    Returns:
        -1 if the engine does not answer.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = begin_call(engine)
    if client == 0 or not before_part(engine, client, values, part, parts, dt, gx, gy, gz):
        return -1
    return 0


@entry
def after_free(
    scenes: IntTable, values: FloatArray, dt: float, gx: float, gy: float, gz: float
) -> int:
    """Find what others gave to free bodies, and mark those that may have passed something.

    As :func:`before_free`.

    Returns:
        How many, -1 if the engine does not answer.
    """
    engine = engine_at(ints_at(scenes, 0, SCENE.engine), 0)
    client = begin_call(engine)
    return -1 if client == 0 else int(after_part(engine, client, values, dt, gx, gy, gz))
