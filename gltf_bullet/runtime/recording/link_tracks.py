"""Keyframes of a body's links, relative to their joints, that keep all links in place.

Errors add up along a chain: a link is off by the sum of the errors of all joints between it and the
base, and an angular error counts times the distance. So the joints share the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from gltf_bullet.convert.description import BodyDescription, LinkDescription
from gltf_bullet.convert.joints import joint_frame
from gltf_bullet.runtime.recording.keyframes import (
    angles_between,
    before_rounding,
    continuous_rotations,
    reduce_rotations,
    reduce_vectors,
)
from gltf_bullet.runtime.views.export import Track
from gltf_bullet.scene.animation import hermite
from gltf_bullet.transforms import (
    IDENTITY_POSE,
    FloatArray,
    IntArray,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

# --- Keyframes with tangents: a flight is a parabola, which straight lines fit poorly -------------
#
# At 9.81 m/s^2 lines stay within 1 mm for 1/35 s; a cubic spline (glTF 2.0, Appendix C, "Cubic
# Spline Interpolation") has a flight in one span. Splines are made from samples of every step only:
# the curve between frames that are further apart is unknown.

_Distance = Callable[[FloatArray, FloatArray], FloatArray]
"""Returns the distances of points of a curve from samples, shape [k]."""


class Spline(NamedTuple):
    """Kept keys, and their values and tangents for glTF."""

    keys: IntArray
    """Indices of samples, ascending; the first and the last among them."""
    values: FloatArray
    """In-tangent, value and out-tangent of one key after the other, shape [3 key_count, width]."""


class _Span(NamedTuple):
    """A curve from one key to another."""

    error: float
    """Largest distance of a sample from the curve."""
    tangents: FloatArray
    """Tangents at both ends [1/s], shape [2, width]."""


def spline_of_vectors(times: FloatArray, values: FloatArray, tolerance: float) -> Spline:
    """Fit a spline that is within a tolerance at every sample.

    Args:
        times: Ascending [s], shape [sample_count], two at least.
        values: Shape [sample_count, width].
        tolerance: In units of ``values``, once times and values are rounded to a file's floats.
    """

    def distance(found: FloatArray, wanted: FloatArray) -> FloatArray:
        gaps: FloatArray = np.linalg.norm(found - wanted, axis=1)
        return gaps

    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    largest = float(np.abs(values).max(initial=0.0))
    return _spline(times, values, before_rounding(tolerance, times, steps, largest), distance)


def spline_of_rotations(times: FloatArray, rotations_xyzw: FloatArray, tolerance: float) -> Spline:
    """Do as :func:`spline_of_vectors` for continuous unit quaternions; ``tolerance`` [rad]."""

    def distance(found: FloatArray, wanted: FloatArray) -> FloatArray:
        return angles_between(found / np.linalg.norm(found, axis=1, keepdims=True), wanted)

    steps = angles_between(rotations_xyzw[1:], rotations_xyzw[:-1])
    return _spline(times, rotations_xyzw, before_rounding(tolerance, times, steps, 1.0), distance)


def _spline(times: FloatArray, values: FloatArray, tolerance: float, distance: _Distance) -> Spline:
    end = len(times) - 1
    keys, spans = [0], []
    while keys[-1] < end:
        last, span = _longest(times, values, keys[-1], tolerance, distance)
        keys.append(last)
        spans.append(span.tangents)
    tangents = np.stack(spans)  # [span, end, width]
    still = np.zeros((1, values.shape[1]))  # before the first key and after the last
    result = np.stack(
        [
            np.concatenate([still, tangents[:, 1]]),
            values[keys],
            np.concatenate([tangents[:, 0], still]),
        ],
        axis=1,
    )
    return Spline(np.array(keys, dtype=np.intp), result.reshape(-1, values.shape[1]))


def _longest(
    times: FloatArray, values: FloatArray, first: int, tolerance: float, distance: _Distance
) -> tuple[int, _Span]:
    """Return the longest span from a key that keeps the tolerance, as found by bisection."""
    end = len(times) - 1
    good, best = first + 1, _fitted(times, values, first, first + 1, distance)
    length = 2
    while first + length // 2 < end:
        last = min(first + length, end)
        span = _fitted(times, values, first, last, distance)
        if span.error > tolerance:
            break
        good, best, length = last, span, 2 * length
    bad = min(first + length, end + 1) if good < end else end + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        span = _fitted(times, values, first, middle, distance)
        if span.error <= tolerance:
            good, best = middle, span
        else:
            bad = middle
    return good, best


def _fitted(
    times: FloatArray, values: FloatArray, first: int, last: int, distance: _Distance
) -> _Span:
    """Return the curve through two samples with the best tangents for those in between."""
    length = float(times[last] - times[first])
    chord = (values[last] - values[first]) / length
    tangents = np.stack([chord, chord])
    if last - first < 2:
        return _Span(0.0, tangents)
    inner = values[first + 1 : last]
    u = ((times[first + 1 : last] - times[first]) / length)[:, None]
    if len(inner) > 1:
        # Contribution of the tangents to the straight line: least squares of two unknowns.
        shapes = length * np.concatenate([(u * u - 2.0 * u + 1.0) * u, (u - 1.0) * u * u], axis=1)
        bent = inner - values[first] - length * u * chord
        tangents = chord + np.linalg.solve(shapes.T @ shapes, shapes.T @ bent)
    ends = values[first], tangents[0], values[last], tangents[1]
    curve = hermite(*ends, u, np.array(length))
    return _Span(float(distance(curve, inner).max()), tangents)


_FEW = 4
"""Number of keys up to which a spline is never shorter."""
_WORTH_BENDING = 0.8
"""Share of the size up to which a spline replaces lines, which more programs can play."""
_STILL = 1e-6
"""Share of the tolerance below which a link does not move in its joint, and needs no share."""

Course = tuple[FloatArray, FloatArray]
"""Positions and rotations over all frames, shapes [frame, 3] and [frame, 4]."""


def body_tracks(
    body: BodyDescription,
    nodes: Sequence[int],
    times: FloatArray,
    frames: FloatArray,
    tolerance: float,
    *,
    is_dense: bool,
) -> list[Track]:
    """Return tracks that keep every link of a body within a tolerance in the world.

    Args:
        body: Its links and joints.
        nodes: Nodes of the links.
        times: Times of the frames, ascending [s].
        frames: World from inertial frame, shape [frame_count, link_count, 7].
        tolerance: Largest error of the links' origins [m], and of points at a distance of 1 m that
            rotate with them.
        is_dense: True if the frames are all steps, so that curves may join them.
    """
    world = [_link_course(frames[:, k], link) for k, link in enumerate(body.links)]
    local = [world[0]]
    local += [
        _seen_from_joint(link, *world[link.parent], *course)
        for link, course in zip(body.links[1:], world[1:], strict=True)
    ]
    parents = [link.parent for link in body.links]
    chain = Chain(nodes, parents, world, local, np.ones(len(nodes)), np.zeros(len(nodes)))
    return chain_tracks(chain, times, tolerance, is_dense=is_dense)


class Chain(NamedTuple):
    """A tree of nodes, each after its parent."""

    nodes: Sequence[int]
    parents: Sequence[int]
    """Indices in ``nodes``; -1 for none."""
    world: Sequence[Course]
    """Poses in the world."""
    local: Sequence[Course]
    """Poses in the parent's frame."""
    scales: FloatArray
    """Length of a unit of the parent's frame [m]."""
    reaches: FloatArray
    """Largest distance of each node to what it carries, other nodes of the chain left out [m]."""


