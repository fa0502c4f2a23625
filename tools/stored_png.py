"""PNG files whose bytes depend on nothing but their pixels: stored, not compressed."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

__all__ = ["stored_png"]


def stored_png(pixels: npt.ArrayLike) -> bytes:
    """A small picture, RGB or RGBA, shape [height, width, 3 or 4], at most 65535 bytes in all.

    Compressors differ from version to version; committed assets must not.
    """
    array = np.asarray(pixels, dtype=np.uint8)
    height, width, channels = array.shape
    rows = b"".join(b"\0" + row.tobytes() for row in array)
    size = len(rows)
    block = struct.pack("<BHH", 1, size, size ^ 0xFFFF) + rows
    data = b"\x78\x01" + block + struct.pack(">I", zlib.adler32(rows))
    color_type = {3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, content)
        for name, content in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum
