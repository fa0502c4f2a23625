"""One articulation in the engine: how its state is read, what it is given, its native limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
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
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.solver.articulation_arrays import LINK, POSE
from gltf_bullet.solver.articulation_step import VIOLATED
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.scene_table import EVALUATE
from gltf_bullet.transforms import FloatArray, cross

__all__ = ["Articulation"]

NATIVE_LIMIT_FORCE = 1e9
"""[N, N m]; the engine's default of about 1000 gives way."""

UNLIMITED = 1e10
"""A bound that no coordinate reaches, where only the other side is limited."""

SLACK = 1e-3
"""[m, rad] by which the engine's own limits are wider: it backs the solve up, and leaves loads to
it (measured: of what rested on an arm at its stop the solve held a fifth, and said so)."""


class _NativeLimit(NamedTuple):
    """What the engine's own limits of the axis of a velocity are to be."""

    velocity: int
    multibody: int
    link: int
    lower: float
    upper: float


_LIMITS_AT_LOAD: MemoKey[tuple[npt.NDArray[np.bool_] | None, list[_NativeLimit]]] = MemoKey(
    "limits that are violated at load, and those that the engine may hold"
)


class Articulation:
    """Execution of one :class:`ArticulationPlan`."""

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
        """In its arena."""
        self.record: ArticulationLayout = arena.records[number]
        self.body_ids = tuple(body_ids)
        self._native: dict[int, tuple[float, float]] = {}
        self.is_watching = False
        """Whether some axis is on its way back from a violation."""
        self._recovering = b""  # which rows were, when the engine's limits were set last

    # Made when they are asked for: most copies are only stepped.

    @cached_property
    def row_force(self) -> FloatArray:
        """Force of drives and limits on each velocity in the last step [N, N m]."""
        return self.arena.view(self.record, "row_force")

    @cached_property
    def state(self) -> FloatArray:
        """Begins with what :meth:`append_state` reads."""
        state: FloatArray = self.arena.floats[self.record.state_start :]
        return state

    @cached_property
    def rows(self) -> RowTable:
        """Views of its rows: what is written there acts in the next step."""
        return RowTable.of(self.record.places, self.arena.ints, self.arena.floats)

    # --- masses -------------------------------------------------------------------------------

    def can_weigh(self, plan: ArticulationPlan) -> bool:
        """Whether :meth:`weigh` can take a plan: no multibody would be made in another way."""
        pairs = zip(self.plan.multibodies, plan.multibodies, strict=True)
        return all(is_ordinary(old.spec) == is_ordinary(new.spec) for old, new in pairs)

    def weigh(self, plan: ArticulationPlan) -> None:
        """Give the links the masses and moments of a plan that differs in nothing else."""
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
        """Read bases and joints from the engine, in the order of the arena."""
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
        """Read the engine, and bring poses, velocities, mass matrix and rows up to date."""
        state: list[float] = []
        self.append_state(state)
        self.state[: len(state)] = state
        self.follow()

    def follow(self) -> None:
        """What :meth:`evaluate` does after the engine was read."""
        prepare(self.arena.alone, EVALUATE, self.number, 0, 0, 0, 0, 0)

    def read(self) -> FrameStates:
        """Where all frames are and how they move now."""
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
        """Values and rates of all rows [r] now."""
        self.evaluate()
        count, view = self.record.row_count, self.arena.view
        return view(self.record, "row_value")[:count], view(self.record, "row_rate")[:count]

    @property
    def taken(self) -> FloatArray:
        """1 for axes that the motors of others have, by velocity, [n]; may be changed."""
        return self.arena.view(self.record, "externally_driven")

    @property
    def heard(self) -> FloatArray:
        """1 where what the engine tells next of motors is old, by velocity, [n]; may be changed."""
        return self.arena.view(self.record, "motor_force_is_old")

    @property
    def quiet(self) -> FloatArray:
        """For how many steps a motor was not felt, by velocity, [n]; may be changed."""
        return self.arena.view(self.record, "idle_steps")

    def is_taken(self, row: int) -> bool:
        """Whether such a motor has an axis that a row acts on."""
        unit = int(self.rows.coordinate[row])
        if unit >= 0:
            return bool(self.taken[unit])
        jacobian = self.arena.view(self.record, "row_jacobian")[row]
        return bool((self.taken * jacobian).any())

    def row_forces(self) -> FloatArray:
        """What each row did in the last step, [r]."""
        count = self.record.row_count
        last_dt = float(self.arena.view(self.record, "last_dt")[0])
        impulses = self.arena.view(self.record, "last_impulse")[:count]
        result: FloatArray = impulses / last_dt if last_dt > 0.0 else np.zeros(count)
        return result

    # --- limits -------------------------------------------------------------------------------

    def after_step(self) -> None:
        """Hand axes that have come back inside to the engine's own limits as well.

        One by one: a restored state does so, too.
        """
        self.follow_recovery()

    def follow_recovery(self) -> None:
        """Set native limits anew where other limits than before are restored gradually."""
        if self._recovering != self.rows.recovering.tobytes():
            self.refresh_native_limits()

    @property
    def own_limit_count(self) -> int:
        """Limits that the engine does not have: they hold in steps with a solve alone."""
        rows = self.plan.rows
        native = {rows[r] for r in self.record.hard_rows if r < len(rows)}
        return sum(bool(row.row.limits) and row not in native for row in rows)

    def violated_limits(self) -> npt.NDArray[np.bool_]:
        """Which rows are hard limits that the current positions violate, [r]."""
        values, _ = self.measured_rows()
        rows = self.rows
        outside = (values < rows.lower - VIOLATED) | (values > rows.upper + VIOLATED)
        return outside & rows.is_hard_limit

    def recover(self, violated: npt.NDArray[np.bool_]) -> None:
        """Restore such limits gradually."""
        self.rows.recovering[:] = violated
        self.is_watching = True

    def refresh_native_limits(self) -> None:
        """Back the solve up by the engine's limits, on axes that are inside of theirs.

        They act only once violated, but they see contacts as they come out in the end.
        """
        for limit in self._native_limits():
            self._set_native(limit)
        self._recovering = self.rows.recovering.tobytes()
        self.is_watching = bool(self.rows.recovering.any())

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
        # An unlimited one is set at load as well: a row that comes into being later would be there
        # in a replay from the start, and move its last bits (measured).
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
        """Put new joints where the file has the bodies, and set native limits where they hold.

        ``memo`` has what is the same for all copies of the plan.
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
        """Which hard limits are violated, if any; and the engine's own if none is."""
        violated = self.violated_limits()
        return (violated, []) if violated.any() else (None, self._native_limits())

    def set_velocities(self, velocities: FloatArray) -> None:
        """Give every joint, ball and base a velocity, at the positions they have; shape [n]."""
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

    def note_places(self) -> None:
        """Everything is where we have put it: nobody else had a hand in that."""
        self.evaluate()
        last = self.arena.view(self.record, "last_state")
        last[:] = self.state[: len(last)]
        self.arena.view(self.record, "is_at_last_state")[:] = 1.0

    def project_velocities(
        self, linear: Mapping[int, FloatArray], angular: Mapping[int, FloatArray]
    ) -> None:
        """Start the joints so that the bodies come as close to their own velocities as they can.

        Closest in kinetic energy; ``linear`` (of the centres of mass) and ``angular`` are in world
        axes, by motion node.
        """
        states = self.read()
        force, torque = np.zeros_like(states.com), np.zeros_like(states.com)
        # What the motion of anchors alone gives to the bodies need not be made up for.
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
        """Velocities that frames had if they were rigid with their roots, [f, 3] each."""
        roots = self.arena.numbers(self.record, "frame_root")
        anchored = np.array([self.record.frames.multibody[root] < 0 for root in roots])
        spin = states.angular_velocity[roots] * anchored[:, None]
        linear = states.linear_velocity[roots] * anchored[:, None]
        return linear + cross(spin, states.com - states.com[roots]), spin

    def apply_impulse(self, frame: int, linear: FloatArray, angular: FloatArray) -> None:
        """Change all velocities at once by an impulse on one link's centre of mass, world axes."""
        self.evaluate()
        record, arena = self.record, self.arena
        pose = arena.view(record, "pose")[frame]
        # From the point that axes are about.
        a, b, c = pose[POSE.com : POSE.com + 3].tolist()
        (x, y, z), (u, v, w) = linear.tolist(), angular.tolist()
        wrench = np.array([u + b * z - c * y, v + c * x - a * z, w + a * y - b * x, x, y, z])
        change = self._solve_mass(self._along_chain(frame, wrench))
        self.set_velocities(arena.view(record, "velocity") + change)

    def _generalized(
        self, states: FrameStates, force: FloatArray, torque: FloatArray
    ) -> FloatArray:
        """What forces at centres of mass and torques [f, 3] do on the velocities [n]."""
        record, arena = self.record, self.arena
        reference = arena.view(record, "reference_point")
        wrench = np.concatenate([torque + cross(states.com - reference, force), force], axis=1)
        result = np.zeros(record.dof_count)
        for frame in np.flatnonzero(wrench.any(axis=1)).tolist():
            result += self._along_chain(frame, wrench[frame])
        return result

    def _along_chain(self, frame: int, wrench: FloatArray) -> FloatArray:
        """Compute how a torque and a force [6] on a frame change the velocities [n]."""
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
        """What forces at the centres of mass [f, 3] do to the velocities in a second, [n]."""
        return self._solve_mass(self._generalized(states, force, np.zeros_like(force)))

    def _solve_mass(self, momentum: FloatArray) -> FloatArray:
        mass = self.arena.view(self.record, "mass")
        return np.asarray(np.linalg.solve(mass, momentum), dtype=np.float64)
