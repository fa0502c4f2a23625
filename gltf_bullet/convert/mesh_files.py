"""Mesh files of robots (OBJ, STL, COLLADA, glTF), as PyBullet draws them: one mesh, one texture."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from gltf_bullet.bounds import MESH_FILE_BYTES
from gltf_bullet.convert.description import MeshGeometry
from gltf_bullet.transforms import FloatArray

_WITHIN = (".glb", ".gltf")
"""Suffixes of files that contain their images; others are read only if the robot may name them."""
_PLACED = (".dae", ".glb", ".gltf", ".3mf")
"""Suffixes of files that place their parts."""
_IMAGE_MAGIC = (b"\x89PNG", b"\xff\xd8\xff")


class MeshFile(Struct, frozen=True):
    """The content of a mesh file."""

    geometry: MeshGeometry
    texture: bytes | None
    """PNG or JPEG."""


def read_mesh_file(path: str, may_read: Callable[[Path], bool] | None = None) -> MeshFile:
    """Read a mesh file.

    Args:
        path: Path of the mesh.
        may_read: Tells whether a file that the mesh names may be read; ``None``: all may.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no triangles, or is of an unknown kind.
        ImportError: Its kind needs a package that is not installed.
    """
    import trimesh

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(2, "no such file", path)
    if file.stat().st_size > MESH_FILE_BYTES:
        raise ValueError(f"it has {file.stat().st_size} bytes; must be at most {MESH_FILE_BYTES}")
    if may_read is not None and file.suffix.lower() in _WITHIN and _names_others(file):
        raise ValueError("it names other files")
    arguments: dict[str, Any] = {"process": False, "resolver": _resolver(path, may_read)}
    if file.suffix.lower() == ".obj":
        arguments |= {"skip_materials": True, "group_material": False}
    try:
        loaded = trimesh.load_scene(path, **arguments)
        # ``dump`` would lose the normals of meshes that are not placed.
        parts = loaded.dump() if file.suffix.lower() in _PLACED else loaded.geometry.values()
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
    texture = None
    if has_uvs:
        texture = _texture(file, may_read)
        if texture is None and file.suffix.lower() in _WITHIN:
            texture = next(filter(None, map(_own_texture, meshes)), None)
    return MeshFile(geometry, texture)


def write_obj(mesh: MeshFile, path: Path) -> None:
    """Write a mesh, and its texture beside it, as an OBJ file that PyBullet reads."""
    geometry, lines = mesh.geometry, []
    if mesh.texture is not None:
        library = path.with_suffix(".mtl")
        image = path.with_suffix(".png" if mesh.texture.startswith(_IMAGE_MAGIC[0]) else ".jpg")
        image.write_bytes(mesh.texture)
        text = f"newmtl texture\nKd 1 1 1\nmap_Kd {image.name}\n"
        library.write_text(text, encoding="utf-8")
        lines += [f"mtllib {library.name}", "usemtl texture"]
    lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in geometry.points.tolist()]
    if geometry.uvs is not None:
        lines += [f"vt {u:.9g} {1.0 - v:.9g}" for u, v in geometry.uvs.tolist()]
    if geometry.normals is not None:
        lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in geometry.normals.tolist()]
    has_uvs, has_normals = geometry.uvs is not None, geometry.normals is not None
    for corners in (geometry.triangles + 1).tolist():
        words = (
            f"{k}/{k if has_uvs else ''}/{k}" if has_normals else f"{k}/{k}" if has_uvs else f"{k}"
            for k in corners
        )
        lines.append("f " + " ".join(words))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _resolver(path: str, may_read: Callable[[Path], bool] | None) -> Any:
    """Return the object by which trimesh reads files that a mesh names, of those that may be."""
    from trimesh.resolvers import FilePathResolver

    class Resolver(FilePathResolver):  # type: ignore[misc, unused-ignore]
        def get(self, name: str) -> bytes:
            other = Path(path).absolute().parent / name.strip()
            if not _is_readable(other, may_read):
                raise ValueError(f"it names {name[:80]!r}, which is missing or not permitted")
            return other.read_bytes()

        def namespaced(self, _namespace: str) -> Any:
            return self

    return Resolver(path)


def _names_others(file: Path) -> bool:
    """Return True if a glTF file has external buffers or images, which trimesh would read."""
    uris = re.findall(rb'"uri"\s*:\s*"([^"]{0,5})', file.read_bytes())
    return any(not uri.startswith(b"data:") for uri in uris)


def _own_texture(mesh: Any) -> bytes | None:
    """The image within a file, as PNG."""
    material = getattr(mesh.visual, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is None:
        return None
    import io

    out = io.BytesIO()
    image.convert("RGBA").save(out, "PNG")
    return out.getvalue()


def _uvs(mesh: Any) -> FloatArray:
    """Texture coordinates, 0 where a part has none."""
    uvs = getattr(mesh.visual, "uv", None)
    if uvs is None or len(uvs) != len(mesh.vertices):
        return np.zeros((len(mesh.vertices), 2))
    return np.asarray(uvs, dtype=np.float64)[:, :2]


def _texture(file: Path, may_read: Callable[[Path], bool] | None) -> bytes | None:
    """The first image that the materials of an OBJ file name: PyBullet shows no other."""
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
                return as_png_or_jpeg(image.read_bytes())
    return None


def _is_readable(file: Path, may_read: Callable[[Path], bool] | None) -> bool:
    is_permitted = may_read is None or may_read(file)
    return is_permitted and file.is_file() and file.stat().st_size <= MESH_FILE_BYTES


def as_png_or_jpeg(data: bytes) -> bytes | None:
    """An image file as PNG or JPEG; ``None`` if it cannot be read."""
    if data.startswith(_IMAGE_MAGIC):
        return data
    import io

    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            out = io.BytesIO()
            image.convert("RGBA").save(out, "PNG")
            return out.getvalue()
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return None
