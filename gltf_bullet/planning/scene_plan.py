"""The plan of a scene: all passes of planning, in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from gltf_bullet.bounds import WORLD_BODIES
from gltf_bullet.diagnostics import ROOT, Diagnostics, error, note, warning
from gltf_bullet.model import CollisionFilter, Joint, MotionKind, PhysicsScene, may_collide
from gltf_bullet.number_ranges import WORLD
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import BodyPlans, plan_bodies
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.buried_triangles import report_buried_triangles
from gltf_bullet.planning.contacts.surfaces import ContactPlan, plan_contacts
from gltf_bullet.planning.gravity import GravityPlan, plan_gravity
from gltf_bullet.planning.inner_motion import InnerNode, plan_inner_nodes, report_animated_sizes
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans
from gltf_bullet.planning.joints.articulations import plan_articulations
from gltf_bullet.planning.joints.fixed_bases import with_fixed_bases
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.planning.shapes.decomposition import Decomposer
from gltf_bullet.planning.shapes.extents import extent_of
from gltf_bullet.planning.shapes.planner import MeshOf, ShapePlanner
from gltf_bullet.planning.skewed_axes import report_skewed_axes
from gltf_bullet.planning.triggers import TriggerPlans, plan_triggers
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

# --- Filters that only keep a jointed body from colliding with itself -----------------------------
#
# A robot's links are in a system that does not collide with that system. The name of a system is
# valid within its file: of two robots made of one file, each is to collide with the other, as two
# of ``loadURDF`` do. So its links are excluded pair by pair like jointed bodies, and for all other
# bodies they have no such filter.


def self_exclusions(
    bodies: BodyPlans, joints: Mapping[int, Joint], motion_node_of: IntArray
) -> dict[CollisionFilter, frozenset[int]]:
    """Filters that forbid only collisions within one jointed body, and its motion nodes.

    The systems of such a filter are those that it does not collide with, and no other filter of
    the scene has them; all colliders of two bodies or more have it, and joints hold these together.
    """
    members = _bodies_by_filter(bodies)
    filters = [found for found in members if found is not None]
    own = {
        found: frozenset(members[found])
        for found in filters
        if found.systems
        and found.not_collide_with == found.systems
        and len(members[found] - {-1}) > 1
        and -1 not in members[found]
        and not any(found.systems & other.systems for other in filters if other != found)
        and all(
            group.filter == found for node in members[found] for group in bodies.bodies[node].groups
        )
    }
    if not own:
        return {}
    linked = _linked(joints, motion_node_of)
    return {f: nodes for f, nodes in own.items() if any(nodes <= group for group in linked)}


def _bodies_by_filter(bodies: BodyPlans) -> dict[CollisionFilter | None, set[int]]:
    """Motion nodes of the colliders that have a filter; -1 for static ones."""
    members: dict[CollisionFilter | None, set[int]] = {}
    for node, plan in bodies.bodies.items():
        for group in plan.groups:
            members.setdefault(group.filter, set()).add(node)
    for static in bodies.statics:
        members.setdefault(static.filter, set()).add(static.owner)
    return members


def _linked(joints: Mapping[int, Joint], motion_node_of: IntArray) -> list[set[int]]:
    """Motion nodes that joints hold together."""
    groups: list[set[int]] = []
    for joint in joints.values():
        if joint.connected_node is None:
            continue
        ends = {int(motion_node_of[joint.node]), int(motion_node_of[joint.connected_node])} - {-1}
        met = [group for group in groups if group & ends]
        groups = [group for group in groups if group not in met]
        groups.append(ends.union(*met))
    return groups


# --- Bodies in one place, more than the engine can separate ---------------------------------------

MOST_PAIRS = 1000
"""PyBullet's memory for contacts grows by one contact at a time: the first step of 60
boxes in one place (1770 pairs) takes 8.5 s, of 120 more than a minute (measured, engine alone)."""
_DEEP = 0.5
"""Two bodies are in one place if their centres are closer than this share of half their sizes;
neighbours in a heap are twice as far apart."""
_CHUNK = 1 << 18
"""Number of pairs that are compared at a time."""

BODIES_IN_ONE_PLACE = error(
    "BODIES_IN_ONE_PLACE",
    "more than {allowed} pairs of dynamic bodies that collide have their centres inside of each "
    "other, as the body of this node and that of node {other}; the first step would take minutes",
)


TOO_MANY_BODIES = error(
    "TOO_MANY_BODIES", "the scene has {count} bodies and fixed colliders; must be at most {allowed}"
)


def report_crowds(bodies: Iterable[BodyPlan], diagnostics: Diagnostics) -> None:
    """Report an error if more than ``MOST_PAIRS`` pairs of dynamic bodies are in one place."""
    solid = [plan for plan in bodies if plan.kind is MotionKind.DYNAMIC and plan.groups]
    if len(solid) * (len(solid) - 1) // 2 <= MOST_PAIRS:
        return
    centers, sizes = _centers(solid), _sizes(solid)
    axis = int(np.ptp(centers, axis=0).argmax())
    order = np.argsort(centers[:, axis], kind="stable")
    centers, sizes = centers[order], sizes[order]
    along = centers[:, axis]
    ends = np.searchsorted(along, along + _DEEP * (sizes + sizes.max()), "right")
    counts = np.maximum(ends - np.arange(len(solid)) - 1, 0)
    if int(counts.sum()) <= MOST_PAIRS:
        return
    met = 0
    starts = np.concatenate([[0], np.cumsum(counts)])
    begin = 0
    while begin < len(solid):
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + _CHUNK, "right")) - 1)
        one = np.repeat(np.arange(begin, end), counts[begin:end])
        other = np.arange(len(one)) - np.repeat(
            starts[begin:end] - starts[begin], counts[begin:end]
        )
        other += one + 1
        apart = np.linalg.norm(centers[other] - centers[one], axis=1)
        is_deep = apart < _DEEP * (sizes[one] + sizes[other])
        for a, b in zip(order[one[is_deep]].tolist(), order[other[is_deep]].tolist(), strict=True):
            met += _meet(solid[a], solid[b])
            if met > MOST_PAIRS:
                at = ROOT / "nodes" / solid[a].node
                diagnostics.report(BODIES_IN_ONE_PLACE, at, allowed=MOST_PAIRS, other=solid[b].node)
                return
        begin = end


def _meet(one: BodyPlan, other: BodyPlan) -> bool:
    return any(may_collide(a.filter, b.filter) for a in one.groups for b in other.groups)


def _centers(plans: list[BodyPlan]) -> FloatArray:
    """Centres of mass in the world [m], shape [k, 3]."""
    return np.array(
        [plan.world_from_body.apply(plan.body_from_inertial.translation) for plan in plans]
    )


def _sizes(plans: list[BodyPlan]) -> FloatArray:
    """Half of the thickness of the thickest collider of each [m], shape [k]."""
    known: dict[int, float] = {}
    sizes = []
    for plan in plans:
        thickest = 0.0
        for group in plan.groups:
            for placed in group.shapes:
                key = id(placed.shape)
                if key not in known:
                    known[key] = float(extent_of(placed).half.min())
                thickest = max(thickest, known[key])
        sizes.append(thickest)
    return np.array(sizes)


ANIMATED_AND_JOINTED = note(
    "ANIMATED_AND_JOINTED",
    "the body is animated and holds joints; it stays kinematic also when its animation stops",
)

JOINT_LEAVES_SCENE = warning(
    "JOINT_LEAVES_SCENE",
    "the joint leads to node {got}, which is not in the scene that is loaded; it holds on to the "
    "place where that node stands",
)

NODE_TOO_FAR = error(
    "NODE_TOO_FAR",
    "the node stands {got:.3g} m from the origin, or is scaled so much; must be at most "
    "{allowed:g} ({count} nodes are beyond it)",
)


class AnimatedNodes(Struct, frozen=True, kw_only=True):
    """Nodes that the file's animations may move."""

    moved: frozenset[int] = frozenset()
    """Nodes at or below an animated one."""
    driven: frozenset[int] = frozenset()
    """Nodes that an animation running from load on sets directly."""
    moving: frozenset[int] = frozenset()
    """Nodes whose translation or rotation any animation sets."""
    scaled: frozenset[int] = frozenset()
    """Nodes whose scale any animation sets; nodes below them move."""

    def within_bodies(
        self, tree: NodeTree, motion_node_of: IntArray, *, by_scale: bool
    ) -> frozenset[int]:
        """Nodes that may move relative to the body that they belong to, itself left out.

        ``by_scale``: also nodes that move only since the scale of a node above changes.
        """
        marked = np.zeros(len(tree), dtype=bool)
        marked[list(self.moving)] = True
        if by_scale:
            marked |= np.isin(tree.parents, list(self.scaled))
        if not marked.any():
            return frozenset()
        nearest = tree.nearest_at_or_above(marked)
        owners = np.where(nearest >= 0, motion_node_of[nearest], -1)
        inside = (owners >= 0) & (owners == motion_node_of) & (nearest != owners)
        return frozenset(np.flatnonzero(inside).tolist())


