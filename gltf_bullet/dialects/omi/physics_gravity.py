"""OMI_physics_gravity: the world's gravity and gravity volumes on trigger nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.parts import PhysicsParts, node_extension_pointer
from gltf_bullet.dialects.reading import (
    keys_of,
    known_keys,
    read_block,
    read_entry,
    read_property,
    read_vector,
    report_unknown,
    require,
)
from gltf_bullet.dialects.shape_table import SHAPE_BLOCK_UNUSED
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    NOT_UNIT_LENGTH,
    JsonObject,
    out_of_range,
    read_choice,
    read_number,
    read_numbers,
)
from gltf_bullet.model import (
    GravityField,
    GravityFieldKind,
    GravityVolume,
    Shape,
    WorldGravity,
)
from gltf_bullet.model.properties import (
    DIRECTION,
    GRAVITY,
    GRAVITY_BLOCKS,
    NUMBER,
    WORLD_GRAVITY,
    Dialect,
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
_ROOT_KEYS: Final = known_keys(*WORLD_GRAVITY.names(Dialect.OMI))
_NODE_KEYS: Final = known_keys("type", *GRAVITY.names(Dialect.OMI), *_KINDS)
_SHAPED_KEYS: Final = known_keys("shape")


def parse(
    document: Document,
    shapes: tuple[Shape | None, ...],
    parts: PhysicsParts,
    diagnostics: Diagnostics,
) -> None:
    """Read the world's gravity and all volumes into ``parts``."""
    root = document.root_extension(EXTENSION)
    if root:
        parts.world_gravity = _parse_world(root, ROOT / "extensions" / EXTENSION, diagnostics)
    for node in document.nodes_with_extension(EXTENSION):
        extension = document.node_extension(node, EXTENSION) or {}
        at = node_extension_pointer(node, EXTENSION)
        volume = _parse_volume(extension, node, at, diagnostics, shapes)
        if volume is not None:
            parts.gravity_volumes[node] = volume


def _parse_world(
    root: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> WorldGravity | None:
    report_unknown(root, _ROOT_KEYS, EXTENSION, at, diagnostics)
    gravity = _read_gravity(root, at, diagnostics)
    direction = _read_direction(root, at, diagnostics)
    if gravity is None:
        return None
    return WorldGravity(gravity=gravity, direction=direction, pointer=at)


def _read_gravity(owner: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> float | None:
    """The required strength [m/s^2]; it may be zero or negative."""
    require(owner, "gravity", "a number in m/s^2", at, diagnostics, instead=_LEFT_OUT)
    entry = GRAVITY["gravity"]
    return read_number(
        owner, entry.key, at, diagnostics, default=None, instead=_LEFT_OUT, allowed=entry.carried
    )


def _read_direction(owner: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> Vec3:
    """A unit vector; "Should be normalized"."""
    entry = WORLD_GRAVITY["direction"]
    direction = read_vector(owner, entry, at, diagnostics, Dialect.OMI) or entry.default
    length = math.hypot(*direction)
    if length <= 1e-6:
        out_of_range(
            "direction", list(direction), "of length 1", at / "direction", diagnostics,
            "(0, -1, 0) is used",
        )  # fmt: skip
        down: Vec3 = entry.default
        return down
    if abs(length - 1.0) > 1e-2:
        diagnostics.report(NOT_UNIT_LENGTH, at / "direction", key="direction", got=round(length, 6))
    x, y, z = (component / length for component in direction)
    return (x, y, z)


def _parse_volume(
    extension: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    shapes: Sequence[Shape | None],
) -> GravityVolume | None:
    report_unknown(extension, _NODE_KEYS, EXTENSION, at, diagnostics)
    allowed = "one of " + ", ".join(_KINDS)
    require(extension, "type", allowed, at, diagnostics, instead=_LEFT_OUT)
    kind = read_choice(extension, "type", at, diagnostics, choices=_KINDS, instead=_LEFT_OUT)
    gravity = _read_gravity(extension, at, diagnostics)
    priority = _read_priority(extension, at, diagnostics)
    replace, stop = (
        read_property(extension, GRAVITY[key], at, diagnostics, Dialect.OMI)
        for key in ("replace", "stop")
    )
    if kind is None:
        return None
    source = _parse_field(extension, kind, gravity or 0.0, at, diagnostics, shapes)
    if source is None or gravity is None:
        return None
    return GravityVolume(
        node=node, source=source, priority=priority, replace=replace, stop=stop, pointer=at
    )


def _read_priority(extension: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> int:
    entry = GRAVITY["priority"]
    priority: float = read_number(
        extension, entry.key, at, diagnostics, default=entry.default, allowed=entry.carried
    )
    whole = round(priority)
    if whole != priority:
        diagnostics.report(PRIORITY_NOT_WHOLE, at / "priority", got=priority, used=whole)
    return whole


def _parse_field(
    extension: JsonObject,
    kind: GravityFieldKind,
    gravity: float,
    at: JsonPointer,
    diagnostics: Diagnostics,
    shapes: Sequence[Shape | None],
) -> GravityField | None:
    """The block named like the type; ``None`` where a line or a shape is missing or wrong."""
    for key in _KINDS:
        if key != kind.value and key in extension:
            diagnostics.report(SHAPE_BLOCK_UNUSED, at / key, key=key, type=kind.value)
    if kind.value not in extension:
        diagnostics.report(GRAVITY_BLOCK_MISSING, at, type=kind.value)
    block = read_block(extension, kind.value, at, diagnostics) or {}
    at = at / kind.value
    table = GRAVITY_BLOCKS[kind]
    known = keys_of(table, Dialect.OMI)
    if kind is GravityFieldKind.SHAPED:
        known |= _SHAPED_KEYS
    report_unknown(block, known, table.what, at, diagnostics)
    points: tuple[Vec3, ...] | None = ()
    if kind is GravityFieldKind.LINE:
        points = _read_points(block, at, diagnostics)
    shape: Shape | None = None
    if kind is GravityFieldKind.SHAPED:
        require(block, "shape", "the index of a shape", at, diagnostics, instead=_LEFT_OUT)
        shape = read_entry(block, "shape", at, diagnostics, shapes, instead=_LEFT_OUT)
    if points is None or (kind is GravityFieldKind.SHAPED and shape is None):
        return None
    values: dict[str, Any] = {"points": points, "shape": shape}
    for entry in table:
        field = entry.field.removeprefix("source.")
        if entry.type is DIRECTION:
            values[field] = _read_direction(block, at, diagnostics)
        elif entry.type is NUMBER:
            values[field] = read_property(block, entry, at, diagnostics, Dialect.OMI)
    return GravityField(kind=kind, gravity=gravity, **values)


def _read_points(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[Vec3, ...] | None:
    """The polyline: a flat list of coordinates."""
    if not require(
        block, "points", "a list of at least 6 numbers", at, diagnostics, instead=_LEFT_OUT
    ):
        return None
    carried = GRAVITY_BLOCKS[GravityFieldKind.LINE]["points"].carried
    numbers = read_numbers(block, "points", at, diagnostics, instead=_LEFT_OUT, allowed=carried)
    if numbers is None:
        return None
    if len(numbers) < 6 or len(numbers) % 3:
        diagnostics.report(LINE_POINTS, at / "points", got=len(numbers))
        return None
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
