"""The JSON root and the binary chunk of an asset source (glTF 2.0, "GLB File Format").

This module opens the source, splits the GLB container and decodes JSON from untrusted bytes.
``buffers.py`` reads buffers, ``document.py`` and its neighbours interpret the JSON. The file is
long since it recognises other formats too, for a message about what to do with them.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, NoReturn, TypeAlias, cast

import msgspec
from msgspec import Struct

from gltf_bullet.collection import no_collection
from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer, error, note, warning
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf.fields import JsonObject

if TYPE_CHECKING:
    import pygltflib

# --- Formats other than glTF 2.0, and what their owner can do -------------------------------------

_BLENDER: Final = "import it into Blender and export it as glTF 2.0"
_ROBOT: Final = "give its path, which ends in {suffix}; or gltf-bullet convert makes a glTF of it"
_STAGE: Final = "give its path, which ends in .usd, .usda, .usdc or .usdz, with the extra usd"

_BY_BEGINNING: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "run git lfs pull"),
    (b"Kaydara FBX Binary", "FBX", _BLENDER),
    (b"; FBX", "FBX (text)", _BLENDER),
    (b"BLENDER", "a Blender scene", "open it in Blender and export it as glTF 2.0"),
    (b"PXR-USDC", "USD (binary)", _STAGE),
    (b"#usda", "USD (text)", _STAGE),
    (b"ply\n", "a PLY mesh", _BLENDER),
    (b"ply\r\n", "a PLY mesh", _BLENDER),
    (b"solid ", "an STL mesh", _BLENDER),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd), perhaps a Blender scene", "open it in Blender"),
    (b"PK\x03\x04", "a ZIP archive (or USDZ)", "unpack it and load the .gltf or .glb inside"),
    (b"\x1f\x8b", "compressed (gzip)", "unpack it first"),
    (b"\x89PNG", "a PNG picture", "load the .gltf or .glb that uses it"),
    (b"\xff\xd8\xff", "a JPEG picture", "load the .gltf or .glb that uses it"),
)
"""Magic bytes, name of the format, and what to do."""

_BY_TAG: Final[dict[str, tuple[str, str]]] = {
    "robot": ("URDF", _ROBOT.format(suffix=".urdf")),
    "mujoco": ("MJCF", _ROBOT.format(suffix=".xml") + ", with the extra mjcf"),
    "sdf": ("SDF", _ROBOT.format(suffix=".sdf")),
    "collada": ("COLLADA", _BLENDER),
    "x3d": ("X3D", _BLENDER),
    "html": ("a web page, perhaps that of a failed download", "download the file itself"),
    "svg": ("an SVG picture", "load the .gltf or .glb that uses it"),
}
"""Format and what to do, by the first element of an XML text."""


def other_format(data: bytes) -> tuple[str, str] | None:
    """Format of ``data`` and what to do; ``None`` if it may be glTF or is unknown."""
    for beginning, what, remedy in _BY_BEGINNING:
        if data.startswith(beginning):
            return what, remedy
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"<"):
        return None
    tag = re.search(r"<([A-Za-z][A-Za-z0-9_:.-]*)", _without_comments(head.decode("latin-1")))
    name = "" if tag is None else tag[1].lower()
    return _BY_TAG.get(name, ("an XML text", _BLENDER))


def _without_comments(text: str) -> str:
    return re.sub(r"<!--.*?(-->|$)|<\?.*?\?>|<!doctype\s+", "<", text, flags=re.DOTALL | re.I)


def other_source(path: str) -> tuple[str, str] | None:
    """Kind of a name that is no path, and what to do; ``None`` if it may be a path."""
    if "://" not in path:
        return None
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", path)
    return scheme and (f"a URL ({scheme[1]})", "download the file and give its path")


# --- The source, its GLB container and its JSON ---------------------------------------------------

AssetSource: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | pygltflib.GLTF2"
)
"""Sources of a document; pygltflib is not imported to recognise its objects."""

MEMORY_PATH = "<memory>"
"""Path of a document that was not read from a file."""

FILE_UNREADABLE = error("FILE_UNREADABLE", "the file cannot be read: {got}")
FILE_TOO_LARGE = error(
    "FILE_TOO_LARGE",
    "the file has {got} bytes; must be at most {allowed} (ReadLimits.max_buffer_bytes)",
)
FILE_OTHER_FORMAT = error("FILE_OTHER_FORMAT", "this is {got}; must be glTF 2.0; {remedy}")
FILE_EMPTY = error("FILE_EMPTY", "the file is empty; must be GLB or JSON")
GLB_TRUNCATED = error(
    "GLB_TRUNCATED", "{what} needs {needed} bytes; only {got} are left in the file"
)
GLB_VERSION = error("GLB_VERSION", "the GLB version is {got}; must be 2")
GLB_LENGTH = warning(
    "GLB_LENGTH", "the GLB header says {length} bytes; the file has {got}; the rest is ignored"
)
GLB_CHUNK_UNALIGNED = warning(
    "GLB_CHUNK_UNALIGNED",
    "GLB chunk {chunk} has {got} bytes; must be a multiple of 4; it is read as it is",
)
GLB_JSON_NOT_FIRST = error("GLB_JSON_NOT_FIRST", "the first GLB chunk is {got}; must be JSON")
GLB_CHUNK_IGNORED = note(
    "GLB_CHUNK_IGNORED",
    "GLB chunk {chunk} of type {got} is not known here or is a repetition; it is skipped",
)
JSON_MALFORMED = error("JSON_MALFORMED", "the file is neither GLB nor valid JSON: {got}")
JSON_DUPLICATE_KEY = error(
    "JSON_DUPLICATE_KEY", "the key {got} stands twice in one object; must be unique"
)
JSON_NOT_OBJECT = error("JSON_NOT_OBJECT", "the JSON root is {got}; must be an object")
JSON_TOO_DEEP = error("JSON_TOO_DEEP", "the JSON is nested deeper than {allowed} levels")
JSON_BYTE_ORDER_MARK = note(
    "JSON_BYTE_ORDER_MARK",
    "the JSON begins with a UTF-8 byte order mark; must be without; it is skipped",
)

GLTF_1 = ("glTF 1.0", "convert it with gltf-pipeline, or export it again from its source")
"""Format and what to do, for files of version 1."""
GLB_MAGIC = b"glTF"
JSON_CHUNK = 0x4E4F534A
"""Chunk type "JSON" (glTF 2.0, "Binary glTF Layout")."""
BIN_CHUNK = 0x004E4942
"""Chunk type "BIN" with a trailing zero."""


class ReadLimits(Struct, frozen=True, kw_only=True):
    """Limits above which a file is refused or reduced, since its content is not trusted."""

    max_buffer_bytes: int = 2 * 1024**3
    """Size of the file and of each of its buffers [bytes]."""
    max_accessor_values: int = 2**28
    """Numbers of all accessors that are read, together: elements times components."""
    max_zero_values: int = 2**20
    """Numbers of all accessors together without bytes in the file, beyond those allowed per sparse
    value: few bytes can stand for many."""
    max_image_pixels: int = 2**26
    """Width times height of one image."""
    max_decoded_pixels: int = 2**27
    """Pixels of all images together, as in the file: 1 s per 2**25 of them (measured)."""
    max_shown_pixels: int = 2**22
    """Pixels of one decoded image; a larger one is halved until it fits."""
    max_all_shown_pixels: int = 2**25
    """Pixels of all decoded images together, 4 bytes each; later images become smaller."""
    max_draco_faces: int = 2**23
    """Triangles that one Draco primitive may announce; few bytes can stand for many."""
    max_json_depth: int = 128
    """Levels of arrays and objects; glTF itself needs about ten."""


DEFAULT_LIMITS = ReadLimits()


class _SourceFile(NamedTuple):
    """A source that was read and not yet decoded."""

    path: str
    """Path as the caller stated it, or ``"<memory>"``."""
    is_file: bool
    """True if ``path`` is a path of a file."""
    data: bytes

    @property
    def folder(self) -> Path | None:
        """Folder that relative URIs start from; ``None`` for a source without a path."""
        return Path(self.path).parent if self.is_file else None


class Container(Struct, frozen=True, kw_only=True):
    """The parts of a file before anything of it is interpreted."""

    path: str
    """Path as the caller stated it, or ``"<memory>"``."""
    folder: Path | None
    """Folder that relative URIs start from; ``None`` for a source without a path."""
    json: JsonObject
    glb_chunk: bytes | None


def open_container(source: AssetSource, diagnostics: Diagnostics, limits: ReadLimits) -> Container:
    """Read ``source`` whole and decode its container.

    Raises:
        ContainerError: The file is missing, truncated, too large, or neither GLB nor JSON; it has
            all issues of ``diagnostics``.
        TypeError: ``source`` is no readable source.
    """
    if _is_pygltflib(source):
        return _container_of_gltf2(source, diagnostics, limits)
    file = _read_source(source, diagnostics, limits)
    path, data = file.path, file.data
    if not data:
        _fail(path, diagnostics, FILE_EMPTY)
    _refuse(other_format(data), path, diagnostics)
    text, binary = data, None
    if data[:4] == GLB_MAGIC:
        text, binary = _split_glb(data, path, diagnostics)
    root = _decode_json(text, path, diagnostics, limits)
    # Version 1 keeps its tables as objects with names; "asset" was optional there.
    if isinstance(root.get("nodes"), dict) and isinstance(root.get("meshes"), dict):
        _refuse(GLTF_1, path, diagnostics)
    return Container(path=path, folder=file.folder, json=root, glb_chunk=binary)


def _fail(path: str, diagnostics: Diagnostics, kind: IssueKind, **values: object) -> NoReturn:
    diagnostics.report(kind, ROOT, **values)
    raise ContainerError(path, diagnostics.issues)


def _refuse(found: tuple[str, str] | None, path: str, diagnostics: Diagnostics) -> None:
    """Raise an error for a recognised other format, if there is one."""
    if found is not None:
        what, remedy = found
        _fail(path, diagnostics, FILE_OTHER_FORMAT, got=what, remedy=remedy)


def _read_source(source: object, diagnostics: Diagnostics, limits: ReadLimits) -> _SourceFile:
    """Read a source, other than a ``pygltflib.GLTF2``, whole; raises as :func:`open_container`."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        path, is_file = MEMORY_PATH, False
    elif isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        _refuse(other_source(path), path, diagnostics)
        is_file, data = True, _read_file(path, diagnostics, limits)
    elif callable(getattr(source, "read", None)):
        name = getattr(source, "name", None)
        is_file = isinstance(name, str) and os.path.exists(name)
        path = str(name) if is_file else MEMORY_PATH
        try:
            # One byte more than allowed shows that there is too much.
            data = cast("BinaryIO", source).read(limits.max_buffer_bytes + 1)
        except (OSError, ValueError) as exc:
            _fail_from(exc, path, diagnostics)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError("the file object must be opened in binary mode")
        data = bytes(data)
    else:
        raise TypeError(f"cannot read an asset from {type(source).__name__}")
    if len(data) > limits.max_buffer_bytes:
        _fail(path, diagnostics, FILE_TOO_LARGE, got=len(data), allowed=limits.max_buffer_bytes)
    return _SourceFile(path, is_file, data)


