"""Folders that no other user can have written to, so that their content is trusted.

Later processes read the cache on this machine, machine code too. So each level of its path, from
the root of the file system on, must belong to us or to the system's administrator, and nobody else
may write it; below folders like ``/tmp``, in which everybody may make entries and nobody may touch
those of others, the next level must. Levels are opened one within the other, so that none can be
exchanged between the check and the use; links are followed where the system made them (``/var``).

Windows knows no such owners: there a path must be absolute, and its own levels no links.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import time
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import platformdirs

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""Flags that can open a folder which may be passed but not listed."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_HAS_OWNERS = hasattr(os, "geteuid") and {os.open, os.mkdir, os.stat} <= os.supports_dir_fd
_MOST_LINKS = 20
_DEEPEST_LINK = 2
"""Levels below the root in which systems have links: ``/var``, ``/home``, ``/home/user``."""
_NOWHERE = Path(os.devnull) / "nothing"
"""A folder that can hold no file, so that nothing is read or written."""


class UnsafeFolderError(Exception):
    """Others could have written to a folder; the message tells why."""


class PrivateFolder:
    """A folder that was checked, and its files."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        """``descriptor``: descriptor of the open folder, if the system has such."""
        self.path = path
        self._descriptor = descriptor

    def read(self, name: str) -> bytes | None:
        """The content of a file; ``None`` if there is none, or others may have written it."""
        try:
            with os.fdopen(self._opened(name, os.O_RDONLY), "rb") as file:
                if _HAS_OWNERS:
                    status = os.fstat(file.fileno())
                    if not (stat.S_ISREG(status.st_mode) and _is_ours(status)):
                        return None
                return file.read()
        except OSError:
            return None

    def write(self, name: str, data: bytes) -> bool:
        """Write a file whole, or not at all; returns True on success."""
        aside = f"{name}.{os.getpid()}"
        try:
            handle = self._opened(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            if self._descriptor is None:
                os.replace(self.path / aside, self.path / name)
            else:
                os.replace(aside, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            return False
        return True

    def _opened(self, name: str, flags: int) -> int:
        flags |= _NO_LINK | getattr(os, "O_BINARY", 0)
        if self._descriptor is None:
            return os.open(self.path / name, flags, 0o600)
        return os.open(name, flags, 0o600, dir_fd=self._descriptor)


def private_folder(path: str | os.PathLike[str]) -> PrivateFolder:
    """A folder that belongs to this user alone; it is created if it is missing.

    Raises:
        UnsafeFolderError: It belongs to others as well, or the path is relative.
        OSError: It cannot be created or opened.
    """
    text = os.fspath(path)
    if not os.path.isabs(text):
        raise UnsafeFolderError(f"{text} is relative: another folder in each place")
    text = os.path.normpath(text)
    if _HAS_OWNERS:
        return PrivateFolder(Path(text), _descend(text))
    folder = Path(text)
    folder.mkdir(parents=True, exist_ok=True)
    linked = [level for level in (folder, folder.parent) if level.is_symlink()]
    if linked:
        raise UnsafeFolderError(f"{linked[0]} is a link")
    return PrivateFolder(folder, None)


def _descend(path: str) -> int:
    """Open a folder level by level, and return its descriptor."""
    waiting = path.split(os.sep)[:0:-1]
    shown, links = os.sep, 0
    here = os.open(os.sep, _LOOK | _NO_LINK)
    try:
        _require_safe(os.fstat(here), shown, is_last=not waiting)
        while waiting:
            name = waiting.pop()
            if not name:
                continue
            try:
                status = os.stat(name, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:
                with suppress(FileExistsError):  # another process was first
                    os.mkdir(name, 0o700, dir_fd=here)
                status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                links += 1
                level = os.path.join(shown, name)
                is_near = level.count(os.sep) <= _DEEPEST_LINK
                is_systems = is_near and status.st_uid == 0 and _is_of_the_system(here)
                if not is_systems or links > _MOST_LINKS:
                    raise UnsafeFolderError(f"{level} is a link")
                target = os.path.normpath(os.path.join(shown, os.readlink(name, dir_fd=here)))
                waiting += target.split(os.sep)[:0:-1]
                above, here, shown = here, os.open(os.sep, _LOOK | _NO_LINK), os.sep
                os.close(above)
                continue
            above, here = here, os.open(name, _LOOK | _NO_LINK, dir_fd=here)
            os.close(above)
            shown = os.path.join(shown, name)
            _require_safe(os.fstat(here), shown, is_last=not waiting)
    except BaseException:
        os.close(here)
        raise
    return here


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & _OTHERS_WRITE


def _is_of_the_system(folder: int) -> bool:
    status = os.fstat(folder)
    return status.st_uid == 0 and not status.st_mode & _OTHERS_WRITE


def _require_safe(status: os.stat_result, shown: str, *, is_last: bool) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise UnsafeFolderError(f"{shown} belongs to user {status.st_uid}")
    # As for /tmp: entries of others cannot be renamed or removed.
    is_shared = status.st_uid == 0 and status.st_mode & stat.S_ISVTX and not is_last
    if status.st_mode & _OTHERS_WRITE and not is_shared:
        raise UnsafeFolderError(f"others can write {shown}")


def usual_folders() -> list[Path]:
    """Cache folders of the user, the best first: absolute paths, possibly none."""
    found = []
    with suppress(Exception):  # platformdirs raises whatever a missing home leads to
        found.append(platformdirs.user_cache_path("gltf_bullet"))
    homes = [os.environ.get("HOME", "")]
    if _HAS_OWNERS:
        import pwd

        with suppress(KeyError):  # users of containers need not be there
            homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    # Others may write ~/.cache where new folders are made for groups.
    found += [Path(home) / ".gltf_bullet" for home in homes if home]
    return [path for path in dict.fromkeys(found) if path.is_absolute()]


def fresh_folder() -> Path:
    """A new folder of this process alone, removed with it; an impossible path if none can be made.

    Others cannot know its name before.
    """
    try:
        return _safe(scratch_folder() / "kept")
    except OSError:
        return _NOWHERE


@lru_cache(8)
def _safe(folder: Path) -> Path:
    try:
        return private_folder(folder).path
    except UnsafeFolderError:
        return _NOWHERE


# --- Temporary files ------------------------------------------------------------------------------

_SCRATCH: dict[int, tuple[Path, int]] = {}
"""By process, as a forked child has its own: the folder, and its descriptor with a lock."""
_PREFIX = "gltf_bullet-scratch-"
_SETTLED = 60.0
"""[s] Age below which a folder's owner may not have locked it yet."""


