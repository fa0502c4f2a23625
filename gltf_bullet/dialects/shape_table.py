"""Tables of shapes with a ``type`` and a block of parameters, and the primitives' parameters.

The layout ``{"type": "box", "box": {...}}`` is shared by KHR_implicit_shapes, KHR_collision_shapes,
OMI_physics_shape and MSFT_collision_primitives. Each of them passes its own defaults and ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from gltf_bullet.coverage import approximated, covers, ignored
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import (
    known_keys,
    read_block,
    read_vector,
    report_unknown,
    require,
)
from gltf_bullet.gltf.fields import (
    RANGE_MENDED,
    JsonObject,
    out_of_range,
    read_number,
    read_string,
)
from gltf_bullet.model import Box, Capsule, Cylinder, Sphere
from gltf_bullet.transforms import Vec3

__all__ = [
    "COVERAGE",
    "SHAPE_BLOCK_MISSING",
    "SHAPE_BLOCK_UNUSED",
    "SHAPE_IN_OTHER_FORM",
    "SHAPE_LEFT_OUT",
    "SHAPE_TYPE_UNKNOWN",
    "SHAPE_WITHOUT_EXTENT",
    "BlockParser",
    "parse_typed_shape",
    "read_box",
    "read_capsule",
    "read_cylinder",
    "read_extent",
    "read_sphere",
    "read_straight_cylinder",
    "read_total_height_capsule",
    "with_extent",
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
SHAPE_WITHOUT_EXTENT = IssueKind(
    "SHAPE_WITHOUT_EXTENT",
    Severity.WARNING,
    "the {what} has no extent along any axis; must have some; whatever has it is left out",
)

COVERAGE: Final = covers(
    "Shapes",
    ignored(
        "size", "radius", "radiusBottom", "radiusTop", "height",
        when="all zero", by=SHAPE_WITHOUT_EXTENT,
    ),
    ignored("radius", "radiusBottom", "radiusTop", "height", when="negative", by=RANGE_MENDED),
    approximated(
        "size", when="a negative component", by=RANGE_MENDED, how="its magnitude is used"
    ),
    approximated(
        "size", "height", when="zero where the dialect wants more", by=RANGE_MENDED,
        how="a thin box, a sphere, a thin disc",
    ),
)  # fmt: skip

_DISC: Final = "it is a thin disc"
SHAPE_LEFT_OUT: Final = "whatever has the shape is left out"

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
    kind = _kind_of(entry, at, diagnostics, parsers)
    if kind is None:
        return None
    report_unknown(entry, known_keys("type", *parsers), "a shape", at, diagnostics)
    for key in parsers:
        if key != kind and key in entry:
            diagnostics.report(SHAPE_BLOCK_UNUSED, at / key, key=key, type=kind)
    if block_required and kind not in entry:
        diagnostics.report(SHAPE_BLOCK_MISSING, at, type=kind)
    return parsers[kind](read_block(entry, kind, at, diagnostics) or {}, at / kind, diagnostics)


def _kind_of(
    entry: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    parsers: Mapping[str, BlockParser[S]],
) -> str | None:
    """The ``type``; a single block says it as well."""
    blocks = [key for key in parsers if key in entry]
    instead = f"it is taken as {blocks[0]}" if len(blocks) == 1 else SHAPE_LEFT_OUT
    found: str | None = None
    if require(entry, "type", "one of " + ", ".join(parsers), at, diagnostics, instead=instead):
        found = read_string(entry, "type", at, diagnostics, instead=instead)
    if found is None:
        return blocks[0] if len(blocks) == 1 else None
    if found not in parsers:
        # The schemas of KHR allow any string: later extensions may add shapes.
        known = ", ".join(parsers)
        diagnostics.report(SHAPE_TYPE_UNKNOWN, at / "type", got=repr(found[:60]), known=known)
        return None
    return found


def read_box(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    size: Vec3,
    may_be_flat: bool = False,
) -> Box | None:
    """A box; ``size`` [m] is the default."""
    report_unknown(block, _BOX, "a box", at, diagnostics)
    stated = read_vector(block, "size", at, diagnostics, default=size)
    if any(stated):
        for axis, length in enumerate(stated):
            # Exporters that turn axes leave a sign behind.
            if length < 0.0:
                instead = "its magnitude is used"
            elif length == 0.0 and not may_be_flat:
                instead = "the box is thin along that axis"
            else:
                continue
            least = ">= 0" if may_be_flat else "> 0"
            out_of_range("size", length, least, at / "size" / axis, diagnostics, instead)
    x, y, z = map(abs, stated)
    box = Box(size=(x, y, z), pointer=at)
    return with_extent(box, "box", box.size, at, diagnostics)


def read_sphere(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, *, radius: float
) -> Sphere | None:
    """A ball; ``radius`` [m] is the default."""
    report_unknown(block, _SPHERE, "a sphere", at, diagnostics)
    stated = read_extent(block, "radius", at, diagnostics, default=radius)
    if stated is None:
        return None
    return with_extent(Sphere(radius=stated, pointer=at), "sphere", (stated,), at, diagnostics)


def read_capsule(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    mid_height: float,
    radius: float,
    may_be_flat: bool = False,
) -> Capsule | None:
    """A capsule whose ``height`` joins the cap centres; the arguments are the defaults [m]."""
    report_unknown(block, _TAPERED, "a capsule", at, diagnostics)
    if_zero = None if may_be_flat else "it is a sphere"
    height = read_extent(block, "height", at, diagnostics, default=mid_height, if_zero=if_zero)
    bottom, top = _radii(block, at, diagnostics, radius)
    if height is None or bottom is None or top is None:
        return None
    capsule = Capsule(mid_height=height, radius_bottom=bottom, radius_top=top, pointer=at)
    return with_extent(capsule, "capsule", (height, bottom, top), at, diagnostics)


def read_total_height_capsule(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    height: float,
    radius: float,
) -> Capsule | None:
    """A capsule whose ``height`` goes from tip to tip; the arguments are the defaults [m].

    OMI_collider, "Capsule": "must be at least twice as much as the radius". The caller reports
    unknown keys, since the fields may stand among others.
    """
    stated_radius = read_extent(block, "radius", at, diagnostics, default=radius)
    if stated_radius is None:
        return None
    # A default height must not turn a large radius into a finding of its own.
    least = 2.0 * stated_radius
    total = read_extent(block, "height", at, diagnostics, default=max(height, least))
    if total is None:
        return None
    if total < least:
        diagnostics.report(CAPSULE_TOO_SHORT, at / "height", got=total, least=least)
    capsule = Capsule(
        mid_height=max(0.0, total - least),
        radius_bottom=stated_radius,
        radius_top=stated_radius,
        pointer=at,
    )
    return with_extent(capsule, "capsule", (total, stated_radius), at, diagnostics)


def read_cylinder(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    height: float,
    radius: float,
    may_be_flat: bool = False,
) -> Cylinder | None:
    """A cylinder or cone; the arguments are the defaults [m]."""
    report_unknown(block, _TAPERED, "a cylinder", at, diagnostics)
    if_zero = None if may_be_flat else _DISC
    stated = read_extent(block, "height", at, diagnostics, default=height, if_zero=if_zero)
    bottom, top = _radii(block, at, diagnostics, radius)
    if stated is None or bottom is None or top is None:
        return None
    cylinder = Cylinder(height=stated, radius_bottom=bottom, radius_top=top, pointer=at)
    return with_extent(cylinder, "cylinder", (stated, bottom, top), at, diagnostics)


def read_straight_cylinder(
    block: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    height: float,
    radius: float,
) -> Cylinder | None:
    """A cylinder of one ``radius``; the arguments are the defaults [m].

    The caller reports unknown keys, since the fields may stand among others.
    """
    stated = read_extent(block, "height", at, diagnostics, default=height, if_zero=_DISC)
    around = read_extent(block, "radius", at, diagnostics, default=radius)
    if stated is None or around is None:
        return None
    cylinder = Cylinder(height=stated, radius_bottom=around, radius_top=around, pointer=at)
    return with_extent(cylinder, "cylinder", (stated, around), at, diagnostics)


def _radii(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics, radius: float
) -> tuple[float | None, float | None]:
    return (
        read_extent(block, "radiusBottom", at, diagnostics, default=radius),
        read_extent(block, "radiusTop", at, diagnostics, default=radius),
    )


def read_extent(
    block: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    default: float,
    if_zero: str | None = None,
) -> float | None:
    """A length [m] of a shape; ``None``, with a finding, where it is negative.

    ``if_zero``: what is said of a 0 where the dialect wants more; it is taken as it is.
    """
    stated = read_number(block, key, at, diagnostics, default=default)
    if stated < 0.0:
        out_of_range(key, stated, ">= 0", at / key, diagnostics, SHAPE_LEFT_OUT)
        return None
    if stated == 0.0 and if_zero is not None:
        out_of_range(key, stated, "> 0", at / key, diagnostics, if_zero)
    return stated


def with_extent(
    shape: S, what: str, extents: Sequence[float], at: JsonPointer, diagnostics: Diagnostics
) -> S | None:
    """The shape, if it is more than a point."""
    if any(extents):
        return shape
    diagnostics.report(SHAPE_WITHOUT_EXTENT, at, what=what)
    return None