NOT_ANIMATED = AnimatedNodes()


@dataclass(frozen=True, eq=False, kw_only=True)
class ScenePlan:
    """Everything that will be created, decided."""

    frames: NodeFrames
    """Global transforms of the nodes at creation."""
    bodies: BodyPlans
    motion_node_of: IntArray
    """Nearest motion node per node, -1 without one, shape [node_count]."""
    articulations: ArticulationPlans
    contacts: ContactPlan
    triggers: TriggerPlans
    gravity: GravityPlan
    animated: AnimatedNodes
    inner: tuple[InnerNode, ...] = ()
    """Nodes that animations move within dynamic bodies."""
    memo: PlanMemo = field(default_factory=PlanMemo)
    """Values that its executors have computed of it."""


def within_reach(frames: NodeFrames, diagnostics: Diagnostics) -> NodeFrames:
    """``frames`` where the engine can carry them; else, with an error, all nodes at the origin.

    Transforms of parents multiply: each may be carried, and their product may not. The rest of the
    scene is planned all the same, to find what else is wrong.
    """
    largest = np.abs(frames.world_from_node).max(axis=(1, 2), initial=0.0)
    far = np.flatnonzero(~(largest <= WORLD))
    if not len(far):
        return frames
    first = int(far[0])
    at = ROOT / "nodes" / first
    got, count = float(largest[first]), len(far)
    diagnostics.report(NODE_TOO_FAR, at, got=got, allowed=WORLD, count=count)
    count = len(frames.world_from_node)
    return NodeFrames(np.tile(np.eye(4), (count, 1, 1)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)))


