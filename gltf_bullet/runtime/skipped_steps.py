"""Engine steps without a scene, made by a loop of the user's that leaves it out."""

from __future__ import annotations

import math
from typing import Protocol

from gltf_bullet.bullet.exchange.library import world_clock
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, warning
from gltf_bullet.runtime.followers import Followers

STEPPED_WITHOUT_SCENE = warning(
    "STEPPED_WITHOUT_SCENE",
    "the world has made {steps} steps without this scene, in which {left_out} did nothing; "
    "scene.step() and gb.step_world() step all that is in a world, and so does a loop of "
    "scene.before_step(), pybullet.stepSimulation() and scene.after_step()",
)


class _Scene(Protocol):
    """The part of a scene core that this module uses."""

    session: EngineSession
    world: EngineWorld
    followers: Followers
    time: float
    is_removed: bool

    @property
    def has_graph(self) -> bool: ...


class SkippedSteps:
    """Compares the world's clock with the time of one scene.

    Steps are not counted as they are made: the clock is read when the issues are.
    """

    def __init__(self, scene: _Scene) -> None:
        """Begin with a scene that was just made."""
        self._scene = scene
        clock = world_clock(scene.session.client_id)
        self._ahead = 0.0 if clock is None else clock.time - scene.time
        """Time [s] by which the clock is ahead if no step was skipped."""
        self._uncounted = 0
        """Number of steps that the scene was told of afterwards only."""
        self._known: tuple[Issue, ...] = ()
        self.is_open = False
        """True while the scene waits for an engine step that it has prepared."""

    def shift(self, seconds: float) -> None:
        """Allow for a change of the scene's time, or for intended steps without it.

        Args:
            seconds: Advance of the scene's time without a step of the world [s].
        """
        self._ahead -= seconds

    def note_unprepared(self) -> None:
        """Count a step that had :meth:`Scene.after_step` without ``before_step``."""
        self._uncounted += 1

    def issues(self) -> tuple[Issue, ...]:
        """Return one issue at most, about all steps so far."""
        scene = self._scene
        if scene.is_removed or not scene.session.is_alive():
            return self._known
        steps = self._uncounted + self._by_clock()
        left_out = _workings(scene) if steps > 0 else ""
        if left_out:
            found = Diagnostics()
            found.report(STEPPED_WITHOUT_SCENE, ROOT, steps=steps, left_out=left_out)
            self._known = found.issues
        return self._known

    def _by_clock(self) -> int:
        clock = world_clock(self._scene.session.client_id)
        if clock is None:
            return 0
        is_divided = self._scene.session.divided_settings is not None
        settings = self._scene.session.reference_settings
        step = settings.time_step if is_divided else clock.time_step
        ahead = clock.time - self._scene.time - self._ahead
        # A time step of 0, or one that is not finite, may have been set.
        if not (math.isfinite(ahead) and math.isfinite(step) and step > 0.0):
            return 0
        return round(ahead / step) - self.is_open


def _workings(scene: _Scene) -> str:
    """Name all parts of the scene that act in its own steps only; empty without any."""
    articulations = scene.world.articulations
    drives = len(articulations.controls.drives)
    limits = sum(articulation.own_limit_count for articulation in articulations.articulations)
    words = [_count(drives, "drive"), _count(limits, "limit")]
    if scene.followers.are_busy:
        words.append("animations")
    words += [_count(len(scene.world.plan.triggers.nodes), "trigger")]
    if scene.world.gravity is not None:
        words.append("gravity fields")
    if scene.has_graph:
        words.append("behavior graph")
    words = [word for word in words if word]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}" if count else ""