def _read_file(path: str, diagnostics: Diagnostics, limits: ReadLimits) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # read at once; half as long
            size = os.fstat(file.fileno()).st_size
            if size > limits.max_buffer_bytes:
                _fail(path, diagnostics, FILE_TOO_LARGE, got=size, allowed=limits.max_buffer_bytes)
            return file.read()
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        _fail_from(exc, path, diagnostics)


def _fail_from(exc: Exception, path: str, diagnostics: Diagnostics) -> NoReturn:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    if isinstance(exc, FileNotFoundError):
        reason = "no such file"
    diagnostics.report(FILE_UNREADABLE, ROOT, got=reason)
    raise ContainerError(path, diagnostics.issues) from exc


def _split_glb(data: bytes, path: str, diagnostics: Diagnostics) -> tuple[bytes, bytes | None]:
    """The JSON text and the binary chunk of a GLB file."""
    if len(data) < 12:
        _fail(path, diagnostics, GLB_TRUNCATED, what="the GLB header", needed=12, got=len(data))
    version, length = struct.unpack_from("<II", data, 4)
    if version == 1:
        _refuse(GLTF_1, path, diagnostics)
    if version != 2:
        _fail(path, diagnostics, GLB_VERSION, got=version)
    if length > len(data):
        _fail(path, diagnostics, GLB_TRUNCATED, what="the file", needed=length, got=len(data))
    if length < len(data):
        diagnostics.report(GLB_LENGTH, ROOT, length=length, got=len(data))
    text: bytes | None = None
    binary: bytes | None = None
    offset, chunk = 12, 0
    while offset < length or text is None:
        if offset + 8 > length:
            what = f"the header of GLB chunk {chunk}"
            left = max(length - offset, 0)
            _fail(path, diagnostics, GLB_TRUNCATED, what=what, needed=8, got=left)
        size, kind = struct.unpack_from("<II", data, offset)
        offset += 8
        if offset + size > length:
            what, left = f"GLB chunk {chunk}", length - offset
            _fail(path, diagnostics, GLB_TRUNCATED, what=what, needed=size, got=left)
        if text is None:
            if kind != JSON_CHUNK:
                _fail(path, diagnostics, GLB_JSON_NOT_FIRST, got=f"0x{kind:08X}")
            text = data[offset : offset + size]
        elif kind == BIN_CHUNK and binary is None:
            binary = data[offset : offset + size]
        else:
            diagnostics.report(GLB_CHUNK_IGNORED, ROOT, chunk=chunk, got=f"0x{kind:08X}")
        if size % 4:
            diagnostics.report(GLB_CHUNK_UNALIGNED, ROOT, chunk=chunk, got=size)
        offset += size
        chunk += 1
    return text, binary


