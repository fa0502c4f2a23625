"""Writing what users set back into a scene's file: physics and nodes by pointer, nothing else."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.dialects.registry import NODE_EXTENSIONS
from gltf_bullet.gltf.writing import encode_glb, self_contained, write_document
from gltf_bullet.model import Capsule, Cylinder, Joint, PhysicsScene
from gltf_bullet.model.pointers import differences
from gltf_bullet.model.properties import Dialect, Property
from gltf_bullet.output_files import require_another_file
from gltf_bullet.runtime.content import read_content
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.export import copy_down, number_like

_ONE_RADIUS = (Dialect.OMI_COLLIDER, Dialect.MSFT_CAMEL)
_VELOCITIES = ("linearVelocity", "angularVelocity")
_DIALECT_OF = {name: dialect for dialect, names in NODE_EXTENSIONS.items() for name in names}


def save_settings(
    core: SceneCore, path: str | os.PathLike[str], *, velocities: bool, force: bool
) -> None:
    """Write a scene's file with the values that were set; errors as for ``Scene.save``."""
    document = core.asset.document
    require_another_file(document.path, path, force=force)
    root, buffers = self_contained(document, Diagnostics())
    now = core.model_now()
    acted = core.model.acted

    def told(scene: PhysicsScene) -> Iterator[tuple[Any, str, Property, object]]:
        """Yield the values of the present model that a scene of this file lacks."""
        for item, key, member, _, value in differences(scene, now):
            is_left = key in _VELOCITIES and not velocities
            if not is_left and f"{item.pointer}/{key}" not in acted:
                yield item, key, member, value

    own = _own_descriptions(root, now)
    for item, key, member, value in told(core.model.at_load):
        place = own.get(id(item), item.pointer)
        dialect = next((_DIALECT_OF[t] for t in place.tokens if t in _DIALECT_OF), Dialect.KHR)
        if isinstance(item, (Capsule, Cylinder)) and dialect in _ONE_RADIUS:
            _write_straight(root, item, dialect)
        else:
            _write(root, place, key, member.key_in(dialect), value)
    for (node, field), numbers in core.model.placed.items():
        _place(root, core, node, field, numbers)
    saved = read_content(encode_glb(root, buffers), Diagnostics()).physics
    lost = [f"{item.pointer}/{key}" for item, key, *_ in told(saved)]
    if lost:
        raise ValueError(f"the file's dialect cannot hold what was set at {', '.join(lost)}")
    write_document(root, buffers, path)


def _write(root: dict[str, Any], place: JsonPointer, key: str, spelled: str, value: object) -> None:
    """Write a value of the object model under the name that the file's dialect has for it."""
    block, _, _ = key.rpartition("/")
    owner = copy_down(root, JsonPointer(f"{place}/{block}") if block else place)
    if value is None or value == math.inf:
        owner.pop(spelled, None)  # absent: left to the engine, or without a bound
    elif isinstance(value, tuple):
        owner[spelled] = _numbers_like(value, owner.get(spelled))
    else:
        owner[spelled] = number_like(value, owner.get(spelled))


def _write_straight(root: dict[str, Any], item: Capsule | Cylinder, dialect: Dialect) -> None:
    """Write the sizes of a round shape of a dialect whose shapes have one radius."""
    owner, radius = copy_down(root, item.pointer), item.radius_bottom
    height = item.height if isinstance(item, Cylinder) else item.mid_height
    if isinstance(item, Capsule) and dialect is Dialect.OMI_COLLIDER:
        height += 2.0 * radius  # from tip to tip
    for key, value in (("radius", radius), ("height", height)):
        owner[key] = number_like(value, owner.get(key))


def _numbers_like(values: tuple[object, ...], before: object) -> list[object]:
    known = before if isinstance(before, list) and len(before) == len(values) else None
    return [number_like(value, known and known[k]) for k, value in enumerate(values)]


def _place(
    root: dict[str, Any], core: SceneCore, node: int, field: str, numbers: tuple[float, ...]
) -> None:
    """Write a node's transform or weights."""
    owner, tree = copy_down(root, JsonPointer(f"/nodes/{node}")), core.asset.tree
    if field != "weights" and owner.pop("matrix", None) is not None:
        owner["translation"] = tree.translations[node].tolist()
        owner["rotation"] = tree.rotations_xyzw[node].tolist()
        owner["scale"] = tree.scales[node].tolist()
    owner[field] = _numbers_like(numbers, owner.get(field))


def _own_descriptions(root: dict[str, Any], now: PhysicsScene) -> dict[int, JsonPointer]:
    """Give joints that share a description, but not its values any more, descriptions of their own.

    Returns:
        Places of their limits and drives in ``root``, by the ids of those.
    """
    own: dict[int, JsonPointer] = {}
    first: dict[JsonPointer, Joint] = {}
    copies: dict[JsonPointer, list[tuple[Joint, JsonPointer]]] = {}
    for joint in now.joints.values():
        place = joint.description.pointer
        if not place or first.setdefault(place, joint).description == joint.description:
            continue
        known = copies.get(place, [])
        at = next((at for other, at in known if other.description == joint.description), None)
        if at is None:
            at = _copied(root, place)
            copies.setdefault(place, []).append((joint, at))
        _refer(root, joint, int(at.tokens[-1]))
        items: tuple[Any, ...] = (*joint.description.limits, *joint.description.drives)
        for item in items:
            own[id(item)] = JsonPointer(at + item.pointer.removeprefix(place))
    return own


def _copied(root: dict[str, Any], place: JsonPointer) -> JsonPointer:
    """Append a copy of the entry of a list; return its place."""
    above = JsonPointer(place.rpartition("/")[0])
    entries = copy_down(root, above)
    entries.append(deepcopy(entries[int(place.tokens[-1])]))
    return above / (len(entries) - 1)


def _refer(root: dict[str, Any], joint: Joint, index: int) -> None:
    """Let a joint's node refer to another description."""
    owner = copy_down(root, joint.pointer)
    owner["joint"] = index
