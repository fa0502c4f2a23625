"""The table by which the kernels of a step find all arrays of a scene, and the stages of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import IntTable, addresses, floats_at, ints_at, kernel
from gltf_bullet.solver.articulation_arrays import SceneHeader, scene_at
from gltf_bullet.solver.islands import Islands, islands_at
from gltf_bullet.solver.tables import offsets
from gltf_bullet.transforms import FloatArray, IntArray

# --- stages of ``prepare`` and of ``solve``; their results: ``outcomes`` --------------------------

PREPARE_ROWS = 1
"""Set up the rows of all articulations of the scene that take part in the step."""
PREPARE_SNAPSHOT = 5
"""Read the motor forces into the memory, for a snapshot."""
PREPARE_LOOPS = 4
"""Close the loops that the last step has left open."""

SOLVE_OPEN = 1
"""Begin the islands of the step with the contacts and free bodies that were filled in."""
SOLVE_GATHER = 2
"""Add the articulations of the scene, with their rows and their sides of contacts."""
SOLVE_ISLANDS = 4
"""Solve what was gathered."""
SOLVE_REDUCE_TARGETS = 16
"""After the solve, of every scene that takes part: reduce targets of limits that add energy."""
SOLVE_FINISH = 8
"""Bring the results back to the scene; if targets were reduced, solve anew before the first."""
SOLVE_ALL = SOLVE_OPEN | SOLVE_GATHER | SOLVE_ISLANDS | SOLVE_REDUCE_TARGETS | SOLVE_FINISH


# --- the table of scenes --------------------------------------------------------------------------


class _SceneColumns(NamedTuple):
    """Columns of the table of scenes; of each array the address, then the length."""

    ints: int = 2
    """Integers of the articulations."""
    floats: int = 2
    work: int = 2
    island_ints: int = 2
    island_floats: int = 2
    engine: int = 2
    """Integers by which the engine is called, empty where Python calls it."""
    plan: int = 2
    """Integers that say what is read of a scene and applied to it."""
    ownership: int = 2
    """Integers that tell a scene's bodies from others with the same ids."""
    contacts: int = 2
    """Integers of the memory of contacts: see ``engine.contact_reading``."""
    status: int = 1
    """Outcome of the solve."""
    touching: int = 1
    """Count of the contacts that a kernel filled in, -1 if only Python can."""
    sense: int = 2
    """Integers of the triggers that watch the step: see ``engine.stepping``."""
    pairs: int = 1
    """Count of the pairs that the triggers of a scene have found."""
    free: int = 2
    """Floats of the free bodies: see ``engine.free_motion``."""
    slip: int = 2
    """Floats of the bodies whose friction follows their slip: see ``engine.slip``."""
    anchors: int = 2
    """Floats of the kinematic bodies that joints are attached to: see ``engine.kinematic_bodies``.
    """
    pressed: int = 2
    """Floats of the bodies that kinematic ones may press: see there."""
    steps: int = 1
    """Count of the steps to be made at once, then of those that were made."""
    parts: int = 1
    """Count of the engine steps that each step is made of."""
    part: int = 1
    """Count of the engine steps that were made of an unfinished step."""
    size: int = 0


SCENE = offsets(_SceneColumns)

_NO_INTS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FLOATS: FloatArray = np.zeros(0)


@kernel
def scene_of(scenes: IntTable, row: int) -> SceneHeader:
    """The scene of a row."""
    ints, floats = ints_at(scenes, row, SCENE.ints), floats_at(scenes, row, SCENE.floats)
    return scene_at(ints, floats, floats_at(scenes, row, SCENE.work), 0)


@kernel
def islands_of(scenes: IntTable, row: int) -> Islands:
    """The islands that the scene of a row is solved in."""
    ints = ints_at(scenes, row, SCENE.island_ints)
    return islands_at(ints, floats_at(scenes, row, SCENE.island_floats), 0)


def row_of(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray = _NO_INTS,
    values: FloatArray = _NO_FLOATS,
    engine: tuple[IntArray, IntArray, IntArray] = (_NO_INTS, _NO_INTS, _NO_INTS),
    contacts: IntArray = _NO_INTS,
    sense: IntArray = _NO_INTS,
    free: FloatArray = _NO_FLOATS,
    slip: FloatArray = _NO_FLOATS,
    anchors: FloatArray = _NO_FLOATS,
    pressed: FloatArray = _NO_FLOATS,
) -> IntTable:
    """A table of one scene for the kernels, shape [1, SCENE.size]; others can be put below.

    It holds addresses: whoever keeps it keeps the arrays as well.
    """
    arrays = addresses(ints, floats, work, index, values, *engine, contacts)
    looks = addresses(free, slip, anchors, pressed)
    return np.array([[*arrays, 0, 0, *addresses(sense), 0, *looks, 0, 1, 0]], dtype=np.int64)
