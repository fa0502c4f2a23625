"""Content-addressed files for PyBullet, which reads them again for every copy of a robot.

PyBullet caches what it read by path for the life of the process: one path per content, always. The
files stay on this machine for other processes; where that is impossible, until this one ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gltf_bullet.disk_cache import is_kept, write_file
from gltf_bullet.private_folders import scratch_folder


class _KeptFiles:
    """A folder that only this user can enter; it is deleted when the process ends."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._paths: dict[tuple[bytes, str], str] = {}

    def are_in(self, text: str) -> bool:
        """Return True if a text names files of this folder, which no other process can read."""
        return self._folder is not None and str(self._folder) in text

    def file(self, digest: bytes, suffix: str, write: Callable[[], bytes]) -> str:
        """Return the path of the file with a content; ``write`` gives the content of a new file."""
        path = self._paths.get((digest, suffix))
        # Somebody may have tidied up; pathlib takes twenty times as long to see (measured).
        if path is None or not os.access(path, os.R_OK):
            path = str(self._made(f"{digest.hex()}{suffix}", write))
            self._paths[digest, suffix] = path
        return path

    def _made(self, name: str, write: Callable[[], bytes]) -> Path:
        if self._folder is None or not self._folder.is_dir():
            self._folder = Path(tempfile.mkdtemp(dir=scratch_folder()))
        path = self._folder / name
        # Other threads may load the same robot into worlds of theirs. ``written_aside`` sweeps the
        # folder before each file: 1 ms (measured), of a folder that nobody else writes to.
        handle, aside = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as file:
            file.write(write())
        os.replace(aside, path)
        return path


KEPT_FILES = _KeptFiles()


def kept_file(
    folder: str | os.PathLike[str], digest: bytes, suffix: str, write: Callable[[], bytes]
) -> str:
    """Return the path of a content in a folder of ``disk_cache``; ``write`` gives a missing one."""
    path = f"{os.fspath(folder)}{os.sep}{digest.hex()}{suffix}"
    if is_kept(path) or write_file(Path(path), [write()]):
        return path
    return KEPT_FILES.file(digest, suffix, write)
