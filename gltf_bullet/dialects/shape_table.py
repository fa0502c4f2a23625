"""Tables of shapes with a ``type`` and a block of parameters, and the primitives' parameters.

The layout ``{"type": "box", "box": {...}}`` is shared by KHR_implicit_shapes, KHR_collision_shapes,
OMI_physics_shape, MSFT_collision_primitives and the core of glTF 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from gltf_bullet.diagnostics import note, warning
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    keys_of,
    known_keys,
    read_values,
    read_vector,
    report_unknown,
    require,
)
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import Box, Capsule, Cylinder, Plane, Sphere, properties

SHAPE_BLOCK_MISSING = warning(
    "SHAPE_BLOCK_MISSING",
    'the shape of type "{type}" has no {type}; must have one; the defaults are used',
)
SHAPE_BLOCK_UNUSED = warning(
    "SHAPE_BLOCK_UNUSED", '{key} stands beside type "{type}"; must be left out; it is ignored'
)

SHAPE_IN_OTHER_FORM = note(
    "SHAPE_IN_OTHER_FORM", "{got} is the form of another revision; should be {present}; it is read"
)
CAPSULE_TOO_SHORT = warning(
    "CAPSULE_TOO_SHORT",
    "height is {got:g}; must be at least twice the radius, {least:g}; it is taken as that",
)
SHAPE_TYPE_UNKNOWN = warning(
    "SHAPE_TYPE_UNKNOWN",
    "the shape is a {got}, which is none of {known}; whatever has it is left out",
)
SHAPE_WITHOUT_EXTENT = warning(
    "SHAPE_WITHOUT_EXTENT",
    "the {what} has no extent along any axis; must have some; whatever has it is left out",
)

_DISC: Final = "it is a thin disc"
SHAPE_LEFT_OUT: Final = "whatever has the shape is left out"

S = TypeVar("S")
BlockParser = Callable[[Reader], S]

_MAY_BE_FLAT: Final = (properties.Dialect.MSFT_LATER, properties.Dialect.MSFT_CAMEL)
"""Dialects whose schemas allow sizes of 0."""


def parse_typed_shape(
    entry: Reader, parsers: Mapping[str, BlockParser[S]], *, block_required: bool
) -> S | None:
    """The shape that ``type`` names, from the block of that name; ``None`` where it is unknown."""
    kind = _kind_of(entry, parsers)
    if kind is None:
        return None
    report_unknown(entry, known_keys("type", *parsers), "a shape")
    for key in parsers:
        if key != kind and key in entry:
            entry.report(SHAPE_BLOCK_UNUSED, key, key=key, type=kind)
    if block_required and kind not in entry:
        entry.report(SHAPE_BLOCK_MISSING, type=kind)
    return parsers[kind](entry.member_or_empty(kind, instead=AS_ABSENT))


def primitive_parsers(dialect: properties.Dialect) -> dict[str, BlockParser[Any]]:
    """The parsers of the shapes that every dialect has."""
    return {
        "sphere": partial(read_sphere, dialect=dialect),
        "box": partial(read_box, dialect=dialect),
        "capsule": partial(read_capsule, dialect=dialect),
        "cylinder": partial(read_cylinder, dialect=dialect),
    }


def _kind_of(entry: Reader, parsers: Mapping[str, BlockParser[S]]) -> str | None:
    """The ``type``; a single block says it as well."""
    blocks = [key for key in parsers if key in entry]
    instead = f"it is taken as {blocks[0]}" if len(blocks) == 1 else SHAPE_LEFT_OUT
    found: str | None = None
    if require(entry, "type", "one of " + ", ".join(parsers), instead=instead):
        found = entry.string("type", instead=instead)
    if found is None:
        return blocks[0] if len(blocks) == 1 else None
    if found not in parsers:
        # The schemas of KHR allow any string: later extensions may add shapes.
        known = ", ".join(parsers)
        entry.report(SHAPE_TYPE_UNKNOWN, "type", got=repr(found[:60]), known=known)
        return None
    return found


def read_box(block: Reader, *, dialect: properties.Dialect) -> Box | None:
    """A box with its dialect's default size."""
    report_unknown(block, keys_of(properties.BOX, dialect), properties.BOX.what)
    entry = properties.BOX["size"]
    stated = read_vector(block, entry, dialect) or entry.default
    may_be_flat = dialect in _MAY_BE_FLAT
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
            block.out_of_range(entry.key, length, least, instead, axis)
    x, y, z = map(abs, stated)
    box = Box(size=(x, y, z), pointer=block.at)
    return with_extent(box, "box", box.size, block)


def read_sphere(block: Reader, *, dialect: properties.Dialect) -> Sphere | None:
    """A ball with its dialect's default radius."""
    report_unknown(block, keys_of(properties.SPHERE, dialect), properties.SPHERE.what)
    stated = read_extent(block, properties.SPHERE["radius"], dialect)
    if stated is None:
        return None
    return with_extent(Sphere(radius=stated, pointer=block.at), "sphere", (stated,), block)


