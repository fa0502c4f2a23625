"""What the rows of an articulation watch: values and velocity rows from its link poses.

Pure numpy, no engine: attachment frames, the metrics of limits and drives, closing rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    LinkFrame,
    LoopConstraintKind,
)
from gltf_bullet.solver.articulation_arrays import ArticulationArrays
from gltf_bullet.solver.dynamics import TreeState, cross
from gltf_bullet.solver.metrics import measure_rows
from gltf_bullet.transforms import FloatArray, quat_multiply, quats_from_matrices

__all__ = ["BAUMGARTE", "ArticulationGeometry"]

BAUMGARTE = 0.2
"""Share of a small violation that one step removes."""

LOOP_GAP = 0.01
"""[m] Largest gap of a loop constraint that the solve reckons with; the engine closes larger."""

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


class ArticulationGeometry:
    """Places and rates of an articulation's attachment frames."""

    def __init__(self, plan: ArticulationPlan, model: ArticulationArrays) -> None:
        self.model = model
        frames = model.frames
        self.row_count = len(model.rows.lower)
        self.loop_constraints = [
            (
                frames.index[(c.first.multibody, c.first.link)],
                frames.index[(c.second.multibody, c.second.link)],
                c,
            )
            for c in plan.loop_constraints
            if c.kind is not LoopConstraintKind.ELEMENT
        ]
        """(first frame, second frame, loop constraint) of what engine constraints hold."""
        self.loop_constraint_gaps = np.zeros((len(self.loop_constraints), 3))
        """Second end minus first, in the world at the last solve, clipped [m]."""

    def measure(self, state: TreeState, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value [r] and velocity row [r, n] of every row."""
        rows = self.model.rows
        values = np.zeros(self.row_count)
        jacobian = np.zeros((self.row_count, len(self.model.tree.dof_frame)))
        direct = np.flatnonzero(rows.coordinate >= 0)
        values[direct] = positions[rows.coordinate[direct]]
        jacobian[direct, rows.coordinate[direct]] = 1.0
        if len(rows.measured):
            a_position, a_xyzw = self._attachments(state, rows.frame_a, *rows.local_a)
            b_position, b_xyzw = self._attachments(state, rows.frame_b, *rows.local_b)
            values[rows.measured], direction = measure_rows(
                rows.metric_rows, a_position, a_xyzw, b_position, b_xyzw
            )
            jacobian[rows.measured] = self._direction_rows(
                state, rows.frame_a, rows.frame_b, b_position, direction, rows.is_linear
            )
        return values, jacobian

    def frame_position(self, state: TreeState, frame: LinkFrame) -> FloatArray:
        """World position of a frame; also of an anchor's."""
        index = self.model.frames.index[frame.multibody, frame.link]
        return self._position(state, index, frame)

    def point_rows(
        self, state: TreeState, frame: LinkFrame, point: FloatArray, size: int
    ) -> FloatArray:
        """Velocity rows of a point moving with a frame: 3 linear, then 3 angular; [size, n]."""
        index = self.model.frames.index[frame.multibody, frame.link]
        (linear,) = self.point_jacobians(state, np.array([index]), point[None])
        return np.concatenate([linear, state.angular_jacobian[index]])[:size]

    def point_jacobians(self, state: TreeState, frames: IntArray, points: FloatArray) -> FloatArray:
        """Velocities [k, 3, n] of points [k, 3] that move with frames [k]."""
        arm = cross((points - state.com[frames])[:, None], np.eye(3))
        jacobian: FloatArray = state.linear_jacobian[frames] + arm @ state.angular_jacobian[frames]
        return jacobian

    def _position(self, state: TreeState, index: int, frame: LinkFrame) -> FloatArray:
        positions, _ = self._attachments(
            state,
            np.array([index]),
            np.array([frame.link_from_frame.translation]),
            np.array([frame.link_from_frame.rotation_xyzw]),
        )
        position: FloatArray = positions[0]
        return position

    def _attachments(
        self, state: TreeState, frame: IntArray, local_position: FloatArray, local_xyzw: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """World positions and rotations of frames fixed to links."""
        rotation = state.rotation[frame]
        offset = local_position - self.model.tree.com_in_frame[frame]
        position = state.com[frame] + np.einsum("mij,mj->mi", rotation, offset)
        return position, quat_multiply(quats_from_matrices(rotation), local_xyzw)

    def _direction_rows(
        self,
        state: TreeState,
        frame_a: IntArray,
        frame_b: IntArray,
        point: FloatArray,
        direction: FloatArray,
        is_linear: BoolArray,
    ) -> FloatArray:
        """Rows of "b relative to a along (or about) a direction, at a point"."""
        rows = np.zeros((len(direction), len(self.model.tree.dof_frame)))
        for frame, sign in ((frame_b, 1.0), (frame_a, -1.0)):
            arm = cross(point - state.com[frame], direction)
            linear = np.where(is_linear[:, None], direction, 0.0)
            angular = np.where(is_linear[:, None], arm, direction)
            rows += sign * (
                np.einsum("mk,mkn->mn", linear, state.linear_jacobian[frame])
                + np.einsum("mk,mkn->mn", angular, state.angular_jacobian[frame])
            )
        return rows

    def loop_constraint_rows(self, state: TreeState, dt: float) -> tuple[FloatArray, FloatArray]:
        """Equality rows for what the engine's constraints hold, and their velocity targets."""
        if not self.loop_constraints:
            return np.zeros((0, len(self.model.tree.dof_frame))), np.zeros(0)
        blocks, targets = [], []
        for number, (first, second, loop_constraint) in enumerate(self.loop_constraints):
            size = 6 if loop_constraint.kind is LoopConstraintKind.WELD else 3
            a = self._position(state, first, loop_constraint.first)
            b = self._position(state, second, loop_constraint.second)
            blocks.append(
                self._direction_rows(
                    state,
                    np.full(size, first),
                    np.full(size, second),
                    np.tile(b, (size, 1)),
                    np.tile(np.eye(3), (size // 3, 1)),
                    np.arange(size) < 3,
                )
            )
            target = np.zeros(size)
            self.loop_constraint_gaps[number] = np.clip(b - a, -LOOP_GAP, LOOP_GAP)
            target[:3] = -BAUMGARTE / dt * self.loop_constraint_gaps[number]
            targets.append(target)
        return np.concatenate(blocks), np.concatenate(targets)
