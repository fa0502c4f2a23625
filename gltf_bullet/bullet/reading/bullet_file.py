"""Bullet's own file format (``pybullet.saveBullet``), for what PyBullet's calls do not return.

No call returns collision masks, or meshes from memory or of triangles; the files contain both. A
file is a row of chunks, each an array of C structures under the address that it had in memory; the
last chunk, ``DNA1``, has the layout of every structure.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import Any, Final

import numpy as np
from msgspec import Struct

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import FloatArray, IntArray

_CONVEX_HULL: Final = 4
_BALL: Final = 8
_BALLS: Final = 9
_TRIANGLE_MESH: Final = 21
_COMPOUND: Final = 31
"""Shape types: ``BroadphaseNativeTypes`` of Bullet."""

_BASIC: Final = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "long": "i4",
    "ulong": "u4", "float": "f4", "double": "f8", "void": "V1",
}  # fmt: skip


class SavedMesh(Struct, frozen=True, eq=False):
    """A mesh as the engine collides with it, in the frame of its shape."""

    points: FloatArray
    triangles: IntArray | None
    """Vertex indices, shape [m, 3]; ``None``: the convex hull of the points."""


class SavedBalls(Struct, frozen=True, eq=False):
    """The convex hull of balls, as which the engine stores MJCF's capsules."""

    shape_from_balls: FloatArray
    """Pose of the balls in the shape, [4, 4]."""
    centers: FloatArray
    """Centres [m], shape [k, 3]."""
    radii: FloatArray
    """Radii [m], shape [k]."""


class _Chunk(Struct, frozen=True, eq=False):
    code: bytes
    start: int
    size: int
    kind: int
    count: int


class Record:
    """One structure of the file, with members by name."""

    def __init__(self, file: BulletFile, kind: str, offset: int) -> None:
        self._file = file
        self.kind = kind
        self._offset = offset

    def __getitem__(self, member: str) -> Any:
        """Return numbers and arrays as they are, pointers as addresses, structures as records."""
        kind, offset, count, is_pointer = self._file.layouts[self.kind][0][member]
        at = self._offset + offset
        if is_pointer:
            return struct.unpack_from("<Q", self._file.data, at)[0]
        if kind in self._file.layouts:
            size = self._file.layouts[kind][1]
            found = [Record(self._file, kind, at + k * size) for k in range(count)]
            return found[0] if count == 1 else found
        values = np.frombuffer(self._file.data, "<" + _BASIC[kind], count, at)
        return values[0].item() if count == 1 else values

    def vector(self, member: str) -> FloatArray:
        """Return the first three numbers of a btVector3."""
        owner: Record = self[member]
        values: FloatArray = owner["m_floats"][:3].astype(np.float64)
        return values


