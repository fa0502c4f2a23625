"""The pixels of an image: data URI, bufferView or a file inside the asset's folder.

glTF 2.0, "Images". Decoded by Pillow: PNG and JPEG, and WebP, AVIF or DDS of extensions. An
unreadable image is a warning: the asset loses a texture, not its physics.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.gltf.buffer_views import read_buffer_view
from gltf_bullet.gltf.buffers import read_uri
from gltf_bullet.gltf.container import ReadLimits
from gltf_bullet.gltf.document import Document

if TYPE_CHECKING:
    import PIL.Image

ImageArray: TypeAlias = npt.NDArray[np.uint8]
"""RGBA as stored (sRGB, straight alpha), first row on top, shape [height, width, 4]."""

IMAGE_MISSING = warning(
    "IMAGE_MISSING", "the image cannot be had ({got}); its material is shown without it"
)
IMAGE_UNREADABLE = warning(
    "IMAGE_UNREADABLE", "the image cannot be decoded ({got}); its material is shown without it"
)
IMAGE_TOO_LARGE = warning(
    "IMAGE_TOO_LARGE",
    "the image has {width} x {height} pixels; must have at most {allowed} "
    "(ReadLimits.max_image_pixels); its material is shown without it",
)
IMAGES_TOO_LARGE = warning(
    "IMAGES_TOO_LARGE",
    "the images up to here have more than {allowed} pixels together "
    "(ReadLimits.max_decoded_pixels); this one is not decoded, its material is shown without it",
)
IMAGE_REDUCED = warning(
    "IMAGE_REDUCED",
    "the image has {width} x {height} pixels; it is shown with {shown_width} x {shown_height} "
    "(ReadLimits.max_shown_pixels, ReadLimits.max_all_shown_pixels)",
)
IMAGE_FORMAT_UNSUPPORTED = warning(
    "IMAGE_FORMAT_UNSUPPORTED",
    "the image is {got}, which is not implemented; its material is shown without it",
)

SMALLEST = 64 * 64
"""Pixels that every image may have, whatever the limit for all."""

KTX2_MAGIC = b"\xabKTX 20\xbb\r\n\x1a\n"
FORMATS = ("PNG", "JPEG", "WEBP", "DDS", "AVIF")
"""Formats that Pillow may try, in this order: its readers for rarer formats do not get untrusted
bytes, and older versions lack the last one."""


def read_image(document: Document, index: int, diagnostics: Diagnostics) -> ImageArray | None:
    """The pixels of image ``index``, read-only; ``None``, with a warning, on failure.

    Decoded once per document.
    """
    return document.derive(
        ("image", index), lambda sink: _read_image(document, index, sink), diagnostics
    )


def _read_image(document: Document, index: int, diagnostics: Diagnostics) -> ImageArray | None:
    at = ROOT / "images" / index
    data = image_bytes(document, index, diagnostics)
    return None if data is None else _decode(data, document, at, diagnostics)


def image_bytes(document: Document, index: int, diagnostics: Diagnostics) -> bytes | None:
    """The file of image ``index``; ``None``, with a warning, on failure."""
    at = ROOT / "images" / index
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
        # The findings are errors for buffers, which hold geometry; a picture is dispensable.
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
            spent = document.derive(("pixels of images", 0), lambda _: _Spent(), diagnostics)
            spent.decoded += width * height
            if spent.decoded > document.limits.max_decoded_pixels:
                allowed = document.limits.max_decoded_pixels
                diagnostics.report(IMAGES_TOO_LARGE, at, allowed=allowed)
                return None
            pixels = _pixels(picture, _factor(width * height, spent, document.limits))
    except UnidentifiedImageError:
        diagnostics.report(IMAGE_UNREADABLE, at, got="no PNG, JPEG, WebP, AVIF or DDS data")
        return None
    except Exception as exc:  # Pillow's readers raise many kinds on broken data.
        diagnostics.report(IMAGE_UNREADABLE, at, got=str(exc)[:80] or type(exc).__name__)
        return None
    spent.shown += pixels.shape[0] * pixels.shape[1]
    if pixels.shape[:2] != (height, width):
        diagnostics.report(
            IMAGE_REDUCED, at, width=width, height=height,
            shown_width=pixels.shape[1], shown_height=pixels.shape[0],
        )  # fmt: skip
    pixels.flags.writeable = False
    return pixels


class _Spent(Struct):
    """Pixels of a document's images so far, as they count for its limits."""

    decoded: int = 0
    shown: int = 0


def _factor(count: int, spent: _Spent, limits: ReadLimits) -> int:
    """Power of two by which an image of ``count`` pixels is reduced along both edges."""
    # A quarter of the remaining pixels, so that later images get some as well.
    left = (limits.max_all_shown_pixels - spent.shown) // 4
    allowed = max(SMALLEST, min(limits.max_shown_pixels, left))
    factor = 1
    while count > allowed * factor**2:
        factor *= 2
    return factor


def _pixels(picture: PIL.Image.Image, factor: int) -> ImageArray:
    width, height = max(1, picture.width // factor), max(1, picture.height // factor)
    if factor > 1:
        picture.draft("RGB", (width, height))  # decodes a JPEG small; does nothing for the others
    eight_bits = _eight_bits(picture)
    across, down = eight_bits.width // width, eight_bits.height // height
    if max(across, down) > 1:
        if eight_bits.mode not in ("L", "LA", "RGB", "RGBA"):
            eight_bits = eight_bits.convert("RGBA")
        eight_bits = eight_bits.reduce((max(1, across), max(1, down)))
    return np.array(eight_bits.convert("RGBA"), dtype=np.uint8)


def _eight_bits(picture: PIL.Image.Image) -> PIL.Image.Image:
    """Scale 16-bit grey PNGs down: Pillow's own conversion clips them to white."""
    if picture.mode.startswith("I;16") or picture.mode == "I":
        from PIL import Image

        return Image.fromarray((np.asarray(picture, dtype=np.uint32) >> 8).astype(np.uint8))
    return picture
