"""The specs' object-model pointers over the model: read a value, or get an edited scene.

Pure: every item of the model knows the place in the JSON it came from, so one table per type serves
all dialects ("Object Model" of KHR_physics_rigid_bodies, OMI_physics_joint, KHR_collision_shapes
and KHR_implicit_shapes). What acts on an engine is in the ``runtime`` room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gltf_bullet.model.colliders import Collider, Trigger
from gltf_bullet.model.gravity import GravityVolume
from gltf_bullet.model.joints import Joint, JointDescription, JointDrive, JointLimit
from gltf_bullet.model.physics_scene import PhysicsScene
from gltf_bullet.model.properties import (
    GRAVITY,
    GRAVITY_BLOCKS,
    STRENGTH,
    TABLES,
    Property,
)
from gltf_bullet.model.shapes import MeshShape, Shape
from gltf_bullet.number_ranges import NumberRange, carried

ROUNDING: Final = 1e-12
"""Differences of numbers that nobody made [parts of one, or of the number where it is larger]."""

_TABLES: Final[Mapping[type, Mapping[str, Property]]] = {
    table.owner: table.pointers() for table in TABLES if table.owner is not GravityVolume
} | {
    GravityVolume: GRAVITY.pointers()
    | {
        f"{kind.value}/{key}": entry
        for kind, block in GRAVITY_BLOCKS.items()
        for key, entry in sorted(block.pointers().items())
    }
}
"""The properties of the object model by type and name; those of a block of gravity with its."""
BOOLEANS: Final = frozenset(
    key for table in TABLES for key, entry in table.pointers().items() if entry.is_boolean
)
"""Names of properties that are true or false."""


@dataclass(frozen=True, slots=True)
class PointerTarget:
    """A property of a model value that a pointer names."""

    item: Any
    """The value as it is in the scene: a Motion, PhysicsMaterial, JointLimit, ..."""
    field: str
    """Its field."""
    member: Property
    is_used: bool = True
    """False for an entry of a table that nothing in the scene uses."""

    @property
    def value(self) -> object:
        """The value as the JSON would say it.

        ``None`` where it is left to the engine, infinities where the file states no bound.
        """
        value: object = self.member.json_of(self.item)
        return value


def find_target(scene: PhysicsScene, pointer: str) -> PointerTarget | None:
    """The property that a pointer names; ``None`` if the model has no such item."""
    key_at = _keys_by_place(pointer)
    for items, is_used in ((_items(scene), True), (_entries(scene.tables), False)):
        for item in items:
            key = key_at.get(item.pointer)
            member = None if key is None else _member(item, key)
            if key is not None and member is not None:
                return PointerTarget(item, member.field, member, is_used)
    return None


def _keys_by_place(pointer: str) -> dict[str, str]:
    """The names of members that a pointer may mean, by the place of their item."""
    place, _, key = pointer.rpartition("/")
    above, _, block = place.rpartition("/")
    found = {place: key, above: f"{block}/{key}"}
    if key == "enableCollision" and block == "joint":
        # OMI_physics_joint's own list of pointers writes one level more than its schema has.
        found[above] = key
    return {place: key for place, key in found.items() if place}


def members_of(kind: type) -> Mapping[str, Property]:
    """The properties of values of one type of the model, by their names in the JSON.

    Of several names for one field the first one is KHR's.
    """
    return _TABLES.get(kind, {})


def pointers_of(scene: PhysicsScene) -> tuple[str, ...]:
    """Every pointer of the physics of a scene, of what is used and what is not, each once."""
    found = {
        f"{item.pointer}/{key}": None
        for item in (*_items(scene), *_entries(scene.tables))
        if item.pointer
        for key in members_of(type(item))
        if _member(item, key) is not None
    }
    return tuple(found)


def differences(
    before: PhysicsScene, now: PhysicsScene
) -> Iterator[tuple[Any, str, Property, Any, Any]]:
    """Yield what differs between two scenes of one file, by more than rounding.

    Yields:
        The item of ``now``, the name of one of its properties in the object model, the property,
        and its values before and now as the JSON would say them. Items of tables that nothing uses
        are among them.
    """
    used, shared = tuple(_items(now)), tuple(_entries(now.tables))
    # Entries that ``before`` has beyond those of ``now`` have no counterpart.
    pairs = zip((*_items(before), *_entries(before.tables)), (*used, *shared), strict=False)
    places = {item.pointer for item in used}
    for number, (old, new) in enumerate(pairs):
        # What is used is the present one; the table's may have fallen behind, as drives do.
        if old is new or old == new or (number >= len(used) and new.pointer in places):
            continue
        for key, member in members_of(type(new)).items():
            if key.rpartition("/")[2] == member.key and _member(new, key) is not None:
                was, value = member.json_of(old), member.json_of(new)
                if not _are_alike(was, value):
                    yield new, key, member, was, value


def _are_alike(a: Any, b: Any) -> bool:
    """True if two JSON values are equal but for rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= ROUNDING * max(1.0, abs(a))
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return all(map(_are_alike, a, b))
    return bool(a == b)


def _member(item: Any, key: str) -> Property | None:
    kind, _, _ = key.rpartition("/")
    if isinstance(item, GravityVolume) and kind and kind != item.source.kind.value:
        return None  # a block of another type
    return _TABLES.get(type(item), {}).get(key)


def written(target: PointerTarget, value: object) -> Any:
    """``value`` as the model holds it.

    Raises:
        TypeError: The value is of another type.
        ValueError: The value is out of range.
    """
    if target.member.type is STRENGTH and _says_endless(target, value):
        return math.inf
    member = target.member
    return _carried(member.type.from_json(value, member.range), member.carried)


