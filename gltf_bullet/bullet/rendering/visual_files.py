"""Textures and meshes for PyBullet as files; large ones are kept on this machine.

PyBullet caches files by path for the life of the process, so every content has a path of its own.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pybullet

from gltf_bullet.bullet.kept_files import kept_file
from gltf_bullet.disk_cache import is_kept, write_file
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.rendering.visual_plans import Texture, VisualMesh
from gltf_bullet.transforms import FloatArray

_RECIPE = "-2"
"""Version of the mesh files; raise it when the same mesh becomes another file."""
_TEXELS_WORTH_IT = 1 << 14
"""Number of texels from which on a texture is kept for other processes."""

_FLAT = 1e-6
"""Largest difference between the normals of a triangle's corners that count as one."""
_STL_TITLE = 80
"""Number of bytes of a file's header, which has no meaning."""
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("note", "<u2")])


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Yield a folder that only this user can enter; delete it with all its contents."""
    folder = Path(tempfile.mkdtemp(dir=scratch_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load_texture(client_id: int, texture: Texture, kept: Path) -> int:
    """Load a texture into a client; a large one is kept in the folder ``kept``, if possible.

    PyBullet has no call that unloads it again: 5 bytes per texel stay until the world is reset or
    the client disconnects (measured), so textures are loaded once per content.
    """
    if texture.size >= _TEXELS_WORTH_IT:
        path = kept / f"{texture.digest.hex()}.bmp"
        if is_kept(path) or write_file(path, [_bmp(texture)]):
            return int(pybullet.loadTexture(str(path), physicsClientId=client_id))
    with _private_folder() as folder:
        # The folder's random name makes the path a fresh one.
        path = folder / "texture.bmp"
        path.write_bytes(_bmp(texture))
        return int(pybullet.loadTexture(str(path), physicsClientId=client_id))


def _bmp(texture: Texture) -> memoryview:
    """Return an uncompressed file: 0.01 s for 1024 x 1024 texels, a PNG takes 0.1 (measured)."""
    from PIL import Image  # few scenes need it

    content = io.BytesIO()
    Image.fromarray(texture.pixels).save(content, "BMP")
    return content.getbuffer()


def link_file(mesh: VisualMesh, kept: Path) -> str:
    """Return the path of a mesh's file for the links of robots, in the folder ``kept``."""
    start = f"{kept}{os.sep}{mesh.digest.hex()}{_RECIPE}"
    for suffix in (".stl", ".obj"):
        if is_kept(start + suffix):
            return start + suffix
    suffix, content = mesh_file(mesh)
    return kept_file(kept, mesh.digest, _RECIPE + suffix, content)


class MeshFiles:
    """Mesh files of one client; each must exist whenever a body with it is created."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._name_of_mesh: dict[bytes, str] = {}

    def path(self, mesh: VisualMesh) -> str:
        """Write a mesh to its file, until :meth:`clear`; return the path, always the same."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(dir=scratch_folder()))
        try:
            self._folder.mkdir(mode=0o700)
        except FileNotFoundError:  # of a process that this one was forked from and that has ended
            self._folder.parent.mkdir(mode=0o700)
            self._folder.mkdir(mode=0o700)
        except FileExistsError:
            pass  # ours since the last clear, unless somebody else has taken the name meanwhile
        for folder in (self._folder.parent, self._folder):
            if not _is_ours(folder):
                raise PermissionError(13, "somebody else has taken its name", str(folder))
        name = self._name_of_mesh.get(mesh.digest)
        path = None if name is None else self._folder / name
        if path is None or not path.exists():
            suffix, content = mesh_file(mesh)
            path = self._folder / (name or f"mesh{len(self._name_of_mesh)}{suffix}")
            path.write_bytes(content())
            self._name_of_mesh[mesh.digest] = path.name
        return str(path)

    def clear(self) -> None:
        """Remove all files, which PyBullet has read."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    if not hasattr(os, "getuid"):  # Windows: temporary folders are each user's own
        return folder.is_dir()
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def mesh_file(mesh: VisualMesh) -> tuple[str, Callable[[], bytes]]:
    """Return the suffix of a mesh's file, and a function that makes its content.

    The renderers use single precision, as STL does; they read it ten times as fast as OBJ
    (measured: a robot arm of seven such meshes, 0.04 s instead of 0.5). It has one normal per
    triangle and no textures.
    """
    corners = mesh.normals[mesh.triangles]
    is_flat = mesh.texture is None and bool(np.ptp(corners, axis=1).max(initial=0.0) < _FLAT)
    return (".stl", partial(_stl, mesh)) if is_flat else (".obj", partial(_obj, mesh))


def _stl(mesh: VisualMesh) -> bytes:
    rows = np.zeros(len(mesh.triangles), dtype=_STL_TRIANGLE)
    rows["normal"] = mesh.normals[mesh.triangles[:, 0]]
    rows["corners"] = mesh.points[mesh.triangles]
    return bytes(_STL_TITLE) + struct.pack("<I", len(rows)) + rows.tobytes()


def _obj(mesh: VisualMesh) -> bytes:
    """Return OBJ text with each row once: PyBullet reads it again for every copy."""
    rows = [("v", mesh.points)]
    if mesh.texture is not None:
        # The v of OBJ files points upwards.
        rows.append(("vt", np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=1)))
    rows.append(("vn", mesh.normals))
    texts, places = [], []
    for word, values in rows:
        once, place = np.unique(values, axis=0, return_inverse=True)
        texts.append(_lines(f"{word} ".encode(), once))
        places.append(place.reshape(-1)[mesh.triangles.reshape(-1)] + 1)
    corner = "%d/%d/%d" if mesh.texture is not None else "%d//%d"
    faces = f"f {corner} {corner} {corner}\n" * len(mesh.triangles)
    corners = np.stack(places, axis=1).reshape(-1).tolist()
    return b"".join([*texts, (faces % tuple(corners)).encode()])


def _lines(word: bytes, rows: FloatArray) -> bytes:
    """Return a line per row, by an encoder that is three times as fast as formatting (measured)."""
    if not len(rows):
        return b""
    size = float(np.abs(rows).max()) or 1.0
    # The largest keep nine digits: the renderers' single precision has no more.
    rounded = np.round(rows, 8 - math.floor(math.log10(size))).reshape(-1)
    # A list per row would take as long as all else.
    text = bytearray(msgspec.json.encode(rounded.tolist())[1:-1])
    letters = np.frombuffer(text, dtype=np.uint8)
    between = np.flatnonzero(letters == ord(","))
    letters[between] = ord(" ")
    letters[between[rows.shape[1] - 1 :: rows.shape[1]]] = ord("\n")
    return word + text.replace(b"\n", b"\n" + word) + b"\n"
