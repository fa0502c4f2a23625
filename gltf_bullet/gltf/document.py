"""One glTF file after reading: its JSON, node tree and buffers, checked and typed.

Not here: the meaning of extensions (room ``dialects``), geometry and animations, which other
modules of this room read from the document on demand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, JsonPointer, error, warning
from gltf_bullet.errors import ContainerError, InvalidAssetError
from gltf_bullet.gltf.buffers import read_buffer
from gltf_bullet.gltf.container import (
    DEFAULT_LIMITS,
    AssetSource,
    ReadLimits,
    open_container,
)
from gltf_bullet.gltf.fields import JsonObject, Reader
from gltf_bullet.gltf.nodes import extension_names, index_extensions, read_node_tree
from gltf_bullet.scene import NodeTree

__all__ = ["AssetSource", "Document", "ReadLimits", "read_document"]

ASSET_VERSION = error(
    "ASSET_VERSION",
    "asset.{key} is {got}; this reader knows glTF 2.0 and what the draft of 2.1 adds to physics",
)
ASSET_VERSION_MISSING = warning("ASSET_VERSION_MISSING", "asset.version is missing; 2.0 is assumed")
ASSET_VERSION_FORM = warning(
    "ASSET_VERSION_FORM",
    "asset.{key} is {got}; must be two numbers and a point, such as 2.0; it is read as {used}",
)
ASSET_VERSION_ORDER = warning(
    "ASSET_VERSION_ORDER",
    "asset.minVersion is {minimum} and asset.version is {version}; must not be greater; the file "
    "is read all the same",
)
EXTERNAL_ASSET_LEFT_OUT = warning(
    "EXTERNAL_ASSET_LEFT_OUT",
    "node {node} holds the external asset {got} (glTF 2.1 draft), which is not read; all that it "
    "contains is left out",
)
EXTENSION_NOT_IN_USED = warning(
    "EXTENSION_NOT_IN_USED", "{got} is in extensionsRequired only; must be in extensionsUsed too"
)

COLLECTIONS = (
    "accessors", "animations", "buffers", "bufferViews", "cameras", "images", "materials",
    "meshes", "nodes", "samplers", "scenes", "skins", "textures",
)  # fmt: skip
"""The root members that are lists of objects."""
DISPENSABLE = frozenset({"animations", "cameras", "images", "materials", "samplers", "textures"})
"""Collections that the simulation does not need."""

T = TypeVar("T")
_VERSION: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_LOOSE_VERSION: Final = re.compile(r"\s*([0-9]{1,9})(?:\.([0-9]{1,9}))?")


class Document(Struct, frozen=True, eq=False, kw_only=True):
    """The frozen result of reading one file. Its JSON must not be changed.

    A pickle leaves out derived values, and includes the buffers that were read.
    """

    path: str
    """Path as the caller stated it, or ``"<memory>"``."""
    folder: Path | None
    """Folder that relative URIs start from; ``None`` for a source without a path."""
    json: JsonObject
    """The parsed root."""
    tree: NodeTree
    glb_chunk: bytes | None
    """The binary chunk of a GLB file."""
    extensions_used: tuple[str, ...]
    extensions_required: tuple[str, ...]
    limits: ReadLimits
    _collections: dict[str, tuple[JsonObject, ...]]
    _nodes_by_extension: dict[str, tuple[int, ...]]
    _buffers: dict[int, bytes] = msgspec_field(default_factory=dict)
    _derived: dict[tuple[str, int], tuple[object, tuple[Issue, ...]]] = msgspec_field(
        default_factory=dict
    )

    def __reduce__(self) -> tuple[object, ...]:
        names = [name for name in self.__struct_fields__ if name != "_derived"]
        return (_document_of_state, ({name: getattr(self, name) for name in names},))

    def __repr__(self) -> str:
        return f"Document({self.path!r}, {len(self.tree)} nodes)"

    def root_extension(self, name: str) -> JsonObject:
        """The root's extension object; ``{}`` when absent or no object (reported at reading)."""
        return _extension(self.json, name) or {}

    def node_extension(self, node: int, name: str) -> JsonObject | None:
        """The extension object of a node; ``None`` when absent or no object (then reported)."""
        return _extension(self._collections["nodes"][node], name)

    def root_reader(self, name: str, diagnostics: Diagnostics) -> Reader:
        """The reader of the root's extension object, which is empty where it is absent."""
        return Reader(self.root_extension(name), ROOT / "extensions" / name, diagnostics)

    def node_reader(self, node: int, name: str, diagnostics: Diagnostics) -> Reader:
        """The reader of a node's extension object, which is empty where it is absent."""
        at = JsonPointer(f"/nodes/{node}/extensions/{name}")
        return Reader(self.node_extension(node, name) or {}, at, diagnostics)

    def reader(self, collection: str, index: int, diagnostics: Diagnostics) -> Reader:
        """The reader of an object of a root collection."""
        at = JsonPointer(f"/{collection}/{index}")
        return Reader(self.objects(collection)[index], at, diagnostics)

    def nodes_with_extension(self, name: str) -> tuple[int, ...]:
        """The nodes that carry an extension, in file order."""
        return self._nodes_by_extension.get(name, ())

    @property
    def node_extension_names(self) -> tuple[str, ...]:
        """The extensions on nodes, in the order of first use."""
        return tuple(self._nodes_by_extension)

    def count(self, collection: str) -> int:
        """The length of a root collection such as ``"meshes"``; 0 when absent."""
        return len(self.objects(collection))

    def objects(self, collection: str) -> Sequence[JsonObject]:
        """The objects of a root collection; ``{}`` in place of wrong ones (reported at reading)."""
        if collection in self._collections:
            return self._collections[collection]
        return _objects(self.json, collection, Diagnostics())

    def buffer(self, index: int) -> memoryview:
        """The ``byteLength`` bytes of a buffer, read on first access and cached.

        Raises:
            ContainerError: The data is missing, short, too large, or outside the asset's folder.
        """
        if index not in self._buffers:
            diagnostics = Diagnostics()
            data = read_buffer(
                self._collections["buffers"],
                index,
                self.folder,
                self.glb_chunk,
                diagnostics,
                self.limits,
            )
            if data is None:
                raise ContainerError(self.path, diagnostics.issues)
            self._buffers[index] = data
        return memoryview(self._buffers[index])

    def derive(
        self, key: tuple[str, int], read: Callable[[Diagnostics], T], diagnostics: Diagnostics
    ) -> T:
        """The result of ``read``, cached by document and key; its issues are reported each time."""
        if key not in self._derived:
            found = Diagnostics()
            self._derived[key] = (read(found), found.issues)
        value, issues = self._derived[key]
        diagnostics.extend(issues)
        return cast("T", value)


