"""The pixels of an image: data URI, bufferView or a file inside the asset's folder.

glTF 2.0, "Images". Decoded by Pillow: PNG and JPEG, and what extensions bring as WebP, AVIF or DDS.
An image that cannot be had is a warning: the asset loses a texture, not its physics.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.buffer_views import read_buffer_view
from gltf_bullet.gltf.buffers import read_uri
from gltf_bullet.gltf.document import Document

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["ImageArray", "read_image"]

ImageArray: TypeAlias = npt.NDArray[np.uint8]
"""RGBA as stored (sRGB, straight alpha), first row on top, shape [height, width, 4]."""

IMAGE_MISSING = IssueKind(
    "IMAGE_MISSING",
    Severity.WARNING,
    "the image cannot be had ({got}); its material is shown without it",
)
IMAGE_UNREADABLE = IssueKind(
    "IMAGE_UNREADABLE",
    Severity.WARNING,
    "the image cannot be decoded ({got}); its material is shown without it",
)
IMAGE_TOO_LARGE = IssueKind(
    "IMAGE_TOO_LARGE",
    Severity.WARNING,
    "the image has {width} x {height} pixels; must have at most {allowed} "
    "(ReadLimits.max_image_pixels); its material is shown without it",
)
IMAGE_FORMAT_UNSUPPORTED = IssueKind(
    "IMAGE_FORMAT_UNSUPPORTED",
    Severity.WARNING,
    "the image is {got}, which is not implemented; its material is shown without it",
)

KTX2_MAGIC = b"\xabKTX 20\xbb\r\n\x1a\n"
FORMATS = ("PNG", "JPEG", "WEBP", "DDS", "AVIF")
"""What Pillow may try, in this order: its readers for rarer formats are not fed with untrusted
bytes, and older versions do not know the last one."""


def read_image(document: Document, index: int, diagnostics: Diagnostics) -> ImageArray | None:
    """The pixels of image ``index``, read-only; ``None``, with a warning, where they cannot be had.

    Decoded once per document.
    """
    return document.derive(
        ("image", index), lambda sink: _read_image(document, index, sink), diagnostics
    )


def _read_image(document: Document, index: int, diagnostics: Diagnostics) -> ImageArray | None:
    at = ROOT / "images" / index
    data = _bytes_of(document, index, at, diagnostics)
    return None if data is None else _decode(data, document, at, diagnostics)


def _bytes_of(
    document: Document, index: int, at: JsonPointer, diagnostics: Diagnostics
) -> bytes | None:
    owner = document.objects("images")[index]
    found = Diagnostics()
    data: bytes | None = None
    if isinstance(uri := owner.get("uri"), str):
        data = read_uri(uri, document.folder, at / "uri", found, document.limits)
    else:
        view, count = owner.get("bufferView"), document.count("bufferViews")
        if isinstance(view, int) and not isinstance(view, bool) and 0 <= view < count:
            read = read_buffer_view(document, view, found)
            data = None if read is None else bytes(read[0])
    if data is None:
        # The findings are errors for buffers, which hold geometry; a picture can do without.
        why = [
            str(issue.values["got"]) if issue.code == "BUFFER_MISSING" else issue.message
            for issue in found
        ]
        diagnostics.report(IMAGE_MISSING, at, got="; ".join(why) or "neither uri nor bufferView")
    return data


def _decode(
    data: bytes, document: Document, at: JsonPointer, diagnostics: Diagnostics
) -> ImageArray | None:
    if data.startswith(KTX2_MAGIC):
        diagnostics.report(IMAGE_FORMAT_UNSUPPORTED, at, got="KTX2 (Basis Universal)")
        return None
    from PIL import Image, UnidentifiedImageError  # few scenes need it

    limit = document.limits.max_image_pixels
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > limit:
                diagnostics.report(IMAGE_TOO_LARGE, at, width=width, height=height, allowed=limit)
                return None
            pixels = np.array(_eight_bits(picture).convert("RGBA"), dtype=np.uint8)
    except UnidentifiedImageError:
        diagnostics.report(IMAGE_UNREADABLE, at, got="no PNG, JPEG, WebP, AVIF or DDS data")
        return None
    except Exception as exc:  # Pillow's readers raise many kinds on broken data.
        diagnostics.report(IMAGE_UNREADABLE, at, got=str(exc)[:80] or type(exc).__name__)
        return None
    pixels.flags.writeable = False
    return pixels


def _eight_bits(picture: PIL.Image.Image) -> PIL.Image.Image:
    """16-bit grey PNGs scaled down: Pillow's own conversion clips them to white."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        from PIL import Image

        return Image.fromarray((np.asarray(picture, dtype=np.uint32) >> 8).astype(np.uint8))
    return picture
