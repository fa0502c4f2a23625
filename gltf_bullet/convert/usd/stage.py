"""The prims of a composed stage with their places: instances and point instancers written out.

Matrices map columns and are in the units and axes of the stage; :class:`Units` makes SI of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.transforms import FloatArray, Pose, Vec3, split_linear

DEGREE: Final = math.pi / 180.0
TIME: Final = Usd.TimeCode.EarliestTime()
"""Values are those of the first time sample; without samples, the default."""
_MOST_PRIMS: Final = 200_000
"""Prims of a stage with its instances written out."""


class Units(Struct, frozen=True):
    """Factors from the units of the root layer to SI."""

    length: float
    """``metersPerUnit``."""
    mass: float
    """``kilogramsPerUnit``."""

    @property
    def torque(self) -> float:
        """Of torques and energies: mass length^2 / s^2."""
        return self.mass * self.length**2

    @property
    def force(self) -> float:
        """Of forces: mass length / s^2."""
        return self.mass * self.length


class Entry(Struct, eq=False):
    """A prim at one of its places."""

    prim: Any
    path: str
    """Its path; of an instance of a point instancer, that of the instancer and a number."""
    matrix: FloatArray
    """stage_from_prim, shape [4, 4]."""
    parent: Entry | None
    is_shown: bool = True
    moved: tuple[str, str] = ("", "")
    """Path of a prototype and what it is replaced by in paths of this instance."""
    name: str = ""
    body: Entry | None = msgspec_field(default=None)
    """The enabled rigid body at or above it."""

    def has(self, schema: Any) -> bool:
        """Return True if an API schema is applied."""
        return bool(self.prim.HasAPI(schema))

    def target(self, path: str) -> str:
        """The path of this place for a path of the stage that a relationship names."""
        prototype, place = self.moved
        if prototype and (path == prototype or path.startswith(prototype + "/")):
            return place + path[len(prototype) :]
        return path


class StagePrims:
    """All prims of a stage that are active and defined, in the order of the stage."""

    def __init__(self, stage: Any, losses: Losses) -> None:
        """Walk the stage; point instancers are written out."""
        self.stage = stage
        self._losses = losses
        self.units = Units(
            float(UsdGeom.GetStageMetersPerUnit(stage)),
            float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
        )
        self.up_axis = "y" if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else "z"
        self.entries: list[Entry] = list(self._walk())
        self.at: dict[str, Entry] = {entry.path: entry for entry in self.entries}
        for entry in self.entries:
            own = entry if is_body(entry.prim) else None
            entry.body = own or (entry.parent.body if entry.parent is not None else None)

    def _walk(self) -> Iterator[Entry]:
        inside = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
        root = self.stage.GetPseudoRoot()
        top = Entry(root, "", np.eye(4), None)
        waiting: list[tuple[Any, Entry, FloatArray | None, str, tuple[str, str]]] = [
            (prim, top, None, "", ("", "")) for prim in reversed(root.GetFilteredChildren(inside))
        ]
        count = 0
        while waiting:
            prim, parent, local, path, moved = waiting.pop()
            count += 1
            if count > _MOST_PRIMS:
                raise ValueError(f"it has more than {_MOST_PRIMS} prims and instances")
            entry = _entry(prim, parent, local, path or f"{parent.path}/{prim.GetName()}", moved)
            yield entry
            if prim.IsA(UsdGeom.PointInstancer):
                waiting += reversed(list(self._instances(entry)))
                continue
            waiting += [
                (child, entry, None, "", moved)
                for child in reversed(prim.GetFilteredChildren(inside))
            ]

    def _instances(
        self, entry: Entry
    ) -> Iterator[tuple[Any, Entry, FloatArray, str, tuple[str, str]]]:
        """The prims of a point instancer, each with its transform in the instancer."""
        instancer = UsdGeom.PointInstancer(entry.prim)
        prototypes = instancer.GetPrototypesRel().GetForwardedTargets()
        kinds = instancer.GetProtoIndicesAttr().Get(TIME) or ()
        at = Usd.TimeCode(0.0)
        places = instancer.ComputeInstanceTransformsAtTime(
            at, at, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        shown = instancer.ComputeMaskAtTime(at) or [True] * len(kinds)
        if len(places) != len(kinds):
            self._losses.lost("a point instancer whose arrays differ in length", entry.path)
            return
        for number, (kind, place) in enumerate(zip(kinds, places, strict=True)):
            prim = (
                self.stage.GetPrimAtPath(prototypes[kind]) if 0 <= kind < len(prototypes) else None
            )
            if not shown[number] or not prim:
                continue
            path = f"{entry.path}[{number}]"
            yield prim, entry, np.array(place).T, path, (str(prototypes[kind]), path)


def is_body(prim: Any) -> bool:
    """Return True for a rigid body that is enabled."""
    if not prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return False
    return UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get() is not False


def _entry(
    prim: Any, parent: Entry, local: FloatArray | None, path: str, moved: tuple[str, str]
) -> Entry:
    matrix, xform = parent.matrix, UsdGeom.Xformable(prim)
    if local is not None:
        matrix = matrix @ local
    elif xform:
        resets = xform.GetResetXformStack()
        own = np.array(xform.GetLocalTransformation(TIME)).T
        matrix = own if resets else matrix @ own
    if not np.isfinite(matrix).all():
        raise ValueError(f"the transform of {path} is not finite")
    imageable = UsdGeom.Imageable(prim)
    shown = parent.is_shown
    if imageable:
        purpose = imageable.ComputePurpose()
        hidden = imageable.GetVisibilityAttr().Get(TIME) == UsdGeom.Tokens.invisible
        shown = shown and not hidden and purpose in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return Entry(prim, path, matrix, parent, shown, moved)


def give_names(entries: list[Entry]) -> None:
    """Names of prims, with as much of the path as tells them from others of that name."""
    waiting: list[tuple[Entry, int]] = [(entry, 1) for entry in entries]
    while waiting:
        groups: dict[str, list[tuple[Entry, int]]] = {}
        for entry, depth in waiting:
            entry.name = "/".join(entry.path.split("/")[-depth:])
            groups.setdefault(entry.name, []).append((entry, depth))
        waiting = [
            (entry, depth + 1)
            for group in groups.values()
            if len(group) > 1
            for entry, depth in group
            if depth < entry.path.count("/")
        ]


def pose_and_scale(matrix: FloatArray, length: float) -> tuple[Pose, Vec3, float]:
    """Rigid part [m], scale and shear (largest cosine between axes) of a matrix of the stage."""
    rotation, scale, shear = split_linear(matrix[:3, :3])
    x, y, z, w = (float(v) for v in rotation)
    return Pose((x, y, z, w), vec3(matrix[:3, 3] * length)), vec3(scale), float(shear)


def vec3(values: Any) -> Vec3:
    """Three numbers as floats."""
    x, y, z = (float(v) for v in values)
    return x, y, z


def path_string(path: Any) -> str:
    """The path of a prim that a relationship names."""
    return str(Sdf.Path(path).GetPrimPath())