def plan_scene(
    physics: PhysicsScene,
    tree: NodeTree,
    frames: NodeFrames,
    mesh_of: MeshOf,
    options: LoadOptions,
    diagnostics: Diagnostics,
    animated: AnimatedNodes = NOT_ANIMATED,
) -> ScenePlan:
    """Plan a scene; findings about what the engine cannot express go to ``diagnostics``."""
    motion_node_of = physics.motion_node_of(tree)
    physics = _hold_animated_joints(physics, motion_node_of, animated, diagnostics)
    physics = with_fixed_bases(physics, tree, motion_node_of, frames, animated.moved, mesh_of)
    motion_node_of = physics.motion_node_of(tree)
    report_skewed_axes(physics, frames, diagnostics)
    inside = animated.within_bodies(tree, motion_node_of, by_scale=True)
    decomposer = Decomposer(options)
    shapes = ShapePlanner(mesh_of, options, diagnostics, decomposer)
    bodies = plan_bodies(
        physics,
        motion_node_of=motion_node_of,
        moving_inside=inside,
        frames=frames,
        shapes=shapes,
        density=options.density,
        diagnostics=diagnostics,
    )
    count = len(bodies.bodies) + len(bodies.statics)
    if count > WORLD_BODIES:
        diagnostics.report(TOO_MANY_BODIES, ROOT, count=count, allowed=WORLD_BODIES)
    report_crowds(bodies.bodies.values(), diagnostics)
    report_buried_triangles(bodies, diagnostics)
    triggers = plan_triggers(
        physics,
        bodies=bodies,
        motion_node_of=motion_node_of,
        frames=frames,
        mesh_of=mesh_of,
        options=options,
        moving_nodes=animated.moved | frames.placed,
        diagnostics=diagnostics,
        decomposer=decomposer,
    )
    gravity = plan_gravity(
        physics,
        triggers=triggers,
        motion_node_of=motion_node_of,
        linear_maps=frames.linear_maps(),
        mesh_of=mesh_of,
        options=options,
        diagnostics=diagnostics,
    )
    apart = self_exclusions(bodies, physics.joints, motion_node_of)
    bodies, contacts = plan_contacts(bodies, diagnostics, frozenset(apart))
    articulations = plan_articulations(
        physics.joints,
        body_plans=bodies.bodies,
        motion_node_of=motion_node_of,
        world_from_node=frames.world_from_node,
        world_rotations_xyzw=frames.rotations_xyzw,
        linear_maps=frames.linear_maps(),
        diagnostics=diagnostics,
        kept_apart=apart.values(),
        moving_nodes=[n for n in animated.moved if n in inside or motion_node_of[n] < 0],
        outermost=[
            node
            for node in physics.motions
            if not any(above in physics.motions for above in tree.ancestors(node))
        ],
    )
    report_animated_sizes(physics, tree, motion_node_of, animated.scaled, diagnostics)
    pushed = animated.within_bodies(tree, motion_node_of, by_scale=False)
    return ScenePlan(
        frames=frames,
        bodies=bodies,
        inner=plan_inner_nodes(physics, bodies, motion_node_of, pushed, diagnostics),
        motion_node_of=motion_node_of,
        articulations=articulations,
        contacts=contacts,
        triggers=triggers,
        gravity=gravity,
        animated=animated,
    )


