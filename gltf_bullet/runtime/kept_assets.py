"""What was read of files and made of it, kept on this machine for other processes and later loads.

Of a file with the same content, read by the same program, all that reading and translating found is
there again. What else a file refers to is compared as well.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import zlib
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import NamedTuple

from gltf_bullet.bullet.bodies.multibody_text import MultibodyNames
from gltf_bullet.diagnostics import Diagnostics, Issue
from gltf_bullet.disk_cache import cache_folder, read_entry, write_entry
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.gltf.container import SourceFile, glb_chunk
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.gltf.images import image_bytes
from gltf_bullet.later import Later
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup
from gltf_bullet.planning.changed_values import changed
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.planning.joints.articulation_plan import JointPlan, MultibodyPlan, RowPlan
from gltf_bullet.planning.joints.multibody_spec import LinkSpec
from gltf_bullet.planning.shapes.shape_plans import PlacedShape
from gltf_bullet.rendering.visual_plans import NodeVisual
from gltf_bullet.runtime.content import AssetContent, FileContent
from gltf_bullet.runtime.translation import Translation
from gltf_bullet.scene import Animation
from gltf_bullet.sleeping_values import may_sleep
from gltf_bullet.value_pickles import dumped, loaded

__all__ = ["KeptAsset", "kept_asset"]

_MOST_TRANSLATIONS = 4
"""Of one file; random placements would fill the disk."""
_MOST_BYTES = 16 << 20
"""Of an entry: what is larger is mostly pictures, and takes as long to read as to make."""
_NOT_LOOKED_AT = may_sleep(
    BodyPlan, ColliderGroup, ContactPlan, JointPlan, LinkSpec, MultibodyNames, MultibodyPlan,
    NodeVisual, PlacedShape, RowPlan,
)  # fmt: skip
"""What is planned of a robot and plays no part where its translation is put into a world again."""
_FAST = 1
"""How hard to compress, of 9."""
_SIZE = 16
"""Bytes of a digest."""
_CANNOT_BE_DUMPED = (
    pickle.PicklingError, TypeError, AttributeError, RecursionError, OverflowError
)  # fmt: skip


class _Entry(NamedTuple):
    """What is kept of one file."""

    issues: tuple[Issue, ...]
    """Of reading."""
    animations: tuple[Animation, ...]
    content: bytes
    """What the file says, without the place and the chunk of it; see :class:`FileContent`.

    Compressed: a robot that is only simulated needs none of it.
    """
    others: bytes | None
    """Digest of the files that it refers to; ``None``: it refers to none."""
    translations: dict[str, bytes]
    acted: tuple[int, ...] | None
    """Nodes that its behavior graph moves."""


class KeptAsset:
    """The entry of one file as it is now: what reading found, and some translations."""

    def __init__(self, file: SourceFile, chosen: str | os.PathLike[str] | None) -> None:
        """Of a file that was read, in the folder that was ``chosen``, or the usual one."""
        self._file, self._chosen, self._folder = file, chosen, cache_folder(chosen)
        self._entry: _Entry | None = None
        self._expected: tuple[str, Translation] | None = None

    def serves(self, options: LoadOptions) -> bool:
        """Whether ``options`` keep things here."""
        chosen = options.cache_folder
        return chosen == self._chosen or cache_folder(chosen) == self._folder

    def asset(self) -> AssetContent | None:
        """What reading found, if it is kept."""
        data = None if self._path is None else read_entry(self._path)
        if data is None:
            return None
        try:
            entry = _Entry(*loaded(data))
            content = Later(partial(self._content, entry.content))
            if entry.others is not None and _others(content().document) != entry.others:
                return None
        except Exception:  # whatever it is: no entry of this program
            return None
        self._entry = entry
        return AssetContent(
            path=self._file.path, content=content, animations=entry.animations,
            issues=entry.issues, acted=entry.acted,
        )  # fmt: skip

    def _content(self, data: bytes) -> FileContent:
        document, physics = loaded(zlib.decompress(data))
        path, folder, chunk = self._file.path, self._file.folder, glb_chunk(self._file)
        return FileContent(replace(document, path=path, folder=folder, glb_chunk=chunk), physics)

    def translation(self, key: str) -> Translation | None:
        """A translation that was kept under ``key``."""
        kept = None if self._entry is None else self._entry.translations.get(key)
        if kept is None:
            return None
        try:
            found: Translation = loaded(kept)
            return changed(found, path=self._file.path)
        except Exception:  # as above
            return None

    def expect(self, key: str, translation: Translation) -> None:
        """A scene is being made of a translation; :meth:`keep` will keep it under ``key``."""
        known = {} if self._entry is None else self._entry.translations
        if len(known) < _MOST_TRANSLATIONS or key in known:
            self._expected = key, translation

    def keep(self, asset: AssetContent) -> None:
        """The scene stands: keep its translation, with what was worked out of that meanwhile."""
        if self._expected is not None and self._path is not None:
            (key, translation), self._expected = self._expected, None
            with suppress(GltfBulletError, *_CANNOT_BE_DUMPED):
                entry = self._entry or _new_entry(asset)
                known = {**entry.translations, key: _dumped_translation(translation)}
                if len(entry.content) + sum(map(len, known.values())) <= _MOST_BYTES:
                    self._entry = entry._replace(translations=known)
                    write_entry(Path(self._path), [dumped(tuple(self._entry))])

    @cached_property
    def _path(self) -> str | None:
        program = _program()
        if program is None:
            return None
        digest = hashlib.blake2b(program, digest_size=_SIZE)
        digest.update(self._file.data)
        return f"{self._folder}/{digest.hexdigest()}.asset"


def kept_asset(asset: AssetContent) -> KeptAsset | None:
    """The entry of the file that an asset was read of; ``None``: it came from no file."""
    kept: KeptAsset | None = asset.derived.get(KeptAsset)
    return kept


def _new_entry(asset: AssetContent) -> _Entry:
    document = replace(
        asset.document, path="", folder=None, glb_chunk=None, _buffers={}, _derived={}
    )
    return _Entry(
        issues=asset.issues,
        animations=asset.animations,
        content=zlib.compress(dumped((document, asset.physics), _MOST_BYTES), _FAST),
        others=_others(asset.document),
        translations={},
        acted=asset.acted,
    )


def _dumped_translation(translation: Translation) -> bytes:
    plan = translation.plan
    with suppress(TypeError):
        lasting = changed(translation, plan=changed(plan, kept=plan.lasting))
        return dumped(lasting, _MOST_BYTES, _NOT_LOOKED_AT)
    # Something of it names files of this process: it is found anew.
    bare = changed(translation, plan=changed(plan, kept={}))
    return dumped(bare, _MOST_BYTES)


def _others(document: Document) -> bytes | None:
    """Digest of what other files hold that the document refers to; ``None``: it refers to none.

    Raises:
        ContainerError: One that must be there is not.
    """
    found = [
        hashlib.blake2b(document.buffer(k)).digest()
        for k, buffer in enumerate(document.objects("buffers"))
        if _is_elsewhere(buffer)
    ]
    found += [
        hashlib.blake2b(image_bytes(document, k, Diagnostics()) or b"").digest()
        for k, image in enumerate(document.objects("images"))
        if _is_elsewhere(image)
    ]
    return hashlib.blake2b(b"".join(found), digest_size=_SIZE).digest() if found else None


def _is_elsewhere(owner: JsonObject) -> bool:
    uri = owner.get("uri")
    return isinstance(uri, str) and uri[:5].lower() != "data:"


@cache
def _program() -> bytes | None:
    """Digest of what reads and translates: Python, what is installed, and this package.

    Whoever installs something, this package or a decoder that was missing, changes the folder of
    packages. Sources elsewhere are compared by name, size and time: 3 ms of each process. Where
    there are none, as in a zip file, nothing is kept.
    """
    digest = hashlib.blake2b(sys.version.encode(), digest_size=_SIZE)
    package = Path(__file__).parents[1]
    try:
        for place in sys.path:
            if place.endswith("-packages"):
                digest.update(f"{place} {os.stat(place).st_mtime_ns}".encode())
        if not str(package.parent).endswith("-packages"):
            for path in sorted(package.rglob("*.py")):
                status = path.stat()
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns}".encode())
    except OSError:
        return None
    return digest.digest()
