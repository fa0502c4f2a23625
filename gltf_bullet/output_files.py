"""Files that are written aside and renamed: whole or not at all, never through a symbolic link.

A full disk, a killed process or an exception leaves what was there before. A link in the place of
the file is replaced by it; what it points to stays untouched.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["FileAside", "is_same_file", "require_another_file", "written_aside"]


class FileAside:
    """A file under another name in the same folder, until it is complete."""

    def __init__(self, target: Path) -> None:
        """Make the empty file.

        Raises:
            OSError: The folder does not exist or cannot be written, or ``target`` is a folder.
        """
        if target.is_dir() and not target.is_symlink():
            raise IsADirectoryError(21, os.strerror(21), str(target))
        self._target = target
        # The same suffix: writers tell formats by it. The folder is the target's, so that renaming
        # is one act of the file system.
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem[:40]}-", suffix=target.suffix
        )
        os.close(handle)
        self.path = Path(name)
        """Where to write."""

    def commit(self, *, durable: bool = True) -> None:
        """Put the file in its place.

        Args:
            durable: Wait until it is on the disk.

        Raises:
            OSError: It cannot be; the old one is as it was.
        """
        try:
            self.path.chmod(_mode_for(self._target))
            if durable:
                with self.path.open("rb+") as file:
                    # Else a crash of the machine may leave the new name with nothing behind it.
                    os.fsync(file.fileno())
            os.replace(self.path, self._target)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Take the unfinished file away; harmless after :meth:`commit`."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


@contextmanager
def written_aside(target: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Where to write instead of ``target``, which gets it at the end, or nothing on an exception.

    Args:
        target: The file to be.
        durable: Whether it shall outlive a crash of the machine (milliseconds).

    Raises:
        OSError: The file cannot be written; the old one is as it was.
    """
    aside = FileAside(Path(target))
    try:
        yield aside.path
    except BaseException:
        aside.discard()
        raise
    aside.commit(durable=durable)


def require_another_file(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, force: bool
) -> None:
    """Raise where ``target`` is what was read, unless ``force``.

    Raises:
        FileExistsError: It is: by the same name, another spelling of it, or a link.
    """
    if not force and is_same_file(source, target):
        raise FileExistsError(17, "it is the file that was read; force writes over it", str(target))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one existing file, by links or another spelling too."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _mode_for(target: Path) -> int:
    """Permissions of the file that is replaced, or those that any new file gets here."""
    try:
        if not target.is_symlink():
            return target.stat().st_mode & 0o777
    except OSError:
        pass
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
