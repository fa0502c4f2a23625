"""Joints of the model as joints of UsdPhysics, with the articulations that they make."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct
from pxr import Gf, Sdf, UsdGeom, UsdPhysics

from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.dialects.joints import EXTRAS
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import (
    DofKind,
    DriveMode,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    PhysicsScene,
)
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import (
    FloatArray,
    matrices_from_quats,
    quats_from_matrices,
    split_linear,
)

_DEGREES: Final = 180.0 / math.pi
_AXES: Final = ("X", "Y", "Z")
_ALL: Final = (0, 1, 2)
_Dof = tuple[DofKind, int]
_FLOAT: Final = Sdf.ValueTypeNames.Float


class JointEnd(Struct, frozen=True):
    """The prim that a joint holds."""

    path: str
    """Empty for the world."""
    world_from_prim: FloatArray
    """Shape [4, 4]."""
    body: int
    """Its motion node; -1 without one."""


def write_joints(
    stage: Any,
    child: Callable[[str, str], str],
    physics: PhysicsScene,
    end_of: Callable[[int | None], JointEnd],
    frames: NodeFrames,
    masses: Mapping[int, float],
    document: Document,
    losses: Losses,
) -> None:
    """Write all joints.

    Args:
        stage: The stage.
        child: Gives a free path below another.
        physics: The model.
        end_of: Gives the prim that an attachment node belongs to.
        frames: The nodes in the world.
        masses: Masses of dynamic bodies by their nodes [kg].
        document: The file, for ``extras``.
        losses: Receives what OpenUSD lacks.
    """
    if not physics.joints:
        return
    scope = str(UsdGeom.Scope.Define(stage, child("/World", "joints")).GetPath())
    ends: dict[int, tuple[JointEnd, JointEnd]] = {}
    for node, joint in physics.joints.items():
        pair = end_of(node), end_of(joint.connected_node)
        if pair[0].path == pair[1].path:
            name = document.tree.names[node] or f"node {node}"
            losses.lost("a joint within one body, or within the world", name)
        else:
            ends[node] = pair
    trees = _Trees(ends, masses)
    held = Counter(frozenset((a.path, b.path)) for a, b in ends.values())
    prims: dict[int, Any] = {}
    for node, (a, b) in ends.items():
        joint = physics.joints[node]
        path = child(scope, document.tree.names[node] or f"joint_{node}")
        writer = _JointWriter(stage, path, joint.description, losses)
        is_alone = held[frozenset((a.path, b.path))] == 1
        prim, turn = writer.define(is_alone=is_alone, is_reversed=node in trees.reversed)
        api = UsdPhysics.Joint(prim)
        _attach(api, joint, (a, b), frames, turn)
        if np.linalg.det(frames.linear_maps()[node]) < 0.0:
            losses.lost("the mirrored axes of a joint", path, "they are written unmirrored")
        if joint.enable_collision:
            api.CreateCollisionEnabledAttr(True)
        if node not in trees.inside:
            api.CreateExcludeFromArticulationAttr(True)
        _keep_extras(prim, joint, document, losses)
        prims[node] = prim
    for node, prim in prims.items():
        _follow(prim, physics.joints[node], prims)
    for node in trees.root_joints:
        # OpenUSD takes a joint for the root of an articulation if it holds to the world itself.
        a, b = ends[node]
        root = prims[node] if not (a.path and b.path) else stage.GetPrimAtPath(
            a.path if a.body in masses else b.path
        )  # fmt: skip
        UsdPhysics.ArticulationRootAPI.Apply(root)
    for end in trees.root_bodies:
        UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(end.path))


def _attach(
    api: Any,
    joint: Joint,
    ends: tuple[JointEnd, JointEnd],
    frames: NodeFrames,
    turn: FloatArray | None,
) -> None:
    """Write what a joint holds and where; ``turn``: rotation of its frames if its ends change."""
    nodes = (joint.node, joint.node if joint.connected_node is None else joint.connected_node)
    held = list(zip(ends, nodes, strict=True))
    for number, (end, node) in enumerate(held if turn is None else reversed(held)):
        matrix = end.world_from_prim
        place = solved(matrix, np.append(frames.world_from_node[node][:3, 3], 1.0))[:3]
        own = matrices_from_quats(split_linear(matrix[:3, :3])[0])
        local = own.T @ matrices_from_quats(frames.rotations_xyzw[node])
        x, y, z, w = quats_from_matrices(local if turn is None else local @ turn).tolist()
        if end.path:
            (api.CreateBody1Rel if number else api.CreateBody0Rel)().SetTargets([end.path])
        position, rotation = (
            (api.CreateLocalPos1Attr, api.CreateLocalRot1Attr)
            if number
            else (api.CreateLocalPos0Attr, api.CreateLocalRot0Attr)
        )
        position(Gf.Vec3f(*place.tolist()))
        rotation(Gf.Quatf(w, x, y, z))


def _keep_extras(prim: Any, joint: Joint, document: Document, losses: Losses) -> None:
    """Properties of robots: the velocity limit, and the armature."""
    path = str(prim.GetPath())
    is_single = prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint)
    if joint.max_velocity > 0.0 and is_single:
        unit = _DEGREES if prim.IsA(UsdPhysics.RevoluteJoint) else 1.0
        prim.AddAppliedSchema("PhysxJointAPI")
        _set(prim, "physxJoint:maxJointVelocity", joint.max_velocity * unit)
    elif joint.max_velocity > 0.0:
        losses.lost("the velocity limit of a joint", path)
    if joint.friction > 0.0:
        losses.lost(f"the friction {joint.friction:.3g}, which is not simulated here,", path)
    extras = document.objects("nodes")[joint.node].get("extras")
    own = extras.get(EXTRAS) if isinstance(extras, dict) else None
    for key, value in own.items() if isinstance(own, dict) else ():
        if key == "armature" and isinstance(value, (int, float)):
            prim.AddAppliedSchema("NewtonJointAPI")
            _set(prim, "newton:armature", float(value))
        elif key not in ("maxVelocity", "maxForce", "friction", "fixedBase", "mimic"):
            losses.lost(f"the note {key!r} in extras", path)


def _follow(prim: Any, joint: Joint, prims: Mapping[int, Any]) -> None:
    coupling = joint.coupling
    leader = None if coupling is None else prims.get(coupling.leader)
    if coupling is None or leader is None:
        return
    unit = 1.0 if prim.IsA(UsdPhysics.PrismaticJoint) else _DEGREES
    prim.AddAppliedSchema("NewtonMimicAPI")
    prim.CreateRelationship("newton:mimicJoint").SetTargets([leader.GetPath()])
    _set(prim, "newton:mimicCoef1", coupling.multiplier)
    _set(prim, "newton:mimicCoef0", coupling.offset * unit)


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of a linear system, the smallest one where a scale is 0."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix) @ right, dtype=np.float64)


# --- One joint ------------------------------------------------------------------------------------


class _JointWriter:
    """Writes the limits and drives of one joint."""

    def __init__(
        self, stage: Any, path: str, description: JointDescription, losses: Losses
    ) -> None:
        self._stage, self._path, self._losses = stage, path, losses
        self._description = description
        self._ranges: dict[_Dof, JointLimit] = {}
        self._springs: list[JointDrive] = []
        self._cone: JointLimit | None = None
        self._distance: JointLimit | None = None

    def define(self, *, is_alone: bool, is_reversed: bool) -> tuple[Any, FloatArray | None]:
        """Define the prim.

        Args:
            is_alone: No other joint holds the same two prims.
            is_reversed: The child of a tree of joints is to be the second prim, and is the first.

        Returns:
            The prim, and the rotation of its frames if the ends change places.
        """
        for limit in self._description.limits:
            self._take(limit)
        locked = {dof for dof, limit in self._ranges.items() if _is_lock(limit)}
        drives = [*self._description.drives, *self._springs]
        drives = [d for d in drives if (d.kind, d.axis) not in locked]
        free = [(kind, axis) for kind in DofKind for axis in _ALL if (kind, axis) not in locked]
        kinds = {kind for kind, _ in free}
        only_bounds = not self._ranges.keys() - locked and not drives
        whole = self._cone is None and self._distance is None
        same = np.eye(3) if is_reversed else None
        if not free:
            return UsdPhysics.FixedJoint.Define(self._stage, self._path).GetPrim(), same
        if len(free) == 1 and whole and is_alone:
            # About its axis turned around, the first end is where the second was.
            turn = np.diag(-np.eye(3)[(free[0][1] + 1) % 3] * 2.0 + 1.0) @ -np.eye(3)
            return self._single(free[0], drives), turn if is_reversed else None
        if kinds == {DofKind.ANGULAR} and len(free) == 3 and only_bounds:
            return self._ball(), same
        if len(free) == 6 and only_bounds and self._distance is not None and self._cone is None:
            return self._tether(self._distance), same
        if is_reversed and len(kinds) == 1:
            # Turns the other way round have the opposite angles, and so have slides.
            self._ranges = {dof: _opposite(limit) for dof, limit in self._ranges.items()}
            opposite = [
                replace(d, position_target=-d.position_target, velocity_target=-d.velocity_target)
                for d in drives
            ]
            return self._generic(opposite), same
        return self._generic(drives), None

    # --- limits ---------------------------------------------------------------------------------

    def _take(self, limit: JointLimit) -> None:
        if _is_zero(limit) and math.isfinite(limit.stiffness):
            # A soft limit at a point is a spring, which is a drive.
            self._springs += [
                JointDrive(
                    kind=limit.kind, axis=axis, mode=DriveMode.FORCE,
                    stiffness=limit.stiffness, damping=limit.damping,
                )
                for axis in limit.axes
            ]  # fmt: skip
        elif len(limit.axes) == 1 or _is_zero(limit):
            for axis in limit.axes:
                self._narrow((limit.kind, axis), limit)
        elif limit.axes == _ALL and limit.kind is DofKind.LINEAR and self._distance is None:
            self._distance = limit
        elif len(limit.axes) == 2 and self._may_be_cone(limit):
            self._cone = limit
        else:
            self._each_axis(limit)

    def _may_be_cone(self, limit: JointLimit) -> bool:
        """A cone of a spherical joint stands alone: no drive, no other limit of a rotation."""
        others = [o for o in self._description.limits if o is not limit]
        held = {a for o in others if o.kind is DofKind.LINEAR and _is_zero(o) for a in o.axes}
        return (
            limit.kind is DofKind.ANGULAR
            and limit.minimum <= 0.0
            and math.isinf(limit.stiffness)
            and held == {0, 1, 2}
            and not any(o.kind is DofKind.ANGULAR for o in others)
            and not self._description.drives
        )

    def _each_axis(self, limit: JointLimit) -> None:
        word = "cone" if limit.kind is DofKind.ANGULAR else "distance"
        more = 100.0 * (math.sqrt(len(limit.axes)) - 1.0)
        self._losses.changed(
            f"a {word} of {len(limit.axes)} axes beside other limits or drives", self._path,
            "a limit for each of its axes", f"up to {more:.0f} % more between the axes",
        )  # fmt: skip
        if limit.minimum > 0.0:
            self._losses.lost(f"the least {word} {limit.minimum:.3g}", self._path)
        for axis in limit.axes:
            single = JointLimit(
                kind=limit.kind, axes=(axis,), minimum=-limit.maximum, maximum=limit.maximum,
                stiffness=limit.stiffness, damping=limit.damping,
            )  # fmt: skip
            self._narrow((limit.kind, axis), single)

    def _narrow(self, dof: _Dof, limit: JointLimit) -> None:
        known = self._ranges.get(dof)
        if known is not None and not (_is_lock(known) or _is_lock(limit)):
            self._losses.changed(
                "a second limit of an axis", self._path, "the part that both allow is written",
                "the softness of one of them",
            )  # fmt: skip
            limit = JointLimit(
                kind=limit.kind, axes=(dof[1],),
                minimum=max(limit.minimum, known.minimum),
                maximum=min(limit.maximum, known.maximum),
                stiffness=max(limit.stiffness, known.stiffness), damping=limit.damping,
            )  # fmt: skip
        if known is None or not _is_lock(known):
            self._ranges[dof] = limit

    # --- kinds ----------------------------------------------------------------------------------

    def _single(self, dof: _Dof, drives: Iterable[JointDrive]) -> Any:
        kind, axis = dof
        schema = UsdPhysics.RevoluteJoint if kind is DofKind.ANGULAR else UsdPhysics.PrismaticJoint
        joint = schema.Define(self._stage, self._path)
        joint.CreateAxisAttr(_AXES[axis])
        prim, name = joint.GetPrim(), "angular" if kind is DofKind.ANGULAR else "linear"
        limit = self._ranges.get(dof)
        if limit is not None:
            if math.isfinite(limit.minimum):
                joint.CreateLowerLimitAttr(limit.minimum * _unit(kind))
            if math.isfinite(limit.maximum):
                joint.CreateUpperLimitAttr(limit.maximum * _unit(kind))
            self._soften(prim, name, limit)
        self._drive(prim, name, kind, list(drives))
        return prim

    def _ball(self) -> Any:
        joint = UsdPhysics.SphericalJoint.Define(self._stage, self._path)
        cone = self._cone
        axis = 0 if cone is None else next(k for k in _ALL if k not in cone.axes)
        joint.CreateAxisAttr(_AXES[axis])
        if cone is not None:
            joint.CreateConeAngle0LimitAttr(cone.maximum * _DEGREES)
            joint.CreateConeAngle1LimitAttr(cone.maximum * _DEGREES)
        return joint.GetPrim()

    def _tether(self, limit: JointLimit) -> Any:
        joint = UsdPhysics.DistanceJoint.Define(self._stage, self._path)
        if limit.minimum > 0.0:
            joint.CreateMinDistanceAttr(limit.minimum)
        if math.isfinite(limit.maximum):
            joint.CreateMaxDistanceAttr(limit.maximum)
        self._soften(joint.GetPrim(), "distance", limit)
        return joint.GetPrim()

    def _generic(self, drives: list[JointDrive]) -> Any:
        prim = UsdPhysics.Joint.Define(self._stage, self._path).GetPrim()
        cone, self._cone = self._cone, None
        if cone is not None:
            self._each_axis(cone)
        for (kind, axis), limit in self._ranges.items():
            name = f"{'rot' if kind is DofKind.ANGULAR else 'trans'}{_AXES[axis]}"
            api = UsdPhysics.LimitAPI.Apply(prim, name)
            if _is_lock(limit):
                api.CreateLowAttr(1.0)
                api.CreateHighAttr(-1.0)
                continue
            self._bound(api, limit)
            self._soften(prim, name, limit)
        if self._distance is not None:
            self._bound(UsdPhysics.LimitAPI.Apply(prim, "distance"), self._distance)
            self._soften(prim, "distance", self._distance)
        for kind, axis in dict.fromkeys((d.kind, d.axis) for d in drives):
            name = f"{'rot' if kind is DofKind.ANGULAR else 'trans'}{_AXES[axis]}"
            own = [d for d in drives if (d.kind, d.axis) == (kind, axis)]
            self._drive(prim, name, kind, own)
        return prim

    @staticmethod
    def _bound(api: Any, limit: JointLimit) -> None:
        if math.isfinite(limit.minimum):
            api.CreateLowAttr(limit.minimum * _unit(limit.kind))
        if math.isfinite(limit.maximum):
            api.CreateHighAttr(limit.maximum * _unit(limit.kind))

    def _soften(self, prim: Any, name: str, limit: JointLimit) -> None:
        if math.isinf(limit.stiffness):
            return
        prim.AddAppliedSchema(f"PhysxLimitAPI:{name}")
        _set(prim, f"physxLimit:{name}:stiffness", limit.stiffness / _unit(limit.kind))
        _set(prim, f"physxLimit:{name}:damping", limit.damping / _unit(limit.kind))

    # --- drives ---------------------------------------------------------------------------------

    def _drive(self, prim: Any, name: str, kind: DofKind, drives: list[JointDrive]) -> None:
        if not drives:
            return
        drive = drives[0]
        for other in drives[1:]:
            drive = self._sum(drive, other)
        unit = _unit(kind)
        api = UsdPhysics.DriveAPI.Apply(prim, name)
        api.CreateTypeAttr(drive.mode.value)
        api.CreateStiffnessAttr(drive.stiffness / unit)
        api.CreateDampingAttr(drive.damping / unit)
        api.CreateTargetPositionAttr(drive.position_target * unit)
        api.CreateTargetVelocityAttr(drive.velocity_target * unit)
        if math.isfinite(drive.max_force):
            api.CreateMaxForceAttr(drive.max_force)

    def _sum(self, one: JointDrive, other: JointDrive) -> JointDrive:
        """Two drives of an axis as one: springs add up, bounds of forces do not."""
        if one.mode is not other.mode:
            self._losses.lost("a second drive of an axis, of another mode,", self._path)
            return one
        if math.isfinite(min(one.max_force, other.max_force)):
            self._losses.changed(
                "a second drive of an axis", self._path, "one drive that is both",
                "the bounds of their forces, which count together",
            )  # fmt: skip
        stiffness, damping = one.stiffness + other.stiffness, one.damping + other.damping
        at = one.stiffness * one.position_target + other.stiffness * other.position_target
        speed = one.damping * one.velocity_target + other.damping * other.velocity_target
        return JointDrive(
            kind=one.kind, axis=one.axis, mode=one.mode,
            max_force=one.max_force + other.max_force,
            stiffness=stiffness, damping=damping,
            position_target=at / stiffness if stiffness > 0.0 else 0.0,
            velocity_target=speed / damping if damping > 0.0 else 0.0,
        )  # fmt: skip


def _is_zero(limit: JointLimit) -> bool:
    return limit.minimum == limit.maximum == 0.0


def _is_lock(limit: JointLimit) -> bool:
    return _is_zero(limit) and math.isinf(limit.stiffness)


def _unit(kind: DofKind) -> float:
    """Units of the stage for one of the model: degrees per radian, or metres."""
    return _DEGREES if kind is DofKind.ANGULAR else 1.0


def _set(prim: Any, name: str, value: float) -> None:
    prim.CreateAttribute(name, _FLOAT).Set(value)


def _opposite(limit: JointLimit) -> JointLimit:
    return replace(limit, minimum=-limit.maximum, maximum=-limit.minimum)


# --- Articulations --------------------------------------------------------------------------------


class _Trees:
    """Trees of joints: their roots, the joints in them, and those whose child is their first end.

    A root is a joint that holds a body to something that does not move, else the heaviest body.
    Readers want the parent of a joint as its first prim.
    """

    def __init__(
        self, ends: Mapping[int, tuple[JointEnd, JointEnd]], masses: Mapping[int, float]
    ) -> None:
        """Span the trees; ``masses``: of the bodies that move freely, by their nodes [kg]."""
        self.inside: set[int] = set()
        self.reversed: set[int] = set()
        self.root_joints: list[int] = []
        self.root_bodies: list[JointEnd] = []
        self._masses, self._seen = masses, set[int]()
        self._at: dict[int, list[tuple[int, int, JointEnd]]] = {}
        for joint, pair in ends.items():
            for k, end in enumerate(pair):
                body = end.body if end.body in masses else -1
                self._at.setdefault(body, []).append((joint, k, pair[1 - k]))
        for joint, k, other in self._at.get(-1, ()):
            if other.body in masses and other.body not in self._seen:
                self.root_joints.append(joint)
                self._grow(self._enter(joint, k, other))
        for body in sorted(masses, key=lambda node: -masses[node]):
            if body in self._at and body not in self._seen:
                joint, k, _ = self._at[body][0]
                self.root_bodies.append(ends[joint][k])
                self._seen.add(body)
                self._grow(body)

    def _enter(self, joint: int, near: int, far: JointEnd) -> int:
        self.inside.add(joint)
        if near == 1:
            self.reversed.add(joint)
        self._seen.add(far.body)
        return far.body

    def _grow(self, body: int) -> None:
        waiting = deque([body])
        while waiting:
            for joint, near, far in self._at.get(waiting.popleft(), ()):
                if far.body in self._masses and far.body not in self._seen:
                    waiting.append(self._enter(joint, near, far))
