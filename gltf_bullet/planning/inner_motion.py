"""Nodes that animations move within dynamic bodies: such bodies are made anew in the process.

KHR_physics_rigid_bodies, "Colliders", asks for collider transforms in sync with node transforms. A
link of a PyBullet body stays where it was made, and so does the frame of a joint.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, JsonPointer, warning
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes.extents import extent_of
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import IntArray

ANIMATED_WITHIN_BODY = warning(
    "ANIMATED_WITHIN_BODY",
    "an animation moves the {what} within the body of node {body}, which physics moves: the "
    "scene's bodies are made anew whenever it is off by {tolerance:.2g} m, with other ids, and "
    "nothing is pushed or carried at its speed",
)

ANIMATED_SIZE = warning(
    "ANIMATED_SIZE",
    "an animation scales colliders of the body of node {body}, which physics moves: the scene's "
    "bodies are made anew whenever one is off by {share:.0%} of its size, with other ids; where "
    "the body stands and how it moves is left to physics",
)
SIZE_TOLERANCE = 0.01
"""Share of a collider's size by which it may be off while an animation changes it."""
_SHARE = 0.02
"""Share of a body's size by which an inner node may be off."""
_POINT_SIZE = 0.5
"""Size [m] for attachments to bodies without colliders."""


class InnerNode(Struct, frozen=True):
    """A collider or an attachment of a joint that an animation moves within a dynamic body."""

    node: int
    body: int
    """The motion node of its body."""
    size: float
    """Size that the tolerance is a share of [m]."""

    @property
    def tolerance(self) -> float:
        """Distance by which it may be off before the bodies are made anew [m]."""
        return _SHARE * self.size


def plan_inner_nodes(
    physics: PhysicsScene,
    bodies: BodyPlans,
    motion_node_of: IntArray,
    inside: Collection[int],
    diagnostics: Diagnostics,
) -> tuple[InnerNode, ...]:
    """Find the inner nodes of dynamic bodies, and report how each is followed.

    Args:
        physics: The model.
        bodies: Planned.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        inside: Nodes that an animation moves relative to the body that they belong to.
        diagnostics: Receives the findings.
    """
    if not inside:
        return ()
    found: list[InnerNode] = []

    def add(node: int, size: float, what: str, at: JsonPointer) -> None:
        one = InnerNode(node, int(motion_node_of[node]), size)
        found.append(one)
        diagnostics.report(
            ANIMATED_WITHIN_BODY, at, what=what, body=one.body, tolerance=one.tolerance
        )

    for body in bodies.bodies.values():
        if body.kind is MotionKind.DYNAMIC:
            for node, size in _sizes(body).items():
                if node in inside:
                    add(node, size, "collider", physics.colliders[node].pointer)
    for joint in physics.joints.values():
        for end in (joint.node, joint.connected_node):
            if end is None or end not in inside:
                continue
            body = bodies.bodies[int(motion_node_of[end])]
            if body.kind is MotionKind.DYNAMIC:
                size = max(_sizes(body).values(), default=_POINT_SIZE)
                add(end, size, "attachment of a joint", joint.pointer)
    return tuple(found)


def report_animated_sizes(
    physics: PhysicsScene,
    tree: NodeTree,
    motion_node_of: IntArray,
    scaled: Collection[int],
    diagnostics: Diagnostics,
) -> None:
    """Report the dynamic bodies whose colliders, or nodes above them, an animation scales."""
    if not scaled:
        return
    marked = np.zeros(len(tree), dtype=bool)
    marked[list(scaled)] = True
    below = tree.nearest_at_or_above(marked) >= 0
    owners = {int(motion_node_of[node]) for node in physics.colliders if below[node]}
    for body in sorted(owners - {-1}):
        motion = physics.motions[body]
        if motion.kind is MotionKind.DYNAMIC:
            diagnostics.report(ANIMATED_SIZE, motion.pointer, body=body, share=SIZE_TOLERANCE)


def _sizes(body: BodyPlan) -> dict[int, float]:
    """Radius of a ball that holds each collider [m]."""
    return {
        node: extent_of(shape).outer
        for group in body.groups
        for node, shape in zip(group.collider_nodes, group.shapes, strict=True)
    }
