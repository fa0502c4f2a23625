"""OMI_physics_gravity: the world's gravity and gravity volumes on trigger nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.reading import (
    AS_ABSENT,
    keys_of,
    known_keys,
    read_entry,
    read_property,
    read_vector,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import SHAPE_BLOCK_UNUSED
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import NOT_UNIT_LENGTH, Reader
from gltf_bullet.model import (
    GravityField,
    GravityFieldKind,
    GravityVolume,
    Shape,
    WorldGravity,
    properties,
)
from gltf_bullet.transforms import Vec3

EXTENSION: Final = "OMI_physics_gravity"

PRIORITY_NOT_WHOLE = warning(
    "PRIORITY_NOT_WHOLE", "priority is {got:g}; must be a whole number; {used} is used"
)
LINE_POINTS = warning(
    "LINE_POINTS",
    "points holds {got} numbers; must hold at least 6 and a multiple of 3; the gravity is left out",
)
GRAVITY_BLOCK_MISSING = warning(
    "GRAVITY_BLOCK_MISSING",
    'the gravity of type "{type}" has no {type}; must have one; the defaults are used',
)

_LEFT_OUT: Final = "the gravity is left out"
_KINDS: Final = {kind.value: kind for kind in GravityFieldKind}
_ROOT_KEYS: Final = known_keys(*properties.WORLD_GRAVITY.names(properties.Dialect.OMI))
_NODE_KEYS: Final = known_keys("type", *properties.GRAVITY.names(properties.Dialect.OMI), *_KINDS)
_SHAPED_KEYS: Final = known_keys("shape")


def parse(
    document: Document,
    shapes: tuple[Shape | None, ...],
    parts: PhysicsParts,
    diagnostics: Diagnostics,
) -> None:
    """Read the world's gravity and all volumes into ``parts``."""
    root = document.root_reader(EXTENSION, diagnostics)
    if root.json:
        parts.world_gravity = _parse_world(root)
    for node in document.nodes_with_extension(EXTENSION):
        volume = _parse_volume(document.node_reader(node, EXTENSION, diagnostics), node, shapes)
        if volume is not None:
            parts.gravity_volumes[node] = volume


def _parse_world(root: Reader) -> WorldGravity | None:
    report_unknown(root, _ROOT_KEYS, EXTENSION)
    gravity = _read_gravity(root)
    direction = _read_direction(root)
    if gravity is None:
        return None
    return WorldGravity(gravity=gravity, direction=direction, pointer=root.at)


def _read_gravity(owner: Reader) -> float | None:
    """The required strength [m/s^2]; it may be zero or negative."""
    require(owner, "gravity", "a number in m/s^2", instead=_LEFT_OUT)
    entry = properties.GRAVITY["gravity"]
    return owner.number(entry.key, default=None, instead=_LEFT_OUT, allowed=entry.carried)


def _read_direction(owner: Reader) -> Vec3:
    """A unit vector; "Should be normalized"."""
    entry = properties.WORLD_GRAVITY["direction"]
    direction = read_vector(owner, entry, properties.Dialect.OMI) or entry.default
    length = math.hypot(*direction)
    if length <= 1e-6:
        owner.out_of_range("direction", list(direction), "of length 1", "(0, -1, 0) is used")
        down: Vec3 = entry.default
        return down
    if abs(length - 1.0) > 1e-2:
        owner.report(NOT_UNIT_LENGTH, "direction", key="direction", got=round(length, 6))
    x, y, z = (component / length for component in direction)
    return (x, y, z)


def _parse_volume(
    extension: Reader, node: int, shapes: Sequence[Shape | None]
) -> GravityVolume | None:
    report_unknown(extension, _NODE_KEYS, EXTENSION)
    allowed = "one of " + ", ".join(_KINDS)
    require(extension, "type", allowed, instead=_LEFT_OUT)
    kind = extension.choice("type", choices=_KINDS, instead=_LEFT_OUT)
    gravity = _read_gravity(extension)
    priority = _read_priority(extension)
    replace, stop = (
        read_property(extension, properties.GRAVITY[key], properties.Dialect.OMI)
        for key in ("replace", "stop")
    )
    if kind is None:
        return None
    source = _parse_field(extension, kind, gravity or 0.0, shapes)
    if source is None or gravity is None:
        return None
    return GravityVolume(
        node=node,
        source=source,
        priority=priority,
        replace=replace,
        stop=stop,
        pointer=extension.at,
    )


def _read_priority(extension: Reader) -> int:
    entry = properties.GRAVITY["priority"]
    priority: float = extension.number(entry.key, default=entry.default, allowed=entry.carried)
    whole = round(priority)
    if whole != priority:
        extension.report(PRIORITY_NOT_WHOLE, "priority", got=priority, used=whole)
    return whole


def _parse_field(
    extension: Reader, kind: GravityFieldKind, gravity: float, shapes: Sequence[Shape | None]
) -> GravityField | None:
    """The block named like the type; ``None`` where a line or a shape is missing or wrong."""
    for key in _KINDS:
        if key != kind.value and key in extension:
            extension.report(SHAPE_BLOCK_UNUSED, key, key=key, type=kind.value)
    if kind.value not in extension:
        extension.report(GRAVITY_BLOCK_MISSING, type=kind.value)
    block = extension.member_or_empty(kind.value, instead=AS_ABSENT)
    table = properties.GRAVITY_BLOCKS[kind]
    known = keys_of(table, properties.Dialect.OMI)
    if kind is GravityFieldKind.SHAPED:
        known |= _SHAPED_KEYS
    report_unknown(block, known, table.what)
    points: tuple[Vec3, ...] | None = ()
    if kind is GravityFieldKind.LINE:
        points = _read_points(block)
    shape: Shape | None = None
    if kind is GravityFieldKind.SHAPED:
        require(block, "shape", "the index of a shape", instead=_LEFT_OUT)
        shape = read_entry(block, "shape", shapes, instead=_LEFT_OUT)
    if points is None or (kind is GravityFieldKind.SHAPED and shape is None):
        return None
    values: dict[str, Any] = {"points": points, "shape": shape}
    for entry in table:
        field = entry.field.removeprefix("source.")
        if entry.type is properties.DIRECTION:
            values[field] = _read_direction(block)
        elif entry.type is properties.NUMBER:
            values[field] = read_property(block, entry, properties.Dialect.OMI)
    return GravityField(kind=kind, gravity=gravity, **values)


def _read_points(block: Reader) -> tuple[Vec3, ...] | None:
    """The polyline: a flat list of coordinates."""
    if not require(block, "points", "a list of at least 6 numbers", instead=_LEFT_OUT):
        return None
    carried = properties.GRAVITY_BLOCKS[GravityFieldKind.LINE]["points"].carried
    numbers = block.numbers("points", instead=_LEFT_OUT, allowed=carried)
    if numbers is None:
        return None
    if len(numbers) < 6 or len(numbers) % 3:
        block.report(LINE_POINTS, "points", got=len(numbers))
        return None
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
