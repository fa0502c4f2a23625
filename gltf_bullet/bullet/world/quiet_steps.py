"""Steps of a scene in which nothing but its joints acts: made by kernels, without Python."""

from __future__ import annotations

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets

__all__ = ["QuietSteps"]

_AT_ONCE = 50
"""Steps that kernels make before Python can hear Ctrl-C."""


class QuietSteps:
    """Whether a scene's next step is one of those; and how it is made."""

    def __init__(
        self,
        articulations: ArticulationSet,
        kinematic_targets: KinematicTargets,
        triggers: Triggers,
        free: FreeBodies,
        *,
        is_plain: bool,
    ) -> None:
        """Let triggers watch these steps.

        Args:
            articulations: The scene's jointed bodies, connected.
            kinematic_targets: Its animated bodies.
            triggers: Its triggers.
            free: Its other bodies.
            is_plain: Whether these, gravity and friction need nothing but the engine.
        """
        self.settings: EngineSettings | None = None
        """Of the world, that everything was made right for."""
        self.are_over = True
        """Whether the steps that were made leave nothing to do."""
        self._articulations = articulations
        self._triggers = triggers
        self._targets = kinematic_targets
        self._is_unwatched = triggers.is_idle
        is_possible = is_plain and articulations.stands_alone and bool(articulations.articulations)
        self._solver: JointSolver | None = None
        if is_possible and articulations.solver.is_native:
            self._solver = articulations.solver
            if not (triggers.is_idle or triggers.needs_nodes):
                self._solver.watch(triggers.watcher(free.ids))

    def make(self, settings: EngineSettings, count: int) -> int:
        """Make the world's next steps, at most ``count``; how many, 0 where they need Python.

        Raises:
            EngineError: A force came out that is not finite; the engine was given nothing.
        """
        # Attributes only, each asked for in every step: a call is a tenth of a cart-pole's step.
        solver = self._solver
        if solver is None:
            return 0
        contacts = solver.contacts
        if (
            settings is not self.settings
            or contacts.held is not None
            or contacts.foreign.ids
            or contacts.robot_loads.memory
            or self._targets.targets is not None
            or solver.commands.has_motors
        ):
            return 0
        if count > 1:
            is_asked = self._triggers.overlap or self._articulations.needs_every_step
            count = 1 if is_asked else min(count, _AT_ONCE)
        made = solver.advance(settings, count)
        self.are_over = not self._articulations.needs_every_step and (
            self._is_unwatched or (solver.pairs_seen == 0 and not self._triggers.overlap)
        )
        return made
