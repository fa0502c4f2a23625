"""What takes long to make, kept on this machine by content: hulls, baked meshes, files of them.

A cache that cannot be read or written is no error, and an entry that is damaged is none. Nothing
in it is code.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gltf_bullet.private_folders import (
    UnsafeFolderError,
    fresh_folder,
    private_folder,
    say_unsafe,
    usual_folders,
)

__all__ = ["cache_folder", "is_kept", "read_entry", "write_entry", "write_file"]

_MOST_BYTES = 512 << 20
"""Of all entries of a folder; the oldest go first."""
_LOOK_EVERY = 2 << 20
"""[bytes] that are written between two times that the folder is measured, on average."""
_OFTEN = 60.0
"""[s] As often as that a file is noted to be in use: it takes as long as to open one."""
_CHECK = 4
"""Bytes of the checksum in front of an entry, against damage: five times as fast as a digest."""


def cache_folder(chosen: str | os.PathLike[str] | None) -> Path:
    """Where such things are kept: ``chosen``, else what the environment says, else the user's.

    Where others could have put something into that, a folder of this process alone.
    """
    if chosen:
        return _folder(os.path.abspath(chosen))
    if stated := os.environ.get("GLTF_BULLET_CACHE"):
        return _folder(stated)
    return _usual_folder(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@lru_cache(64)
def _folder(stated: str) -> Path:
    try:
        return private_folder(stated).path
    except UnsafeFolderError as error:
        say_unsafe(error)
        return fresh_folder()
    except OSError:  # nothing can be read or written there
        return Path(stated)


@lru_cache(64)
def _usual_folder(_: str | None, _home: str | None) -> Path:
    """The user's; it takes longer to work out than to read an entry (measured)."""
    for folder in usual_folders():
        with suppress(OSError, UnsafeFolderError):
            return private_folder(folder / "assets").path
    return fresh_folder()


def read_entry(path: str | os.PathLike[str]) -> memoryview | None:
    """What :func:`write_entry` was given, as one; ``None``: there is none, or it is damaged."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = memoryview(file.read())
    except OSError:
        return None
    check, content = data[:_CHECK], data[_CHECK:]
    return content if _checksum([content]) == check else None


def write_entry(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Keep an entry for :func:`read_entry`, if possible."""
    parts = list(parts)
    write_file(path, [_checksum(parts), *parts])


def is_kept(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there to read; as one in use it is among the last to go."""
    if not os.access(path, os.R_OK):
        return False
    with suppress(OSError):  # gone, or somebody else's
        if time.time() - os.stat(path).st_mtime > _OFTEN:
            os.utime(path)
    return True


def write_file(path: Path, parts: Iterable[bytes | memoryview]) -> bool:
    """Keep a file that others read as well; whether it could be kept."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: parallel workers never see half a file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            size = sum(file.write(part) for part in parts)
        os.replace(temporary, path)
        # By chance, the same for all workers: nobody need remember what was written before.
        if int.from_bytes(os.urandom(4), "big") * _LOOK_EVERY < size << 32:
            _shrink(path.parent)
    except OSError:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        return False
    return True


def _checksum(parts: Iterable[bytes | memoryview]) -> bytes:
    check = 0
    for part in parts:
        check = zlib.crc32(part, check)
    return check.to_bytes(_CHECK, "little")


def _shrink(folder: Path) -> None:
    """Forget the oldest entries of a folder that has grown too large."""
    entries = sorted((s.st_mtime, s.st_size, p) for p in folder.iterdir() for s in [p.stat()])
    left = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if left <= _MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        left -= size
