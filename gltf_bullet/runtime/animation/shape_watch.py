"""Detection of colliders whose shape, or place in a body, differs from that of their bodies.

Animated scale, animated morph weights and moving skin joints change shapes, which the engine cannot
change. A scene is rebuilt when a collider is off by more than a hundredth of its own size; and when
one has moved within a dynamic body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import MeshShape, PhysicsScene, Shape
from gltf_bullet.planning.inner_motion import SIZE_TOLERANCE
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes.collision_meshes import collision_mesh
from gltf_bullet.runtime.animation.animator import Animator
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.transforms import FloatArray, IntArray

# --- Colliders, or joints' attachments, that animations have moved within dynamic bodies ----------


class InnerWatch:
    """Compares the poses of nodes in their bodies with those at the creation of the bodies."""

    def __init__(self, plan: ScenePlan) -> None:
        """Store the poses in ``plan``."""
        self._nodes: IntArray = np.array([one.node for one in plan.inner], dtype=np.intp)
        self._bodies: IntArray = np.array([one.body for one in plan.inner], dtype=np.intp)
        self._tolerances = np.array([one.tolerance for one in plan.inner])
        matrices = plan.frames.world_from_node
        lengths = np.linalg.norm(matrices[self._nodes, :3, :3], axis=1)
        sizes = np.array([one.size for one in plan.inner])
        self._points = np.zeros((len(self._nodes), 4, 4))
        """Columns in the node's frame: its origin, and a point at its size along each axis."""
        self._points[:, 3] = 1.0
        reaches = sizes[:, None] / np.maximum(lengths, 1e-12)
        for axis in range(3):
            self._points[:, axis, 1 + axis] = reaches[:, axis]
        self._built = self._in_bodies(matrices)

    @property
    def is_idle(self) -> bool:
        """True if there are no such nodes."""
        return not len(self._nodes)

    def has_moved(self, world_from_node: FloatArray) -> bool:
        """Return True if a node is off by more than its tolerance.

        Args:
            world_from_node: Present matrices of all nodes, shape [node_count, 4, 4].
        """
        off = self._in_bodies(world_from_node) - self._built
        in_metres = world_from_node[self._bodies, :3, :3] @ off[:, :3]
        distances = np.linalg.norm(in_metres, axis=1).max(axis=1)
        return bool((distances > self._tolerances).any())

    def _in_bodies(self, world_from_node: FloatArray) -> FloatArray:
        body_from_world = np.linalg.pinv(world_from_node[self._bodies])
        found: FloatArray = body_from_world @ world_from_node[self._nodes] @ self._points
        return found


_STILL = 1e-5
"""Share of its size by which rounding, and the effect of physics on skins, may change a collider.
"""


class ShapeWatch:
    """Compares the shapes of a scene with those of the present nodes and weights."""

    def __init__(
        self,
        asset: AssetContent,
        physics: PhysicsScene,
        animator: Animator,
        plan: ScenePlan,
    ) -> None:
        """Store the shapes of ``plan``; deforming fixed colliders are left out."""
        frames = plan.frames
        deforming = {static.node for static in plan.bodies.statics if static.deforms}
        self._asset = asset
        self._inner = InnerWatch(plan)
        self._animator = animator
        below = animator.scaled
        nodes = [*physics.colliders, *physics.triggers]
        self._scaled: IntArray = np.array(
            sorted({node for node in nodes if below[node]}), dtype=np.intp
        )
        self._sizes = _sizes(frames.world_from_node[self._scaled])
        self._deformable = {
            shape: self._vertices(shape, frames.world_from_node)
            for shape in _deformable_shapes(physics, deforming)
        }

    @property
    def is_idle(self) -> bool:
        """True if no shape of the scene can change."""
        return not len(self._scaled) and not self._deformable and self._inner.is_idle

    def has_changed(self, world_from_node: FloatArray) -> bool:
        """Return True if a collider is off by more than the tolerance, or at all at rest.

        Args:
            world_from_node: Present matrices of all nodes, shape [node_count, 4, 4].
        """
        if not self._inner.is_idle and self._inner.has_moved(world_from_node):
            return True
        if len(self._scaled):
            sizes = _sizes(world_from_node[self._scaled])
            gaps = np.abs(sizes - self._sizes) / np.maximum(
                self._sizes.max(1, keepdims=True), 1e-12
            )
            if self._is_off(float(gaps.max()), self._scaled.tolist()):
                return True
        for shape, built in self._deformable.items():
            now = self._vertices(shape, world_from_node)
            extent = float(np.ptp(built, axis=0).max()) if len(built) else 0.0
            if len(now) == len(built) and extent > 0.0:
                gap = float(np.abs(now - built).max()) / extent
                if self._is_off(gap, _movers(shape)):
                    return True
        return False

    def _is_off(self, share: float, nodes: Iterable[int] | None) -> bool:
        """Return True if a difference, as a share of the size, is too large.

        ``nodes``: those whose animation causes it, unless something else may: at rest, any
        difference is too large.
        """
        if share <= _STILL:
            return False
        if share > SIZE_TOLERANCE or nodes is None:
            return share > SIZE_TOLERANCE
        above = {up for node in nodes for up in self._asset.tree.ancestors(node)}
        return self._animator.rests(np.array(sorted(above.union(nodes)), dtype=np.intp))

    def _vertices(self, shape: MeshShape, world_from_node: FloatArray) -> FloatArray:
        mesh = collision_mesh(
            shape,
            self._asset.document,
            world_from_node,
            Diagnostics(),  # reported when the scene was planned
            self._animator.weights,
        )
        return np.zeros((0, 3)) if mesh is None else mesh.points


def _movers(shape: MeshShape) -> list[int] | None:
    """Return the nodes that change a mesh; ``None`` for a skin, whose joints physics may move."""
    if any(part.skin is not None for part in shape.parts):
        return None
    nodes = ((part.weights_node, part.node, part.frame_node) for part in shape.parts)
    return [node for three in nodes for node in three if node is not None]


def _sizes(matrices: FloatArray) -> FloatArray:
    sizes: FloatArray = np.linalg.norm(matrices[:, :3, :3], axis=1)
    return sizes


def _deformable_shapes(physics: PhysicsScene, but: Collection[int]) -> Iterator[MeshShape]:
    shapes: list[Shape | None] = [
        collider.shape for node, collider in physics.colliders.items() if node not in but
    ]
    shapes += [volume.shape for volume in physics.triggers.values()]
    for shape in shapes:
        if isinstance(shape, MeshShape) and shape.is_deformable:
            yield shape
