"""Mesh files of robots (OBJ, STL, COLLADA), as PyBullet draws them: one mesh, one texture."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gltf_bullet.convert.description import MeshGeometry
from gltf_bullet.transforms import FloatArray

__all__ = ["MeshFile", "read_mesh_file"]

_IMAGE_MAGIC = (b"\x89PNG", b"\xff\xd8\xff")


@dataclass(frozen=True, slots=True)
class MeshFile:
    """The contents of a file."""

    geometry: MeshGeometry
    texture: bytes | None
    """PNG or JPEG."""


def read_mesh_file(path: str, may_read: Callable[[Path], bool] | None = None) -> MeshFile:
    """Read a file.

    Args:
        path: Of the mesh.
        may_read: Which of the files that it names may be read; ``None``: all.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no triangles, or is of an unknown kind.
        ImportError: Its kind needs a package that is not installed.
    """
    import trimesh

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(2, "no such file", path)
    arguments: dict[str, Any] = {"process": False}
    if file.suffix.lower() == ".obj":
        arguments |= {"skip_materials": True, "group_material": False}
    try:
        loaded = trimesh.load_scene(path, **arguments)
        # Only COLLADA places its parts; a dump would lose the normals of the others.
        parts = loaded.dump() if file.suffix.lower() == ".dae" else loaded.geometry.values()
        meshes = [m for m in parts if len(getattr(m, "faces", ()))]
    except (OSError, ValueError, ImportError):
        raise
    except Exception as error:  # the loaders raise whatever a broken file leads to
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not meshes:
        raise ValueError("no triangles")
    points = np.concatenate([m.vertices for m in meshes]).astype(np.float64)
    starts = np.cumsum([0, *(len(m.vertices) for m in meshes[:-1])])
    triangles = np.concatenate([m.faces + s for m, s in zip(meshes, starts, strict=True)])
    coordinates = [_uvs(m) for m in meshes]
    has_uvs = any(uv.any() for uv in coordinates)
    has_normals = all("vertex_normals" in m._cache for m in meshes)  # noqa: SLF001  # nothing public tells
    normals = None
    if has_normals and file.suffix.lower() != ".stl":
        normals = np.concatenate([m.vertex_normals for m in meshes]).astype(np.float64)
    geometry = MeshGeometry(
        points,
        triangles.astype(np.int64),
        normals,
        # v grows upwards in these files and downwards in glTF.
        np.concatenate(coordinates) * (1.0, -1.0) + (0.0, 1.0) if has_uvs else None,
        name=file.stem,
    )
    return MeshFile(geometry, _texture(file, may_read) if has_uvs else None)


def _uvs(mesh: Any) -> FloatArray:
    """Texture coordinates, 0 where a part has none."""
    uvs = getattr(mesh.visual, "uv", None)
    if uvs is None or len(uvs) != len(mesh.vertices):
        return np.zeros((len(mesh.vertices), 2))
    return np.asarray(uvs, dtype=np.float64)[:, :2]


def _texture(file: Path, may_read: Callable[[Path], bool] | None) -> bytes | None:
    """The first picture that the materials of an OBJ file name: PyBullet shows no other."""
    if file.suffix.lower() != ".obj":
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    for library in re.findall(r"^\s*mtllib\s+(.+?)\s*$", text, re.MULTILINE):
        material_file = file.parent / library
        if not _is_readable(material_file, may_read):
            continue
        materials = material_file.read_text(encoding="utf-8", errors="replace")
        for name in re.findall(r"^\s*map_Kd\s+(.+?)\s*$", materials, re.MULTILINE):
            image = file.parent / name.split()[-1]
            if _is_readable(image, may_read):
                return _as_png_or_jpeg(image.read_bytes())
    return None


def _is_readable(file: Path, may_read: Callable[[Path], bool] | None) -> bool:
    return (may_read is None or may_read(file)) and file.is_file()


def _as_png_or_jpeg(data: bytes) -> bytes | None:
    if data.startswith(_IMAGE_MAGIC):
        return data
    import io

    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            out = io.BytesIO()
            image.convert("RGBA").save(out, "PNG")
            return out.getvalue()
    except (OSError, UnidentifiedImageError):
        return None
