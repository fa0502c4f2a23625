"""Node transforms from engine poses: stacked arrays, one matrix product per depth level.

Only nodes at or below a moving node are updated; the rest keep their matrices from load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gltf_bullet.bullet.rendering.visuals import ShownLink
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    Parts,
    Pose,
    decompose_trs,
    matrices_from_quats,
    split_linear,
)

_SAME_SIZE = 1e-6
"""Tolerance of scale factors, and of cosines between axes."""


class NodeSync:
    """World matrices of all nodes, updated from the poses of the bodies."""

    def __init__(
        self,
        tree: NodeTree,
        frames: NodeFrames,
        body_nodes: IntArray,
        local: FloatArray,
        animated: BoolArray,
        world_from_asset: FloatArray,
        read: Callable[[], tuple[FloatArray, FloatArray]],
        scaled: BoolArray,
        maps_of: Callable[[IntArray], FloatArray],
    ) -> None:
        """Prepare the index arrays.

        Args:
            tree: The nodes.
            frames: Their frames at load.
            body_nodes: Nodes whose world frame the engine gives, shape [body_count].
            local: parent_from_node, shape [node_count, 4, 4]; rows of animated nodes change.
            animated: Nodes whose local transform animations set, shape [node_count].
            world_from_asset: Frame of the roots, shape [4, 4].
            read: Reads the bodies; returns the arguments of :meth:`update`.
            scaled: Nodes whose size animations change, shape [node_count].
            maps_of: Returns present scale and shear of such nodes, shape [k, 3, 3].
        """
        self._tree = tree
        self._body_nodes = body_nodes
        self._node_maps, self._placed = frames.linear_maps(), frames.placed
        self._maps = self._node_maps[body_nodes]
        self._inverse_maps: dict[int, FloatArray] = {}
        self._scaled_rows: IntArray = np.flatnonzero(scaled[body_nodes])
        """Rows of bodies whose size changes."""
        self._maps_of = maps_of
        self._local = local
        self._world_from_asset = world_from_asset
        simulated = self._is_body = np.zeros(len(tree), dtype=bool)
        simulated[body_nodes] = True
        self.moving_nodes: IntArray = np.flatnonzero(simulated | animated)
        """Nodes that physics or an animation sets, ascending; others follow their parents."""
        self._world: FloatArray = frames.world_from_node.copy()
        self._read = read
        self.is_stale = False
        """True if bodies have moved since the last update, which the next read does."""
        self._parts: dict[int, tuple[bytes, Parts]] = {}
        below = tree.nearest_at_or_above(simulated | animated) >= 0
        self._levels: list[tuple[IntArray, IntArray, FloatArray | None]] = []
        for nodes in tree.levels:
            followers = nodes[below[nodes] & ~simulated[nodes]]
            if len(followers):
                # Rows that never change are gathered once.
                fixed = None if animated[followers].any() else local[followers]
                self._levels.append((followers, tree.parents[followers], fixed))

    @property
    def world_from_node(self) -> FloatArray:
        """World matrices of all nodes, scale included, shape [node_count, 4, 4]."""
        if self.is_stale:
            self.update(*self._read())
        return self._world

    def place(self) -> FloatArray:
        """Return :attr:`world_from_node`, as a function for code that only sometimes needs it."""
        return self.world_from_node

    def update(self, positions: FloatArray, rotations_xyzw: FloatArray) -> None:
        """Set the frames of the bodies' nodes, then of all below them and below animated nodes.

        Args:
            positions: Body frame positions [m], in the order of ``body_nodes``, shape [k, 3].
            rotations_xyzw: Body frame rotations, shape [k, 4].
        """
        self.is_stale = False
        world = self._world
        if len(self._scaled_rows):
            self._maps[self._scaled_rows] = self._maps_of(self._body_nodes[self._scaled_rows])
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

    def stand(self, world_from_node: FloatArray) -> None:
        """Set the world matrices of all nodes, shape [node_count, 4, 4]."""
        self.is_stale = False
        self._world[:] = world_from_node

    def carried(self, node: int, owner: int, world_from_body: FloatArray) -> FloatArray:
        """Return the matrix of a node on the body of the node ``owner``, shape [4, 4].

        Args:
            node: The node.
            owner: The motion node; -1: none, so that the asset's root carries the node.
            world_from_body: Frame of the body, or of the root, rigid, shape [4, 4].
        """
        path = [node]
        while path[-1] != owner:
            path.append(int(self._tree.parents[path[-1]]))
        world = world_from_body.copy()
        if owner >= 0:
            world[:3, :3] = world[:3, :3] @ self._node_maps[owner]
        for below in reversed(path[:-1]):
            world = world @ self._local[below]
        return world

    @property
    def written_nodes(self) -> IntArray:
        """:attr:`moving_nodes`, and nodes whose local transform differs from the file's."""
        is_set = (self._local != self._file_local).any(axis=(1, 2))
        return np.union1d(self.moving_nodes, np.flatnonzero(is_set))

    @cached_property
    def _file_local(self) -> FloatArray:
        return self._tree.local_matrices()

    # --- single nodes -------------------------------------------------------------------------

    def local_matrices(self, nodes: IntArray) -> FloatArray:
        """Return parent_from_node of some nodes now, shape [k, 4, 4]."""
        parents = self._tree.parents[nodes]
        above = self.world_from_node[parents]
        above[parents < 0] = self._world_from_asset
        return np.asarray(np.linalg.solve(above, self.world_from_node[nodes]), np.float64)

    def local_matrix(self, node: int) -> FloatArray:
        """Return parent_from_node of one node now, shape [4, 4]."""
        return self.local_matrices(np.array([node])).reshape(4, 4)

    def is_body(self, node: int) -> bool:
        """Return True if physics moves a node itself, not one above it."""
        return bool(self._is_body[node])

    def local_parts(self, node: int) -> Parts:
        """Return local translation, rotation xyzw and scale of one body now.

        As they were stated (:meth:`state_parts`), until it moves; with the signs of the file.
        """
        matrix = self.local_matrix(node)
        known = self._parts.get(node)
        if known is None or known[0] != matrix.tobytes():
            parts = decompose_trs(matrix, self._tree.scales[node])
            known = self._parts[node] = matrix.tobytes(), parts
        translation, rotation, scale = known[1]
        return translation.copy(), rotation.copy(), scale.copy()

    def state_parts(self, node: int, parts: Parts) -> None:
        """Note what a body's present local transform was stated as."""
        self._parts[node] = self.local_matrix(node).tobytes(), parts

    def composed(self, nodes: IntArray, parent_from_node: FloatArray) -> FloatArray:
        """Return world_from_node of all nodes with new local transforms of some, [k, 4, 4]."""
        local = self._local.copy()
        local[nodes] = parent_from_node
        return self._tree.compose(local, self._world_from_asset)

    def rigid_matrices(
        self, nodes: Sequence[int] | IntArray, world_from_node: FloatArray | None = None
    ) -> FloatArray:
        """Return world_from_node without the scale and shear of load, shape [k, 4, 4].

        Args:
            nodes: Indices of the nodes.
            world_from_node: Matrices of all nodes at another time; ``None``: now.
        """
        world = self.world_from_node if world_from_node is None else world_from_node
        result = np.zeros((len(nodes), 4, 4))
        result[:, 3, 3] = 1.0
        if len(nodes):
            rotated = world[nodes][:, :3, :3] @ np.linalg.pinv(self._node_maps[nodes])
            rotations, _, _ = split_linear(rotated)
            result[:, :3, :3] = matrices_from_quats(rotations)
            result[:, :3, 3] = world[nodes][:, :3, 3]
        return result

    def shown_matrices(self, links: Sequence[ShownLink]) -> FloatArray:
        """Return rigid poses of shown meshes, shape [len(links), 4, 4]."""
        result = np.empty((len(links), 4, 4))
        placed = [number for number, link in enumerate(links) if link.owner is not None]
        result[placed] = self.rigid_matrices(
            [link.owner for link in links if link.owner is not None]
        )
        for number, link in enumerate(links):
            if link.owner is None:
                result[number] = link.visual.world_from_mesh.matrix()
        return result

    def follow_parents(self, nodes: Sequence[int]) -> None:
        """Place nodes that no body moves by their local transforms, parents first."""
        world = self.world_from_node
        for node in nodes:
            parent = int(self._tree.parents[node])
            above = self._world_from_asset if parent < 0 else world[parent]
            world[node] = above @ self._local[node]

    def frames_now(self) -> NodeFrames:
        """Return the present frames of the nodes, for planning."""
        return self._frames_of(self.world_from_node.copy(), self._placed)

    def frames_with(self, node: int, parent_from_node: FloatArray) -> NodeFrames:
        """Return the frames of the nodes with another local transform of one, shape [4, 4].

        Its descendants move with it, except bodies: their poses in the world stay.
        """
        world = self.world_from_node.copy()
        bodies = set(self._body_nodes.tolist())
        parent = int(self._tree.parents[node])
        above = self._world_from_asset if parent < 0 else world[parent]
        world[node] = above @ parent_from_node
        placed = {node}
        for below in self._tree.descendants(node):
            if below not in bodies:
                world[below] = world[self._tree.parents[below]] @ self._local[below]
                placed.add(below)
        return self._frames_of(world, self._placed | placed)

    def pose_with(self, node: int, parent_from_node: FloatArray) -> Pose | None:
        """Return the rigid pose of a node with another local transform, shape [4, 4].

        It is ``None`` if scale or shear would change.
        """
        parent = int(self._tree.parents[node])
        above = self._world_from_asset if parent < 0 else self.world_from_node[parent]
        return self.pose_at(node, above @ parent_from_node)

    def pose_at(self, node: int, world: FloatArray) -> Pose | None:
        """Return the rigid pose of a node of this matrix in the world, shape [4, 4].

        It is ``None`` if scale or shear are not those that its bodies were made with.
        """
        inverse = self._inverse_maps.get(node)
        if inverse is None:
            inverse = self._inverse_maps[node] = np.linalg.pinv(self._node_maps[node])
        rotation, scale, shear = split_linear(world[:3, :3] @ inverse)
        if not (np.abs(scale - 1.0).max() <= _SAME_SIZE and shear <= _SAME_SIZE):
            return None
        x, y, z = world[:3, 3].tolist()
        qx, qy, qz, qw = rotation.tolist()
        return Pose((qx, qy, qz, qw), (x, y, z))

    def _frames_of(self, world_from_node: FloatArray, placed: frozenset[int]) -> NodeFrames:
        rotated = world_from_node[:, :3, :3] @ np.linalg.pinv(self._node_maps)
        rotations, _, _ = split_linear(rotated)
        return NodeFrames(world_from_node, rotations, placed=placed)
