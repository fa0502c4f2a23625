"""Likely slips in what touches at load: bodies inside of each other, a heavy body on a light one.

``check`` has no engine that finds contacts. Here the depth of an overlap is bounded from above by
the shapes' reach along some hundred directions, which is exact for boxes and balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, note
from gltf_bullet.model import Box, CollisionFilter, MotionKind, PhysicsScene, may_collide
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.contacts.touching_boxes import touching_boxes
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.planning.shapes.extents import UNBOUNDED
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import FloatArray, Pose, matrices_from_quats

BODIES_BEGIN_INSIDE = note(
    "BODIES_BEGIN_INSIDE",
    "the body begins about {depth:.3g} m deep inside of node {other}, to which no joint connects "
    "it; they are let out slowly{more}",
)
HEAVY_ON_LIGHT = note(
    "HEAVY_ON_LIGHT",
    "the body of {heavy:.4g} kg stands on node {other}, which has {light:.4g} kg: {ratio:.4g} "
    "times less; the engine lets such a body sink into it",
)
BOX_AS_HULL = note(
    "BOX_AS_HULL",
    "scales above the node shear the box, which becomes a hull of its 8 corners; turn the node "
    "below a scale of equal numbers, or scale below the turn",
)

_DEEP: Final = 2e-3
"""Depth [m] from which on an overlap counts, as at load."""
_DEEP_SHARE: Final = 0.02
"""Share of the smaller of both by which the bound may exceed the depth of round shapes."""
_NEAR: Final = 2e-3
"""Gap [m] up to which two bodies count as touching."""
_RATIO: Final = 999.0
"""Ratio of masses from which on a stack sinks by centimetres at 60 Hz (measured at 1000)."""
_MOST_NOTES: Final = 5
"""Pairs inside of each other that are named, the deepest first; a shape of wrong size has many."""
_MOST_PAIRS: Final = 2000
"""Pairs of shapes that are looked at; each takes 0.2 ms."""


def note_contacts(
    physics: PhysicsScene, tree: NodeTree, plan: ScenePlan, diagnostics: Diagnostics
) -> None:
    """Report bodies inside of each other, heavy ones on light ones, and boxes that became hulls.

    Args:
        physics: The model.
        tree: Its nodes.
        plan: Its plan in a world whose Y axis is up.
        diagnostics: Takes the findings.
    """
    parts = list(_parts(plan))
    _note_hulls(physics, parts, diagnostics)
    if not any(part.is_dynamic for part in parts):
        return
    apart = _apart(physics, tree, plan)
    depths: dict[tuple[int, int], float] = {}
    for a, b in _touching(parts)[:_MOST_PAIRS].tolist():
        one, other = parts[a], parts[b]
        pair = (max(one.owner, other.owner), min(one.owner, other.owner))
        if one.owner == other.owner or not (one.is_dynamic or other.is_dynamic) or pair in apart:
            continue
        if may_collide(one.filter, other.filter):
            depths[pair] = max(_depth(one, other), depths.get(pair, -math.inf))
    sizes: dict[int, float] = {}
    for part in parts:
        sizes[part.owner] = max(sizes.get(part.owner, 0.0), float(part.half.min()))
    bodies, inside = plan.bodies.bodies, {}
    for (node, other), depth in depths.items():
        if depth > max(_DEEP, _DEEP_SHARE * min(sizes[node], sizes[other])):
            inside[node, other] = depth
        elif depth > -_NEAR and node in bodies and other in bodies:
            _note_weight(bodies[node], bodies[other], diagnostics)
    deepest = sorted(inside, key=lambda pair: -inside[pair])[:_MOST_NOTES]
    for node, other in deepest:
        left = len(inside) - len(deepest) if (node, other) == deepest[-1] else 0
        diagnostics.report(
            BODIES_BEGIN_INSIDE, ROOT / "nodes" / node, depth=inside[node, other], other=other,
            more=f"; so do {left} further pairs, less deep" if left else "",
        )  # fmt: skip


def _note_weight(one: BodyPlan, other: BodyPlan, diagnostics: Diagnostics) -> None:
    heavy, light = (one, other) if one.mass >= other.mass else (other, one)
    if light.mass <= 0.0 or heavy.mass < _RATIO * light.mass:
        return
    if _height(heavy) > _height(light) and heavy.gravity_factor > 0.0:
        diagnostics.report(
            HEAVY_ON_LIGHT, ROOT / "nodes" / heavy.node,
            heavy=heavy.mass, light=light.mass, ratio=heavy.mass / light.mass, other=light.node,
        )  # fmt: skip


def _height(body: BodyPlan) -> float:
    return float(body.world_from_body.apply(body.body_from_inertial.translation)[1])


def _note_hulls(physics: PhysicsScene, parts: Iterable[_Part], diagnostics: Diagnostics) -> None:
    for part in parts:
        collider = physics.colliders.get(part.node)
        if collider is not None and isinstance(collider.shape, Box) and len(part.points) == 8:
            diagnostics.report(BOX_AS_HULL, collider.pointer)


def _apart(physics: PhysicsScene, tree: NodeTree, plan: ScenePlan) -> set[tuple[int, int]]:
    """Pairs of owners that joints connect, or that never collide by rule; the larger node first."""
    bodies = plan.bodies.bodies
    held: set[tuple[int, int]] = set(plan.articulations.excluded_static_pairs)
    pairs = set(plan.articulations.excluded_pairs)
    for joint in physics.joints.values():
        if joint.connected_node is None:
            continue
        for end, other in (
            (joint.node, joint.connected_node), (joint.connected_node, joint.node)
        ):  # fmt: skip
            body, opposite = int(plan.motion_node_of[end]), int(plan.motion_node_of[other])
            if body in bodies:
                (pairs if opposite in bodies else held).add(
                    (body, opposite if opposite in bodies else other)
                )
    # A fixed collider belongs to the attachment node at, above or below it.
    for static in plan.bodies.statics:
        around = {static.node, *tree.ancestors(static.node)}
        for body, attachment in held:
            if attachment in around or static.node in tree.ancestors(attachment):
                pairs.add((body, static.node))
    return {(max(pair), min(pair)) for pair in pairs}


# --- Convex parts of the scene at load ------------------------------------------------------------


class _Part(Struct, frozen=True, kw_only=True, eq=False):
    owner: int
    """Motion node of its body, or the node of a fixed collider."""
    node: int
    """The node with the collider."""
    is_dynamic: bool
    filter: CollisionFilter | None
    shape: shape_plans.ShapePlan
    points: FloatArray
    """Vertices in the world, shape [k, 3]; none for round shapes."""
    position: FloatArray
    """Origin of the shape in the world, shape [3]."""
    axes: FloatArray
    """Its axes as columns, shape [3, 3]."""

    @property
    def half(self) -> FloatArray:
        """Half of its bounding box in the world [m], shape [3]."""
        return 0.5 * (self.reach(np.eye(3)) + self.reach(-np.eye(3)))

    def reach(self, directions: FloatArray) -> FloatArray:
        """Reach from the position along unit vectors of the world [m], shape [k]."""
        if len(self.points):
            return np.asarray(((self.points - self.position) @ directions.T).max(axis=0))
        local = np.abs(directions @ self.axes)
        match self.shape:
            case shape_plans.SpherePlan(radius=radius):
                return np.full(len(directions), radius)
            case shape_plans.CapsulePlan(radius=radius, mid_height=height):
                return radius + 0.5 * height * local[:, 1]
            case shape_plans.CylinderPlan(radius=radius, height=height):
                across: FloatArray = np.hypot(local[:, 0], local[:, 2])
                return 0.5 * height * local[:, 1] + radius * across
            case shape_plans.BoxPlan(half_extents=half):
                return np.asarray(local @ np.array(half))
            case _:
                return np.full(len(directions), UNBOUNDED)


def _parts(plan: ScenePlan) -> Iterator[_Part]:
    for static in plan.bodies.statics:
        pose = static.world_from_collider
        yield from _parts_of(static.node, static.node, False, static.filter, static.shape, pose)
    for body in plan.bodies.bodies.values():
        is_dynamic, pose = body.kind is MotionKind.DYNAMIC, body.world_from_body
        for group in body.groups:
            for node, placed in zip(group.collider_nodes, group.shapes, strict=True):
                yield from _parts_of(body.node, node, is_dynamic, group.filter, placed, pose)


def _parts_of(
    owner: int,
    node: int,
    is_dynamic: bool,
    collision_filter: CollisionFilter | None,
    placed: shape_plans.PlacedShape,
    world_from_owner: Pose,
) -> Iterator[_Part]:
    world_from_shape = world_from_owner @ placed.body_from_shape
    axes = matrices_from_quats(np.array(world_from_shape.rotation_xyzw))
    position = np.array(world_from_shape.translation)
    clouds: list[FloatArray] = [np.empty((0, 3))]
    match placed.shape:
        case shape_plans.HullPlan(vertices=vertices):
            clouds = [vertices.points]
        case shape_plans.ConvexPartsPlan(parts=parts):
            clouds = [part.points for part in parts]
        case shape_plans.BvhPlan():
            return  # triangles have no inside
    for points in clouds:
        yield _Part(
            owner=owner, node=node, is_dynamic=is_dynamic, filter=collision_filter,
            shape=placed.shape, points=points @ axes.T + position, position=position, axes=axes,
        )  # fmt: skip


# --- Pairs that may touch, and how deep -----------------------------------------------------------


def _touching(parts: Sequence[_Part]) -> npt.NDArray[np.intp]:
    """Pairs of parts whose boxes overlap, shape [k, 2]."""
    highs = np.array([part.position + part.reach(np.eye(3)) for part in parts]) + 0.5 * _NEAR
    lows = np.array([part.position - part.reach(-np.eye(3)) for part in parts]) - 0.5 * _NEAR
    return touching_boxes(lows, highs)


def _depth(one: _Part, other: _Part) -> float:
    """Depth [m] of an overlap of two convex parts, negative for a gap; at most too large."""
    for plane, part in ((one, other), (other, one)):
        if isinstance(plane.shape, shape_plans.InfinitePlanePlan):
            normal = plane.axes[:, 1]
            above = float((part.position - plane.position) @ normal)
            return float(part.reach(-normal[None])[0]) - above
    crosses = np.cross(one.axes.T[:, None], other.axes.T[None]).reshape(-1, 3)
    between = (other.position - one.position)[None]
    directions = np.concatenate([one.axes.T, other.axes.T, crosses, between])
    lengths = np.linalg.norm(directions, axis=1)
    directions = directions[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    best, depth = _shallowest(one, other, np.concatenate([directions, -directions, _BALL]))
    for spread in (0.1, 0.03, 0.01):
        near = best + spread * _BALL
        best, found = _shallowest(one, other, near / np.linalg.norm(near, axis=1)[:, None])
        depth = min(depth, found)
    return depth


def _shallowest(one: _Part, other: _Part, directions: FloatArray) -> tuple[FloatArray, float]:
    reach = one.reach(directions) + other.reach(-directions)
    depths = reach - directions @ (other.position - one.position)
    least = int(depths.argmin())
    return directions[least], float(depths[least])


def _directions(count: int) -> FloatArray:
    """Unit vectors spread evenly over the sphere, shape [count, 3]."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.arange(count) * math.pi * (3.0 - math.sqrt(5.0))
    across = np.sqrt(1.0 - height * height)
    return np.stack([across * np.cos(turn), height, across * np.sin(turn)], axis=1)


_BALL: Final = _directions(128)
