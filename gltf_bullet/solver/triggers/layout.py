"""Where everything of a scene's triggers stands in the arrays that their kernel works on.

Integers begin with a header of the slots below; each holds a count, or the offset of a table. A
*frame* is what colliders or volumes are placed in: a body, or a node without one; those of
colliders come first, then one for each volume. Affine transforms are 12 numbers: a matrix [3, 3]
and a translation.
"""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["allocate", "allocate_pairs"]

# --- header ---------------------------------------------------------------------------------------

COLLIDER_FRAMES = 0
"""Count."""
FRAMES = 1
"""Count of all."""
COLLIDERS = 2
VOLUMES = 3
FILTERS = 4
"""Count of the colliders' collision filters."""
FRAME_SOURCE = 5
"""[frames, SOURCE_SIZE], ints, fields below."""
COLLIDER_PLACE = 6
"""[colliders, PLACE_SIZE], ints."""
VOLUME_PLACE = 7
"""[volumes, PLACE_SIZE], ints."""
ADMITS = 8
"""[volume filters, filters], ints: whether a volume with the first senses a collider with the
second."""
FREE_POSE = 9
"""[free bodies, 7], floats: position and rotation xyzw of inertial frames, filled in for a step."""
FRAME = 10
"""[frames, FRAME_SIZE], floats."""
COLLIDER = 11
"""[colliders, COLLIDER_SIZE], floats."""
VOLUME = 12
"""[volumes, VOLUME_SIZE], floats."""
JOINTED = 13
"""Switch: whether any frame is that of a jointed body."""
VOLUMES_MOVE = 14
"""Switch: whether any volume moved in the step; found by the kernel."""
FAST = 15
"""Count of colliders' frames that moved by more than a part of what they carry; likewise."""
SCRATCH = 16
"""[9], floats."""
HEADER_SIZE = 17

# --- fields of a frame ----------------------------------------------------------------------------

SOURCE_KIND = 0
"""One of the four below."""
SOURCE_FIRST = 1
SOURCE_SECOND = 2
SOURCE_SIZE = 3

RESTS = 0
"""It never moves."""
FREE = 1
"""It moves with the free body of number FIRST."""
LINK = 2
"""It moves with frame SECOND of the articulation with record FIRST."""
GIVEN = 3
"""Its transform is filled in before each step."""

FRAME_LOCAL = 0
"""[12] in what it moves with, or where it is given."""
FRAME_NOW = 12
"""[12] in the world after the step."""
FRAME_BEFORE = 24
"""[12] in the world before the step."""
FRAME_THINNEST = 36
"""[m], the smallest thickness of the colliders that it carries."""
FRAME_SPEED = 37
"""[m/s] in the step."""
FRAME_SIZE = 38

# --- fields of colliders and volumes --------------------------------------------------------------

PLACE_FRAME = 0
PLACE_FILTER = 1
PLACE_KIND = 2
"""BOX, BALL, PLANE or another."""
PLACE_OWNER = 3
"""Motion node of a collider; the first one that a volume does not sense, -2 for none."""
PLACE_SECOND_OWNER = 4
PLACE_SIZE = 5

OTHER = 0
BOX = 1
BALL = 2
PLANE = 3

PART_CENTER = 0
"""[3] of the bounding box in the frame."""
PART_HALVES = 3
"""[3], half extents of that box [m]."""
PART_AXES = 6
"""[3, 3], its axes as columns, in the frame."""
PART_INNER = 15
"""Radius of a ball about the centre that the shape holds for certain [m], 0 if unknown."""
PART_OUTER = 16
"""Radius of a ball about the centre that holds the shape [m]."""
PART_THICKNESS = 17
"""[m]"""
PART_NOW = 18
"""[3], the centre in the world after the step. From here on the kernel fills in."""
PART_BEFORE = 21
"""[3], before it."""
COLLIDER_SIZE = 24
PART_WORLD_AXES = 24
"""[3, 3] after the step, of volumes only."""
PART_LOW = 33
"""[3], corner of a box along the world's axes that holds the volume all through the step."""
PART_HIGH = 36
VOLUME_SIZE = 39

# --- pairs that were found ------------------------------------------------------------------------

PAIR_VOLUME = 0
PAIR_COLLIDER = 1
PAIR_STATE = 2
"""Sum of those below."""
PAIR_SIZE = 3

TOUCHES = 1
UNSURE = 2
"""Balls and boxes cannot tell whether they overlap now."""
PASSES = 4
"""They move far enough past each other to have met in between."""

# --- stages of ``watch`` ---

FOLLOW = 1
"""Place all frames as they are after the step."""
FIND = 2
"""List the pairs that may have met in the step."""


def allocate(
    collider_frames: int, colliders: int, volumes: int, free_bodies: int, admits: IntArray
) -> tuple[IntArray, FloatArray]:
    """Empty arrays; ``admits`` as ADMITS."""
    frames = collider_frames + volumes
    header = np.zeros(HEADER_SIZE, dtype=np.int64)
    header[COLLIDER_FRAMES], header[FRAMES] = collider_frames, frames
    header[COLLIDERS], header[VOLUMES], header[FILTERS] = colliders, volumes, admits.shape[1]
    at = HEADER_SIZE
    for slot, size in (
        (FRAME_SOURCE, SOURCE_SIZE * frames),
        (COLLIDER_PLACE, PLACE_SIZE * colliders),
        (VOLUME_PLACE, PLACE_SIZE * volumes),
        (ADMITS, admits.size),
    ):
        header[slot], at = at, at + size
    table = np.zeros(at, dtype=np.int64)
    table[:HEADER_SIZE] = header
    table[at - admits.size :] = admits.ravel()
    at = 0
    for slot, size in (
        (FREE_POSE, 7 * free_bodies),
        (FRAME, FRAME_SIZE * frames),
        (COLLIDER, COLLIDER_SIZE * colliders),
        (VOLUME, VOLUME_SIZE * volumes),
        (SCRATCH, 9),
    ):
        table[slot], at = at, at + size
    return table, np.zeros(at)


def allocate_pairs(count: int) -> IntArray:
    """Room for some pairs."""
    return np.zeros(PAIR_SIZE * count, dtype=np.int64)
