"""Cameras of a file, that is their lenses (glTF 2.0, "Cameras"); nodes give their poses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    VALUE_OUT_OF_RANGE,
    has_required,
    read_choice,
    read_number,
    read_object,
    read_string,
)
from gltf_bullet.scene import Lens, OrthographicLens, PerspectiveLens


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCamera:
    """A camera of the file; it looks along -Z of its node, +Y is up."""

    name: str
    lens: Lens


def read_camera(document: Document, index: int, diagnostics: Diagnostics) -> FileCamera | None:
    """Camera ``index``; ``None``, with an issue, if it states no usable lens."""
    return document.derive(
        ("camera", index), lambda sink: _read_camera(document, index, sink), diagnostics
    )


def _read_camera(document: Document, index: int, diagnostics: Diagnostics) -> FileCamera | None:
    at = ROOT / "cameras" / index
    owner = document.objects("cameras")[index]
    name = read_string(owner, "name", at, diagnostics) or ""
    if not has_required(owner, "type", "perspective or orthographic", at, diagnostics):
        return None
    kinds = {"perspective": "perspective", "orthographic": "orthographic"}
    kind = read_choice(owner, "type", at, diagnostics, choices=kinds)
    if kind is None or not has_required(owner, kind, "an object", at, diagnostics):
        return None
    block, at = read_object(owner, kind, at, diagnostics) or {}, at / kind

    def number(key: str, *, required: bool = True) -> float | None:
        if required:
            has_required(block, key, "a number", at, diagnostics)
        return read_number(block, key, at, diagnostics, default=None, above=0.0)

    def report(key: str, got: float, allowed: str) -> None:
        diagnostics.report(VALUE_OUT_OF_RANGE, at / key, key=key, got=got, allowed=allowed)

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
        start = read_number(block, "znear", at, diagnostics, default=0.0, at_least=0.0)
        if width is None or height is None or end is None:
            return None
        if end <= start:
            report("zfar", end, f"> znear ({start:g})")
            return None
        lens = OrthographicLens(half_width=width, half_height=height, near=start, far=end)
    return FileCamera(name=name, lens=lens)
