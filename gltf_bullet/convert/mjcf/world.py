"""A compiled MuJoCo model as a description of a world.

All bodies attached to the world are one body, whose base is the world itself with all that is
fixed to it; each body with a free joint, and each one moved from outside (``mocap``), is a body of
its own. A body with several joints follows links without mass, one for each joint but the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gltf_bullet.convert.description import (
    BodyDescription,
    ColliderDescription,
    FrameDescription,
    JointKind,
    LinkDescription,
    LinkJointDescription,
    StatedSurface,
    VisualDescription,
    WorldDescription,
)
from gltf_bullet.convert.mjcf.actuators import read_actuators
from gltf_bullet.convert.mjcf.equalities import Equalities
from gltf_bullet.convert.mjcf.filters import Contacts, may_bodies_meet
from gltf_bullet.convert.mjcf.geoms import Geoms
from gltf_bullet.convert.mjcf.joints import describe_mjcf_joint, joint_motion
from gltf_bullet.convert.mjcf.losses import report_losses
from gltf_bullet.convert.mjcf.model import WORLD, JointType, MjcfModel, pose_of, vector
from gltf_bullet.convert.mjcf.rotors import inertia_with_rotors
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import CombineMode, PhysicsMaterial
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, Pose

_NO_FRICTION = 1
"""``condim`` of contacts without friction."""
_UNNAMED = "MuJoCo Model"


def describe_mjcf(
    model: MjcfModel, diagnostics: Diagnostics, *, key: int | None = None
) -> WorldDescription:
    """Describe a model at a keyframe, or in the state of ``mj_resetData``."""
    return _World(model, diagnostics, key).describe()


class _World:
    """Collects the bodies of the description."""

    def __init__(self, model: MjcfModel, diagnostics: Diagnostics, key: int | None) -> None:
        self._model = model
        self._diagnostics = diagnostics
        self._key = key
        self._positions = model.start(key)
        controls = {} if key is None else dict(enumerate(model["key_ctrl"][key].tolist()))
        self._equalities = Equalities(model)
        self._actuators = read_actuators(model, self._equalities, controls, self._positions)
        self._geoms = Geoms(model)
        self._contacts = Contacts(model, self._jointed())
        self._bodies: list[list[LinkDescription]] = []
        self.places: dict[int, tuple[int, int]] = {}
        """Indices of the body and link of the description, by MuJoCo's body."""

    def describe(self) -> WorldDescription:
        model = self._model
        for body in range(model.count("body")):
            if body == WORLD or model.is_free(body) or int(model["body_mocapid"][body]) >= 0:
                self._add_root(body)
            elif self._is_fixed(body):
                self._add_fixed(body)
            else:
                self._add_jointed(body)
        base = self._bodies[0][0]
        is_empty = len(self._bodies[0]) == 1 and not (base.colliders or base.visuals or base.frames)
        constraints = self._equalities.constraints(self.places)
        if (
            is_empty
            and len(self._bodies) > 1
            and not any(0 in (c.parent[0], c.child[0]) for c in constraints)
        ):
            del self._bodies[0]
            constraints = tuple(_moved_down(c) for c in constraints)
        report_losses(
            model, self._geoms, self._contacts, self._actuators, self._equalities, self._diagnostics
        )
        return WorldDescription(
            bodies=tuple(BodyDescription(name="", links=tuple(links)) for links in self._bodies),
            constraints=constraints,
            gravity=vector(model.option("gravity")),
            notes=self._notes(),
        )

    # --- bodies -------------------------------------------------------------------------------

    def _add_root(self, body: int) -> None:
        """Add a body without parent in the model: the world, a free body, or a ``mocap`` body."""
        model = self._model
        is_free = model.is_free(body)
        pose = IDENTITY_POSE
        if is_free:
            address = int(model["jnt_qposadr"][model.joints_of(body)[0]])
            pose = pose_of(
                self._positions[address : address + 3], self._positions[address + 3 : address + 7]
            )
        elif body != WORLD:
            pose = self._moved_pose(body)
        self.places[body] = (len(self._bodies), 0)
        self._bodies.append(
            [self._link(body, parent=-1, joint=None, parent_from_link=IDENTITY_POSE, pose=pose,
                        has_mass=is_free)]
        )  # fmt: skip

    def _moved_pose(self, body: int) -> Pose:
        """Initial pose of a ``mocap`` body."""
        model = self._model
        number = int(model["body_mocapid"][body])
        if self._key is not None:
            at, turn = model["key_mpos"][self._key], model["key_mquat"][self._key]
            return pose_of(at[3 * number : 3 * number + 3], turn[4 * number : 4 * number + 4])
        return pose_of(model["body_pos"][body], model["body_quat"][body])

    def _is_fixed(self, body: int) -> bool:
        return not self._model.joints_of(body)

    def _add_fixed(self, body: int) -> None:
        model = self._model
        parent_from_link = pose_of(model["body_pos"][body], model["body_quat"][body])
        joint = None
        if not model.is_static(body):
            joint = LinkJointDescription(
                kind=JointKind.FIXED, name=f"{model.name_of('body', body)} weld"
            )
        number, parent, pose = self._above(body)
        self.places[body] = (number, len(self._bodies[number]))
        self._bodies[number].append(
            self._link(body, parent=parent, joint=joint, parent_from_link=parent_from_link,
                       pose=pose @ parent_from_link, has_mass=joint is not None)
        )  # fmt: skip

    def _add_jointed(self, body: int) -> None:
        model = self._model
        number, parent, pose = self._above(body)
        links = self._bodies[number]
        before = pose_of(model["body_pos"][body], model["body_quat"][body])
        joints = model.joints_of(body)
        above = int(model["body_parentid"][body])
        zero = self._zeros()
        for joint in joints:
            is_last = joint == joints[-1]
            description = describe_mjcf_joint(
                model, joint, self._actuators, self._equalities.mimic(joint),
                enable_collision=len(joints) > 1 or may_bodies_meet(model, body, above),
            )  # fmt: skip
            at_zero = before @ joint_motion(model, joint, zero)
            pose = pose @ before @ joint_motion(model, joint, self._positions)
            if is_last:
                self.places[body] = (number, len(links))
                link = self._link(body, parent=parent, joint=description,
                                  parent_from_link=at_zero, pose=pose, has_mass=True)  # fmt: skip
            else:
                # The frame is on the axis, so that the engine needs no further link for it.
                anchor = Pose.from_translation(description.anchor)
                pose = pose @ anchor
                before = anchor.inverse()
                link = LinkDescription(
                    name=f"{description.name} link", parent=parent,
                    joint=replace(description, anchor=(0.0, 0.0, 0.0)),
                    parent_from_link=at_zero @ anchor, world_from_link=pose,
                )  # fmt: skip
            parent = len(links)
            links.append(link)

    def _zeros(self) -> Any:
        """Generalised positions 0, with identity quaternions for balls."""
        zero = self._positions * 0.0
        for joint in range(self._model.count("jnt")):
            address = int(self._model["jnt_qposadr"][joint])
            if self._model["jnt_type"][joint] == JointType.BALL:
                zero[address] = 1.0
        return zero

    def _above(self, body: int) -> tuple[int, int, Pose]:
        """Indices of the body and link that a body is attached to, and the pose of that link."""
        number, parent = self.places[int(self._model["body_parentid"][body])]
        return number, parent, self._bodies[number][parent].world_from_link

    def _link(
        self,
        body: int,
        *,
        parent: int,
        joint: LinkJointDescription | None,
        parent_from_link: Pose,
        pose: Pose,
        has_mass: bool,
    ) -> LinkDescription:
        model = self._model
        name = model.name_of("body", body)
        if body == WORLD:
            name = "ground" if model.name in ("", _UNNAMED) else model.name
        moments, link_from_inertial = inertia_with_rotors(model, body)
        return LinkDescription(
            name=name,
            parent=parent,
            joint=joint,
            parent_from_link=parent_from_link,
            world_from_link=pose,
            mass=float(model["body_mass"][body]) if has_mass else 0.0,
            inertia_diagonal=moments if has_mass else (0.0, 0.0, 0.0),
            link_from_inertial=link_from_inertial,
            gravity_factor=1.0 - float(model["body_gravcomp"][body]),
            is_free=model.is_free(body),
            is_kinematic=int(model["body_mocapid"][body]) >= 0,
            colliders=tuple(self._colliders(body)),
            visuals=tuple(self._visuals(body)),
            frames=tuple(self._frames(body)),
        )

    def _jointed(self) -> set[frozenset[int]]:
        """Pairs of bodies whose collisions one joint between them excludes in glTF, too."""
        model = self._model
        found = set()
        for body in range(1, model.count("body")):
            above = int(model["body_parentid"][body])
            is_one = len(model.joints_of(body)) <= 1 and not model.is_free(body)
            if is_one and not model.is_static(body) and not may_bodies_meet(model, body, above):
                found.add(frozenset({body, above}))
        return found

    # --- shapes and frames of bodies ----------------------------------------------------------

    def _colliders(self, body: int) -> list[ColliderDescription]:
        model = self._model
        found = []
        for geom in model.geoms_of(body):
            if not self._contacts.colliding[geom]:
                continue
            shape, scale = self._geoms.collider(geom)
            friction = float(model["geom_friction"][geom, 0])
            if int(model["geom_condim"][geom]) == _NO_FRICTION:
                friction = 0.0
            material = PhysicsMaterial(
                static_friction=friction,
                dynamic_friction=friction,
                friction_combine=CombineMode.MAXIMUM,
                restitution_combine=CombineMode.MAXIMUM,
            )
            own = self._contacts.filter(geom)
            stated = StatedSurface(scene=0, material=material, filter=own, outward=own)
            found.append(ColliderDescription(shape, self._geoms.pose(geom), stated, scale))
        return found

    def _visuals(self, body: int) -> list[VisualDescription]:
        return [v for v in map(self._geoms.visual, self._model.geoms_of(body)) if v is not None]

    def _frames(self, body: int) -> list[FrameDescription]:
        model = self._model
        found = []
        for kind, owner in (("site", "site_bodyid"), ("cam", "cam_bodyid")):
            for number in range(model.count(kind)):
                if int(model[owner][number]) != body:
                    continue
                pose = pose_of(model[f"{kind}_pos"][number], model[f"{kind}_quat"][number])
                view = 0.0
                if kind == "cam":
                    view = float(model["cam_fovy"][number]) * 0.017453292519943295
                found.append(FrameDescription(model.name_of(kind, number), pose, view))
        return found

    def _notes(self) -> Mapping[str, Any]:
        """Time step of the model, and the positions of its keyframes by joint."""
        model = self._model
        notes: dict[str, Any] = {"timestep": float(model.option("timestep"))}
        keys = []
        for key in range(model.count("key")):
            positions = model.start(key)
            joints: dict[str, Any] = {}
            for joint in range(model.count("jnt")):
                at = int(model["jnt_qposadr"][joint])
                width = {JointType.FREE: 7, JointType.BALL: 4}.get(
                    JointType(int(model["jnt_type"][joint])), 1
                )
                values = positions[at : at + width].tolist()
                joints[model.name_of("jnt", joint)] = values[0] if width == 1 else values
            keys.append({"name": model.name_of("key", key), "positions": joints})
        if keys:
            notes["keyframes"] = keys
        return notes


def _moved_down(constraint: Any) -> Any:
    """A constraint with the number of each body lowered by one, after the first body is removed."""
    ends = [
        (body - 1, link) if body >= 0 else (body, link)
        for body, link in (constraint.parent, constraint.child)
    ]
    return replace(constraint, parent=ends[0], child=ends[1])
