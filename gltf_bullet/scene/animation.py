"""Keyframe tracks and their sampling as pure functions of time.

glTF 2.0, "Animations" and "Appendix C: Animation Sampler Interpolation Modes".

Tracks are stacked: one call samples every translation, rotation or scale track of a file, without
a Python loop over tracks. Time is in seconds; outside its keyframes a track keeps its end values.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from gltf_bullet.transforms import FloatArray, IntArray, quat_normalize

# --- Positions between keyframes, and the curves that join them -----------------------------------
#
# glTF 2.0, "Appendix C: Animation Sampler Interpolation Modes". Plain functions on stacks, so that
# any number of tracks costs a handful of numpy calls.

FEW_TIMELINES = 32
"""Number of timelines up to which one searchsorted each (about 1.5 us) beats the stacked search."""


class KeyPosition(Struct, frozen=True):
    """Position of a time in each timeline: the keyframe before it and the fraction to the next."""

    key: IntArray
    following: IntArray
    """The next keyframe; the same one at the end."""
    fraction: FloatArray
    """Fraction of the way: 0 at the keyframe before, 1 at the next."""
    span: FloatArray
    """Time between the two keyframes [s]."""


class Timelines:
    """The distinct ``times`` arrays of many tracks; exporters share one among most channels."""

    def __init__(self, times_of_tracks: Sequence[FloatArray]) -> None:
        number_by_content: dict[bytes, int] = {}
        lines: list[FloatArray] = []
        self.of_track: IntArray = np.zeros(len(times_of_tracks), dtype=np.intp)
        for index, times in enumerate(times_of_tracks):
            content = times.tobytes()
            if content not in number_by_content:
                number_by_content[content] = len(lines)
                lines.append(times)
            self.of_track[index] = number_by_content[content]
        self._lines = lines
        self._lengths = np.array([len(line) for line in lines], dtype=np.intp)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._times = np.concatenate([np.zeros(0), *lines])

    def locate(self, time: float) -> KeyPosition:
        """Position of ``time`` [s] in every timeline."""
        before = self._count_at_or_before(time)
        key = np.clip(before - 1, 0, self._lengths - 1)
        following = np.minimum(key + 1, self._lengths - 1)
        at, after = self._times[self._starts + key], self._times[self._starts + following]
        span = after - at
        fraction = np.clip((time - at) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
        # At or after the last keyframe there is no next one.
        return KeyPosition(key, following, np.where(span > 0.0, fraction, 0.0), span)

    def _count_at_or_before(self, time: float) -> IntArray:
        """Number of keyframes at or before ``time``, per timeline."""
        if len(self._lines) <= FEW_TIMELINES:
            counts = [line.searchsorted(time, side="right") for line in self._lines]
            return np.array(counts, dtype=np.intp)
        # A binary search in all timelines at once: log2(longest) rounds instead of a Python loop.
        low, high = np.zeros_like(self._lengths), self._lengths.copy()
        for _ in range(int(self._lengths.max()).bit_length()):
            middle = (low + high) // 2
            open_ = low < high
            passed = self._times[self._starts + np.minimum(middle, self._lengths - 1)] <= time
            low = np.where(open_ & passed, middle + 1, low)
            high = np.where(open_ & ~passed, middle, high)
        return low


def arcs_between(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shorter arcs from unit quaternions ``a`` to ``b``, shape [count, 4].

    Returns:
        Unit quaternions orthogonal to ``a`` (0 where both are equal), shape [count, 4], and
        angles in 0..pi/2 [rad], shape [count, 1], such that the point at a fraction u of the way
        (slerp) is ``a cos(u angle) + orthogonal sin(u angle)``.
    """
    dot = (a * b).sum(axis=1, keepdims=True)
    b = np.where(dot < 0.0, -b, b)
    across = b - np.abs(dot) * a
    sine = np.linalg.norm(across, axis=1, keepdims=True)
    # Not acos: it loses half of the digits where dot is near 1.
    return across / np.where(sine > 0.0, sine, 1.0), np.arctan2(sine, np.abs(dot))


def hermite(
    value: FloatArray,
    out_tangent: FloatArray,
    next_value: FloatArray,
    next_in_tangent: FloatArray,
    u: FloatArray,
    span: FloatArray,
) -> FloatArray:
    """The curve of glTF 2.0, C.5 "Cubic Spline Interpolation"; tangents are per second."""
    u2, u3 = u * u, u * u * u
    return (
        (2.0 * u3 - 3.0 * u2 + 1.0) * value
        + span * (u3 - 2.0 * u2 + u) * out_tangent
        + (3.0 * u2 - 2.0 * u3) * next_value
        + span * (u3 - u2) * next_in_tangent
    )


