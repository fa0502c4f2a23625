"""Where everything stands in the two arrays of a step's islands: integers and floats.

Blocks are articulations and free bodies; rows act between one or two of them. The kernels of
``island`` fill the arrays, ``newton`` solves them.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.numba_aot import IntTable, addresses
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["allocate"]

# --- header slots: counts -------------------------------------------------------------------------

BLOCKS = 0
ROWS = 1
CONTACTS = 2
FREE_BODIES = 3
VELOCITIES = 4
"""Of all blocks."""
TOP = 5
"""First float that is not in use."""
CAPACITY = 6
"""Of the floats."""
NEEDED = 7
"""Floats that the last call would have needed, 0 where it got along."""
ITERATIONS = 8
"""The most that an island took."""
UNCONVERGED = 9
"""Islands that did not get to an end."""
FIRST = 40
"""First float behind the tables."""

# --- header slots: tables of integers -------------------------------------------------------------

BLOCK_SIZE = 10
"""[blocks]"""
BLOCK_MASS = 11
"""[blocks], floats [n, n]."""
BLOCK_PLACE = 12
"""[blocks], first of its velocities."""
BLOCK_LABEL = 13
"""[blocks], some block of the same island."""
ROW_FIRST = 14
"""[rows], block."""
ROW_FIRST_JACOBIAN = 15
"""[rows], floats [n]."""
ROW_SECOND = 16
"""[rows], block or -1."""
ROW_SECOND_JACOBIAN = 17
ROW_UNIT = 18
"""[rows], the one velocity that a row watches with factor 1, or -1."""
ROW_SOURCE = 19
"""[rows], number among the rows of the articulation; of a contact CONTACT_SOURCE + its number; of a
cut constraint -1 - (6 times its number + k)."""
ROW_SIDE = 20
"""[rows], -1: clipped at the lower bound, 0: in between, 1: at the upper one."""
ROW_CROSSING = 37
"""[rows], scratch: those that change sides on the way of a search."""
CONTACT_SIDES = 21
"""[contacts, 2, SIDE_SIZE], fields below."""
FREE_BLOCK = 22
"""[free bodies], block or -1."""
SYMBOLIC = 23
"""Scratch of the elimination: four lists [blocks], a table [blocks, blocks], a list of its size."""
INDEX_END = 24

# --- header slots: tables of floats ---------------------------------------------------------------

FREE = 25
"""[free bodies, FREE_SIZE], fields below."""
CONTACT = 26
"""[contacts, CONTACT_SIZE], fields below."""
ROW_TARGET = 27
ROW_SOFTNESS = 28
ROW_LOW = 29
ROW_HIGH = 30
ROW_IMPULSE = 31
ROW_SPEED = 32
ROW_STEP = 33
V_FREE = 34
"""[velocities]"""
V_NOW = 35
V = 36
"""Iterate; the result."""
RIGHT = 38
MOMENTUM = 39
"""M v_free."""
UNCONVERGED_LABEL = 41
"""BLOCK_LABEL of one of the UNCONVERGED islands."""
RELIEVED = 42
"""Whether limits ask for less than when the islands were solved."""
HEADER_SIZE = 43

# --- fields of a contact's side -------------------------------------------------------------------

SIDE_ARENA = 0
"""Number of the arena, -1 for a free body."""
SIDE_RECORD = 1
"""Offset of the articulation's record, or number of the free body."""
SIDE_FRAME = 2
SIDE_BLOCK = 3
"""Block or -1; found by the kernels."""
SIDE_JACOBIAN = 4
"""Floats [3, n]."""
SIDE_SIZE = 5

# --- fields of a contact --------------------------------------------------------------------------

CONTACT_POSITION = 0
"""[3] on the first body; the kernels put the middle there."""
CONTACT_OTHER = 3
"""[3] on the second body; likewise."""
CONTACT_DIRECTIONS = 6
"""[3, 3], unit vectors: the normal, from the second body to the first, and two tangents."""
CONTACT_DISTANCE = 15
"""[m] at the last collision detection, negative inside."""
CONTACT_FORCES = 16
"""[3], along the directions in the last step [N]."""
CONTACT_FRICTION = 19
CONTACT_RATE = 20
"""[3], now [m/s]. From here on the kernels fill in."""
CONTACT_DRIFT = 23
"""[3], the prescribed part of it."""
CONTACT_COMPLIANCE = 26
"""[3], J M^-1 J^T."""
CONTACT_SIZE = 29

# --- fields of a free body ------------------------------------------------------------------------

FREE_COM = 0
FREE_ROTATION = 3
"""Quaternion xyzw, world from principal axes."""
FREE_MASS = 7
"""0 for one that moves by itself."""
FREE_MOMENTS = 8
FREE_VELOCITY = 11
"""[6], linear and angular, now."""
FREE_GAIN = 17
"""[6], what known forces add to the velocity within the step."""
FREE_INERTIA = 23
"""[3, 3], world axes. From here on the kernels fill in."""
FREE_TURN = 32
"""[3, 3]"""
FREE_SIZE = 41

CONTACT_SOURCE = 1 << 40
"""Rows from this number on belong to contacts."""
HELD_SOURCE = 1 << 41
"""Rows from this number on belong to points that somebody else's constraint holds together."""
HELD = 1e6
"""Such a point stands among the contacts with -(HELD + largest force [N]) for its distance, and for
its forces the gap [m] between the point on the first body and that on the second."""


