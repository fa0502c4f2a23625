"""Joints of UsdPhysics: limits, drives and springs, in SI and radians.

Angles, and what is per angle, are in degrees in a stage. The frame of a joint is that of glTF: the
position is that of ``body1`` relative to ``body0``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field
from pxr import UsdPhysics

from gltf_bullet.convert.mjcf.joints import CREEP
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.convert.usd.stage import DEGREE, TIME, Entry, Units, path_string
from gltf_bullet.model import DofKind, DriveMode, JointDescription, JointDrive, JointLimit
from gltf_bullet.transforms import Quat, Vec3

_AXES: Final = {"X": 0, "Y": 1, "Z": 2}
_DOFS: Final[dict[str, tuple[DofKind, int]]] = {
    **{f"trans{name}": (DofKind.LINEAR, k) for name, k in _AXES.items()},
    **{f"rot{name}": (DofKind.ANGULAR, k) for name, k in _AXES.items()},
}
_ALL: Final = (0, 1, 2)


class UsdJoint(Struct):
    """A joint of a stage."""

    entry: Entry
    ends: tuple[str, str]
    """Paths of the prims that it holds; empty for the world."""
    places: tuple[tuple[Vec3, Quat], tuple[Vec3, Quat]]
    """Position [units of the stage] and rotation of its frame in each of the prims."""
    description: JointDescription
    single: tuple[DofKind, int] | None
    """The only degree of freedom of a revolute or prismatic joint."""
    enable_collision: bool
    in_articulation: bool = True
    leader: str = ""
    """Path of the joint that it follows."""
    multiplier: float = 1.0
    offset: float = 0.0
    max_velocity: float = 0.0
    notes: dict[str, Any] = msgspec_field(default_factory=dict)


def read_joint(entry: Entry, units: Units, losses: Losses, mjc_angle: float) -> UsdJoint | None:
    """Read a joint; ``None`` if it is disabled or holds a prim to itself.

    Args:
        entry: Its prim.
        units: Units of the stage.
        losses: Receives what glTF lacks.
        mjc_angle: The unit of angles in attributes of MuJoCo [rad].
    """
    prim = entry.prim
    joint = UsdPhysics.Joint(prim)
    if joint.GetJointEnabledAttr().Get() is False:
        losses.lost("a disabled joint", entry.path)
        return None
    ends = tuple(_target(rel, entry) for rel in (joint.GetBody0Rel(), joint.GetBody1Rel()))
    if ends[0] == ends[1]:
        losses.lost("a joint between a prim and itself", entry.path)
        return None
    places = (
        (_vec(joint.GetLocalPos0Attr().Get()), _quat(joint.GetLocalRot0Attr().Get())),
        (_vec(joint.GetLocalPos1Attr().Get()), _quat(joint.GetLocalRot1Attr().Get())),
    )
    for name, attribute in (
        ("break force", joint.GetBreakForceAttr()), ("break torque", joint.GetBreakTorqueAttr()),
    ):  # fmt: skip
        most = attribute.Get()
        if most is not None and math.isfinite(most) and most < 1e30:
            factor, unit = (units.force, "N") if name == "break force" else (units.torque, "N m")
            losses.lost(f"the {name} {most * factor:.4g} {unit}", entry.path, "the joint holds")
    reader = _Reader(entry, units, losses, mjc_angle)
    limits, single = reader.limits()
    return UsdJoint(
        entry=entry,
        ends=(ends[0], ends[1]),
        places=places,
        description=JointDescription(limits=tuple(limits), drives=tuple(reader.drives(single))),
        single=single,
        enable_collision=bool(joint.GetCollisionEnabledAttr().Get()),
        in_articulation=not joint.GetExcludeFromArticulationAttr().Get(),
        **reader.rest(single),
    )


class _Reader:
    """Reads one joint."""

    def __init__(self, entry: Entry, units: Units, losses: Losses, mjc_angle: float) -> None:
        self._entry = entry
        self._prim = entry.prim
        self._units = units
        self._losses = losses
        self._mjc_angle = mjc_angle

    def limits(self) -> tuple[list[JointLimit], tuple[DofKind, int] | None]:
        """The limits of the joint's kind, and its only degree of freedom."""
        prim = self._prim
        if prim.IsA(UsdPhysics.RevoluteJoint):
            return self._hinge(DofKind.ANGULAR)
        if prim.IsA(UsdPhysics.PrismaticJoint):
            return self._hinge(DofKind.LINEAR)
        if prim.IsA(UsdPhysics.FixedJoint):
            return [_locked(DofKind.LINEAR, _ALL), _locked(DofKind.ANGULAR, _ALL)], None
        if prim.IsA(UsdPhysics.SphericalJoint):
            return [_locked(DofKind.LINEAR, _ALL), *self._cone()], None
        if prim.IsA(UsdPhysics.DistanceJoint):
            return list(self._distance()), None
        if prim.GetTypeName() != "PhysicsJoint":
            self._losses.lost(
                f"the rule of a {prim.GetTypeName()}", self._entry.path, "it is a free joint"
            )
        return list(self._generic()), None

    def _axis(self) -> int:
        return _AXES[str(self._prim.GetAttribute("physics:axis").Get() or "X")]

    def _number(self, name: str, default: float) -> float:
        value = self._prim.GetAttribute(name).Get(TIME)
        return float(value) if isinstance(value, (int, float)) else default

    def _hinge(self, kind: DofKind) -> tuple[list[JointLimit], tuple[DofKind, int]]:
        axis = self._axis()
        others = tuple(k for k in _ALL if k != axis)
        turns, slides = (others, _ALL) if kind is DofKind.ANGULAR else (_ALL, others)
        limits = [_locked(DofKind.LINEAR, slides), _locked(DofKind.ANGULAR, turns)]
        unit = self._unit(kind)
        low = self._number("physics:lowerLimit", -math.inf) * unit
        high = self._number("physics:upperLimit", math.inf) * unit
        name = "angular" if kind is DofKind.ANGULAR else "linear"
        limits += self._range(kind, (axis,), low, high, name)
        return limits, (kind, axis)

    def _unit(self, kind: DofKind) -> float:
        return DEGREE if kind is DofKind.ANGULAR else self._units.length

    def _effort(self, kind: DofKind) -> float:
        return self._units.torque if kind is DofKind.ANGULAR else self._units.force

    def _range(
        self, kind: DofKind, axes: tuple[int, ...], low: float, high: float, name: str
    ) -> Iterator[JointLimit]:
        """A limit with its spring, if there is one; nothing for a range without bounds."""
        # Float32 has no numbers above 3.4e38, which some exporters write for "none".
        low = -math.inf if low < -1e30 else low
        high = math.inf if high > 1e30 else high
        if low > high:
            yield _locked(kind, axes)
            return
        if low == -math.inf and high == math.inf:
            return
        per = self._effort(kind) / self._unit(kind)
        stiffness, damping = (
            next(
                (
                    value * per
                    for key in (f"newton:limit{word}", f"physxLimit:{name}:{word.lower()}")
                    if math.isfinite(value := self._number(key, 0.0)) and value > 0.0
                ),
                0.0,
            )
            for word in ("Stiffness", "Damping")
        )
        yield JointLimit(
            kind=kind, axes=axes, minimum=low, maximum=high,
            stiffness=stiffness if stiffness > 0.0 else math.inf,
            damping=damping if stiffness > 0.0 else 0.0,
        )  # fmt: skip

    def _cone(self) -> Iterator[JointLimit]:
        axis = self._axis()
        # The first angle is the swing towards the next axis, so about the one after it.
        about = ((axis + 2) % 3, (axis + 1) % 3)
        angles = [self._number(f"physics:coneAngle{k}Limit", -1.0) * DEGREE for k in (0, 1)]
        if angles[0] >= 0.0 and angles[0] == angles[1]:
            if angles[0] < math.pi:
                axes = tuple(sorted(about))
                yield JointLimit(kind=DofKind.ANGULAR, axes=axes, maximum=angles[0])
            return
        if min(angles) >= 0.0:
            self._losses.changed(
                "an elliptic cone of {:.4g} and {:.4g} degrees".format(*np.degrees(angles)),
                self._entry.path, "a limit for each of the two axes",
                "up to 41 % more swing on the diagonal",  # the corner of a square about an ellipse
            )  # fmt: skip
        for angle, k in zip(angles, about, strict=True):
            if 0.0 <= angle < math.pi:
                yield JointLimit(kind=DofKind.ANGULAR, axes=(k,), minimum=-angle, maximum=angle)

    def _distance(self) -> Iterator[JointLimit]:
        low, high = (
            self._number(f"physics:{name}Distance", -1.0) * self._units.length
            for name in ("min", "max")
        )
        if low >= 0.0 or high >= 0.0:
            yield from self._range(
                DofKind.LINEAR, _ALL, max(low, 0.0), high if high >= 0.0 else math.inf, "distance"
            )

    def _generic(self) -> Iterator[JointLimit]:
        locked: dict[DofKind, list[int]] = {DofKind.LINEAR: [], DofKind.ANGULAR: []}
        ranges: list[JointLimit] = []
        for name, (kind, axis) in _DOFS.items():
            if not self._prim.HasAPI(UsdPhysics.LimitAPI, name):
                continue
            unit = self._unit(kind)
            low = self._number(f"limit:{name}:physics:low", -math.inf) * unit
            high = self._number(f"limit:{name}:physics:high", math.inf) * unit
            if low > high or low == high == 0.0:
                locked[kind].append(axis)
            else:
                ranges += self._range(kind, (axis,), low, high, name)
        if self._prim.HasAPI(UsdPhysics.LimitAPI, "distance"):
            unit = self._units.length
            low = self._number("limit:distance:physics:low", 0.0) * unit
            high = self._number("limit:distance:physics:high", math.inf) * unit
            ranges += self._range(DofKind.LINEAR, _ALL, max(low, 0.0), high, "distance")
        yield from (_locked(kind, tuple(axes)) for kind, axes in locked.items() if axes)
        yield from ranges

    # --- forces ---------------------------------------------------------------------------------

    def drives(self, single: tuple[DofKind, int] | None) -> Iterator[JointDrive]:
        """Drives, and passive springs, dampers and friction."""
        named = dict(_DOFS)
        if single is not None:
            named["angular" if single[0] is DofKind.ANGULAR else "linear"] = single
        for name, (kind, axis) in named.items():
            if self._prim.HasAPI(UsdPhysics.DriveAPI, name):
                yield self._drive(name, kind, axis)
        yield from self._passive(single)

    def _drive(self, name: str, kind: DofKind, axis: int) -> JointDrive:
        prefix = f"drive:{name}:physics:"
        is_force = str(self._prim.GetAttribute(prefix + "type").Get() or "force") == "force"
        unit, effort = self._unit(kind), self._effort(kind)
        # An acceleration is in the unit of the axis: no mass, and no inertia in units of length.
        per = effort / unit if is_force else 1.0
        if not is_force and kind is DofKind.ANGULAR:
            per = 1.0 / DEGREE
        most = self._number(prefix + "maxForce", math.inf)
        return JointDrive(
            kind=kind, axis=axis,
            mode=DriveMode.FORCE if is_force else DriveMode.ACCELERATION,
            max_force=most * effort if most < 1e30 else math.inf,
            stiffness=self._number(prefix + "stiffness", 0.0) * per,
            damping=self._number(prefix + "damping", 0.0) * per,
            position_target=self._number(prefix + "targetPosition", 0.0) * unit,
            velocity_target=self._number(prefix + "targetVelocity", 0.0) * unit,
        )  # fmt: skip

    def _passive(self, single: tuple[DofKind, int] | None) -> Iterator[JointDrive]:
        prim = self._prim
        free: list[tuple[DofKind, int]] = [] if single is None else [single]
        if prim.IsA(UsdPhysics.SphericalJoint):
            free = [(DofKind.ANGULAR, axis) for axis in _ALL]
        for kind, axis in free:
            effort = self._effort(kind)
            damping = self._number("newton:damping", 0.0) * effort / self._unit(kind)
            # Gains of MuJoCo are in SI units: per radian.
            damping = damping or self._number("mjc:damping", 0.0)
            stiffness = self._number("mjc:stiffness", 0.0)
            rest = self._number("mjc:springref", 0.0) - self._number("mjc:ref", 0.0)
            angle = self._mjc_angle if kind is DofKind.ANGULAR else 1.0
            if stiffness > 0.0 or damping > 0.0:
                yield JointDrive(
                    kind=kind, axis=axis, mode=DriveMode.FORCE, stiffness=max(stiffness, 0.0),
                    damping=max(damping, 0.0),
                    position_target=rest * angle if stiffness > 0.0 else 0.0,
                )  # fmt: skip
            friction = self._number("newton:friction", 0.0) * effort
            friction = friction or self._number("mjc:frictionloss", 0.0)
            if friction > 0.0:
                self._losses.changed(
                    "friction of a joint", self._entry.path, "a damper that is bounded by it",
                    f"a creep of {CREEP:g} rad/s or m/s under it",
                )  # fmt: skip
                yield JointDrive(
                    kind=kind, axis=axis, mode=DriveMode.FORCE,
                    damping=friction / CREEP, max_force=friction,
                )  # fmt: skip

    # --- the rest -------------------------------------------------------------------------------

    def rest(self, single: tuple[DofKind, int] | None) -> dict[str, Any]:
        """Mimic rule, velocity limit and notes of the joint."""
        found: dict[str, Any] = {"notes": {}}
        kind = DofKind.ANGULAR if single is None else single[0]
        for key in ("newton:armature", "physxJoint:armature", "mjc:armature"):
            if (value := self._number(key, 0.0)) > 0.0:
                inertia = self._units.mass
                if kind is DofKind.ANGULAR:
                    inertia = self._units.torque
                found["notes"]["armature"] = value * (1.0 if key.startswith("mjc") else inertia)
                self._losses.lost(
                    f"armature of {found['notes']['armature']:.3g} kg m2 or kg", self._entry.path,
                    "it is kept in extras",
                )  # fmt: skip
                break
        for key in ("newton:velocityLimit", "physxJoint:maxJointVelocity"):
            value = self._number(key, 0.0)
            if 0.0 < value < 1e6 and single is not None:
                found["max_velocity"] = value * self._unit(kind)
                break
        if (value := self._number("mjc:ref", 0.0)) != 0.0:
            self._losses.lost(f"the position {value:g} (mjc:ref) of the joint's start",
                              self._entry.path, "it starts at 0")  # fmt: skip
        found |= self._mimic(kind)
        return found

    def _mimic(self, kind: DofKind) -> dict[str, Any]:
        prim, unit = self._prim, self._unit(kind)
        leader = prim.GetRelationship("newton:mimicJoint")
        if leader and leader.GetTargets():
            if prim.GetAttribute("newton:mimicEnabled").Get() is False:
                return {}
            return {
                "leader": self._entry.target(path_string(leader.GetTargets()[0])),
                "multiplier": self._number("newton:mimicCoef1", 1.0),
                "offset": self._number("newton:mimicCoef0", 0.0) * unit,
            }
        for name in _DOFS:
            leader = prim.GetRelationship(f"physxMimicJoint:{name}:referenceJoint")
            if leader and leader.GetTargets():
                return {
                    "leader": self._entry.target(path_string(leader.GetTargets()[0])),
                    "multiplier": -self._number(f"physxMimicJoint:{name}:gearing", 1.0),
                    "offset": -self._number(f"physxMimicJoint:{name}:offset", 0.0) * unit,
                }
        return {}


def _locked(kind: DofKind, axes: tuple[int, ...]) -> JointLimit:
    return JointLimit(kind=kind, axes=axes, minimum=0.0, maximum=0.0)


def _target(relationship: Any, entry: Entry) -> str:
    targets = relationship.GetTargets()
    return entry.target(path_string(targets[0])) if targets else ""


def _vec(value: Any) -> Vec3:
    if value is None:
        return 0.0, 0.0, 0.0
    x, y, z = (float(v) for v in value)
    return x, y, z


def _quat(value: Any) -> Quat:
    """A quaternion of length 1; (0, 0, 0, 0), which means "not stated", is no rotation."""
    if value is None:
        return 0.0, 0.0, 0.0, 1.0
    x, y, z = (float(v) for v in value.GetImaginary())
    w = float(value.GetReal())
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not 0.0 < length < math.inf:
        return 0.0, 0.0, 0.0, 1.0
    return x / length, y / length, z / length, w / length
