"""One articulation's joint-space solve: from link poses and velocities to joint forces.

Pure numpy, no engine. The solve knows gravity, gravity factors, Coriolis and gyroscopic terms and
the acceleration of moving anchors; contacts are added by ``contact_island``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan, LinkFrame
from gltf_bullet.solver.articulation_arrays import ArticulationArrays
from gltf_bullet.solver.bounded_solve import MassFactor, spring_rows
from gltf_bullet.solver.dynamics import (
    TreeState,
    at_velocity,
    bias_forces,
    generalized_forces,
    mass_matrix,
)
from gltf_bullet.solver.geometry import BAUMGARTE, ArticulationGeometry
from gltf_bullet.transforms import FloatArray

__all__ = ["ArticulationSolver", "RowProblem", "SolverMemory", "StepForces"]

RECOVERY_TIME = 0.06
"""[s] Time constant with which a limit violated at load, or at a change, is restored."""

CALM = 0.002
"""[rad, m] Below this much motion per step centring is not worth its cost."""

CENTRING_PASSES = 3
"""An odd number: with two a whipping rope explodes (measured)."""

UNRESOLVED = 0.5
"""Share of its velocity that an articulation may turn over in one step by inertia alone."""

FLOOR = 1e-10
"""Relative softness of every row: two rows may ask for the same thing."""

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepForces:
    """What the engine shall apply during one step."""

    generalized: FloatArray
    """[n], per velocity: joint forces and torques, ball torques, and force and torque on bases."""
    row_forces: FloatArray
    """[n], the part of ``generalized`` that comes from drives and limits."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowProblem:
    """The rows of one articulation over one step; m rows, loop constraints last."""

    dt: float
    """[s]"""
    velocities: FloatArray
    """[n], now."""
    velocity_free: FloatArray
    """[n], after the step if no row did anything."""
    rows: FloatArray
    """[m, free_count]"""
    inverse: FloatArray
    """[free_count, m], M^-1 rows^T."""
    matrix: FloatArray
    """[m, m], softness included."""
    right: FloatArray
    """[m]"""
    low: FloatArray
    """[m], of the impulses."""
    high: FloatArray
    """[m]"""
    guess: npt.NDArray[np.int8] | None
    inertial: FloatArray
    """[free_count], forces that correct the engine's Coriolis and gyroscopic terms."""


@dataclass(frozen=True, slots=True, eq=False)
class SolverMemory:
    """State between steps; treat as opaque."""

    impulses: FloatArray
    recovering: BoolArray
    last_rows: FloatArray
    last_dt: float
    guess: npt.NDArray[np.int8] | None


