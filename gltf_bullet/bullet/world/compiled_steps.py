"""Compiled steps of a scene: kernels solve its joints and make the engine's step in one call."""

from __future__ import annotations

import numpy as np

from gltf_bullet.bullet.contacts.fast_bodies import FastBodies
from gltf_bullet.bullet.contacts.squeezed_bodies import SqueezedBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.joint_steps import JointSteps
from gltf_bullet.bullet.joints.moving_anchors import MovingAnchors
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.session import EngineSettings
from gltf_bullet.bullet.triggers.triggers import Triggers
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.transforms import FloatArray


class CompiledSteps:
    """Decides if the coming steps of a scene can be compiled, and if they leave work to Python."""

    def __init__(
        self,
        articulations: ArticulationSet,
        kinematic_targets: KinematicTargets,
        triggers: Triggers,
        fast: FastBodies,
        slip: FloatArray,
        anchors: MovingAnchors,
        squeezed: SqueezedBodies | None,
        *,
        needs_python: bool,
    ) -> None:
        """Store the parts of a new scene; what steps need is made by the first step.

        Args:
            articulations: The scene's jointed bodies, connected.
            kinematic_targets: Its animated bodies.
            triggers: Its triggers.
            fast: Its free bodies, swept where they go far.
            slip: Table of the bodies whose friction follows their slip.
            anchors: Its moving attachments.
            squeezed: Its bodies that kinematic ones may squeeze.
            needs_python: True if free bodies or gravity need Python around each step.
        """
        self.settings: EngineSettings | None = None
        """Settings of the engine's steps to which surfaces were adapted last."""
        self._articulations = articulations
        self._triggers = triggers
        self._targets = kinematic_targets
        self._fast = fast
        self._slip = slip
        self._squeezed = squeezed
        self._rest = anchors.rest
        self._pressed = np.zeros(0) if squeezed is None else squeezed.pressed
        self._has_joints = articulations.is_any
        self.have_triggers = not triggers.is_idle
        """True if triggers watch the steps."""
        self._is_possible = not needs_python and anchors.may_rest and not triggers.needs_nodes

    @cached_property
    def joints(self) -> JointSteps:
        """The scene's joints, stepped alone."""
        return JointSteps([self._articulations])

    @cached_property
    def _solver(self) -> JointSolver | None:
        """The solver of joints that kernels can step; ``None`` if only Python can."""
        if not (self._is_possible and self._articulations.solver.is_native):
            return None
        solver, triggers = self._articulations.solver, self._triggers
        if not triggers.is_idle:
            solver.watch(triggers.watcher(self._fast.ids))
        solver.watch_slip(self._slip)
        if len(self._rest) or len(self._pressed):
            solver.islands.watch_kinematic_bodies(self._rest, self._pressed)
        return solver

    def use_slip(self, slip: FloatArray) -> None:
        """Use another table of slip: that of other surfaces."""
        known, self._slip = self._slip, slip
        if slip is not known and self.__dict__.get("_solver") is not None:
            self._articulations.solver.watch_slip(slip)

    def are_possible(self, settings: EngineSettings) -> bool:
        """Return True if kernels can make the next steps."""
        # Attributes only, read in every step: a call is a tenth of a cart-pole's step.
        solver = self._solver
        if solver is None or settings is not self.settings:
            return False
        if self._targets.targets is not None or self._fast.state.stops:
            return False
        contacts = solver.contacts
        return not self._has_joints or not (
            contacts.saved is not None or contacts.foreign.ids or contacts.robot_loads.memory
        )

    def can_share_a_call(self) -> bool:
        """Return True if kernels can make the next steps together with those of other scenes."""
        return (
            self._articulations.solver.has_own_contacts
            and self._triggers.is_idle
            and not self._articulations.loop_constraints.is_any
            and not self._articulations.needs_every_step
        )

    @property
    def needs_python_after_step(self) -> bool:
        """True if Python has something to do after a step in any case."""
        return (
            (self._squeezed is not None and (self._squeezed.are_any or any(self._targets.nodes)))
            or self._articulations.needs_every_step
            or (self.have_triggers and self._triggers.need_looks)
        )

    @property
    def have_overlaps(self) -> bool:
        """True if colliders may have entered or left triggers in the last step."""
        return self.have_triggers and (
            self._articulations.solver.pairs_seen != 0 or self._triggers.need_looks
        )
