"""A PyBullet world, filled by any code, as a :class:`WorldDescription`; the world is not changed.

The file is long because joints, constraints and links are read from the same bodies in one pass.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pybullet

from gltf_bullet.bullet.joints.articulation import SLACK
from gltf_bullet.bullet.reading.bullet_file import Record
from gltf_bullet.bullet.reading.issues import (
    BODIES_UNLISTED,
    CONSTRAINT_NOT_IN_GLTF,
    LINKS_UNREADABLE,
    MOTOR_UNREADABLE,
    SAVED_BODY_UNCERTAIN,
    SOFT_BODY_NOT_IN_GLTF,
)
from gltf_bullet.bullet.reading.link_shapes import LinkShapes
from gltf_bullet.bullet.reading.maximal_bodies import (
    MaximalBodies,
    anisotropic_friction,
    contact_spring,
    has_friction_anchor,
)
from gltf_bullet.bullet.reading.saved_bodies import SavedBodies
from gltf_bullet.bullet.session import EngineLink, known_session
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
from gltf_bullet.convert.issues import NOT_IN_GLTF
from gltf_bullet.convert.joints import swing_gap
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import EngineError
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

# --- Present limits and damping of joints: ``getJointInfo`` returns those of creation -------------

_BEYOND: Final = 1e9
"""Bound [rad, m] below that of limits that our scenes set to infinite."""


def limits_of(info: Any, saved: Record | None, *, is_ours: bool) -> tuple[float, float]:
    """Return lower and upper limit [rad, m] of a joint; infinite if unlimited.

    Args:
        info: Result of ``getJointInfo``.
        saved: The link in the saved world, if it is known.
        is_ours: True if one of our scenes solves the joint: the engine's limits then only support
            the solve, a little wider or not at all, and those of the file are in ``info`` if
            anywhere.
    """
    stated = (info[8], info[9])
    if saved is not None and not (is_ours and stated[0] <= stated[1]):
        slack = SLACK if is_ours else 0.0
        stated = saved["m_jointLowerLimit"] + slack, saved["m_jointUpperLimit"] - slack
    lower, upper = stated
    if lower > upper:
        return -math.inf, math.inf
    if is_ours:
        return lower if lower > -_BEYOND else -math.inf, upper if upper < _BEYOND else math.inf
    return lower, upper


def damping_of(info: Any, saved: Record | None, *, is_ours: bool) -> tuple[float, float]:
    """Return the damping [N m s/rad, N s/m] of a joint, and the part that a scene's file lacks."""
    stated = float(info[6])
    if saved is None:
        return stated, 0.0
    now = float(saved["m_jointDamping"])
    # In our scenes, the solve applies the file's damping.
    return (stated + now, now) if is_ours else (now, 0.0)


def unit_axis(vector: Vec3) -> Vec3:
    """Return the unit axis of a joint; X if PyBullet returns none, as for fixed ones."""
    length = math.hypot(*vector)
    if length == 0.0:
        return (1.0, 0.0, 0.0)
    x, y, z = vector
    return (x / length, y / length, z / length)


# --- Constraints between the bodies of a PyBullet world -------------------------------------------

_KIND = {
    pybullet.JOINT_POINT2POINT: ConstraintKind.POINT,
    pybullet.JOINT_FIXED: ConstraintKind.FIXED,
    pybullet.JOINT_PRISMATIC: ConstraintKind.PRISMATIC,
}
_NO_LIMIT_FORCE = 1e9
"""Force [N] from which on a constraint counts as rigid."""


def read_constraints(
    client_id: int,
    bodies: Sequence[BodyDescription],
    index_of: Mapping[int, int],
    without: Collection[int],
    diagnostics: Diagnostics,
) -> list[ConstraintDescription]:
    """Return all constraints on some bodies.

    Args:
        client_id: A connected world.
        bodies: The bodies that are described.
        index_of: Index in ``bodies`` by body id.
        without: Constraints that are left out without an issue.
        diagnostics: Receives the constraints that cannot be described.
    """
    found = []
    for k in range(pybullet.getNumConstraints(physicsClientId=client_id)):
        number = pybullet.getConstraintUniqueId(k, physicsClientId=client_id)
        if number in without:
            continue
        with contextlib.suppress(pybullet.error):
            info = pybullet.getConstraintInfo(number, physicsClientId=client_id)
            ends = {end for end in (info[0], info[2]) if end >= 0}
            if ends.isdisjoint(index_of):
                continue
            what = _lost(info, ends.difference(index_of))
            if what:
                diagnostics.report(CONSTRAINT_NOT_IN_GLTF, ROOT, got=number, what=what)
                continue
            found.append(_described(info, bodies, index_of))
    return found


