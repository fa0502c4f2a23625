"""The bytes of one buffer: GLB chunk, data URI or a file inside the asset's folder.

glTF 2.0, "Buffers and Buffer Views" and "URIs". A path that is absolute, has a scheme or leaves
the asset's folder is refused: a downloaded asset must not read other files of its user.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, error
from gltf_bullet.gltf.container import ReadLimits
from gltf_bullet.gltf.fields import INDEX_OUT_OF_RANGE, JsonObject, Reader

BUFFER_MISSING = error("BUFFER_MISSING", "the data of the buffer is missing: {got}")
BUFFER_SHORT = error("BUFFER_SHORT", "the buffer has {got} bytes; byteLength asks for {needed}")
BUFFER_TOO_LARGE = error(
    "BUFFER_TOO_LARGE",
    "the buffer has {got} bytes; must be at most {allowed} (ReadLimits.max_buffer_bytes)",
)
URI_REFUSED = error(
    "URI_REFUSED",
    "uri is {got}; must be a data URI or a relative path inside the asset's folder ({reason})",
)
URI_MALFORMED = error("URI_MALFORMED", "the data URI is malformed: {got}")

LONGEST_PATH = 4096
"""Longest path in bytes that systems accept."""
_BLOCK = 1 << 20
"""Number of bytes that are decoded at a time."""
_HEX = np.full(256, 16, dtype=np.uint8)
"""Values of hexadecimal digits by their codes; 16 for other characters."""
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX[list(_digits)] = np.arange(16)
_WHITE = b" \t\r\n\v\f"
_OTHER_ALPHABET = bytes.maketrans(b"-_", b"+/")
"""The URL-safe alphabet of base64 (RFC 4648, 5), mapped to the standard one."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def read_buffer(
    objects: tuple[JsonObject, ...],
    index: int,
    folder: Path | None,
    glb_chunk: bytes | None,
    diagnostics: Diagnostics,
    limits: ReadLimits,
) -> bytes | None:
    """Exactly ``byteLength`` bytes of buffer ``index``; ``None``, with an issue, on failure."""
    at = ROOT / "buffers" / index
    if not 0 <= index < len(objects):
        diagnostics.report(INDEX_OUT_OF_RANGE, at, key="buffer", got=index, count=len(objects))
        return None
    owner = Reader(objects[index], at, diagnostics)
    length = owner.number("byteLength", default=None, at_least=0.0)
    if length is None:
        diagnostics.report(BUFFER_MISSING, at, got="no usable byteLength")
        return None
    if length > limits.max_buffer_bytes:
        diagnostics.report(BUFFER_TOO_LARGE, at, got=int(length), allowed=limits.max_buffer_bytes)
        return None
    data: bytes | None
    if "uri" in owner:
        uri = owner.string("uri")
        data = None if uri is None else read_uri(uri, folder, at / "uri", diagnostics, limits)
    elif index == 0 and glb_chunk is not None:
        data = glb_chunk
    else:
        where = "no uri, and the file has no binary chunk" if index == 0 else "no uri"
        diagnostics.report(BUFFER_MISSING, at, got=where)
        data = None
    if data is None:
        return None
    if len(data) < length:
        diagnostics.report(BUFFER_SHORT, at, got=len(data), needed=int(length))
        return None
    return data if len(data) == length else data[: int(length)]


def read_uri(
    uri: str, folder: Path | None, at: JsonPointer, diagnostics: Diagnostics, limits: ReadLimits
) -> bytes | None:
    """The bytes of a data URI or a relative path; ``None``, with an issue, on failure."""
    if uri[:5].lower() == "data:":
        return _decode_data_uri(uri, at, diagnostics, limits)
    file = resolve_relative_uri(uri, folder, at, diagnostics)
    if file is None:
        return None
    try:
        # A pipe or a device would block or never end.
        if not file.is_file():
            diagnostics.report(BUFFER_MISSING, at, got=f"{_shown(uri)} is no file")
            return None
        size = file.stat().st_size
        if size > limits.max_buffer_bytes:
            diagnostics.report(BUFFER_TOO_LARGE, at, got=size, allowed=limits.max_buffer_bytes)
            return None
        return file.read_bytes()
    except OSError as exc:
        diagnostics.report(BUFFER_MISSING, at, got=f"{_shown(uri)}: {exc.strerror}")
        return None


