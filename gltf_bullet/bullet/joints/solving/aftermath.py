"""What the engine is given after a step: loops that were closed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.joint_places import JointPlaces
from gltf_bullet.bullet.joints.solving.step_findings import StepFindings
from gltf_bullet.solver import outcomes

__all__ = ["Aftermath"]


class Aftermath:
    """Of the articulations of one scene."""

    def __init__(self, articulations: Sequence[Articulation], findings: StepFindings) -> None:
        self._articulations = tuple(articulations)
        self._findings = findings

    @cached_property
    def _looped(self) -> list[JointPlaces]:
        """Of those that have loops."""
        return [
            JointPlaces(articulation)
            for articulation in self._articulations
            if articulation.arena.record(articulation.record).closure_count
        ]

    def take(self, status: int) -> None:
        """What the kernels say of a step that was made."""
        if status & outcomes.LOOPS_MOVED:
            for places in self._looped:
                places.tell()
        if status & outcomes.LOOP_OPEN:
            self._findings.name_torn()

    def restore(self) -> bool:
        """Put everything back to where it was before a step that the engine has lost.

        Returns:
            Whether it is there: bases that cannot move are nobody's to put back.
        """
        for articulation in self._articulations:
            JointPlaces(articulation).restore()
        return all(JointPlaces(articulation).are_finite() for articulation in self._articulations)
