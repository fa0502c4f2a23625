"""Engine poses to node transforms: stacked arrays, one matrix product per depth level.

Only nodes at or below something that moves are touched; the rest keep their matrices from load.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import FloatArray, matrices_from_quats

__all__ = ["NodeSync"]


class NodeSync:
    """World matrices of all nodes, kept in step with the bodies."""

    def __init__(
        self, tree: NodeTree, frames: NodeFrames, body_nodes: npt.NDArray[np.intp]
    ) -> None:
        """Prepare the index arrays.

        Args:
            tree: The nodes.
            frames: Where they stand at load.
            body_nodes: Nodes whose world frame the engine gives, shape [body_count].
        """
        self._tree = tree
        self._body_nodes = body_nodes
        self._scales = frames.linear_maps()[body_nodes]
        self.world_from_node: FloatArray = frames.world_from_node.copy()
        """Shape [node_count, 4, 4], scale included."""
        self._local = tree.local_matrices()
        driven = np.zeros(len(tree), dtype=bool)
        driven[body_nodes] = True
        below = tree.nearest_at_or_above(driven) >= 0
        self._levels = []
        for nodes in tree.levels[1:]:
            followers = nodes[below[nodes] & ~driven[nodes]]
            if len(followers):
                self._levels.append((followers, tree.parents[followers], self._local[followers]))

    def update(self, positions: FloatArray, rotations_xyzw: FloatArray) -> None:
        """Place the bodies' nodes, then everything below them.

        Args:
            positions: Of the body frames [m], in the order of ``body_nodes``, shape [k, 3].
            rotations_xyzw: Shape [k, 4].
        """
        world = self.world_from_node
        if not len(self._body_nodes):
            return
        placed = np.zeros((len(self._body_nodes), 4, 4))
        placed[:, :3, :3] = np.matmul(matrices_from_quats(rotations_xyzw), self._scales)
        placed[:, :3, 3] = positions
        placed[:, 3, 3] = 1.0
        world[self._body_nodes] = placed
        for followers, parents, local in self._levels:
            world[followers] = np.matmul(world[parents], local)

    def local_matrix(self, node: int, world_from_asset: FloatArray) -> FloatArray:
        """parent_from_node now, shape [4, 4]."""
        parent = int(self._tree.parents[node])
        above = world_from_asset if parent < 0 else self.world_from_node[parent]
        local: FloatArray = np.linalg.solve(above, self.world_from_node[node])
        return local
