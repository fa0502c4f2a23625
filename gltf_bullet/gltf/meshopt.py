"""EXT_ and KHR_meshopt_compression through the optional package meshopt (extra ``meshopt``).

An extension of a bufferView: the bytes of the view are decoded from another buffer, and accessors
read them as any others.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Final

from gltf_bullet.bounds import DECODED_VIEW_BYTES
from gltf_bullet.diagnostics import error
from gltf_bullet.errors import ContainerError
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader

COMPRESSIONS: Final = ("EXT_meshopt_compression", "KHR_meshopt_compression")

MESHOPT_PACKAGE_MISSING = error(
    "MESHOPT_PACKAGE_MISSING",
    "the bufferView is compressed with {got}; install gltf_bullet[meshopt] (meshopt, of Python "
    "3.11 and later) to read it",
)
MESHOPT_UNREADABLE = error("MESHOPT_UNREADABLE", "the meshopt data cannot be decoded: {got}")
MESHOPT_TOO_LARGE = error(
    "MESHOPT_TOO_LARGE",
    "the meshopt data up to this bufferView announces {got} bytes; must be at most {allowed}",
)

_MODES: Final = ("ATTRIBUTES", "TRIANGLES", "INDICES")
_FILTERS: Final = ("NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR")


def can_decode() -> bool:
    """Return True if the decoder is installed."""
    return importlib.util.find_spec("meshopt") is not None


def decode_meshopt(document: Document, extension: Reader, length: int) -> memoryview | None:
    """The decoded bytes of a bufferView; ``None``, with an issue, on failure.

    Args:
        document: The file.
        extension: The extension object of the view.
        length: ``byteLength`` of the view.
    """
    buffer = None
    if extension.has("buffer", "an index"):
        count = document.count("buffers")
        buffer = extension.index("buffer", count=count)
    offset = extension.size("byteOffset", default=0)
    size, stride, count_of = (
        extension.size(key, default=None) if extension.has(key, "a whole number") else None
        for key in ("byteLength", "byteStride", "count")
    )
    if buffer is None or offset is None or size is None or stride is None or count_of is None:
        return None
    mode, applied = extension.get("mode"), extension.get("filter", "NONE")
    why = ""
    if mode not in _MODES or applied not in _FILTERS:
        why = f"mode {str(mode)[:40]!r} with filter {str(applied)[:40]!r}"
    elif stride * count_of > length:
        why = f"{count_of} elements of {stride} bytes are more than the bufferView's {length}"
    if why:
        extension.report(MESHOPT_UNREADABLE, got=why)
        return None
    spent = document.derive(("decoded views", 0), lambda _: [0], extension.diagnostics)
    spent[0] += stride * count_of
    if spent[0] > DECODED_VIEW_BYTES:
        extension.report(MESHOPT_TOO_LARGE, got=spent[0], allowed=DECODED_VIEW_BYTES)
        return None
    try:
        data = document.buffer(buffer)
    except ContainerError as error:
        extension.diagnostics.extend(error.issues)
        return None
    if offset + size > len(data):
        why = f"it ends at byte {offset + size}; its buffer has {len(data)}"
        extension.report(MESHOPT_UNREADABLE, got=why)
        return None
    meshopt = importlib.import_module("meshopt")
    try:
        decoded = meshopt.decode_gltf_buffer(
            bytes(data[offset : offset + size]), count_of, stride, mode, applied
        )
        return memoryview(decoded.tobytes())
    except Exception as error:  # of a compiled module of others, on bad data
        extension.report(MESHOPT_UNREADABLE, got=str(error)[:120] or type(error).__name__)
        return None
