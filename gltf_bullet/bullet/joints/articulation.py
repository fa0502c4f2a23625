"""One articulation in the engine: reads its links, states its rows, applies what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.solver.articulation_arrays import ArticulationArrays
from gltf_bullet.solver.articulation_solve import (
    ArticulationSolver,
    RowProblem,
    SolverMemory,
    StepForces,
)
from gltf_bullet.solver.bounded_solve import MassFactor
from gltf_bullet.solver.dynamics import TreeState, cross, evaluate_tree, mass_matrix
from gltf_bullet.transforms import FloatArray

__all__ = ["AnchorMotion", "Articulation"]


NATIVE_LIMIT_FORCE = 1e9
"""[N, N m]; the engine's default of about 1000 gives way."""

UNLIMITED = 1e10
"""A bound that no coordinate reaches, where only the other side is limited."""


class AnchorMotion:
    """Where a moving anchor is and how it moves in the coming step, world axes."""

    __slots__ = ("acceleration", "position", "rotation_xyzw", "velocity")

    def __init__(self, position: FloatArray, rotation_xyzw: FloatArray) -> None:
        self.position = position
        self.rotation_xyzw = rotation_xyzw
        self.velocity = np.zeros(6)
        """Linear (of the frame's origin) and angular [m/s, rad/s]."""
        self.acceleration = np.zeros(6)


