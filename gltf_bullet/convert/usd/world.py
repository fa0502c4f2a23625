"""A stage as a description of a world: each rigid body and each static collider a body of its own.

Joints are stated between those bodies, as files of scenes have them. Several joints between the
same two bodies are in series, with links without mass between them, where the plain reading would
lock them: so the converters of MuJoCo's models mean them.

The file is long since a prim is a body, a part of one or a static collider by what others say of
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field
from pxr import UsdGeom, UsdPhysics, UsdShade

from gltf_bullet.convert.description import (
    BodyDescription,
    ColliderDescription,
    LinkDescription,
    PlaneShape,
    StatedJoint,
    StatedSurface,
    VisualDescription,
    WorldDescription,
)
from gltf_bullet.convert.issues import USD_NO_UNITS, USD_UNITS_DIFFER, USD_ZERO_MASS
from gltf_bullet.convert.physics import GYRATION, MASSLESS
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.usd.actuators import add_actuators
from gltf_bullet.convert.usd.filters import ColliderPlace, collision_filters
from gltf_bullet.convert.usd.joints import UsdJoint, read_joint
from gltf_bullet.convert.usd.looks import Looks
from gltf_bullet.convert.usd.losses import Losses, listed
from gltf_bullet.convert.usd.masses import inertial_of, states_zero_mass
from gltf_bullet.convert.usd.rest import report_rest
from gltf_bullet.convert.usd.shapes import PlacedShape, Shapes
from gltf_bullet.convert.usd.stage import (
    DEGREE,
    Entry,
    StagePrims,
    give_names,
    pose_and_scale,
    vec3,
)
from gltf_bullet.model import (
    CollisionFilter,
    CombineMode,
    DofKind,
    Joint,
    JointCoupling,
    PhysicsMaterial,
)
from gltf_bullet.model.mass_properties import Moments
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, Vec3, matrices_from_quats

_FRICTION: Final = 0.5
"""Friction of colliders without a material; UsdPhysics has none, PhysX and Newton take this."""
_EARTH: Final = 9.81
_COMBINE: Final = {
    "average": CombineMode.AVERAGE,
    "min": CombineMode.MINIMUM,
    "max": CombineMode.MAXIMUM,
    "multiply": CombineMode.MULTIPLY,
}
_ALIGNED: Final = 1.0 - 1e-6
"""Least cosine between axes that are taken for the same."""


def describe_stage(stage: Any, folders: RobotFolders, losses: Losses) -> WorldDescription:
    """Describe a composed stage.

    Raises:
        ValueError: Its numbers are not finite, or it has no end.
    """
    return _World(StagePrims(stage, losses), folders, losses).describe()


class _Part(Struct, eq=False):
    """A body of the description while it is collected."""

    entry: Entry | None
    """Its prim; ``None`` for what is drawn and does not move."""
    is_rigid_body: bool
    pose: Pose
    """world_from_link."""
    link_from_stage: FloatArray
    """In units of the stage on both sides, shape [4, 4]."""
    name: str = ""
    shapes: list[tuple[Entry, PlacedShape]] = msgspec_field(default_factory=list)
    visuals: list[VisualDescription] = msgspec_field(default_factory=list)


class _World:
    """Collects bodies, colliders and joints of a stage."""

    def __init__(self, prims: StagePrims, folders: RobotFolders, losses: Losses) -> None:
        self._prims = prims
        self._units = prims.units
        self._losses = losses
        self._shapes = Shapes(prims.units.length, losses)
        self._looks = Looks(self._shapes, folders, losses)
        self._parts: list[_Part] = []
        self._part_of: dict[str, int] = {}
        self._zero_mass: dict[str, float] = {}

    def describe(self) -> WorldDescription:
        self._report_units()
        self._collect_parts()
        joints = self._joints()
        self._name(joints)
        chains = self._chains(joints)
        chained = [
            self._ends_of(group[0])
            for group in chains
            if not any(joint.enable_collision for joint in group)
        ]
        filters = iter(
            collision_filters(self._prims, list(self._collider_places()), joints, chained)
        )
        bodies = [self._body(part, filters) for part in self._parts]
        stated, links = self._stated_joints(joints, chains, bodies)
        bodies += [BodyDescription(name="", links=(link,)) for link in links]
        if self._zero_mass:
            self._losses.add(
                USD_ZERO_MASS, names=listed(list(self._zero_mass)), count=len(self._zero_mass),
                mass=sum(self._zero_mass.values()),
            )  # fmt: skip
        report_rest(self._prims, self._losses)
        return WorldDescription(
            bodies=tuple(bodies),
            joints=tuple(stated),
            gravity=self._gravity(),
            up_axis=self._prims.up_axis,
        )

    # --- units ----------------------------------------------------------------------------------

    def _report_units(self) -> None:
        """Nobody converts the units of a referenced layer; the root layer's count."""
        stage, own = self._prims.stage, self._units
        if not stage.HasAuthoredMetadata("metersPerUnit"):
            self._losses.add(USD_NO_UNITS, length=own.length)
        root = stage.GetRootLayer()
        for layer in stage.GetUsedLayers():
            if layer == root or layer.anonymous:
                continue
            info = layer.pseudoRoot
            for key, used, word in (
                ("metersPerUnit", own.length, "as long"),
                ("kilogramsPerUnit", own.mass, "as heavy"),
            ):
                stated = info.GetInfo(key) if info.HasInfo(key) else None
                if stated and abs(stated - used) > 1e-6 * used:
                    self._losses.add(
                        USD_UNITS_DIFFER, layer=layer.GetDisplayName(), key=key, got=stated,
                        used=used, error=f"{used / stated:.6g} times {word}",
                    )  # fmt: skip
            up = info.GetInfo("upAxis") if info.HasInfo("upAxis") else None
            if up and str(up).lower() != self._prims.up_axis:
                self._losses.add(
                    USD_UNITS_DIFFER, layer=layer.GetDisplayName(), key="upAxis", got=str(up),
                    used=self._prims.up_axis.upper(), error="turned by 90 degrees",
                )  # fmt: skip

    def _gravity(self) -> Vec3 | None:
        scenes = [e for e in self._prims.entries if e.prim.IsA(UsdPhysics.Scene)]
        for other in scenes[1:]:
            self._losses.lost("a second physics scene", other.path, "its bodies are in the first")
        if not scenes:
            return None
        scene = UsdPhysics.Scene(scenes[0].prim)
        if any(
            scenes[0].prim.GetAttribute(name).Get() is False
            for name in ("newton:gravityEnabled", "mjc:flag:gravity")
        ):
            return 0.0, 0.0, 0.0
        strength = scene.GetGravityMagnitudeAttr().Get()
        strength = -math.inf if strength is None else float(strength)
        size = _EARTH if strength < 0.0 else strength * self._units.length
        direction = np.array(scene.GetGravityDirectionAttr().Get() or (0.0, 0.0, 0.0))
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            direction = np.array([0.0, -1.0, 0.0] if self._prims.up_axis == "y" else [0, 0, -1.0])
            length = 1.0
        return vec3(direction * (size / length))

    # --- bodies -----------------------------------------------------------------------------------

    def _collect_parts(self) -> None:
        scenery: _Part | None = None
        for entry in self._prims.entries:
            part = self._part(entry)
            if _collides(entry):
                if part is None:
                    part = self._add(entry, is_rigid_body=False)
                placed = self._shapes.collider(entry, part.link_from_stage)
                if placed is None:
                    self._losses.lost(
                        f"the collider of a {entry.prim.GetTypeName() or 'prim without type'}",
                        entry.path,
                    )
                elif isinstance(placed.shape, PlaneShape) and part.is_rigid_body:
                    self._losses.lost("a plane on a body that moves", entry.path)
                else:
                    part.shapes.append((entry, placed))
            if not entry.is_shown or not entry.prim.IsA(UsdGeom.Gprim):
                continue
            if part is None:
                if scenery is None:
                    root = self._prims.stage.GetDefaultPrim()
                    scenery = _Part(None, False, IDENTITY_POSE, np.eye(4))
                    scenery.name = root.GetName() if root else "scenery"
                part = scenery
            part.visuals += self._looks.visuals(entry, part.link_from_stage)
        if scenery is not None and scenery.visuals:
            self._parts.append(scenery)

    def _part(self, entry: Entry) -> _Part | None:
        """The part that a prim belongs to; ``None`` if it stands still."""
        if entry.body is None:
            return None
        number = self._part_of.get(entry.body.path)
        return self._add(entry.body, is_rigid_body=True) if number is None else self._parts[number]

    def _add(self, entry: Entry, *, is_rigid_body: bool) -> _Part:
        pose, _, shear = pose_and_scale(entry.matrix, self._units.length)
        if shear > 1e-5 and is_rigid_body:
            self._losses.lost("the shear of a body's frame", entry.path, "its shapes keep it")
        unscaled = Pose(pose.rotation_xyzw, vec3(entry.matrix[:3, 3]))
        part = _Part(entry, is_rigid_body, pose, unscaled.inverse().matrix())
        self._part_of[entry.path] = len(self._parts)
        self._parts.append(part)
        return part

    def _name(self, joints: Iterable[UsdJoint]) -> None:
        give_names([part.entry for part in self._parts if part.entry is not None])
        give_names([joint.entry for joint in joints])
        for part in self._parts:
            if part.entry is not None:
                part.name = part.entry.name

    def _collider_places(self) -> Iterable[ColliderPlace]:
        for part in self._parts:
            owner = part.entry.path if part.entry is not None and part.is_rigid_body else ""
            for entry, _ in part.shapes:
                yield ColliderPlace(entry, owner)

    def _body(self, part: _Part, filters: Any) -> BodyDescription:
        colliders = tuple(
            self._collider(entry, placed, next(filters)) for entry, placed in part.shapes
        )
        link = LinkDescription(
            name=part.name,
            world_from_link=part.pose,
            colliders=colliders,
            visuals=tuple(part.visuals),
        )
        if part.entry is not None and part.is_rigid_body:
            link = self._moving(link, part.entry, part.shapes)
        return BodyDescription(name="", links=(link,))

    def _moving(
        self, link: LinkDescription, entry: Entry, shapes: Sequence[tuple[Entry, PlacedShape]]
    ) -> LinkDescription:
        body = UsdPhysics.RigidBodyAPI(entry.prim)
        if body.GetStartsAsleepAttr().Get():
            self._losses.lost("startsAsleep", entry.path, "it starts awake")
        # Velocities are in the space of the prim's transform, which is its parent's.
        above = np.eye(4) if entry.parent is None else entry.parent.matrix
        turn, _, _ = pose_and_scale(above, 1.0)
        linear = above[:3, :3] @ np.array(body.GetVelocityAttr().Get() or (0.0, 0.0, 0.0))
        spin = np.array(body.GetAngularVelocityAttr().Get() or (0.0, 0.0, 0.0)) * DEGREE
        link = replace(
            link,
            linear_velocity=vec3(linear * self._units.length),
            angular_velocity=turn.rotate(vec3(spin)),
        )
        prim = entry.prim
        if bool(prim.GetAttribute("physxRigidBody:disableGravity").Get()):
            link = replace(link, gravity_factor=0.0)
        compensated = prim.GetAttribute("mjc:gravcomp").Get()
        if compensated:
            link = replace(link, gravity_factor=1.0 - float(compensated))
        for word in ("linear", "angular"):
            damping = float(prim.GetAttribute(f"physxRigidBody:{word}Damping").Get() or 0.0)
            if damping > 0.0:
                self._losses.lost(f"{word} damping {damping:.3g} 1/s", entry.path)
        if body.GetKinematicEnabledAttr().Get():
            return replace(link, is_kinematic=True)
        volumes: dict[str, Moments] = {}
        for collider, placed in shapes:
            path = str(collider.prim.GetPath())
            volumes[path] = volumes.get(path, Moments.zero()) + placed.volume()
        found = inertial_of(entry, volumes, self._units)
        for owner in (entry, *(collider for collider, _ in shapes)):
            if states_zero_mass(owner.prim):
                self._zero_mass[owner.path] = found.mass
        if found.mass == 0.0:
            return replace(link, is_free=True)
        return replace(
            link,
            mass=found.mass,
            inertia_diagonal=found.diagonal,
            link_from_inertial=found.link_from_inertial,
        )

    # --- colliders --------------------------------------------------------------------------------

    def _collider(
        self, entry: Entry, placed: PlacedShape, own: CollisionFilter | None
    ) -> ColliderDescription:
        stated = StatedSurface(scene=0, material=self._material(entry), filter=own, outward=own)
        return ColliderDescription(
            placed.shape,
            placed.link_from_shape,
            stated,
            placed.scale,
            is_trigger="PhysxTriggerAPI" in _schemas(entry.prim),
        )

    def _material(self, entry: Entry) -> PhysicsMaterial:
        bound, _ = UsdShade.MaterialBindingAPI(entry.prim).ComputeBoundMaterial("physics")
        prim = bound.GetPrim() if bound else None
        if prim is None or not prim.HasAPI(UsdPhysics.MaterialAPI):
            return PhysicsMaterial(static_friction=_FRICTION, dynamic_friction=_FRICTION)
        material = UsdPhysics.MaterialAPI(prim)
        static, dynamic, bounce = (
            max(float(attribute.Get() or 0.0), 0.0)
            for attribute in (
                material.GetStaticFrictionAttr(),
                material.GetDynamicFrictionAttr(),
                material.GetRestitutionAttr(),
            )
        )
        if bounce > 1.0:
            self._losses.lost(f"the restitution {bounce:.3g}", str(prim.GetPath()), "1 is taken")
        friction, restitution = (
            _COMBINE.get(str(prim.GetAttribute(f"physxMaterial:{word}CombineMode").Get()))
            for word in ("friction", "restitution")
        )
        stiffness = float(prim.GetAttribute("physxMaterial:compliantContactStiffness").Get() or 0.0)
        if stiffness > 0.0:
            soft = f"contact stiffness {stiffness * self._units.mass:.3g} N/m"
            self._losses.lost(soft, str(prim.GetPath()))
        return PhysicsMaterial(
            static_friction=static,
            dynamic_friction=dynamic,
            restitution=min(bounce, 1.0),
            friction_combine=friction,
            restitution_combine=restitution,
        )

    # --- joints -----------------------------------------------------------------------------------

    def _joints(self) -> list[UsdJoint]:
        scenes = [e.prim for e in self._prims.entries if e.prim.IsA(UsdPhysics.Scene)]
        stated = [str(s.GetAttribute("mjc:compiler:angle").Get() or "degree") for s in scenes]
        angle = 1.0 if stated and stated[0] == "radian" else DEGREE
        found = []
        for entry in self._prims.entries:
            if not entry.prim.IsA(UsdPhysics.Joint):
                continue
            joint = read_joint(entry, self._units, self._losses, angle)
            if joint is None:
                continue
            missing = [end for end in joint.ends if end and end not in self._prims.at]
            if missing:
                self._losses.lost(f"a joint to {missing[0]}, which is no prim", entry.path)
            elif len({self._index(end) for end in joint.ends}) == 1:
                self._losses.lost("a joint within one body, or within the world", entry.path)
            else:
                found.append(joint)
        add_actuators(self._prims, found, self._losses)
        return found

    def _index(self, path: str) -> int:
        """The number of the part that a prim belongs to; -1: the world."""
        entry = self._prims.at.get(path)
        if entry is None:
            return -1
        owner = entry if entry.body is None else entry.body
        return self._part_of.get(owner.path, -1)

    def _ends_of(self, joint: UsdJoint) -> tuple[str, str]:
        """Paths of the parts that a joint holds."""
        names = []
        for end in joint.ends:
            number = self._index(end)
            entry = self._parts[number].entry if number >= 0 else None
            names.append("" if entry is None else entry.path)
        return names[0], names[1]

    def _chains(self, joints: Sequence[UsdJoint]) -> list[list[UsdJoint]]:
        """Groups of joints that are in series between the same two bodies."""
        groups: dict[tuple[str, str], list[UsdJoint]] = {}
        for joint in joints:
            groups.setdefault(self._ends_of(joint), []).append(joint)
        return [
            group
            for group in groups.values()
            if len(group) > 1
            and all(joint.single is not None for joint in group)
            and not self._is_one_axis(group)
        ]

    def _is_one_axis(self, group: Sequence[UsdJoint]) -> bool:
        """Return True for joints that move together: the hinges of a door, parallel rails."""
        kinds = {joint.single[0] for joint in group if joint.single is not None}
        if len(kinds) > 1:
            return False
        frames = [self._frame(joint, 1) for joint in group]
        axes = [
            matrices_from_quats(np.array(frame.rotation_xyzw))[:, joint.single[1]]
            for frame, joint in zip(frames, group, strict=True)
            if joint.single is not None
        ]
        if any(abs(float(axis @ axes[0])) < _ALIGNED for axis in axes):
            return False
        if DofKind.LINEAR in kinds:
            return True
        offsets = [np.subtract(f.translation, frames[0].translation) for f in frames]
        return all(float(np.linalg.norm(np.cross(axes[0], o))) < 1e-5 for o in offsets)

    def _frame(self, joint: UsdJoint, end: int) -> Pose:
        """world_from_joint at one of its ends."""
        position, rotation = joint.places[end]
        entry = self._prims.at.get(joint.ends[end])
        matrix = np.eye(4) if entry is None else entry.matrix
        place = matrix[:3, :3] @ np.array(position) + matrix[:3, 3]
        pose, _, _ = pose_and_scale(matrix, self._units.length)
        turn = pose @ Pose(rotation, (0.0, 0.0, 0.0))
        return Pose(turn.rotation_xyzw, vec3(place * self._units.length))

    def _stated_joints(
        self,
        joints: Sequence[UsdJoint],
        chains: Sequence[Sequence[UsdJoint]],
        bodies: Sequence[BodyDescription],
    ) -> tuple[list[StatedJoint], list[LinkDescription]]:
        """Joints of the description, and the links without mass between those in series."""
        chain_of = {id(joint): chain for chain in chains for joint in chain}
        after: dict[int, int] = {}
        found: list[StatedJoint] = []
        links: list[LinkDescription] = []
        names = {joint.entry.path: joint.entry.name for joint in joints}
        for joint in joints:
            ends = [self._index(end) for end in joint.ends]
            frames = [self._frame(joint, end) for end in (0, 1)]
            poses = [self._parts[end].pose if end >= 0 else IDENTITY_POSE for end in ends]
            chain = chain_of.get(id(joint))
            if chain is not None:
                if joint is not chain[0]:
                    # The links between are where the last body is.
                    ends[0], frames[0], poses[0] = after[id(chain)], frames[1], poses[1]
                if joint is not chain[-1]:
                    after[id(chain)] = ends[1] = len(bodies) + len(links)
                    last = bodies[self._index(joint.ends[1])].links[0]
                    links.append(_link_between(joint, last))
            places = [(end, 0) if end >= 0 else (-1, -1) for end in ends]
            coupling = None
            if joint.leader in names:
                coupling = JointCoupling(
                    leader=-1, multiplier=joint.multiplier, offset=joint.offset
                )
            found.append(
                StatedJoint(
                    name=joint.entry.name,
                    joint=Joint(
                        node=-1, connected_node=None, description=joint.description,
                        enable_collision=joint.enable_collision, coupling=coupling,
                        max_velocity=joint.max_velocity,
                    ),
                    parent=places[0],
                    child=places[1],
                    parent_from_frame=poses[0].inverse() @ frames[0],
                    child_from_frame=poses[1].inverse() @ frames[1],
                    leader=names.get(joint.leader, ""),
                    notes=joint.notes,
                )
            )  # fmt: skip
        return found, links


def _link_between(joint: UsdJoint, last: LinkDescription) -> LinkDescription:
    """A link next to nothing in mass, where the last body of a series is."""
    mass = max(MASSLESS * last.mass, 1e-9)
    moment = mass * GYRATION**2
    return LinkDescription(
        name=f"{joint.entry.name} link",
        world_from_link=last.world_from_link,
        mass=mass,
        inertia_diagonal=(moment, moment, moment),
        link_from_inertial=Pose((0.0, 0.0, 0.0, 1.0), last.link_from_inertial.translation),
        linear_velocity=last.linear_velocity,
        angular_velocity=last.angular_velocity,
    )


def _collides(entry: Entry) -> bool:
    if not entry.has(UsdPhysics.CollisionAPI):
        return False
    return UsdPhysics.CollisionAPI(entry.prim).GetCollisionEnabledAttr().Get() is not False


def _schemas(prim: Any) -> list[str]:
    """Applied schemas, also those that this OpenUSD does not know."""
    listed_ = prim.GetMetadata("apiSchemas")
    return list(listed_.GetAddedOrExplicitItems()) if listed_ else []
