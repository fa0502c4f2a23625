"""The kernel that follows the frames of triggers and colliders and finds who is near whom."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import entry, kernel
from gltf_bullet.solver.articulation_arrays import (
    POSE,
    SceneHeader,
    articulation_at,
    articulation_of,
    scene_at,
)
from gltf_bullet.solver.tree_kinematics import multiply, place_frames, rotation_from_quat
from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.layout import (
    COLLIDER_SIZE,
    FIND,
    FOLLOW,
    FRAME,
    JUMP,
    PAIR,
    PART,
    PLACE,
    SOURCE,
    triggers_at,
)
from gltf_bullet.transforms import FloatArray, IntArray

FAST_SHARE = 0.5
"""A collider is looked for on its way when it moves further than this part of both thicknesses."""


@kernel
def _follow_frame(scene: SceneHeader, table: IntArray, numbers: FloatArray, f: int) -> None:
    """Place a frame after the step, and keep its place before it."""
    triggers = triggers_at(table, 0)
    source = triggers.frame_source + SOURCE.size * f
    kind, first = table[source + SOURCE.kind], table[source + SOURCE.first]
    frame = triggers.frame + FRAME.size * f
    now, local = frame + FRAME.now, frame + FRAME.local
    for k in range(12):
        numbers[frame + FRAME.before + k] = numbers[now + k]
    if kind == layout.GIVEN:
        for k in range(12):
            numbers[now + k] = numbers[local + k]
    elif kind == layout.FREE:
        pose = triggers.free_pose + 7 * first
        scratch = triggers.scratch
        rotation_from_quat(numbers[pose + 3 :], numbers[scratch:])
        _attach(numbers, scratch, numbers[pose], numbers[pose + 1], numbers[pose + 2], local, now)
    elif kind == layout.LINK:
        a = articulation_at(scene.ints, scene.floats, scene.work, first)
        pose, reference = a.pose[table[source + SOURCE.second]], a.reference_point
        scratch = triggers.scratch
        for k in range(9):
            numbers[scratch + k] = pose[POSE.rotation + k]
        _attach(
            numbers,
            scratch,
            pose[POSE.origin] + reference[0],
            pose[POSE.origin + 1] + reference[1],
            pose[POSE.origin + 2] + reference[2],
            local,
            now,
        )


@kernel
def _attach(
    numbers: FloatArray, rotation: int, x: float, y: float, z: float, local: int, now: int
) -> None:
    """``now`` is the frame at x, y, z with that rotation, times the local one."""
    multiply(numbers[rotation:], numbers[local:], numbers[now:])
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
def _follow(scene: SceneHeader, table: IntArray, numbers: FloatArray) -> None:
    """Place all frames; note which volumes moved and which frames of colliders are fast."""
    triggers = triggers_at(table, 0)
    if triggers.is_jointed:
        for k in range(scene.articulation_count):
            place_frames(articulation_of(scene, k))
    triggers.volumes_move = triggers.fast_count = 0
    for f in range(triggers.frame_count):
        _follow_frame(scene, table, numbers, f)
        frame = triggers.frame + FRAME.size * f
        now, before = frame + FRAME.now, frame + FRAME.before
        if f < triggers.collider_frame_count:
            way = _apart(numbers, now + 9, before + 9)
            if way > FAST_SHARE * numbers[frame + FRAME.thinnest]:
                triggers.fast_count += 1
        else:
            for k in range(12):
                if numbers[now + k] != numbers[before + k]:
                    triggers.volumes_move = 1


@kernel
def _may_have_jumped(table: IntArray, numbers: FloatArray, dt: float) -> bool:
    """Tell whether a frame went further than its last speed explains."""
    triggers = triggers_at(table, 0)
    for f in range(triggers.collider_frame_count):
        frame = triggers.frame + FRAME.size * f
        way = _apart(numbers, frame + FRAME.now + 9, frame + FRAME.before + 9)
        if (
            way > FAST_SHARE * numbers[frame + FRAME.thinnest]
            and way > JUMP * dt * numbers[frame + FRAME.speed] + 0.5 * numbers[frame + FRAME.widest]
        ):
            return True
    return False


@kernel
def _measure_speeds(table: IntArray, numbers: FloatArray, dt: float) -> None:
    """Find how fast the frames of colliders went."""
    triggers = triggers_at(table, 0)
    for f in range(triggers.collider_frame_count):
        frame = triggers.frame + FRAME.size * f
        way = _apart(numbers, frame + FRAME.now + 9, frame + FRAME.before + 9)
        numbers[frame + FRAME.speed] = way / dt


@kernel
def _place_parts(table: IntArray, numbers: FloatArray) -> None:
    """Place colliders and volumes after and before the step."""
    triggers = triggers_at(table, 0)
    for c in range(triggers.collider_count):
        place = triggers.collider_place + PLACE.size * c
        part = triggers.collider + COLLIDER_SIZE * c
        _place_part(table, numbers, table[place + PLACE.frame], part)
    for v in range(triggers.volume_count):
        part = triggers.volume + PART.size * v
        f = triggers.collider_frame_count + v
        _place_part(table, numbers, f, part)
        frame = triggers.frame + FRAME.size * f
        low, high = part + PART.low, part + PART.high
        axes = part + PART.world_axes
        # The box before the step first, in place of that after it.
        for now in (FRAME.before, FRAME.now):
            center = part + (PART.now if now == FRAME.now else PART.before)
            multiply(numbers[frame + now :], numbers[part + PART.axes :], numbers[axes:])
            for k in range(3):
                reach = 0.0
                for m in range(3):
                    reach += abs(numbers[axes + 3 * k + m]) * numbers[part + PART.halves + m]
                least, most = numbers[center + k] - reach, numbers[center + k] + reach
                if now == FRAME.now:
                    least = min(least, numbers[low + k])
                    most = max(most, numbers[high + k])
                numbers[low + k], numbers[high + k] = least, most


@kernel
def _place_part(table: IntArray, numbers: FloatArray, f: int, part: int) -> None:
    triggers = triggers_at(table, 0)
    frame = triggers.frame + FRAME.size * f
    for k in range(2):
        origin = frame + (FRAME.before if k else FRAME.now)
        center = part + (PART.before if k else PART.now)
        _apply(numbers, origin, part + PART.center, center)
        for m in range(3):
            numbers[center + m] += numbers[origin + 9 + m]


@kernel
def _is_near(numbers: FloatArray, volume: int, collider: int) -> bool:
    """Tell whether boxes around two parts met at any time in the step."""
    reach = numbers[collider + PART.outer]
    for k in range(3):
        now = numbers[collider + PART.now + k]
        before = numbers[collider + PART.before + k]
        if max(now, before) + reach < numbers[volume + PART.low + k]:
            return False
        if min(now, before) - reach > numbers[volume + PART.high + k]:
            return False
    return True


@kernel
def _state(table: IntArray, numbers: FloatArray, v: int, c: int) -> int:
    """State of a near pair: TOUCHES, UNSURE or 0, as far as balls and boxes tell."""
    triggers = triggers_at(table, 0)
    volume = triggers.volume + PART.size * v
    collider = triggers.collider + COLLIDER_SIZE * c
    place = triggers.collider_place + PLACE.size * c
    kind = table[triggers.volume_place + PLACE.size * v + PLACE.kind]
    axes, halves = volume + PART.world_axes, volume + PART.halves
    a, b = collider + PART.now, volume + PART.now
    x, y = numbers[a] - numbers[b], numbers[a + 1] - numbers[b + 1]
    z = numbers[a + 2] - numbers[b + 2]
    # Bounds on the distance of the collider's centre from the volume; exact where they are equal.
    lower = distance_to_box(x, y, z, numbers, axes, halves)
    upper = math.inf
    inner = numbers[volume + PART.inner]
    if inner > 0.0:
        upper = max(math.sqrt(x * x + y * y + z * z) - inner, 0.0)
    if kind == layout.BOX:
        upper = lower
    elif kind == layout.BALL:
        lower = upper
    elif kind == layout.PLANE:
        lower = x * numbers[axes + 1] + y * numbers[axes + 4] + z * numbers[axes + 7]
        upper = lower
    inner = numbers[collider + PART.inner]
    if inner > 0.0 and upper <= inner:
        return layout.TOUCHES
    if lower <= numbers[collider + PART.outer]:
        if kind != layout.BOX or table[place + PLACE.kind] != layout.BOX:
            return layout.UNSURE
        frame = triggers.frame + FRAME.size * table[place + PLACE.frame]
        scratch, local = triggers.scratch, collider + PART.axes
        multiply(numbers[frame + FRAME.now :], numbers[local:], numbers[scratch:])
        other = collider + PART.halves
        if boxes_overlap(x, y, z, numbers, axes, halves, scratch, other):
            return layout.TOUCHES
    return 0


@kernel
def _passes(table: IntArray, numbers: FloatArray, v: int, c: int) -> bool:
    """Tell whether two parts move far enough past each other to have met in between."""
    triggers = triggers_at(table, 0)
    if triggers.fast_count == 0 and triggers.volumes_move == 0:
        return False
    volume = triggers.volume + PART.size * v
    collider = triggers.collider + COLLIDER_SIZE * c
    total = 0.0
    for k in range(3):
        shift = numbers[collider + PART.now + k] - numbers[collider + PART.before + k]
        shift -= numbers[volume + PART.now + k] - numbers[volume + PART.before + k]
        total += shift * shift
    thickness = numbers[collider + PART.thickness] + numbers[volume + PART.thickness]
    return bool(math.sqrt(total) > FAST_SHARE * thickness)


@kernel
def _way_of_part(numbers: FloatArray, frame: int, part: int) -> float:
    """The most that any point of a part went in the step [m]."""
    turn = 0.0
    for k in range(9):
        change = numbers[frame + FRAME.now + k] - numbers[frame + FRAME.before + k]
        turn += change * change
    way = _apart(numbers, part + PART.now, part + PART.before)
    return way + math.sqrt(turn) * numbers[part + PART.outer] if turn > 0.0 else way


@kernel
def _recall(table: IntArray, numbers: FloatArray, v: int, c: int, known: int, margin: int) -> int:
    """State of a pair that the engine was asked about, as long as it cannot have changed."""
    triggers = triggers_at(table, 0)
    volume = triggers.volume + PART.size * v
    collider = triggers.collider + COLLIDER_SIZE * c
    frame = table[triggers.collider_place + PLACE.size * c + PLACE.frame]
    way = _way_of_part(numbers, triggers.frame + FRAME.size * frame, collider)
    frame = triggers.collider_frame_count + v
    way += _way_of_part(numbers, triggers.frame + FRAME.size * frame, volume)
    numbers[margin] -= way
    if numbers[margin] <= 0.0:
        return layout.UNSURE
    return layout.TOUCHES if table[known] & layout.TOUCHED else 0


@kernel
def _find(table: IntArray, numbers: FloatArray, pairs: IntArray) -> int:
    """List the pairs that may be reported: those that are near, or were inside.

    None where it is known who was inside, and nothing has changed.
    """
    triggers = triggers_at(table, 0)
    count, has_changed = 0, triggers.is_known == 0
    for v in range(triggers.volume_count):
        volume = triggers.volume + PART.size * v
        sensed = triggers.volume_place + PLACE.size * v
        admits = triggers.admits + triggers.filter_count * table[sensed + PLACE.filter]
        for c in range(triggers.collider_count):
            pair = triggers.collider_count * v + c if triggers.remembers else 0
            known, margin = triggers.known + pair, triggers.margin + pair
            was_inside = triggers.remembers and table[known] & layout.INSIDE != 0
            is_near = _is_near(numbers, volume, triggers.collider + COLLIDER_SIZE * c)
            if not is_near and triggers.remembers:
                numbers[margin] = 0.0
            if not (is_near or was_inside):
                continue
            place = triggers.collider_place + PLACE.size * c
            owner = table[place + PLACE.owner]
            if owner == table[sensed + PLACE.owner]:
                continue
            if owner == table[sensed + PLACE.second_owner]:
                continue
            if table[admits + table[place + PLACE.filter]] == 0:
                continue
            state = _state(table, numbers, v, c) if is_near else 0
            if state == layout.UNSURE and triggers.remembers:
                state = _recall(table, numbers, v, c, known, margin)
            is_passing = is_near and state != layout.TOUCHES and _passes(table, numbers, v, c)
            if is_passing:
                state |= layout.PASSES
            if (state == layout.TOUCHES) != was_inside or state not in (0, layout.TOUCHES):
                has_changed = True
            at = PAIR.size * count
            count += 1
            if at + PAIR.size <= len(pairs):
                pairs[at + PAIR.volume] = v
                pairs[at + PAIR.collider] = c
                pairs[at + PAIR.state] = state
    return count if has_changed else 0


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
    """Find the pairs of volumes and colliders that may have met in a step.

    Args:
        ints: Of the scene's articulations.
        floats: Likewise, with the state after the step.
        work: Likewise.
        table: Integers of the triggers.
        numbers: Floats of the triggers.
        pairs: Receives the pairs that FIND lists.
        stages: FOLLOW, FIND, or both: then FIND is left out where a frame may have jumped.
        dt: [s] of the step.

    Returns:
        How many pairs were found, also where there is no room for so many; 0 where they are
        remembered and none has changed; -1: FIND was left out.
    """
    triggers = triggers_at(table, 0)
    if stages & FOLLOW:
        _follow(scene_at(ints, floats, work, 0), table, numbers)
        if triggers.fast_count and _may_have_jumped(table, numbers, dt):
            return -1
    if stages & FIND:
        _measure_speeds(table, numbers, dt)
        _place_parts(table, numbers)
        return int(_find(table, numbers, pairs))
    return 0


# --- turned boxes ---------------------------------------------------------------------------------


_PARALLEL = 1e-12
"""[m^2] Products of parallel edges are 0 but for rounding, which separates nothing."""


@kernel
def distance_to_box(
    x: float, y: float, z: float, numbers: FloatArray, axes: int, halves: int
) -> float:
    """Distance [m] of a point from a box about the origin; 0 inside.

    Args:
        x: Of the point [m].
        y: Likewise.
        z: Likewise.
        numbers: Where the box is described.
        axes: Offset of its axes as columns [3, 3].
        halves: Offset of its half extents [3].
    """
    total = 0.0
    for k in range(3):
        along = x * numbers[axes + k] + y * numbers[axes + 3 + k] + z * numbers[axes + 6 + k]
        outside = max(abs(along) - numbers[halves + k], 0.0)
        total += outside * outside
    return math.sqrt(total)


@kernel
def _turn(numbers: FloatArray, a: int, i: int, b: int, k: int) -> float:
    """Cosine between axis ``i`` of the first box and axis ``k`` of the second."""
    return float(
        numbers[a + i] * numbers[b + k]
        + numbers[a + 3 + i] * numbers[b + 3 + k]
        + numbers[a + 6 + i] * numbers[b + 6 + k]
    )


@kernel
def _along(numbers: FloatArray, x: float, y: float, z: float, axes: int, k: int) -> float:
    """A vector's part along one of some axes."""
    return float(x * numbers[axes + k] + y * numbers[axes + 3 + k] + z * numbers[axes + 6 + k])


