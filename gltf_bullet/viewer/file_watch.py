"""Noticing that a file, or a file that it refers to, was changed on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from gltf_bullet.gltf.buffers import LONGEST_PATH

__all__ = ["FileWatch", "referenced_files"]

_Signature: TypeAlias = "tuple[int, int, int] | None"


def referenced_files(path: Path) -> tuple[Path, ...]:
    """Buffers and images beside a ``.gltf`` file; nothing where it cannot be read as JSON.

    A name is only watched here, never opened: what may be read is the reader's business.
    """
    if path.suffix.lower() != ".gltf":
        return ()
    try:
        root = json.loads(path.read_bytes())
        entries = [e for key in ("buffers", "images") for e in root.get(key, ())]
        uris = [entry["uri"] for entry in entries if isinstance(entry.get("uri"), str)]
    except (OSError, ValueError, AttributeError, TypeError):
        return ()
    return tuple(
        path.parent / unquote(uri)
        for uri in uris
        if uri[:5].lower() != "data:" and len(uri) <= 3 * LONGEST_PATH
    )


class FileWatch:
    """Tells of changes to some files, once each, when the writing is over."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths: tuple[Path, ...] = ()
        self._known: tuple[_Signature, ...] = ()
        self._pending: tuple[_Signature, ...] | None = None
        self.follow(paths)

    def follow(self, paths: Iterable[Path]) -> None:
        """Watch these files from now on, as they are now."""
        self._paths = tuple(paths)
        self._known = self._signatures()
        self._pending = None

    def poll(self) -> bool:
        """Whether a file has changed and has then stayed the same between two calls."""
        now = self._signatures()
        if now == self._known:
            self._pending = None
            return False
        if now != self._pending:
            self._pending = now
            return False
        self._known, self._pending = now, None
        return True

    def _signatures(self) -> tuple[_Signature, ...]:
        return tuple(_signature(path) for path in self._paths)


def _signature(path: Path) -> _Signature:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    # Editors often write a new file and rename it over the old one: the inode tells.
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
