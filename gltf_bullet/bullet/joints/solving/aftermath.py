"""What the engine is given after a step: velocities taken back, loops that were closed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.joint_places import JointPlaces
from gltf_bullet.bullet.joints.solving.step_findings import StepFindings
from gltf_bullet.solver import arena as slots
from gltf_bullet.solver.island_layout import WAS_MOVED, WAS_SLOWED, WAS_THROWN, WAS_TORN

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
            if articulation.arena.ints[articulation.record.offset + slots.CLOSURE_COUNT]
        ]

    def take(self, status: int, dt: float) -> None:
        """What the kernels say of a step of ``dt`` seconds that was made."""
        if status & WAS_SLOWED:
            self.give_back_velocities(dt)
        if status & WAS_THROWN:
            for articulation in self._articulations:
                if articulation.arena.ints[articulation.record.offset + slots.THROWN]:
                    JointPlaces(articulation).restore()
        if status & WAS_MOVED:
            for places in self._looped:
                places.tell()
        if status & WAS_TORN:
            self._findings.name_torn()

    def give_back_velocities(self, dt: float) -> None:
        """Give the engine those of the solve, where it took energy out of them."""
        self._findings.name_slowed(dt)
        for articulation in self._articulations:
            articulation.give_back_velocities()

    def restore(self) -> bool:
        """Put everything back to where it was before a step that the engine has lost.

        Returns:
            Whether it is there: bases that cannot move are nobody's to put back.
        """
        for articulation in self._articulations:
            JointPlaces(articulation).restore()
        return all(JointPlaces(articulation).are_finite() for articulation in self._articulations)
