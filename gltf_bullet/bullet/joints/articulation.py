"""One articulation in the engine: its state, its masses, its native limits, its velocities.

The file is long because all of that goes between the same bodies and the same record of the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.bodies.multibody import weigh_link
from gltf_bullet.bullet.joints.articulation_builder import FLOATING_STATE
from gltf_bullet.bullet.joints.multibody_creation import is_ordinary
from gltf_bullet.bullet.joints.scene_arrays import (
    ArticulationLayout,
    FrameStates,
    RowTable,
    SceneArrays,
)
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.solver.articulation_arrays import LINK, POSE
from gltf_bullet.solver.articulation_step import VIOLATED
from gltf_bullet.solver.entries import evaluate
from gltf_bullet.transforms import FloatArray, cross

NATIVE_LIMIT_FORCE = 1e9
"""Force [N, N m] of the engine's own limits; its default of about 1000 is too weak."""

UNLIMITED = 1e10
"""Bound [m, rad] that no coordinate reaches, where only the other side is limited."""

SLACK = 1e-3
"""Distance [m, rad] by which the engine's own limits are wider: they only support the solve, which
carries the loads (else it held, and reported, a fifth of the load on an arm at its stop, measured).
"""


class _NativeLimit(NamedTuple):
    """Bounds of the engine's own limit of the joint axis of a velocity."""

    velocity: int
    multibody: int
    link: int
    lower: float
    upper: float


_LIMITS_AT_LOAD: MemoKey[tuple[npt.NDArray[np.bool_] | None, list[_NativeLimit]]] = MemoKey(
    "limits that are violated at load, and those that the engine may hold"
)


