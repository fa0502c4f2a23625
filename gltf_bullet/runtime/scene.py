"""The public scene: nodes, bodies, joints, triggers, queries, pointers, pictures.

The file is long because all that users do with a scene is methods of one class.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gltf_bullet.bullet.contacts.contact_points import Contacts
from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.bullet.rendering.pictures import Renderer
from gltf_bullet.bullet.session import PhysicsClient, engine_session, require_client
from gltf_bullet.bullet.world.ray_casts import RayHit
from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import Issue
from gltf_bullet.number_ranges import WORLD, finite_vector
from gltf_bullet.options import LoadOptions
from gltf_bullet.records import replace
from gltf_bullet.rendering.camera import Camera
from gltf_bullet.runtime.animation.players import Animations
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.recent import recent_translation
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.scene_state import SceneState, require_own
from gltf_bullet.runtime.step_program import StepProgram
from gltf_bullet.runtime.trigger_reports import TriggerEvent, require_callable
from gltf_bullet.runtime.views.bodies import Body
from gltf_bullet.runtime.views.export import write_pose
from gltf_bullet.runtime.views.joints import JointView, Targets, set_drive_targets
from gltf_bullet.runtime.views.nodes import ByNode, Nodes, NodeView
from gltf_bullet.runtime.views.pictures import CameraView, Picture, Pictures
from gltf_bullet.runtime.views.pointers import get_value, set_value
from gltf_bullet.runtime.views.posing import inverse_kinematics
from gltf_bullet.runtime.views.ray_casts import cast_filtered_rays
from gltf_bullet.runtime.views.restart import restart
from gltf_bullet.runtime.views.saving import save_settings
from gltf_bullet.runtime.views.triggers import TriggerView
from gltf_bullet.runtime.worlds.live_scenes import LiveScenes, scenes_among
from gltf_bullet.transforms import FloatArray

if TYPE_CHECKING:
    from gltf_bullet.runtime.acting.acting import Acting
    from gltf_bullet.runtime.acting.behavior_view import BehaviorView

V = TypeVar("V")


@holds_world_lock(
    "core.session.lock",
    apart=frozenset(("step", "before_step", "after_step", "is_removed", "time", "events")),
)
class Scene:
    """A loaded asset, made by :func:`gltf_bullet.load_gltf` or ``Asset.instantiate``.

    All public poses, points and velocities are in the Bullet world, in metres and seconds. What
    reads or changes it raises ``SceneRemovedError`` after :meth:`remove`, ``WorldChangedError``
    after ``disconnect``, ``resetSimulation`` or a foreign ``removeBody`` of one of its bodies.
    """

    def __init__(
        self,
        asset: AssetContent,
        physics_client: PhysicsClient,
        placement: Placement,
        options: LoadOptions,
    ) -> None:
        """Plan and create; see :func:`gltf_bullet.load_gltf` for the arguments and errors."""
        client_id = require_client(physics_client)
        if is_acting := asset.acts and options.behavior:
            # "They MUST NOT play automatically": the graph starts them.
            options = replace(options, play_animations=False)
        translation = recent_translation(asset, placement, options)
        session = engine_session(client_id)
        with session.lock:
            core = SceneCore(asset, session, translation, placement, options, set_value)
            session.shared(LiveScenes).add(core)
            self._program = session.shared(StepProgram)
            self._program.join(core)
            if is_acting:
                from gltf_bullet.runtime.acting.acting import acting_of

                core.acting = acting_of(core)
        self.core = core
        """Internals of the scene, for tools."""
        self.asset = asset
        """The file that the scene was loaded from."""
        self.client_id = client_id
        """Client id of the PyBullet world."""

    def __repr__(self) -> str:
        where = f"client={self.client_id}, bodies={len(self.bodies)}, time={self.core.time:.4g}"
        return f"Scene({self.asset.path!r}, {where})"

    def _repr_html_(self) -> str:
        from gltf_bullet.runtime.views.notebook import scene_page

        return scene_page(self.core, self.pictures, self.bodies)

    # --- views, made on first use: many scenes are only stepped -------------------------------

    @property
    def animations(self) -> Animations:
        """The file's animations: play, pause, stop, seek, speed, loop, time of each."""
        return self.core.followers.animations

    @cached_property
    def nodes(self) -> Nodes:
        """All nodes of the file, in file order."""
        return Nodes(self.core)

    @cached_property
    def bodies(self) -> ByNode[Body]:
        """Bodies by node index or name."""
        return self._views("bodies", Body, self.core.world.plan.bodies.bodies)

    @cached_property
    def joints(self) -> ByNode[JointView]:
        """Simulated joints by node index or name."""
        return self._views("joints", JointView, self.core.joint_controls.joint_nodes)

    @cached_property
    def triggers(self) -> ByNode[TriggerView]:
        """Triggers by node index or name; the parts of a compound are in the compound."""
        return self._views("triggers", TriggerView, self.core.world.plan.triggers.nodes)

    def _views(
        self, what: str, view: Callable[[SceneCore, int], V], at: Iterable[int]
    ) -> ByNode[V]:
        return ByNode(
            what, {node: view(self.core, node) for node in at}, self.core.asset.tree.names
        )

    @cached_property
    def pictures(self) -> Pictures:
        """Pictures for films and tools; use :meth:`render` for single ones."""
        return Pictures(self.core)

    @property
    def cameras(self) -> ByNode[CameraView]:
        """Cameras of the file by node index or name."""
        return self.pictures.cameras

    # --- stepping -----------------------------------------------------------------------------

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings of reading, translating and stepping, in the order of discovery."""
        return self.core.issues

    @property
    def time(self) -> float:
        """Simulated time since load [s].

        It counts steps. PyBullet's states hold no time: after ``pybullet.restoreState`` it goes
        on, after :meth:`restore_state` it is that of the state.
        """
        return self.core.time

    def step(self, count: int = 1, *, alone: bool = False) -> None:
        """Advance the world by ``count`` of its time steps, in sync with the nodes.

        Everything in the world advances, and all its scenes are stepped, in the order of their
        loading. With bodies of your own to control, call :meth:`before_step` and :meth:`after_step`
        around your own ``stepSimulation``. A step that is too long for the file is made of several
        engine steps, of always as many: see ``LoadOptions.substeps``.

        Args:
            count: Number of steps.
            alone: True to leave out the drives, limits and animations of all other scenes.

        Raises:
            SceneRemovedError: After :meth:`remove`.
            WorldChangedError: The world is not the one that the scene was loaded into.
        """
        core = self.core
        with core.session.lock:
            if alone:
                self._program.step_alone(core, count)
            else:
                self._program.step(core, count)

    def before_step(self) -> None:
        """Apply forces, motors and kinematic velocities for the coming ``stepSimulation``.

        It does so for all scenes in the world; further calls in the same step change nothing.
        """
        with self.core.session.lock:
            self._program.before_step(self.core)

    def after_step(self) -> None:
        """Read the bodies, update all node transforms and advance :attr:`time`, for all scenes."""
        with self.core.session.lock:
            self._program.after_step(self.core)

    # --- triggers -----------------------------------------------------------------------------

    @property
    def events(self) -> tuple[TriggerEvent, ...]:
        """The trigger events of the last :meth:`step` call, in order, in all its engine steps.

        If you step the world yourself: of the step before the last :meth:`after_step`. A body that
        overlaps a trigger at load enters it in the first step.
        """
        return self.core.events

    def on_trigger(self, callback: Callable[[TriggerEvent], object]) -> Callable[[], None]:
        """Call ``callback`` with every event, at the end of the step in which it occurs.

        Nodes and :attr:`triggers` are up to date then. It returns a function that ends it.

        Raises:
            TypeError: ``callback`` cannot be called.
        """
        self.core.require_alive()
        require_callable(callback)
        return self.core.reports.subscribe(callback)

    @property
    def node_matrices(self) -> FloatArray:
        """world_from_node of all nodes, a read-only view, shape [node_count, 4, 4]."""
        self.core.require_alive()
        view = self.core.followers.look().view()
        view.setflags(write=False)
        return view

    def node(self, key: int | str) -> NodeView:
        """Return a node by index or by name.

        Raises:
            KeyError: No node, or more than one, has that name.
            IndexError: The file has no such node.
        """
        return NodeView(self.core, self.nodes.index_of(key))

    def world_from_node(self, node: int | str) -> FloatArray:
        """Return a node's transform in the Bullet world, scale included; a copy, shape [4, 4].

        Raises:
            KeyError: No node, or more than one, has that name.
            IndexError: The file has no such node.
        """
        return self.node(node).world_matrix

    def export_glb(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the file with the present pose and velocities, but not values that were set.

        Masses, materials, limits, drives and shapes are those of the file: :meth:`save` writes
        the present ones. Nodes that have not moved are written as they were.

        Args:
            path: Ends in ``.glb`` or ``.gltf``; buffers and images go into the file.
            force: Write over the file that the scene was loaded from, too.

        Raises:
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix.
            OSError: The file cannot be written, or is the scene's own.
        """
        self.core.require_alive()
        write_pose(self.core, path, force=force)

    def save(
        self, path: str | os.PathLike[str], *, velocities: bool = False, force: bool = False
    ) -> None:
        """Write the file with every value that was set, by the same pointers, and nothing else.

        These are values of :meth:`set`, targets and gains of drives, and limits; joints that share
        a description get one of their own where their values differ now. Poses that the simulation
        or ``Body.position`` made are not among them, nor is what animations and graphs set:
        :meth:`export_glb` writes the present pose.

        Args:
            path: Ends in ``.glb`` or ``.gltf``; buffers and images go into the file.
            velocities: Write velocities that were set as well.
            force: Write over the file that the scene was loaded from, too.

        Raises:
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix, or the file's dialect cannot hold a value.
            OSError: The file cannot be written, or is the scene's own.
        """
        self.core.require_alive()
        save_settings(self.core, path, velocities=velocities, force=force)

    # --- bodies -------------------------------------------------------------------------------

    def body_of(self, node: int | str) -> Body | None:
        """Return the body that carries a node: nearest motion at or above it, or ``None``."""
        self.core.require_alive()
        return self.node(node).body

    @property
    def joint_controls(self) -> JointControls:
        """States, targets and limits of all joints, as arrays."""
        self.core.require_alive()
        return self.core.joint_controls

    def set_drive_targets(
        self,
        positions: Targets | None = None,
        velocities: Targets | None = None,
    ) -> None:
        """Set the targets of many drives at once.

        Args:
            positions: [m] or [rad], in the order of ``joint_controls.drives``, or by joint, where a
                joint with several drives takes a list; ``None`` keeps them, and so does a joint
                that is not named.
            velocities: [m/s] or [rad/s], likewise.

        Raises:
            KeyError: There is no joint of that name.
            ValueError: A wrong number of targets, or one that is not finite.
        """
        self.core.require_alive()
        set_drive_targets(self.core, self.joints, positions, velocities)

    def inverse_kinematics(
        self,
        node: int | str,
        position: Sequence[float],
        orientation: Sequence[float] | None = None,
    ) -> dict[int, float | tuple[float, ...]]:
        """Return positions of joints with which a node is somewhere; nothing moves.

        The joints are those between the node's body and the base of its mechanism, within their
        limits; they start from where they are. Out of reach the nearest is returned, with a
        ``RuntimeWarning`` that says how far off it is. It is for chains of axes: loops are not
        closed by it.

        Args:
            node: Index or name; any node that a jointed body carries, as a tool's tip.
            position: Where its origin should be in the world [m].
            orientation: How it should be turned in the world, xyzw; ``None``: it does not matter.

        Returns:
            :attr:`JointView.position` by joint node, as :meth:`set_drive_targets` takes them.

        Raises:
            KeyError: No node, or more than one, has that name.
            ValueError: No joint moves the node, a ball is among the joints, or a value is none.
        """
        self.core.require_alive()
        with self.core.engine_errors():
            index = self.nodes.index_of(node)
            return inverse_kinematics(self.core, index, position, orientation)

    def apply_impulse(
        self,
        node: int | str,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """rigid_body/applyImpulse: change the velocity of the node's body at once.

        Does nothing for a node without a dynamic body at or above it, as the specification states.

        Args:
            node: Index or name.
            linear: [N s] at the centre of mass, world axes; three finite numbers.
            angular: [N m s], world axes; likewise.
        """
        impulses = finite_vector("linear", linear), finite_vector("angular", angular)
        body = self.body_of(node)
        if body is not None:
            body.apply_impulse(*impulses)

    def apply_point_impulse(
        self, node: int | str, impulse: Sequence[float], position: Sequence[float]
    ) -> None:
        """rigid_body/applyPointImpulse: apply an impulse [N s] at a point of the world [m]."""
        given = finite_vector("impulse", impulse), finite_vector("position", position, WORLD)
        body = self.body_of(node)
        if body is not None:
            body.apply_point_impulse(*given)

    # --- queries ------------------------------------------------------------------------------

    def ray_cast(
        self, start: Sequence[float], end: Sequence[float], collision_filter: int = -1
    ) -> RayHit | None:
        """rigid_body/rayCast: find the nearest collider of this scene on a segment, or ``None``.

        Triggers are not hit, nor are bodies that do not belong to the scene.

        Args:
            start: Start in the world [m].
            end: End in the world [m].
            collision_filter: Index of the file's ``collisionFilters`` for the ray; -1: none.

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
        """Cast many rays as :meth:`ray_cast` does; starts and ends of shape [ray_count, 3]."""
        return cast_filtered_rays(self.core, starts, ends, collision_filter)

    def contacts(self, node: int | str | None = None) -> Contacts:
        """Return the contact points of the last step with glTF nodes on both sides, as arrays.

        It costs about a tenth of the step of a resting scene: call it when you need them.

        Args:
            node: Only contacts of the body that carries this node (or of this static collider),
                which is side a of all of them then; ``None``: all contacts of this scene.
        """
        self.core.require_alive()
        of = None if node is None else self.nodes.index_of(node)
        return self.core.world.contacts(of, self.core.asset.tree.names, self._name_of_others)

    def _name_of_others(self, body: int, link: int, point: Sequence[float]) -> str:
        """Return the name of another scene's collider at a point on a link; empty if nobody's."""
        for scene in scenes_among(self.client_id, [body]):
            if scene.core is not None:
                node = scene.core.world.colliders.node_at(body, link, point)
                names = scene.core.asset.tree.names
                return "" if node is None else names[node] or f"node {node}"
        return ""

    # --- state --------------------------------------------------------------------------------

    def save_state(self, *, own_bodies_only: bool = False) -> SceneState:
        """Return everything that changes: engine, drives, friction, animations, time; picklable.

        Args:
            own_bodies_only: The state of this scene alone, for many scenes in one world that start
                over on their own; contacts are no part of it and are found anew in the next step.
                Otherwise the engine's part covers the whole PyBullet world, as
                ``pybullet.saveState`` does: restoring puts other bodies in it back as well.
        """
        return self.core.save_state(own_bodies_only=own_bodies_only)

    def restore_state(self, state: SceneState) -> None:
        """Go back to a saved state of this asset, in this process or another.

        With ``deterministicOverlappingPairs=1`` in the engine the replay is identical to the bit.

        Raises:
            EngineError: The world holds other bodies than the saved one.
            TypeError: It is something else, as a number of ``pybullet.saveState``.
            ValueError: It is of another asset.
        """
        require_own(state, self.core.model.now, len(self.core.asset.tree))
        self.core.return_to(state, state.physics)

    def reset(self) -> None:
        """Go back to the state at the first step (or, before any step, do nothing).

        Like :meth:`restore_state` this restores the whole PyBullet world. If :meth:`set` has
        rebuilt bodies, the first step after that counts; effects of animations are reversed.

        Raises:
            RuntimeError: The scene is of an environment, which restores its states itself.
        """
        self.core.reset()

    def restart(self, state: SceneState, values: Mapping[str, Any]) -> None:
        """Do :meth:`restore_state`, then :meth:`set` for every pointer, to start an episode.

        Bodies are rebuilt at most once, and not at all if the same values can be set in place;
        twice if free bodies get other centres of mass or axes, joints other kinds of limits, or
        bodies other materials that need links of their own.

        Args:
            state: State of this scene or of another one of the asset.
            values: Values by pointer.

        Raises:
            KeyError: As for :meth:`set`; then values may be set in part.
            TypeError: A value is of another type, or the state is none.
            ValueError: A value is out of range, or the state is of another asset.
        """
        self.core.require_alive()
        require_own(state, self.core.model.now, len(self.core.asset.tree))
        restart(self.core, state, values)

    # --- pointers -----------------------------------------------------------------------------

    def get(self, pointer: str) -> Any:
        """Return the present value of an object-model pointer; vectors as arrays.

        Pointers are those of the specs' "Object Model" sections, for every dialect, and of the glTF
        object model: ``/nodes/{}/translation``, ``rotation``, ``scale`` and ``weights``, also
        ``globalMatrix`` (in the asset's space), what KHR_interactivity adds, and the file itself.

        Raises:
            KeyError: Nothing of the asset model is there.
        """
        self.core.require_alive()
        with self.core.engine_errors():
            return self._get(pointer)

    def _get(self, pointer: str) -> Any:
        acting = self.core.acting
        try:
            if acting is not None and acting.keeps(pointer):
                raise KeyError(pointer)
            return get_value(self.core, pointer)
        except KeyError:
            from gltf_bullet.runtime.acting.scene_host import found_value

            value = found_value(self.core, pointer)
            if value is None:
                raise
            return value

    def set(self, pointer: str, value: Any) -> None:
        """Change a mutable pointer; it acts in the engine at once.

        With a behavior graph, materials, lights and visibility can be set as well, for it to read.
        Velocities, masses, materials, drives, limits and a free body's pose are changed in place
        (masses: if the same bodies can have them). Anything else rebuilds the PyBullet bodies with
        their present poses and velocities: :attr:`bodies` has their new ids, and :meth:`reset` goes
        back to this state from then on.

        Raises:
            KeyError: Nothing of the asset model is there, or it is read-only.
            TypeError: The value is of another type.
            ValueError: The value is out of range.
        """
        self.core.require_alive()
        try:
            with self.core.engine_errors():
                set_value(self.core, pointer, value)
        except KeyError:
            if self.behavior is None or not self.behavior.keep(pointer, value):
                raise

    @cached_property
    def behavior(self) -> BehaviorView | None:
        """The file's behavior graph: variables, events, log; ``None`` without one."""
        acting = self.core.acting
        if acting is None:
            return None
        from gltf_bullet.runtime.acting.behavior_view import BehaviorView

        return BehaviorView(self.core, cast("Acting", acting))

    # --- pictures -----------------------------------------------------------------------------

    def render(
        self,
        camera: int | str | Camera | None = None,
        size: tuple[int, int] | None = None,
        *,
        renderer: Renderer = "tiny",
        shadows: bool = True,
        triggers: bool = False,
    ) -> Picture:
        """Draw what ``LoadOptions.visuals`` shows: colours, depths, glTF node per pixel.

        Moving bodies without a mesh are shown by their colliders, as in ``"auto"``.

        Args:
            camera: The node that carries a camera of the file (index or name), the name of such a
                camera, or a :class:`Camera`; ``None`` frames this scene.
            size: Width and height [pixels]; ``None``: 800 wide, as high as the camera asks for.
            renderer: ``"tiny"`` is PyBullet's software renderer; ``"hardware"`` OpenGL, in a client
                with a window or with the EGL plugin.
            shadows: Draw shadows; a picture without takes half the time.
            triggers: Blend their volumes over the colours; depths and nodes are those of what is
                behind.

        Raises:
            KeyError: There is no such camera, or several of that name.
            ValueError: The size is not one of a picture.
        """
        with self.core.engine_errors():
            return self.pictures.take(
                camera, size, renderer=renderer, shadows=shadows, triggers=triggers
            )

    def remove(self) -> None:
        """Remove every body of this scene from the world; later use raises. Twice is harmless."""
        if "pictures" in self.__dict__:
            self.pictures.close()
        self.core.remove()

    @property
    def is_removed(self) -> bool:
        """True after :meth:`remove`."""
        return self.core.is_removed