def resolve_relative_uri(
    uri: str, folder: Path | None, at: JsonPointer, diagnostics: Diagnostics
) -> Path | None:
    """The file that a relative URI names, symbolic links followed; ``None`` if it is refused."""
    # Encoded, each byte may take three characters.
    path = unquote(uri) if len(uri) <= 3 * LONGEST_PATH else ""
    file: Path | None = None
    # Windows takes both separators and drive letters; be equally strict everywhere.
    if len(uri) > 3 * LONGEST_PATH:
        reason = f"it has {len(uri)} characters"
    elif _SCHEME.match(uri) or _SCHEME.match(path):
        reason = "it has a scheme"
    elif not path or "\0" in path:
        reason = "it names no file"
    elif path[0] in "/\\":
        reason = "it is absolute"
    elif folder is None:
        reason = "the asset has no folder, as it was read from memory"
    else:
        reason = "it cannot be resolved"
        try:
            home = folder.resolve()
            file = (home / path.replace("\\", "/")).resolve()
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of symbolic links
            file = None
        if file is not None and not file.is_relative_to(home):
            reason, file = "it leaves the folder", None
    if file is None:
        diagnostics.report(URI_REFUSED, at, got=_shown(uri), reason=reason)
    return file


def _decode_data_uri(
    uri: str, at: JsonPointer, diagnostics: Diagnostics, limits: ReadLimits
) -> bytes | None:
    """The data of a URI (RFC 2397), any media type; base64 of both alphabets, padded or not."""
    header, comma, body = uri.partition(",")
    if not comma:
        diagnostics.report(URI_MALFORMED, at, got="it has no comma")
        return None
    is_base64 = header.rstrip().lower().endswith(";base64")
    at_most = len(body) * 3 // 4 if is_base64 else len(body)
    # Percent-encoding is at most three characters a byte.
    at_least = at_most - 3 if is_base64 else len(body) // 3
    if at_least > limits.max_buffer_bytes:
        diagnostics.report(BUFFER_TOO_LARGE, at, got=at_most, allowed=limits.max_buffer_bytes)
        return None
    try:
        data = body.encode("ascii" if is_base64 else "utf-8")
    except UnicodeEncodeError as exc:
        diagnostics.report(URI_MALFORMED, at, got=exc.reason)
        return None
    if b"%" in data:
        data = percent_decoded(data)
    if not is_base64:
        return data
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        pass
    data = data.translate(_OTHER_ALPHABET, _WHITE).rstrip(b"=")
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError) as exc:
        diagnostics.report(URI_MALFORMED, at, got=str(exc))
        return None


def percent_decoded(data: bytes) -> bytes:
    """Percent-decode (RFC 3986, 2.1) in blocks; ``urllib`` lists all pieces, 80 times the file.

    Bytes that form no escape stay.
    """
    parts, begin = [], 0
    while begin < len(data):
        end = min(begin + _BLOCK, len(data))
        # No escape is cut in two.
        cut = data.rfind(b"%", max(begin + 1, end - 2), end) if end < len(data) else -1
        end = cut if cut > 0 else end
        text = np.frombuffer(data[begin:end], dtype=np.uint8)
        places = np.flatnonzero(text == ord("%"))
        places = places[places < len(text) - 2]
        high, low = _HEX[text[places + 1]], _HEX[text[places + 2]]
        good = (high < 16) & (low < 16)
        places = places[good]
        result, stays = text.copy(), np.ones(len(text), dtype=bool)
        result[places] = 16 * high[good] + low[good]
        stays[places + 1] = stays[places + 2] = False
        parts.append(result[stays].tobytes())
        begin = end
    return b"".join(parts)


def _shown(uri: str) -> str:
    return repr(uri if len(uri) <= 60 else uri[:57] + "...")