def _decode_json(
    text: bytes, path: str, diagnostics: Diagnostics, limits: ReadLimits
) -> JsonObject:
    """Decode RFC 8259 JSON; a repeated key is refused, as glTF 2.0, "JSON Encoding", asks."""
    if text[:3] == b"\xef\xbb\xbf":
        diagnostics.report(JSON_BYTE_ORDER_MARK, ROOT)
        text = text[3:]
    try:
        with no_collection():
            root = msgspec.json.decode(text)
    except RecursionError:
        _fail(path, diagnostics, JSON_TOO_DEEP, allowed=limits.max_json_depth)
    except (msgspec.MsgspecError, ValueError) as exc:
        diagnostics.report(JSON_MALFORMED, ROOT, got=_reason(text, exc))
        raise ContainerError(path, diagnostics.issues) from exc
    if _is_deeper_than(text, limits.max_json_depth):
        _fail(path, diagnostics, JSON_TOO_DEEP, allowed=limits.max_json_depth)
    if not isinstance(root, dict):
        _fail(path, diagnostics, JSON_NOT_OBJECT, got=type(root).__name__)
    # Only a file that repeats a key pays for the slow second reading that finds it.
    if _key_count(text) != _key_count(msgspec.json.encode(root)):
        at, key = _duplicate_key(text)
        diagnostics.report(JSON_DUPLICATE_KEY, at, got=repr(key[:60]))
        raise ContainerError(path, diagnostics.issues)
    return root