class Articulation:
    """The multibodies of one :class:`ArticulationPlan` in the engine."""

    def __init__(
        self,
        client_id: int,
        plan: ArticulationPlan,
        arena: SceneArrays,
        number: int,
        body_ids: Sequence[int],
    ) -> None:
        self.client_id = client_id
        self.plan = plan
        self.arena = arena
        self.number = number
        """Number of its record in the arena."""
        self.record: ArticulationLayout = arena.records[number]
        self.body_ids = tuple(body_ids)
        self._native: dict[int, tuple[float, float]] = {}
        self.has_recovering_limits = False
        """True while some axis returns from a violation of its limits."""
        self._recovering = b""  # rows that did so when the engine's limits were set last

    # Computed on first use: most copies are only stepped.

    @cached_property
    def row_force(self) -> FloatArray:
        """Force of drives and limits on each velocity in the last step [N, N m]."""
        return self.arena.view(self.record, "row_force")

    @cached_property
    def state(self) -> FloatArray:
        """Floats of the record from its state on, which :meth:`append_state` reads."""
        state: FloatArray = self.arena.floats[self.record.state_start :]
        return state

    @cached_property
    def rows(self) -> RowTable:
        """Views of its rows; a changed value acts in the next step."""
        return RowTable.of(self.record.places, self.arena.ints, self.arena.floats)

    # --- masses -------------------------------------------------------------------------------

    def can_weigh(self, plan: ArticulationPlan) -> bool:
        """Return True if :meth:`weigh` accepts a plan: no body would be created by another call."""
        pairs = zip(self.plan.multibodies, plan.multibodies, strict=True)
        return all(is_ordinary(old.spec) == is_ordinary(new.spec) for old, new in pairs)

    def weigh(self, plan: ArticulationPlan) -> None:
        """Set masses and moments of the links from a plan that is equal in all else."""
        frames = self.record.frames
        model = self.arena.view(self.record, "link")
        for k, (old, new) in enumerate(zip(self.plan.multibodies, plan.multibodies, strict=True)):
            for _, link in new.bodies:
                before, now = (m.spec if link < 0 else m.spec.links[link] for m in (old, new))
                if now == before:
                    continue
                weigh_link(self.client_id, self.body_ids[k], link, now.mass, now.inertia_diagonal)
                row = model[frames.index[k, link]]
                row[LINK.mass] = now.mass
                row[LINK.inertia : LINK.inertia + 3] = now.inertia_diagonal
        self.plan = plan

    # --- reading ------------------------------------------------------------------------------

    def append_state(self, state: list[float]) -> None:
        """Append states of bases and joints, read from the engine, in the order of the arena."""
        client = self.client_id
        for body, (floats, links) in zip(self.body_ids, self.record.states, strict=True):
            if floats:
                position, rotation = pybullet.getBasePositionAndOrientation(body, client)
                linear, angular = pybullet.getBaseVelocity(body, client)
                state += (*position, *rotation, *linear, *angular)
                state += [0.0] * (floats - FLOATING_STATE)
            if not links:
                continue
            for joint in pybullet.getJointStatesMultiDof(body, [k for k, _ in links], client):
                state += (*joint[0], *joint[1])

    def evaluate(self) -> None:
        """Read the engine and update poses, velocities, mass matrix and rows."""
        state: list[float] = []
        self.append_state(state)
        self.state[: len(state)] = state
        self.follow()

    def follow(self) -> None:
        """Update poses, velocities, mass matrix and rows from a state that was read."""
        evaluate(self.arena.alone, self.number)

    def read(self) -> FrameStates:
        """Read the engine; return poses, velocities and inertias of all frames."""
        self.evaluate()
        view, record = self.arena.view, self.record
        reference = view(record, "reference_point")
        pose, twist = view(record, "pose"), view(record, "twist")
        com = pose[:, POSE.com : POSE.com + 3]
        i = pose[:, POSE.inertia : POSE.inertia + 6]
        angular = twist[:, :3].copy()
        return FrameStates(
            com=com + reference,
            rotation=pose[:, :9].reshape(-1, 3, 3).copy(),
            inertia_in_world=i[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3),
            linear_velocity=twist[:, 3:] + cross(angular, com),
            angular_velocity=angular,
            masses=view(record, "link")[:, LINK.mass],
        )

    def measured_rows(self) -> tuple[FloatArray, FloatArray]:
        """Return present values and rates of all rows [r]."""
        self.evaluate()
        count, view = self.record.row_count, self.arena.view
        return view(self.record, "row_value")[:count], view(self.record, "row_rate")[:count]

    @property
    def externally_driven(self) -> FloatArray:
        """1 for externally driven axes, by velocity, [n]; writable."""
        return self.arena.view(self.record, "externally_driven")

    @property
    def motor_force_is_old(self) -> FloatArray:
        """1 where the next motor forces read are out of date, by velocity, [n]; writable."""
        return self.arena.view(self.record, "motor_force_is_old")

    @property
    def idle_steps(self) -> FloatArray:
        """Number of steps without a force of an external motor, by velocity, [n]; writable."""
        return self.arena.view(self.record, "idle_steps")

    def is_externally_driven(self, row: int) -> bool:
        """Return True if an axis that a row acts on is externally driven."""
        unit = int(self.rows.coordinate[row])
        if unit >= 0:
            return bool(self.externally_driven[unit])
        jacobian = self.arena.view(self.record, "row_jacobian")[row]
        return bool((self.externally_driven * jacobian).any())

    def row_forces(self) -> FloatArray:
        """Return the force of each row in the last step [N, N m], [r]."""
        count = self.record.row_count
        last_dt = float(self.arena.view(self.record, "last_dt")[0])
        impulses = self.arena.view(self.record, "last_impulse")[:count]
        result: FloatArray = impulses / last_dt if last_dt > 0.0 else np.zeros(count)
        return result

    # --- limits: the solve's, and the engine's own as a support -------------------------------

    def after_step(self) -> None:
        """Set the engine's own limits again on axes that have returned inside.

        They are set one by one, as for a restored state.
        """
        self.follow_recovery()

    def follow_recovery(self) -> None:
        """Set the engine's limits again if other rows than before return from a violation."""
        if self._recovering != self.rows.recovering.tobytes():
            self.refresh_native_limits()

    @property
    def own_limit_count(self) -> int:
        """Number of limits that the engine does not have: they act only in steps with a solve."""
        rows = self.plan.rows
        native = {rows[r] for r in self.record.hard_rows if r < len(rows)}
        return sum(bool(row.row.limits) and row not in native for row in rows)

    def violated_limits(self) -> npt.NDArray[np.bool_]:
        """Return which rows are hard limits that the current positions violate, [r]."""
        values, _ = self.measured_rows()
        rows = self.rows
        outside = (values < rows.lower - VIOLATED) | (values > rows.upper + VIOLATED)
        return outside & rows.is_hard_limit

    def recover(self, violated: npt.NDArray[np.bool_]) -> None:
        """Let such limits be restored gradually."""
        self.rows.recovering[:] = violated
        self.has_recovering_limits = True

    def refresh_native_limits(self) -> None:
        """Set the engine's limits, which support the solve, on axes that are inside of theirs.

        They act only once violated, but the engine's solve balances them with the final contacts.
        """
        for limit in self._native_limits():
            self._set_native(limit)
        self._recovering = self.rows.recovering.tobytes()
        self.has_recovering_limits = bool(self.rows.recovering.any())

    def _native_limits(self) -> list[_NativeLimit]:
        rows, found = self.rows, []
        link_of_axis = {
            index: (planned.multibody, planned.link)
            for planned, index in zip(self.plan.dofs, self.record.dof_index, strict=True)
            if planned.dof.axis != BALL
        }
        for r in self.record.hard_rows:
            lower, upper = float(rows.lower[r]), float(rows.upper[r])
            if rows.recovering[r]:
                lower, upper = -UNLIMITED, UNLIMITED
            index = int(rows.coordinate[r])
            native = max(lower - SLACK, -UNLIMITED), min(upper + SLACK, UNLIMITED)
            found.append(_NativeLimit(index, *link_of_axis[index], *native))
        return found

    def _set_native(self, limit: _NativeLimit) -> None:
        # Unlimited ones are set at load as well: a constraint row that appears later would exist in
        # a replay from the start, and change its last bits (measured).
        velocity, multibody, link, lower, upper = limit
        if self._native.get(velocity) == (lower, upper):
            return
        self._native[velocity] = (lower, upper)
        pybullet.changeDynamics(
            self.body_ids[multibody],
            link,
            jointLowerLimit=lower,
            jointUpperLimit=max(lower, upper),
            jointLimitForce=NATIVE_LIMIT_FORCE,
            physicsClientId=self.client_id,
        )

    # --- setting ------------------------------------------------------------------------------

    def place(self, memo: PlanMemo) -> None:
        """Set the positions of new joints as authored, and native limits that are not violated.

        ``memo`` has values that are the same for all copies of the plan.
        """
        client = self.client_id
        for planned in self.plan.dofs:
            body, dof = self.body_ids[planned.multibody], planned.dof
            if dof.axis == BALL:
                pybullet.resetJointStateMultiDof(
                    body, planned.link, planned.ball_xyzw, [0.0, 0.0, 0.0], physicsClientId=client
                )
            elif dof.position:
                pybullet.resetJointState(
                    body, planned.link, dof.position, 0.0, physicsClientId=client
                )
        violated, limits = memo.get(_LIMITS_AT_LOAD, self._limits_at_load, self.number)
        if violated is not None:
            self.recover(violated)
            self.refresh_native_limits()
        else:
            for limit in limits:
                self._set_native(limit)

    def _limits_at_load(
        self,
    ) -> tuple[npt.NDArray[np.bool_] | None, list[_NativeLimit]]:
        """Return the violated hard limits, if any; else ``None`` and the engine's limits."""
        violated = self.violated_limits()
        return (violated, []) if violated.any() else (None, self._native_limits())

    def set_velocities(self, velocities: FloatArray) -> None:
        """Set the velocity of every joint and base, at their present positions; shape [n]."""
        client = self.client_id
        for k, body in enumerate(self.body_ids):
            base = self.record.base_index.get(k)
            if base is not None:
                pybullet.resetBaseVelocity(
                    body,
                    velocities[base : base + 3].tolist(),
                    velocities[base + 3 : base + 6].tolist(),
                    physicsClientId=client,
                )
        for dof, index in zip(self.plan.dofs, self.record.dof_index, strict=True):
            body, link = self.body_ids[dof.multibody], dof.link
            state = pybullet.getJointStateMultiDof(body, link, physicsClientId=client)
            size = 3 if dof.dof.axis == BALL else 1
            pybullet.resetJointStateMultiDof(
                body,
                link,
                state[0],
                velocities[index : index + size].tolist(),
                physicsClientId=client,
            )

    def project_velocities(
        self, linear: Mapping[int, FloatArray], angular: Mapping[int, FloatArray]
    ) -> None:
        """Set joint velocities whose body velocities come closest to wanted ones in kinetic energy.

        ``linear`` (of the centres of mass) and ``angular`` are in world axes, by motion node.
        """
        states = self.read()
        force, torque = np.zeros_like(states.com), np.zeros_like(states.com)
        # The velocity that moving anchors alone give to the bodies is subtracted first.
        carried, carried_spin = self._prescribed_velocities(states)
        for frame, node in enumerate(self.record.frames.node):
            if node in linear:
                mass, inertia = states.masses[frame], states.inertia_in_world[frame]
                force[frame] = mass * (linear[node] - carried[frame])
                torque[frame] = inertia @ (angular[node] - carried_spin[frame])
            elif states.masses[frame] > 0.0:
                force[frame] = -states.masses[frame] * carried[frame]
                torque[frame] = -states.inertia_in_world[frame] @ carried_spin[frame]
        self.set_velocities(self._solve_mass(self._generalized(states, force, torque)))

    def _prescribed_velocities(self, states: FrameStates) -> tuple[FloatArray, FloatArray]:
        """Return velocities of frames as if they were rigid with their roots, [f, 3] each."""
        roots = self.arena.numbers(self.record, "frame_root")
        anchored = np.array([self.record.frames.multibody[root] < 0 for root in roots])
        spin = states.angular_velocity[roots] * anchored[:, None]
        linear = states.linear_velocity[roots] * anchored[:, None]
        return linear + cross(spin, states.com - states.com[roots]), spin

    def apply_impulse(self, frame: int, linear: FloatArray, angular: FloatArray) -> None:
        """Change all velocities by an impulse at one link's centre of mass, world axes."""
        self.evaluate()
        record, arena = self.record, self.arena
        pose = arena.view(record, "pose")[frame]
        # Moments about the arena's reference point.
        a, b, c = pose[POSE.com : POSE.com + 3].tolist()
        (x, y, z), (u, v, w) = linear.tolist(), angular.tolist()
        wrench = np.array([u + b * z - c * y, v + c * x - a * z, w + a * y - b * x, x, y, z])
        change = self._solve_mass(self._along_chain(frame, wrench))
        self.set_velocities(arena.view(record, "velocity") + change)

    def _generalized(
        self, states: FrameStates, force: FloatArray, torque: FloatArray
    ) -> FloatArray:
        """Return generalized forces [n] of forces at centres of mass and torques, [f, 3] each."""
        record, arena = self.record, self.arena
        reference = arena.view(record, "reference_point")
        wrench = np.concatenate([torque + cross(states.com - reference, force), force], axis=1)
        result = np.zeros(record.dof_count)
        for frame in np.flatnonzero(wrench.any(axis=1)).tolist():
            result += self._along_chain(frame, wrench[frame])
        return result

    def _along_chain(self, frame: int, wrench: FloatArray) -> FloatArray:
        """Return the generalized forces [n] of a torque and a force [6] on a frame."""
        record, numbers = self.record, self.arena.numbers
        axes = self.arena.view(record, "axis")
        parents = numbers(record, "dof_parent")
        dof = int(numbers(record, "frame_last_dof")[frame])
        result = np.zeros(record.dof_count)
        while dof >= 0:
            result[dof] = axes[dof] @ wrench
            dof = int(parents[dof])
        return result

    def accelerations(self, states: FrameStates, force: FloatArray) -> FloatArray:
        """Return the generalized accelerations [n] from forces at the centres of mass [f, 3]."""
        return self._solve_mass(self._generalized(states, force, np.zeros_like(force)))

    def _solve_mass(self, momentum: FloatArray) -> FloatArray:
        mass = self.arena.view(self.record, "mass")
        return np.asarray(np.linalg.solve(mass, momentum), dtype=np.float64)
