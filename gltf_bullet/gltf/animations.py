"""Keyframe tracks from animations (glTF 2.0, "Animations"; KHR_animation_pointer).

A pointer to a node's translation, rotation, scale or weights becomes a track of that node, which is
equivalent. Other pointers stay as they are written. A wrong channel is reported and left out.
"""

from __future__ import annotations

import re
from typing import cast

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.gltf.accessors import AccessorArray, accessor_of, all_carried
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, Reader
from gltf_bullet.scene.animation import Animation, AnimationTrack, Interpolation, TargetPath
from gltf_bullet.transforms import FloatArray, quat_normalize

POINTER_EXTENSION = "KHR_animation_pointer"

CHANNEL_WITHOUT_NODE = note(
    "CHANNEL_WITHOUT_NODE", "the channel names no node; it animates nothing"
)
CHANNEL_REPEATED = warning(
    "CHANNEL_REPEATED",
    "{got} is animated by an earlier channel of this animation already; the first one is used",
)
SAMPLER_INPUT_WRONG = warning(
    "SAMPLER_INPUT_WRONG",
    "the keyframe times are {got}; must be SCALAR floats, one at least; the channel is left out",
)
TIMES_NOT_INCREASING = warning(
    "TIMES_NOT_INCREASING",
    "keyframe {key} is at {got} s after {before} s; times must be >= 0 and increase; "
    "the channel is left out",
)
TIMES_REPEATED = warning(
    "TIMES_REPEATED",
    "keyframe {key} is at {got} s, as the one before; times must increase; the value jumps there",
)
SAMPLER_OUTPUT_WRONG = warning(
    "SAMPLER_OUTPUT_WRONG",
    "{got} values for {keys} keyframes of {path} ({interpolation}); must be {needed}; "
    "the channel is left out",
)
ROTATION_ZERO = warning(
    "ROTATION_ZERO", "rotation keyframe {key} has length {got}; must be 1; the channel is left out"
)

PATHS: dict[str, TargetPath] = {
    "translation": "translation",
    "rotation": "rotation",
    "scale": "scale",
    "weights": "weights",
    "pointer": "pointer",
}
INTERPOLATIONS = {mode.value: mode for mode in Interpolation}
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
"""Count of numbers per keyframe."""
_NODE_POINTER = re.compile(r"/nodes/(0|[1-9][0-9]*)/(translation|rotation|scale|weights)")


def read_animations(document: Document, diagnostics: Diagnostics) -> tuple[Animation, ...]:
    """All animations of the file, in file order; read once per document."""

    def read(sink: Diagnostics) -> tuple[Animation, ...]:
        found = Diagnostics()
        animations = tuple(
            _read_animation(document, document.reader("animations", index, found))
            for index in range(document.count("animations"))
        )
        do_without(found, "the channel is left out", sink)
        return animations

    return document.derive(("animations", 0), read, diagnostics)


def _read_animation(document: Document, owner: Reader) -> Animation:
    samplers = list(owner.entries("samplers"))
    tracks: dict[tuple[TargetPath, object], AnimationTrack] = {}
    for channel in owner.entries("channels"):
        target = _read_target(document, channel)
        if target is None or not channel.has("sampler", "an index"):
            continue
        path, node, pointer = target
        sampler = channel.index("sampler", count=len(samplers))
        if sampler is None:
            continue
        key = (path, pointer if node is None else node)
        if key in tracks:
            got = pointer if node is None else f"{path} of node {node}"
            channel.report(CHANNEL_REPEATED, "target", got=got)
            continue
        keyframes = _read_sampler(document, samplers[sampler], path)
        if keyframes is not None:
            times, values, interpolation = keyframes
            tracks[key] = AnimationTrack(
                target_path=path,
                node=node,
                pointer=pointer,
                times=times,
                values=values,
                interpolation=interpolation,
            )
    return Animation(
        name=owner.string("name", instead="it has no name") or "",
        tracks=tuple(tracks.values()),
        duration=max((float(track.times[-1]) for track in tracks.values()), default=0.0),
    )


def _read_target(
    document: Document, channel: Reader
) -> tuple[TargetPath, int | None, str | None] | None:
    """Path, node and pointer of a channel; ``None`` if it animates nothing."""
    if not channel.has("target", "an object"):
        return None
    target = channel.member("target")
    if target is None or not target.has("path", ", ".join(PATHS)):
        return None
    path = target.choice("path", choices=PATHS)
    if path == "pointer":
        return _read_pointer(document, target)
    node = target.index("node", count=len(document.tree))
    if "node" not in target:
        target.report(CHANNEL_WITHOUT_NODE)
    return None if path is None or node is None else (path, node, None)