def chain_tracks(
    chain: Chain, times: FloatArray, tolerance: float, *, is_dense: bool
) -> list[Track]:
    """Return tracks that keep every node within a tolerance in the world."""
    local = [(position, continuous_rotations(rotation)) for position, rotation in chain.local]
    shares = _shares(chain, local, tolerance)
    tracks: list[Track] = []
    for node, (position, rotation), (offset, turn) in zip(chain.nodes, local, shares, strict=True):
        for path, values, allowed, reduce, spline_of in (
            ("translation", position, offset, reduce_vectors, spline_of_vectors),
            ("rotation", rotation, turn, reduce_rotations, spline_of_rotations),
        ):
            keys = reduce(times, values, allowed)
            if len(keys) < 2:
                continue
            tracks.append(Track(node, path, times[keys], values[keys]))
            if is_dense and len(keys) > _FEW:
                spline = spline_of(times, values, allowed)
                shorter = Track(node, path, times[spline.keys], spline.values, "CUBICSPLINE")
                if _size(shorter) < _WORTH_BENDING * _size(tracks[-1]):
                    tracks[-1] = shorter
    return tracks


def _size(track: Track) -> int:
    return track.times.size + track.values.size


def _shares(chain: Chain, local: Sequence[Course], tolerance: float) -> list[tuple[float, float]]:
    """Return the tolerance of each joint's position, in its parent's units, and rotation [rad].

    Along the path to any link, the offsets and the angles times their distances to it sum up to the
    tolerance at most, and so do the angles.
    """
    parents = chain.parents
    slides = [_varies(position, tolerance) for position, _ in local]
    turns = [_varies(rotation, tolerance) for _, rotation in local]
    reaches = np.maximum(
        _reaches(parents, [position for position, _ in chain.world]), chain.reaches
    )
    shifts = [
        a + (b and c) for a, b, c in zip(slides, turns, (reaches > 0.0).tolist(), strict=True)
    ]
    of_offset = tolerance / _most_on_a_path(parents, shifts)
    of_turn = tolerance / _most_on_a_path(parents, turns)
    far = reaches > 0.0
    of_turn[far] = np.minimum(of_turn[far], of_offset[far] / reaches[far])
    of_offset = of_offset / np.maximum(chain.scales, 1e-12)
    return list(zip(of_offset.tolist(), of_turn.tolist(), strict=True))