def read_document(
    source: AssetSource,
    diagnostics: Diagnostics,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    adapt: Callable[[JsonObject, Diagnostics], JsonObject] | None = None,
) -> Document:
    """Read a ``.gltf`` or ``.glb`` file; content problems are reported, reading goes on.

    ``adapt`` may replace the root before any content is read.

    Raises:
        ContainerError: Not GLB or JSON, truncated, too large, or of another glTF version.
        InvalidAssetError: The node hierarchy cannot be built: a child that does not exist, a node
            with two parents, or a circle.
        TypeError: ``source`` is no readable source.
    """
    container = open_container(source, diagnostics, limits)
    root, path = container.json, container.path
    if adapt is not None:
        root = adapt(root, diagnostics)
    reader = Reader(root, ROOT, diagnostics)
    _check_version(reader, path)
    collections = {name: _objects(root, name, diagnostics) for name in COLLECTIONS}
    nodes = collections["nodes"]
    counts = {name: len(objects) for name, objects in collections.items()}
    used = reader.strings("extensionsUsed", instead="it is taken as empty") or ()
    required = reader.strings("extensionsRequired") or ()
    for name in required:
        if name not in used:
            reader.report(EXTENSION_NOT_IN_USED, "extensionsRequired", got=name)
    if "extensions" in root:
        extension_names(reader)
    _report_external_assets(root, nodes, diagnostics)
    nodes_by_extension = index_extensions(nodes, diagnostics)
    tree = read_node_tree(root, nodes, counts, diagnostics)
    if tree is None:
        raise InvalidAssetError(path, diagnostics.issues)
    return Document(
        path=path,
        folder=container.folder,
        json=root,
        tree=tree,
        glb_chunk=container.glb_chunk,
        extensions_used=used,
        extensions_required=required,
        limits=limits,
        _collections=collections,
        _nodes_by_extension=nodes_by_extension,
    )


