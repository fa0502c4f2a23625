"""The kernel that follows the frames of triggers and colliders and finds who is near whom."""

from __future__ import annotations

import math

from gltf_bullet.numba_aot import entry, kernel
from gltf_bullet.solver.articulation_arrays import (
    POSE,
    SceneHeader,
    articulation_in,
    articulation_of,
    scene_at,
)
from gltf_bullet.solver.tree_kinematics import multiply, place_frames, rotation_from_quat
from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.layout import (
    FIND,
    FOLLOW,
    FRAME,
    JUMP,
    PAIR,
    PART,
    PLACE,
    SOURCE,
    Triggers,
    triggers_at,
)
from gltf_bullet.transforms import FloatArray, IntArray

FAST_SHARE = 0.5
"""A collider is looked for on its way when it moves further than this part of both thicknesses."""


@kernel
def _follow_frame(scene: SceneHeader, triggers: Triggers, f: int) -> None:
    """Place a frame after the step, and keep its place before it."""
    source, frame = triggers.frame_source[f], triggers.frame[f]
    now, local, rotation = frame[FRAME.now :], frame[FRAME.local :], triggers.scratch
    for k in range(12):
        frame[FRAME.before + k] = now[k]
    if source[SOURCE.kind] == layout.GIVEN:
        for k in range(12):
            now[k] = local[k]
    elif source[SOURCE.kind] == layout.FREE:
        pose = triggers.free_pose[source[SOURCE.first]]
        rotation_from_quat(pose[3:], rotation)
        _attach(rotation, pose[0], pose[1], pose[2], local, now)
    elif source[SOURCE.kind] == layout.LINK:
        a = articulation_in(scene, source[SOURCE.first])
        pose, reference = a.pose[source[SOURCE.second]], a.reference_point
        for k in range(9):
            rotation[k] = pose[POSE.rotation + k]
        _attach(
            rotation,
            pose[POSE.origin] + reference[0],
            pose[POSE.origin + 1] + reference[1],
            pose[POSE.origin + 2] + reference[2],
            local,
            now,
        )


@kernel
def _attach(
    rotation: FloatArray, x: float, y: float, z: float, local: FloatArray, now: FloatArray
) -> None:
    """``now`` is the frame at x, y, z with that rotation, times the local one."""
    multiply(rotation, local, now)
    _apply(rotation, local[9:], now[9:])
    now[9] += x
    now[10] += y
    now[11] += z


@kernel
def _apply(matrix: FloatArray, vector: FloatArray, target: FloatArray) -> None:
    """``target = matrix @ vector``."""
    for k in range(3):
        target[k] = (
            matrix[3 * k] * vector[0]
            + matrix[3 * k + 1] * vector[1]
            + matrix[3 * k + 2] * vector[2]
        )