def read_capsule(block: Reader, *, dialect: properties.Dialect) -> Capsule | None:
    """A capsule whose ``height`` joins the cap centres, with its dialect's default sizes."""
    sizes = _read_tapered(block, properties.CAPSULE, "it is a sphere", dialect)
    if sizes is None:
        return None
    height, bottom, top = sizes
    capsule = Capsule(mid_height=height, radius_bottom=bottom, radius_top=top, pointer=block.at)
    return with_extent(capsule, "capsule", sizes, block)


def read_total_height_capsule(block: Reader) -> Capsule | None:
    """A capsule of OMI_collider, whose ``height`` goes from tip to tip.

    Its text: the height "must be at least twice as much as the radius". The caller reports unknown
    keys, since the fields may stand among others.
    """
    dialect, entry = properties.Dialect.OMI_COLLIDER, properties.CAPSULE["height"]
    radius = read_extent(block, properties.CAPSULE["radius"], dialect)
    if radius is None:
        return None
    # A default height must not turn a large radius into a finding of its own.
    least = 2.0 * radius
    default = max(entry.default_in(dialect), least)
    total = read_extent(block, entry, dialect, default=default)
    if total is None:
        return None
    if total < least:
        block.report(CAPSULE_TOO_SHORT, entry.key, got=total, least=least)
    capsule = Capsule(
        mid_height=max(0.0, total - least),
        radius_bottom=radius,
        radius_top=radius,
        pointer=block.at,
    )
    return with_extent(capsule, "capsule", (total, radius), block)


def read_cylinder(block: Reader, *, dialect: properties.Dialect) -> Cylinder | None:
    """A cylinder or cone with its dialect's default sizes."""
    sizes = _read_tapered(block, properties.CYLINDER, _DISC, dialect)
    if sizes is None:
        return None
    height, bottom, top = sizes
    cylinder = Cylinder(height=height, radius_bottom=bottom, radius_top=top, pointer=block.at)
    return with_extent(cylinder, "cylinder", sizes, block)


def read_straight_cylinder(block: Reader) -> Cylinder | None:
    """A cylinder of OMI_collider, of one ``radius``.

    The caller reports unknown keys, since the fields may stand among others.
    """
    dialect = properties.Dialect.OMI_COLLIDER
    height = read_extent(block, properties.CYLINDER["height"], dialect, if_zero=_DISC)
    radius = read_extent(block, properties.CYLINDER["radius"], dialect)
    if height is None or radius is None:
        return None
    cylinder = Cylinder(height=height, radius_bottom=radius, radius_top=radius, pointer=block.at)
    return with_extent(cylinder, "cylinder", (height, radius), block)


def read_plane(block: Reader, *, dialect: properties.Dialect) -> Plane:
    """A plane, which has one side where the dialect knows no other."""
    report_unknown(block, keys_of(properties.PLANE, dialect), properties.PLANE.what)
    values = {entry.field: entry.default for entry in properties.PLANE}
    values |= read_values(block, properties.PLANE, dialect)
    return Plane(**values, pointer=block.at)


def _read_tapered(
    block: Reader, table: properties.Properties, if_zero: str, dialect: properties.Dialect
) -> tuple[float, float, float] | None:
    """Height and both radii [m]; ``if_zero`` is said of a height of 0 where it must be more."""
    report_unknown(block, keys_of(table, dialect), table.what)
    said = None if dialect in _MAY_BE_FLAT else if_zero
    height = read_extent(block, table["height"], dialect, if_zero=said)
    bottom = read_extent(block, table["radiusBottom"], dialect)
    top = read_extent(block, table["radiusTop"], dialect)
    if height is None or bottom is None or top is None:
        return None
    return height, bottom, top


def read_extent(
    block: Reader,
    entry: properties.Property,
    dialect: properties.Dialect,
    *,
    default: float | None = None,
    if_zero: str | None = None,
) -> float | None:
    """A length [m] of a shape; ``None``, with a finding, where it is negative.

    Args:
        block: The shape's parameters.
        entry: The property.
        dialect: Gives the default.
        default: Another default.
        if_zero: What is said of a 0 where the dialect wants more; it is taken as it is.
    """
    key = entry.key
    default = entry.default_in(dialect) if default is None else default
    stated = block.number(key, default=default, allowed=entry.carried)
    if stated is None or stated < 0.0:
        block.out_of_range(key, stated, ">= 0", SHAPE_LEFT_OUT)
        return None
    if stated == 0.0 and if_zero is not None:
        block.out_of_range(key, stated, "> 0", if_zero)
    return stated


def with_extent(shape: S, what: str, extents: Sequence[float], block: Reader) -> S | None:
    """The shape, if it is more than a point."""
    if any(extents):
        return shape
    block.report(SHAPE_WITHOUT_EXTENT, what=what)
    return None