def _says_endless(target: PointerTarget, value: object) -> bool:
    """True if a value means no bound: infinity, or a negative number in OMI."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    is_omi = target.item.pointer.startswith("/extensions/OMI_")
    return value == math.inf or (is_omi and -math.inf < value < 0.0)


def edited(scene: PhysicsScene, target: PointerTarget, value: object) -> PhysicsScene:
    """The scene with one property changed wherever the item is used.

    Raises:
        TypeError: The value is of another type.
        ValueError: The value is out of range.
    """
    new = written(target, value)
    place, kind = target.item.pointer, type(target.item)

    def swap(item: Any) -> Any:
        # Several items may have come from one place: OMI's limit of linear and angular axes.
        if item is None or type(item) is not kind or item.pointer != place:
            return item
        changed = _with(item, target.field, new)
        if isinstance(changed, JointLimit) and changed.minimum > changed.maximum:
            raise ValueError(f"min {changed.minimum:g} would be above max {changed.maximum:g}")
        return changed

    # What has nothing of it stays the same object: it is compared by a glance afterwards.
    def swap_description(known: JointDescription) -> JointDescription:
        if kind not in (JointLimit, JointDrive):
            return known
        limits, drives = tuple(map(swap, known.limits)), tuple(map(swap, known.drives))
        if (limits, drives) == (known.limits, known.drives):
            return known
        return replace(known, limits=limits, drives=drives)

    def swap_joint(joint: Joint) -> Joint:
        description = swap_description(joint.description)
        if description is not joint.description:
            joint = replace(joint, description=description)
        swapped: Joint = swap(joint)
        return swapped

    def swap_collider(collider: Collider) -> Collider:
        shape, material = swap(collider.shape), swap(collider.material)
        if shape is collider.shape and material is collider.material:
            return collider
        return replace(collider, shape=shape, material=material)

    def swap_volume(volume: GravityVolume) -> GravityVolume:
        swapped: GravityVolume = swap(_with_source(volume, swap))
        return swapped

    def swap_trigger(trigger: Trigger) -> Trigger:
        shape = swap(trigger.shape)
        return trigger if shape is trigger.shape else replace(trigger, shape=shape)

    swapped: dict[str, Any] = {
        "motions": _swapped(scene.motions, swap),
        "colliders": _swapped(scene.colliders, swap_collider),
        "triggers": _swapped(scene.triggers, swap_trigger),
        "joints": _swapped(scene.joints, swap_joint),
        "gravity_volumes": _swapped(scene.gravity_volumes, swap_volume),
    }
    return replace(
        scene,
        **swapped,
        world_gravity=swap(scene.world_gravity),
        tables=tuple(
            swap_description(v) if isinstance(v, JointDescription) else swap(v)
            for v in scene.tables
        ),
    )


def _swapped(items: Mapping[int, Any], swap: Callable[[Any], Any]) -> Mapping[int, Any]:
    """The items after a swap; the same mapping if it has changed none."""
    swapped = {node: swap(item) for node, item in items.items()}
    return swapped if swapped != items else items


def _with(item: Any, field: str, value: object) -> Any:
    """An item with another value in a field, or in a field of a value within it."""
    if isinstance(item, tuple):
        return tuple(_with(each, field, value) for each in item)
    name, _, inner = field.partition(".")
    return replace(item, **{name: _with(getattr(item, name), inner, value) if inner else value})


def has_weights(shape: MeshShape) -> bool:
    """True if a mesh has weights of its own: in KHR_collision_shapes, unless they are a node's."""
    is_stated = shape.pointer.startswith("/extensions/KHR_collision_shapes/")
    return is_stated and shape.parts[0].weights_node is None


def _with_source(volume: GravityVolume, swap: Callable[[Any], Any]) -> GravityVolume:
    shape = swap(volume.source.shape)
    if shape is volume.source.shape:
        return volume
    return replace(volume, source=replace(volume.source, shape=shape))


def _carried(value: Any, allowed: NumberRange) -> Any:
    """A value in the range that the engine carries; infinities stand for 0 in the file.

    Raises:
        ValueError: It is beyond that range.
    """
    if isinstance(value, tuple):
        return tuple(_carried(item, allowed) for item in value)
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    taken = carried(allowed, value)
    if taken is None or (taken != value and allowed.beyond == "limited" and taken != 0.0):
        low = f"{allowed.smallest:g} to" if allowed.beyond == "limited" else "at most"
        raise ValueError(f"{value:g} must be {low} {allowed.largest:g} in magnitude")
    return taken


def _items(scene: PhysicsScene) -> Iterator[Any]:
    yield from scene.motions.values()
    for collider in scene.colliders.values():
        yield from _of_volume(collider)
    for trigger in scene.triggers.values():
        yield from _of_volume(trigger)
    for joint in scene.joints.values():
        yield joint
        yield from joint.description.limits
        yield from joint.description.drives
    if scene.world_gravity is not None:
        yield scene.world_gravity
    for volume in scene.gravity_volumes.values():
        yield volume
        if isinstance(volume.source.shape, Shape) and not isinstance(
            volume.source.shape, MeshShape
        ):
            yield volume.source.shape


def _entries(tables: Iterable[Any]) -> Iterator[Any]:
    for item in tables:
        if isinstance(item, JointDescription):
            yield from item.limits
            yield from item.drives
        else:
            yield item


def _of_volume(volume: Collider | Trigger) -> Iterator[Any]:
    shape = volume.shape
    if shape is not None and (not isinstance(shape, MeshShape) or has_weights(shape)):
        yield shape
    if isinstance(volume, Collider) and volume.material is not None:
        yield volume.material