def _lost(info: Any, others: set[int]) -> str:
    """Return the reason why a constraint cannot be described; empty if it can."""
    if others:
        return f"to body {min(others)}, which is not written"
    if info[4] in _KIND:
        return ""
    return "a gear" if info[4] == pybullet.JOINT_GEAR else f"of type {info[4]}"


def _described(
    info: Any, bodies: Sequence[BodyDescription], index_of: Mapping[int, int]
) -> ConstraintDescription:
    parent, parent_link, child, child_link, kind, axis = info[:6]
    ends = (
        (index_of[parent], parent_link + 1),
        ((index_of[child], child_link + 1) if child >= 0 else (-1, -1)),
    )
    frames = []
    for (body, link), pivot, turn in zip(ends, info[6:8], info[8:10], strict=True):
        inertial = bodies[body].links[link].link_from_inertial if body >= 0 else IDENTITY_POSE
        frames.append(inertial @ Pose(turn, pivot))
    return ConstraintDescription(
        kind=_KIND[kind],
        parent=ends[0],
        child=ends[1],
        parent_from_frame=frames[0],
        child_from_frame=frames[1],
        axis=unit_axis(axis),
        max_force=info[10] if info[10] < _NO_LIMIT_FORCE else math.inf,
    )


SelfCollision = bool | Collection[int] | None
"""Self-collision of all bodies, or ids of bodies with it, or ``None``: bodies that touch
themselves.
"""

_JOINT_KIND = {
    pybullet.JOINT_REVOLUTE: JointKind.REVOLUTE,
    pybullet.JOINT_PRISMATIC: JointKind.PRISMATIC,
    pybullet.JOINT_SPHERICAL: JointKind.SPHERICAL,
    pybullet.JOINT_PLANAR: JointKind.PLANAR,
    pybullet.JOINT_FIXED: JointKind.FIXED,
}


def read_world(
    client_id: int,
    body_ids: Sequence[int] | None,
    diagnostics: Diagnostics,
    *,
    self_collision: SelfCollision = None,
    mimic: Mapping[str, MimicRule] | None = None,
    twists: Mapping[str, float] | None = None,
    with_gravity: bool = True,
    without: Collection[int] = (),
    idle_axes: Collection[EngineLink] = (),
    may_read: Callable[[Path], bool] | None = None,
) -> WorldDescription:
    """Describe all bodies and constraints of a world, as far as PyBullet returns them.

    Args:
        client_id: A connected world.
        body_ids: Bodies to describe; ``None``: all. Constraints between them, and to the world,
            are included.
        diagnostics: Receives what is lost.
        self_collision: Self-collision, which PyBullet does not return; ``None``: of bodies whose
            links touch one another.
        mimic: Rules by joint name, which PyBullet does not read.
        twists: Limits of twist of spherical joints by joint name, which PyBullet does not return.
        with_gravity: Include the world's gravity.
        without: Constraints that are described otherwise.
        idle_axes: Axes that are known to have no motor.
        may_read: Returns True for mesh files that may be read; ``None``: all may.

    Raises:
        EngineError: There is no such body, also among those of ``self_collision``.
    """
    ids = _existing(client_id, body_ids)
    _require_known(client_id, self_collision)
    saved = SavedBodies(client_id, read_bodies(client_id, None))
    if saved.nameless_count and body_ids is None:
        diagnostics.report(LINKS_UNREADABLE, ROOT, count=saved.nameless_count)
    if saved.unlisted_count and body_ids is None:
        diagnostics.report(BODIES_UNLISTED, ROOT, count=saved.unlisted_count)
    bodies: list[BodyDescription] = []
    index_of: dict[int, int] = {}
    shapes = LinkShapes(client_id, saved.file, diagnostics, may_read)
    reader = _BodyReader(
        client_id, saved, shapes, diagnostics, mimic or {}, twists or {}, idle_axes
    )
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
        constraints=tuple(read_constraints(client_id, bodies, index_of, without, diagnostics)),
        gravity=(x, y, z) if with_gravity and (x or y or z) else None,
    )


