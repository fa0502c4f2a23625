"""Primitives: vertices, triangles and morph targets (glTF 2.0, "Meshes").

Also KHR_mesh_quantization, whose component types the accessors read anyway, and
KHR_draco_mesh_compression. Everything is in the mesh node's own frame, in metres. The file is long
since attributes, indices and targets of a primitive are checked against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.bounds import REPEATED_TARGET_VALUES
from gltf_bullet.diagnostics import Diagnostics, JsonPointer, error, note, warning
from gltf_bullet.gltf.accessors import AccessorArray, accessor_of, all_carried, denormalize
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.draco import DRACO_EXTENSION, decode_draco
from gltf_bullet.gltf.fields import VALUE_OUT_OF_RANGE, JsonObject, Reader
from gltf_bullet.transforms import FloatArray, IntArray

# --- Vertex attributes of one primitive: shape, count and finiteness checked ----------------------
#
# A wrong attribute is reported and left out; only POSITION decides whether there is a primitive
# (glTF 2.0, "Meshes").

POSITION_WRONG_SHAPE = error(
    "POSITION_WRONG_SHAPE", "{key} has elements of shape {got}; must be VEC3; there are no vertices"
)
ATTRIBUTE_WRONG_SHAPE = warning(
    "ATTRIBUTE_WRONG_SHAPE", "{key} has elements of shape {got}; must be {allowed}; it is left out"
)
ATTRIBUTE_WRONG_COUNT = warning(
    "ATTRIBUTE_WRONG_COUNT",
    "{key} has {got} elements; must have {allowed}, as POSITION has; it is left out",
)
ATTRIBUTE_NOT_FINITE = warning(
    "ATTRIBUTE_NOT_FINITE", "{key} holds NaN or infinite numbers; must be finite; it is left out"
)
ATTRIBUTE_UNPAIRED = warning("ATTRIBUTE_UNPAIRED", "{key} is there without {other}; it is left out")

_KNOWN = re.compile(r"POSITION|NORMAL|COLOR_0|(TEXCOORD|JOINTS|WEIGHTS)_(0|[1-9]\d{0,2})")
"""Names of attributes that are read; sets are numbered from 0 without leading zeros. Tangents and
custom attributes are not read."""


def read_attributes(document: Document, indices: Reader) -> dict[str, AccessorArray]:
    """The arrays of the attributes that this library uses; unreadable ones are left out."""
    found: dict[str, AccessorArray] = {}
    for name in indices.json:
        if _KNOWN.fullmatch(name) is None:
            continue
        if name == "POSITION":
            array = accessor_of(document, indices, name)
        else:
            sink = Diagnostics()
            array = accessor_of(document, Reader(indices.json, indices.at, sink), name)
            do_without(sink, f"{name} is left out", indices.diagnostics)
        if array is not None:
            found[name] = array
    return found


def read_positions(array: AccessorArray, indices: Reader) -> FloatArray | None:
    """Finite float64 vectors [count, 3]; ``None``, with an issue, if they are unusable."""
    key = "POSITION"
    if array.ndim != 2 or array.shape[1] != 3:
        indices.report(POSITION_WRONG_SHAPE, key, key=key, got=array.shape[1:])
        return None
    if not all_carried(array, key, indices, key):
        return None
    result = array.astype(np.float64)
    result.flags.writeable = False
    return result


class VertexAttributes(Struct, frozen=True, kw_only=True):
    """The attributes beside POSITION, to be read by meaning."""

    arrays: Mapping[str, AccessorArray]
    vertex_count: int
    indices: Reader
    """The attributes object."""

    def normals(self) -> FloatArray | None:
        """NORMAL, shape [vertex_count, 3]."""
        return self._floats("NORMAL", 3)

    def texcoords(self) -> dict[int, FloatArray]:
        """TEXCOORD_n by n, shape [vertex_count, 2] each."""
        found = {number: self._floats(f"TEXCOORD_{number}", 2) for number in self._sets("TEXCOORD")}
        return {number: array for number, array in found.items() if array is not None}

    def colors(self) -> FloatArray | None:
        """COLOR_0 as RGBA, shape [vertex_count, 4]; RGB gets alpha 1."""
        colors = self._floats("COLOR_0", 3, 4)
        if colors is None or colors.shape[1] == 4:
            return colors
        result = np.ones((self.vertex_count, 4))
        result[:, :3] = colors
        result.flags.writeable = False
        return result

    def skinning(self) -> tuple[npt.NDArray[np.int64] | None, FloatArray | None]:
        """All JOINTS_n side by side and all WEIGHTS_n, shape [vertex_count, 4 * sets] each."""
        joints: list[npt.NDArray[np.int64]] = []
        weights: list[FloatArray] = []
        for number in sorted({*self._sets("JOINTS"), *self._sets("WEIGHTS")}):
            names = (f"JOINTS_{number}", f"WEIGHTS_{number}")
            for name, other in (names, names[::-1]):
                if name in self.arrays and other not in self.arrays:
                    self.indices.report(ATTRIBUTE_UNPAIRED, name, key=name, other=other)
            joint, weight = self._whole(names[0], 4), self._floats(names[1], 4)
            if joint is not None and weight is not None:
                joints.append(joint)
                weights.append(weight)
        if not joints:
            return None, None
        all_joints, all_weights = np.concatenate(joints, axis=1), np.concatenate(weights, axis=1)
        all_joints.flags.writeable = all_weights.flags.writeable = False
        return all_joints, all_weights

    def _sets(self, kind: str) -> list[int]:
        return sorted(
            int(name.rpartition("_")[2]) for name in self.arrays if name.startswith(kind + "_")
        )

    def _checked(self, name: str, *widths: int) -> AccessorArray | None:
        array = self.arrays.get(name)
        if array is None:
            return None
        if array.ndim != 2 or array.shape[1] not in widths:
            allowed = " or ".join(f"VEC{width}" for width in widths)
            got = array.shape[1:]
            self.indices.report(ATTRIBUTE_WRONG_SHAPE, name, key=name, got=got, allowed=allowed)
            return None
        if len(array) != self.vertex_count:
            count = self.vertex_count
            self.indices.report(
                ATTRIBUTE_WRONG_COUNT, name, key=name, got=len(array), allowed=count
            )
            return None
        return array

    def _floats(self, name: str, *widths: int) -> FloatArray | None:
        array = self._checked(name, *widths)
        if array is None:
            return None
        if not bool(np.isfinite(array).all()):
            # Only pictures suffer, and normals of 0/0 are common in exported files.
            self.indices.report(ATTRIBUTE_NOT_FINITE, name, key=name)
            return None
        result = array.astype(np.float64)
        result.flags.writeable = False
        return result

    def _whole(self, name: str, width: int) -> npt.NDArray[np.int64] | None:
        array = self._checked(name, width)
        if array is None:
            return None
        if array.dtype.kind != "u":
            got, allowed = array.dtype.name, "unsigned and not normalized"
            self.indices.report(ATTRIBUTE_WRONG_SHAPE, name, key=name, got=got, allowed=allowed)
            return None
        return array.astype(np.int64)


# --- Primitives: triangles and morph targets ------------------------------------------------------

TRIANGLES: Final = 4
"""``mode`` of a primitive (glTF 2.0, "Geometry")."""
TRIANGLE_STRIP: Final = 5
TRIANGLE_FAN: Final = 6

POSITION_MISSING = warning(
    "POSITION_MISSING", "the primitive has no POSITION; it has no shape and is left out"
)
INDICES_WRONG_TYPE = error(
    "INDICES_WRONG_TYPE",
    "the indices are {got}; must be SCALAR of an unsigned component type; no triangles are made",
)
INDEX_BEYOND_VERTICES = error(
    "INDEX_BEYOND_VERTICES",
    "vertex index {got} is used; must be below {count}; {dropped} triangles are left out",
)
PRIMITIVE_WITHOUT_TRIANGLES = note(
    "PRIMITIVE_WITHOUT_TRIANGLES",
    "the primitive draws points or lines (mode {got}); it has vertices and no triangles",
)
TARGETS_TOO_LARGE = error(
    "TARGETS_TOO_LARGE",
    "the morph targets hold {got} values; must be at most {allowed} "
    "(ReadLimits.max_accessor_values); they are left out",
)
TARGETS_REPEATED = error(
    "TARGETS_REPEATED",
    "the morph targets up to this primitive repeat {got} values of other targets' accessors; must "
    "be at most {allowed}; its targets are left out",
)
VERTICES_LEFT_OVER = warning(
    "VERTICES_LEFT_OVER",
    "{got} vertices for triangles; must be a multiple of 3; the rest is left out",
)


class Primitive(Struct, frozen=True, eq=False, kw_only=True):
    """One drawable part of a mesh. Arrays are read-only."""

    positions: FloatArray
    """Positions [m], shape [vertex_count, 3]."""
    triangles: npt.NDArray[np.int64]
    """Vertex indices, counter-clockwise seen from the front, shape [triangle_count, 3]."""
    normals: FloatArray | None
    """Unit normals, shape [vertex_count, 3]."""
    texcoords: Mapping[int, FloatArray]
    """By number of the set, shape [vertex_count, 2] each; v grows downwards, as in the file."""
    colors: FloatArray | None
    """Linear RGBA in 0..1 (COLOR_0), shape [vertex_count, 4]."""
    joints: npt.NDArray[np.int64] | None
    """Indices into the skin's joint list, all sets side by side, shape [vertex_count, 4 * sets]."""
    joint_weights: FloatArray | None
    """Weights of ``joints``, as authored, the same shape."""
    morph_positions: FloatArray | None
    """Displacements per target, shape [target_count, vertex_count, 3]; ``None`` without targets."""
    material: int | None
    pointer: JsonPointer
    """Location of the primitive in the JSON."""


