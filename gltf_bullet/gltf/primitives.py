"""Primitives: vertices, triangles and morph targets (glTF 2.0, "Meshes").

Also KHR_mesh_quantization, whose component types the accessors read anyway, and
KHR_draco_mesh_compression. Everything is in the mesh node's own frame, in metres. The file is long
since attributes, indices and targets of a primitive are checked against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gltf_bullet.bounds import REPEATED_TARGET_VALUES
from gltf_bullet.diagnostics import Diagnostics, JsonPointer, error, note, warning
from gltf_bullet.gltf.accessors import AccessorArray, all_carried, denormalize, read_accessor
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.draco import DRACO_EXTENSION, decode_draco
from gltf_bullet.gltf.fields import (
    VALUE_OUT_OF_RANGE,
    JsonObject,
    has_required,
    read_index,
    read_object,
    read_objects,
    read_size,
)
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


def read_attributes(
    document: Document, indices: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> dict[str, AccessorArray]:
    """The arrays of the attributes that this library uses; unreadable ones are left out."""
    found: dict[str, AccessorArray] = {}
    for name in indices:
        if _KNOWN.fullmatch(name) is None:
            continue
        sink = diagnostics if name == "POSITION" else Diagnostics()
        count = document.count("accessors")
        accessor = read_index(indices, name, at, sink, count=count)
        array = None if accessor is None else read_accessor(document, accessor, sink)
        if sink is not diagnostics:
            do_without(sink, f"{name} is left out", diagnostics)
        if array is not None:
            found[name] = array
    return found


def read_positions(
    array: AccessorArray, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> FloatArray | None:
    """Finite float64 vectors [count, 3]; ``None``, with an issue, if they are unusable."""
    if array.ndim != 2 or array.shape[1] != 3:
        diagnostics.report(POSITION_WRONG_SHAPE, at, key=key, got=array.shape[1:])
        return None
    if not all_carried(array, key, at, diagnostics):
        return None
    result = array.astype(np.float64)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexAttributes:
    """The attributes beside POSITION, to be read by meaning."""

    arrays: Mapping[str, AccessorArray]
    vertex_count: int
    at: JsonPointer
    """Location of the attributes object."""
    diagnostics: Diagnostics

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
                    self.diagnostics.report(
                        ATTRIBUTE_UNPAIRED, self.at / name, key=name, other=other
                    )
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
        at = self.at / name
        if array.ndim != 2 or array.shape[1] not in widths:
            allowed = " or ".join(f"VEC{width}" for width in widths)
            self.diagnostics.report(
                ATTRIBUTE_WRONG_SHAPE, at, key=name, got=array.shape[1:], allowed=allowed
            )
            return None
        if len(array) != self.vertex_count:
            self.diagnostics.report(
                ATTRIBUTE_WRONG_COUNT, at, key=name, got=len(array), allowed=self.vertex_count
            )
            return None
        return array

    def _floats(self, name: str, *widths: int) -> FloatArray | None:
        array = self._checked(name, *widths)
        if array is None:
            return None
        if not bool(np.isfinite(array).all()):
            # Only pictures suffer, and normals of 0/0 are common in exported files.
            self.diagnostics.report(ATTRIBUTE_NOT_FINITE, self.at / name, key=name)
            return None
        result = array.astype(np.float64)
        result.flags.writeable = False
        return result

    def _whole(self, name: str, width: int) -> npt.NDArray[np.int64] | None:
        array = self._checked(name, width)
        if array is None:
            return None
        if array.dtype.kind != "u":
            self.diagnostics.report(
                ATTRIBUTE_WRONG_SHAPE,
                self.at / name,
                key=name,
                got=array.dtype.name,
                allowed="unsigned and not normalized",
            )
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Primitive:
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


def read_primitive(
    document: Document, entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> Primitive | None:
    """The primitive of ``entry`` at ``at``; ``None``, with an issue, without positions."""
    mode = read_size(entry, "mode", at, diagnostics, default=TRIANGLES)
    if mode is None or mode > 6:
        if mode is not None:
            diagnostics.report(
                VALUE_OUT_OF_RANGE, at / "mode", key="mode", got=mode, allowed="in 0 .. 6"
            )
        return None
    count = document.count("materials")
    material = read_index(
        entry, "material", at, diagnostics, count=count, instead="it is shown without one"
    )
    attributes_at = at / "attributes"
    has_required(entry, "attributes", "an object", at, diagnostics)
    indices = read_object(entry, "attributes", at, diagnostics) or {}
    if "POSITION" not in indices:
        diagnostics.report(POSITION_MISSING, attributes_at)
        return None
    triangles: npt.NDArray[np.int64] | None = None
    draco = _draco_extension(document, entry, indices)
    if draco is not None:
        decoded = decode_draco(document, draco, at / "extensions" / DRACO_EXTENSION, diagnostics)
        if decoded is None:
            return None
        arrays, triangles = decoded
        arrays = {name: _denormalized(document, indices, name, arrays[name]) for name in arrays}
    else:
        arrays = read_attributes(document, indices, attributes_at, diagnostics)
    if "POSITION" not in arrays:
        return None
    positions = read_positions(
        arrays["POSITION"], "POSITION", attributes_at / "POSITION", diagnostics
    )
    if positions is None:
        return None
    if triangles is None:
        triangles = _read_triangles(document, entry, mode, len(positions), at, diagnostics)
    attributes = VertexAttributes(
        arrays=arrays, vertex_count=len(positions), at=attributes_at, diagnostics=diagnostics
    )
    joints, joint_weights = attributes.skinning()
    return Primitive(
        positions=positions,
        triangles=_within(triangles, len(positions), at / "indices", diagnostics),
        normals=attributes.normals(),
        texcoords=attributes.texcoords(),
        colors=attributes.colors(),
        joints=joints,
        joint_weights=joint_weights,
        morph_positions=_read_targets(document, entry, len(positions), at, diagnostics),
        material=material,
        pointer=at,
    )


def _draco_extension(
    document: Document, entry: JsonObject, indices: JsonObject
) -> JsonObject | None:
    """The extension if it is the only source; uncompressed fall-back data comes first."""
    extensions = entry.get("extensions")
    extension = extensions.get(DRACO_EXTENSION) if isinstance(extensions, dict) else None
    if not isinstance(extension, dict):
        return None
    accessor = _accessor_of(document, indices, "POSITION")
    return None if accessor is not None and "bufferView" in accessor else extension


def _denormalized(
    document: Document, indices: JsonObject, name: str, array: AccessorArray
) -> AccessorArray:
    """Fractions of integers that Draco decoded, if their accessor is normalized."""
    accessor = _accessor_of(document, indices, name) or {}
    is_fraction = accessor.get("normalized") in (True, 1) and array.dtype.itemsize <= 2
    return denormalize(array) if is_fraction else array


def _accessor_of(document: Document, indices: JsonObject, name: str) -> JsonObject | None:
    accessors, index = document.objects("accessors"), indices.get(name)
    return accessors[index] if isinstance(index, int) and 0 <= index < len(accessors) else None


def _read_triangles(
    document: Document,
    entry: JsonObject,
    mode: int,
    vertex_count: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
) -> npt.NDArray[np.int64]:
    """Triangles [count, 3], not yet compared with the number of vertices."""
    nothing = np.zeros((0, 3), dtype=np.int64)
    if not _is_surface(mode):
        diagnostics.report(PRIMITIVE_WITHOUT_TRIANGLES, at, got=mode)
        return nothing
    if "indices" in entry:
        count = document.count("accessors")
        accessor = read_index(entry, "indices", at, diagnostics, count=count)
        array = None if accessor is None else read_accessor(document, accessor, diagnostics)
        if array is None:
            return nothing
        if array.ndim != 1 or array.dtype.kind != "u":
            got = f"{array.dtype.name} of shape {array.shape[1:]}"
            diagnostics.report(INDICES_WRONG_TYPE, at / "indices", got=got)
            return nothing
        order = array.astype(np.int64)
    else:
        order = np.arange(vertex_count, dtype=np.int64)
    if mode == TRIANGLES and len(order) % 3:
        diagnostics.report(VERTICES_LEFT_OVER, at, got=len(order))
    return _triangles_of_order(order, mode)


def _within(
    triangles: npt.NDArray[np.int64],
    vertex_count: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
) -> npt.NDArray[np.int64]:
    """The triangles whose vertices exist, read-only."""
    beyond = (triangles >= vertex_count).any(axis=1)
    if bool(beyond.any()):
        diagnostics.report(
            INDEX_BEYOND_VERTICES,
            at,
            got=int(triangles.max()),
            count=vertex_count,
            dropped=int(beyond.sum()),
        )
        triangles = triangles[~beyond]
    triangles = triangles.view()
    triangles.flags.writeable = False
    return triangles


def _read_targets(
    document: Document,
    entry: JsonObject,
    vertex_count: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
) -> FloatArray | None:
    """Displacements [target_count, vertex_count, 3]; a target without POSITION moves nothing."""
    targets = list(read_objects(entry, "targets", at, diagnostics))
    if not targets:
        return None
    # A target is a few bytes of JSON and a whole array here.
    values = len(targets) * vertex_count * 3
    if values > document.limits.max_accessor_values:
        allowed = document.limits.max_accessor_values
        diagnostics.report(TARGETS_TOO_LARGE, at / "targets", got=values, allowed=allowed)
        return None
    used = [repr(target.get("POSITION")) for _, _, target in targets]
    repeated = document.derive(("repeated targets", 0), lambda _: [0], diagnostics)
    repeated[0] += (len(used) - len(set(used))) * vertex_count * 3
    if repeated[0] > REPEATED_TARGET_VALUES:
        diagnostics.report(
            TARGETS_REPEATED, at / "targets", got=repeated[0], allowed=REPEATED_TARGET_VALUES
        )
        return None
    result = np.zeros((len(targets), vertex_count, 3))
    for number, target_at, target in targets:
        positions = {key: target[key] for key in target if key == "POSITION"}
        array = read_attributes(document, positions, target_at, diagnostics).get("POSITION")
        if array is None:
            continue
        moved = read_positions(array, "POSITION", target_at / "POSITION", diagnostics)
        if moved is not None and len(moved) == vertex_count:
            result[number] = moved
        elif moved is not None:
            diagnostics.report(
                ATTRIBUTE_WRONG_COUNT,
                target_at / "POSITION",
                key="POSITION",
                got=len(moved),
                allowed=vertex_count,
            )
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
