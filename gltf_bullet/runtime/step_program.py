"""The stages of a step, in order: the one program of all scenes of a world.

::

    begin      first step: the state that reset() goes back to; animations; settings of the world
    divide     the file and the time step give the number of the engine's steps in it
    each part  forces and targets of the scenes -> joint-space solve -> contact softness
               -> the engine's step -> its consequences: loops, surfaces, fast bodies
               -> nodes, triggers
    end        time, events, callbacks

Steps that need no Python are made by kernels, many in one call, in the same stages. A step is one
of the *world*: whichever scene's ``step()`` is called, all scenes are stepped, in the order of
loading. The file is long because these stages are the same for one scene, many scenes and the
user's own loop.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TypeAlias

from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness
from gltf_bullet.bullet.joints.joint_steps import (
    AFTER_ENGINE,
    BEFORE_ENGINE,
    JointSteps,
    begin_in_worlds,
)
from gltf_bullet.bullet.session import (
    EngineSession,
    EngineSettings,
    PhysicsClient,
    engine_session,
    require_client,
)
from gltf_bullet.errors import WorldChangedError
from gltf_bullet.number_ranges import step_count
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.trigger_reports import TriggerEvent

CompiledCall: TypeAlias = "tuple[JointSteps, EngineSettings, int, int, bool]"
"""Joints that kernels step, settings of an engine step, the most steps, engine steps of each, and
True if Python has something to do after each; a tuple, since one is made in each step.
"""


class StepProgram:
    """Makes the steps of one world; made by ``session.shared``."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._scenes: dict[int, weakref.ref[SceneCore]] = {}
        """Scenes by identity, in the order of loading."""
        self._joints_together: JointSteps | None = None
        """The joints of the scenes that were last stepped together."""
        self._softness = session.shared(ContactSoftness)
        self._bodies: tuple[int, int] = (-1, -1)
        """Number of bodies of the world, and the last one, when the scenes were last checked."""
        self._broken: set[int] = set()
        """Scenes whose bodies the user has removed."""
        self._next = 0
        self._begun: list[SceneCore] = []
        """Scenes whose step was begun in the caller's own loop and is not finished."""
        self._asked: list[SceneCore] = []
        """Scenes among them whose own ``before_step`` was called."""
        self._finished: list[SceneCore] = []
        """Scenes whose own ``after_step`` may still be called, and has nothing to do."""
        self._events: dict[SceneCore, tuple[TriggerEvent, ...]] = {}
        """Events in the parts of the present step so far."""

    def join(self, core: SceneCore) -> None:
        """Add a scene, after all that were loaded before it."""
        number, scenes = id(core), self._scenes
        scenes.pop(number, None)
        scenes[number] = weakref.ref(core, lambda _: scenes.pop(number, None))
        core.on_remove(lambda: scenes.pop(number, None))

    def cores(self) -> tuple[SceneCore, ...]:
        """Return the scenes of the world with all their bodies, in the order of loading."""
        alive = [known() for known in self._scenes.values()]
        return tuple([c for c in alive if c is not None and not c.is_removed and _is_whole(c)])

    # --- steps --------------------------------------------------------------------------------

    def step(self, caller: SceneCore, count: int = 1, *, alone: bool = False) -> None:
        """Advance the world by some time steps; ``events`` of scenes are those of all of them.

        Args:
            caller: The scene whose ``step`` was called.
            count: Number of steps.
            alone: See :meth:`step_alone`, which also allows for it in the time of other scenes.

        Raises:
            SceneRemovedError: The caller's scene was removed.
            WorldChangedError: The world is not the one that it was loaded into.
        """
        if count.__class__ is not int or count < 0:
            count = step_count(count)
        done, is_alone = 0, alone or self.has_one_scene
        if is_alone:
            done = self._make_compiled((caller,), count)
            if done == count:
                return  # most steps of all
        self._make_rest(caller, count, done, is_alone=is_alone)

    @property
    def has_one_scene(self) -> bool:
        """True if no other scene is in the world."""
        return len(self._scenes) < 2

    def _make_rest(self, caller: SceneCore, count: int, done: int, *, is_alone: bool) -> None:
        """Make the rest of some steps, of which ``done`` were made for a scene that is alone."""
        cores = (caller,) if is_alone else self._others_and(caller)
        events: dict[SceneCore, tuple[TriggerEvent, ...]] = {}
        if done and caller.events:
            events[caller] = caller.events
        is_asked = is_alone and not done
        while done < count:
            made = 0 if is_asked else self._make_compiled(cores, count - done)
            is_asked = False
            if not made:
                with _errors_of(cores):
                    self._make_one(cores, caller)
                made = 1
            for core in cores:
                if core.events:
                    events[core] = events.get(core, ()) + core.events
            done += made
        for core in cores:
            core.events = events.get(core, ())

    def step_alone(self, caller: SceneCore, count: int) -> None:
        """Step without the joints and animations of other scenes, as the user has asked for."""
        before = caller.time
        try:
            self.step(caller, count, alone=True)
        finally:
            for core in self.cores():
                if core is not caller:
                    core.skipped.shift(before - caller.time)

    def before_step(self, caller: SceneCore) -> None:
        """Do everything before the engine's step, for all scenes; the caller makes that step.

        Each scene may call it: only the first call of a step acts. If the step is divided into
        several engine steps, the caller makes the last one.
        """
        caller.require_alive()
        if caller in self._begun and caller not in self._asked:
            self._asked.append(caller)
            return
        cores = self._others_and(caller)
        with _errors_of(cores):
            self._begin_in_loop(cores, caller)

    def _begin_in_loop(self, cores: Sequence[SceneCore], caller: SceneCore) -> None:
        settings = self._session.settings()
        for core in cores:
            core.world.accept_settings()
        parts = _parts(cores, settings)
        part_settings = self._session.part_settings(settings, parts)
        self._begin(cores, settings, part_settings)
        self._begun, self._asked, self._finished = list(cores), [caller], []
        self._events = {}
        for part in range(parts - 1):
            self._make_part(cores, part_settings, part, parts)
        self._apply_forces(cores, part_settings, parts - 1, parts)
        for core in cores:
            core.skipped.is_open = True

    def after_step(self, caller: SceneCore) -> None:
        """Process the step that the caller has made, for all scenes that have begun it."""
        caller.require_alive()
        if caller in self._finished:
            self._finished.remove(caller)
            return
        cores = [core for core in self._begun if not core.is_removed]
        if caller not in cores:
            cores = [caller]
            caller.skipped.note_unprepared()
        self._begun, self._asked = [], []
        settings = self._session.divided_settings or self._session.settings()
        with _errors_of(cores):
            self._finish(cores, settings)
        self._session.undivide()
        self._collect(cores)
        for core in cores:
            core.events = self._events.get(core, ())
            core.world.end_step()
            core.skipped.is_open = False
        self._events = {}
        self._finished = [core for core in cores if core is not caller]

    # --- one step -----------------------------------------------------------------------------

    def _make_one(self, cores: Sequence[SceneCore], caller: SceneCore) -> None:
        """Make one step by calls from Python."""
        settings = self._settings_now(cores, caller)
        parts = _parts(cores, settings)
        part_settings = self._session.part_settings(settings, parts)
        self._begin(cores, settings, part_settings)
        if parts == 1:
            call = self.prepare_compiled(cores, 1, has_begun=True) if _acts(cores) else None
            if call is not None:
                joints, _, most, _, _ = call
                if self.finish_compiled(cores, call, joints.begin(settings, most, parts)):
                    return
            self._make_part(cores, settings)
            for core in cores:
                core.world.end_step()
            return
        times = [core.time + settings.time_step for core in cores]
        self._events = {}
        self._make_parts(cores, part_settings, 0, parts, times)

    def _make_parts(
        self,
        cores: Sequence[SceneCore],
        settings: EngineSettings,
        first: int,
        parts: int,
        times: Sequence[float],
    ) -> None:
        """Make the engine steps of a step from the ``first`` on; ``times`` [s]: at its end."""
        try:
            for part in range(first, parts):
                self._make_part(cores, settings, part, parts)
        finally:
            self._session.undivide()
        for core, time in zip(cores, times, strict=True):
            core.time, core.events = time, self._events.get(core, ())
            core.world.end_step()

    def _collect(self, cores: Sequence[SceneCore]) -> None:
        """Add the events of a part of a step to those of the others."""
        for core in cores:
            if core.events:
                self._events[core] = self._events.get(core, ()) + core.events

    def _begin(
        self, cores: Sequence[SceneCore], settings: EngineSettings, part_settings: EngineSettings
    ) -> None:
        for core in cores:
            core.begin_step(settings, part_settings)
        if part_settings is not settings:
            self._session.divide(part_settings)

    def _make_part(
        self, cores: Sequence[SceneCore], settings: EngineSettings, part: int = 0, parts: int = 1
    ) -> None:
        """Make one step of the engine, the ``part``-th of those of a step."""
        self._apply_forces(cores, settings, part, parts)
        self._session.step()
        self._finish(cores, settings, is_last=part == parts - 1)
        if parts > 1:
            self._collect(cores)

    def _apply_forces(
        self, cores: Sequence[SceneCore], settings: EngineSettings, part: int = 0, parts: int = 1
    ) -> None:
        """Apply all forces and commands before the engine's step."""
        if parts > 1 and self._session.divided_settings is not settings:
            self._session.divide(settings)  # a callback has asked for the world's own
        for core in cores:
            core.apply_forces(settings, part, parts)
        dt, gravity = settings.time_step, settings.gravity
        jointed = [core for core in cores if core.world.is_jointed]
        if jointed:
            self._joints_of(jointed).before_step(dt, gravity)
        self._softness.before_step(settings)

    def _finish(
        self,
        cores: Sequence[SceneCore],
        settings: EngineSettings,
        *,
        is_last: bool = True,
        is_seen: bool = False,
    ) -> None:
        """Process all consequences of the engine's step: see ``SceneCore.finish_step``."""
        for core in cores:
            core.finish_step(settings, is_last=is_last, is_seen=is_seen)

    def _settings_now(self, cores: Sequence[SceneCore], caller: SceneCore) -> EngineSettings:
        """Check that the world is the known one, and return its settings."""
        if len(cores) > 1:
            jointed = [core for core in cores if core.world.is_jointed]
            if jointed and self._joints_of(jointed).is_as_known():
                if not caller.world.is_jointed:  # the joints know only of themselves
                    caller.require_alive()
                return self._session.reference_settings
            self._next = (self._next + 1) % len(cores)
            cores[self._next].require_alive()
        caller.require_alive()
        settings = self._session.settings()
        for core in cores:
            core.world.accept_settings()
        return settings

    # --- compiled steps -------------------------------------------------------------------------

    def _make_compiled(self, cores: Sequence[SceneCore], count: int) -> int:
        """Make the next steps in one call of kernels; return how many, 0 if they need Python."""
        call = self.prepare_compiled(cores, count)
        if call is None:
            return 0
        joints, settings, most, parts, _ = call
        return self.finish_compiled(cores, call, joints.begin(settings, most, parts))

    def prepare_compiled(
        self, cores: Sequence[SceneCore], count: int, *, has_begun: bool = False
    ) -> CompiledCall | None:
        """Return what makes the next steps in one call of kernels, ``None`` if they need Python.

        ``has_begun``: of the next step Python has done what comes before it.
        """
        # Called in every step: a call is a hundredth of a cart-pole's step.
        whole, is_one = self._session.reference_settings, len(cores) == 1
        parts = cores[0].engine_steps(whole) if is_one else _parts(cores, whole)
        settings = whole if parts == 1 else self._session.part_settings(whole, parts)
        needs_python = False
        for core in cores:
            if not core.may_be_compiled(has_begun):
                return None
            compiled = core.world.compiled_steps
            if not (compiled.are_possible(settings) and (is_one or compiled.can_share_a_call())):
                return None
            if core.listeners or compiled.needs_python_after_step or (has_begun and core.acts):
                needs_python, count = True, 1
        if needs_python and parts > 1:
            return None
        joints = compiled.joints if is_one else self._joints_of(cores)
        if not (self._softness.is_idle or self._overlaps_none(joints, settings)):
            return None
        if parts > 1:
            self._session.divided_settings = settings  # kernels set the time step, and restore it
        return joints, settings, count, parts, needs_python

    def _overlaps_none(self, joints: JointSteps, settings: EngineSettings) -> bool:
        """Look for overlaps if that is all that Python has to do before the coming step."""
        softness = self._softness
        return softness.overlaps_expected and joints.is_as_known() and softness.finds_none(settings)

    def finish_compiled(self, cores: Sequence[SceneCore], call: CompiledCall, found: int) -> int:
        """Process the outcome of such a call; return how many steps were made."""
        joints, settings, _, parts, needs_python = call
        whole = self._session.reference_settings
        finished, part, pending = joints.finish(found, settings, parts)
        for core in cores:
            needs_python = needs_python or core.world.compiled_steps.have_overlaps
        if needs_python and not pending and (finished or part):
            finished, part = divmod(finished * parts + part - 1, parts)
            pending = AFTER_ENGINE
        if finished:
            for core in cores:
                core.note_steps(whole.time_step, finished)
            self._session.force_scale = parts
        if not (pending or part):
            self._session.divided_settings = None
            return finished
        times = [core.time + whole.time_step for core in cores]
        for core in cores:
            core.note_steps(settings.time_step, part)
        if parts > 1:
            self._session.divide(settings)
            self._events = {}
        if pending:
            if pending == BEFORE_ENGINE:
                self._session.step()
            part += 1
            is_seen = pending == AFTER_ENGINE
            self._finish(cores, settings, is_last=part == parts, is_seen=is_seen)
        if parts == 1:
            for core in cores:
                core.world.end_step()
            return finished + 1
        self._collect(cores)
        with _errors_of(cores):
            self._make_parts(cores, settings, part, parts, times)
        return finished + 1

    def finish_alone(self, caller: SceneCore, count: int, call: CompiledCall, found: int) -> None:
        """Process the outcome of a call for a scene that is alone, and make the other steps."""
        done = self.finish_compiled((caller,), call, found)
        if done < count:
            self._make_rest(caller, count, done, is_alone=True)

    def _joints_of(self, cores: Sequence[SceneCore]) -> JointSteps:
        """Return the joints of scenes that are stepped together; each must have some."""
        if len(cores) == 1:
            return cores[0].world.compiled_steps.joints
        scenes = tuple([core.world.articulations for core in cores])
        if self._joints_together is None or self._joints_together.scenes != scenes:
            self._joints_together = JointSteps(scenes)
        return self._joints_together

    # --- scenes -------------------------------------------------------------------------------

    def _others_and(self, caller: SceneCore) -> tuple[SceneCore, ...]:
        """Return all scenes to step; those whose bodies the user has removed are left out."""
        bodies = self._session.last_body()
        if bodies != self._bodies:
            self._bodies, self._broken = bodies, set()
            for number, known in list(self._scenes.items()):
                core = known()
                if core is not None and not _is_whole(core):
                    self._broken.add(number)
        cores = []
        for known in self._scenes.values():
            core = known()
            if core is None or core.is_removed or id(core) in self._broken:
                continue
            # Other bodies may have its ids by now, with the same count and the same last one.
            if core.world.is_jointed and core.world.articulations.is_unread and not _is_whole(core):
                self._broken.add(id(core))
                continue
            cores.append(core)
        if caller not in cores:
            caller.require_alive()
            cores.append(caller)
        return tuple(cores)


