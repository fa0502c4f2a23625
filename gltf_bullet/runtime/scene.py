"""One instance of an asset in one PyBullet world: created whole, stepped in sync, removed whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.camera import PixelArray, render
from gltf_bullet.bullet.client import (
    PhysicsClient,
    engine_settings,
    require_client,
    step_simulation,
)
from gltf_bullet.bullet.gravity_forces import GravityForces
from gltf_bullet.bullet.plan import BodyPlan
from gltf_bullet.bullet.queries import RayHit, cast_rays
from gltf_bullet.bullet.snapshots import EngineSnapshot
from gltf_bullet.bullet.triggers import TriggerMemory
from gltf_bullet.bullet.visual_plan import NO_VISUALS, VisualPlans
from gltf_bullet.bullet.world import World, WorldState
from gltf_bullet.bullet.world_plan import WorldPlan, plan_world, within
from gltf_bullet.diagnostics import Diagnostics, Issue, JsonPointer, Severity
from gltf_bullet.errors import InvalidAssetError, SceneRemovedError, TranslationError
from gltf_bullet.model import MotionKind, PhysicsScene, may_collide
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.animation_driver import AnimationDriver
from gltf_bullet.runtime.animation_players import Animations, PlayerState
from gltf_bullet.runtime.animator import Animator
from gltf_bullet.runtime.asset import Asset
from gltf_bullet.runtime.collision_meshes import collision_mesh
from gltf_bullet.runtime.export import NodePose, write_posed
from gltf_bullet.runtime.handles import Body, ByNode, Nodes, NodeView
from gltf_bullet.runtime.node_sync import NodeSync
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.render_meshes import plan_visuals
from gltf_bullet.runtime.trigger_events import TriggerEvent, TriggerReports, TriggerView
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray, decompose_trs

__all__ = ["Scene", "SceneState"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneState:
    """A moment of a scene; treat as opaque. Picklable."""

    engine: EngineSnapshot
    world: WorldState
    players: tuple[PlayerState, ...]
    time: float
    matrices: FloatArray
    triggers: TriggerMemory


class Scene:
    """A loaded asset. Make one with :func:`gltf_bullet.load_gltf` or ``Asset.instantiate``.

    All public poses, points and velocities are in the Bullet world, in metres and seconds.
    """

    def __init__(
        self,
        asset: Asset,
        client_id: int,
        *,
        physics: PhysicsScene,
        plan: WorldPlan,
        visuals: VisualPlans,
        placement: Placement,
        frames: NodeFrames,
        options: LoadOptions,
        issues: tuple[Issue, ...],
    ) -> None:
        """Create everything in ``plan``; on failure nothing stays in the world."""
        self.asset = asset
        self.client_id = client_id
        """The PyBullet world."""
        self.physics = physics
        """The model of what is simulated here."""
        self.options = options
        self.issues = issues
        """Findings of reading and translating, in the order of discovery."""
        self._placement = placement
        self._time = 0.0
        self._removed = False
        self._at_start: SceneState | None = None
        self._listeners: list[Callable[[], object]] = []
        self._world = World(client_id, plan, asset.tree, options, visuals)
        self.animations = Animations(asset.animations, play=options.play_animations)
        """The file's animations: play, pause, stop, seek, speed, loop, time of each."""
        animator = Animator(asset.tree, self.animations, placement.matrix)
        self._driver = AnimationDriver(animator, self._world, asset.tree, frames)
        self._sync = NodeSync(
            asset.tree,
            frames,
            self._world.body_nodes,
            animator.local,
            animator.animated,
            placement.matrix,
        )
        self.nodes = Nodes(self)
        """All nodes of the file, in file order."""
        self.bodies: ByNode[Body] = ByNode(
            {node: self._body(body) for node, body in plan.bodies.bodies.items()}, asset.tree.names
        )
        """Bodies by node index or name."""
        self._reports, self._gravity = self._create_fields(frames)
        self._events: tuple[TriggerEvent, ...] = ()
        self.triggers: ByNode[TriggerView] = ByNode(
            {node: TriggerView(self, self._reports, node) for node in plan.triggers.nodes},
            asset.tree.names,
        )
        """Triggers by node index or name; the parts of a compound are in the compound."""

    def _create_fields(self, frames: NodeFrames) -> tuple[TriggerReports, GravityForces]:
        maps, world_from_node = frames.linear_maps(), frames.world_from_node
        try:
            triggers = self._world.create_triggers(maps, world_from_node)
            gravity = self._world.create_gravity(
                maps, world_from_node, self._placement.rotation_xyzw
            )
            return TriggerReports(triggers), gravity
        except BaseException:
            self._world.remove()
            raise

    def _body(self, plan: BodyPlan) -> Body:
        body_id, link_index = self._world.link_of(plan.node)
        return Body(
            self,
            node=plan.node,
            body_id=body_id,
            link_index=link_index,
            kind=plan.kind,
            mass=plan.mass,
        )

    @staticmethod
    def create(
        asset: Asset,
        physics_client: PhysicsClient,
        *,
        placement: Placement,
        scene_index: int | None,
        options: LoadOptions,
    ) -> Scene:
        """Plan and create; see :func:`gltf_bullet.load_gltf` for the arguments and errors."""
        client_id = require_client(physics_client)
        tree = asset.tree
        if scene_index is not None and not 0 <= scene_index < len(tree.scenes):
            raise ValueError(
                f"scene_index is {scene_index}; the file has {len(tree.scenes)} scenes"
            )
        frames = NodeFrames.at_load(tree, placement.matrix, placement.rotation_xyzw)
        physics = within(asset.physics, tree.nodes_of_scene(scene_index))
        diagnostics = Diagnostics()
        plan = plan_world(
            physics,
            tree,
            frames,
            lambda shape: collision_mesh(
                shape, asset.document, frames.world_from_node, diagnostics
            ),
            options,
            diagnostics,
            asset.animated_nodes(running=options.play_animations),
        )
        visuals = NO_VISUALS
        if options.visuals == "mesh":
            visuals = plan_visuals(
                asset.document, frames, plan.motion_node_of, scene_index, diagnostics
            )
        if diagnostics.has_errors:
            raise InvalidAssetError(asset.path, diagnostics.issues)
        lost = [issue for issue in diagnostics if issue.severity is Severity.WARNING]
        if options.strict and lost:
            raise TranslationError(asset.path, lost)
        return Scene(
            asset,
            client_id,
            physics=physics,
            plan=plan,
            visuals=visuals,
            placement=placement,
            frames=frames,
            options=options,
            issues=(*asset.issues, *diagnostics.issues),
        )

    # --- stepping -----------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time since load [s]."""
        return self._time

    def step(self, count: int = 1) -> None:
        """Advance the world by ``count`` time steps of the engine, in sync with the nodes.

        Everything in the world advances; with several scenes in one world, or bodies of your own
        to steer, call :meth:`before_step` and :meth:`after_step` around your own
        ``stepSimulation``.

        Raises:
            SceneRemovedError: After :meth:`remove`.
            EngineError: The client was disconnected.
        """
        events: list[TriggerEvent] = []
        for _ in range(count):
            self.before_step()
            step_simulation(self.client_id)
            self.after_step()
            events += self._events
        self._events = tuple(events)

    def before_step(self) -> None:
        """Apply forces, motors and kinematic velocities for the coming ``stepSimulation``."""
        self.require_alive()
        if self._at_start is None:
            self._at_start = self.save_state()
        settings = engine_settings(self.client_id)
        if self._driver.has_work:
            self._driver.before_step(settings.time_step, self._sync.world_from_node)
        self._gravity.before_step(settings.gravity, self._sync.world_from_node)
        self._world.before_step(settings)

    def after_step(self) -> None:
        """Read the bodies, refresh all node transforms, advance :attr:`time`."""
        self.require_alive()
        settings = engine_settings(self.client_id)
        time_step = settings.time_step
        self._time += time_step
        self._world.after_step(settings)
        self._sync.update(*self._world.world_from_bodies())
        self._reports.after_step(
            self._sync.world_from_node,
            time=self._time,
            time_step=time_step,
            gone=self._world.free.gone,
        )
        self._events = self._reports.events
        self._reports.notify()
        for listener in tuple(self._listeners):
            listener()

    def on_step(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` at the end of every :meth:`after_step`; returns what ends it."""
        self._listeners.append(callback)

        def end() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return end

    # --- triggers -----------------------------------------------------------------------------

    @property
    def events(self) -> tuple[TriggerEvent, ...]:
        """What triggers noticed, in order: in all engine steps of the last :meth:`step` call.

        Where you step the world yourself: in the step before the last :meth:`after_step`. A body
        that stands in a trigger at load enters it in the first step.
        """
        return self._events

    def on_trigger(self, callback: Callable[[TriggerEvent], object]) -> Callable[[], None]:
        """Call ``callback`` with every event, at the end of the step that noticed it.

        Nodes and :attr:`triggers` are up to date by then. Returns a function that ends it.
        """
        return self._reports.subscribe(callback)

    # --- nodes --------------------------------------------------------------------------------

    @property
    def node_matrices(self) -> FloatArray:
        """world_from_node of all nodes, read-only view, shape [node_count, 4, 4]."""
        view = self._sync.world_from_node.view()
        view.setflags(write=False)
        return view

    def node(self, key: int | str) -> NodeView:
        """A node by index or by name.

        Raises:
            KeyError: No node, or more than one, has that name.
            IndexError: The file has no such node.
        """
        if isinstance(key, int):
            return self.nodes[key]
        names = self.asset.tree.names
        found = [index for index, name in enumerate(names) if name == key]
        if len(found) != 1:
            raise KeyError(f"{key!r} names {len(found)} nodes; use an index: {found}")
        return NodeView(self, found[0])

    def world_from_node(self, node: int | str) -> FloatArray:
        """A node's global transform in the Bullet world, scale included; a copy, shape [4, 4]."""
        matrix: FloatArray = self._sync.world_from_node[self.node(node).index].copy()
        return matrix

    @property
    def moving_nodes(self) -> npt.NDArray[np.intp]:
        """Nodes that physics or an animation sets, ascending; others only follow."""
        animated = np.flatnonzero(self._driver.animator.animated)
        return np.union1d(self._world.body_nodes, animated)

    def local_matrices(self, nodes: npt.NDArray[np.intp]) -> FloatArray:
        """parent_from_node of some nodes now, shape [k, 4, 4]."""
        parents = self.asset.tree.parents[nodes]
        above = self._sync.world_from_node[parents]
        above[parents < 0] = self._placement.matrix
        return np.asarray(np.linalg.solve(above, self._sync.world_from_node[nodes]), np.float64)

    def local_poses(
        self, nodes: npt.NDArray[np.intp], local_matrices: FloatArray
    ) -> dict[int, NodePose]:
        """Local transforms as glTF stores them, by node.

        Args:
            nodes: Shape [k].
            local_matrices: Their parent_from_node, shape [k, 4, 4].
        """
        translations, rotations, scales = decompose_trs(local_matrices)
        return {
            node: NodePose(translations[k], rotations[k], scales[k])
            for k, node in enumerate(nodes.tolist())
        }

    def export_glb(self, path: str | os.PathLike[str]) -> None:
        """Write the file with the present pose and velocities; all else stays as it was.

        Args:
            path: Ends in ``.glb`` or ``.gltf``; buffers and images go into the file.

        Raises:
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        self.require_alive()
        nodes = self.moving_nodes
        write_posed(
            self.asset.document,
            path,
            poses=self.local_poses(nodes, self.local_matrices(nodes)),
            velocities=dict(self._node_velocities()),
        )

    def _node_velocities(
        self,
    ) -> Iterator[tuple[JsonPointer, tuple[list[float], list[float]]]]:
        """Velocities in node space by motion object, as the dialects write them."""
        for node, motion in self.physics.motions.items():
            if motion.kind is MotionKind.STATIC or not motion.pointer:
                continue
            linear, angular = self._world.velocities_of(node)
            node_from_world = self._world.rotation_of(node).T
            yield (
                motion.pointer,
                ((node_from_world @ linear).tolist(), (node_from_world @ angular).tolist()),
            )

    def local_matrix(self, node: int) -> FloatArray:
        """parent_from_node now, shape [4, 4]."""
        return self._sync.local_matrix(node, self._placement.matrix)

    # --- bodies -------------------------------------------------------------------------------

    def body_of(self, node: int | str) -> Body | None:
        """The body that carries a node: nearest motion at or above it; ``None`` without one."""
        owner = int(self._world.plan.motion_node_of[self.node(node).index])
        return self.bodies.get(owner)

    def velocities_of(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Velocity of the centre of mass [m/s] and spin [rad/s] of a motion node, world axes."""
        self.require_alive()
        return self._world.velocities_of(node)

    def apply_impulse(
        self,
        node: int | str,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """rigid_body/applyImpulse: change the velocity of the node's body at once.

        Does nothing for a node without a dynamic body at or above it, as the text says.

        Args:
            node: Index or name.
            linear: [N s] at the centre of mass, world axes.
            angular: [N m s], world axes.
        """
        self.require_alive()
        body = self.body_of(node)
        if body is not None:
            self._world.apply_impulse(body.node, linear, angular)

    def apply_point_impulse(
        self, node: int | str, impulse: Sequence[float], position: Sequence[float]
    ) -> None:
        """rigid_body/applyPointImpulse: an impulse [N s] at a point of the world [m]."""
        body = self.body_of(node)
        if body is None:
            return
        arm = np.asarray(position, dtype=np.float64) - body.center_of_mass
        force = np.asarray(impulse, dtype=np.float64)
        self.apply_impulse(node, force.tolist(), np.cross(arm, force).tolist())

    # --- queries ------------------------------------------------------------------------------

    def ray_cast(
        self, start: Sequence[float], end: Sequence[float], collision_filter: int = -1
    ) -> RayHit | None:
        """rigid_body/rayCast: the nearest collider of this scene on a segment, or ``None``.

        Triggers are not hit, nor are bodies that do not belong to the scene.

        Args:
            start: World [m].
            end: World [m].
            collision_filter: Index into the file's ``collisionFilters`` that the ray obeys; -1:
                none.

        Raises:
            IndexError: The file has no such filter.
        """
        return self.ray_cast_batch([start], [end], collision_filter)[0]

    def ray_cast_batch(
        self,
        starts: Sequence[Sequence[float]],
        ends: Sequence[Sequence[float]],
        collision_filter: int = -1,
    ) -> list[RayHit | None]:
        """Many :meth:`ray_cast` at once; starts and ends of shape [ray_count, 3]."""
        self.require_alive()
        ray_filter = None
        if collision_filter >= 0:
            ray_filter = self.physics.collision_filters[collision_filter]
        colliders = self.physics.colliders
        return cast_rays(
            self.client_id,
            self._world.colliders,
            np.array(starts, dtype=np.float64).reshape(-1, 3),
            np.array(ends, dtype=np.float64).reshape(-1, 3),
            lambda node: may_collide(ray_filter, colliders[node].filter),
        )

    def render(self, width: int = 800, height: int = 600) -> PixelArray:
        """A picture of the world, framed on this scene; RGB, shape [height, width, 3].

        What is seen of the scene is chosen by :attr:`LoadOptions.visuals`.
        """
        self.require_alive()
        return render(
            self.client_id,
            self._world.body_ids,
            moving_ids={body.body_id for body in self.bodies.values()},
            up=self._placement.up,
            width=width,
            height=height,
        )

    # --- state --------------------------------------------------------------------------------

    def save_state(self) -> SceneState:
        """Everything that changes: engine, motors, friction, animations, time; picklable.

        The engine's part covers the whole PyBullet world, as ``pybullet.saveState`` does: restoring
        puts other bodies in it back as well.
        """
        self.require_alive()
        return SceneState(
            engine=EngineSnapshot(self.client_id),
            world=self._world.state(),
            players=self._driver.animator.state(),
            time=self._time,
            matrices=self._sync.world_from_node.copy(),
            triggers=self._reports.memory(),
        )

    def restore_state(self, state: SceneState) -> None:
        """Go back to a saved state of this asset, in this process or another.

        With ``deterministicOverlappingPairs=1`` in the engine the replay is identical to the bit.

        Raises:
            EngineError: The world holds other bodies than the saved one.
        """
        self.require_alive()
        self._world.restore(state.world, state.engine)
        self._driver.restore(state.players)
        self._time = state.time
        self._sync.world_from_node[:] = state.matrices
        self._reports.recall(state.triggers, state.matrices)
        self._events = ()

    def reset(self) -> None:
        """Go back to the state at the first step (or, before any step, do nothing).

        Like :meth:`restore_state` this puts back the whole PyBullet world.
        """
        if self._at_start is not None:
            self.restore_state(self._at_start)

    # --- life ---------------------------------------------------------------------------------

    def remove(self) -> None:
        """Take every body of this scene out of the world; later use raises. Twice is harmless."""
        if self._removed:
            return
        self._removed = True
        self._world.remove()

    def require_alive(self) -> None:
        """Raise where the scene is gone.

        Raises:
            SceneRemovedError: After :meth:`remove`.
        """
        if self._removed:
            raise SceneRemovedError(f"the scene of {self.asset.path} was removed")

    def __repr__(self) -> str:
        return (
            f"Scene({self.asset.path!r}, client={self.client_id}, bodies={len(self.bodies)}, "
            f"time={self._time:.4g})"
        )
