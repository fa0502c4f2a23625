"""Compiled steps of a scene: kernels solve its joints and make the engine's step in one call."""

from __future__ import annotations

from functools import cached_property

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.contacts.contact_softness import ContactSoftness
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.joint_steps import JointSteps
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets

__all__ = ["CompiledSteps"]


class CompiledSteps:
    """When the coming steps of a scene can be compiled ones, and what they leave to Python."""

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
        """Take note of a scene that was just made; the first step makes what steps need.

        Args:
            articulations: The scene's jointed bodies, connected.
            kinematic_targets: Its animated bodies.
            anchors: Moving bodies that joints hang on.
            triggers: Its triggers.
            free: Its other bodies.
            softness: Of the world's contacts.
            is_unforced: True if free bodies, gravity and friction need nothing but the engine.
            looks: True if some free bodies may move further in a step than they are thick.
            is_watched: True if kinematic bodies may squeeze some of them.
        """
        self.settings: EngineSettings | None = None
        """Of the world, as surfaces were adapted to them."""
        self._articulations = articulations
        self._triggers = triggers
        self._targets = kinematic_targets
        self._free = free
        self._softness = softness
        self._is_watched = is_watched
        self.have_triggers = not triggers.is_idle
        """True if triggers watch the steps."""
        self._drifts = (
            is_unforced
            and not is_watched
            and triggers.is_idle
            and not (anchors.is_any or articulations.is_any or free.are_tumbling)
        )
        self._is_possible = (
            is_unforced
            and not looks
            and articulations.stands_alone
            and articulations.is_any
            and not triggers.needs_nodes
        )

    @cached_property
    def joints(self) -> JointSteps:
        """The scene's joints, stepped alone."""
        return JointSteps([self._articulations])

    @cached_property
    def _solver(self) -> JointSolver | None:
        """The solver of joints that kernels can step, ``None`` where only Python can."""
        if not (self._is_possible and self._articulations.solver.is_native):
            return None
        solver, triggers = self._articulations.solver, self._triggers
        if not triggers.is_idle:
            solver.watch(triggers.watcher(self._free.ids))
        return solver

    def drift(self, settings: EngineSettings) -> bool:
        """Return True if a step needs nothing, and leaves nothing but a look at fast bodies."""
        return self._drifts and settings is self.settings and not self._targets.is_aimed

    def are_possible(self, settings: EngineSettings) -> bool:
        """Return True if kernels can make the next steps."""
        # Attributes only, each asked for in every step: a call is a tenth of a cart-pole's step.
        solver = self._solver
        if solver is None or settings is not self.settings or not self._softness.is_idle:
            return False
        contacts = solver.contacts
        return not (
            contacts.held is not None
            or contacts.foreign.ids
            or contacts.robot_loads.memory
            or self._targets.targets is not None
        )

    def may_join(self) -> bool:
        """Return True if kernels can make the next steps together with those of other scenes."""
        return (
            self._articulations.solver.is_known
            and self._triggers.is_idle
            and not self._articulations.loop_constraints.is_any
            and not self._articulations.needs_every_step
        )

    @property
    def leave_something(self) -> bool:
        """True if a step leaves something to Python whatever happens in it."""
        return (
            self._is_watched
            or self._articulations.needs_every_step
            or (self.have_triggers and self._triggers.overlap)
        )

    @property
    def have_overlaps(self) -> bool:
        """True if something may have entered or left a trigger in the last step."""
        return self.have_triggers and (
            self._articulations.solver.pairs_seen != 0 or self._triggers.overlap
        )