@kernel
def boxes_overlap(
    x: float, y: float, z: float, numbers: FloatArray, a: int, p: int, b: int, q: int
) -> bool:
    """Tell whether no axis separates two boxes.

    Args:
        x: From the centre of the first box to that of the second [m].
        y: Likewise.
        z: Likewise.
        numbers: Where they are described.
        a: Offset of the axes of the first as columns [3, 3].
        p: Offset of its half extents [3].
        b: As ``a``, of the second.
        q: As ``p``, of the second.
    """
    for i in range(3):
        reach, other = numbers[p + i], numbers[q + i]
        for k in range(3):
            reach += abs(_turn(numbers, a, i, b, k)) * numbers[q + k]
            other += abs(_turn(numbers, a, k, b, i)) * numbers[p + k]
        if abs(_along(numbers, x, y, z, a, i)) > reach:
            return False
        if abs(_along(numbers, x, y, z, b, i)) > other:
            return False
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        along_j, along_k = _along(numbers, x, y, z, a, j), _along(numbers, x, y, z, a, k)
        for m in range(3):
            # The axis a_i x b_m.
            n, o = (m + 1) % 3, (m + 2) % 3
            turn_j, turn_k = _turn(numbers, a, j, b, m), _turn(numbers, a, k, b, m)
            reach = numbers[p + j] * abs(turn_k) + numbers[p + k] * abs(turn_j)
            reach += numbers[q + n] * abs(_turn(numbers, a, i, b, o))
            reach += numbers[q + o] * abs(_turn(numbers, a, i, b, n))
            if abs(along_k * turn_j - along_j * turn_k) > reach + _PARALLEL:
                return False
    return True
