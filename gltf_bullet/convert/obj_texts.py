"""OBJ files of robots as PyBullet may read them: they name no file that the robot may not name.

PyBullet opens whatever ``mtllib`` and ``map_Kd`` name, devices and pipes too, before anybody asks
what it found; and it cuts long lines, so that a comment may hold a statement. So an engine gets a
copy without the word, and beside it a library written from what was read, with permitted images.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from gltf_bullet.bounds import DESCRIPTION_BYTES, MESH_FILE_BYTES

_WORD: Final = b"mtllib"
_NO_WORD: Final = b"#tllib"
_LIBRARIES: Final = re.compile(rb"^[ \t]*mtllib[ \t]+(.+?)\s*$", re.MULTILINE)
_COLORS: Final = ("newmtl", "Ka", "Kd", "Ks", "Ns", "d", "Tr")
"""Statements that name no file."""
_LONGEST_LINE: Final = 500
"""Characters per line, well below the number that PyBullet reads in one piece."""


class ObjText(Struct, frozen=True):
    """An OBJ file that names files, what its materials are, and their permitted images."""

    file: Path
    library: str
    """The statements of all its libraries; images have the names of ``images``."""
    images: dict[Path, str]
    """Names of the copies of images."""

    def write(self, folder: Path) -> Path:
        """Write the copy, its library and its images to a new folder; returns the copy's path."""
        folder.mkdir(parents=True)
        for image, name in self.images.items():
            shutil.copyfile(image, folder / name)
        (folder / "materials.mtl").write_text(self.library, encoding="utf-8")
        copy = folder / self.file.name
        text = self.file.read_bytes().replace(_WORD, _NO_WORD)
        copy.write_bytes(b"mtllib materials.mtl\n" + text)
        return copy


def names_libraries(file: Path) -> bool:
    """Return True if the text of an OBJ file has the word in any place.

    Raises:
        OSError: It cannot be read.
    """
    return file.suffix.lower() == ".obj" and _WORD in file.read_bytes()


def read_obj_text(file: Path, may_read: Callable[[Path], bool]) -> tuple[ObjText, list[str]]:
    """Read the libraries of an OBJ file.

    Args:
        file: The file.
        may_read: Returns True for files that the robot may name.

    Returns:
        The text for an engine, and the names of files that exist and may not be read.

    Raises:
        OSError: It cannot be read.
    """
    images: dict[Path, str] = {}
    refused: list[str] = []

    def found(name: str) -> Path | None:
        other = file.parent / name
        try:
            if not other.is_file():
                return None
        except (OSError, ValueError):  # longer than the system takes, or with a character 0
            return None
        if may_read(other):
            return other
        refused.append(name)
        return None

    def statements(library: Path) -> Iterator[str]:
        if library.stat().st_size > DESCRIPTION_BYTES:
            return
        for line in library.read_text(encoding="utf-8", errors="replace").splitlines():
            word, rest = (*line.split(maxsplit=1), "", "")[:2]
            if len(line) > _LONGEST_LINE:
                continue
            if word in _COLORS:
                yield line.strip()
            elif word == "map_Kd" and rest:
                image = found(rest.strip())
                if image is not None and image.stat().st_size <= MESH_FILE_BYTES:
                    suffix = re.sub(r"[^.\w]", "", image.suffix)
                    yield f"map_Kd {images.setdefault(image, f'image{len(images)}{suffix}')}"

    lines: list[str] = []
    for name in _LIBRARIES.findall(file.read_bytes()):
        library = found(name.decode("utf-8", "replace"))
        if library is not None:
            lines += statements(library)
    # PyBullet frees the text of an empty file twice.
    return ObjText(file, "\n".join(["# of its libraries", *lines, ""]), images), refused
