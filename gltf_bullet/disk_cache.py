"""Cache on disk for results that take long: hulls, baked meshes, and files of them, by content.

A cache that cannot be read or written is no error, and a damaged entry counts as missing. No entry
is code.
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

_MOST_BYTES = 512 << 20
"""Most bytes of all entries of a folder; the oldest are removed first."""
_LOOK_EVERY = 2 << 20
"""[bytes] Average amount of writing between two measurements of the folder's size."""
_OFTEN = 60.0
"""[s] Interval of noting that a file is in use: it takes as long as opening one."""
_CHECK = 4
"""Bytes of the checksum before an entry, against damage: five times as fast as a digest."""


def cache_folder(chosen: str | os.PathLike[str] | None) -> Path:
    """Folder of the cache: ``chosen``, else that of the environment, else the user's.

    If others could have written to it, a folder of this process alone.
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
    """The user's cache folder, memoized: finding it takes longer than reading an entry."""
    for folder in usual_folders():
        with suppress(OSError, UnsafeFolderError):
            return private_folder(folder / "assets").path
    return fresh_folder()


def read_entry(path: str | os.PathLike[str]) -> memoryview | None:
    """The content of an entry as one block; ``None`` if it is missing or damaged."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = memoryview(file.read())
    except OSError:
        return None
    check, content = data[:_CHECK], data[_CHECK:]
    return content if _checksum([content]) == check else None


def write_entry(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write an entry for :func:`read_entry`, if possible."""
    parts = list(parts)
    write_file(path, [_checksum(parts), *parts])


def is_kept(path: str | os.PathLike[str]) -> bool:
    """Return True if a file is readable, and note its use, so that it is removed late."""
    if not os.access(path, os.R_OK):
        return False
    with suppress(OSError):  # removed, or owned by another user
        if time.time() - os.stat(path).st_mtime > _OFTEN:
            os.utime(path)
    return True


def write_file(path: Path, parts: Iterable[bytes | memoryview]) -> bool:
    """Write a file for all processes; returns True on success."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed: parallel workers never see half a file.
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            size = sum(file.write(part) for part in parts)
        os.replace(temporary, path)
        # By chance, the same for all workers: no state of earlier writes is needed.
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
    """Remove the oldest entries of a folder that has grown too large."""
    entries = sorted((s.st_mtime, s.st_size, p) for p in folder.iterdir() for s in [p.stat()])
    left = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if left <= _MOST_BYTES:
            return
        with suppress(OSError):
            path.unlink()
        left -= size
