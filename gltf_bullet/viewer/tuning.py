"""Values of a node's physics that a viewer changes while the scene runs, takes back, and saves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from gltf_bullet.errors import GltfBulletError
from gltf_bullet.model import JointDrive
from gltf_bullet.model.pointers import members_of
from gltf_bullet.model.properties import DRIVE
from gltf_bullet.records import replace
from gltf_bullet.runtime.scene import Scene

_LEFT_OUT = ("linearVelocity", "angularVelocity")


class Field(Struct, frozen=True):
    """A number or a switch of the chosen node."""

    label: str
    value: float | bool
    set: Callable[[float | bool], object]
    """Sets it in the scene; raises ``ValueError`` or the like if the scene refuses."""


class Tuning:
    """Changes of one scene's values by hand, newest last."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._done: list[tuple[Field, float | bool]] = []
        self._written: set[Path] = set()

    def fields(self, node: int) -> tuple[Field, ...]:
        """Return what can be set of a node: its body, collider and material, and joint."""
        return tuple(self._fields(node))

    def _fields(self, node: int) -> Iterator[Field]:
        model = self._scene.core.model_now()
        body = self._scene.body_of(node)
        if body is not None and body.node in model.motions:
            yield from self._of_item("body", model.motions[body.node])
        collider = model.colliders.get(node)
        if collider is not None and collider.material is not None:
            yield from self._of_item("material", collider.material)
        if collider is not None and collider.shape is not None:
            yield from self._of_item("shape", collider.shape)
        joint = model.joints.get(node)
        if joint is None or node not in self._scene.joints:
            return
        yield from self._of_item("joint", joint)
        for limit in joint.description.limits:
            axes = "".join("xyz"[axis] for axis in limit.axes)
            yield from self._of_item(f"limit {limit.kind.value} {axes}", limit)
        for index, drive in enumerate(joint.description.drives):
            title = f"drive {drive.kind.value} {'xyz'[drive.axis]}"
            yield from self._of_drive(title, node, index, drive)

    def _of_item(self, title: str, item: Any) -> Iterator[Field]:
        for key, member in members_of(type(item)).items():
            if member.key != key or key in _LEFT_OUT:
                continue
            pointer = f"{item.pointer}/{key}"
            try:
                value = self._scene.get(pointer)
            except (KeyError, GltfBulletError):
                continue
            if isinstance(value, (bool, int, float)) and math.isfinite(value):
                yield Field(f"{title}: {key}", value, partial(self._scene.set, pointer))

    def _of_drive(self, title: str, node: int, index: int, drive: JointDrive) -> Iterator[Field]:
        for entry in DRIVE:
            value = entry.value_of(drive)
            if math.isfinite(value):
                change = partial(self._set_drive, node, index, entry.field)
                yield Field(f"{title}: {entry.key}", value, change)

    def _set_drive(self, node: int, index: int, name: str, value: float | bool) -> None:
        """Set a value of one joint's drive, not of others that share its description."""
        drive = self._scene.joints[node].drives[index]
        if not math.isfinite(value) or (value < 0.0 and not name.endswith("_target")):
            raise ValueError(f"{value:g} must be finite, and 0 or more")
        change: dict[str, Any] = {name: float(value)}
        self._scene.joint_controls.set_drive(node, index, replace(drive, **change))

    def set(self, field: Field, value: float | bool) -> str:
        """Set a field, at once; return why the scene refuses the value, or an empty text."""
        try:
            field.set(value)
        except (GltfBulletError, ValueError, TypeError, KeyError) as error:
            return f"{field.label}: {error.args[0] if error.args else error}"
        self._done.append((field, field.value))
        return ""

    @property
    def count(self) -> int:
        """Number of changes that can be taken back."""
        return len(self._done)

    def undo(self) -> str:
        """Take the last change back; return why that failed, or an empty text."""
        if not self._done:
            return "nothing to take back"
        field, before = self._done.pop()
        try:
            field.set(before)
        except (GltfBulletError, ValueError, TypeError, KeyError) as error:
            return f"{field.label}: {error.args[0] if error.args else error}"
        return ""

    def save(self, name: str, folder: Path) -> str:
        """Write the file with all values that were set into a folder; return what happened.

        Whoever sees the page may call this: it writes no file elsewhere, and over none that it did
        not write itself.
        """
        path = folder / name
        is_plain = Path(name).name == name and not name.startswith(".") and "\\" not in name
        if not is_plain or path.suffix.lower() not in (".gltf", ".glb"):
            return f"{name}: must be a plain name that ends in .gltf or .glb"
        if path.exists() and path not in self._written:
            return f"{name}: there is such a file already"
        try:
            self._scene.save(path)
        except (GltfBulletError, ValueError, OSError) as error:
            return f"{name}: {error}"
        self._written.add(path)
        return f"{path} written"
