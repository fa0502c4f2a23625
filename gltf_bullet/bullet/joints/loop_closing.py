"""The loops of one articulation, kept closed: before a step by a stronger pull, after it by hand.

Everything that stays the same from step to step is looked up once: a bridge of 34 axes closes its
three loops in 0.1 ms (0.3 with the general means of ``Articulation``; its step takes the engine
0.25).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.joint_places import JointPlaces
from gltf_bullet.solver import arena as slots
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["ClosedLoops", "Grip"]

TIGHTENING = 3.0
"""The engine takes back 0.2 of a gap per step, which leaves five times what a step adds; it sees
a gap larger by this many times (measured: four-bar at 4 rad/s 0.22 -> 0.055 mm; 4.0 would be all
of it at once, without reserve)."""

WORTH_CLOSING = 2e-4
"""[m] A gap from which on joints are moved."""

LARGEST_MOVE = 0.2
"""[m] of a gap that is closed at once: larger ones, which somebody else has made, take steps."""

_CLOSING_STEPS = 3
"""Of Newton's method at most: a gap of 50 mm is one of 1 mm after the first (measured)."""

_CLOSED_AT_ONCE = 5e-3
"""[m] Of such a gap a hundredth of a millimetre is left after the first."""

_TORN = 0.02
"""[m] A gap that is named if closing leaves"""
_HELD = 0.9
"""of it, or more: what holds the loop on both sides is prescribed."""

LARGEST_GAP = 0.01
"""[m] No larger gap is shown to the engine than the solve reckons with."""

CLOSED = 1e-7
"""[m] Smaller gaps are not worth the call."""

_NEVER_SINGULAR = 1e-10
"""Share of their sum on the diagonal: loops may say the same thing twice."""
_LEAST_INVERSE = 1e-30


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
    joint_node: int
    """With the joint that it closes."""
    sign: float
    """-1 where the child is the first end of the loop."""


class ClosedLoops:
    """All loops of an articulation that constraints of the engine close."""

    def __init__(self, articulation: Articulation, grips: Sequence[Grip]) -> None:
        """Look up what each step needs; ``grips`` are in the order of the arena's closures."""
        self._articulation, self._client_id = articulation, articulation.client_id
        self._constraints = [grip.constraint for grip in grips]
        self._pivots = np.array([grip.pivot for grip in grips])
        self._frame_from_inertial = np.array([grip.frame_from_inertial for grip in grips])
        self._pulls = TIGHTENING * np.array([[grip.sign] for grip in grips])
        self._frames: IntArray = np.array([grip.frame for grip in grips])
        self._is_shifted = np.zeros(len(grips), dtype=bool)
        arena, record = articulation.arena, articulation.record
        n, rows = record.dof_count, len(record.rows.lower)
        count = len(record.frames.link)
        closures = int(arena.ints[record.offset + slots.CLOSURE_SIZE])
        sizes = arena.ints[closures : closures + len(grips)]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self._points: IntArray = np.add.outer(starts[:-1], np.arange(3)).ravel()
        """Rows of the gaps among those of the closures: welds have three more, which keep."""
        self._gaps = arena.table(record, slots.CLOSURE_GAP, len(grips), 3)
        total = rows + int(starts[-1])
        self._jacobian = arena.table(record, slots.ROW_JACOBIAN, total, n)[rows:]
        self._factor = arena.table(record, slots.FACTOR, n, n)
        self._poses = arena.table(record, slots.POSE, count, slots.POSE_SIZE)
        self._joints = JointPlaces(articulation)
        self._grip_joints = [grip.joint_node for grip in grips]
        self.torn: tuple[int, float] | None = None
        """Joint node of a loop that no joint can close, and its gap [m]."""

    def tighten(self) -> None:
        """Show the engine larger gaps than there are; after the solve, before the step."""
        is_open = np.abs(self._gaps).max(axis=1) > CLOSED
        changed = np.flatnonzero(is_open | self._is_shifted).tolist()
        if not changed:
            return
        shift = (self._pulls * is_open[:, None]) * np.clip(self._gaps, -LARGEST_GAP, LARGEST_GAP)
        world_from_frame = self._poses[self._frames, :9].reshape(-1, 3, 3)
        in_inertial = (shift[:, None] @ world_from_frame) @ self._frame_from_inertial
        pivots = (self._pivots + in_inertial[:, 0]).tolist()
        for k in changed:
            pybullet.changeConstraint(
                self._constraints[k], jointChildPivot=pivots[k], physicsClientId=self._client_id
            )
        self._is_shifted = is_open

    def close(self, read: Callable[[], None]) -> None:
        """Move joints to where loops are closed; after the step, velocities stay.

        The engine's constraints hold velocities together, along straight lines: an impact that
        turns the links of a ring by 0.3 rad in a step leaves a gap of 50 mm (measured, 60 Hz).

        Args:
            read: Takes the state of all joints from the engine.
        """
        first = widest = 0.0
        for _ in range(_CLOSING_STEPS):
            read()
            self._articulation.follow()
            widest = float(np.abs(self._gaps).max())
            if widest <= WORTH_CLOSING:
                return
            first = first or widest
            self._joints.move(self._closing_move())
            if widest <= _CLOSED_AT_ONCE:
                return
        if widest > max(_TORN, _HELD * first):
            number = int(np.abs(self._gaps).max(axis=1).argmax())
            self.torn = self._grip_joints[number], widest

    def _closing_move(self) -> FloatArray:
        """What the joints [n] have to move: the least way by kinetic energy."""
        # 50 ms to import, for the few that have loops.
        from scipy.linalg.blas import dtrsm

        wanted = np.zeros(len(self._jacobian))
        wanted[self._points] = -np.clip(self._gaps, -LARGEST_MOVE, LARGEST_MOVE).ravel()
        # Half of the way to M^-1 J^T, with the mass of the last solve: any metric closes them.
        lower = self._factor.copy().T
        diagonal = lower.diagonal()  # inverted, 0 where nothing has mass
        np.fill_diagonal(lower, 1.0 / np.maximum(diagonal, _LEAST_INVERSE))
        half = dtrsm(1.0, lower, self._jacobian.T, lower=1)
        response = half.T @ half
        if not response.trace() > 0.0:
            return np.zeros(len(lower))  # welded on both sides: no joint can close it
        response.flat[:: len(wanted) + 1] += _NEVER_SINGULAR * response.trace()
        found = half @ np.linalg.solve(response, wanted)
        return np.asarray(dtrsm(1.0, lower, found[:, None], lower=1, trans_a=1)[:, 0])