def _read_pointer(
    document: Document, target: Reader
) -> tuple[TargetPath, int | None, str | None] | None:
    extensions = target.member_or_empty("extensions")
    if not extensions.has(POINTER_EXTENSION, "an object"):
        return None
    extension = extensions.member(POINTER_EXTENSION)
    if extension is None or not extension.has("pointer", "a JSON pointer"):
        return None
    pointer = extension.string("pointer")
    match = None if pointer is None else _NODE_POINTER.fullmatch(pointer)
    if match is None:
        return None if pointer is None else ("pointer", None, pointer)
    # Longer numbers are out of range of every file, and too long for int().
    node = int(match[1][:18])
    if node >= len(document.tree):
        count = len(document.tree)
        extension.report(INDEX_OUT_OF_RANGE, "pointer", key="node", got=node, count=count)
        return None
    return cast("TargetPath", match[2]), node, pointer


def _read_sampler(
    document: Document, sampler: Reader, path: TargetPath
) -> tuple[FloatArray, FloatArray, Interpolation] | None:
    """Times, values and interpolation, shaped for an :class:`AnimationTrack`."""
    interpolation: Interpolation | None = Interpolation.LINEAR
    if "interpolation" in sampler:
        interpolation = sampler.choice("interpolation", choices=INTERPOLATIONS)
    arrays: list[AccessorArray | None] = []
    for key in ("input", "output"):
        array = accessor_of(document, sampler, key) if sampler.has(key, "an index") else None
        what = path if key == "output" and path in WIDTHS else key
        arrays.append(array if array is None or all_carried(array, what, sampler, key) else None)
    inputs, outputs = arrays
    if interpolation is None or inputs is None or outputs is None:
        return None
    times = _read_times(inputs, sampler)
    if times is None:
        return None
    values = _read_values(outputs, len(times), path, interpolation, sampler)
    return None if values is None else (times, values, interpolation)


def _read_times(array: AccessorArray, sampler: Reader) -> FloatArray | None:
    if array.ndim != 1 or array.dtype.kind != "f" or not len(array):
        got = f"{len(array)} {array.dtype.name} elements of shape {array.shape[1:]}"
        sampler.report(SAMPLER_INPUT_WRONG, "input", got=got)
        return None
    times = array.astype(np.float64)

    steps = np.diff(times, prepend=0.0)
    wrong = np.flatnonzero(steps < 0.0)
    if wrong.size:
        key = int(wrong[0])
        before = float(times[key - 1]) if key else 0.0
        time = float(times[key])
        sampler.report(TIMES_NOT_INCREASING, "input", key=key, got=time, before=before)
        return None
    repeated = np.flatnonzero(steps[1:] == 0.0)
    if repeated.size:
        key = int(repeated[0]) + 1
        sampler.report(TIMES_REPEATED, "input", key=key, got=float(times[key]))
    times.flags.writeable = False
    return times


def _read_values(
    array: AccessorArray,
    keys: int,
    path: TargetPath,
    interpolation: Interpolation,
    sampler: Reader,
) -> FloatArray | None:
    """Values per keyframe, shape [keys, width], or [keys, 3, width] for splines."""
    if array.ndim == 3:
        array = array.swapaxes(1, 2)  # flat as stored: columns first
    cubic = interpolation is Interpolation.CUBICSPLINE
    rows = keys * 3 if cubic else keys
    # Weights, and pointers to lists, have as many elements per key as there are targets.
    several = path in ("weights", "pointer")
    width = array.size // rows
    fits = len(array) % rows == 0 if several else len(array) == rows
    if not fits or not width or width != WIDTHS.get(path, width):
        needed = f"{rows} of {WIDTHS[path]} numbers" if path in WIDTHS else f"a multiple of {rows}"
        got = f"{len(array)} of shape {array.shape[1:]}"
        sampler.report(
            SAMPLER_OUTPUT_WRONG, "output", got=got, keys=keys, path=path,
            interpolation=interpolation.value, needed=needed,
        )  # fmt: skip
        return None
    values = array.astype(np.float64).reshape((keys, 3, width) if cubic else (keys, width))
    if path == "rotation":
        points = values[:, 1] if cubic else values
        lengths = np.linalg.norm(points, axis=1)
        zero = np.flatnonzero(lengths < 1e-6)
        if zero.size:
            key = int(zero[0])
            sampler.report(ROTATION_ZERO, "output", key=key, got=float(lengths[key]))
            return None
        if not cubic:
            values = quat_normalize(values)
    values.flags.writeable = False
    return values
