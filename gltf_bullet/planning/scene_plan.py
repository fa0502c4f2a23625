"""All passes of planning, in order: the translation's table of contents. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, Severity
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.number_ranges import WORLD
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import BodyPlans, plan_bodies
from gltf_bullet.planning.contacts.self_exclusions import self_exclusions
from gltf_bullet.planning.contacts.surfaces import ContactPlan, plan_contacts
from gltf_bullet.planning.crowds import report_crowds
from gltf_bullet.planning.gravity import GravityPlan, plan_gravity
from gltf_bullet.planning.inner_motion import InnerNode, plan_inner_nodes, report_animated_sizes
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans
from gltf_bullet.planning.joints.articulations import plan_articulations
from gltf_bullet.planning.joints.fixed_bases import with_fixed_bases
from gltf_bullet.planning.shapes.decomposition import Decomposer
from gltf_bullet.planning.shapes.planner import MeshOf, ShapePlanner
from gltf_bullet.planning.skewed_axes import report_skewed_axes
from gltf_bullet.planning.triggers import TriggerPlans, plan_triggers
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import BoolArray, IntArray

__all__ = [
    "AnimatedNodes",
    "Derive",
    "ScenePlan",
    "plan_scene",
    "within",
    "within_reach",
]


T = TypeVar("T")


Derive: TypeAlias = Callable[[object, Callable[[], Any]], Any]
""":meth:`ScenePlan.derive`, for those who know no more of a plan."""

ANIMATED_AND_JOINTED = IssueKind(
    "ANIMATED_AND_JOINTED",
    Severity.INFO,
    "the body is animated and holds joints; it stays kinematic also when its animation stops",
)

JOINT_LEAVES_SCENE = IssueKind(
    "JOINT_LEAVES_SCENE",
    Severity.WARNING,
    "the joint leads to node {got}, which is not in the scene that is loaded; it holds on to the "
    "place where that node stands",
)

NODE_TOO_FAR = IssueKind(
    "NODE_TOO_FAR",
    Severity.ERROR,
    "the node stands {got:.3g} m from the origin, or is scaled so much; must be at most "
    "{allowed:g} ({count} nodes are beyond it)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimatedNodes:
    """What the file's animations may move."""

    moved: frozenset[int] = frozenset()
    """Nodes at or below an animated one."""
    driven: frozenset[int] = frozenset()
    """Nodes that an animation running from load on sets directly."""
    moving: frozenset[int] = frozenset()
    """Nodes whose translation or rotation any animation sets."""
    scaled: frozenset[int] = frozenset()
    """Nodes whose scale any animation sets: what is below moves with it."""

    def within_bodies(
        self, tree: NodeTree, motion_node_of: IntArray, *, by_scale: bool
    ) -> frozenset[int]:
        """Nodes that may move relative to the body that they belong to, itself left out.

        ``by_scale``: also where it is only the scale of a node above that changes.
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
    """Where the nodes stand when it is created."""
    bodies: BodyPlans
    motion_node_of: IntArray
    """Nearest motion node per node, -1 without one, shape [node_count]."""
    articulations: ArticulationPlans
    contacts: ContactPlan
    triggers: TriggerPlans
    gravity: GravityPlan
    animated: AnimatedNodes
    inner: tuple[InnerNode, ...] = ()
    """What animations move within dynamic bodies."""
    kept: dict[object, Any] = field(default_factory=dict)
    """What its executors have worked out of it that holds wherever it is moved to."""

    def derive(self, key: object, make: Callable[[], T]) -> T:
        """What was made for ``key``; made now where this is the first of all copies to ask."""
        if key in self.kept:
            known: T = self.kept[key]
            return known
        made = self.kept[key] = make()
        return made


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
    report_crowds(bodies.bodies.values(), diagnostics)
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
    """Animated bodies with joints as kinematic bodies: links cannot become bases at run time."""
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