def _varies(values: FloatArray, tolerance: float) -> bool:
    return bool(np.abs(values - values[0]).max(initial=0.0) > _STILL * tolerance)


def _reaches(parents: Sequence[int], positions: Sequence[FloatArray]) -> FloatArray:
    """Return the largest distance of each link to its descendants over time [m]; 0 without any."""
    reaches = np.zeros(len(parents))
    for link, position in enumerate(positions):
        above = parents[link]
        while above >= 0:
            distances = np.linalg.norm(position - positions[above], axis=1)
            reaches[above] = max(reaches[above], float(distances.max()))
            above = parents[above]
    return reaches


def _most_on_a_path(parents: Sequence[int], counts: Sequence[int]) -> FloatArray:
    """Return the largest sum of ``counts`` on a path from base to end through each link, >= 1.

    Args:
        parents: Parents of the links, each before its children; -1 for the base.
        counts: Numbers by link.
    """
    above, below = list(counts), list(counts)
    for link in range(1, len(parents)):
        above[link] += above[parents[link]]
    for link in range(len(parents) - 1, 0, -1):
        parent = parents[link]
        below[parent] = max(below[parent], counts[parent] + below[link])
    sums = [a + b - own for a, b, own in zip(above, below, counts, strict=True)]
    return np.maximum(np.array(sums, dtype=np.float64), 1.0)


def _link_course(frames: FloatArray, link: LinkDescription) -> Course:
    """Return poses of the link frame from those of its inertial frame, [frame, 7]."""
    position, rotation = frames[:, :3], frames[:, 3:]
    if link.link_from_inertial == IDENTITY_POSE:
        return position, rotation
    link_turn = quat_conjugate(np.array(link.link_from_inertial.rotation_xyzw))
    rotation = quat_multiply(rotation, np.broadcast_to(link_turn, rotation.shape))
    center = np.broadcast_to(np.array(link.link_from_inertial.translation), position.shape)
    return position - quat_rotate(rotation, center), rotation


def _seen_from_joint(
    link: LinkDescription,
    parent_position: FloatArray,
    parent_rotation: FloatArray,
    position: FloatArray,
    rotation: FloatArray,
) -> Course:
    """Return the link's local pose below its joint's node, which the parent link carries."""
    joint = joint_frame(link)
    offset = np.broadcast_to(np.array(joint.translation), position.shape)
    turn = np.broadcast_to(np.array(joint.rotation_xyzw), rotation.shape)
    origin = parent_position + quat_rotate(parent_rotation, offset)
    back = quat_conjugate(quat_multiply(parent_rotation, turn))
    return quat_rotate(back, position - origin), quat_multiply(back, rotation)
