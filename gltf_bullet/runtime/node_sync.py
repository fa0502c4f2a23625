"""Engine poses to node transforms: stacked arrays, one matrix product per depth level.

Only nodes at or below something that moves are touched; the rest keep their matrices from load.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import FloatArray, matrices_from_quats

__all__ = ["NodeSync"]

IntArray = npt.NDArray[np.intp]


class NodeSync:
    """World matrices of all nodes, kept in step with the bodies."""

    def __init__(
        self,
        tree: NodeTree,
        frames: NodeFrames,
        body_nodes: npt.NDArray[np.intp],
        local: FloatArray,
        animated: npt.NDArray[np.bool_],
        world_from_asset: FloatArray,
    ) -> None:
        """Prepare the index arrays.

        Args:
            tree: The nodes.
            frames: Where they stand at load.
            body_nodes: Nodes whose world frame the engine gives, shape [body_count].
            local: parent_from_node, shape [node_count, 4, 4]; rows of animated nodes change.
            animated: Nodes whose local transform animations set, shape [node_count].
            world_from_asset: Frame of the roots, shape [4, 4].
        """
        self._tree = tree
        self._body_nodes = body_nodes
        self._maps = frames.linear_maps()[body_nodes]
        self._local = local
        self._world_from_asset = world_from_asset
        self.world_from_node: FloatArray = frames.world_from_node.copy()
        """Shape [node_count, 4, 4], scale included."""
        simulated = np.zeros(len(tree), dtype=bool)
        simulated[body_nodes] = True
        below = tree.nearest_at_or_above(simulated | animated) >= 0
        self._levels: list[tuple[IntArray, IntArray, FloatArray | None]] = []
        for nodes in tree.levels:
            followers = nodes[below[nodes] & ~simulated[nodes]]
            if len(followers):
                # Rows that never change are gathered once.
                fixed = None if animated[followers].any() else local[followers]
                self._levels.append((followers, tree.parents[followers], fixed))

    def update(self, positions: FloatArray, rotations_xyzw: FloatArray) -> None:
        """Place the bodies' nodes, then everything below them and below animated nodes.

        Args:
            positions: Of the body frames [m], in the order of ``body_nodes``, shape [k, 3].
            rotations_xyzw: Shape [k, 4].
        """
        world = self.world_from_node
        if len(self._body_nodes):
            placed = np.zeros((len(self._body_nodes), 4, 4))
            placed[:, :3, :3] = np.matmul(matrices_from_quats(rotations_xyzw), self._maps)
            placed[:, :3, 3] = positions
            placed[:, 3, 3] = 1.0
            world[self._body_nodes] = placed
        for followers, parents, fixed in self._levels:
            local = self._local[followers] if fixed is None else fixed
            above = self._world_from_asset if parents[0] < 0 else world[parents]
            world[followers] = np.matmul(above, local)
