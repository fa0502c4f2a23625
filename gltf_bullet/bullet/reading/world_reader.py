"""A PyBullet world, whoever filled it, as a :class:`WorldDescription`. Nothing in it is changed."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pybullet

from gltf_bullet.bullet.reading.bullet_file import BulletFile
from gltf_bullet.bullet.reading.issues import (
    CONSTRAINT_NOT_IN_GLTF,
    LINKS_UNREADABLE,
    MOTOR_UNREADABLE,
    SOFT_BODY_NOT_IN_GLTF,
)
from gltf_bullet.bullet.reading.link_shapes import LinkShapes
from gltf_bullet.bullet.reading.maximal_bodies import MaximalBodies, contact_spring
from gltf_bullet.bullet.reading.saved_bodies import SavedBodies
from gltf_bullet.convert.description import (
    BodyDescription,
    ConstraintDescription,
    ConstraintKind,
    JointKind,
    LinkDescription,
    LinkJointDescription,
    MimicRule,
    WorldDescription,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

__all__ = ["SelfCollision", "read_bodies", "read_world"]

SelfCollision = bool | Collection[int] | None
"""Whether links of one body meet: of all bodies, of some, or of those that touch themselves now."""

_JOINT_KIND = {
    pybullet.JOINT_REVOLUTE: JointKind.REVOLUTE,
    pybullet.JOINT_PRISMATIC: JointKind.PRISMATIC,
    pybullet.JOINT_SPHERICAL: JointKind.SPHERICAL,
    pybullet.JOINT_PLANAR: JointKind.PLANAR,
    pybullet.JOINT_FIXED: JointKind.FIXED,
}
_CONSTRAINT_KIND = {
    pybullet.JOINT_POINT2POINT: ConstraintKind.POINT,
    pybullet.JOINT_FIXED: ConstraintKind.FIXED,
    pybullet.JOINT_PRISMATIC: ConstraintKind.PRISMATIC,
}
_NO_LIMIT_FORCE = 1e9
"""[N] A constraint that may pull as hard as this is taken for a rigid one."""


def read_world(
    client_id: int,
    body_ids: Sequence[int] | None,
    diagnostics: Diagnostics,
    *,
    self_collision: SelfCollision = None,
    mimic: Mapping[str, MimicRule] | None = None,
    with_gravity: bool = True,
) -> WorldDescription:
    """Everything that PyBullet tells about its bodies and constraints.

    Args:
        client_id: A connected world.
        body_ids: Which bodies; ``None``: all. Constraints between them, and to the world, follow.
        diagnostics: Receives what is lost.
        self_collision: PyBullet does not tell it; ``None``: bodies whose links touch one another.
        mimic: Rules by joint name, which PyBullet does not read.
        with_gravity: Whether the description states the world's gravity.

    Raises:
        EngineError: There is no such body.
    """
    ids = _existing(client_id, body_ids)
    file = _saved_world(client_id)
    saved = SavedBodies(client_id, file, read_bodies(client_id, None))
    if saved.nameless_count and body_ids is None:
        diagnostics.report(LINKS_UNREADABLE, ROOT, count=saved.nameless_count)
    bodies: list[BodyDescription] = []
    index_of: dict[int, int] = {}
    shapes = LinkShapes(client_id, file, diagnostics)
    reader = _BodyReader(client_id, saved, shapes, diagnostics, mimic or {})
    for body in ids:
        if _is_soft(client_id, body):
            diagnostics.report(SOFT_BODY_NOT_IN_GLTF, ROOT, body=body)
            continue
        index_of[body] = len(bodies)
        bodies.append(reader.read(body, _meets_itself(client_id, body, self_collision)))
    values = pybullet.getPhysicsEngineParameters(physicsClientId=client_id)
    x, y, z = (float(values[f"gravityAcceleration{axis}"]) for axis in "XYZ")
    return WorldDescription(
        bodies=tuple(bodies),
        constraints=tuple(_constraints(client_id, bodies, index_of, diagnostics)),
        gravity=(x, y, z) if with_gravity and (x or y or z) else None,
    )


def read_bodies(client_id: int, body_ids: Sequence[int] | None) -> list[int]:
    """The bodies that :func:`read_world` describes, in its order.

    Raises:
        EngineError: There is no such body.
    """
    return [body for body in _existing(client_id, body_ids) if not _is_soft(client_id, body)]


def _existing(client_id: int, body_ids: Sequence[int] | None) -> list[int]:
    ids = [
        int(pybullet.getBodyUniqueId(k, physicsClientId=client_id))
        for k in range(pybullet.getNumBodies(physicsClientId=client_id))
    ]
    if body_ids is None:
        return ids
    unknown = sorted(set(body_ids) - set(ids))
    if unknown:
        raise EngineError(f"there is no body {unknown[0]} in physics client {client_id}")
    return list(body_ids)


def _is_soft(client_id: int, body: int) -> bool:
    # 1: rigid, 2: multibody, 3: soft
    info = pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)
    return info[10] not in (1, 2)


def _meets_itself(client_id: int, body: int, wanted: SelfCollision) -> bool:
    if wanted is None:
        return bool(pybullet.getContactPoints(body, body, physicsClientId=client_id))
    return wanted if isinstance(wanted, bool) else body in wanted


def _saved_world(client_id: int) -> BulletFile:
    with tempfile.TemporaryDirectory(prefix="gltf_bullet_") as folder:
        path = Path(folder) / "world.bullet"
        pybullet.saveBullet(str(path), physicsClientId=client_id)
        return BulletFile(path.read_bytes())


class _BodyReader:
    """Reads bodies one by one; each record of the saved world belongs to one of them."""

    def __init__(
        self,
        client_id: int,
        saved: SavedBodies,
        shapes: LinkShapes,
        diagnostics: Diagnostics,
        mimic: Mapping[str, MimicRule],
    ) -> None:
        self._client = client_id
        self._diagnostics = diagnostics
        self._mimic = mimic
        self._saved = saved
        self._shapes = shapes
        self._maximal = MaximalBodies(client_id, shapes, diagnostics)

    def read(self, body: int, self_collision: bool) -> BodyDescription:
        base_name, body_name = pybullet.getBodyInfo(body, physicsClientId=self._client)[:2]
        rigid = self._saved.rigid(body)
        if rigid is not None:
            # PyBullet calls the body what it calls the base of a multibody (measured).
            name = _text(base_name) or _text(body_name)
            link = self._maximal.read(body, rigid, name, f"link {name!r} of body {body}")
            return BodyDescription(name="", links=(link,))
        colliders = self._saved.colliders(body)
        visuals = pybullet.getVisualShapeData(
            body, pybullet.VISUAL_SHAPE_DATA_TEXTURE_UNIQUE_IDS, physicsClientId=self._client
        )
        links: list[LinkDescription] = []
        count = pybullet.getNumJoints(body, physicsClientId=self._client)
        names = [_text(base_name)] + [
            _text(pybullet.getJointInfo(body, k, physicsClientId=self._client)[12])
            for k in range(count)
        ]
        for k, name in enumerate(names):
            index = k - 1
            info = pybullet.getDynamicsInfo(body, index, physicsClientId=self._client)
            link_from_inertial = Pose(info[4], info[3])
            world_from_inertial, linear, angular = self._motion(body, index)
            saved = colliders.get(index)
            shown = f"link {name!r} of body {_text(body_name) or body}"
            solids = self._shapes.colliders(body, index, link_from_inertial, saved, shown)
            common = LinkDescription(
                name=name,
                world_from_link=world_from_inertial @ link_from_inertial.inverse(),
                mass=info[0],
                inertia_diagonal=info[2],
                link_from_inertial=link_from_inertial,
                linear_velocity=linear,
                angular_velocity=angular,
                friction=info[1],
                restitution=info[5],
                rolling_friction=info[6],
                spinning_friction=info[7],
                contact_spring=contact_spring(info[9], info[8]) if info[9] >= 0.0 else None,
                group=1 if saved is None else int(saved["m_collisionFilterGroup"]),
                mask=-1 if saved is None else int(saved["m_collisionFilterMask"]),
                colliders=solids,
                visuals=self._shapes.visuals([v for v in visuals if v[1] == index], solids, shown),
            )
            links.append(common if k == 0 else self._jointed(body, index, common, links))
        return BodyDescription(
            name=_text(body_name), links=tuple(links), self_collision=self_collision
        )

    def _motion(self, body: int, link: int) -> tuple[Pose, Vec3, Vec3]:
        """World from inertial frame, and both velocities of its origin."""
        if link < 0:
            position, rotation = pybullet.getBasePositionAndOrientation(body, self._client)
            return Pose(rotation, position), *pybullet.getBaseVelocity(body, self._client)
        state = pybullet.getLinkState(
            body,
            link,
            computeLinkVelocity=1,
            computeForwardKinematics=1,
            physicsClientId=self._client,
        )
        return Pose(state[1], state[0]), state[6], state[7]

    def _jointed(
        self, body: int, link: int, common: LinkDescription, links: list[LinkDescription]
    ) -> LinkDescription:
        info = pybullet.getJointInfo(body, link, physicsClientId=self._client)
        parent = info[16] + 1
        kind = _JOINT_KIND.get(info[2], JointKind.FIXED)
        # Bullet keeps the joint between inertial frames: the turn from parent to child, inverted,
        # and the pivot seen from the parent; the pivot is the origin of the link (measured).
        x, y, z, w = info[15]
        to_child = Pose((-x, -y, -z, w), info[14])
        child_turn = Pose(common.link_from_inertial.rotation_xyzw, (0.0, 0.0, 0.0))
        parent_from_link = links[parent].link_from_inertial @ to_child @ child_turn.inverse()
        axis = child_turn.rotate(_unit(info[13]))
        name = _text(info[1])
        has_limits = info[8] <= info[9]
        self._check_motor(body, link, name, kind)
        return replace(
            common,
            parent=parent,
            parent_from_link=parent_from_link,
            joint=LinkJointDescription(
                kind=kind,
                name=name,
                axis=axis,
                lower=info[8] if has_limits else -math.inf,
                upper=info[9] if has_limits else math.inf,
                max_force=info[10],
                max_velocity=info[11],
                damping=info[6],
                friction=info[7],
                mimic=self._mimic.get(name),
            ),
        )

    def _check_motor(self, body: int, link: int, name: str, kind: JointKind) -> None:
        if kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            return
        force = pybullet.getJointState(body, link, physicsClientId=self._client)[3]
        if force:
            unit = "N m" if kind is JointKind.REVOLUTE else "N"
            self._diagnostics.report(
                MOTOR_UNREADABLE, ROOT, joint=name, force=abs(force), unit=unit
            )


def _constraints(
    client_id: int,
    bodies: Sequence[BodyDescription],
    index_of: Mapping[int, int],
    diagnostics: Diagnostics,
) -> list[ConstraintDescription]:
    found = []
    for k in range(pybullet.getNumConstraints(physicsClientId=client_id)):
        number = pybullet.getConstraintUniqueId(k, physicsClientId=client_id)
        with contextlib.suppress(pybullet.error):
            info = pybullet.getConstraintInfo(number, physicsClientId=client_id)
            parent, parent_link, child, child_link, kind, axis = info[:6]
            if parent not in index_of or (child >= 0 and child not in index_of):
                continue
            if kind not in _CONSTRAINT_KIND:
                what = "a gear" if kind == pybullet.JOINT_GEAR else f"of type {kind}"
                diagnostics.report(CONSTRAINT_NOT_IN_GLTF, ROOT, got=number, what=what)
                continue
            ends = (
                (index_of[parent], parent_link + 1),
                ((index_of[child], child_link + 1) if child >= 0 else (-1, -1)),
            )
            frames = []
            for (body, link), pivot, turn in zip(ends, info[6:8], info[8:10], strict=True):
                inertial = (
                    bodies[body].links[link].link_from_inertial if body >= 0 else IDENTITY_POSE
                )
                frames.append(inertial @ Pose(turn, pivot))
            found.append(
                ConstraintDescription(
                    kind=_CONSTRAINT_KIND[kind],
                    parent=ends[0],
                    child=ends[1],
                    parent_from_frame=frames[0],
                    child_from_frame=frames[1],
                    axis=_unit(axis),
                    max_force=info[10] if info[10] < _NO_LIMIT_FORCE else math.inf,
                )
            )
    return found


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _unit(vector: Vec3) -> Vec3:
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0.0:
        return (1.0, 0.0, 0.0)
    x, y, z = vector
    return (x / length, y / length, z / length)
