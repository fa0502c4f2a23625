"""A running scene without its views: creation, stepping, rebuilding, saving, removal.

The file is long because these share the model, the bodies and the nodes of the scene, which must
change together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol, TypeAlias

import numpy as np

from gltf_bullet.bullet.bodies.unchanged_bodies import NONE_UNCHANGED, UnchangedBodies
from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.bullet.rendering.visuals import move_links
from gltf_bullet.bullet.session import EngineSession, EngineSettings
from gltf_bullet.bullet.state import BodyStates, EngineSnapshot
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.diagnostics import Issue, with_names
from gltf_bullet.errors import SceneRemovedError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.followers import Followers
from gltf_bullet.runtime.moving_model import begins_to_move, moved_as, with_cruises, with_velocities
from gltf_bullet.runtime.node_sync import NodeSync
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.runtime.skipped_steps import SkippedSteps
from gltf_bullet.runtime.start_states import SceneStart
from gltf_bullet.runtime.translation import Translation, translate
from gltf_bullet.runtime.trigger_reports import TriggerEvent, TriggerReports
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray, Parts

__all__ = ["PointerWriter", "SceneCore"]

# --- The simulated model: the file's physics with the edits of its users --------------------------


class SceneModel:
    """The simulated physics, changes by pointer included."""

    def __init__(self, at_load: PhysicsScene) -> None:
        self.at_load = at_load
        """The model of the file."""
        self.now = at_load
        """The present model."""
        self.placed: dict[tuple[int, str], tuple[float, ...]] = {}
        """Transforms and weights that users set, by node and property."""
        self.acted: set[str] = set()
        """Pointers that animations and graphs have set."""

    def edit(self, physics: PhysicsScene) -> None:
        """Replace the present model."""
        self.now = physics

    def take_tables(self, physics: PhysicsScene) -> None:
        """Replace a model by one that differs at most in parts that no body is made of."""
        if physics is not self.now and physics.tables != self.now.tables:
            self.edit(physics)


class SceneGraph(Protocol):
    """A behavior graph as a core uses it; its state is opaque."""

    @property
    def is_idle(self) -> bool: ...
    @property
    def issues(self) -> tuple[Issue, ...]: ...
    def before_step(self, time_step: float) -> None: ...
    def after_step(self, events: tuple[TriggerEvent, ...]) -> None: ...
    def find(self, pointer: str) -> Any: ...
    def keeps(self, pointer: str) -> bool: ...
    def moves_freely(self, node: int) -> bool: ...
    def state(self) -> object: ...
    def restore(self, state: Any, time: float) -> None: ...


PointerWriter: TypeAlias = Callable[["SceneCore", str, Any], None]
"""Sets an object-model pointer of a scene to a value, for animated pointers."""


class SceneCore:
    """A running scene; users have it as a :class:`~gltf_bullet.runtime.scene.Scene`."""

    def __init__(
        self,
        asset: AssetContent,
        session: EngineSession,
        translation: Translation,
        placement: Placement,
        options: LoadOptions,
        write_pointer: PointerWriter,
    ) -> None:
        """Create everything; on failure nothing stays in the world.

        Raises:
            EngineError: PyBullet refused something.
        """
        self.asset, self.session = asset, session
        self.options, self.placement = options, placement
        self.model = SceneModel(translation.physics(asset))
        """The simulated physics."""
        self._issues = (*asset.issues, *translation.issues)
        self.time = 0.0  # [s] since load
        self.events: tuple[TriggerEvent, ...] = ()
        """Trigger events of the last call of a step."""
        self.is_removed = False
        self._write_pointer = write_pointer
        self._start = SceneStart(self, session)
        self._divided: tuple[EngineSettings, int] | None = None
        """Settings of the world, and the number of engine steps in each step."""
        self.acting: SceneGraph | None = None
        """The file's behavior graph, set by ``Scene``."""
        self.listeners: list[Callable[[], object]] = []
        """Callbacks at the end of each step: see :meth:`on_step`."""
        self._when_removed: list[Callable[[], object]] = []
        self.followers = Followers(asset, placement, options, self.require_alive)
        world = self._engine_world(translation)
        try:
            self._take_over(world)
            self._issues += world.issues
            self.engine_steps(session.settings())  # named at load
            self.reports = TriggerReports(world.triggers, lambda: self.asset.tree.names)
            self._start.expect()
            self.skipped = SkippedSteps(self)
            """Counts engine steps without this scene."""
        except BaseException:  # Ctrl-C among others
            world.remove()
            raise

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings of reading, translating and stepping, in the order of discovery."""
        noticed = () if self.acting is None else self.acting.issues
        found = self.world.issues_of_steps + noticed + self.skipped.issues()
        return self._issues + (with_names(found, self.asset.tree.names) if found else ())

    def _engine_world(
        self, translation: Translation, kept: UnchangedBodies = NONE_UNCHANGED
    ) -> EngineWorld:
        """Create a translation's bodies in the world; on failure nothing stays."""
        plan, visuals, xyzw = translation.plan, translation.visuals, self.placement.rotation_xyzw
        tree, options = lambda: self.asset.tree, self.options
        return EngineWorld(self.session, plan, tree, options, visuals, xyzw, kept)

    def _take_over(self, world: EngineWorld) -> None:
        """Use ``world`` as this scene's, with nodes and animations that follow its bodies."""
        self.world = world  # the engine's side of this scene
        self._divided = None
        self.followers.follow(world, lambda: self.model.now)
        self._scenery = [s for s in world.shown_links.scenery if s.owner is not None]
        self._has_triggers = not world.triggers.is_idle
        is_driven = (
            self.followers.are_busy or world.triggers.needs_nodes or world.gravity is not None
        )
        self._is_busy = bool(is_driven or self._scenery)

    def rebuild(self, physics: PhysicsScene, frames: NodeFrames | None = None) -> None:
        """Rebuild the bodies from an edited model; :meth:`reset` goes back to this state then."""
        self._rebuild(physics, frames)
        self._start.forget()

    def _rebuild(self, physics: PhysicsScene, frames: NodeFrames | None = None) -> None:
        """Rebuild the bodies from a model, with their present poses and velocities.

        Bodies that differ get new PyBullet ids, the others stay; if nodes are put elsewhere, or the
        scene has joints, all get new ones. Contacts start anew. On failure the scene is unchanged.

        Args:
            physics: The edited model.
            frames: New frames of the nodes; ``None``: the present ones.

        Raises:
            InvalidAssetError: The edited model cannot be translated.
            EngineError: PyBullet refused.
        """
        self.require_alive()
        physics = self.joint_controls.with_drives(physics)
        speeds, is_driven = (
            self.world.motion.velocities_in_node,
            self.world.kinematic_targets.is_prescribed,
        )
        moving = with_velocities(physics, self.model.now, speeds, is_driven)
        wanted = with_cruises(physics, moving)
        if frames is not None or self.world.is_jointed:
            self._remake(wanted, moving, frames or self.nodes.frames_now(), on_trial=True)
            return
        frames, was = self.nodes.frames_now(), self.model.now
        try:
            self._remake(wanted, moving, frames, self._edited(was, physics))
        except BaseException:
            if not self.world.body_ids:  # they had to go before the engine refused
                self._remake(was, moved_as(was, moving), frames, on_trial=False)
            raise

    @staticmethod
    def _edited(before: PhysicsScene, now: PhysicsScene) -> list[int]:
        """Return the bodies whose motion differs."""
        return [k for k, motion in now.motions.items() if motion != before.motions.get(k)]

    def change_masses(self, physics: PhysicsScene) -> bool:
        """Change masses in place; return False if they need a rebuild."""
        if is_done := self.world.change_masses(self.model.now, physics):
            self.model.edit(physics)
            self._divided = None
        return is_done

    def _remake(
        self,
        physics: PhysicsScene,
        moving: PhysicsScene,
        frames: NodeFrames,
        edited: Sequence[int] | None = None,
        *,
        on_trial: bool = False,
    ) -> None:
        """Replace the bodies.

        Args:
            physics: The model.
            moving: The model with the initial velocities.
            frames: Frames of the nodes.
            edited: Bodies whose motion differs; others stay unless something else of them differs.
                ``None``: all are replaced.
            on_trial: Create all once beside the old ones first, so that nothing has changed if the
                engine refuses one.
        """
        translation = translate(
            self.asset,
            moving,
            frames,
            self.placement.scene_index,
            self.options,
            self.followers.animator.weights,
        ).require_usable(strict=self.options.strict)
        if on_trial:
            self._engine_world(translation).remove()
        self._issues += with_names(self.world.issues_of_steps, self.asset.tree.names)
        origins = self.session.origins_of(self.world.body_ids)
        before = self.nodes.world_from_node
        kept = NONE_UNCHANGED
        if edited is None:
            self.world.remove()
        else:
            kept = self.world.remove_changed_bodies(translation.plan, edited)
        self.model.edit(physics)
        self._take_over(self._engine_world(translation, kept))
        self.session.rename(self.world.body_ids, origins)
        self.reports.replace_triggers(self.world.triggers, self.nodes.world_from_node, before)

    # --- stepping -----------------------------------------------------------------------------

    def note_steps(self, time_step: float, made: int) -> None:
        """Advance time by steps that need no :meth:`finish_step`."""
        self.session.force_scale = 1.0
        while made:
            self.time, made = self.time + time_step, made - 1
        self._start.note_step()
        self.followers.has_moved = True
        self.events = ()

    @property
    def has_graph(self) -> bool:
        """True if the scene has a behavior graph."""
        return self.acting is not None

    def may_be_compiled(self, has_begun: bool) -> bool:
        """Return True if kernels may make the next step, as far as nodes and graphs allow.

        ``has_begun``: behavior graphs have acted in it already.
        """
        # Attributes only, read in every step.
        start, acting = self._start, self.acting
        return not (
            self._is_busy
            or self.is_removed
            or self.world.free.forces
            or (start.state is None and start.is_kept)
            or (acting is not None and not has_begun and not acting.is_idle)
        )

    @property
    def acts(self) -> bool:
        """True if a behavior graph has something to do before the next step."""
        return self.acting is not None and not self.acting.is_idle

    def engine_steps(self, settings: EngineSettings) -> int:
        """Return the number of engine steps that each step of the world needs for this scene.

        It follows from the file, its properties and the world's settings, never from motion.
        """
        known = self._divided
        if known is None or known[0] is not settings:
            wanted = self.options.substeps
            if settings.substeps > 1:
                steps = 1  # the user has divided the engine's steps
            elif wanted == "auto":
                steps = self.world.engine_steps(settings)
            else:
                steps = wanted
            known = self._divided = (settings, steps)
        return known[1]

    def begin_step(self, settings: EngineSettings, part_settings: EngineSettings) -> None:
        """Do what comes once in a step: the state to reset to, animations, the world's settings.

        ``part_settings``: those of each of the engine steps that it is made of.
        """
        if self._start.is_wanted:
            self._start.take()
        if self.acting is not None:
            self.acting.before_step(settings.time_step)
        if self.followers.are_busy:
            self._follow_animations(settings.time_step)
        self.world.adapt_to_settings(part_settings)

    def apply_forces(self, settings: EngineSettings, part: int, parts: int) -> None:
        """Apply what the engine lacks for the coming engine step, except joint forces.

        Args:
            settings: Settings of that step.
            part: Number of the engine step in a divided step, from 0 on.
            parts: Number of engine steps in it.
        """
        self.world.before_step(settings, self.followers.place, part, parts)

    def finish_step(
        self, settings: EngineSettings, *, is_last: bool = True, is_seen: bool = False
    ) -> None:
        """Process an engine step.

        Args:
            settings: Settings of that step.
            is_last: It ends a step, so that callbacks are called.
            is_seen: Kernels have looked for fast bodies.
        """
        self.note_steps(settings.time_step, 1)
        self.world.after_step(settings, is_seen=is_seen)
        is_watched = self._is_busy or self.listeners
        if is_watched:
            self.refresh()
        if self._has_triggers:
            time, dt, place = self.time, settings.time_step, self.followers.place
            self.reports.after_step(self.world, place, time=time, time_step=dt)
            self.events = self.reports.notify()
        if is_last:
            for listener in tuple(self.listeners):
                listener()
        if self.acting is not None:
            self.acting.after_step(self.events)

    def act(self, pointer: str, value: Any) -> None:
        """Set a pointer from within the scene; the state for :meth:`reset` stays the same."""
        placed = self.model.placed.copy()
        try:
            with self._start.kept():
                self._write_pointer(self, pointer, value)
        finally:
            self.model.acted.add(pointer)
            self.model.placed = placed

    def _follow_animations(self, time_step: float) -> None:
        """Apply the animations: properties by pointer, shapes of colliders, poses."""
        for pointer, value in self.followers.animator.advance(time_step):
            with suppress(KeyError, TypeError, ValueError):  # named at load
                self.act(pointer, value)
        watch = self.followers.watch
        if not watch.is_idle and watch.has_changed(self.nodes.world_from_node):
            softness, expected = self.world.softness, self.world.softness.overlaps_expected
            self._rebuild(self.model.now)
            # Overlaps by changing shapes are corrected by the engine's own ERP.
            softness.overlaps_expected = expected
        driver = self.followers.driver
        if driver.moves_anything:
            self.followers.has_moved |= driver.carries  # users may have put bodies elsewhere
            driver.before_step(time_step, self.nodes.world_from_node)

    def refresh(self) -> None:
        """Read the bodies and update all nodes, without a step."""
        self.nodes.update(*self.world.world_from_bodies())
        self._move_scenery()

    def _move_scenery(self) -> None:
        if self._scenery:  # meshes that follow an animated node without a body
            move_links(self.client_id, self._scenery, self.nodes.shown_matrices(self._scenery))

    def on_step(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` at the end of every step; return a function that ends it."""
        self.listeners.append(callback)

        def end() -> None:
            with suppress(ValueError):
                self.listeners.remove(callback)

        return end

    # --- nodes and bodies ---------------------------------------------------------------------

    @property
    def client_id(self) -> int:
        """Client id of the PyBullet world."""
        return self.session.client_id

    @property
    def nodes(self) -> NodeSync:
        """The nodes' present transforms."""
        return self.followers.nodes

    @property
    def joint_controls(self) -> JointControls:
        """States, targets and limits of all joints, as arrays."""
        return self.world.articulations.controls

    def model_now(self) -> PhysicsScene:
        """Return the present model, with the present values of the drives."""
        return self.joint_controls.with_drives(self.model.now)

    def place_node(
        self, node: int, parent_from_node: FloatArray, parts: Parts | None = None
    ) -> None:
        """Set a node's local transform at once, shape [4, 4]; bodies keep their velocity.

        ``parts``: translation, rotation xyzw and scale, if it was stated so.
        """
        self.followers.animator.place(node, parent_from_node, parts)
        self._put(node, parent_from_node)
        if parts is not None:
            self.followers.state_parts(node, parts)

    def _put(self, node: int, parent_from_node: FloatArray) -> None:
        if self.acting is not None and self.acting.moves_freely(node):
            self.refresh()
            return
        pose = None
        if node in self.world.plan.bodies.bodies and not begins_to_move(
            node, self.model.now, self.world.plan.frames
        ):
            pose = self.nodes.pose_with(node, parent_from_node)
        if pose is not None and self.world.motion.teleport(node, pose):
            self.world.softness.expect_overlaps()
            self.followers.has_moved = True
            if self._scenery:
                self.refresh()
            self.followers.settle()
        elif self._may_slide(node) and self._slide(node, parent_from_node):
            self.world.softness.expect_overlaps()
        else:
            self.rebuild(self.model.now, self.nodes.frames_with(node, parent_from_node))

    def _may_slide(self, node: int) -> bool:
        """Return True if the colliders at and below a node are bodies that stand on their own.

        That is: nothing there moves, is jointed or changes, or has a mesh without a collider, and
        triggers, which leave out pairs that rest, know that they may move.
        """
        if self.followers.are_busy or (self.acting is not None and not self.acting.is_idle):
            return False
        world, model = self.world, self.model.now
        nodes = {node, *self.asset.tree.descendants(node)}
        if any(int(world.plan.motion_node_of[below]) >= 0 for below in nodes):
            return False
        if model.triggers and not nodes <= world.plan.frames.placed:
            return False
        if any(
            joint.node in nodes or joint.connected_node in nodes or joint.connected_node is None
            for joint in model.joints.values()
        ):
            return False
        is_seen = any(nodes & set(shown.visual.nodes) for shown in world.shown_links.scenery)
        return not is_seen and world.may_slide(nodes, self.asset.tree)

    def _slide(self, node: int, parent_from_node: FloatArray) -> bool:
        """Put static colliders elsewhere with their bodies; return False if sizes would change."""
        nodes, place = [node, *self.asset.tree.descendants(node)], self.nodes
        stood = place.pose_at(node, place.world_from_node[node])
        stands = place.pose_with(node, parent_from_node)
        if stood is None or stands is None:
            return False
        place.follow_parents(nodes)
        self.world.slide({*nodes}, stands @ stood.inverse(), place.world_from_node)
        return True

    def set_weights(self, node: int, weights: FloatArray) -> None:
        """Set morph weights of a node's mesh; colliders made of it change as well."""
        self.followers.animator.weights[node] = np.array(weights, dtype=np.float64)
        self.rebuild(self.model.now)

    def save_state(self, *, own_bodies_only: bool = False) -> SceneState:
        """Return everything that changes, of the whole world or of this scene's bodies."""
        self.require_alive()
        if own_bodies_only:
            return self.state_with(BodyStates(self.client_id, self.world.body_ids))
        return self.state_with(EngineSnapshot(self.session, [self.world]))

    def state_with(self, engine: EngineSnapshot | BodyStates) -> SceneState:
        """Return this scene's state with the engine's state ``engine`` of the same time."""
        animations, matrices = self.followers.standing()
        return SceneState(
            time=self.time, physics=self.model.now, engine=engine, world=self.world.state(),
            animations=animations, triggers=self.world.triggers.memory(), matrices=matrices,
            frames=self.world.plan.frames,
            acting=None if self.acting is None else self.acting.state(),
        )  # fmt: skip

    def return_to(self, state: SceneState, physics: PhysicsScene) -> None:
        """Go back to a state, but with an edited model of the same links and joints.

        Raises:
            EngineError: The world holds other bodies than the saved one.
        """
        self.require_alive()
        self._start.note_step()
        # Bodies and nodes are made from it, so it comes first.
        self.followers.animator.restore(state.animations)
        is_alike = state.frames.equals(self.world.plan.frames)
        # Most episodes start with the very same model, and comparing two takes a while.
        is_other = physics is not self.model.now and physics != self.model.now
        if not is_alike or (is_other and not self.change_masses(physics)):
            self._remake(physics, physics, state.frames, self._edited(self.model.now, physics))
        self.model.take_tables(physics)
        self.world.restore(state.world, state.engine)
        self.skipped.shift(state.time - self.time)
        self.time = state.time
        self.followers.take(state.matrices)
        self._move_scenery()
        self.reports.recall(state.triggers, state.matrices)
        if self.acting is not None:
            self.acting.restore(state.acting, self.time)
        self.events = ()

    def reset(self) -> None:
        """See ``Scene.reset``."""
        self.require_alive()
        if not self._start.is_kept:
            raise RuntimeError("reset() is disabled for this scene; use restore_state")
        if self._start.state is not None:
            self.return_to(self._start.state, self._start.state.physics)

    def disable_reset(self) -> None:
        """Disable :meth:`reset`: saving the world at the first step renews all its contacts."""
        self._start.disable()

    def remove(self) -> None:
        """Remove every body of this scene from the world; later use raises. Twice is harmless."""
        with self.session.lock:
            if self.is_removed:
                return
            self.is_removed = True
            self._start.leave()
            try:
                self.world.remove()
            except BaseException:
                self.world.remove()  # Ctrl-C in the middle: the rest goes all the same
                raise
        while self._when_removed:
            self._when_removed.pop(0)()

    def on_remove(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once, at the end of :meth:`remove`."""
        self._when_removed.append(callback)

    @contextmanager
    def engine_errors(self) -> Iterator[None]:
        """Raise what PyBullet refuses in the following block as our own error.

        Raises:
            WorldChangedError: Bodies of the scene are gone.
            EngineError: The engine refused for another reason.
        """
        with ExitStack() as refusals:
            refusals.push(lambda *error: self.world.ownership.__exit__(*error))
            yield

    def require_alive(self) -> None:
        """Raise an error if the scene, or the world that it was made in, is gone.

        Raises:
            SceneRemovedError: After :meth:`remove`.
            WorldChangedError: After ``disconnect``, ``resetSimulation``, or when somebody else
                removed a body of this scene.
        """
        with self.session.lock:
            if self.is_removed:
                raise SceneRemovedError(f"the scene of {self.asset.path} was removed")
            self.world.ownership.require()