def read_bodies(client_id: int, body_ids: Sequence[int] | None) -> list[int]:
    """Return the bodies that :func:`read_world` describes, in its order.

    Raises:
        EngineError: There is no such body.
    """
    return [body for body in _existing(client_id, body_ids) if not _is_soft(client_id, body)]


def _existing(client_id: int, body_ids: Sequence[int] | None) -> list[int]:
    if body_ids is None:
        return all_bodies(client_id)
    _require(client_id, body_ids, "")
    return list(dict.fromkeys(body_ids))


def _require_known(client_id: int, self_collision: SelfCollision) -> None:
    if self_collision is not None and not isinstance(self_collision, bool):
        _require(client_id, self_collision, ", which self_collision names")


def _require(client_id: int, body_ids: Collection[int], of: str) -> None:
    unknown = sorted(set(body_ids) - set(all_bodies(client_id)))
    if unknown:
        raise EngineError(f"there is no body {unknown[0]} in physics client {client_id}{of}")


def all_bodies(client_id: int) -> list[int]:
    """Return the ids of all bodies that PyBullet lists, in its order."""
    return [
        int(pybullet.getBodyUniqueId(k, physicsClientId=client_id))
        for k in range(pybullet.getNumBodies(physicsClientId=client_id))
    ]


def _is_soft(client_id: int, body: int) -> bool:
    # 1: rigid, 2: multibody, 3: soft
    info = pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)
    return info[10] not in (1, 2)


def _meets_itself(client_id: int, body: int, wanted: SelfCollision) -> bool:
    if wanted is None:
        return bool(pybullet.getContactPoints(body, body, physicsClientId=client_id))
    return wanted if isinstance(wanted, bool) else body in wanted