def read_primitive(document: Document, entry: Reader) -> Primitive | None:
    """The primitive of ``entry`` at ``at``; ``None``, with an issue, without positions."""
    mode = entry.size("mode", default=TRIANGLES)
    if mode is None or mode > 6:
        if mode is not None:
            entry.report(VALUE_OUT_OF_RANGE, "mode", key="mode", got=mode, allowed="in 0 .. 6")
        return None
    count = document.count("materials")
    material = entry.index("material", count=count, instead="it is shown without one")
    entry.has("attributes", "an object")
    indices = entry.member_or_empty("attributes")
    if "POSITION" not in indices:
        indices.report(POSITION_MISSING)
        return None
    triangles: npt.NDArray[np.int64] | None = None
    draco = _draco_extension(document, entry, indices)
    if draco is not None:
        decoded = decode_draco(document, draco)
        if decoded is None:
            return None
        arrays, triangles = decoded
        arrays = {name: _denormalized(document, indices, name, arrays[name]) for name in arrays}
    else:
        arrays = read_attributes(document, indices)
    if "POSITION" not in arrays:
        return None
    positions = read_positions(arrays["POSITION"], indices)
    if positions is None:
        return None
    if triangles is None:
        triangles = _read_triangles(document, entry, mode, len(positions))
    attributes = VertexAttributes(arrays=arrays, vertex_count=len(positions), indices=indices)
    joints, joint_weights = attributes.skinning()
    return Primitive(
        positions=positions,
        triangles=_within(triangles, len(positions), entry),
        normals=attributes.normals(),
        texcoords=attributes.texcoords(),
        colors=attributes.colors(),
        joints=joints,
        joint_weights=joint_weights,
        morph_positions=_read_targets(document, entry, len(positions)),
        material=material,
        pointer=entry.at,
    )


