"""Jointed bodies as multibodies: the values that planning yields and execution reads.

An *articulation* is a set of bodies connected by joints; it becomes one or more *multibodies*.
The *anchor* of a multibody is the frame that its base is attached to: the fixed world, or a
*kinematic parent* (a moving anchor), that is a kinematic body or an animated node. Joints that the
trees cannot hold (loops, second anchors, cuts for size) are *loop constraints*.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct

from gltf_bullet.model import Joint
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.axes import Dof
from gltf_bullet.planning.joints.layout import JointLayout
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.planning.joints.rows import JointRow
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Quat, Vec3

WORLD = -1
"""Anchor number of the fixed world; a kinematic parent is named by its node."""


class LinkFrame(Struct, frozen=True, kw_only=True):
    """A frame fixed to a link of an articulation, or to an anchor outside of it."""

    multibody: int
    """Index of the multibody within the articulation; -1 for an anchor."""
    link: int
    """Link index, -1 for the base; for an anchor its node, or :data:`WORLD`."""
    link_from_frame: Pose
    """Pose in the link frame, or in the frame of the anchor, be it a node or the world."""


class DofPlan(Struct, frozen=True, kw_only=True):
    """One degree of freedom (a ball counts as one) and the link that carries it."""

    joint_node: int
    dof: Dof
    multibody: int
    link: int
    is_reversed: bool
    """The chain runs from frame b to frame a; the engine's axis is negated, the coordinate not."""
    ball_xyzw: Quat = (0.0, 0.0, 0.0, 1.0)
    """Engine position of a ball at load."""


class RowPlan(Struct, frozen=True, kw_only=True):
    """A row of the joint-space solve."""

    joint: int
    """Index into the articulation's joints."""
    row: JointRow
    dof: int = -1
    """Index into the articulation's dofs for COORDINATE rows."""


class JointPlan(Struct, frozen=True, kw_only=True):
    """A glTF joint inside an articulation."""

    joint: Joint
    layout: JointLayout
    frame_a: LinkFrame
    frame_b: LinkFrame
    dofs: tuple[int, ...]
    """Indices into the articulation's dofs, in layout order; empty for a force element."""


class LoopConstraintKind(enum.Enum):
    """Means by which a joint outside of the trees is held."""

    POINT = "point"
    """A ball and socket, as a point constraint of the engine."""
    WELD = "weld"
    """A chain on one side that ends in a tiny link, welded to the other side."""
    ELEMENT = "element"
    """No constraint: nothing is locked, and the rows act as forces on both bodies."""


class LoopConstraint(Struct, frozen=True, kw_only=True):
    """A joint that is closed by an engine constraint between two frames."""

    kind: LoopConstraintKind
    joint: int
    first: LinkFrame
    second: LinkFrame
    load: float
    """Mass that may hang on it [kg], which bounds the force of the constraint."""


class MultibodyPlan(Struct, frozen=True, kw_only=True):
    """One multibody of the engine, with the bodies and colliders that its links stand for."""

    anchor: int
    """:data:`WORLD`, the node of a kinematic parent, or -2 when the base is a body."""
    root_node: int
    """The motion node whose body is the base, a free or a fixed one; -1 if there is an anchor."""
    spec: MultibodySpec
    """Shape ids are all -1: execution fills them in by ``owners``."""
    owners: tuple[tuple[int, int], ...]
    """(motion node, collider group) per link, (-1, -1) for links that only pass motion on."""
    bodies: tuple[tuple[int, int], ...]
    """(motion node, link index) of every body, the base included as link -1."""

    @property
    def is_floating(self) -> bool:
        """True if forces move the base."""
        return self.root_node >= 0 and self.spec.mass > 0.0


class ArticulationPlan(Struct, frozen=True, kw_only=True):
    """Bodies that joints connect, directly or through others."""

    multibodies: tuple[MultibodyPlan, ...]
    dofs: tuple[DofPlan, ...]
    joints: tuple[JointPlan, ...]
    rows: tuple[RowPlan, ...]
    loop_constraints: tuple[LoopConstraint, ...]


class CutConstraint(Struct, frozen=True, kw_only=True):
    """A loop constraint between two articulations that one set of joints was cut into."""

    loop_constraint: LoopConstraint
    """Its frames count multibodies within their own articulations; ``joint`` is -1."""
    first_articulation: int
    second_articulation: int
    planned: JointPlan | None = None
    """The joint, if it is in neither articulation; its frames count multibodies likewise."""


@dataclass(frozen=True, kw_only=True)
class ArticulationPlans:
    """Everything about the joints of a scene."""

    articulations: tuple[ArticulationPlan, ...]
    cut_constraints: tuple[CutConstraint, ...]
    jointed_bodies: frozenset[int]
    """Motion nodes that became links."""
    excluded_pairs: frozenset[tuple[int, int]]
    """Pairs of motion nodes (ascending) that are jointed without ``enableCollision``."""
    excluded_static_pairs: frozenset[tuple[int, int]]
    """(motion node, attachment node without motion or under static motion), likewise."""
    anchor_poses: dict[int, Pose]
    """Poses at load of kinematic parents that are attachment nodes without motion, before
    :attr:`offset`."""
    moving_anchors: frozenset[int]
    """Nodes of kinematic parents: ``set_anchor`` must state their pose at each step."""
    world_anchor: Pose = IDENTITY_POSE
    """Pose of the frame that :data:`WORLD` means. A plan for another place moves this frame; what
    is attached to it stays as it is."""
    offset: Vec3 = (0.0, 0.0, 0.0)
    """Displacement of multibodies and anchors from the place that they were planned for [m]."""


NO_ARTICULATIONS = ArticulationPlans(
    articulations=(),
    cut_constraints=(),
    jointed_bodies=frozenset(),
    excluded_pairs=frozenset(),
    excluded_static_pairs=frozenset(),
    moving_anchors=frozenset(),
    anchor_poses={},
)
"""The plans of a scene without joints."""


# --- Multibody and link of each jointed body, the same in all copies of a scene -------------------


class LinkPlaces(NamedTuple):
    """Links of bodies; multibodies are counted through all articulations, and link -1 is a base."""

    bodies: Mapping[int, tuple[int, int]]
    """Multibody and link by motion node."""
    groups: Mapping[int, tuple[tuple[int, int], ...]]
    """Fixed links that carry the further collider groups of a body, by motion node."""
    bases: tuple[tuple[int, int], ...]
    """Anchor node and multibody, for multibodies with a kinematic parent."""
    solid: frozenset[int]
    """Multibodies with colliders."""

    @staticmethod
    def of(plans: ArticulationPlans, body_plans: Mapping[int, BodyPlan]) -> LinkPlaces:
        """The links of a scene's bodies; ``body_plans`` are by motion node."""
        bodies: dict[int, tuple[int, int]] = {}
        groups: dict[int, list[tuple[int, int]]] = {}
        bases = []
        multibodies = [multi for plan in plans.articulations for multi in plan.multibodies]
        for number, multibody in enumerate(multibodies):
            if multibody.anchor >= 0:
                bases.append((multibody.anchor, number))
            for node, link in multibody.bodies:
                bodies[node] = number, link
            for link, (node, group) in enumerate(multibody.owners):
                if group > 0:
                    groups.setdefault(node, []).append((number, link))
        solid = {number for node, (number, _) in bodies.items() if body_plans[node].groups}
        further = {node: tuple(links) for node, links in groups.items()}
        return LinkPlaces(bodies, further, tuple(bases), frozenset(solid))
