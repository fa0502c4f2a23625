"""Where every node stands at one moment, as stacked arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gltf_bullet.scene.nodes import NodeTree
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Pose,
    matrices_from_quats,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

__all__ = ["NodeFrames"]


@dataclass(frozen=True, slots=True, eq=False)
class NodeFrames:
    """Global transforms of all nodes in the Bullet world."""

    world_from_node: FloatArray
    """Scale included, shape [node_count, 4, 4]."""
    rotations_xyzw: FloatArray
    """Global rotations, products of the local ones, shape [node_count, 4]."""

    @staticmethod
    def at_load(tree: NodeTree, world_from_asset: FloatArray, asset_xyzw: FloatArray) -> NodeFrames:
        """The frames as authored.

        Args:
            tree: The nodes.
            world_from_asset: Placement of the asset, uniform scale included, shape [4, 4].
            asset_xyzw: The rotation of that placement, shape [4].
        """
        return NodeFrames(
            tree.compose(tree.local_matrices(), world_from_asset),
            tree.compose_rotations(tree.rotations_xyzw, asset_xyzw),
        )

    def equals(self, other: NodeFrames) -> bool:
        """Whether all numbers are the same, to the last bit."""
        return other is self or (
            np.array_equal(self.world_from_node, other.world_from_node)
            and np.array_equal(self.rotations_xyzw, other.rotations_xyzw)
        )

    @property
    def positions(self) -> FloatArray:
        """Origins of the nodes [m], shape [node_count, 3]."""
        return self.world_from_node[:, :3, 3]

    def linear_maps(self) -> FloatArray:
        """Scale and shear of each node in its own axes, shape [node_count, 3, 3].

        ``matrix(rotation) @ linear_map`` is the node's global linear part; without shear the map
        is diagonal and holds the global scale.
        """
        rotations = matrices_from_quats(quat_conjugate(self.rotations_xyzw))
        maps: FloatArray = np.matmul(rotations, self.world_from_node[:, :3, :3])
        return maps

    def relative_poses(self, owners: IntArray, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """owner_from_node without scale: positions [m] (k, 3) and rotations xyzw (k, 4)."""
        owner_from_world = quat_conjugate(self.rotations_xyzw[owners])
        offsets = self.positions[nodes] - self.positions[owners]
        return (
            quat_rotate(owner_from_world, offsets),
            quat_multiply(owner_from_world, self.rotations_xyzw[nodes]),
        )

    def pose(self, node: int) -> Pose:
        """The rigid frame of a node: its origin and global rotation, without scale."""
        x, y, z = self.world_from_node[node, :3, 3].tolist()
        qx, qy, qz, qw = self.rotations_xyzw[node].tolist()
        return Pose((qx, qy, qz, qw), (x, y, z))