def _parts(cores: Sequence[SceneCore], settings: EngineSettings) -> int:
    """Return the number of engine steps in each step of a world; the finest scene's is that of all.

    It follows from files and settings alone: a step is the same whatever moves in it.
    """
    return max([core.engine_steps(settings) for core in cores])


def _acts(cores: Sequence[SceneCore]) -> bool:
    """Tell whether behavior graphs have something to do in every step."""
    return any(core.acts for core in cores)


def _errors_of(cores: Sequence[SceneCore]) -> AbstractContextManager[object]:
    """Raise what the engine refuses in the following block for the scene that has lost a body."""
    if len(cores) == 1:  # a stack would be a thirtieth of a step of nine bodies
        return cores[0].world.ownership
    refusals = ExitStack()
    for core in cores:
        refusals.enter_context(core.world.ownership)
    return refusals


def _is_whole(core: SceneCore) -> bool:
    try:
        core.world.ownership.require()
    except WorldChangedError:
        return False
    return True


# --- many worlds: copies of an environment --------------------------------------------------------


def step_worlds(cores: Sequence[SceneCore], count: int) -> None:
    """Advance scenes of different worlds by ``count`` steps, each as its ``step`` does.

    Those that need no Python and are alone in their world are stepped in one call of kernels.

    Raises:
        SceneRemovedError: A scene was removed.
        WorldChangedError: A world is not the one that its scene was loaded into.
    """
    with ExitStack() as locks:
        for core in cores:
            locks.enter_context(core.session.lock)
        programs = [core.session.shared(StepProgram) for core in cores]
        together = []
        errors: list[Exception] = []  # raised when the other worlds have made their steps
        for core, program in zip(cores, programs, strict=True):
            call = program.prepare_compiled((core,), count) if program.has_one_scene else None
            if call is not None:
                together.append((core, program, call))
                continue
            try:
                program.step(core, count)
            except Exception as error:
                errors.append(error)
        found = begin_in_worlds([call[:4] for _, _, call in together])
        for (core, program, call), outcome in zip(together, found, strict=True):
            try:
                program.finish_alone(core, count, call, outcome)
            except Exception as error:  # noqa: PERF203  # each world has its own
                errors.append(error)
        if errors:
            raise errors[0]


# --- ``gb.step_world``: a step of a world for callers without a scene of it -----------------------


def step_world(physics_client: PhysicsClient = 0, count: int = 1) -> None:
    """Advance a world by ``count`` of its time steps, with all its scenes.

    This equals :meth:`Scene.step <gltf_bullet.Scene.step>` of any scene in it, and
    ``pybullet.stepSimulation`` if there is none. A plain ``stepSimulation`` leaves out drives,
    limits, animations and triggers of scenes.

    Args:
        physics_client: A client id, or a ``BulletClient``.
        count: Number of steps.

    Raises:
        EngineError: There is no such client.
        WorldChangedError: The world is not the one that a scene of it was loaded into.
    """
    session = engine_session(require_client(physics_client))
    with session.lock:
        cores = session.shared(StepProgram).cores()
        if cores:
            session.shared(StepProgram).step(cores[0], count)
            return
        for _ in range(step_count(count)):
            session.step()