def _hold_animated_joints(
    physics: PhysicsScene,
    motion_node_of: IntArray,
    animated: AnimatedNodes,
    diagnostics: Diagnostics,
) -> PhysicsScene:
    """The scene with animated jointed bodies as kinematic: no link can become a base later."""
    held = set()
    for joint in physics.joints.values():
        ends = (joint.node, joint.connected_node)
        held |= {int(motion_node_of[end]) for end in ends if end is not None}
    held &= animated.driven & set(physics.motions)
    if not held:
        return physics
    motions = dict(physics.motions)
    for node in sorted(held):
        diagnostics.report(ANIMATED_AND_JOINTED, motions[node].pointer)
        motions[node] = replace(motions[node], kind=MotionKind.KINEMATIC)
    return replace(physics, motions=motions)


def within(physics: PhysicsScene, inside: BoolArray, diagnostics: Diagnostics) -> PhysicsScene:
    """The part of ``physics`` whose nodes are marked, for files with several scenes."""
    if bool(inside.all()):
        return physics
    for node, joint in physics.joints.items():
        other = joint.connected_node
        if other is not None and inside[node] and not inside[other]:
            diagnostics.report(JOINT_LEAVES_SCENE, joint.pointer, got=other)
    return replace(
        physics,
        motions={k: v for k, v in physics.motions.items() if inside[k]},
        colliders={k: v for k, v in physics.colliders.items() if inside[k]},
        triggers={k: v for k, v in physics.triggers.items() if inside[k]},
        joints={k: v for k, v in physics.joints.items() if inside[k]},
        gravity_volumes={k: v for k, v in physics.gravity_volumes.items() if inside[k]},
    )