class _BodyReader:
    """Reads bodies one by one, from PyBullet and from their records in the saved world."""

    def __init__(
        self,
        client_id: int,
        saved: SavedBodies,
        shapes: LinkShapes,
        diagnostics: Diagnostics,
        mimic: Mapping[str, MimicRule],
        twists: Mapping[str, float],
        idle_axes: Collection[EngineLink],
    ) -> None:
        self._client = client_id
        self._diagnostics = diagnostics
        self._mimic = mimic
        self._twists = twists
        self._idle_axes = idle_axes
        self._saved = saved
        self._shapes = shapes
        self._session = known_session(client_id)
        self._maximal = MaximalBodies(client_id, shapes, diagnostics)

    def read(self, body: int, self_collision: bool) -> BodyDescription:
        base_name, body_name = pybullet.getBodyInfo(body, physicsClientId=self._client)[:2]
        count = self._saved.uncertain.get(body)
        if count is not None:
            self._diagnostics.report(
                SAVED_BODY_UNCERTAIN, ROOT, body=body, count=count,
                name=_text(body_name) or _text(base_name),
                done="may be another's" if count else "are those it was made with, if any",
            )  # fmt: skip
        rigid = self._saved.rigid(body)
        if rigid is not None:
            # PyBullet uses the name of the base for a body in maximal coordinates (measured).
            name = _text(base_name) or _text(body_name)
            link = self._maximal.read(body, rigid, name, f"link {name!r} of body {body}")
            return BodyDescription(name="", links=(link,))
        colliders, saved_links = self._saved.colliders(body), self._saved.links(body)
        is_ours = self._session is not None and self._session.has_body(body)
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
                anisotropic_friction=None if saved is None else anisotropic_friction(saved),
                friction_anchor=saved is not None and has_friction_anchor(saved),
                colliders=solids,
                visuals=self._shapes.visuals([v for v in visuals if v[1] == index], solids, shown),
            )
            if k > 0:
                saved_link = saved_links[index] if saved_links else None
                common = self._jointed(body, index, common, links, saved_link, is_ours=is_ours)
            links.append(common)
        return BodyDescription(
            name=_text(body_name), links=tuple(links), self_collision=self_collision
        )

    def _motion(self, body: int, link: int) -> tuple[Pose, Vec3, Vec3]:
        """Return world_from_inertial of a link, and both velocities of its origin."""
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
        self,
        body: int,
        link: int,
        common: LinkDescription,
        links: list[LinkDescription],
        saved: Record | None,
        *,
        is_ours: bool,
    ) -> LinkDescription:
        info = pybullet.getJointInfo(body, link, physicsClientId=self._client)
        parent = info[16] + 1
        kind = _JOINT_KIND.get(info[2], JointKind.FIXED)
        # Bullet defines the joint between inertial frames: the rotation from parent to child,
        # inverted, and the pivot in the parent's frame; the pivot is the origin of the link
        # (measured).
        x, y, z, w = info[15]
        to_child = Pose((-x, -y, -z, w), info[14])
        child_turn = Pose(common.link_from_inertial.rotation_xyzw, (0.0, 0.0, 0.0))
        parent_from_link = links[parent].link_from_inertial @ to_child @ child_turn.inverse()
        axis = child_turn.rotate(unit_axis(info[13]))
        name = _text(info[1])
        lower, upper = limits_of(info, saved, is_ours=is_ours)
        damping, added = damping_of(info, saved, is_ours=is_ours)
        self._check_motor(body, link, name, kind)
        return replace(
            common,
            parent=parent,
            parent_from_link=parent_from_link,
            joint=LinkJointDescription(
                kind=kind,
                name=name,
                axis=axis,
                lower=lower,
                upper=upper,
                swings=self._swings(info, name) if kind is JointKind.SPHERICAL else None,
                max_force=info[10],
                max_velocity=info[11],
                damping=damping,
                added_damping=added,
                friction=info[7],
                mimic=self._mimic.get(name),
            ),
        )

    def _swings(self, info: Sequence[Any], name: str) -> Vec3 | None:
        """Return the largest turns about X, Y, Z [rad]; PyBullet has no limit without all."""
        about_x, about_y, effort = info[8:11]
        if min(about_x, about_y, effort) <= 0.0:
            return None
        twist = self._twists.get(name)
        if twist is None:
            self._diagnostics.report(
                CONSTRAINT_NOT_IN_GLTF, ROOT, got=f"of joint {name!r}",
                what=f"a limit of swings ({about_x:.3g} and {about_y:.3g} rad), if it has one of "
                "the twist, which PyBullet does not tell",
            )  # fmt: skip
            return None
        if twist <= 0.0:
            return None
        largest = (float(about_x), float(about_y), twist)
        self._diagnostics.report(
            NOT_IN_GLTF, ROOT, what="how PyBullet measures swings about slanted axes",
            owner=f"joint {name!r}",
            done=f"their limits are up to {swing_gap(largest):.2g} rad away, those about X, Y and "
            "Z alone are the same",
        )  # fmt: skip
        return largest

    def _check_motor(self, body: int, link: int, name: str, kind: JointKind) -> None:
        """Report a motor that exerted a force in the last step; others cannot be found."""
        if kind is JointKind.SPHERICAL:
            state = pybullet.getJointStateMultiDof(body, link, physicsClientId=self._client)
            force = math.hypot(*state[3])
        else:
            force = abs(pybullet.getJointState(body, link, physicsClientId=self._client)[3])
        if force and (body, link) not in self._idle_axes:
            unit = "N" if kind is JointKind.PRISMATIC else "N m"
            self._diagnostics.report(MOTOR_UNREADABLE, ROOT, joint=name, force=force, unit=unit)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


# --- Bodies that were created while a recording runs, and are not in it ---------------------------


class Newcomers:
    """Finds bodies with ids that no body had before.

    A new body with the id of a removed one is reported with that removal.
    """

    def __init__(self, client_id: int) -> None:
        self._client = client_id
        self._known = set(all_bodies(client_id))
        self._seen = self._glance()

    def newly_made(self) -> list[tuple[int, str]]:
        """Return ids and names of the bodies that were created since the last call.

        Raises:
            EngineError: The client is not connected.
        """
        try:
            seen = self._glance()
            if seen == self._seen:
                return []
            self._seen = seen
            made = [body for body in all_bodies(self._client) if body not in self._known]
            self._known.update(made)
            return [(body, self._name(body)) for body in made]
        except pybullet.error as error:
            raise EngineError(f"physics client {self._client}: {error}") from error

    def _glance(self) -> tuple[int, int]:
        """Return the number of bodies and the id of the last; each creation changes them."""
        count = pybullet.getNumBodies(physicsClientId=self._client)
        return count, pybullet.getBodyUniqueId(count - 1, self._client) if count else -1

    def _name(self, body: int) -> str:
        base, name = pybullet.getBodyInfo(body, physicsClientId=self._client)[:2]
        return str((name or base).decode("utf-8", "replace"))
