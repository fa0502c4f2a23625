"""Motion of engine bodies by animated nodes: which bodies follow them, and their targets.

Driven are bodies whose own node is animated, kinematic bodies below an animated node, static
colliders at or below one, attachment nodes of joints, and colliders that are animated within a
kinematic body. A dynamic body below an animated node stays simulated in the world.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.animation.animator import Animator
from gltf_bullet.runtime.animation.deforming_colliders import DeformingColliders
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    matrices_from_quats,
    quat_conjugate,
    quat_from_rotation_vector,
    quat_multiply,
    rotation_vector_from_quat,
    split_linear,
)

# --- Colliders and attachments that are animated within kinematic bodies --------------------------
#
# KHR_physics_rigid_bodies, "Colliders": collider transforms are kept in sync with node transforms.
# A link of a body cannot move within it, so such a collider is a body of its own, with a prescribed
# pose like an animated static one; what lies on it is moved by the sum of both motions. The same
# holds for joints whose attachment is animated within a kinematic body.


class CarriedColliders:
    """The carried colliders of one scene, and carried attachments of joints."""

    def __init__(self, world: EngineWorld) -> None:
        """Find the carried colliders and attachments."""
        plan = world.plan
        carried = [static for static in plan.bodies.statics if static.owner >= 0]
        anchors = plan.articulations.moving_anchors - plan.bodies.bodies.keys()
        owners = {static.owner for static in carried}
        owners |= {int(plan.motion_node_of[anchor]) for anchor in anchors} - {-1}
        self._motion = world.motion
        self.nodes = tuple(static.node for static in carried)
        """Collider nodes."""
        self._parts = {
            owner: np.flatnonzero(plan.motion_node_of == owner) for owner in sorted(owners)
        }
        """All nodes of the bodies that carry them, or an attachment, by motion node."""

    @property
    def are_any(self) -> bool:
        """True if any collider or attachment is carried."""
        return bool(self._parts)

    def ahead(
        self,
        world_from_node: FloatArray,
        simulated: BoolArray,
        time_step: float,
        leaders: Mapping[int, IntArray],
    ) -> FloatArray:
        """Return ``world_from_node`` with the carrying bodies at their poses after the step.

        Args:
            world_from_node: Present matrices of all nodes, shape [node_count, 4, 4].
            simulated: True for nodes of bodies that move by their velocities.
            time_step: Length of the step [s].
            leaders: All nodes of further bodies: those above bodies that are animated.
        """
        result = world_from_node.copy()
        for owner, nodes in {**self._parts, **leaders}.items():
            if not simulated[owner]:
                continue
            linear, angular = self._motion.velocities_of(owner)
            if not (linear.any() or angular.any()):
                continue
            center = self._motion.center_of(owner)
            step = np.eye(4)
            step[:3, :3] = matrices_from_quats(quat_from_rotation_vector(angular * time_step))
            step[:3, 3] = center + linear * time_step - step[:3, :3] @ center
            result[nodes] = step @ result[nodes]
        return result


class AnimationDriver:
    """Prescribes the motion of bodies and colliders by the active animations."""

    def __init__(
        self,
        animator: Animator,
        world: EngineWorld,
        tree: NodeTree,
        frames: NodeFrames,
        deforming: DeformingColliders,
    ) -> None:
        self.animator = animator
        self._deforming = deforming
        self._world = world
        self._tree = tree
        self._frames_at_load = frames
        self._activity: object = None
        acted = np.zeros(len(tree), dtype=bool)
        acted[list(animator.acted_nodes)] = True
        moved_by_graph = tree.nearest_at_or_above(acted) >= 0
        self._graph_moves_bodies = any(
            moved_by_graph[static.node] for static in world.plan.bodies.statics
        ) or any(
            moved_by_graph[node] and plan.kind is not MotionKind.DYNAMIC
            for node, plan in world.plan.bodies.bodies.items()
        )
        """True if a behavior graph moves static colliders or kinematic bodies."""
        self._followers: IntArray = np.zeros(0, dtype=np.intp)
        self._simulated = np.zeros(len(tree), dtype=bool)
        self._leaders: dict[int, IntArray] = {}
        """All nodes of simulated bodies above followers, which move within them."""
        self._anchors = [
            node
            for node in world.plan.articulations.moving_anchors
            if node not in world.plan.bodies.bodies
        ]
        self._carried = CarriedColliders(world)

    @property
    def moves_anything(self) -> bool:
        """True if there are animations, deforming colliders, or a graph that moves colliders."""
        return (
            len(self.animator.animations) > 0
            or len(self._deforming) > 0
            or self._graph_moves_bodies
        )

    @property
    def carries(self) -> bool:
        """True if kinematic bodies carry something that is animated within them."""
        return self._carried.are_any

    def before_step(self, time_step: float, world_from_node: FloatArray) -> None:
        """Set the targets of bodies and colliders after the animations have advanced.

        Args:
            time_step: Length of the coming step [s].
            world_from_node: Present matrices of all nodes, shape [node_count, 4, 4].
        """
        self._deforming.begin_step(world_from_node)
        is_jump = self.animator.move()
        players = self.animator.animations
        activity = tuple(self.animator.acted), [(p.is_active, p.is_ending) for p in players]
        if activity != self._activity:
            self._activity = activity
            self._choose()
        if not len(self._followers) and not self._anchors and not len(self._deforming):
            return
        now = world_from_node
        if self.carries or self._leaders:
            self.settle(now)
            now = self._carried.ahead(now, self._simulated, time_step, self._leaders)
        ahead = self.animator.compose_ahead(now, self._simulated)
        self._deforming.follow(ahead, time_step, is_jump=is_jump)
        self.animator.acted.clear()
        positions, rotations = self._rigid(ahead, self._followers)
        self._world.kinematic_targets.set_targets(
            positions, rotations, self.animator.jumped[self._followers]
        )
        for node in self._anchors:
            self._set_anchor(node, world_from_node, ahead, time_step)

    def settle(self, world_from_node: FloatArray) -> None:
        """Set colliders on kinematic bodies to the poses that these have now."""
        if self._carried.nodes:
            nodes = self._carried.nodes
            self._world.kinematic_targets.set_poses(
                nodes, *self._rigid(world_from_node, np.array(nodes, dtype=np.intp))
            )

    def restart(self) -> None:
        """Choose the followers anew after the animator has restored a state."""
        self._activity = None

    def _choose(self) -> None:
        """Choose the bodies and colliders that follow the active animations."""
        animator, bodies = self.animator, self._world.plan.bodies
        active, scaled = (np.zeros(len(self._tree), dtype=bool) for _ in range(2))
        for player in animator.animations:
            if player.is_active or player.is_ending:
                sampler = player.sampler
                active[sampler.translation_nodes] = active[sampler.rotation_nodes] = True
                scaled[sampler.scale_nodes] = True
        # A scale moves the children of its node, not the node.
        active |= (self._tree.parents >= 0) & scaled[self._tree.parents]
        moved = self._tree.nearest_at_or_above(active) >= 0
        if animator.acted:
            moved_by_graph = np.zeros(len(self._tree), dtype=bool)
            moved_by_graph[list(animator.acted)] = True
            moved |= self._tree.nearest_at_or_above(moved_by_graph) >= 0
        statics = [
            static.node
            for static in bodies.statics
            if (moved[static.node] or static.owner >= 0) and not static.deforms
        ]
        followers = [
            node
            for node, plan in bodies.bodies.items()
            if self._world.kinematic_targets.is_possible(node)
            and (animator.driven[node] or (plan.kind is not MotionKind.DYNAMIC and moved[node]))
        ]
        self._world.kinematic_targets.choose(statics, followers)
        self._followers = np.array([*statics, *followers], dtype=np.intp)
        self._simulated[:] = False
        self._simulated[[node for node in bodies.bodies if node not in set(followers)]] = True
        motion_node_of = self._world.plan.motion_node_of
        parents = self._tree.parents[np.array(followers, dtype=np.intp)]
        above = {int(motion_node_of[parent]) for parent in parents if parent >= 0}
        self._leaders = {
            owner: np.flatnonzero(motion_node_of == owner)
            for owner in sorted(above - {-1})
            if self._simulated[owner]
        }

    @cached_property
    def _node_from_scaled(self) -> FloatArray:
        """Inverse of each node's scale and shear at load, shape [node_count, 3, 3]."""
        inverses = np.linalg.pinv(self._frames_at_load.linear_maps())
        return inverses.astype(np.float64, copy=False)

    def _rigid(self, matrices: FloatArray, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return positions (k, 3) and rotations xyzw (k, 4) of nodes, without scale."""
        linear = matrices[nodes, :3, :3] @ self._node_from_scaled[nodes]
        rotations, _, _ = split_linear(linear)
        return matrices[nodes, :3, 3], rotations

    def _set_anchor(self, node: int, now: FloatArray, ahead: FloatArray, time_step: float) -> None:
        only = np.array([node], dtype=np.intp)
        (position,), (rotation,) = self._rigid(now, only)
        (next_position,), (next_rotation,) = self._rigid(ahead, only)
        turn = quat_multiply(next_rotation, quat_conjugate(rotation))
        self._world.anchors.set_motion(
            node,
            position,
            rotation,
            (next_position - position) / time_step,
            rotation_vector_from_quat(turn) / time_step,
        )
