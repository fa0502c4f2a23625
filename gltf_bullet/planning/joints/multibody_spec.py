"""A multibody as a value: a base and links, their frames, masses and shapes.

Frames of a :class:`MultibodySpec` are *link* frames; PyBullet reports and resets poses in
*inertial* frames (measured on 3.2.7). :mod:`gltf_bullet.bullet.bodies.multibody` creates it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

MAX_LINKS = 127
"""Most links of a multibody; the engine drops further ones silently (measured)."""


class LinkJoint(enum.Enum):
    """Kind of motion of a link relative to its parent link."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    SPHERICAL = "spherical"


class LinkSpec(Struct, frozen=True, kw_only=True):
    """One link of a multibody; at zero joint position its frame is ``parent_from_link``."""

    parent: int
    """Index of the parent link, -1 for the base; smaller than the link's own index."""
    joint: LinkJoint
    parent_from_link: Pose
    """Between link frames (not inertial frames), at joint position 0."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis of a revolute or prismatic joint in the link frame, unit length."""
    mass: float = 0.0
    """Mass [kg]; 0 for links without a body."""
    inertia_diagonal: Vec3 = (0.0, 0.0, 0.0)
    """Principal moments [kg m^2] about the axes of the inertial frame."""
    link_from_inertial: Pose = IDENTITY_POSE
    """Centre of mass and principal axes. The engine states the position and velocity of a spherical
    joint about these axes (measured): the joint's frame is turned like them."""
    link_from_body: Pose = IDENTITY_POSE
    """Frame of the body that the link carries, with its colliders: a link turns about its own
    origin, which is then on the joint's axis."""
    shape_id: int = -1
    """Engine collision shape, placed relative to the link frame; -1 for none."""
    visual_id: int = -1


@dataclass(frozen=True, kw_only=True)
class MultibodySpec:
    """A base and a tree of links, in depth-first order."""

    world_from_base: Pose = IDENTITY_POSE
    """The base's link frame."""
    mass: float = 0.0
    """[kg]; 0 makes the base immovable by forces (static, or kinematic by a set velocity)."""
    inertia_diagonal: Vec3 = (0.0, 0.0, 0.0)
    """Principal moments [kg m^2]; ignored by the engine when the base has mass 0."""
    base_from_inertial: Pose = IDENTITY_POSE
    shape_id: int = -1
    visual_id: int = -1
    links: tuple[LinkSpec, ...] = ()
    self_collision: bool = True
    """True if shapes of different links may collide; pair filters then exclude single pairs."""
    parents_meet: bool = True
    """True if a link may collide with its parent link, provided that links collide at all."""
    is_fixed_late: bool = False
    """True if a base without mass becomes massless only after its links were made: on a massless
    base the engine would take some moving links for static ones."""

    # Computed once for all copies.

    @cached_property
    def fixed_links(self) -> tuple[int, ...]:
        """Links that no joint lets move relative to the base."""
        found = {-1}
        for k, link in enumerate(self.links):
            if link.joint is LinkJoint.FIXED and link.parent in found:
                found.add(k)
        return tuple(sorted(found - {-1}))

    @cached_property
    def inertias(self) -> tuple[tuple[int, Vec3], ...]:
        """Principal moments of the links that have mass; -1 is the base."""
        massive = [(-1, self.inertia_diagonal)] if self.mass > 0.0 else []
        massive += [(k, link.inertia_diagonal) for k, link in enumerate(self.links) if link.mass]
        return tuple(massive)

    @cached_property
    def balls(self) -> tuple[int, ...]:
        """Links on spherical joints."""
        return tuple(k for k, link in enumerate(self.links) if link.joint is LinkJoint.SPHERICAL)

    @cached_property
    def single_axes(self) -> tuple[int, ...]:
        """Links on revolute and prismatic joints."""
        kinds = (LinkJoint.REVOLUTE, LinkJoint.PRISMATIC)
        return tuple(k for k, link in enumerate(self.links) if link.joint in kinds)


def depth_first_order(parents: Sequence[int]) -> list[int]:
    """Old link indices in the order in which Bullet numbers links: depth first, children ascending.

    ``parents`` holds a parent index per link, -1 for the base. Links without a path to the base (a
    cycle) are left out.
    """
    children: dict[int, list[int]] = {}
    for link, parent in enumerate(parents):
        children.setdefault(parent, []).append(link)
    order: list[int] = []
    stack = list(reversed(children.get(-1, [])))
    while stack:
        link = stack.pop()
        order.append(link)
        stack.extend(reversed(children.get(link, [])))
    return order