def _draco_extension(document: Document, entry: Reader, indices: Reader) -> Reader | None:
    """The extension if it is the only source; uncompressed fall-back data comes first."""
    extensions = entry.get("extensions")
    if not isinstance(extensions, dict) or not isinstance(extensions.get(DRACO_EXTENSION), dict):
        return None
    accessor = _accessor_of(document, indices, "POSITION")
    if accessor is not None and "bufferView" in accessor:
        return None
    return entry.member_or_empty("extensions").member(DRACO_EXTENSION)


def _denormalized(
    document: Document, indices: Reader, name: str, array: AccessorArray
) -> AccessorArray:
    """Fractions of integers that Draco decoded, if their accessor is normalized."""
    accessor = _accessor_of(document, indices, name) or {}
    is_fraction = accessor.get("normalized") in (True, 1) and array.dtype.itemsize <= 2
    return denormalize(array) if is_fraction else array


def _accessor_of(document: Document, indices: Reader, name: str) -> JsonObject | None:
    accessors, index = document.objects("accessors"), indices.get(name)
    return accessors[index] if isinstance(index, int) and 0 <= index < len(accessors) else None


def _read_triangles(
    document: Document, entry: Reader, mode: int, vertex_count: int
) -> npt.NDArray[np.int64]:
    """Triangles [count, 3], not yet compared with the number of vertices."""
    nothing = np.zeros((0, 3), dtype=np.int64)
    if not _is_surface(mode):
        entry.report(PRIMITIVE_WITHOUT_TRIANGLES, got=mode)
        return nothing
    if "indices" in entry:
        array = accessor_of(document, entry, "indices")
        if array is None:
            return nothing
        if array.ndim != 1 or array.dtype.kind != "u":
            got = f"{array.dtype.name} of shape {array.shape[1:]}"
            entry.report(INDICES_WRONG_TYPE, "indices", got=got)
            return nothing
        order = array.astype(np.int64)
    else:
        order = np.arange(vertex_count, dtype=np.int64)
    if mode == TRIANGLES and len(order) % 3:
        entry.report(VERTICES_LEFT_OVER, got=len(order))
    return _triangles_of_order(order, mode)