class Articulation:
    """Execution of one :class:`ArticulationPlan`."""

    def __init__(
        self,
        client_id: int,
        plan: ArticulationPlan,
        model: ArticulationArrays,
        body_ids: Sequence[int],
        anchors: Mapping[int, AnchorMotion],
    ) -> None:
        self.client_id = client_id
        self.plan = plan
        self.model = model
        self.solver = ArticulationSolver(plan, model)
        self.body_ids = tuple(body_ids)
        self.anchors = anchors
        self.positions = np.zeros(model.free_count)
        """Coordinates of single axes [m, rad]; 0 for balls and bases."""
        self.field: Callable[[FloatArray, npt.NDArray[np.intp]], FloatArray] | None = None
        """Accelerations [m/s^2] that the engine does not know, from centres of mass in the world
        [k, 3] and motion nodes [k]."""
        self.velocities = np.zeros(len(model.tree.dof_frame))
        """Of single axes, balls (in the child's axes), bases, moving anchors [m/s, rad/s]."""
        self.applied = np.zeros(model.free_count)
        """Force of the solve on each velocity in the last step [N, N m]."""
        self._frames_of_multibody = [
            np.flatnonzero(model.frames.multibody == k) for k in range(len(body_ids))
        ]
        self._links_of_multibody = [
            [int(link) for link in model.frames.link[frames] if link >= 0]
            for frames in self._frames_of_multibody
        ]
        placed = list(zip(plan.dofs, model.dof_index, strict=True))
        self._axes_of_multibody: list[tuple[list[int], npt.NDArray[np.intp]]] = []
        for k in range(len(body_ids)):
            single = [(f.link, i) for f, i in placed if f.multibody == k and f.dof.axis != BALL]
            where = np.array([index for _, index in single], dtype=np.intp)
            self._axes_of_multibody.append(([link for link, _ in single], where))
        self._balls = [(f.multibody, f.link, i) for f, i in placed if f.dof.axis == BALL]
        self._native: dict[int, tuple[float, float]] = {}
        self._watching = False
        rows = model.rows
        self._hard_rows = np.flatnonzero(
            (rows.coordinate >= 0) & np.isinf(rows.stiffness) & ~rows.is_drive
        ).tolist()
        self._link_of_axis = {
            index: (body_ids[f.multibody], f.link) for f, index in placed if f.dof.axis != BALL
        }

    # --- reading ------------------------------------------------------------------------------

    def read(self) -> TreeState:
        """Link poses and joint velocities from the engine, as a tree state."""
        frames = self.model.frames
        com = np.zeros((len(frames.multibody), 3))
        rotation = np.zeros((len(frames.multibody), 4))
        rotation[:, 3] = 1.0
        client = self.client_id
        for k, body in enumerate(self.body_ids):
            indices, links = self._frames_of_multibody[k], self._links_of_multibody[k]
            base = self.model.base_index.get(k)
            if base is not None:
                com[indices[0]], rotation[indices[0]] = pybullet.getBasePositionAndOrientation(
                    body, physicsClientId=client
                )
                linear, angular = pybullet.getBaseVelocity(body, physicsClientId=client)
                self.velocities[base : base + 3] = linear
                self.velocities[base + 3 : base + 6] = angular
                indices = indices[1:]
            if links:
                states = pybullet.getLinkStates(
                    body, links, computeForwardKinematics=1, physicsClientId=client
                )
                com[indices] = [state[0] for state in states]
                rotation[indices] = [state[1] for state in states]
            axes, where = self._axes_of_multibody[k]
            if axes:
                joint_states = pybullet.getJointStates(body, axes, physicsClientId=client)
                self.positions[where] = [state[0] for state in joint_states]
                self.velocities[where] = [state[1] for state in joint_states]
        for k, link, first in self._balls:
            state = pybullet.getJointStateMultiDof(self.body_ids[k], link, physicsClientId=client)
            self.velocities[first : first + 3] = state[1]
        for node, frame in self.model.anchor_frames.items():
            anchor = self.anchors.get(node)
            if anchor is not None:
                com[frame], rotation[frame] = anchor.position, anchor.rotation_xyzw
        for node, first in self.model.anchor_index.items():
            self.velocities[first : first + 6] = self.anchors[node].velocity
        return evaluate_tree(self.model.tree, com, rotation, self.velocities)

    # --- the step -----------------------------------------------------------------------------

    def prepare(self, dt: float, gravity: FloatArray) -> RowProblem | None:
        """Apply the known forces of one engine step of ``dt`` seconds, and state its rows.

        ``None`` where the step needs nothing of the solve.
        """
        acceleration = self._anchor_acceleration()
        if not self.solver.acts and acceleration is None and self.field is None:
            return None
        state = self.read()
        force, torque = self._known_forces(state, gravity, acceleration)
        swerve = self.model.tree.masses[:, None] * (state.linear_jacobian @ self._anchor_swerve())
        self._apply_to_links(force + swerve, torque, state)
        if not (self.solver.row_count or self.solver.whirls):
            return None
        return self._assemble(state, force, torque, dt, gravity)

    def state_rows(self, dt: float, gravity: FloatArray) -> RowProblem:
        """The rows of an articulation that a contact draws in, though it needs nothing itself."""
        state = self.read()
        force, torque = self._known_forces(state, gravity, self._anchor_acceleration())
        return self._assemble(state, force, torque, dt, gravity)

    def _known_forces(
        self, state: TreeState, gravity: FloatArray, acceleration: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        force, torque = self.solver.known_forces(state, gravity, acceleration)
        if self.field is not None:
            massive = self.solver.massive
            pull = self.field(state.com[massive], self.model.frames.node[massive])
            force[massive] += self.model.tree.masses[massive, None] * pull
        return force, torque

    def _assemble(
        self,
        state: TreeState,
        force: FloatArray,
        torque: FloatArray,
        dt: float,
        gravity: FloatArray,
    ) -> RowProblem:
        weight = self.model.tree.masses[:, None] * gravity
        return self.solver.assemble(
            state, self.positions, self.velocities, force + weight, torque, dt
        )

    def finish(self, step: StepForces) -> None:
        """Give the engine what the solve has found."""
        self.applied = step.row_forces
        self._apply_generalized(step.generalized, self.solver.solved_state())

    def after_step(self) -> None:
        """Hand axes that have come back inside to the engine's own limits as well."""
        if self._watching and not self.solver.recovering.any():
            self.refresh_native_limits()

    def _anchor_acceleration(self) -> FloatArray | None:
        """Prescribed accelerations of all velocities, or ``None`` when no anchor accelerates."""
        result: FloatArray | None = None
        for node, first in self.model.anchor_index.items():
            acceleration = self.anchors[node].acceleration
            if acceleration.any():
                if result is None:
                    result = np.zeros(len(self.velocities))
                result[first : first + 6] = acceleration
        return result

    def _anchor_swerve(self) -> FloatArray:
        """Accelerations of all velocities that the engine alone takes anchors to have.

        It turns the velocity v of a mass-0 base with its spin w, an acceleration of w x v, and what
        hangs on the base feels it (measured: 1 m/s and 1 rad/s tilt a pendulum by 0.1 rad).
        """
        result = np.zeros(len(self.velocities))
        for node, first in self.model.anchor_index.items():
            velocity = self.anchors[node].velocity
            result[first : first + 3] = cross(velocity[3:], velocity[:3])
        return result

    def _apply_to_links(self, force: FloatArray, torque: FloatArray, state: TreeState) -> None:
        frames, massive = self.model.frames, self.solver.massive
        acting = massive[((force[massive] != 0.0) | (torque[massive] != 0.0)).any(axis=1)]
        for frame in acting.tolist():
            body, link = self.body_ids[frames.multibody[frame]], int(frames.link[frame])
            self._push(body, link, force[frame], torque[frame], state.com[frame])

    def _push(
        self, body: int, link: int, force: FloatArray, torque: FloatArray, point: FloatArray
    ) -> None:
        if force.any():
            pybullet.applyExternalForce(
                body,
                link,
                force.tolist(),
                point.tolist(),
                pybullet.WORLD_FRAME,
                physicsClientId=self.client_id,
            )
        if torque.any():
            pybullet.applyExternalTorque(
                body, link, torque.tolist(), pybullet.WORLD_FRAME, physicsClientId=self.client_id
            )

    def add_forces(self, generalized: FloatArray) -> None:
        """Apply more forces in the same step, on top of the solve's; shape [free_count]."""
        self._apply_generalized(generalized, self.solver.solved_state())

    def _apply_generalized(self, forces: FloatArray, state: TreeState) -> None:
        for k, body in enumerate(self.body_ids):
            axes, where = self._axes_of_multibody[k]
            if axes:
                pybullet.setJointMotorControlArray(
                    body,
                    axes,
                    pybullet.TORQUE_CONTROL,
                    forces=forces[where].tolist(),
                    physicsClientId=self.client_id,
                )
            base = self.model.base_index.get(k)
            if base is not None and forces[base : base + 6].any():
                point = state.com[self._frames_of_multibody[k][0]]
                self._push(body, -1, forces[base : base + 3], forces[base + 3 : base + 6], point)
        for k, link, first in self._balls:
            turn = forces[first : first + 3]
            if turn.any():
                pybullet.setJointMotorControlMultiDof(
                    self.body_ids[k],
                    link,
                    pybullet.TORQUE_CONTROL,
                    force=turn.tolist(),
                    physicsClientId=self.client_id,
                )

    def drive_forces(self) -> FloatArray:
        """What each row did in the last step, [row_count]."""
        forces: FloatArray = self.solver.impulses / self.solver.last_dt
        return forces

    # --- limits -------------------------------------------------------------------------------

    def mark_recovering(self) -> None:
        """Hard limits that the current positions violate are restored gradually."""
        values, _ = self.solver.geometry.measure(self.read(), self.positions)
        rows = self.model.rows
        outside = (values < rows.lower - 1e-4) | (values > rows.upper + 1e-4)
        self.solver.recovering = outside & np.isinf(rows.stiffness) & ~rows.is_drive
        self._watching = True

    def refresh_native_limits(self) -> None:
        """Back the solve up by the engine's limits, on axes that are inside of theirs.

        They act only once violated, but they see contacts, which the solve does not.
        """
        rows = self.model.rows
        for r in self._hard_rows:
            index = int(rows.coordinate[r])
            lower, upper = float(rows.lower[r]), float(rows.upper[r])
            if self.solver.recovering[r]:
                lower, upper = -UNLIMITED, UNLIMITED
            self._set_native(index, max(lower, -UNLIMITED), min(upper, UNLIMITED))
        self._watching = bool(self.solver.recovering.any())

    def _set_native(self, index: int, lower: float, upper: float) -> None:
        # An unlimited one is set at load as well: a row that comes into being later would be there
        # in a replay from the start, and move its last bits (measured).
        if self._native.get(index) == (lower, upper):
            return
        self._native[index] = (lower, upper)
        body, link = self._link_of_axis[index]
        pybullet.changeDynamics(
            body,
            link,
            jointLowerLimit=lower,
            jointUpperLimit=max(lower, upper),
            jointLimitForce=NATIVE_LIMIT_FORCE,
            physicsClientId=self.client_id,
        )

    # --- state --------------------------------------------------------------------------------

    def memory(self) -> SolverMemory:
        """What the solve remembers from one step to the next."""
        return self.solver.memory()

    def recall(self, memory: SolverMemory) -> None:
        """Take back :meth:`memory`."""
        self.solver.recall(memory)
        self.refresh_native_limits()

    # --- setting ------------------------------------------------------------------------------

    def set_velocities(self, velocities: FloatArray) -> None:
        """Give every joint, ball and base a velocity, at the positions they have; shape [n]."""
        client = self.client_id
        for k, body in enumerate(self.body_ids):
            base = self.model.base_index.get(k)
            if base is not None:
                pybullet.resetBaseVelocity(
                    body,
                    velocities[base : base + 3].tolist(),
                    velocities[base + 3 : base + 6].tolist(),
                    physicsClientId=client,
                )
            axes, where = self._axes_of_multibody[k]
            for link, index in zip(axes, where.tolist(), strict=True):
                position = pybullet.getJointState(body, link, physicsClientId=client)[0]
                pybullet.resetJointState(
                    body, link, position, float(velocities[index]), physicsClientId=client
                )
        for k, link, first in self._balls:
            body = self.body_ids[k]
            ball = pybullet.getJointStateMultiDof(body, link, physicsClientId=client)[0]
            pybullet.resetJointStateMultiDof(
                body, link, ball, velocities[first : first + 3].tolist(), physicsClientId=client
            )

    def project_velocities(
        self, linear: Mapping[int, FloatArray], angular: Mapping[int, FloatArray]
    ) -> None:
        """Start the joints so that the bodies come as close to their own velocities as they can.

        Closest in kinetic energy; ``linear`` (of the centres of mass) and ``angular`` are in world
        axes, by motion node.
        """
        state = self.read()
        tree, frames, free = self.model.tree, self.model.frames, self.model.free_count
        wanted_linear, wanted_angular = np.zeros_like(state.com), np.zeros_like(state.com)
        for frame in self.solver.massive.tolist():
            node = int(frames.node[frame])
            if node in linear:
                wanted_linear[frame], wanted_angular[frame] = linear[node], angular[node]
        momentum = self._generalized_momentum(state, wanted_linear, wanted_angular)[:free]
        mass = mass_matrix(tree, state)
        known = mass[:free, free:] @ self.velocities[free:]
        self.set_velocities(MassFactor(mass[:free, :free]).solve(momentum - known))

    def _generalized_momentum(
        self, state: TreeState, linear: FloatArray, angular: FloatArray
    ) -> FloatArray:
        spin = np.einsum("fij,fj->fi", state.inertia_in_world, angular)
        weighted = self.model.tree.masses[:, None] * linear
        result: FloatArray = np.einsum("fkn,fk->n", state.linear_jacobian, weighted) + np.einsum(
            "fkn,fk->n", state.angular_jacobian, spin
        )
        return result

    def apply_impulse(self, frame: int, linear: FloatArray, angular: FloatArray) -> None:
        """Change all velocities at once by an impulse on one link's centre of mass, world axes."""
        state = self.read()
        free = self.model.free_count
        push = (linear @ state.linear_jacobian[frame] + angular @ state.angular_jacobian[frame])[
            :free
        ]
        mass = mass_matrix(self.model.tree, state)[:free, :free]
        self.set_velocities(self.velocities[:free] + MassFactor(mass).solve(push))
