"""Output files, written aside and renamed: whole or not at all, never through a symbolic link.

A full disk, a killed process or an exception leaves the former file. A link in the place of the
file is replaced by it; the target of the link stays untouched.
"""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_PREFIX = ".gltf_bullet-"
"""Prefix of the names of unfinished files."""
_SETTLED = 60.0
"""[s] Age below which a file's writer may not have locked it yet."""


class FileAside:
    """A file under another name in the same folder, until it is complete."""

    def __init__(self, target: Path) -> None:
        """Create the empty file, and the folders above it.

        Raises:
            OSError: A folder cannot be created or written, or ``target`` is a folder.
        """
        if target.is_dir() and not target.is_symlink():
            raise IsADirectoryError(21, os.strerror(21), str(target))
        self._target = target
        # The same suffix: writers derive formats from it. The target's folder, so that renaming
        # is one act of the file system.
        prefix = f"{_PREFIX}{target.stem[:40]}-"
        with _errors_name(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            _sweep(target.parent, prefix)
            self._handle, name = tempfile.mkstemp(
                dir=target.parent, prefix=prefix, suffix=target.suffix
            )
        _lock(self._handle)
        if fcntl is None:
            self._close()  # Windows moves no file that is open
        self.path = Path(name)
        """Path of the unfinished file."""

    def commit(self, *, durable: bool = True) -> None:
        """Move the file to its place.

        Args:
            durable: Wait until it is on the disk.

        Raises:
            OSError: That is impossible; the former file is unchanged.
        """
        try:
            with _errors_name(self._target):
                self.path.chmod(_mode_for(self._target))
                if durable:
                    with self.path.open("rb+") as file:
                        # Else a crash of the machine may leave the new name without content.
                        os.fsync(file.fileno())
                os.replace(self.path, self._target)
        except BaseException:
            self.discard()
            raise
        self._close()

    def discard(self) -> None:
        """Remove the unfinished file; harmless after :meth:`commit`."""
        self._close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


@contextmanager
def _errors_name(target: Path) -> Iterator[None]:
    """Make errors about the unfinished file name the requested one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error


def _lock(handle: int) -> bool:
    """Mark a file as being written; the lock ends with the process."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by another process, or a file system without locks
        return False
    return True


def _sweep(folder: Path, prefix: str) -> None:
    """Remove unfinished files of killed processes for the same target."""
    with contextlib.suppress(OSError):
        for left in folder.glob(f"{glob.escape(prefix)}*"):
            if time.time() - left.stat().st_mtime < _SETTLED:
                continue
            handle = os.open(left, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _lock(handle):
                    left.unlink(missing_ok=True)
            finally:
                os.close(handle)


@contextmanager
def written_aside(target: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Path to write to instead of ``target``, which is replaced at the end unless an error occurs.

    Args:
        target: The final file.
        durable: True if it must survive a crash of the machine (takes milliseconds).

    Raises:
        OSError: The file cannot be written; the former one is unchanged.
    """
    aside = FileAside(Path(target))
    try:
        yield aside.path
    except BaseException:
        aside.discard()
        raise
    aside.commit(durable=durable)


def require_another_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    force: bool,
    by: str = "force=True",
) -> None:
    """Raise if ``target`` is the file that was read, unless ``force``; ``by`` names that option.

    Raises:
        FileExistsError: It is: by the same name, another spelling of it, or a link.
    """
    if not force and is_same_file(source, target):
        why = f"it is the file that was read; {by} writes over it"
        raise FileExistsError(17, why, str(target))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return True if two paths lead to one existing file, by links or another spelling too."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _mode_for(target: Path) -> int:
    """Permissions of the file that is replaced, or those of any new file here."""
    try:
        if not target.is_symlink():
            return target.stat().st_mode & 0o777
    except OSError:
        pass
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
