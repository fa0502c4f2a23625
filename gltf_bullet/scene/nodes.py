"""The node tree as stacked arrays: parents, local TRS, and world matrices by depth level.

Free of file format and engine. No per-node objects: a step over 1000 nodes is one matrix product
per depth level (measured: 45-80 us, against 1.4 ms for a Python loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    matrices_from_trs,
    quat_multiply,
    quat_normalize,
)

__all__ = ["NodeTree"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodeTree:
    """All nodes of a file, in file order, with their transforms at load.

    Build it with :meth:`from_parents`, which derives the evaluation order.
    """

    names: tuple[str, ...]
    """Names as authored; empty where the file gives none."""
    parents: IntArray
    """Parent index per node, -1 for roots; shape [node_count]."""
    translations: FloatArray
    """Local translations [m], shape [node_count, 3]."""
    rotations_xyzw: FloatArray
    """Local rotations, unit, shape [node_count, 4]."""
    scales: FloatArray
    """Local scales, shape [node_count, 3]."""
    children: tuple[tuple[int, ...], ...]
    scenes: tuple[tuple[int, ...], ...] = ()
    """Root nodes of each glTF scene."""
    default_scene: int | None = None
    """``scene`` of the file; ``None`` when absent."""
    mesh_of: tuple[int | None, ...] = ()
    """Render mesh per node (a glTF mesh index)."""
    skin_of: tuple[int | None, ...] = ()
    camera_of: tuple[int | None, ...] = ()
    weights_of: tuple[tuple[float, ...] | None, ...] = ()
    """Morph weights authored on the node."""
    levels: tuple[IntArray, ...] = field(default=())
    """Node indices by depth, roots first."""

    @staticmethod
    def from_parents(
        *,
        names: Sequence[str],
        parents: Sequence[int],
        translations: npt.ArrayLike,
        rotations_xyzw: npt.ArrayLike,
        scales: npt.ArrayLike,
        scenes: Sequence[Sequence[int]] = (),
        default_scene: int | None = None,
        mesh_of: Sequence[int | None] | None = None,
        skin_of: Sequence[int | None] | None = None,
        camera_of: Sequence[int | None] | None = None,
        weights_of: Sequence[tuple[float, ...] | None] | None = None,
    ) -> NodeTree:
        """Build a tree.

        Raises:
            ValueError: ``parents`` holds a cycle or an index out of range (readers report these as
                issues before they come here).
        """
        count = len(names)
        parent_array = np.asarray(parents, dtype=np.intp).reshape(count)
        children: list[list[int]] = [[] for _ in range(count)]
        roots: list[int] = []
        for node, parent in enumerate(parent_array.tolist()):
            if parent < -1 or parent >= count:
                raise ValueError(f"parent of node {node} is {parent}; must be in -1..{count - 1}")
            (roots if parent == -1 else children[parent]).append(node)
        levels: list[IntArray] = []
        level, seen = roots, 0
        while level:
            levels.append(np.array(level, dtype=np.intp))
            seen += len(level)
            level = [child for node in level for child in children[node]]
        if seen != count:
            raise ValueError("the node hierarchy holds a cycle")
        none: tuple[None, ...] = (None,) * count
        return NodeTree(
            names=tuple(names),
            parents=parent_array,
            translations=np.array(translations, dtype=np.float64).reshape(count, 3),
            rotations_xyzw=quat_normalize(
                np.array(rotations_xyzw, dtype=np.float64).reshape(count, 4)
            ),
            scales=np.array(scales, dtype=np.float64).reshape(count, 3),
            children=tuple(map(tuple, children)),
            scenes=tuple(tuple(scene) for scene in scenes),
            default_scene=default_scene,
            mesh_of=tuple(mesh_of) if mesh_of is not None else none,
            skin_of=tuple(skin_of) if skin_of is not None else none,
            camera_of=tuple(camera_of) if camera_of is not None else none,
            weights_of=tuple(weights_of) if weights_of is not None else none,
            levels=tuple(levels),
        )

    def __len__(self) -> int:
        return len(self.names)

    def local_matrices(self) -> FloatArray:
        """parent_from_node at load, shape [node_count, 4, 4]."""
        return matrices_from_trs(self.translations, self.rotations_xyzw, self.scales)

    def compose(self, local_matrices: FloatArray, world_from_asset: FloatArray) -> FloatArray:
        """world_from_node, shape [node_count, 4, 4], from parent_from_node and the root's frame."""
        world = np.empty_like(local_matrices)
        for depth, nodes in enumerate(self.levels):
            above = world_from_asset if depth == 0 else world[self.parents[nodes]]
            world[nodes] = above @ local_matrices[nodes]
        return world

    def compose_rotations(
        self, local_rotations_xyzw: FloatArray, world_from_asset_xyzw: FloatArray
    ) -> FloatArray:
        """Global rotations, shape [node_count, 4]: products of the local ones, scale ignored.

        This is what "rotate by the node's global rotation" means even below mirrored or
        non-uniformly scaled parents, where a matrix has no unique rotation.
        """
        world = np.empty_like(local_rotations_xyzw)
        for depth, nodes in enumerate(self.levels):
            above = world_from_asset_xyzw if depth == 0 else world[self.parents[nodes]]
            world[nodes] = quat_multiply(
                np.broadcast_to(above, (len(nodes), 4)), local_rotations_xyzw[nodes]
            )
        return quat_normalize(world)

    def ancestors(self, node: int) -> tuple[int, ...]:
        """The nodes above ``node``, nearest first."""
        result: list[int] = []
        parent = int(self.parents[node])
        while parent != -1:
            result.append(parent)
            parent = int(self.parents[parent])
        return tuple(result)

    def descendants(self, node: int) -> tuple[int, ...]:
        """The nodes below ``node``, in depth-first order."""
        result: list[int] = []
        stack = list(reversed(self.children[node]))
        while stack:
            current = stack.pop()
            result.append(current)
            stack.extend(reversed(self.children[current]))
        return tuple(result)

    def nodes_of_scene(self, scene_index: int | None) -> BoolArray:
        """Which nodes belong to a scene, shape [node_count].

        ``None`` takes the file's default scene, else scene 0; a file without scenes is taken whole.
        """
        if not self.scenes:
            return np.ones(len(self), dtype=bool)
        if scene_index is None:
            scene_index = self.default_scene if self.default_scene is not None else 0
        inside = np.zeros(len(self), dtype=bool)
        inside[list(self.scenes[scene_index])] = True
        for nodes in self.levels[1:]:
            inside[nodes] |= inside[self.parents[nodes]]
        return inside

    def nearest_at_or_above(self, marked: BoolArray) -> IntArray:
        """Per node the nearest marked node at or above it, -1 without one; shape [node_count]."""
        owner = np.full(len(self), -1, dtype=np.intp)
        if not marked.any():
            return owner
        for depth, nodes in enumerate(self.levels):
            above = owner[self.parents[nodes]] if depth else np.full(len(nodes), -1, dtype=np.intp)
            owner[nodes] = np.where(marked[nodes], nodes, above)
        return owner