def _document_of_state(state: dict[str, object]) -> Document:
    return Document(**state)  # type: ignore[arg-type]  # the fields of another Document


def _extension(owner: JsonObject, name: str) -> JsonObject | None:
    extensions = owner.get("extensions")
    value = extensions.get(name) if type(extensions) is dict else None
    return value if type(value) is dict else None


def _objects(root: JsonObject, name: str, diagnostics: Diagnostics) -> tuple[JsonObject, ...]:
    value = root.get(name)
    if type(value) is list and set(map(type, value)) <= {dict}:
        return tuple(value)
    instead = "it is taken as empty" if name in DISPENSABLE else None
    entries = Reader(root, ROOT, diagnostics).entries(name, instead=instead)
    return tuple(entry.json for entry in entries)


def _check_version(root: Reader, path: str) -> None:
    """Accept every 2.x whose ``minVersion`` is 2.0 or 2.1 (glTF 2.0, "Asset")."""
    asset = root.member_or_empty("asset", instead="it is ignored")
    if "version" not in asset:
        asset.report(ASSET_VERSION_MISSING)
    version = _read_version(asset, "version")
    minimum = _read_version(asset, "minVersion")
    for key, accepted in (
        ("version", version is None or version[0] == 2),
        ("minVersion", minimum in (None, (2, 0), (2, 1))),
    ):
        if not accepted:
            asset.report(ASSET_VERSION, key, key=key, got=repr(asset[key])[:60])
            raise ContainerError(path, asset.diagnostics.issues)
    if minimum is not None and minimum > (version or (2, 0)):
        stated = asset.get("version", "2.0")
        asset.report(ASSET_VERSION_ORDER, "minVersion", minimum=asset["minVersion"], version=stated)


def _read_version(asset: Reader, key: str) -> tuple[int, int] | None:
    """Major and minor number; (0, 0) for a text without numbers."""
    stated = asset.string(key, instead="2.0 is assumed")
    if stated is None:
        return None
    if exact := _VERSION.fullmatch(stated):
        return int(exact[1]), int(exact[2])
    loose = _LOOSE_VERSION.match(stated)
    if loose is None:
        return (0, 0)
    major, minor = int(loose[1]), int(loose[2] or 0)
    used = f"{major}.{minor}"
    asset.report(ASSET_VERSION_FORM, key, key=key, got=repr(stated)[:60], used=used)
    return major, minor


def _report_external_assets(
    root: JsonObject, nodes: tuple[JsonObject, ...], diagnostics: Diagnostics
) -> None:
    """Report external assets in nodes, a feature of the draft of glTF 2.1."""
    table = root.get("externalAssets")
    entries = table if isinstance(table, list) else []
    for index, node in enumerate(nodes):
        if "externalAsset" in node:
            number: Any = node["externalAsset"]
            is_there = type(number) is int and 0 <= number < len(entries)
            entry = entries[number] if is_there else None
            uri = entry.get("uri") if isinstance(entry, dict) else None
            at = ROOT / "nodes" / index / "externalAsset"
            got = repr(uri if isinstance(uri, str) else number)[:60]
            diagnostics.report(EXTERNAL_ASSET_LEFT_OUT, at, node=index, got=got)
