"""Files that PyBullet reads again for every copy of a robot, by content, until the process ends.

PyBullet keeps what it read by path for the life of the process: one path per content, always.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from gltf_bullet.output_files import written_aside

__all__ = ["KEPT_FILES"]


class _KeptFiles:
    """A folder that only this user can enter; it goes when the process ends."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def file(self, digest: bytes, suffix: str, write: Callable[[], str]) -> Path:
        """The file of a content; ``write`` makes it where it is not there yet."""
        if self._folder is None or not self._folder.is_dir():
            self._folder = Path(tempfile.mkdtemp(prefix="gltf_bullet_"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / f"{digest.hex()}{suffix}"
        if not path.exists():
            # Other threads may load the same robot into worlds of theirs.
            with written_aside(path, durable=False) as aside:
                aside.write_text(write(), encoding="utf-8")
        return path


KEPT_FILES = _KeptFiles()