def _key_count(valid_json: bytes) -> int:
    """Number of keys of all objects: colons outside of strings."""
    text = re.sub(rb"\\.", b"", valid_json) if b"\\" in valid_json else valid_json
    colons = text.translate(None, _ALL_BUT_COLONS_AND_QUOTES)
    return sum(map(len, colons.split(b'"')[::2]))


def _duplicate_key(valid_json: bytes) -> tuple[JsonPointer, str]:
    """Pointer of an object that states a key twice, and the key."""
    repeated: dict[int, str] = {}

    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            repeated[id(found)] = next(name for name in names if names.count(name) > 1)
            objects.append(found)  # an object that is not kept could lend its id to another one
        return found

    objects: list[dict[str, Any]] = []
    waiting = [(ROOT, json.loads(valid_json, object_pairs_hook=kept))]
    while waiting:
        at, value = waiting.pop()
        if id(value) in repeated:
            return at, repeated[id(value)]
        if isinstance(value, dict):
            waiting += [(at / name, member) for name, member in value.items()]
        elif isinstance(value, list):
            waiting += [(at / place, member) for place, member in enumerate(value)]
    return ROOT, next(iter(repeated.values()))  # it stands in a value that a later one replaced


def _reason(text: bytes, exc: Exception) -> str:
    """Why ``text`` is no JSON, with line and column counted from 1."""
    literal = re.search(rb"[\[:,]\s*(-?(?:NaN|Infinity|inf|nan))\b", text)
    if literal is not None:
        return f"{literal[1].decode()} is no JSON number ({_place(text, literal.start(1))})"
    said = str(exc)
    byte = re.search(r"\(byte (\d+)\)", said)
    return said if byte is None else said.replace(byte[0], f"({_place(text, int(byte[1]))})")


