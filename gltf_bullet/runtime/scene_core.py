"""The life of a scene: creation, stepping, rebuilding, saving, removal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gltf_bullet.bullet.client import engine_settings, step_simulation
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.errors import SceneRemovedError
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.animation.animator import Animator
from gltf_bullet.runtime.animation.players import Animations
from gltf_bullet.runtime.animation.shape_watch import ShapeWatch
from gltf_bullet.runtime.asset import Asset
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.planning import ScenePlan, plan_scene
from gltf_bullet.runtime.stage import Stage, StageState
from gltf_bullet.runtime.views.triggers import TriggerEvent, TriggerReports
from gltf_bullet.scene import NodeFrames

__all__ = ["LiveScene", "SceneState"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneState:
    """A moment of a scene; treat as opaque. Picklable."""

    stage: StageState
    time: float
    physics: PhysicsScene


class LiveScene:
    """What makes a scene run; :class:`~gltf_bullet.runtime.scene.Scene` adds what users read."""

    def __init__(
        self,
        asset: Asset,
        client_id: int,
        *,
        physics: PhysicsScene,
        plan: ScenePlan,
        placement: Placement,
        scene_index: int | None,
        options: LoadOptions,
    ) -> None:
        """Create everything in ``plan``; on failure nothing stays in the world."""
        self.asset = asset
        self.client_id = client_id
        """The PyBullet world."""
        self.physics = physics
        """The model of what is simulated here, changes by :meth:`set` included."""
        self.options = options
        self.issues = (*asset.issues, *plan.issues)
        """Findings of reading and translating, in the order of discovery."""
        self._placement = placement
        self._scene_index = scene_index
        self._time = 0.0
        self._removed = False
        self._at_start: SceneState | None = None
        self._keeps_start = True
        self._listeners: list[Callable[[], object]] = []
        self._when_removed: list[Callable[[], object]] = []
        self._events: tuple[TriggerEvent, ...] = ()
        self.animations = Animations(asset.animations, play=options.play_animations)
        """The file's animations: play, pause, stop, seek, speed, loop, time of each."""
        self._animator = Animator(asset.tree, self.animations, placement.matrix)
        self._stage = self._new_stage(plan)
        self._watch = ShapeWatch(asset, physics, self._animator, plan.frames)
        self._reports = TriggerReports(self._stage.triggers)

    def _new_stage(self, plan: ScenePlan) -> Stage:
        return Stage(
            self.asset, self.client_id, plan, self._animator, self._placement, self.options
        )

    def rebuild(self, physics: PhysicsScene, frames: NodeFrames | None = None) -> None:
        """Put an edited model into the world, from where everything stands and moves.

        Bodies get new PyBullet ids; :attr:`bodies`, :attr:`joints` and :attr:`triggers` know them.
        Contacts start anew. On failure the scene is as it was.

        Args:
            physics: The edited model.
            frames: Where the nodes shall stand; ``None``: where they are.

        Raises:
            InvalidAssetError: The edited model cannot be translated.
            EngineError: PyBullet refused.
        """
        self.require_alive()
        old = self._stage
        moving = old.moving_physics(self.physics, physics)
        self._remake(physics, moving, frames or old.frames_now())

    def _remake(self, physics: PhysicsScene, moving: PhysicsScene, frames: NodeFrames) -> None:
        """Replace all bodies; ``moving`` is the model with the velocities to start with."""
        old = self._stage
        plan = plan_scene(
            self.asset,
            moving,
            frames,
            self._scene_index,
            self.options,
            self._animator.weights,
        )
        old.remove()
        self._stage = self._new_stage(plan)
        self._watch = ShapeWatch(self.asset, physics, self._animator, plan.frames)
        self._reports.replace_triggers(self._stage.triggers, self._stage.world_from_node)
        self.physics = physics
        self._at_start = None

    @property
    def world(self) -> EngineWorld:
        """The engine side of this scene."""
        return self._stage.world

    def frames_now(self) -> NodeFrames:
        """Where all nodes stand now: matrices with scale, and rotations free of it."""
        return self._stage.frames_now()

    @property
    def has_engine_gravity(self) -> bool:
        """Whether the engine's gravity is all there is: the file states none of its own."""
        return self._stage.has_engine_gravity

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
        for number in range(count):
            self.before_step()
            step_simulation(self.client_id)
            self.after_step(more_follow=number + 1 < count)
            events += self._events
        self._events = tuple(events)

    def before_step(self) -> None:
        """Apply forces, motors and kinematic velocities for the coming ``stepSimulation``."""
        self.require_alive()
        if self._at_start is None and self._keeps_start:
            self._at_start = self.save_state()
        self._follow_animations()
        self._stage.before_step(engine_settings(self.client_id))

    def after_step(self, *, more_follow: bool = False) -> None:
        """Read the bodies, refresh all node transforms, advance :attr:`time`.

        Args:
            more_follow: Another step follows before anybody looks at the nodes: they are only
                refreshed where triggers, fields, animations or callbacks of this scene need them.
        """
        self.require_alive()
        settings = engine_settings(self.client_id)
        self._time += settings.time_step
        self._stage.after_step(settings)
        looked_at = self._stage.steps_by_nodes or self._listeners or not self._watch.is_idle
        if more_follow and not looked_at:
            self._events = ()
            return
        self._stage.refresh()
        self._reports.after_step(
            self._stage.world_from_node,
            time=self._time,
            time_step=settings.time_step,
            gone=self.world.free.gone,
        )
        self._events = self._reports.events
        self._reports.notify()
        for listener in tuple(self._listeners):
            listener()

    def _follow_animations(self) -> None:
        """What animations change besides poses: the shape of colliders."""
        if not self._watch.is_idle and self._watch.has_changed(self._stage.world_from_node):
            self.rebuild(self.physics)

    def on_step(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` at the end of every :meth:`after_step`; returns what ends it."""
        self._listeners.append(callback)

        def end() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return end

    # --- state --------------------------------------------------------------------------------

    def save_state(self) -> SceneState:
        """Everything that changes: engine, motors, friction, animations, time; picklable.

        The engine's part covers the whole PyBullet world, as ``pybullet.saveState`` does: restoring
        puts other bodies in it back as well.
        """
        self.require_alive()
        return SceneState(stage=self._stage.state(), time=self._time, physics=self.physics)

    def restore_state(self, state: SceneState) -> None:
        """Go back to a saved state of this asset, in this process or another.

        With ``deterministicOverlappingPairs=1`` in the engine the replay is identical to the bit.

        Raises:
            EngineError: The world holds other bodies than the saved one.
        """
        self.return_to(state, state.physics)

    def return_to(self, state: SceneState, physics: PhysicsScene) -> None:
        """As :meth:`restore_state`, but with an edited model of the same links and joints.

        Raises:
            EngineError: The world holds other bodies than the saved one.
        """
        self.require_alive()
        frames = state.stage.frames
        # First of all: bodies and followers are made from it.
        self._animator.local[:] = state.stage.local
        if physics != self.physics or not self._stage.was_made_from(frames):
            self._remake(physics, physics, frames)
        self._stage.restore(state.stage)
        self._time = state.time
        self._reports.recall(state.stage.triggers, state.stage.matrices)
        self._events = ()

    def reset(self) -> None:
        """Go back to the state at the first step (or, before any step, do nothing).

        Like :meth:`restore_state` this puts back the whole PyBullet world.

        Raises:
            RuntimeError: After :meth:`keep_no_start`.
        """
        if not self._keeps_start:
            raise RuntimeError("this scene keeps no start to go back to; use restore_state")
        if self._at_start is not None:
            self.restore_state(self._at_start)

    def keep_no_start(self) -> None:
        """Do without :meth:`reset`, for those who keep states of their own.

        Spares saving the whole world at the first step and after every rebuild, which renews the
        contacts of all scenes in it.
        """
        self._keeps_start = False
        self._at_start = None

    # --- life ---------------------------------------------------------------------------------

    def remove(self) -> None:
        """Take every body of this scene out of the world; later use raises. Twice is harmless."""
        if self._removed:
            return
        self._removed = True
        self._stage.remove()
        for callback in self._when_removed:
            callback()
        self._when_removed.clear()

    @property
    def is_removed(self) -> bool:
        """Whether :meth:`remove` was called."""
        return self._removed

    def on_remove(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once, at the end of :meth:`remove`."""
        self._when_removed.append(callback)

    def require_alive(self) -> None:
        """Raise where the scene is gone.

        Raises:
            SceneRemovedError: After :meth:`remove`.
        """
        if self._removed:
            raise SceneRemovedError(f"the scene of {self.asset.path} was removed")

    def __repr__(self) -> str:
        count = len(self.world.plan.bodies.bodies)
        return (
            f"Scene({self.asset.path!r}, client={self.client_id}, bodies={count}, "
            f"time={self._time:.4g})"
        )