# --- Tracks and their stacked sampling ------------------------------------------------------------

_CLOSED = 1e-5
"""Tolerance as share of a track's largest number: exporters write about six digits."""

TargetPath: TypeAlias = Literal["translation", "rotation", "scale", "weights", "pointer"]


class Interpolation(enum.Enum):
    """Interpolation of values between two keyframes."""

    LINEAR = "LINEAR"
    """Linear; rotations turn along the shorter arc at constant speed."""
    STEP = "STEP"
    """Constant, the value of the keyframe before."""
    CUBICSPLINE = "CUBICSPLINE"
    """Hermite splines with authored tangents; rotations are normalized."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AnimationTrack:
    """The keyframes of one animated property."""

    target_path: TargetPath
    node: int | None
    """The animated node; ``None`` for a pointer to something else."""
    pointer: str | None
    """The JSON pointer as authored (KHR_animation_pointer); ``None`` for a plain channel."""
    times: FloatArray
    """Increasing [s], shape [key_count], at least one."""
    values: FloatArray
    """Shape [key_count, width]; with CUBICSPLINE [key_count, 3, width]: in-tangent, value,
    out-tangent. Rotations are xyzw. A pointer's vectors and matrices are flat, as stored."""
    interpolation: Interpolation

    def __post_init__(self) -> None:
        expected = (len(self.times), 3) if self._is_cubic else (len(self.times),)
        if not len(self.times) or self.values.shape[:-1] != expected:
            raise ValueError(f"{len(self.times)} times do not fit values {self.values.shape}")

    @property
    def width(self) -> int:
        """Count of numbers per sampled value."""
        return int(self.values.shape[-1])

    @property
    def closes(self) -> bool:
        """True if the last key equals the first one, so that a loop continues smoothly."""
        keys = self.values[:, 1] if self._is_cubic else self.values
        tolerance = _CLOSED * np.abs(keys).max(initial=0.0)
        signs = (1, -1) if self.target_path == "rotation" else (1,)
        return any((np.abs(keys[-1] - sign * keys[0]) <= tolerance).all() for sign in signs)

    @property
    def _is_cubic(self) -> bool:
        return self.interpolation is Interpolation.CUBICSPLINE


class Animation(Struct, frozen=True, eq=False, kw_only=True):
    """A glTF animation: tracks that play together."""

    name: str
    tracks: tuple[AnimationTrack, ...]
    duration: float
    """The time of the last keyframe of all tracks [s]; 0 without tracks."""


class AnimationSampler:
    """Tracks stacked by path, interpolation and width, which are sampled at one time per call.

    No target may occur twice; the result for two tracks with the same target is unspecified.
    """

    def __init__(self, tracks: Iterable[AnimationTrack]) -> None:
        self._tracks = tuple(tracks)
        self._timelines = Timelines([track.times for track in self._tracks])
        grouped: dict[tuple[TargetPath, Interpolation, int], list[int]] = {}
        for index, track in enumerate(self._tracks):
            key = (track.target_path, track.interpolation, track.width)
            grouped.setdefault(key, []).append(index)
        self._groups: dict[TargetPath, list[_TrackGroup]] = {}
        for (path, _, _), indices in grouped.items():
            group = _TrackGroup(indices, [self._tracks[i] for i in indices], self._timelines)
            self._groups.setdefault(path, []).append(group)
        self._nodes = {path: self._targets(path) for path in self._groups}

    @property
    def tracks(self) -> tuple[AnimationTrack, ...]:
        """The tracks, in the order given."""
        return self._tracks

    @property
    def translation_nodes(self) -> IntArray:
        """The nodes that are moved."""
        return self._nodes.get("translation", _NO_NODES)

    @property
    def rotation_nodes(self) -> IntArray:
        """The nodes that are turned."""
        return self._nodes.get("rotation", _NO_NODES)

    @property
    def scale_nodes(self) -> IntArray:
        """The nodes that are scaled."""
        return self._nodes.get("scale", _NO_NODES)

    @property
    def animated_nodes(self) -> IntArray:
        """The nodes whose local transform any track drives, sorted."""
        return np.unique(
            np.concatenate([self.translation_nodes, self.rotation_nodes, self.scale_nodes])
        )

    def stepped_nodes(self, path: TargetPath) -> IntArray:
        """The nodes whose ``path`` jumps from key to key, sorted."""
        stepped = [
            track.node
            for track in self._tracks
            if track.node is not None
            and track.interpolation is Interpolation.STEP
            and track.target_path == path
        ]
        return np.unique(np.array(stepped, dtype=np.intp))

    @cached_property
    def open_nodes(self) -> IntArray:
        """The nodes whose local transform does not end as it begins, sorted."""
        moved = [track.node for track in self._open if track.target_path != "weights"]
        return np.unique(np.array(moved, dtype=np.intp))

    @property
    def closes(self) -> bool:
        """True if all nodes and their morph weights end as they begin."""
        return not self._open

    @cached_property
    def _open(self) -> tuple[AnimationTrack, ...]:
        return tuple(t for t in self._tracks if t.node is not None and not t.closes)

    def sample_into(
        self,
        time: float,
        translations: FloatArray,
        rotations_xyzw: FloatArray,
        scales: FloatArray,
    ) -> None:
        """Overwrite the rows of animated nodes in arrays of all nodes' local transforms."""
        position = self._timelines.locate(time)
        for path, target in (
            ("translation", translations),
            ("rotation", rotations_xyzw),
            ("scale", scales),
        ):
            for group in self._groups.get(path, ()):  # type: ignore[call-overload]  # literals above
                target[group.nodes] = group.sample(position)

    def sample_weights(self, time: float) -> dict[int, FloatArray]:
        """Morph weights by node, shape [target_count] each."""
        position = self._timelines.locate(time)
        return {
            node: row
            for group in self._groups.get("weights", ())
            for node, row in zip(group.nodes.tolist(), group.sample(position), strict=True)
        }

    def sample_pointers(self, time: float) -> dict[str, FloatArray]:
        """Values by JSON pointer, shape [width] each (KHR_animation_pointer)."""
        position = self._timelines.locate(time)
        return {
            self._tracks[index].pointer or "": row
            for group in self._groups.get("pointer", ())
            for index, row in zip(group.track_indices, group.sample(position), strict=True)
        }

    def _targets(self, path: TargetPath) -> IntArray:
        return np.concatenate([group.nodes for group in self._groups[path]])


