"""Which nodes without motion are the fixed base of one robot, to become the base of its multibody.

A base in the same multibody as its links is what PyBullet's users know: one body, whose
``resetBasePositionAndOrientation`` moves the colliders of the base and everything that hangs on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gltf_bullet.model import Motion, MotionKind, PhysicsScene, Plane
from gltf_bullet.planning.joints.graph import GraphEdge, connected_components
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import IntArray

__all__ = ["with_fixed_bases"]

_WORLD = -1


def with_fixed_bases(
    physics: PhysicsScene, tree: NodeTree, motion_node_of: IntArray, moving: Collection[int]
) -> PhysicsScene:
    """The scene with static motions on nodes that are the base of nothing but one robot.

    Args:
        physics: The model.
        tree: Its nodes.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        moving: Nodes that an animation moves.
    """
    dynamic = {n for n, m in physics.motions.items() if m.kind is MotionKind.DYNAMIC}
    edges: list[GraphEdge] = []
    bases_of_edge: dict[int, int] = {}
    for index, (node, joint) in enumerate(sorted(physics.joints.items())):
        ends = (node, _WORLD if joint.connected_node is None else joint.connected_node)
        owners = [int(motion_node_of[end]) if end >= 0 else -1 for end in ends]
        held = [owner in dynamic for owner in owners]
        if not any(held) or owners[0] == owners[1]:
            continue
        edges.append(
            GraphEdge(
                joint=index, first=owners[0], second=owners[1],
                first_is_body=held[0], second_is_body=held[1], priority=0.0,
            )
        )  # fmt: skip
        if not all(held):
            end, owner = ends[held.index(False)], owners[held.index(False)]
            parents = tree.ancestors(end) if end >= 0 and owner < 0 else ()
            bases_of_edge[index] = parents[0] if parents else _WORLD
    if not any(base != _WORLD for base in bases_of_edge.values()):
        return physics
    bodies_of_base: dict[int, set[int]] = {}
    refused = {_WORLD}
    for group in connected_components(dynamic, edges):
        inside = set(group)
        bases = {
            bases_of_edge[edge.joint]
            for edge in edges
            if edge.joint in bases_of_edge and (edge.first in inside or edge.second in inside)
        }
        if len(bases) > 1:
            refused |= bases
        for base in bases:
            bodies_of_base.setdefault(base, set()).update(inside)
    found = [
        base
        for base, bodies in bodies_of_base.items()
        if base not in refused and _is_base_of(base, bodies, physics, tree, set(moving))
    ]
    if not found:
        return physics
    fixed = Motion(kind=MotionKind.STATIC, center_of_mass=(0.0, 0.0, 0.0))
    return replace(physics, motions={**physics.motions, **dict.fromkeys(found, fixed)})


def _is_base_of(
    base: int, bodies: set[int], physics: PhysicsScene, tree: NodeTree, moving: set[int]
) -> bool:
    """Whether nothing stands below a node but its own robot, and it stands still."""
    above = {base, *tree.ancestors(base)}
    if above & moving or above & set(physics.motions):
        return False

    def below(nodes: Collection[int]) -> set[int]:
        return {node for node in nodes if base in (node, *tree.ancestors(node))}

    if below(physics.motions) - bodies or below(physics.triggers) or below(moving):
        return False
    return not any(
        isinstance(physics.colliders[node].shape, Plane) for node in below(physics.colliders)
    )
