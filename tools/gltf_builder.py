"""Writing small glTF files by program: for tests, examples and the scripts beside this one.

::

    builder = GltfBuilder()
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "sphere", ...}]})
    crate = builder.node("Crate", translation=(0, 2, 0), extensions={"KHR_physics_...": {...}})
    builder.write("crate.gltf")

Nodes that are nobody's child make up scene 0. Extensions that occur are listed in
``extensionsUsed``. Arrays go into one buffer, a data URI in ``.gltf`` files.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gltf_bullet.gltf.writing import encode_glb, readable_json, write_document

__all__ = ["Channel", "GltfBuilder"]

JsonDict: TypeAlias = dict[str, Any]
Channel: TypeAlias = Sequence[Any]
"""(node, path, times, values[, interpolation]); or (JSON pointer, "pointer", times, ...)."""

COMPONENT_TYPES = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125,
                   "float32": 5126}  # fmt: skip
TYPES = {(): "SCALAR", (2,): "VEC2", (3,): "VEC3", (4,): "VEC4",
         (2, 2): "MAT2", (3, 3): "MAT3", (4, 4): "MAT4"}  # fmt: skip


class GltfBuilder:
    """Collects the parts of a glTF file; every method that adds something returns its index."""

    def __init__(self, *, generator: str = "gltf_bullet tools") -> None:
        self._asset: JsonDict = {"version": "2.0", "generator": generator}
        self._lists: dict[str, list[JsonDict]] = {
            name: []
            for name in ("nodes", "meshes", "materials", "textures", "samplers", "images", "skins",
                         "animations", "cameras", "accessors", "bufferViews")
        }  # fmt: skip
        self._root_extensions: JsonDict = {}
        self._required: list[str] = []
        self._data = bytearray()

    def node(
        self,
        name: str = "",
        *,
        parent: int | None = None,
        children: Sequence[int] = (),
        extensions: Mapping[str, Any] | None = None,
        **members: Any,
    ) -> int:
        """Add a node; ``members`` are glTF's own: translation, rotation, scale, mesh, skin, ...

        A child is named either by its parent's ``children`` or by its own ``parent``.
        """
        entry: JsonDict = {"name": name} if name else {}
        entry |= {key: _plain(value) for key, value in members.items() if value is not None}
        if children:
            entry["children"] = list(children)
        if extensions:
            entry["extensions"] = dict(extensions)
        index = self._add("nodes", entry)
        if parent is not None:
            self._lists["nodes"][parent].setdefault("children", []).append(index)
        return index

    def mesh(
        self,
        points: npt.ArrayLike,
        triangles: npt.ArrayLike | None = None,
        *,
        name: str = "",
        weights: Sequence[float] | None = None,
        **primitive: Any,
    ) -> int:
        """Add a mesh of one primitive; keywords as in :meth:`primitive`."""
        entry: JsonDict = {"name": name} if name else {}
        entry["primitives"] = [self.primitive(points, triangles, **primitive)]
        if weights is not None:
            entry["weights"] = _plain(weights)
        return self._add("meshes", entry)

    def primitive(
        self,
        points: npt.ArrayLike,
        triangles: npt.ArrayLike | None = None,
        *,
        mode: int | None = None,
        material: int | None = None,
        attributes: Mapping[str, npt.ArrayLike] | None = None,
        targets: Sequence[npt.ArrayLike] = (),
    ) -> JsonDict:
        """A primitive object for a mesh's ``primitives``.

        Args:
            points: Positions [m], shape [vertex_count, 3].
            triangles: Indices in any shape; ``None`` leaves them out.
            mode: Topology; 4, triangles, when left out.
            material: Index of a material.
            attributes: More of them by name; float arrays become float32, integers uint16.
            targets: Displacements of the positions per morph target.
        """
        used = {"POSITION": self.accessor(np.asarray(points, np.float32), bounds=True)}
        for key, values in (attributes or {}).items():
            used[key] = self.accessor(_compact(values))
        result: JsonDict = {"attributes": used}
        if triangles is not None:
            indices = np.asarray(triangles).reshape(-1)
            wide = bool(indices.size) and int(indices.max()) >= 65535
            result["indices"] = self.accessor(indices.astype(np.uint32 if wide else np.uint16))
        if mode is not None:
            result["mode"] = mode
        if material is not None:
            result["material"] = material
        if len(targets):
            result["targets"] = [
                {"POSITION": self.accessor(np.asarray(target, np.float32), bounds=True)}
                for target in targets
            ]
        return result

    def material(
        self, name: str = "", *, color: Sequence[float] = (1.0, 1.0, 1.0, 1.0), **members: Any
    ) -> int:
        """Add a material with a base colour (linear RGBA)."""
        entry: JsonDict = {"name": name} if name else {}
        entry["pbrMetallicRoughness"] = {"baseColorFactor": _plain(color), "metallicFactor": 0}
        return self._add("materials", entry | members)

    def image(self, data: bytes, mime_type: str = "image/png", *, as_uri: bool = False) -> int:
        """Add an encoded image to the buffer, or as a data URI."""
        if as_uri:
            text = base64.b64encode(data).decode()
            return self._add("images", {"uri": f"data:{mime_type};base64,{text}"})
        entry = {"mimeType": mime_type, "bufferView": self.buffer_view(data)}
        return self._add("images", entry)

    def texture(self, image: int, wraps: tuple[int, int] | None = None, **members: Any) -> int:
        """Add a texture; ``wraps`` are OpenGL's codes along u and v."""
        entry: JsonDict = {"source": image, **members}
        if wraps is not None:
            entry["sampler"] = self._add("samplers", {"wrapS": wraps[0], "wrapT": wraps[1]})
        return self._add("textures", entry)

    def textured(
        self,
        texture: int,
        *,
        color: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
        info: Mapping[str, Any] | None = None,
        **members: Any,
    ) -> int:
        """Add a material with a base colour texture; ``info`` goes beside the texture's index."""
        surface = {"baseColorTexture": {"index": texture, **(info or {})}, "metallicFactor": 0}
        if tuple(color) != (1.0, 1.0, 1.0, 1.0):
            surface["baseColorFactor"] = _plain(color)
        return self._add("materials", {"pbrMetallicRoughness": surface} | members)

    def camera(self, name: str = "", **members: Any) -> int:
        """Add a camera: ``perspective={...}`` or ``orthographic={...}``."""
        entry: JsonDict = {"name": name} if name else {}
        return self._add("cameras", entry | {"type": next(iter(members)), **members})

    def skin(
        self,
        joints: Sequence[int],
        inverse_bind_matrices: npt.ArrayLike | None = None,
        **members: Any,
    ) -> int:
        """Add a skin; matrices [joint_count, 4, 4] as in mathematics, rows first."""
        entry: JsonDict = {"joints": list(joints), **members}
        if inverse_bind_matrices is not None:
            matrices = np.asarray(inverse_bind_matrices, np.float32)
            entry["inverseBindMatrices"] = self.accessor(matrices)
        return self._add("skins", entry)

    def animation(self, name: str = "", channels: Sequence[Channel] = ()) -> int:
        """Add an animation."""
        entry: JsonDict = {"name": name} if name else {}
        entry |= {"channels": [], "samplers": []}
        for target, path, times, values, *interpolation in channels:
            sampler: JsonDict = {
                "input": self.accessor(np.asarray(times, np.float32), bounds=True),
                "output": self.accessor(np.asarray(values, np.float32)),
            }
            if interpolation:
                sampler["interpolation"] = interpolation[0]
            where: JsonDict = {"path": path}
            if isinstance(target, str):
                where["extensions"] = {"KHR_animation_pointer": {"pointer": target}}
            else:
                where["node"] = target
            entry["channels"].append({"sampler": len(entry["samplers"]), "target": where})
            entry["samplers"].append(sampler)
        return self._add("animations", entry)

    def root_extension(
        self, name: str, value: Mapping[str, Any], *, required: bool = False
    ) -> None:
        """Set an extension object of the root."""
        self._root_extensions[name] = dict(value)
        if required:
            self._required.append(name)

    def accessor(
        self, values: npt.ArrayLike, *, normalized: bool = False, bounds: bool = False
    ) -> int:
        """Add an array of any component type glTF knows; matrices [count, n, n] rows first."""
        array = np.asarray(values)
        entry: JsonDict = {
            "bufferView": len(self._lists["bufferViews"]),
            "componentType": COMPONENT_TYPES[array.dtype.name],
            "count": len(array),
            "type": TYPES[array.shape[1:]],
        }
        if normalized:
            entry["normalized"] = True
        if bounds and len(array) and np.isfinite(array).all():
            flat = array.reshape(len(array), -1)
            entry |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        self.buffer_view(_stored(array))
        return self._add("accessors", entry)

    def buffer_view(self, data: bytes, **members: Any) -> int:
        """Add bytes to the buffer."""
        entry = {"buffer": 0, "byteOffset": len(self._data), "byteLength": len(data), **members}
        self._data += data + bytes(-len(data) % 4)
        return self._add("bufferViews", entry)

    def json(self) -> JsonDict:
        """The root object; its buffer is a data URI."""
        root: JsonDict = json.loads(self.text())
        return root

    def text(self) -> str:
        """The file as readable text."""
        root = self._root()
        for buffer, data in zip(root.get("buffers", ()), self.buffers(), strict=True):
            text = base64.b64encode(data).decode()
            buffer["uri"] = f"data:application/octet-stream;base64,{text}"
        return readable_json(root)

    def gltf(self) -> bytes:
        """The content of a ``.gltf`` file."""
        return self.text().encode()

    def glb(self) -> bytes:
        """The content of a ``.glb`` file."""
        return encode_glb(self._root(), self.buffers())

    def buffers(self) -> list[bytes]:
        """The bytes of the entries of ``buffers``: one or none."""
        return [bytes(self._data or bytes(4))] if self._lists["bufferViews"] else []

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.gltf`` or ``.glb`` file."""
        write_document(self._root(), self.buffers(), path)

    def _add(self, collection: str, entry: JsonDict) -> int:
        self._lists[collection].append(entry)
        return len(self._lists[collection]) - 1

    def _root(self) -> JsonDict:
        root: JsonDict = {"asset": self._asset}
        used = sorted({*self._root_extensions, *_extension_names(list(self._lists.values()))})
        if used:
            root["extensionsUsed"] = used
        if self._required:
            root["extensionsRequired"] = self._required
        if self._root_extensions:
            root["extensions"] = self._root_extensions
        nodes = self._lists["nodes"]
        below = {child for node in nodes for child in node.get("children", ())}
        if nodes:
            roots = [index for index in range(len(nodes)) if index not in below]
            root |= {"scene": 0, "scenes": [{"nodes": roots}]}
        root |= {name: entries for name, entries in self._lists.items() if entries}
        if self.buffers():
            root["buffers"] = [{"byteLength": len(data)} for data in self.buffers()]
        return root


def _extension_names(value: object) -> set[str]:
    if isinstance(value, Mapping):
        names = set(value.get("extensions", ()))
        return names.union(*map(_extension_names, value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*map(_extension_names, value))
    return set()


def _plain(value: Any) -> Any:
    """Arrays and tuples as JSON lists."""
    return np.asarray(value).tolist() if isinstance(value, (tuple, list, np.ndarray)) else value


def _compact(values: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.name in COMPONENT_TYPES:
        return array
    return array.astype(np.float32 if array.dtype.kind == "f" else np.uint16)


def _stored(array: npt.NDArray[Any]) -> bytes:
    """Little-endian, matrices column by column, columns at multiples of 4 bytes."""
    array = array.astype(array.dtype.newbyteorder("<"))
    if array.ndim == 3:
        columns = array.swapaxes(1, 2)
        rows, size = columns.shape[2], array.dtype.itemsize
        padding = -(rows * size) % 4 // size
        array = np.pad(columns, ((0, 0), (0, 0), (0, padding)))
    return array.tobytes()
