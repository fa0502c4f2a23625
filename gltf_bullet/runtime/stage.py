"""What one plan put into a world, moved in step with the node tree.

A :class:`Scene` has one stage at a time. A change that the engine cannot take in place (a centre of
mass, the size of a shape) makes a new stage from where everything stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.client import EngineSettings
from gltf_bullet.bullet.rendering.visuals import ShownLink, move_links
from gltf_bullet.bullet.state.body_states import BodyStates
from gltf_bullet.bullet.state.snapshots import EngineSnapshot
from gltf_bullet.bullet.triggers.triggers import TriggerMemory, Triggers
from gltf_bullet.bullet.world.engine_world import EngineWorld, EngineWorldState
from gltf_bullet.model import MotionKind, PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.animation.animator import Animator
from gltf_bullet.runtime.animation.driver import AnimationDriver
from gltf_bullet.runtime.animation.players import PlayerState
from gltf_bullet.runtime.asset import Asset
from gltf_bullet.runtime.node_sync import NodeSync
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.planning import ScenePlan
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray, matrices_from_quats, split_linear

__all__ = ["Stage", "StageState"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StageState:
    """A moment of a stage; treat as opaque. Picklable."""

    engine: EngineSnapshot | BodyStates
    world: EngineWorldState
    players: tuple[PlayerState, ...]
    matrices: FloatArray
    triggers: TriggerMemory
    frames: NodeFrames
    """What the bodies were made from: only bodies made alike go on alike, to the last bit."""
    local: FloatArray
    """parent_from_node of all nodes, as edited and animated, shape [node_count, 4, 4]."""


class Stage:
    """Bodies, triggers and node transforms of one scene."""

    def __init__(
        self,
        asset: Asset,
        client_id: int,
        plan: ScenePlan,
        animator: Animator,
        placement: Placement,
        options: LoadOptions,
    ) -> None:
        """Create everything in ``plan``; on failure nothing stays in the world.

        Raises:
            EngineError: PyBullet refused something.
        """
        frames = plan.frames
        self.plan = plan
        self._tree = asset.tree
        self._placement = placement
        self._maps = frames.linear_maps()
        self.world = EngineWorld(client_id, plan.world, asset.tree, options, plan.visuals)
        try:
            self.triggers: Triggers = self.world.create_triggers(self._maps, frames.world_from_node)
            self._gravity = self.world.create_gravity(
                self._maps, frames.world_from_node, placement.rotation_xyzw
            )
        except BaseException:
            self.world.remove()
            raise
        self._carried = [s for s in self.world.shown if s.visual.carrier is not None]
        """Meshes that follow an animated node without a body."""
        self.driver = AnimationDriver(animator, self.world, asset.tree, frames)
        self._sync = NodeSync(
            asset.tree,
            frames,
            self.world.body_nodes,
            animator.local,
            animator.animated,
            placement.matrix,
        )

    # --- the step -----------------------------------------------------------------------------

    def before_step(self, settings: EngineSettings) -> None:
        """Apply animations, forces, motors and kinematic velocities for the coming step."""
        if self.driver.has_work:
            self.driver.before_step(settings.time_step, self._sync.world_from_node)
        # Before the world: the joints' solve asks for these forces.
        self._gravity.before_step(settings.gravity, self._sync.world_from_node)
        self.world.before_step(settings)

    def after_step(self, settings: EngineSettings) -> None:
        """Note what the step did to the bodies; :meth:`refresh` places the nodes."""
        self.world.after_step(settings)

    @property
    def steps_by_nodes(self) -> bool:
        """Whether a step needs the bodies read, or the nodes placed, after the step before."""
        return (
            self.driver.has_work
            or not self.triggers.is_idle
            or not self._gravity.is_idle
            or self.world.free.watches_spins
        )

    def refresh(self) -> None:
        """Read the bodies and place all nodes, without a step."""
        self._sync.update(*self.world.world_from_bodies())
        self._move_scenery()

    def _move_scenery(self) -> None:
        if self._carried:
            move_links(self.world.client_id, self._carried, self.shown_matrices(self._carried))

    def shown_matrices(self, links: Sequence[ShownLink]) -> FloatArray:
        """Where shown meshes stand, rigid, shape [len(links), 4, 4]."""
        result = np.tile(np.eye(4), (len(links), 1, 1))
        for number, link in enumerate(links):
            if link.owner is None:
                result[number] = link.visual.world_from_mesh.matrix()
        carried = [number for number, link in enumerate(links) if link.owner is not None]
        owners = [link.owner for link in links if link.owner is not None]
        if owners:
            rotated = self.world_from_node[owners][:, :3, :3] @ np.linalg.pinv(self._maps[owners])
            rotations, _, _ = split_linear(rotated)
            result[carried, :3, :3] = matrices_from_quats(rotations)
            result[carried, :3, 3] = self.world_from_node[owners][:, :3, 3]
        return result

    @property
    def has_engine_gravity(self) -> bool:
        """Whether the engine's gravity is all there is."""
        return self._gravity.is_idle

    # --- nodes --------------------------------------------------------------------------------

    @property
    def world_from_node(self) -> FloatArray:
        """Where all nodes stand, scale included, shape [node_count, 4, 4]."""
        return self._sync.world_from_node

    @property
    def moving_nodes(self) -> npt.NDArray[np.intp]:
        """Nodes that physics or an animation sets, ascending; others only follow."""
        animated = np.flatnonzero(self.driver.animator.animated)
        return np.union1d(self.world.body_nodes, animated)

    def local_matrices(self, nodes: npt.NDArray[np.intp]) -> FloatArray:
        """parent_from_node of some nodes now, shape [k, 4, 4]."""
        parents = self._tree.parents[nodes]
        above = self.world_from_node[parents]
        above[parents < 0] = self._placement.matrix
        return np.asarray(np.linalg.solve(above, self.world_from_node[nodes]), np.float64)

    def frames_now(self) -> NodeFrames:
        """Where the nodes stand, to plan from."""
        rotated = self.world_from_node[:, :3, :3] @ np.linalg.pinv(self._maps)
        rotations, _, _ = split_linear(rotated)
        return NodeFrames(self.world_from_node.copy(), rotations)

    def frames_with(self, node: int, parent_from_node: FloatArray) -> NodeFrames:
        """Where the nodes stand when one gets another local transform, shape [4, 4].

        What hangs on it goes along, but for bodies: they stand in the world on their own.
        """
        world = self.world_from_node.copy()
        bodies = set(self.world.body_nodes.tolist())
        local = self.driver.animator.local
        parent = int(self._tree.parents[node])
        above = self._placement.matrix if parent < 0 else world[parent]
        world[node] = above @ parent_from_node
        for below in self._tree.descendants(node):
            if below not in bodies:
                world[below] = world[self._tree.parents[below]] @ local[below]
        maps = self._maps.copy()
        rotated = world[:, :3, :3] @ np.linalg.pinv(maps)
        rotations, _, _ = split_linear(rotated)
        return NodeFrames(world, rotations)

    def teleports(self, node: int, frames: NodeFrames) -> bool:
        """Put the free body of a node where ``frames`` have it, if that is all that changes."""
        same_size = np.allclose(frames.linear_maps()[node], self._maps[node], atol=1e-6)
        if not same_size or node not in self.plan.world.bodies.bodies:
            return False
        return self.world.teleport(node, frames.pose(node))

    # --- state --------------------------------------------------------------------------------

    def moving_physics(self, before: PhysicsScene, after: PhysicsScene) -> PhysicsScene:
        """``after`` with the velocities that the bodies have now, for a stage to follow.

        Velocities that ``after`` states otherwise than ``before`` are taken as they are.
        """
        motions = dict(after.motions)
        for node, motion in after.motions.items():
            old = before.motions.get(node)
            if motion.kind is not MotionKind.DYNAMIC or old is None:
                continue
            linear, angular = self.velocities_in_node(node)
            if motion.linear_velocity == old.linear_velocity:
                motion = replace(motion, linear_velocity=linear)
            if motion.angular_velocity == old.angular_velocity:
                motion = replace(motion, angular_velocity=angular)
            motions[node] = motion
        return replace(after, motions=motions)

    def velocities_in_node(
        self, node: int
    ) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Velocity [m/s] and spin [rad/s] of a body in its node's axes, as files hold them."""
        linear, angular = self.world.velocities_of(node)
        node_from_world = self.world.rotation_of(node).T
        vx, vy, vz = (node_from_world @ linear).tolist()
        wx, wy, wz = (node_from_world @ angular).tolist()
        return (vx, vy, vz), (wx, wy, wz)

    def state(self, *, own_bodies_only: bool = False) -> StageState:
        """Everything that changes, but the scene's clock; of the whole world or of our bodies."""
        client_id = self.world.client_id
        if not own_bodies_only:
            self.world.renew_contacts()
        return StageState(
            engine=BodyStates(client_id, self.world.body_ids)
            if own_bodies_only
            else EngineSnapshot(client_id),
            world=self.world.state(),
            players=self.driver.animator.state(),
            matrices=self.world_from_node.copy(),
            triggers=self.triggers.memory(),
            frames=self.plan.frames,
            local=self.driver.animator.local.copy(),
        )

    def was_made_from(self, frames: NodeFrames) -> bool:
        """Whether the bodies were made where, and as large as, ``frames`` have them."""
        mine = self.plan.frames
        return frames is mine or (
            np.array_equal(frames.world_from_node, mine.world_from_node)
            and np.array_equal(frames.rotations_xyzw, mine.rotations_xyzw)
        )

    def restore(self, state: StageState) -> None:
        """Take back a :meth:`state` of this stage or an equal one."""
        self.world.restore(state.world, state.engine)
        self.driver.restore(state.players)
        self._sync.world_from_node[:] = state.matrices
        self._move_scenery()

    def remove(self) -> None:
        """Take everything out of the world."""
        self.world.remove()
