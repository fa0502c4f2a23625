"""What was read of files and made of it, kept on this machine for other processes and later loads.

Of a file with the same content, read by the same program, all that reading and translating found is
there again. What else a file refers to is compared as well.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from gltf_bullet.diagnostics import Diagnostics, Issue
from gltf_bullet.disk_cache import cache_folder, read_entry, write_entry
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.gltf.container import SourceFile, glb_chunk
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.gltf.images import image_bytes
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.changed_values import changed
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.translation import Translation
from gltf_bullet.scene import Animation
from gltf_bullet.value_pickles import dumped, loaded

__all__ = ["KeptAsset", "kept_asset"]

_MOST_TRANSLATIONS = 4
"""Of one file; random placements would fill the disk."""
_MOST_BYTES = 16 << 20
"""Of an entry: what is larger is mostly pictures, and takes as long to read as to make."""
_KEY = ("kept asset", 0)
"""Where a document holds its entry."""
_SIZE = 16
"""Bytes of a digest."""
_CANNOT_BE_DUMPED = (
    pickle.PicklingError, TypeError, AttributeError, RecursionError, OverflowError
)  # fmt: skip


class _Read(NamedTuple):
    """What reading found; the document is without the bytes and the place of its file."""

    document: Document
    physics: PhysicsScene
    animations: tuple[Animation, ...]
    issues: tuple[Issue, ...]
    others: bytes
    """Digest of the files that the document refers to."""


class KeptAsset:
    """The entry of one file as it is now: what reading found, and some translations."""

    def __init__(self, file: SourceFile, chosen: str | os.PathLike[str] | None) -> None:
        """Of a file that was read, in the folder that was ``chosen``, or the usual one."""
        self._file, self._folder = file, cache_folder(chosen)
        self._read = b""
        self._translations: dict[str, bytes] = {}
        self._shared: dict[str, object] = {}
        self._expected: tuple[str, Translation] | None = None

    def serves(self, asset: AssetContent, options: LoadOptions) -> bool:
        """Whether ``asset`` is still as its file says, and ``options`` keep things here."""
        is_same = self._shared.get("physics") is asset.physics
        return is_same and self._folder == cache_folder(options.cache_folder)

    def content(self) -> AssetContent | None:
        """What reading found, if it is kept."""
        entry = None if self._path is None else read_entry(self._path)
        if entry is None:
            return None
        try:
            read, translations = loaded(entry)
            found: _Read = loaded(read)
            path, folder, _ = self._file
            chunk = glb_chunk(self._file)
            document = replace(found.document, path=path, folder=folder, glb_chunk=chunk)
            if _others(document) != found.others:
                return None
            content = AssetContent(
                document=document, physics=found.physics, animations=found.animations,
                issues=found.issues,
            )  # fmt: skip
        except Exception:  # whatever it is: no entry of this program
            return None
        self._read, self._translations = read, translations
        self.follow(content)
        return content

    def follow(self, content: AssetContent) -> None:
        """Know that ``content`` was read of the file, without errors."""
        self._shared = {"physics": content.physics, "tree": content.tree}
        content.document.derive(_KEY, lambda _: self, Diagnostics())

    def translation(self, key: str) -> Translation | None:
        """A translation that was kept under ``key``."""
        kept = self._translations.get(key)
        if kept is None:
            return None
        try:
            found: Translation = loaded(kept, self._shared)
            return changed(found, path=self._file.path)
        except Exception:  # as above
            return None

    def expect(self, key: str, translation: Translation) -> None:
        """A scene is being made of a translation; :meth:`keep` will keep it under ``key``."""
        if len(self._translations) < _MOST_TRANSLATIONS or key in self._translations:
            self._expected = key, translation

    def keep(self, asset: AssetContent) -> None:
        """The scene stands: keep its translation, with what was worked out of that meanwhile."""
        if self._expected is not None and self._path is not None:
            (key, translation), self._expected = self._expected, None
            self._write(self._path, asset, key, translation)

    def _write(self, path: Path, asset: AssetContent, key: str, translation: Translation) -> None:
        try:
            self._read = self._read or self._dumped_read(asset)
            made = self._dumped_translation(translation)
        except (GltfBulletError, *_CANNOT_BE_DUMPED):
            return
        entry = self._read, {**self._translations, key: made}
        if len(self._read) + sum(map(len, entry[1].values())) <= _MOST_BYTES:
            self._translations[key] = made
            write_entry(path, [dumped(entry)])

    def _dumped_translation(self, translation: Translation) -> bytes:
        plan = translation.plan
        with suppress(TypeError):
            lasting = changed(translation, plan=changed(plan, kept=plan.lasting))
            return dumped(lasting, self._shared, _MOST_BYTES)
        # Something of it names files of this process: it is found anew.
        bare = changed(translation, plan=changed(plan, kept={}))
        return dumped(bare, self._shared, _MOST_BYTES)

    def _dumped_read(self, asset: AssetContent) -> bytes:
        document = replace(
            asset.document, path="", folder=None, glb_chunk=None, _buffers={}, _derived={}
        )
        others = _others(asset.document)
        return dumped(
            _Read(document, asset.physics, asset.animations, asset.issues, others),
            most=_MOST_BYTES,
        )

    @cached_property
    def _path(self) -> Path | None:
        program = _program()
        if program is None:
            return None
        digest = hashlib.blake2b(program, digest_size=_SIZE)
        digest.update(self._file.data)
        return self._folder / f"{digest.hexdigest()}.asset"


def kept_asset(asset: AssetContent) -> KeptAsset | None:
    """The entry of the file that an asset was read of; ``None``: it came from no file."""
    kept: KeptAsset | None = asset.document.derive(_KEY, lambda _: None, Diagnostics())
    return kept


def _others(document: Document) -> bytes:
    """Digest of what other files hold that the document refers to.

    Raises:
        ContainerError: One that must be there is not.
    """
    digest = hashlib.blake2b(digest_size=_SIZE)
    for k, buffer in enumerate(document.objects("buffers")):
        if _is_elsewhere(buffer):
            digest.update(hashlib.blake2b(document.buffer(k)).digest())
    for k, image in enumerate(document.objects("images")):
        if _is_elsewhere(image):
            content = image_bytes(document, k, Diagnostics()) or b""
            digest.update(hashlib.blake2b(content).digest())
    return digest.digest()


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