@kernel
def _apart(a: FloatArray, b: FloatArray) -> float:
    """Distance of two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _way_of_frame(frame: FloatArray) -> float:
    """Return the way of the origin of a frame in the step [m]."""
    return _apart(frame[FRAME.now + 9 :], frame[FRAME.before + 9 :])


@kernel
def _follow(scene: SceneHeader, triggers: Triggers) -> None:
    """Place all frames; note which volumes moved and which frames of colliders are fast."""
    if triggers.is_jointed:
        for k in range(scene.articulation_count):
            place_frames(articulation_of(scene, k))
    triggers.volumes_move = triggers.fast_count = 0
    for f in range(triggers.frame_count):
        _follow_frame(scene, triggers, f)
        frame = triggers.frame[f]
        if f < triggers.collider_frame_count:
            if _way_of_frame(frame) > FAST_SHARE * frame[FRAME.thinnest]:
                triggers.fast_count += 1
        else:
            for k in range(12):
                if frame[FRAME.now + k] != frame[FRAME.before + k]:
                    triggers.volumes_move = 1


@kernel
def _may_have_jumped(triggers: Triggers, dt: float) -> bool:
    """Tell whether a frame went further than its last speed explains."""
    for f in range(triggers.collider_frame_count):
        frame = triggers.frame[f]
        way = _way_of_frame(frame)
        expected = JUMP * dt * frame[FRAME.speed] + 0.5 * frame[FRAME.widest]
        if way > FAST_SHARE * frame[FRAME.thinnest] and way > expected:
            return True
    return False


@kernel
def _measure_speeds(triggers: Triggers, dt: float) -> None:
    """Find how fast the frames of colliders went."""
    for f in range(triggers.collider_frame_count):
        frame = triggers.frame[f]
        frame[FRAME.speed] = _way_of_frame(frame) / dt


@kernel
def _place_parts(triggers: Triggers) -> None:
    """Place colliders and volumes after and before the step."""
    for c in range(triggers.collider_count):
        f = triggers.collider_place[c, PLACE.frame]
        _place_part(triggers.frame[f], triggers.collider[c])
    for v in range(triggers.volume_count):
        part, frame = triggers.volume[v], triggers.frame[triggers.collider_frame_count + v]
        _place_part(frame, part)
        low, high = part[PART.low :], part[PART.high :]
        axes = part[PART.world_axes :]
        # The box before the step first, in place of that after it.
        for now in (FRAME.before, FRAME.now):
            center = part[(PART.now if now == FRAME.now else PART.before) :]
            multiply(frame[now:], part[PART.axes :], axes)
            for k in range(3):
                reach = 0.0
                for m in range(3):
                    reach += abs(axes[3 * k + m]) * part[PART.halves + m]
                least, most = center[k] - reach, center[k] + reach
                if now == FRAME.now:
                    least, most = min(least, low[k]), max(most, high[k])
                low[k], high[k] = least, most


@kernel
def _place_part(frame: FloatArray, part: FloatArray) -> None:
    for k in range(2):
        origin = frame[(FRAME.before if k else FRAME.now) :]
        center = part[(PART.before if k else PART.now) :]
        _apply(origin, part[PART.center :], center)
        for m in range(3):
            center[m] += origin[9 + m]


@kernel
def _is_near(volume: FloatArray, collider: FloatArray) -> bool:
    """Tell whether boxes around two parts met at any time in the step."""
    reach = collider[PART.outer]
    for k in range(3):
        now, before = collider[PART.now + k], collider[PART.before + k]
        if max(now, before) + reach < volume[PART.low + k]:
            return False
        if min(now, before) - reach > volume[PART.high + k]:
            return False
    return True


@kernel
def _state(triggers: Triggers, v: int, c: int) -> int:
    """State of a near pair: TOUCHES, UNSURE or 0, as far as balls and boxes tell."""
    volume, collider = triggers.volume[v], triggers.collider[c]
    place, kind = triggers.collider_place[c], triggers.volume_place[v, PLACE.kind]
    axes, halves = volume[PART.world_axes :], volume[PART.halves :]
    a, b = collider[PART.now :], volume[PART.now :]
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    # Bounds on the distance of the collider's centre from the volume; exact where they are equal.
    lower = distance_to_box(x, y, z, axes, halves)
    upper = math.inf
    inner = volume[PART.inner]
    if inner > 0.0:
        upper = max(math.sqrt(x * x + y * y + z * z) - inner, 0.0)
    if kind == layout.BOX:
        upper = lower
    elif kind == layout.BALL:
        lower = upper
    elif kind == layout.PLANE:
        lower = x * axes[1] + y * axes[4] + z * axes[7]
        upper = lower
    inner = collider[PART.inner]
    if inner > 0.0 and upper <= inner:
        return layout.TOUCHES
    if lower <= collider[PART.outer]:
        if kind != layout.BOX or place[PLACE.kind] != layout.BOX:
            return layout.UNSURE
        turned = triggers.scratch
        multiply(triggers.frame[place[PLACE.frame], FRAME.now :], collider[PART.axes :], turned)
        if boxes_overlap(x, y, z, axes, halves, turned, collider[PART.halves :]):
            return layout.TOUCHES
    return 0


@kernel
def _passes(triggers: Triggers, volume: FloatArray, collider: FloatArray) -> bool:
    """Tell whether two parts move far enough past each other to have met in between."""
    if triggers.fast_count == 0 and triggers.volumes_move == 0:
        return False
    total = 0.0
    for k in range(3):
        shift = collider[PART.now + k] - collider[PART.before + k]
        shift -= volume[PART.now + k] - volume[PART.before + k]
        total += shift * shift
    thickness = collider[PART.thickness] + volume[PART.thickness]
    return bool(math.sqrt(total) > FAST_SHARE * thickness)


@kernel
def _way_of_part(frame: FloatArray, part: FloatArray) -> float:
    """The most that any point of a part went in the step [m]."""
    turn = 0.0
    for k in range(9):
        change = frame[FRAME.now + k] - frame[FRAME.before + k]
        turn += change * change
    way = _apart(part[PART.now :], part[PART.before :])
    return way + math.sqrt(turn) * part[PART.outer] if turn > 0.0 else way


@kernel
def _recall(triggers: Triggers, v: int, c: int, pair: int) -> int:
    """State of a pair that the engine was asked about, as long as it cannot have changed."""
    f = triggers.collider_place[c, PLACE.frame]
    way = _way_of_part(triggers.frame[f], triggers.collider[c])
    f = triggers.collider_frame_count + v
    way += _way_of_part(triggers.frame[f], triggers.volume[v])
    triggers.margin[pair] -= way
    if triggers.margin[pair] <= 0.0:
        return layout.UNSURE
    return layout.TOUCHES if triggers.known[pair] & layout.TOUCHED else 0


@kernel
def _find(triggers: Triggers, pairs: IntArray) -> int:
    """List the pairs that may be reported: those that are near, or were inside.

    None where it is known who was inside, and nothing has changed.
    """
    count, has_changed = 0, triggers.is_known == 0
    for v in range(triggers.volume_count):
        volume, sensed = triggers.volume[v], triggers.volume_place[v]
        admits = triggers.admits[sensed[PLACE.filter]]
        for c in range(triggers.collider_count):
            collider, place = triggers.collider[c], triggers.collider_place[c]
            pair = triggers.collider_count * v + c if triggers.remembers else 0
            was_inside = triggers.remembers and triggers.known[pair] & layout.INSIDE != 0
            is_near = _is_near(volume, collider)
            if not is_near and triggers.remembers:
                triggers.margin[pair] = 0.0
            if not (is_near or was_inside):
                continue
            owner = place[PLACE.owner]
            if owner == sensed[PLACE.owner] or owner == sensed[PLACE.second_owner]:
                continue
            if admits[place[PLACE.filter]] == 0:
                continue
            state = _state(triggers, v, c) if is_near else 0
            if state == layout.UNSURE and triggers.remembers:
                state = _recall(triggers, v, c, pair)
            is_passing = is_near and state != layout.TOUCHES and _passes(triggers, volume, collider)
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
    triggers = triggers_at(table, numbers, 0)
    if stages & FOLLOW:
        _follow(scene_at(ints, floats, work, 0), triggers)
        if triggers.fast_count and _may_have_jumped(triggers, dt):
            return -1
    if stages & FIND:
        _measure_speeds(triggers, dt)
        _place_parts(triggers)
        return int(_find(triggers, pairs))
    return 0


# --- turned boxes ---------------------------------------------------------------------------------


_PARALLEL = 1e-12
"""[m^2] Products of parallel edges are 0 but for rounding, which separates nothing."""


@kernel
def distance_to_box(x: float, y: float, z: float, axes: FloatArray, halves: FloatArray) -> float:
    """Distance [m] of a point from a box about the origin; 0 inside.

    Args:
        x: Of the point [m].
        y: Likewise.
        z: Likewise.
        axes: Of the box, as columns [3, 3].
        halves: Its half extents [3].
    """
    total = 0.0
    for k in range(3):
        outside = max(abs(_along(x, y, z, axes, k)) - halves[k], 0.0)
        total += outside * outside
    return math.sqrt(total)


@kernel
def _turn(a: FloatArray, i: int, b: FloatArray, k: int) -> float:
    """Cosine between axis ``i`` of the first box and axis ``k`` of the second."""
    return float(a[i] * b[k] + a[3 + i] * b[3 + k] + a[6 + i] * b[6 + k])


@kernel
def _along(x: float, y: float, z: float, axes: FloatArray, k: int) -> float:
    """A vector's part along one of some axes."""
    return float(x * axes[k] + y * axes[3 + k] + z * axes[6 + k])


