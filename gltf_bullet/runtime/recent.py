"""Recently used files and translations of this process: scenes are made again without reading.

Nothing is stored outside the process. A file counts as unchanged while its size and time are, and
those of all files that it refers to.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from gltf_bullet.collection import no_collection
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import InvalidAssetError
from gltf_bullet.gltf.buffers import resolve_relative_uri
from gltf_bullet.gltf.document import Document
from gltf_bullet.number_ranges import WORLD
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.plan_memo import MemoKey
from gltf_bullet.planning.scene_plan import within_reach
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.translation import Translation, translate_at
from gltf_bullet.scene import NodeFrames

_FARTHEST: MemoKey[float] = MemoKey("the largest number in the transforms of nodes")

_MOST_FILES, _MOST_BYTES = 8, 64 << 20
"""Largest number of files in memory, and of their bytes together."""
_SETTLED_NS = 2_000_000_000
"""Age [ns] from which on an equal time of a file means equal content: the resolution of file
systems.
"""
_MOST_TRANSLATIONS = 4
"""Largest number of translations of one file: environments use the same one at few placements."""

A = TypeVar("A", bound=AssetContent)
_Seen: TypeAlias = "tuple[tuple[str, int, int, int], ...]"
"""Path, size [bytes], time [ns] and inode of some files."""


class _Known(NamedTuple):
    seen: _Seen
    asset: Any


_known: dict[tuple[str, str], _Known] = {}
"""Assets by the path as given and its absolute path; the last one used is last."""


def recent_asset(path: str | os.PathLike[str], read: Callable[[], A]) -> A:
    """Return the asset at ``path``; ``read`` reads it if it is new or has changed."""
    name = os.fsdecode(path)
    key = name, os.path.abspath(name)
    known, seen = _known.pop(key, None), _look([key[1]])
    if known is None or known.seen != _look(entry[0] for entry in known.seen):
        asset = read()
        # Their status is taken before they are read: the others are read on first use.
        others = None if seen is None else _look(_referred(asset.document))
        if seen is None or others is None:
            return asset
        known = _Known(seen + others, asset)
    _known[key] = known
    while len(_known) > _MOST_FILES or _bytes_known() > _MOST_BYTES:
        _known.pop(next(iter(_known), key), None)  # another thread may do the same
    found: A = known.asset
    return found


def _look(paths: Iterable[str]) -> _Seen | None:
    """Return what shows changes of files; ``None`` if a change could be missed."""
    seen, now = [], time.time_ns()
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return None
        if not stat.S_ISREG(status.st_mode) or not status.st_mtime_ns < now - _SETTLED_NS:
            return None
        seen.append((path, status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(seen)


def _referred(document: Document) -> list[str]:
    """Return the files that a document refers to."""
    files: list[Path | None] = []
    for owner in (*document.objects("buffers"), *document.objects("images")):
        uri = owner.get("uri")
        if isinstance(uri, str) and uri[:5].lower() != "data:":
            files.append(resolve_relative_uri(uri, document.folder, ROOT, Diagnostics()))
    return [str(file) for file in files if file is not None]


def _bytes_known() -> int:
    return sum(size for known in list(_known.values()) for _, size, _, _ in known.seen)


def recent_translation(
    asset: AssetContent, placement: Placement, options: LoadOptions
) -> Translation:
    """Return the translation of a fresh scene, cached for the same request.

    Environments make one asset many times, each in a world of its own or all in one; planning is
    half the time of a scene. The last few, at the origin, are kept with the document.

    Raises:
        InvalidAssetError: Content turned out unusable while translating.
        TranslationError: ``options.strict`` and the engine would approximate.
        ValueError: The file has no such scene.
    """
    kept: dict[object, Translation] = asset.derived.setdefault(Translation, {})
    key = (placement.key_at_origin, options)
    found = kept.get(key)
    if found is None:
        with no_collection():
            found = translate_at(asset, placement.at_origin(), options)
            found.require_usable(strict=options.strict)
        while len(kept) >= _MOST_TRANSLATIONS:
            del kept[next(iter(kept))]
        kept[key] = found
    plan = found.plan
    frames = plan.frames.moved(placement.offset)
    farthest = plan.memo.get(_FARTHEST, lambda: _farthest(plan.frames))
    if farthest + max(map(abs, frames.offset)) > WORLD:
        too_far = Diagnostics()
        if within_reach(frames, too_far) is not frames:
            raise InvalidAssetError(asset.path, (*found.issues, *too_far.issues))
    return found.moved(frames)


def _farthest(frames: NodeFrames) -> float:
    """Return the largest number in the nodes' transforms."""
    return float(np.abs(frames.world_from_node).max(initial=0.0))
