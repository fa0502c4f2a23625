"""The kernel that follows the frames of triggers and colliders and finds who is near whom."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import entry, kernel
from gltf_bullet.solver import arena
from gltf_bullet.solver.tree_kinematics import multiply, place_frames, rotation_from_quat
from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.boxes import boxes_overlap, distance_to_box
from gltf_bullet.solver.triggers.layout import FIND, FOLLOW
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["FAST_SHARE", "FIND", "FOLLOW", "watch"]

FAST_SHARE = 0.5
"""A collider is looked for on its way when it moves further than this part of both thicknesses."""


@kernel
def _follow_frame(
    ints: IntArray, work: FloatArray, table: IntArray, numbers: FloatArray, f: int
) -> None:
    """Where a frame is now; where it was is kept."""
    source = table[layout.FRAME_SOURCE] + layout.SOURCE_SIZE * f
    kind, first = table[source + layout.SOURCE_KIND], table[source + layout.SOURCE_FIRST]
    frame = table[layout.FRAME] + layout.FRAME_SIZE * f
    now, local = frame + layout.FRAME_NOW, frame + layout.FRAME_LOCAL
    for k in range(12):
        numbers[frame + layout.FRAME_BEFORE + k] = numbers[now + k]
    if kind == layout.GIVEN:
        for k in range(12):
            numbers[now + k] = numbers[local + k]
    elif kind == layout.FREE:
        pose = table[layout.FREE_POSE] + 7 * first
        scratch = table[layout.SCRATCH]
        rotation_from_quat(numbers, pose + 3, numbers, scratch)
        _attach(numbers, scratch, numbers[pose], numbers[pose + 1], numbers[pose + 2], local, now)
    elif kind == layout.LINK:
        pose = ints[first + arena.POSE] + arena.POSE_SIZE * table[source + layout.SOURCE_SECOND]
        scratch, origin = table[layout.SCRATCH], pose + arena.POSE_ORIGIN
        reference = ints[first + arena.REFERENCE]
        for k in range(9):
            numbers[scratch + k] = work[pose + arena.POSE_ROTATION + k]
        _attach(
            numbers,
            scratch,
            work[origin] + work[reference],
            work[origin + 1] + work[reference + 1],
            work[origin + 2] + work[reference + 2],
            local,
            now,
        )


@kernel
def _attach(
    numbers: FloatArray, rotation: int, x: float, y: float, z: float, local: int, now: int
) -> None:
    """``now`` is the frame at x, y, z with that rotation, times the local one."""
    multiply(numbers, rotation, numbers, local, numbers, now)
    _apply(numbers, rotation, local + 9, now + 9)
    numbers[now + 9] += x
    numbers[now + 10] += y
    numbers[now + 11] += z


@kernel
def _apply(numbers: FloatArray, matrix: int, vector: int, target: int) -> None:
    """``target = matrix @ vector``."""
    for k in range(3):
        numbers[target + k] = (
            numbers[matrix + 3 * k] * numbers[vector]
            + numbers[matrix + 3 * k + 1] * numbers[vector + 1]
            + numbers[matrix + 3 * k + 2] * numbers[vector + 2]
        )


@kernel
def _apart(numbers: FloatArray, a: int, b: int) -> float:
    """Distance of two points."""
    x, y = numbers[a] - numbers[b], numbers[a + 1] - numbers[b + 1]
    z = numbers[a + 2] - numbers[b + 2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _follow(
    ints: IntArray, floats: FloatArray, work: FloatArray, table: IntArray, numbers: FloatArray
) -> None:
    """Place all frames; note which volumes moved and which frames of colliders are fast."""
    if table[layout.JOINTED]:
        for k in range(ints[arena.ARTICULATIONS]):
            place_frames(ints, floats, work, ints[ints[arena.RECORDS] + k])
    table[layout.VOLUMES_MOVE] = table[layout.FAST] = 0
    for f in range(table[layout.FRAMES]):
        _follow_frame(ints, work, table, numbers, f)
        frame = table[layout.FRAME] + layout.FRAME_SIZE * f
        now, before = frame + layout.FRAME_NOW, frame + layout.FRAME_BEFORE
        if f < table[layout.COLLIDER_FRAMES]:
            way = _apart(numbers, now + 9, before + 9)
            if way > FAST_SHARE * numbers[frame + layout.FRAME_THINNEST]:
                table[layout.FAST] += 1
        else:
            for k in range(12):
                if numbers[now + k] != numbers[before + k]:
                    table[layout.VOLUMES_MOVE] = 1


@kernel
def _place_parts(table: IntArray, numbers: FloatArray, dt: float) -> None:
    """Where colliders and volumes are now and were before, and how fast their frames are."""
    for f in range(table[layout.COLLIDER_FRAMES]):
        frame = table[layout.FRAME] + layout.FRAME_SIZE * f
        way = _apart(numbers, frame + layout.FRAME_NOW + 9, frame + layout.FRAME_BEFORE + 9)
        numbers[frame + layout.FRAME_SPEED] = way / dt
    for c in range(table[layout.COLLIDERS]):
        place = table[layout.COLLIDER_PLACE] + layout.PLACE_SIZE * c
        part = table[layout.COLLIDER] + layout.COLLIDER_SIZE * c
        _place_part(table, numbers, table[place + layout.PLACE_FRAME], part)
    for v in range(table[layout.VOLUMES]):
        part = table[layout.VOLUME] + layout.VOLUME_SIZE * v
        f = table[layout.COLLIDER_FRAMES] + v
        _place_part(table, numbers, f, part)
        frame = table[layout.FRAME] + layout.FRAME_SIZE * f
        low, high = part + layout.PART_LOW, part + layout.PART_HIGH
        axes = part + layout.PART_WORLD_AXES
        # The box before the step first, in place of that after it.
        for now in (layout.FRAME_BEFORE, layout.FRAME_NOW):
            center = part + (layout.PART_NOW if now == layout.FRAME_NOW else layout.PART_BEFORE)
            multiply(numbers, frame + now, numbers, part + layout.PART_AXES, numbers, axes)
            for k in range(3):
                reach = 0.0
                for m in range(3):
                    reach += abs(numbers[axes + 3 * k + m]) * numbers[part + layout.PART_HALVES + m]
                least, most = numbers[center + k] - reach, numbers[center + k] + reach
                if now == layout.FRAME_NOW:
                    least = min(least, numbers[low + k])
                    most = max(most, numbers[high + k])
                numbers[low + k], numbers[high + k] = least, most


@kernel
def _place_part(table: IntArray, numbers: FloatArray, f: int, part: int) -> None:
    frame = table[layout.FRAME] + layout.FRAME_SIZE * f
    for k in range(2):
        origin = frame + (layout.FRAME_BEFORE if k else layout.FRAME_NOW)
        center = part + (layout.PART_BEFORE if k else layout.PART_NOW)
        _apply(numbers, origin, part + layout.PART_CENTER, center)
        for m in range(3):
            numbers[center + m] += numbers[origin + 9 + m]


@kernel
def _is_near(numbers: FloatArray, volume: int, collider: int) -> bool:
    """Whether boxes around two parts met at any time in the step."""
    reach = numbers[collider + layout.PART_OUTER]
    for k in range(3):
        now = numbers[collider + layout.PART_NOW + k]
        before = numbers[collider + layout.PART_BEFORE + k]
        if max(now, before) + reach < numbers[volume + layout.PART_LOW + k]:
            return False
        if min(now, before) - reach > numbers[volume + layout.PART_HIGH + k]:
            return False
    return True


@kernel
def _state(table: IntArray, numbers: FloatArray, v: int, c: int) -> int:
    """Whether a near pair overlaps now, as far as balls and boxes tell, or may have met before."""
    volume = table[layout.VOLUME] + layout.VOLUME_SIZE * v
    collider = table[layout.COLLIDER] + layout.COLLIDER_SIZE * c
    place = table[layout.COLLIDER_PLACE] + layout.PLACE_SIZE * c
    kind = table[table[layout.VOLUME_PLACE] + layout.PLACE_SIZE * v + layout.PLACE_KIND]
    axes, halves = volume + layout.PART_WORLD_AXES, volume + layout.PART_HALVES
    a, b = collider + layout.PART_NOW, volume + layout.PART_NOW
    x, y = numbers[a] - numbers[b], numbers[a + 1] - numbers[b + 1]
    z = numbers[a + 2] - numbers[b + 2]
    # Bounds on the distance of the collider's centre from the volume; exact where they are equal.
    lower = distance_to_box(x, y, z, numbers, axes, halves)
    upper = math.inf
    inner = numbers[volume + layout.PART_INNER]
    if inner > 0.0:
        upper = max(math.sqrt(x * x + y * y + z * z) - inner, 0.0)
    if kind == layout.BOX:
        upper = lower
    elif kind == layout.BALL:
        lower = upper
    elif kind == layout.PLANE:
        lower = x * numbers[axes + 1] + y * numbers[axes + 4] + z * numbers[axes + 7]
        upper = lower
    inner = numbers[collider + layout.PART_INNER]
    if inner > 0.0 and upper <= inner:
        return layout.TOUCHES
    if lower <= numbers[collider + layout.PART_OUTER]:
        if kind != layout.BOX or table[place + layout.PLACE_KIND] != layout.BOX:
            return layout.UNSURE
        frame = table[layout.FRAME] + layout.FRAME_SIZE * table[place + layout.PLACE_FRAME]
        scratch, local = table[layout.SCRATCH], collider + layout.PART_AXES
        multiply(numbers, frame + layout.FRAME_NOW, numbers, local, numbers, scratch)
        other = collider + layout.PART_HALVES
        if boxes_overlap(x, y, z, numbers, axes, halves, scratch, other):
            return layout.TOUCHES
    return 0


@kernel
def _passes(table: IntArray, numbers: FloatArray, v: int, c: int) -> bool:
    """Whether two parts move far enough past each other to have met in between."""
    if table[layout.FAST] == 0 and table[layout.VOLUMES_MOVE] == 0:
        return False
    volume = table[layout.VOLUME] + layout.VOLUME_SIZE * v
    collider = table[layout.COLLIDER] + layout.COLLIDER_SIZE * c
    total = 0.0
    for k in range(3):
        shift = numbers[collider + layout.PART_NOW + k] - numbers[collider + layout.PART_BEFORE + k]
        shift -= numbers[volume + layout.PART_NOW + k] - numbers[volume + layout.PART_BEFORE + k]
        total += shift * shift
    thickness = numbers[collider + layout.PART_THICKNESS] + numbers[volume + layout.PART_THICKNESS]
    return bool(math.sqrt(total) > FAST_SHARE * thickness)


@kernel
def _find(table: IntArray, numbers: FloatArray, pairs: IntArray) -> int:
    """List near pairs that may be reported."""
    count = 0
    for v in range(table[layout.VOLUMES]):
        volume = table[layout.VOLUME] + layout.VOLUME_SIZE * v
        sensed = table[layout.VOLUME_PLACE] + layout.PLACE_SIZE * v
        admits = table[layout.ADMITS] + table[layout.FILTERS] * table[sensed + layout.PLACE_FILTER]
        for c in range(table[layout.COLLIDERS]):
            collider = table[layout.COLLIDER] + layout.COLLIDER_SIZE * c
            if not _is_near(numbers, volume, collider):
                continue
            place = table[layout.COLLIDER_PLACE] + layout.PLACE_SIZE * c
            owner = table[place + layout.PLACE_OWNER]
            if owner == table[sensed + layout.PLACE_OWNER]:
                continue
            if owner == table[sensed + layout.PLACE_SECOND_OWNER]:
                continue
            if table[admits + table[place + layout.PLACE_FILTER]] == 0:
                continue
            at = layout.PAIR_SIZE * count
            count += 1
            if at + layout.PAIR_SIZE <= len(pairs):
                state = _state(table, numbers, v, c)
                if state != layout.TOUCHES and _passes(table, numbers, v, c):
                    state |= layout.PASSES
                pairs[at + layout.PAIR_VOLUME] = v
                pairs[at + layout.PAIR_COLLIDER] = c
                pairs[at + layout.PAIR_STATE] = state
    return count


@entry
def watch(
    ints: IntArray,
    floats: FloatArray,
    work: FloatArray,
    table: IntArray,
    numbers: FloatArray,
    pairs: IntArray,
    stages: int,
    dt: float,
) -> int:
    """Who may have met whom in a step.

    Args:
        ints: Of the arena of the scene's articulations.
        floats: Of the arena, with the state after the step.
        work: Of the arena.
        table: Integers of the triggers.
        numbers: Floats of the triggers.
        pairs: Receives the pairs that FIND lists.
        stages: FOLLOW, FIND, or both: then FIND is left out where a frame is fast.
        dt: [s] of the step.

    Returns:
        How many pairs were found, also where there is no room for so many; -1: FIND was left out.
    """
    if stages & FOLLOW:
        _follow(ints, floats, work, table, numbers)
        if table[layout.FAST]:
            return -1
    if stages & FIND:
        _place_parts(table, numbers, dt)
        return int(_find(table, numbers, pairs))
    return 0