def scratch_folder() -> Path:
    """The folder of all temporary files of this process, removed with it.

    What killed processes of this user left is taken away when it is made.

    Raises:
        OSError: It cannot be made.
    """
    process = os.getpid()
    known = _SCRATCH.get(process)
    if known is not None and known[0].is_dir():  # else somebody has tidied up
        return known[0]
    _sweep(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    _SCRATCH[process] = folder, _locked(folder)

    def forget() -> None:
        if os.getpid() == process:  # else it is a child process of the owner
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(forget)
    return folder


def _locked(folder: str | os.PathLike[str]) -> int:
    """The descriptor of a folder that nobody else has locked, locked; -1 if that is impossible.

    Programs that tidy up leave locked folders alone, too.
    """
    if fcntl is None:
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | _NO_LINK)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _sweep(parent: str) -> None:
    """Remove the folders of processes of this user that ended without doing so."""
    if not _HAS_OWNERS:
        return
    with os.scandir(parent) as entries:
        left = [entry for entry in entries if entry.name.startswith(_PREFIX)]
    for entry in left:
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            if is_ours and time.time() - status.st_mtime > _SETTLED:
                descriptor = _locked(entry.path)
                if descriptor >= 0:
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(descriptor)


def say_unsafe(error: UnsafeFolderError) -> None:
    """Warn once about a folder that the user stated."""
    warnings.warn(
        f"nothing is kept where others could have put something: {error}",
        RuntimeWarning,
        stacklevel=3,
    )
