"""The loops of one articulation, kept closed before a step by a stronger pull.

After the step, kernels close what it has opened: see ``solver.last_step.loop_closing``. They pull
as well where they call the engine; elsewhere Python does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver.articulation_arrays import POSE
from gltf_bullet.solver.engine.calls import LOOP_SIZE, loop_at
from gltf_bullet.solver.engine.commands import CLOSED, LARGEST_GAP
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["ClosedLoops", "Grip"]

TIGHTENING = 3.0
"""The engine takes back 0.2 of a gap per step, which leaves five times what a step adds; it sees
a gap larger by this many times (measured: four-bar at 4 rad/s 0.22 -> 0.055 mm; 4.0 would be all
of it at once, without reserve)."""


@dataclass(frozen=True, slots=True)
class Grip:
    """Where a constraint of the engine holds its child."""

    constraint: int
    """PyBullet's id."""
    pivot: Sequence[float]
    """[3], in the child's inertial frame."""
    frame: int
    """Of the child."""
    frame_from_inertial: FloatArray
    """[3, 3], of the child."""
    sign: float
    """-1 where the child is the first end of the loop."""


class ClosedLoops:
    """All loops of an articulation that constraints of the engine close."""

    def __init__(self, articulation: Articulation, grips: Sequence[Grip]) -> None:
        """Look up what each step needs; ``grips`` are in the order of the arena's closures."""
        self._client_id, self._grips = articulation.client_id, tuple(grips)
        self._is_shifted = np.zeros(len(grips), dtype=bool)
        arena, record = articulation.arena, articulation.record
        self._first_pose = arena.record(record).pose
        self._first_gap = arena.record(record).closure_gap
        self._gaps = arena.view(record, "closure_gap")
        self._poses = arena.view(record, "pose")

    @property
    def records(self) -> list[IntArray]:
        """What kernels need to know to :meth:`tighten`: a ``Loop`` of each constraint."""
        found = []
        for number, grip in enumerate(self._grips):
            numbers: IntArray = np.zeros(LOOP_SIZE, dtype=np.int64)
            loop = loop_at(numbers, 0)
            loop.constraint = grip.constraint
            loop.frame_pose = self._first_pose + POSE.size * grip.frame
            loop.gap = self._first_gap + 3 * number
            loop.pivot[:], loop.inertial[:] = grip.pivot, grip.frame_from_inertial
            loop.gain = TIGHTENING * grip.sign
            found.append(numbers)
        return found

    def tighten(self) -> None:
        """Show the engine larger gaps than there are; after the solve, before the step."""
        is_open = np.abs(self._gaps).max(axis=1) > CLOSED
        for k in np.flatnonzero(is_open | self._is_shifted).tolist():
            grip, pivot = self._grips[k], list(self._grips[k].pivot)
            gap: list[float] = np.clip(self._gaps[k], -LARGEST_GAP, LARGEST_GAP).tolist()
            world_from_frame: list[float] = self._poses[grip.frame, :9].tolist()
            # Sum by sum as ``solver.engine.commands`` does: the engine is told the same to the bit.
            for j in range(3 if is_open[k] else 0):
                way = 0.0
                for i in range(3):
                    way += world_from_frame[3 * i + j] * gap[i]
                for i in range(3):
                    share = float(grip.frame_from_inertial[j, i])
                    pivot[i] += TIGHTENING * grip.sign * way * share
            pybullet.changeConstraint(
                grip.constraint, jointChildPivot=pivot, physicsClientId=self._client_id
            )
        self._is_shifted = is_open