def sample_track(track: AnimationTrack, time: float) -> FloatArray:
    """The value of one track at a time [s], shape [width]."""
    timelines = Timelines([track.times])
    value: FloatArray = _TrackGroup([0], [track], timelines).sample(timelines.locate(time))[0]
    return value


_NO_NODES: IntArray = np.zeros(0, dtype=np.intp)
"""Nodes of a sampler without tracks of a path."""


class _TrackGroup:
    """Tracks of one path, interpolation and width, their keyframes in one array."""

    def __init__(
        self,
        track_indices: Sequence[int],
        tracks: Sequence[AnimationTrack],
        timelines: Timelines,
    ) -> None:
        self.track_indices = tuple(track_indices)
        self.nodes: IntArray = np.array(
            [-1 if track.node is None else track.node for track in tracks], dtype=np.intp
        )
        self._interpolation = tracks[0].interpolation
        self._is_rotation = tracks[0].target_path == "rotation"
        self._timeline = timelines.of_track[list(track_indices)]
        lengths = np.array([len(track.times) for track in tracks], dtype=np.intp)
        self._starts = np.cumsum(lengths) - lengths
        self._values: FloatArray = np.concatenate([track.values for track in tracks])
        if self._is_rotation and self._interpolation is not Interpolation.CUBICSPLINE:
            self._values = quat_normalize(self._values)
        # From each key to the next of its track, once for all samples. The values from the last key
        # of one track to the first of another are never used, as the fraction is 0 there.
        following = np.roll(self._values, -1, axis=0)
        self._steps: FloatArray = np.zeros((0, 0))
        self._angles: FloatArray = np.zeros((0, 1))
        if self._interpolation is Interpolation.LINEAR:
            if self._is_rotation:
                self._steps, self._angles = arcs_between(self._values, following)
            else:
                self._steps = following - self._values

    def sample(self, position: KeyPosition) -> FloatArray:
        """Values at the time of ``position``, shape [track_count, width]."""
        key = self._starts + position.key.take(self._timeline)
        first = self._values.take(key, axis=0)
        if self._interpolation is Interpolation.STEP:
            return first
        fraction = position.fraction.take(self._timeline)[:, None]
        if self._interpolation is Interpolation.LINEAR:
            step = self._steps.take(key, axis=0)
            if not self._is_rotation:
                return first + fraction * step
            angle = fraction * self._angles.take(key, axis=0)
            return first * np.cos(angle) + step * np.sin(angle)
        second = self._values.take(self._starts + position.following[self._timeline], axis=0)
        span = position.span.take(self._timeline)[:, None]
        value = hermite(first[:, 1], first[:, 2], second[:, 1], second[:, 0], fraction, span)
        return quat_normalize(value) if self._is_rotation else value
