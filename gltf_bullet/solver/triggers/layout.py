"""The arrays of the triggers' kernel: integers, with :class:`Triggers` first, and floats.

A *frame* is what colliders or volumes are placed in: a body, or a node without one; those of
colliders come first, then one for each volume. Affine transforms are 12 numbers: a matrix [3, 3]
and a translation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.numba_aot import FloatTable, IntTable, array, record, record_reader
from gltf_bullet.solver.tables import FLOATS, INTS, Column, Packed, count, offsets, pack, table
from gltf_bullet.transforms import FloatArray, IntArray

# --- rows of tables -------------------------------------------------------------------------------


class _Source(NamedTuple):
    """The carrier of a frame."""

    kind: int = 1
    """RESTS, FREE, LINK or GIVEN."""
    first: int = 1
    second: int = 1
    size: int = 0


RESTS = 0
"""The frame never moves."""
FREE = 1
"""The frame moves with the free body of number ``first``."""
LINK = 2
"""The frame moves with frame ``second`` of the articulation whose record is at ``first``."""
GIVEN = 3
"""The frame's transform is filled in before each step."""


class _Frame(NamedTuple):
    """Transforms of a frame, and what they were found to be."""

    local: int = 12
    """Transform in its carrier; of GIVEN frames in the world."""
    now: int = 12
    """Transform in the world after the step."""
    before: int = 12
    """Transform in the world before the step."""
    thinnest: int = 1
    """Smallest thickness of the colliders that it carries [m]."""
    widest: int = 1
    """Radius of a ball that holds the widest of them [m]."""
    speed: int = 1
    """Speed in the step [m/s]."""
    size: int = 0


class _Place(NamedTuple):
    """A collider or a volume."""

    frame: int = 1
    filter: int = 1
    kind: int = 1
    """BOX, BALL, PLANE or OTHER."""
    owner: int = 1
    """Motion node of a collider; the first node that a volume does not sense, -2 for none."""
    second_owner: int = 1
    """The second node that a volume does not sense."""
    size: int = 0


OTHER = 0
BOX = 1
BALL = 2
PLANE = 3


class _Part(NamedTuple):
    """The extent of a collider, which ends before ``world_axes``, or of a volume."""

    center: int = 3
    """Centre of the bounding box in the frame."""
    halves: int = 3
    """Half extents of that box [m]."""
    axes: int = 9
    """[3, 3], its axes as columns, in the frame."""
    inner: int = 1
    """Radius of a ball about the centre that the shape holds for certain [m], 0 if unknown."""
    outer: int = 1
    """Radius of a ball about the centre that holds the shape [m]."""
    thickness: int = 1
    """Smallest extent of the box [m]."""
    now: int = 3
    """The centre in the world after the step. The kernel fills in this part and those below."""
    before: int = 3
    """The centre before the step."""
    world_axes: int = 9
    """[3, 3] after the step."""
    low: int = 3
    """Corner of a box along the world's axes that holds the volume all through the step."""
    high: int = 3
    size: int = 0


class _Pair(NamedTuple):
    """A pair that was found."""

    volume: int = 1
    collider: int = 1
    state: int = 1
    """Sum of TOUCHES, UNSURE and PASSES."""
    size: int = 0


TOUCHES = 1
UNSURE = 2
"""Balls and boxes do not tell whether the two overlap now."""
PASSES = 4
"""The two move far enough past each other to have met in between."""

SOURCE, FRAME, PLACE = offsets(_Source), offsets(_Frame), offsets(_Place)
PART, PAIR = offsets(_Part), offsets(_Pair)
COLLIDER_SIZE = PART.world_axes
"""Floats of a collider's extent."""

# --- the record -----------------------------------------------------------------------------------


@record
class Triggers:
    """All triggers of a scene, and all colliders that they may sense."""

    ints: IntArray = array()
    floats: FloatArray = array()

    frame_count: int = count("f")
    """Count of all frames."""
    collider_count: int = count("c")
    volume_count: int = count("v")
    filter_count: int = count("colliders' filters")
    volume_filter_count: int = count("volumes' filters")
    free_count: int = count("free")
    """Count of the free bodies that carry a frame."""
    collider_frame_count: int
    is_jointed: int
    """1 if any frame is that of a jointed body."""
    volumes_move: int
    """1 if any volume moved in the step; found by the kernel."""
    fast_count: int
    """Count of the colliders' frames that moved by a good part of what they carry; likewise."""
    remembers: int
    """1 if there are the tables of what is known of pairs."""
    is_known: int
    """1 if they say who is inside; else all that are near are listed."""
    frame_source: IntTable = table(INTS, "f", SOURCE.size)
    collider_place: IntTable = table(INTS, "c", PLACE.size)
    volume_place: IntTable = table(INTS, "v", PLACE.size)
    admits: IntTable = table(INTS, "volumes' filters", "colliders' filters")
    """1 if a volume with the first filter senses a collider with the second."""
    known: IntArray = table(INTS, "pairs")
    """Of each pair, by volume, then collider: a sum of INSIDE and TOUCHED."""
    margin: FloatArray = table(FLOATS, "pairs")
    """[m] By which two parts may move before the engine has to be asked again."""
    free_pose: FloatTable = table(FLOATS, "free", 7)
    """Position and rotation xyzw of the inertial frames of free bodies, filled in for a step."""
    frame: FloatTable = table(FLOATS, "f", FRAME.size)
    collider: FloatTable = table(FLOATS, "c", COLLIDER_SIZE)
    volume: FloatTable = table(FLOATS, "v", PART.size)
    scratch: FloatArray = table(FLOATS, 9)


triggers_at = record_reader(Triggers)

JUMP = 2.0
"""Ratio of displacement to that of the velocities, above which a body was put where it is."""
INSIDE = 1
"""The collider counts as inside of the volume since the last step."""
TOUCHED = 2
"""The two overlapped when the engine was asked last."""
_MOST_KNOWN = 1 << 16
"""Pairs above which none are remembered: Python looks at those inside after each step."""

# --- stages of ``watch`` ---

FOLLOW = 1
"""Place all frames as they are after the step."""
FIND = 2
"""List the pairs that may have met in the step."""


def allocate(
    collider_frames: int, colliders: int, volumes: int, free_bodies: int, admits: IntArray
) -> tuple[IntArray, FloatArray, Packed]:
    """Empty arrays, and where their tables are; ``admits`` as in :class:`Triggers`."""
    columns = {INTS: Column(np.int64), FLOATS: Column(np.float64)}
    counts = {"f": collider_frames + volumes, "c": colliders, "v": volumes, "free": free_bodies}
    counts["volumes' filters"], counts["colliders' filters"] = admits.shape
    remembers = colliders * volumes <= _MOST_KNOWN
    counts["pairs"] = colliders * volumes if remembers else 0
    given = {
        "collider_frame_count": collider_frames, "admits": admits, "remembers": int(remembers)
    }  # fmt: skip
    packed = pack(Triggers, columns, counts, given)
    return columns[INTS].made(), columns[FLOATS].made(), packed


def allocate_pairs(number: int) -> IntArray:
    """Room for some pairs."""
    return np.zeros(PAIR.size * number, dtype=np.int64)
