"""Where every node stands at one moment, as stacked arrays."""

from __future__ import annotations

import numpy as np

from gltf_bullet.scene.nodes import NodeTree
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Pose,
    Vec3,
    matrices_from_quats,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

__all__ = ["NodeFrames"]


class NodeFrames:
    """Global transforms of all nodes in the Bullet world; immutable."""

    __slots__ = (
        "_is_due", "_linear_maps", "_world_from_node", "offset", "placed", "rotations_xyzw",
        "unmoved",
    )  # fmt: skip

    def __init__(
        self,
        world_from_node: FloatArray,
        rotations_xyzw: FloatArray,
        unmoved: NodeFrames | None = None,
        offset: Vec3 = (0.0, 0.0, 0.0),
        placed: frozenset[int] = frozenset(),
    ) -> None:
        """Take over the arrays.

        Args:
            world_from_node: See there; where they were moved, those of ``unmoved``.
            rotations_xyzw: See there.
            unmoved: What :meth:`moved` began with.
            offset: [m] from there to here.
            placed: See there.
        """
        self._world_from_node, self._is_due = world_from_node, unmoved is not None
        self.rotations_xyzw = rotations_xyzw
        """Global rotations, products of the local ones, shape [node_count, 4]."""
        self.unmoved, self.offset = unmoved, offset
        self.placed = placed
        """Nodes that somebody has put elsewhere since load: they do not rest for good."""
        self._linear_maps: FloatArray | None = None

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

    def moved(self, offset: Vec3) -> NodeFrames:
        """The same nodes elsewhere in the world; they know where they came from.

        What is planned for one place is moved to the others: planned anew it would differ in the
        last bits, by which copies of one asset could be told apart.
        """
        if offset == (0.0, 0.0, 0.0):
            return self
        return NodeFrames(self._world_from_node, self.rotations_xyzw, self, offset, self.placed)

    @property
    def world_from_node(self) -> FloatArray:
        """Scale included, shape [node_count, 4, 4]."""
        if self._is_due and self.unmoved is not None:  # many copies are never looked at
            moved = self.unmoved.world_from_node.copy()
            moved[:, :3, 3] += self.offset
            self._world_from_node, self._is_due = moved, False
        return self._world_from_node

    def equals(self, other: NodeFrames) -> bool:
        """Whether all numbers are the same, to the last bit, and came about in the same way."""
        return other is self or (
            self.offset == other.offset
            and self.placed == other.placed
            and np.array_equal(self.world_from_node, other.world_from_node)
            and np.array_equal(self.rotations_xyzw, other.rotations_xyzw)
        )

    @property
    def positions(self) -> FloatArray:
        """Origins of the nodes [m], shape [node_count, 3]."""
        return self.world_from_node[:, :3, 3]

    def linear_maps(self) -> FloatArray:
        """Scale and shear of each node in its own axes, read-only, shape [node_count, 3, 3].

        ``matrix(rotation) @ linear_map`` is the node's global linear part; without shear the map
        is diagonal and holds the global scale.
        """
        if self.unmoved is not None:
            return self.unmoved.linear_maps()
        if self._linear_maps is None:
            self._linear_maps = self._find_linear_maps()
            self._linear_maps.setflags(write=False)
        return self._linear_maps

    def _find_linear_maps(self) -> FloatArray:
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
