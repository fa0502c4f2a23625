"""Nodes without motion that are the fixed base of one robot and become the base of its multibody.

PyBullet's users expect the base in the same multibody as its links: one body, whose
``resetBasePositionAndOrientation`` moves the colliders of the base and all links.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gltf_bullet import model
from gltf_bullet.planning.joints.graph import GraphEdge, connected_components, edges_by_group
from gltf_bullet.planning.shapes.planner import MeshOf
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import FloatArray, IntArray

_WORLD = -1
_NEAR = 0.1
"""Length [m] that is added to the size of a robot for the largest distance of its base."""


def with_fixed_bases(
    physics: model.PhysicsScene,
    tree: NodeTree,
    motion_node_of: IntArray,
    frames: NodeFrames,
    moving: Collection[int],
    mesh_of: MeshOf,
) -> model.PhysicsScene:
    """The scene with static motions on nodes that are the base of exactly one robot.

    Args:
        physics: The model.
        tree: Its nodes.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        frames: Global transforms of the nodes.
        moving: Nodes that an animation moves.
        mesh_of: Gives the triangles of a mesh shape.
    """
    dynamic = {n for n, m in physics.motions.items() if m.kind is model.MotionKind.DYNAMIC}
    edges: list[GraphEdge] = []
    bases_of_edge: dict[int, int] = {}
    stated: set[int] = set()
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
            bases_of_edge[index] = base = parents[0] if parents else _WORLD
            if joint.on_fixed_base:
                stated.add(base)
    if not any(base != _WORLD for base in bases_of_edge.values()):
        return physics
    bodies_of_base: dict[int, set[int]] = {}
    refused = {_WORLD}
    groups = connected_components(dynamic, edges)
    for inside, own in zip(groups, edges_by_group(groups, edges), strict=True):
        bases = {bases_of_edge[edge.joint] for edge in own if edge.joint in bases_of_edge}
        if len(bases) > 1:
            refused |= bases
        for base in bases:
            bodies_of_base.setdefault(base, set()).update(inside)
    found = [
        base
        for base, bodies in bodies_of_base.items()
        if base not in refused
        and _is_base_of(base, bodies, physics, tree, set(moving))
        and (base in stated or _is_compact(base, bodies, physics, tree, frames, mesh_of))
    ]
    if not found:
        return physics
    fixed = model.Motion(kind=model.MotionKind.STATIC, center_of_mass=(0.0, 0.0, 0.0))
    return replace(physics, motions={**physics.motions, **dict.fromkeys(found, fixed)})


def _is_compact(
    base: int,
    bodies: set[int],
    physics: model.PhysicsScene,
    tree: NodeTree,
    frames: NodeFrames,
    mesh_of: MeshOf,
) -> bool:
    """Return True if the colliders of a base are near its robot, or are held by its joints.

    A node may only be the root that an exporter puts everything under: the floor of a hall is not
    the base of a slider 3 m above it, nor of a robot just above it. Colliders larger than the robot
    make a base only where a joint is attached to them.
    """
    held = {node for node in physics.joints if base in tree.ancestors(node)}
    ends = (joint.connected_node for joint in physics.joints.values())
    held |= {end for end in ends if end is not None and base in tree.ancestors(end)}
    held = {node for node in held if not bodies & {node, *tree.ancestors(node)}}
    joints, robot = frames.positions[sorted(held)], frames.positions[sorted({*bodies, *held})]
    size = float(np.ptp(robot, axis=0).max(initial=0.0)) + _NEAR
    for node, collider in physics.colliders.items():
        if base not in tree.ancestors(node) or bodies & {*tree.ancestors(node)}:
            continue
        box = _box_of(collider.shape, mesh_of)
        if box is None:
            continue
        linear = frames.world_from_node[node, :3, :3]
        is_large = np.linalg.norm(linear @ (box[1] - box[0])) > size
        places = (joints if is_large else robot) - frames.positions[node]
        local = places @ np.linalg.pinv(linear).T
        outside = (local - np.clip(local, *box)) @ linear.T
        if np.linalg.norm(outside, axis=1).min(initial=np.inf) > (_NEAR if is_large else size):
            return False
    return True


def _box_of(shape: model.Shape, mesh_of: MeshOf) -> tuple[FloatArray, FloatArray] | None:
    """Lowest and highest corner of a shape in its own frame [m]; ``None`` if it has no bounds."""
    match shape:
        case model.Box(size=size):
            half = 0.5 * np.array(size)
        case model.Sphere(radius=radius):
            half = np.full(3, radius)
        case model.Capsule(mid_height=height, radius_bottom=bottom, radius_top=top):
            wide = max(bottom, top)
            half = np.array([wide, 0.5 * height + wide, wide])
        case model.Cylinder(height=height, radius_bottom=bottom, radius_top=top):
            wide = max(bottom, top)
            half = np.array([wide, 0.5 * height, wide])
        case model.MeshShape():
            mesh = mesh_of(shape)
            if mesh is None or not len(mesh.points):
                return None
            return mesh.points.min(axis=0), mesh.points.max(axis=0)
        case _:
            return None
    return -half, half


def _is_base_of(
    base: int, bodies: set[int], physics: model.PhysicsScene, tree: NodeTree, moving: set[int]
) -> bool:
    """Return True if a node does not move and has only its own robot below it."""
    above = {base, *tree.ancestors(base)}
    if above & moving or above & set(physics.motions):
        return False

    def below(nodes: Collection[int]) -> set[int]:
        return {node for node in nodes if base in (node, *tree.ancestors(node))}

    if below(physics.motions) - bodies or below(physics.triggers) or below(moving):
        return False
    return not any(
        isinstance(physics.colliders[node].shape, model.Plane) for node in below(physics.colliders)
    )
