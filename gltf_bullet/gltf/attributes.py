"""Vertex attributes of one primitive: shape, count and finiteness checked (glTF 2.0, "Meshes").

A wrong attribute is reported and left out; only POSITION decides whether there is a primitive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.accessors import AccessorArray, all_carried, read_accessor
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject, read_index
from gltf_bullet.transforms import FloatArray

__all__ = ["ATTRIBUTE_WRONG_COUNT", "VertexAttributes", "read_attributes", "read_positions"]

POSITION_WRONG_SHAPE = IssueKind(
    "POSITION_WRONG_SHAPE",
    Severity.ERROR,
    "{key} has elements of shape {got}; must be VEC3; there are no vertices",
)
ATTRIBUTE_WRONG_SHAPE = IssueKind(
    "ATTRIBUTE_WRONG_SHAPE",
    Severity.WARNING,
    "{key} has elements of shape {got}; must be {allowed}; it is left out",
)
ATTRIBUTE_WRONG_COUNT = IssueKind(
    "ATTRIBUTE_WRONG_COUNT",
    Severity.WARNING,
    "{key} has {got} elements; must have {allowed}, as POSITION has; it is left out",
)
ATTRIBUTE_NOT_FINITE = IssueKind(
    "ATTRIBUTE_NOT_FINITE",
    Severity.WARNING,
    "{key} holds NaN or infinite numbers; must be finite; it is left out",
)
ATTRIBUTE_UNPAIRED = IssueKind(
    "ATTRIBUTE_UNPAIRED", Severity.WARNING, "{key} is there without {other}; it is left out"
)

_KNOWN = re.compile(r"POSITION|NORMAL|COLOR_0|(TEXCOORD|JOINTS|WEIGHTS)_(0|[1-9]\d{0,2})")
"""Sets are numbered from 0 without leading zeros; tangents and custom attributes are not read."""


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
    """Finite float64 vectors [count, 3]; ``None`` with an issue where they are none."""
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
    """The attributes beside POSITION, ready to be taken by meaning."""

    arrays: Mapping[str, AccessorArray]
    vertex_count: int
    at: JsonPointer
    """Where the attributes object is."""
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
