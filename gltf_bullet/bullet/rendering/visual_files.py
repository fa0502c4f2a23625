"""Textures and meshes that PyBullet only takes as files: private, and gone as soon as it read them.

PyBullet caches files by path for the life of the process, so every content has a path of its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pybullet

from gltf_bullet.rendering.visual_plans import Texture, VisualMesh

__all__ = ["MeshFiles", "load_texture", "obj_text"]


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that only this user can enter; removed with all that is in it."""
    folder = Path(tempfile.mkdtemp(prefix="gltf_bullet_"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load_texture(client_id: int, texture: Texture) -> int:
    """A new texture of a client.

    PyBullet has no call that unloads it again: 5 bytes per texel stay until the world is reset or
    the client disconnects (measured), so textures are kept by content and loaded once.
    """
    from PIL import Image  # few scenes need it

    with _private_folder() as folder:
        # The folder's random name makes the path a fresh one.
        # Uncompressed: a PNG of 1024 x 1024 texels takes 0.1 s to pack and unpack, this 0.01.
        path = folder / "texture.bmp"
        Image.fromarray(texture.pixels).save(path)
        texture_id: int = pybullet.loadTexture(str(path), physicsClientId=client_id)
    return texture_id


class MeshFiles:
    """OBJ files of one client's meshes; each must be there whenever a body is made of it."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._number_of_mesh: dict[bytes, int] = {}

    def path(self, mesh: VisualMesh) -> str:
        """The mesh as a file, always under the same path; until :meth:`clear`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gltf_bullet_"))
        try:
            self._folder.mkdir(mode=0o700)
        except FileExistsError:
            # Ours since the last clear, unless somebody else has taken the name meanwhile.
            if not _is_ours(self._folder):
                raise
        number = self._number_of_mesh.setdefault(mesh.digest, len(self._number_of_mesh))
        path = self._folder / f"mesh{number}.obj"
        if not path.exists():
            path.write_text(obj_text(mesh), encoding="ascii")
        return str(path)

    def clear(self) -> None:
        """Remove all files; PyBullet has read them."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def obj_text(mesh: VisualMesh) -> str:
    """A mesh as OBJ; nine digits are all that the renderers' single precision holds."""
    count = len(mesh.points)
    # The v of OBJ files grows upwards.
    uvs = np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=1)
    corners = np.repeat(mesh.triangles.reshape(-1) + 1, 3)
    return "".join(
        (
            ("v %.9g %.9g %.9g\n" * count) % tuple(mesh.points.reshape(-1).tolist()),
            ("vt %.9g %.9g\n" * count) % tuple(uvs.reshape(-1).tolist()),
            ("vn %.9g %.9g %.9g\n" * count) % tuple(mesh.normals.reshape(-1).tolist()),
            ("f %d/%d/%d %d/%d/%d %d/%d/%d\n" * len(mesh.triangles)) % tuple(corners.tolist()),
        )
    )
