"""World frames of nodes, as stacked arrays."""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["Frames"]


class Frames:
    """World frames of some nodes, without their scale."""

    def __init__(
        self, nodes: IntArray, linear_maps: FloatArray, world_from_node: FloatArray
    ) -> None:
        self._nodes = nodes
        unscale = np.linalg.pinv(linear_maps[nodes])
        is_identity = np.abs(unscale - np.eye(3)).max(initial=0.0) < 1e-12
        self._unscale: FloatArray | None = None if is_identity else unscale.astype(np.float64)
        self.positions: FloatArray = np.zeros((len(nodes), 3))
        """[m], shape [k, 3]."""
        self.rotations: FloatArray = np.zeros((len(nodes), 3, 3))
        """Rotation matrices, shape [k, 3, 3]."""
        self.move(world_from_node)

    def move(self, world_from_node: FloatArray) -> None:
        """Follow the nodes."""
        matrices = world_from_node[self._nodes]
        self.positions = matrices[:, :3, 3]
        linear = matrices[:, :3, :3]
        if self._unscale is not None:
            linear = np.matmul(linear, self._unscale)
        self.rotations = linear