class ArticulationSolver:
    """The rows of one articulation and what they remember between steps."""

    def __init__(self, plan: ArticulationPlan, model: ArticulationArrays) -> None:
        self.model = model
        self.geometry = ArticulationGeometry(plan, model)
        self.row_count = len(model.rows.lower)
        self.impulses = np.zeros(self.row_count)
        """Of each row in the last step [N s, N m s]."""
        self.recovering = np.zeros(self.row_count, dtype=bool)
        """Rows that were violated at load or by a change, on their way back."""
        self.factor = MassFactor(np.eye(model.free_count))
        """Of the mass matrix of the last solve."""
        self.after = np.zeros(len(model.tree.dof_frame))
        """Velocities [n] that the last solve expects after the step."""
        self.whip = 0.0
        """Share of its velocity that inertia alone turned over in the last step."""
        self.is_cut = False
        """Whether loads across a cut ask for a solve in every step, even of a lone weld."""
        self._state: TreeState | None = None
        self.last_dt = 1.0
        """[s] of the step that :attr:`impulses` belong to."""
        self._guess: npt.NDArray[np.int8] | None = None
        self._gain_scale = np.ones(self.row_count)
        self._last_rows = np.zeros(model.free_count)
        self._joint_velocities = np.flatnonzero(~model.tree.is_base[: model.free_count])
        tree, frames = model.tree, model.frames
        self.massive: IntArray = np.flatnonzero((tree.masses > 0.0) & (frames.multibody >= 0))
        self._lifted = bool((frames.gravity_factor[self.massive] != 1.0).any())

    @property
    def whirls(self) -> bool:
        """Whether Coriolis or gyroscopic forces can act at all: not on a lone hinge or slide."""
        return self.model.free_count > 1 or len(self.model.anchor_index) > 0 or self.is_cut

    @property
    def acts(self) -> bool:
        """Whether a step needs anything from the solver when no anchor accelerates."""
        return bool(self.row_count or self._lifted or self.whirls)

    def known_forces(
        self, state: TreeState, gravity: FloatArray, acceleration: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Forces and torques [f, 3] on the links that the engine does not know of.

        Args:
            state: Now.
            gravity: Of the world [m/s^2], applied by the engine itself.
            acceleration: Prescribed ones of all velocities [n], ``None`` for none.
        """
        tree, frames = self.model.tree, self.model.frames
        force = np.zeros_like(state.com)
        torque = np.zeros_like(state.com)
        if self._lifted:
            force += (tree.masses * (frames.gravity_factor - 1.0))[:, None] * gravity
        if acceleration is not None:
            # The engine sees an anchor's velocity, not its acceleration (measured).
            force -= tree.masses[:, None] * (state.linear_jacobian @ acceleration)
            torque -= np.einsum(
                "fij,fj->fi", state.inertia_in_world, state.angular_jacobian @ acceleration
            )
        return force, torque

    def assemble(
        self,
        state: TreeState,
        positions: FloatArray,
        velocities: FloatArray,
        force: FloatArray,
        torque: FloatArray,
        dt: float,
    ) -> RowProblem:
        """The bounded problem of all rows over the coming step; contacts may be added to it.

        Args:
            state: Now.
            positions: Coordinates of single axes, [free_count].
            velocities: All velocities [n].
            force: On the centres of mass [f, 3], gravity included.
            torque: [f, 3]
            dt: [s]
        """
        free = self.model.free_count
        self.last_dt = dt
        values, jacobian = self.geometry.measure(state, positions)
        closing, closing_target = self.geometry.loop_constraint_rows(state, dt)
        rows = np.concatenate([jacobian, closing])
        applied = generalized_forces(state, force, torque)
        bias = bias_forces(self.model.tree, state)
        factor = MassFactor(mass_matrix(self.model.tree, state)[:free, :free])
        self._state, self.factor = state, factor
        inverse = factor.solve(rows[:, :free].T)
        acting = applied[:free] + self._last_rows
        centred = self._centred_bias(state, velocities, bias, acting, factor, dt)
        velocity_free = velocities.copy()
        velocity_free[:free] += dt * factor.solve((applied - centred)[:free])
        matrix = rows[:, :free] @ inverse
        diagonal = matrix.diagonal().copy()
        softness, target, low, high = self._row_bounds(
            values, jacobian @ velocity_free, diagonal[: self.row_count], dt
        )
        extra = len(closing)
        softened = np.full(len(rows), FLOOR * (diagonal.max(initial=0.0) or 1.0))
        softened[: self.row_count] += softness
        matrix.flat[:: len(rows) + 1] += softened
        return RowProblem(
            dt=dt,
            velocities=velocities,
            velocity_free=velocity_free,
            rows=rows[:, :free],
            inverse=inverse,
            matrix=matrix,
            right=np.concatenate([target, closing_target]) - rows @ velocity_free,
            low=np.concatenate([low, np.full(extra, -math.inf)]),
            high=np.concatenate([high, np.full(extra, math.inf)]),
            guess=self._guess,
            inertial=(bias - centred)[:free],
        )

    def finish(
        self,
        problem: RowProblem,
        impulse: FloatArray,
        guess: npt.NDArray[np.int8],
        push: FloatArray | None = None,
    ) -> StepForces:
        """What the engine shall apply, from the solution of a problem.

        Args:
            problem: From :meth:`assemble`, of this step.
            impulse: Of all rows.
            guess: The rows' states, from ``solve_bounded``.
            push: What contacts change of the velocities [free_count]; the engine does it itself.
        """
        free, dt = self.model.free_count, problem.dt
        low, high = problem.low[: self.row_count], problem.high[: self.row_count]
        self._guess = guess
        # Loop constraints are engine constraints as well, which then only correct what contacts do.
        self.impulses = impulse[: self.row_count]
        after = problem.velocity_free[:free] + problem.inverse @ impulse
        if push is not None:
            after = after + push
        self.after = np.concatenate([after, problem.velocities[free:]])
        forces = (problem.rows.T @ impulse) / dt
        # Of the next step only what lasts can be foretold: a one-sided limit that chatters made
        # light bodies on long levers gain energy without end.
        lasting = np.ones(len(impulse), dtype=bool)
        lasting[: self.row_count] = (low != 0.0) & (high != 0.0)
        self._last_rows = (problem.rows.T @ (impulse * lasting)) / dt
        return StepForces(
            generalized=forces + problem.inertial,
            row_forces=(problem.rows[: self.row_count].T @ self.impulses) / dt,
        )

    def memory(self) -> SolverMemory:
        """A copy of what the next solve depends on beside the engine's state."""
        guess = None if self._guess is None else self._guess.copy()
        return SolverMemory(
            self.impulses.copy(),
            self.recovering.copy(),
            self._last_rows.copy(),
            self.last_dt,
            guess,
        )

    def recall(self, memory: SolverMemory) -> None:
        """Take back :meth:`memory`."""
        self.impulses, self.recovering = memory.impulses.copy(), memory.recovering.copy()
        self._last_rows, self.last_dt = memory.last_rows.copy(), memory.last_dt
        # The guess only decides the path to the solution, but that is enough to move the last bit.
        self._guess = None if memory.guess is None else memory.guess.copy()

    def _centred_bias(
        self,
        state: TreeState,
        velocities: FloatArray,
        bias: FloatArray,
        acting: FloatArray,
        factor: MassFactor,
        dt: float,
    ) -> FloatArray:
        """Coriolis and gyroscopic forces at the mean of old and new velocities.

        The engine takes them at the old ones. With its position update that is a first-order
        scheme, which feeds energy into whirling chains (measured: a ball pendulum from 6.4 to
        9.2 J in 5 s at 240 Hz); the mean makes it the second-order leapfrog.
        """
        free = self.model.free_count
        moving = velocities[:free]
        self.whip = 0.0
        if float(np.abs(velocities).max(initial=0.0)) * dt < CALM:
            return bias
        mean, centred = velocities.copy(), bias
        for _ in range(CENTRING_PASSES):
            mean[:free] = moving + 0.5 * dt * factor.solve(acting - centred[:free])
            centred = bias_forces(self.model.tree, at_velocity(self.model.tree, state, mean))
        swerve = dt * factor.solve(bias[:free])
        energy = float(moving @ factor.multiply(moving))
        share = math.sqrt(max(0.0, float(swerve @ factor.multiply(swerve))) / max(energy, 1e-30))
        self.whip = share
        if share > UNRESOLVED and len(self._joint_velocities):
            # The whip turns by a good part of a radian per step: no scheme at this dt follows it,
            # and all of them explode (measured: 12 balls at 60 Hz, 1e10 J). Internal friction
            # takes speed out of the joints, and leaves the total momentum alone.
            where = self._joint_velocities
            unit = np.zeros((free, len(where)))
            unit[where, np.arange(len(where))] = 1.0
            response = factor.solve(unit)[where]
            drag = min(0.5, share - UNRESOLVED) / dt * np.linalg.solve(response, moving[where])
            centred = centred.copy()
            centred[where] += drag
        return centred

    def frame_position(self, frame: LinkFrame) -> FloatArray:
        """World position of a frame at the last solve; also of an anchor's."""
        return self.geometry.frame_position(self.solved_state(), frame)

    def point_rows(self, frame: LinkFrame, point: FloatArray, size: int) -> FloatArray:
        """Velocity rows of a point moving with a frame: 3 linear, then 3 angular; [size, n]."""
        return self.geometry.point_rows(self.solved_state(), frame, point, size)

    def solved_state(self) -> TreeState:
        """Poses and Jacobians of the last solve."""
        if self._state is None:
            raise ValueError("the articulation has not been solved yet")
        return self._state

    # --- rows ---------------------------------------------------------------------------------

    def _row_bounds(
        self, values: FloatArray, speed: FloatArray, inverse_mass: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Softness, velocity target and impulse bounds of every row."""
        rows = self.model.rows
        drive = rows.is_drive
        reach = values + dt * speed
        # A limit acts at the end that the step comes closer to.
        at_lower = ~drive & (reach - rows.lower <= rows.upper - reach)
        bound = np.where(at_lower, rows.lower, rows.upper)
        unbounded = ~drive & ~np.isfinite(bound)
        bound = np.where(np.isfinite(bound), bound, 0.0)
        gap = np.where(drive, rows.position_target, bound) - values
        self._gain_scale = np.where(
            rows.by_acceleration, 1.0 / np.maximum(inverse_mass, 1e-12), 1.0
        )
        hard = np.isinf(rows.stiffness)
        stiffness = np.where(hard, 0.0, rows.stiffness) * self._gain_scale
        damping = rows.damping * self._gain_scale
        softness, target = spring_rows(
            stiffness, damping, gap, rows.velocity_target, inverse_mass, dt
        )
        outside = np.where(at_lower, gap > 0.0, gap < 0.0)
        equal = ~drive & (rows.lower == rows.upper)
        self.recovering &= (outside | equal) & (np.abs(gap) > 1e-4)
        # Inside, a limit may be reached exactly; outside, a share is taken back per step.
        rate = np.where(outside | equal, BAUMGARTE, 1.0) / dt
        rate = np.where(self.recovering, 1.0 / max(RECOVERY_TIME, dt), rate)
        softness = np.where(hard, 0.0, softness)
        target = np.where(hard, gap * rate, target)
        # On its way back from a violation at load an axis is also kept from arriving at speed.
        both = equal | (hard & self.recovering)
        low = np.where(at_lower & ~both, 0.0, -math.inf)
        high = np.where(at_lower | both, math.inf, 0.0)
        low = np.where(drive, -rows.max_force * dt, low)
        high = np.where(drive, rows.max_force * dt, high)
        idle = unbounded | (~hard & (stiffness == 0.0) & (damping == 0.0))
        return softness, target, np.where(idle, 0.0, low), np.where(idle, 0.0, high)
