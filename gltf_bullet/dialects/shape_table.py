"""Tables of shapes with a ``type`` and a block of parameters, and the primitives' parameters.

The layout ``{"type": "box", "box": {...}}`` is shared by KHR_implicit_shapes, KHR_collision_shapes,
OMI_physics_shape and MSFT_collision_primitives. Each of them passes its own defaults and ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import known_keys, read_vector, report_unknown, require
from gltf_bullet.gltf.fields import (
    JsonObject,
    read_number,
    read_object,
    read_string,
)
from gltf_bullet.model import Box, Capsule, Cylinder, Sphere
from gltf_bullet.transforms import Vec3

__all__ = [
    "SHAPE_BLOCK_MISSING",
    "SHAPE_BLOCK_UNUSED",
    "SHAPE_IN_OTHER_FORM",
    "SHAPE_TYPE_UNKNOWN",
    "BlockParser",
    "parse_typed_shape",
    "read_box",
    "read_capsule",
    "read_cylinder",
    "read_sphere",
    "read_total_height_capsule",
]

SHAPE_BLOCK_MISSING = IssueKind(
    "SHAPE_BLOCK_MISSING",
    Severity.WARNING,
    'the shape of type "{type}" has no {type}; must have one; the defaults are used',
)
SHAPE_BLOCK_UNUSED = IssueKind(
    "SHAPE_BLOCK_UNUSED",
    Severity.WARNING,
    '{key} stands beside type "{type}"; must be left out; it is ignored',
)

SHAPE_IN_OTHER_FORM = IssueKind(
    "SHAPE_IN_OTHER_FORM",
    Severity.INFO,
    "{got} is the form of another revision; should be {present}; it is read",
)
CAPSULE_TOO_SHORT = IssueKind(
    "CAPSULE_TOO_SHORT",
    Severity.WARNING,
    "height is {got:g}; must be at least twice the radius, {least:g}; it is taken as that",
)
SHAPE_TYPE_UNKNOWN = IssueKind(
    "SHAPE_TYPE_UNKNOWN",
    Severity.WARNING,
    "the shape is a {got}, which is none of {known}; whatever has it is left out",
)

S = TypeVar("S")
BlockParser = Callable[[JsonObject, JsonPointer, Diagnostics], S]

_BOX: Final = known_keys("size")
_SPHERE: Final = known_keys("radius")
_TAPERED: Final = known_keys("height", "radiusBottom", "radiusTop")


def parse_typed_shape(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    parsers: Mapping[str, BlockParser[S]],
    *,
    block_required: bool,
) -> S | None:
    """The shape that ``type`` names, from the block of that name; ``None`` where it is unknown."""
    if not require(entry, "type", "one of " + ", ".join(parsers), at, diagnostics):
        return None
    kind = read_string(entry, "type", at, diagnostics)
    if kind is None:
        return None
    if kind not in parsers:
        # The schemas of KHR allow any string: later extensions may add shapes.
        known = ", ".join(parsers)
        diagnostics.report(SHAPE_TYPE_UNKNOWN, at / "type", got=repr(kind[:60]), known=known)
        return None
    report_unknown(entry, known_keys("type", *parsers), "a shape", at, diagnostics)
    for key in parsers:
        if key != kind and key in entry:
            diagnostics.report(SHAPE_BLOCK_UNUSED, at / key, key=key, type=kind)
    if block_required and kind not in entry:
        diagnostics.report(SHAPE_BLOCK_MISSING, at, type=kind)
    return parsers[kind](read_object(entry, kind, at, diagnostics) or {}, at / kind, diagnostics)


def read_box(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    size: Vec3,
    may_be_flat: bool = False,
) -> Box:
    """A box; ``size`` [m] is the default."""
    report_unknown(block, _BOX, "a box", at, diagnostics)
    stated = read_vector(block, "size", at, diagnostics, **_above_zero(may_be_flat))
    return Box(size=stated or size, pointer=at)


def read_sphere(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    radius: float,
    may_be_flat: bool = False,
) -> Sphere:
    """A ball; ``radius`` [m] is the default."""
    report_unknown(block, _SPHERE, "a sphere", at, diagnostics)
    return Sphere(
        radius=read_number(
            block, "radius", at, diagnostics, default=radius, **_above_zero(may_be_flat)
        ),
        pointer=at,
    )


def read_capsule(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    mid_height: float,
    radius: float,
    may_be_flat: bool = False,
) -> Capsule:
    """A capsule whose ``height`` joins the cap centres; the arguments are the defaults [m]."""
    report_unknown(block, _TAPERED, "a capsule", at, diagnostics)
    height, bottom, top = _tapered(block, at, diagnostics, mid_height, radius, may_be_flat)
    return Capsule(mid_height=height, radius_bottom=bottom, radius_top=top, pointer=at)


def read_total_height_capsule(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    height: float,
    radius: float,
) -> Capsule:
    """A capsule whose ``height`` goes from tip to tip; the arguments are the defaults [m].

    OMI_collider, "Capsule": "must be at least twice as much as the radius". The caller reports
    unknown keys, since the fields may stand among others.
    """
    stated_radius = read_number(block, "radius", at, diagnostics, default=radius, at_least=0.0)
    # A default height must not turn a large radius into a finding of its own.
    least = 2.0 * stated_radius
    default = max(height, least)
    total = read_number(block, "height", at, diagnostics, default=default, at_least=0.0)
    if total < least:
        diagnostics.report(CAPSULE_TOO_SHORT, at / "height", got=total, least=least)
    return Capsule(
        mid_height=max(0.0, total - least),
        radius_bottom=stated_radius,
        radius_top=stated_radius,
        pointer=at,
    )


def read_cylinder(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    height: float,
    radius: float,
    may_be_flat: bool = False,
) -> Cylinder:
    """A cylinder or cone; the arguments are the defaults [m]."""
    report_unknown(block, _TAPERED, "a cylinder", at, diagnostics)
    stated, bottom, top = _tapered(block, at, diagnostics, height, radius, may_be_flat)
    return Cylinder(height=stated, radius_bottom=bottom, radius_top=top, pointer=at)


def _tapered(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    height: float,
    radius: float,
    may_be_flat: bool,
) -> tuple[float, float, float]:
    return (
        read_number(block, "height", at, diagnostics, default=height, **_above_zero(may_be_flat)),
        read_number(block, "radiusBottom", at, diagnostics, default=radius, at_least=0.0),
        read_number(block, "radiusTop", at, diagnostics, default=radius, at_least=0.0),
    )


def _above_zero(may_be_flat: bool) -> dict[str, float]:
    """KHR and OMI state ``exclusiveMinimum: 0`` for sizes, MSFT ``minimum: 0``."""
    return {"at_least": 0.0} if may_be_flat else {"above": 0.0}