@kernel
def boxes_overlap(
    x: float, y: float, z: float, a: FloatArray, p: FloatArray, b: FloatArray, q: FloatArray
) -> bool:
    """Tell whether no axis separates two boxes.

    Args:
        x: From the centre of the first box to that of the second [m].
        y: Likewise.
        z: Likewise.
        a: Axes of the first as columns [3, 3].
        p: Its half extents [3].
        b: As ``a``, of the second.
        q: As ``p``, of the second.
    """
    for i in range(3):
        reach, other = p[i], q[i]
        for k in range(3):
            reach += abs(_turn(a, i, b, k)) * q[k]
            other += abs(_turn(a, k, b, i)) * p[k]
        if abs(_along(x, y, z, a, i)) > reach:
            return False
        if abs(_along(x, y, z, b, i)) > other:
            return False
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        along_j, along_k = _along(x, y, z, a, j), _along(x, y, z, a, k)
        for m in range(3):
            # The axis a_i x b_m.
            n, o = (m + 1) % 3, (m + 2) % 3
            turn_j, turn_k = _turn(a, j, b, m), _turn(a, k, b, m)
            reach = p[j] * abs(turn_k) + p[k] * abs(turn_j)
            reach += q[n] * abs(_turn(a, i, b, o))
            reach += q[o] * abs(_turn(a, i, b, n))
            if abs(along_k * turn_j - along_j * turn_k) > reach + _PARALLEL:
                return False
    return True
