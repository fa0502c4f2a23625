"""Baked meshes cached on disk: they take most of a robot's first load in a process.

Their key is the content of the file and the part of it that they were baked from. Only meshes
without findings are cached, since findings point into the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.digests import digest_of
from gltf_bullet.disk_cache import read_entry, write_entry
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.images import image_bytes
from gltf_bullet.rendering.visual_plans import Texture, VisualMesh

_RECIPE = "3"
"""Version of the entries: raise it when the same content is baked to other meshes."""
_WORTH_IT = 1 << 16
"""[bytes] A file with less data than this is baked as fast as its meshes are read."""
_COLUMNS = (("points", 3), ("normals", 3), ("uvs", 2))
"""Arrays of a mesh, and the count of numbers per vertex."""


class BakedFiles:
    """Cached meshes that were baked from one document."""

    def __init__(self, document: Document, folder: Path) -> None:
        self._folder = folder
        self._document = document.derive(
            ("content digest", 0), lambda _: _content_digest(document), Diagnostics()
        )
        self._textures: dict[str, Texture] = document.derive(
            ("baked textures", 0), lambda _: {}, Diagnostics()
        )

    def read(self, content: object) -> list[VisualMesh] | None:
        """The meshes cached for ``content``; ``None`` if they must be baked."""
        path = self._path(content)
        entry = None if path is None else read_entry(path)
        if entry is None:
            return None
        try:
            return self._meshes(entry)
        except (ValueError, KeyError, TypeError, msgspec.DecodeError):
            return None

    def write(self, content: object, meshes: list[VisualMesh]) -> None:
        """Cache the meshes of ``content``, which must be the same in every process."""
        path = self._path(content)
        if path is None:
            return
        stated, arrays = [], []
        for mesh in meshes:
            texture = mesh.texture
            if texture is not None:
                self._write_texture(texture)
            stated.append(
                {
                    "vertices": len(mesh.points),
                    "triangles": len(mesh.triangles),
                    "color": mesh.color,
                    "texture": None if texture is None else texture.digest.hex(),
                    "digest": mesh.digest.hex(),
                }
            )
            arrays += [getattr(mesh, name).astype("<f8").tobytes() for name, _ in _COLUMNS]
            arrays += [mesh.triangles.astype("<i8").tobytes()]
            arrays += [mesh.part_of_triangle.astype("<i8").tobytes()]
        head = msgspec.json.encode(stated)
        head += b" " * (-len(head) % 8)
        write_entry(path, [len(head).to_bytes(8, "little"), head, *arrays])

    def _path(self, content: object) -> Path | None:
        if self._document is None:
            return None
        name = digest_of(self._document, repr(content).encode()).hex()
        return self._folder / f"{name}-{_RECIPE}.meshes"

    def _meshes(self, entry: memoryview) -> list[VisualMesh]:
        at = 8 + int.from_bytes(entry[:8], "little")
        meshes = []
        for stated in msgspec.json.decode(entry[8:at]):
            vertices, triangles = stated["vertices"], stated["triangles"]
            arrays: dict[str, npt.NDArray[Any]] = {}
            for name, width in _COLUMNS:
                arrays[name] = np.frombuffer(entry, "<f8", vertices * width, at).reshape(-1, width)
                at += 8 * vertices * width
            corners = np.frombuffer(entry, "<i8", 3 * triangles, at).reshape(-1, 3)
            parts = np.frombuffer(entry, "<i8", triangles, at + 24 * triangles)
            at += 32 * triangles
            if not ((corners >= 0) & (corners < vertices)).all():
                raise ValueError("a corner that is no vertex")
            texture = None if stated["texture"] is None else self._read_texture(stated["texture"])
            meshes.append(
                VisualMesh(
                    triangles=corners, part_of_triangle=parts, color=tuple(stated["color"]),
                    texture=texture, digest=bytes.fromhex(stated["digest"]), **arrays,
                )
            )  # fmt: skip
        return meshes

    # --- textures, which several meshes share ---------------------------------------------------

    def _read_texture(self, name: str) -> Texture:
        if name not in self._textures:
            entry = read_entry(self._folder / f"{name}.texels")
            if entry is None:
                raise ValueError("a texture that is not there")
            height, width = np.frombuffer(entry, "<i8", 2).tolist()
            pixels = np.frombuffer(entry, np.uint8, offset=16).reshape(height, width, 3)
            self._textures[name] = Texture(pixels, digest=bytes.fromhex(name))
        return self._textures[name]

    def _write_texture(self, texture: Texture) -> None:
        name = texture.digest.hex()
        if name not in self._textures:
            size = np.array(texture.pixels.shape[:2], dtype="<i8")
            path = self._folder / f"{name}.texels"
            write_entry(path, [size.tobytes(), texture.pixels.tobytes()])
            self._textures[name] = texture


def _content_digest(document: Document) -> bytes | None:
    """Digest of all content of a file, with its external files; ``None`` if it is small."""
    try:
        buffers = [document.buffer(k) for k in range(document.count("buffers"))]
        if sum(map(len, buffers)) < _WORTH_IT:
            return None
        root = msgspec.json.encode(document.json)
    except (GltfBulletError, TypeError, ValueError, OverflowError):
        return None
    parts: list[bytes | memoryview] = [repr(document.limits).encode(), root]
    for buffer in buffers:
        parts += [len(buffer).to_bytes(8, "little"), buffer]
    for k, image in enumerate(document.objects("images")):
        if "uri" in image:
            parts.append(image_bytes(document, k, Diagnostics()) or b"")
    return digest_of(*parts)