def _within(
    triangles: npt.NDArray[np.int64],
    vertex_count: int,
    entry: Reader,
) -> npt.NDArray[np.int64]:
    """The triangles whose vertices exist, read-only."""
    beyond = (triangles >= vertex_count).any(axis=1)
    if bool(beyond.any()):
        got, dropped = int(triangles.max()), int(beyond.sum())
        entry.report(INDEX_BEYOND_VERTICES, "indices", got=got, count=vertex_count, dropped=dropped)
        triangles = triangles[~beyond]
    triangles = triangles.view()
    triangles.flags.writeable = False
    return triangles


def _read_targets(document: Document, entry: Reader, vertex_count: int) -> FloatArray | None:
    """Displacements [target_count, vertex_count, 3]; a target without POSITION moves nothing."""
    targets = list(entry.entries("targets"))
    if not targets:
        return None
    # A target is a few bytes of JSON and a whole array here.
    values = len(targets) * vertex_count * 3
    if values > document.limits.max_accessor_values:
        allowed = document.limits.max_accessor_values
        entry.report(TARGETS_TOO_LARGE, "targets", got=values, allowed=allowed)
        return None
    used = [repr(target.get("POSITION")) for target in targets]
    repeated = document.derive(("repeated targets", 0), lambda _: [0], entry.diagnostics)
    repeated[0] += (len(used) - len(set(used))) * vertex_count * 3
    if repeated[0] > REPEATED_TARGET_VALUES:
        entry.report(TARGETS_REPEATED, "targets", got=repeated[0], allowed=REPEATED_TARGET_VALUES)
        return None
    result = np.zeros((len(targets), vertex_count, 3))
    for number, target in enumerate(targets):
        positions = {key: target[key] for key in target.json if key == "POSITION"}
        named = Reader(positions, target.at, target.diagnostics)
        array = read_attributes(document, named).get("POSITION")
        moved = None if array is None else read_positions(array, named)
        if moved is not None and len(moved) == vertex_count:
            result[number] = moved
        elif moved is not None:
            got, key = len(moved), "POSITION"
            target.report(ATTRIBUTE_WRONG_COUNT, key, key=key, got=got, allowed=vertex_count)
    result.flags.writeable = False
    return result


def _is_surface(mode: int) -> bool:
    """Return True if the mode makes triangles; 0 to 3 are points and lines."""
    return mode in (TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN)


def _triangles_of_order(order: IntArray, mode: int) -> IntArray:
    """Triangles [count, 3] of the vertices ``order``, counter-clockwise as the file means it.

    Vertices that complete no triangle are left out. Strips and fans drop triangles with a repeated
    vertex, which join their parts; lists keep them, as authored.
    """
    if mode == TRIANGLES:
        return order[: len(order) // 3 * 3].reshape(-1, 3)
    count = max(len(order) - 2, 0)
    step = np.arange(count)
    if mode == TRIANGLE_STRIP:
        # Every second triangle is turned to keep the winding: (i, i + 1 + i % 2, i + 2 - i % 2).
        odd = step % 2
        corners = np.stack([step, step + 1 + odd, step + 2 - odd], axis=1)
    else:
        corners = np.stack([step + 1, step + 2, np.zeros_like(step)], axis=1)
    triangles = order[corners]
    a, b, c = triangles.T
    kept: IntArray = triangles[(a != b) & (b != c) & (c != a)]
    return kept