def _place(text: bytes, byte: int) -> str:
    before = text[:byte]
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    return f"line {before.count(bytes([10])) + 1}, column {column}"


def _is_deeper_than(valid_json: bytes, limit: int) -> bool:
    """Return True if containers nest deeper than ``limit``; about 1 ms per megabyte.

    msgspec stops at Python's recursion limit only, and a document within that limit could still
    break a later ``pickle`` or ``deepcopy``.
    """
    # Without escapes every quote begins or ends a string; without strings brackets are brackets.
    text = re.sub(rb"\\.", b"", valid_json) if b"\\" in valid_json else valid_json
    brackets = text.translate(bytes.maketrans(b"{}", b"[]"), _ALL_BUT_BRACKETS_AND_QUOTES)
    # A pair of quotes is an empty string, or the seam of two strings: both may go. The remaining
    # strings are those with brackets in them: every second part.
    brackets = b"".join(brackets.replace(b'""', b"").split(b'"')[::2])
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


_ALL_BUT_BRACKETS_AND_QUOTES = bytes(set(range(256)) - set(b'[]{}"'))
_ALL_BUT_COLONS_AND_QUOTES = bytes(set(range(256)) - set(b':"'))


def _is_pygltflib(source: object) -> bool:
    module = sys.modules.get("pygltflib")
    return module is not None and isinstance(source, module.GLTF2)


def _container_of_gltf2(source: Any, diagnostics: Diagnostics, limits: ReadLimits) -> Container:
    """The container of a pygltflib object, whose own JSON writer gives the JSON."""
    folder = getattr(source, "_path", None)
    name = getattr(source, "_name", None)
    path = str(Path(folder) / name) if folder is not None and name else MEMORY_PATH
    try:
        text = source.gltf_to_json().encode()
    except (TypeError, ValueError, RecursionError) as exc:
        diagnostics.report(JSON_MALFORMED, ROOT, got=str(exc))
        raise ContainerError(path, diagnostics.issues) from exc
    blob = source.binary_blob()
    return Container(
        path=path,
        folder=Path(folder) if folder is not None else None,
        json=_decode_json(text, path, diagnostics, limits),
        glb_chunk=bytes(blob) if blob is not None else None,
    )
