"""Many scenes in one world, stepped together: what they share is read once."""

from __future__ import annotations

from collections.abc import Sequence

from gltf_bullet.bullet.contacts.fast_watch import FastWatch
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.solver_batch import SolverBatch
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.number_ranges import step_count
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.trigger_reports import TriggerEvent

__all__ = ["SceneBatch"]


class SceneBatch:
    """Scenes of one world that nobody steps otherwise."""

    def __init__(self, cores: Sequence[SceneCore]) -> None:
        self._cores = tuple(cores)
        self._session = cores[0].session
        self._solvers = SolverBatch()
        self._watch: FastWatch | None = None
        self._next = 0

    def step(self, count: int = 1) -> None:
        """Advance the world by some time steps, and all scenes with it.

        Their ``events`` are those of all the steps.

        Raises:
            WorldChangedError: The world is not the one that the scenes were loaded into.
        """
        cores, session, count = self._cores, self._session, step_count(count)
        events: dict[SceneCore, tuple[TriggerEvent, ...]] = {}
        with session.lock:
            done = 0
            while done < count:
                made = self._step_quietly(count - done)
                if not made:
                    is_next = done > 0 and not any(core.is_interfered for core in cores)
                    settings = session.known_settings if is_next else self._settings_now()
                    self._step_once(settings, is_next=is_next)
                    for core in cores:
                        if core.events:
                            events[core] = events.get(core, ()) + core.events
                done += made or 1
            for core in events:
                core.events = events[core]

    def _settings_now(self) -> EngineSettings:
        """Make sure that the world is as it was; how it steps."""
        jointed = self._jointed()
        if jointed and self._solvers.is_as_known(jointed):
            return self._session.known_settings
        # They all are of this world; each asks for its own bodies in turn.
        self._next = (self._next + 1) % len(self._cores)
        self._cores[self._next].require_alive()
        for articulations in jointed:
            articulations.solver.learn()
        return self._session.settings()

    def _jointed(self) -> list[ArticulationSet]:
        return [core.world.articulations for core in self._cores if core.world.is_jointed]

    def _step_quietly(self, count: int) -> int:
        """Make the next steps in one call where nothing in them needs Python; how many."""
        settings, cores = self._session.known_settings, self._cores
        for core in cores:
            if not (core.is_unattended and core.world.quiet_steps.may_join(settings)):
                return 0
        made = self._solvers.make_steps(self._jointed(), settings, count)
        if made.over:
            for core in cores:
                core.note_steps(settings.time_step, made.over)
        if not made.is_open:
            return made.over
        if not made.is_stepped:
            self._session.step()
        for core in cores:
            core.finish_step(settings)
        return made.over + 1

    def _step_once(self, settings: EngineSettings, *, is_next: bool) -> None:
        session = self._session
        cores: list[SceneCore] = []
        drifting: list[SceneCore] = []
        for core in self._cores:
            drifts = core.is_unattended and core.world.quiet_steps.drift(settings)
            (drifting if drifts else cores).append(core)
        for core in cores:
            if not core.is_quiet(settings):
                core.begin_step(settings, is_next=is_next, solves=False)
        self._solvers.before_step(
            self._jointed(),
            settings.time_step,
            settings.gravity,
            is_next=is_next,
        )
        self._cores[0].world.softness.before_step(settings)
        session.step()
        if drifting:
            self._finish_drifting(drifting, settings)
        self._solvers.judge([core.world.articulations for core in cores if core.world.is_jointed])
        for core in cores:
            core.finish_step(settings)

    def _finish_drifting(self, cores: Sequence[SceneCore], settings: EngineSettings) -> None:
        """Note that scenes have moved, and take back bodies that went through something."""
        seen = []
        for core in cores:
            core.note_steps(settings.time_step, 1)
            if core.world.fast.is_any:
                seen.append(core)
        if not seen:
            return
        watched = [core.world.fast for core in seen]
        if self._watch is None or self._watch.watched != watched:
            self._watch = FastWatch(self._session.client_id, watched)
        for number in self._watch.look():
            watched[number].before_step(settings.time_step, settings.gravity)
            seen[number].world.put_back_fast()
