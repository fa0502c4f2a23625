"""What a scene's next step needs: often nothing but its joints, which kernels solve."""

from __future__ import annotations

from functools import cached_property

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets
from gltf_bullet.solver.engine.stepping import AT_ONCE

__all__ = ["QuietSteps"]


class QuietSteps:
    """Whether a scene's next step is one of those, and how it is made."""

    def __init__(
        self,
        articulations: ArticulationSet,
        kinematic_targets: KinematicTargets,
        anchors: MovingAnchors,
        triggers: Triggers,
        free: FreeBodies,
        softness: ContactSoftness,
        *,
        is_unforced: bool,
        looks: bool,
        is_watched: bool,
    ) -> None:
        """Of a scene that was just made: what steps take is made with the first of them.

        Args:
            articulations: The scene's jointed bodies, connected.
            kinematic_targets: Its animated bodies.
            anchors: What joints hang on, where that moves.
            triggers: Its triggers.
            free: Its other bodies.
            softness: Of the world's contacts.
            is_unforced: Whether these, gravity and friction need nothing but the engine, and ...
            looks: ... whether some of them may be too fast for it.
            is_watched: Whether kinematic bodies may squeeze some of them.
        """
        self.settings: EngineSettings | None = None
        """Of the world, that everything was made right for."""
        self.are_over = True
        """Whether the steps that were made leave nothing to do."""
        self._articulations = articulations
        self._triggers = triggers
        self._targets = kinematic_targets
        self._anchors = anchors
        self._is_plain = is_unforced and not looks
        self._drifts = (
            is_unforced
            and not is_watched
            and triggers.is_idle
            and not (anchors.is_any or articulations.articulations or free.are_tumbling)
        )
        self._is_unwatched = triggers.is_idle
        self._free = free
        self._softness = softness
        self._is_possible = (
            self._is_plain and articulations.stands_alone and bool(articulations.articulations)
        )

    @cached_property
    def _solver(self) -> JointSolver | None:
        """Of joints that kernels can step by themselves."""
        if not (self._is_possible and self._articulations.solver.is_native):
            return None
        solver, triggers = self._articulations.solver, self._triggers
        if not (triggers.is_idle or triggers.needs_nodes):
            solver.watch(triggers.watcher(self._free.ids))
        return solver

    def need_joints_only(self, settings: EngineSettings) -> bool:
        """Whether nothing is to be done before a step but to solve the joints."""
        is_moved = self._targets.is_aimed or self._anchors.is_any
        return self._is_plain and settings is self.settings and not is_moved

    def drift(self, settings: EngineSettings) -> bool:
        """Whether nothing is to be done in a step, or after it, but to look for fast bodies."""
        return self._drifts and settings is self.settings and not self._targets.is_aimed

    def make(self, settings: EngineSettings, count: int, *, may_divide: bool) -> int:
        """Make the world's next steps, at most ``count``; how many, 0 where they need Python.

        Raises:
            EngineError: A force came out that is not finite; the engine was given nothing.
        """
        solver = self._solver
        if solver is None or not self._are_possible(solver, settings):
            return 0
        if count > 1:
            is_asked = self._triggers.overlap or self._articulations.needs_every_step
            count = 1 if is_asked else min(count, AT_ONCE)
        made = solver.advance(settings, count, may_divide=may_divide)
        self.are_over = not self._articulations.needs_every_step and (
            self._is_unwatched or (solver.pairs_seen == 0 and not self._triggers.overlap)
        )
        return made

    def may_join(self, settings: EngineSettings) -> bool:
        """Whether kernels can make the next steps together with those of other scenes."""
        solver = self._solver
        return (
            solver is not None
            and solver.is_known
            and self._is_unwatched
            and not self._articulations.loop_constraints.is_any
            and not self._articulations.needs_every_step
            and self._are_possible(solver, settings)
        )

    def _are_possible(self, solver: JointSolver, settings: EngineSettings) -> bool:
        # Attributes only, each asked for in every step: a call is a tenth of a cart-pole's step.
        contacts = solver.contacts
        return not (
            settings is not self.settings
            or not self._softness.is_idle
            or contacts.held is not None
            or contacts.foreign.ids
            or contacts.robot_loads.memory
            or self._targets.targets is not None
        )
