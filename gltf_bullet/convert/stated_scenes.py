"""Bodies of loaded scenes as their files state them, in place of the engine's links.

An engine has links without a counterpart in the file: for each axis of a joint with several, for
pair-specific surfaces, for the ends of cut loops. And it has no drives, soft limits or exact
restitution. The file states these; the current poses come from the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gltf_bullet.convert.description import (
    BodyDescription,
    LinkDescription,
    StatedJoint,
    StatedSurface,
    WorldDescription,
)
from gltf_bullet.convert.issues import NOT_IN_GLTF
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.model import Joint
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE, Pose

_Link = tuple[int, int]
"""Id of a body and index of a link; -1 is its base."""
_Place = tuple[tuple[int, int], Pose]
"""Indices of a described body and link, and the pose of another link in its frame."""


class PartOfFile(Struct, frozen=True, kw_only=True):
    """A rigid body of a scene, or one of its fixed colliders."""

    name: str
    world_from_part: Pose
    """Current pose of its node, without scale."""
    surfaces: Mapping[_Link, StatedSurface | None]
    """Surfaces by link, that of the link with its mass first; ``None`` if the link is a helper of
    the engine."""
    bits: Mapping[_Link, tuple[int, int]]
    """Collision bits that the scene has given the links; other bits were set by the user."""
    gravity_factor: float = 1.0
    is_kinematic: bool = False
    is_infinite: bool = False
    """True if the file states an infinite mass, for which the engine has a large one."""


class JointOfFile(Struct, frozen=True, kw_only=True):
    """A joint of a scene."""

    name: str
    joint: Joint
    ends: tuple[int, int]
    """Indices of the parts of the joint's node and of the connected one; -1 for the world."""
    world_from_ends: tuple[Pose, Pose]
    """Current poses of the two nodes, without scale."""
    leader: str = ""


class SceneOfFile(Struct, frozen=True, kw_only=True):
    """Facts of a loaded scene that the engine does not know."""

    parts: tuple[PartOfFile, ...]
    joints: tuple[JointOfFile, ...]
    body_ids: frozenset[int]
    """All bodies of the scene in the engine, except those that are only drawn."""


def with_scenes(
    world: WorldDescription,
    body_ids: Sequence[int],
    scenes: Sequence[SceneOfFile],
    diagnostics: Diagnostics,
) -> WorldDescription:
    """A world with the bodies of scenes as their files have them.

    Args:
        world: The world as the engine describes it.
        body_ids: Ids of its bodies, in the same order.
        scenes: Scenes in the world, with all of their bodies.
        diagnostics: Receives the properties that the result cannot hold.
    """
    if not scenes:
        return world
    replaced = frozenset().union(*(scene.body_ids for scene in scenes))
    bodies: list[BodyDescription] = []
    places: dict[tuple[int, int], _Place] = {}
    described: dict[_Link, tuple[int, LinkDescription]] = {}
    for number, (body_id, body) in enumerate(zip(body_ids, world.bodies, strict=True)):
        for k, link in enumerate(body.links):
            described[body_id, k - 1] = number, link
            if body_id not in replaced:
                places[number, k] = (len(bodies), k), IDENTITY_POSE
        if body_id not in replaced:
            bodies.append(body)
        else:
            _report_added(body, diagnostics)
    joints: list[StatedJoint] = []
    for scene in scenes:
        first = len(bodies)
        for part in scene.parts:
            part_from_world = part.world_from_part.inverse()
            for own in part.surfaces:
                number, raw = described[own]
                pose = part_from_world @ raw.world_from_link
                places[number, own[1] + 1] = (len(bodies), 0), pose
            robot, *_ = (described[own][0] for own in part.surfaces)
            holder = _holder(robot, world.bodies[robot])
            links = (_merged(part, described),)
            bodies.append(BodyDescription(name="", links=links, holder=holder))
        joints += [_stated(joint, first, scene.parts) for joint in scene.joints]
    constraints = []
    for constraint in world.constraints:
        parent, child = places.get(constraint.parent), places.get(constraint.child)
        if constraint.child[0] < 0:
            child = constraint.child, IDENTITY_POSE
        if parent is None or child is None:
            diagnostics.report(
                NOT_IN_GLTF, ROOT, what="a constraint", owner="a helper link of a scene",
                done="it is left out",
            )  # fmt: skip
            continue
        constraints.append(
            replace(
                constraint,
                parent=parent[0],
                child=child[0],
                parent_from_frame=parent[1] @ constraint.parent_from_frame,
                child_from_frame=child[1] @ constraint.child_from_frame,
            )
        )
    return replace(
        world, bodies=tuple(bodies), constraints=tuple(constraints), joints=tuple(joints)
    )


def _holder(number: int, robot: BodyDescription) -> tuple[int, str] | None:
    """Number and name of a parent node for the bodies of a named multibody, else ``None``."""
    is_named = len(robot.links) > 1 and robot.name not in ("", "world", robot.links[0].name)
    return (number, robot.name) if is_named else None


def _merged(
    part: PartOfFile, described: Mapping[_Link, tuple[int, LinkDescription]]
) -> LinkDescription:
    """All links of a part as one, in the frame of its node."""
    part_from_world = part.world_from_part.inverse()
    main, *_ = (described[link][1] for link in part.surfaces)
    colliders, visuals = [], []
    for link, surface in part.surfaces.items():
        raw = described[link][1]
        pose = part_from_world @ raw.world_from_link
        visuals += [replace(v, link_from_shape=pose @ v.link_from_shape) for v in raw.visuals]
        if surface is None:
            continue
        if (raw.group, raw.mask) != part.bits[link]:
            surface = replace(surface, scene=-1)
        colliders += [
            replace(c, link_from_shape=pose @ c.link_from_shape, stated=surface)
            for c in raw.colliders
        ]
    return replace(
        main,
        name=part.name,
        parent=-1,
        joint=None,
        parent_from_link=IDENTITY_POSE,
        world_from_link=part.world_from_part,
        link_from_inertial=part_from_world @ main.world_from_link @ main.link_from_inertial,
        mass=float("inf") if part.is_infinite else main.mass,
        gravity_factor=part.gravity_factor,
        is_kinematic=part.is_kinematic,
        colliders=tuple(colliders),
        visuals=tuple(visuals),
    )


def _stated(joint: JointOfFile, first: int, parts: Sequence[PartOfFile]) -> StatedJoint:
    places, frames = [], []
    for number, world_from_end in zip(joint.ends, joint.world_from_ends, strict=True):
        places.append((first + number, 0) if number >= 0 else (-1, -1))
        world_from_part = parts[number].world_from_part if number >= 0 else IDENTITY_POSE
        frames.append(world_from_part.inverse() @ world_from_end)
    return StatedJoint(
        name=joint.name, joint=joint.joint, leader=joint.leader,
        parent=places[0], child=places[1],
        parent_from_frame=frames[0], child_from_frame=frames[1],
    )  # fmt: skip


def _report_added(body: BodyDescription, diagnostics: Diagnostics) -> None:
    """Report damping that was added to the joints of a file: it has no drive."""
    for link in body.links:
        added = 0.0 if link.joint is None else link.joint.added_damping
        if link.joint is not None and added:
            diagnostics.report(
                NOT_IN_GLTF, ROOT, what=f"the damping {added:.3g} that was added to the file's",
                owner=f"joint {link.joint.name!r}", done="it is left out",
            )  # fmt: skip
