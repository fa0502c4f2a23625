"""Cameras of a file, that is their lenses (glTF 2.0, "Cameras"); nodes give their poses."""

from __future__ import annotations

import math

from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import VALUE_OUT_OF_RANGE
from gltf_bullet.scene import Lens, OrthographicLens, PerspectiveLens


class FileCamera(Struct, frozen=True, kw_only=True):
    """A camera of the file; it looks along -Z of its node, +Y is up."""

    name: str
    lens: Lens


def read_camera(document: Document, index: int, diagnostics: Diagnostics) -> FileCamera | None:
    """Camera ``index``; ``None``, with an issue, if it states no usable lens."""
    return document.derive(
        ("camera", index), lambda sink: _read_camera(document, index, sink), diagnostics
    )


def _read_camera(document: Document, index: int, diagnostics: Diagnostics) -> FileCamera | None:
    owner = document.reader("cameras", index, diagnostics)
    name = owner.string("name") or ""
    if not owner.has("type", "perspective or orthographic"):
        return None
    kinds = {"perspective": "perspective", "orthographic": "orthographic"}
    kind = owner.choice("type", choices=kinds)
    if kind is None or not owner.has(kind, "an object"):
        return None
    block = owner.member_or_empty(kind)

    def number(key: str, *, required: bool = True) -> float | None:
        if required:
            block.has(key, "a number")
        return block.number(key, default=None, above=0.0)

    def report(key: str, got: float, allowed: str) -> None:
        block.report(VALUE_OUT_OF_RANGE, key, key=key, got=got, allowed=allowed)

    if kind == "perspective":
        angle, near = number("yfov"), number("znear")
        far, aspect = number("zfar", required=False), number("aspectRatio", required=False)
        if angle is None or near is None:
            return None
        if angle >= math.pi:
            report("yfov", angle, "< pi")
            return None
        if far is not None and far <= near:
            report("zfar", far, f"> znear ({near:g})")
            return None
        lens: Lens = PerspectiveLens(
            vertical_field_of_view=angle, aspect_ratio=aspect, near=near, far=far
        )
    else:
        width, height, end = number("xmag"), number("ymag"), number("zfar")
        start = block.number("znear", default=0.0, at_least=0.0)
        if width is None or height is None or end is None:
            return None
        if end <= start:
            report("zfar", end, f"> znear ({start:g})")
            return None
        lens = OrthographicLens(half_width=width, half_height=height, near=start, far=end)
    return FileCamera(name=name, lens=lens)
