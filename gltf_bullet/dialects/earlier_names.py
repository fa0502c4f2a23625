"""Earlier names of extensions, replaced by the present ones before a file is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, note
from gltf_bullet.dialects.omi.older_joints import with_present_joints
from gltf_bullet.gltf.fields import JsonObject

EXTENSION_EARLIER_NAME = note(
    "EXTENSION_EARLIER_NAME",
    "{got} is an earlier name of {present}; it is read, and written, as that one",
)

EARLIER_NAMES: Final = {
    # Published drafts under these names say the same in the same words.
    "KHR_rigid_bodies": "KHR_physics_rigid_bodies",
    "MSFT_physics": "MSFT_RigidBodies",
}
"""Present names of the dialects by those of their first drafts."""

_LISTS = ("extensionsUsed", "extensionsRequired")


def with_present_names(
    root: JsonObject, diagnostics: Diagnostics, present_of: Mapping[str, str] = EARLIER_NAMES
) -> JsonObject:
    """The root of a file with extensions in their present words; itself where that changes none.

    An object that has both keeps both: the earlier one then says nothing. Animations that point
    into an extension follow it.
    """
    root = with_present_joints(root, diagnostics)
    found = {name for key in _LISTS for name in _names(root.get(key))} | _names(
        root.get("extensions")
    )
    nodes = root.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict) and "extensions" in node:
            found |= _names(node["extensions"])
    earlier = {name: present_of[name] for name in present_of if name in found}
    if not earlier:
        return root
    for name, present in earlier.items():
        diagnostics.report(
            EXTENSION_EARLIER_NAME, ROOT / "extensionsUsed", got=name, present=present
        )
    changed = _renamed_owner(root, earlier)
    if isinstance(tables := changed.get("extensions"), dict):
        changed["extensions"] = {
            name: _renamed_shapes(table, earlier) for name, table in tables.items()
        }
    for key in _LISTS:
        listed = root.get(key)
        if isinstance(listed, list):
            names = [earlier.get(name, name) if isinstance(name, str) else name for name in listed]
            changed[key] = list(dict.fromkeys(names)) if _are_strings(names) else names
    if isinstance(nodes, list):
        changed["nodes"] = [
            _renamed_owner(node, earlier) if isinstance(node, dict) else node for node in nodes
        ]
    if "animations" in root:
        changed["animations"] = _renamed_pointers(root["animations"], earlier)
    return changed


def _names(value: Any) -> set[str]:
    return (
        {name for name in value if isinstance(name, str)}
        if isinstance(value, list | dict)
        else set()
    )


def _are_strings(names: list[Any]) -> bool:
    return all(isinstance(name, str) for name in names)


def _renamed_owner(owner: JsonObject, earlier: Mapping[str, str]) -> dict[str, Any]:
    extensions = owner.get("extensions")
    if not isinstance(extensions, dict) or extensions.keys().isdisjoint(earlier):
        return dict(owner)
    renamed = {
        present if (present := earlier.get(name, name)) not in extensions else name: value
        for name, value in extensions.items()
    }
    return {**owner, "extensions": renamed}


def _renamed_shapes(table: Any, earlier: Mapping[str, str]) -> Any:
    """A root extension with its extended shapes renamed: ``convexHull`` stands there."""
    shapes = table.get("shapes") if isinstance(table, dict) else None
    if not isinstance(shapes, list):
        return table
    renamed = [_renamed_owner(s, earlier) if isinstance(s, dict) else s for s in shapes]
    return {**table, "shapes": renamed}


def _renamed_pointers(value: Any, earlier: Mapping[str, str]) -> Any:
    """Any JSON with the names in its ``pointer`` members changed."""
    if isinstance(value, list):
        return [_renamed_pointers(item, earlier) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {key: _renamed_pointers(item, earlier) for key, item in value.items()}
    if isinstance(pointer := value.get("pointer"), str):
        changed["pointer"] = "/".join(earlier.get(part, part) for part in pointer.split("/"))
    return changed