LEAST_MOMENT = 1e-12
"""[kg m^2] Of a free body: one that cannot be turned by a force has no moment at all."""


# --- stages of ``prepare`` and of ``solve``; what they say: ``outcomes`` --------------------------

PREPARE = 1
"""State the rows of all articulations of the arena that take part in the step."""
EVALUATE = 3
"""Poses, velocities, mass matrix and row values of the articulation ``number``."""
HEAR = 5
"""Let the memory hold what the engine tells of motors, for a snapshot."""
DIVIDE = 7
"""Say how many engine steps the coming step needs: see ``step_division``."""
CLOSE = 4
"""Close the loops that the step which was just made has left open"""

OPEN = 1
"""Begin the islands of the step with the contacts and free bodies that were filled in."""
GATHER = 2
"""Add the articulations of the arena, with their rows and their sides of contacts."""
SOLVE = 4
"""Solve what was gathered."""
RELIEVE = 16
"""After the solve, of every arena that takes part: let limits that would pay energy ask less."""
FINISH = 8
"""Bring the results back to the arena; before the first does, what was relieved is solved anew."""


# --- columns of the table of scenes ---------------------------------------------------------------

INTS = 0
"""Address and length of the arena's integers, as of the arrays below."""
FLOATS = 2
WORK = 4
INDEX = 6
"""Of the islands' integers."""
VALUES = 8
ENGINE = 10
"""Of the integers that say how the engine is called, without any where Python calls it."""
PLAN = 12
"""Of those that say what is read and told of a scene."""
LEASE = 14
"""Of those that tell a scene's bodies from others with the same ids."""
TOUCH = 16
"""Of the integers that remember who touches whom."""
TOUCH_VALUES = 18
"""Of the floats that do."""
STATUS = 20
"""What became of the solve."""
TOUCHING = 21
"""How many contacts were filled in by a kernel, -1 where only Python can."""

SENSE = 22
"""Of the integers that say who watches the step: see ``engine.sensing``."""
PAIRS = 24
"""How many pairs the triggers of a scene have found, where they were asked."""
STEPS = 25
"""How many steps are to be made at once, and were."""
PARTS = 26
"""How many engine steps the coming step needs, where it needs several."""
ROW_WIDTH = 27

_NO_INTS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FLOATS: FloatArray = np.zeros(0)


def row_of(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    index: IntArray = _NO_INTS,
    values: FloatArray = _NO_FLOATS,
    engine: tuple[IntArray, IntArray, IntArray] = (_NO_INTS, _NO_INTS, _NO_INTS),
    touch: tuple[IntArray, FloatArray] = (_NO_INTS, _NO_FLOATS),
    sense: IntArray = _NO_INTS,
) -> IntTable:
    """A table of one scene for the kernels, shape [1, ROW_WIDTH]; others can be put below.

    It holds addresses: whoever keeps it keeps the arrays as well.
    """
    arena, islands = addresses(ints, floats, work), addresses(index, values)
    known = [*addresses(*engine), *addresses(*touch)]
    return np.array([[*arena, *islands, *known, 0, 0, *addresses(sense), 0, 0, 1]], dtype=np.int64)


def allocate(
    blocks: int, rows: int, contacts: int, free_bodies: int, velocities: int, floats: int
) -> tuple[IntArray, FloatArray]:
    """Empty arrays of a capacity; ``floats`` is the room for matrices beside the tables."""
    index_sizes = {
        BLOCK_SIZE: blocks,
        BLOCK_MASS: blocks,
        BLOCK_PLACE: blocks,
        BLOCK_LABEL: blocks,
        ROW_FIRST: rows,
        ROW_FIRST_JACOBIAN: rows,
        ROW_SECOND: rows,
        ROW_SECOND_JACOBIAN: rows,
        ROW_UNIT: rows,
        ROW_SOURCE: rows,
        ROW_SIDE: rows,
        ROW_CROSSING: rows,
        CONTACT_SIDES: 2 * SIDE_SIZE * contacts,
        FREE_BLOCK: free_bodies,
        SYMBOLIC: 10 * blocks + rows + 2 * blocks * blocks,
    }
    float_sizes = {
        FREE: FREE_SIZE * free_bodies,
        CONTACT: CONTACT_SIZE * contacts,
        **dict.fromkeys(
            (
                ROW_TARGET,
                ROW_SOFTNESS,
                ROW_LOW,
                ROW_HIGH,
                ROW_IMPULSE,
                ROW_SPEED,
                ROW_STEP,
            ),
            rows,
        ),
        **dict.fromkeys((V_FREE, V_NOW, V, RIGHT, MOMENTUM), velocities),
    }
    header = np.zeros(HEADER_SIZE, dtype=np.int64)
    at = HEADER_SIZE
    for slot, size in index_sizes.items():
        header[slot], at = at, at + size
    index = np.zeros(at, dtype=np.int64)
    header[INDEX_END] = at
    at = 0
    for slot, size in float_sizes.items():
        header[slot], at = at, at + size
    header[FIRST], header[TOP], header[CAPACITY] = at, at, at + floats
    index[:HEADER_SIZE] = header
    return index, np.zeros(at + floats)