class BulletFile:
    """A parsed file of Bullet."""

    def __init__(self, data: bytes) -> None:
        """Find all chunks.

        Raises:
            EngineError: It is not a file of 64-bit little-endian machines.
        """
        if data[:8] != b"BULLETd-":
            raise EngineError(f"the engine's file begins with {data[:12]!r}; must be BULLETd-v…")
        self.data = data
        self.chunks: list[_Chunk] = []
        self._by_address: dict[int, _Chunk] = {}
        at = 12
        while at + 24 <= len(data):
            code = data[at : at + 4]
            size, address, kind, count = struct.unpack_from("<iQii", data, at + 4)
            chunk = _Chunk(code, at + 24, size, kind, count)
            self.chunks.append(chunk)
            self._by_address[address] = chunk
            at += 24 + size
        self._names, self.layouts = self._read_layouts()

    def _read_layouts(
        self,
    ) -> tuple[list[str], dict[str, tuple[dict[str, tuple[str, int, int, bool]], int]]]:
        """Read the names of structures by number, and members and size of each structure."""
        dna = next(chunk for chunk in self.chunks if chunk.code == b"DNA1")
        data, at = self.data, dna.start + 8  # after SDNANAME

        def texts(at: int) -> tuple[list[str], int]:
            (count,) = struct.unpack_from("<i", data, at)
            at += 4
            found = []
            for _ in range(count):
                end = data.index(b"\0", at)
                found.append(data[at:end].decode())
                at = end + 1
            return found, at + (-(at - dna.start) % 4)

        members, at = texts(at)
        types, at = texts(at + 4)  # after TYPE
        sizes = struct.unpack_from(f"<{len(types)}h", data, at + 4)  # after TLEN
        at += 4 + 2 * len(types)
        at += -(at - dna.start) % 4 + 4  # after STRC
        (count,) = struct.unpack_from("<i", data, at)
        at += 4
        names: list[str] = []
        layouts: dict[str, tuple[dict[str, tuple[str, int, int, bool]], int]] = {}
        for _ in range(count):
            kind, member_count = struct.unpack_from("<hh", data, at)
            at += 4
            offset, layout = 0, {}
            for _ in range(member_count):
                member_kind, name_index = struct.unpack_from("<hh", data, at)
                at += 4
                name = members[name_index]
                number = 1
                while name.endswith("]"):
                    name, _, length = name[:-1].rpartition("[")
                    number *= int(length)
                is_pointer = name.startswith("*")
                layout[name.lstrip("*")] = (types[member_kind], offset, number, is_pointer)
                offset += number * (8 if is_pointer else sizes[member_kind])
            names.append(types[kind])
            layouts[types[kind]] = (layout, sizes[kind])
        return names, layouts

    def records(self, code: bytes) -> list[tuple[int, Record]]:
        """Return all structures of chunks with a code, with their addresses."""
        return [
            (address, Record(self, self._names[chunk.kind], chunk.start))
            for address, chunk in self._by_address.items()
            if chunk.code == code
        ]

    def array(self, address: int) -> list[Record]:
        """Return the structures at an address; none for a null pointer."""
        chunk = self._by_address.get(address)
        if chunk is None:
            return []
        kind = self._names[chunk.kind]
        size = self.layouts[kind][1]
        return [Record(self, kind, chunk.start + k * size) for k in range(chunk.count)]

    def numbers(self, address: int, dtype: str, width: int) -> Any:
        """Return the plain numbers at an address, shape [count, width]; none for null."""
        chunk = self._by_address.get(address)
        if chunk is None:
            return np.zeros((0, width))
        size = np.dtype(dtype).itemsize
        return np.frombuffer(self.data, dtype, chunk.size // size, chunk.start).reshape(-1, width)

    @cached_property
    def colliders_of(self) -> dict[int, list[Record]]:
        """Records of multibody link colliders by the address of their multibody."""
        found: dict[int, list[Record]] = {}
        for _, record in self.records(b"MBLC"):
            found.setdefault(record["m_multiBody"], []).append(record)
        return found

    def meshes(self, shape_address: int) -> list[list[SavedMesh]]:
        """Return the meshes of each child of a collider's shape, in its frame."""
        children = self._children(shape_address)
        if children is None:
            return [self._leaves(shape_address)]
        return [self._leaves(child["m_childShape"]) for child in children]

    def has_balls(self, shape_address: int) -> bool:
        """Return True for shapes at which ``getCollisionShapeData`` ends the process (measured)."""
        children = self._children(shape_address)
        own = [shape_address] if children is None else [c["m_childShape"] for c in children]
        return any(shape is not None and shape[0] == _BALLS for shape in map(self.shape, own))

    def balls(self, shape_address: int) -> list[SavedBalls | None]:
        """Return the balls of each child of a collider's shape; ``None`` for other shapes."""
        found: list[SavedBalls | None] = []
        for frame, child in self.parts(shape_address):
            kind, record = self.shape(child) or (-1, None)
            if record is None or kind not in (_BALL, _BALLS):
                found.append(None)
            elif kind == _BALL:
                radius = record.vector("m_implicitShapeDimensions")[:1]
                found.append(SavedBalls(frame, np.zeros((1, 3)), radius))
            else:
                scale = record["m_convexInternalShapeData"].vector("m_localScaling")
                balls = self.array(record["m_localPositionArrayPtr"])
                centers = np.array([ball.vector("m_pos") for ball in balls]) * scale
                radii = np.array([ball["m_radius"] for ball in balls]) * scale[0]
                found.append(SavedBalls(frame, centers, radii))
        return found

    def parts(self, address: int) -> list[tuple[FloatArray, int]]:
        """Return frame [4, 4] and address of each child of a shape, or of a single shape itself."""
        children = self._children(address)
        if children is None:
            return [(np.eye(4), address)] if self.shape(address) else []
        found = []
        for child in children:
            frame = np.eye(4)
            rows = child["m_transform"]["m_basis"]["m_el"]
            frame[:3, :3] = [row["m_floats"][:3] for row in rows]
            frame[:3, 3] = child["m_transform"].vector("m_origin")
            found.append((frame, int(child["m_childShape"])))
        return found

    def shape(self, address: int) -> tuple[int, Record] | None:
        """Return type (``BroadphaseNativeTypes``) and record of a shape; ``None`` for null."""
        records = self.array(address)
        if not records:
            return None
        head = records[0]
        while "m_shapeType" not in self.layouts[head.kind][0]:
            # The base structure is the first member of each of them.
            head = head[next(iter(self.layouts[head.kind][0]))]
        return int(head["m_shapeType"]), records[0]

    def _children(self, address: int) -> list[Record] | None:
        shape = self.shape(address)
        if shape is None or shape[0] != _COMPOUND:
            return None
        return self.array(shape[1]["m_childShapePtr"])

    def _leaves(self, address: int) -> list[SavedMesh]:
        shape = self.shape(address)
        if shape is None:
            return []
        kind, record = shape
        if kind == _COMPOUND:
            # A mesh file of several objects: parts without transforms of their own.
            parts = [self._leaves(child["m_childShape"]) for child in self._children(address) or ()]
            return [leaf for part in parts for leaf in part]
        if kind == _CONVEX_HULL:
            scale = record["m_convexInternalShapeData"].vector("m_localScaling")
            points = self._points(
                record["m_unscaledPointsFloatPtr"], record["m_unscaledPointsDoublePtr"]
            )
            return [SavedMesh(points * scale, None)]
        if kind == _TRIANGLE_MESH:
            return self._triangle_mesh(record["m_meshInterface"])
        return []

    def _points(self, single: int, double: int) -> FloatArray:
        address, dtype = (double, "<f8") if double else (single, "<f4")
        points: FloatArray = self.numbers(address, dtype, 4)[:, :3].astype(np.float64)
        return points

    def _triangle_mesh(self, interface: Record) -> list[SavedMesh]:
        scale = interface.vector("m_scaling")
        found = []
        for part in self.array(interface["m_meshPartsPtr"]):
            points = self._points(part["m_vertices3f"], part["m_vertices3d"]) * scale
            if part["m_indices32"]:
                triangles = self.numbers(part["m_indices32"], "<i4", 3)
            elif part["m_3indices16"]:
                triangles = self.numbers(part["m_3indices16"], "<i2", 4)[:, :3]
            else:
                triangles = self.numbers(part["m_3indices8"], "u1", 4)[:, :3]
            count = int(part["m_numTriangles"])
            found.append(SavedMesh(points, triangles[:count].astype(np.int64)))
        return found

    def is_empty_compound(self, address: int) -> bool:
        """Return True for a compound without children, which the engine uses for no shape."""
        return self._children(address) == []
