"""Joints as users see them: states to read, targets, gains and limits to change while running.

Arrays contain all drives of a scene, in the order of :attr:`JointControls.drives`. The file is long
because degrees of freedom, drives and limits are looked up by the same joint nodes and rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.multibody import switch_ball_off
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.scene_arrays import RowTable
from gltf_bullet.bullet.world_lock import holds_world_lock, world_lock
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.model import DofKind, DriveMode, JointDrive, JointLimit, PhysicsScene
from gltf_bullet.planning.joints.articulation_plan import DofPlan, JointPlan
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.joints.rows import limit_range, needs_other_rows
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, quat_from_rotation_vector


@dataclass(frozen=True, slots=True, kw_only=True)
class DofHandle:
    """A degree of freedom of a glTF joint, as PyBullet identifies it."""

    joint_node: int
    body_id: int
    link_index: int
    kind: DofKind
    axis: int
    """0, 1, 2 in the joint node's frame, or 3 for a ball (a PyBullet spherical joint)."""
    articulation: int
    velocity_index: int

    @property
    def size(self) -> int:
        """Count of its numbers: three for a ball."""
        return 3 if self.axis == BALL else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DofState:
    """Present state of a degree of freedom; a ball has three numbers, others one."""

    position: tuple[float, ...]
    """Position [m] or [rad]; of a ball the rotation vector of b in a [rad]. Slides are along the
    axes of a; where a joint slides alike in all directions and the body that moves has a: along the
    axes of b at load.
    """
    velocity: tuple[float, ...]
    """Velocity [m/s] or [rad/s]; of a ball in the axes of the child link."""
    applied_force: tuple[float, ...]
    """Force [N] or torque [N m] of drives and limits in the last step."""
    lower: float
    upper: float
    """Hard limits of the coordinate; infinite if unlimited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveHandle:
    """One authored drive that acts on a simulated axis."""

    joint_node: int
    drive: int
    """Index in the joint description's ``drives``."""
    kind: DofKind
    axis: int
    articulation: int
    row: int


@holds_world_lock("_lock")
class JointControls:
    """All dofs, drives and limits of a scene's articulations."""

    def __init__(
        self, articulations: Sequence[Articulation], between: Sequence[tuple[int, JointPlan]] = ()
    ) -> None:
        """Index the joints.

        Args:
            articulations: All articulations of one scene.
            between: Joints that connect two articulations, with the number of the first.
        """
        self._articulations = tuple(articulations)
        self._lock = world_lock(articulations[0].client_id if articulations else -1)
        self.drives: tuple[DriveHandle, ...] = tuple(self._find_drives())
        """All acting drives, in the order of articulations and rows."""
        self._dofs: dict[int, list[DofHandle]] = {}
        self._rows: dict[int, tuple[int, list[int]]] = {}
        self.limit_edits = 0
        """Number of changes of limits so far."""
        self._limits: dict[int, list[JointLimit]] = {}
        for number, articulation in enumerate(self._articulations):
            self._index(number, articulation)
        for number, planned in between:
            self._rows[planned.joint.node] = (number, [])
            self._limits[planned.joint.node] = list(planned.joint.description.limits)
            self._dofs[planned.joint.node] = []
        self._drive_rows = [
            (
                articulation,
                np.array([d.row for d in self.drives if d.articulation == number], dtype=np.intp),
                np.array(
                    [k for k, d in enumerate(self.drives) if d.articulation == number],
                    dtype=np.intp,
                ),
            )
            for number, articulation in enumerate(self._articulations)
        ]

    def _find_drives(self) -> list[DriveHandle]:
        return [
            DriveHandle(
                joint_node=articulation.plan.joints[planned.joint].joint.node,
                drive=planned.row.drive,
                kind=planned.row.kind,
                axis=planned.row.axis,
                articulation=number,
                row=row,
            )
            for number, articulation in enumerate(self._articulations)
            for row, planned in enumerate(articulation.plan.rows)
            if planned.row.drive >= 0
        ]

    def _index(self, number: int, articulation: Articulation) -> None:
        for joint_index, planned in enumerate(articulation.plan.joints):
            node = planned.joint.node
            rows = [r for r, row in enumerate(articulation.plan.rows) if row.joint == joint_index]
            self._rows[node] = (number, rows)
            self._limits[node] = list(planned.joint.description.limits)
            self._dofs.setdefault(node, [])
        for dof, index in zip(articulation.plan.dofs, articulation.record.dof_index, strict=True):
            self._dofs.setdefault(dof.joint_node, []).append(
                DofHandle(
                    joint_node=dof.joint_node,
                    body_id=articulation.body_ids[dof.multibody],
                    link_index=dof.link,
                    kind=dof.dof.kind,
                    axis=dof.dof.axis,
                    articulation=number,
                    velocity_index=index,
                )
            )

    def __contains__(self, joint_node: object) -> bool:
        """Return True if a simulated joint is on that node."""
        return joint_node in self._rows

    # --- external motors ------------------------------------------------------------------

    def is_taken_over(self, joint_node: int) -> bool:
        """Return True if a motor of PyBullet keeps a drive of the joint from acting."""
        number, rows = self._rows[joint_node]
        articulation = self._articulations[number]
        is_drive = articulation.rows.is_drive
        return any(is_drive[row] and articulation.is_externally_driven(row) for row in rows)

    def axes_without_motor(self) -> set[tuple[int, int]]:
        """Return body and link of all axes that are not externally driven.

        PyBullet still reports the torque of a motor that was switched off: the solve switches them
        on and off.
        """
        found = set()
        for dofs in self._dofs.values():
            for dof in dofs:
                size = 3 if dof.axis == BALL else 1
                taken = self._articulations[dof.articulation].externally_driven
                if not taken[dof.velocity_index : dof.velocity_index + size].any():
                    found.add((dof.body_id, dof.link_index))
        return found

    def resume_drives(self, joint_node: int) -> None:
        """Switch PyBullet's motors on the joint's axes off, so that the file's drives act again."""
        for dof in self._dofs[joint_node]:
            articulation = self._articulations[dof.articulation]
            body, link, client = dof.body_id, dof.link_index, articulation.client_id
            size = 3 if dof.axis == BALL else 1
            taken = articulation.externally_driven[dof.velocity_index : dof.velocity_index + size]
            if not taken.any():
                continue
            taken[:] = 0.0
            articulation.motor_force_is_old[dof.velocity_index : dof.velocity_index + size] = 1.0
            if dof.axis == BALL:
                switch_ball_off(client, body, link)
            else:
                pybullet.setJointMotorControl2(
                    body, link, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
                )

    # --- dofs -----------------------------------------------------------------------------

    @property
    def joint_nodes(self) -> tuple[int, ...]:
        """Joint nodes that are simulated, ascending."""
        return tuple(sorted(self._rows))

    def dofs(self, joint_node: int) -> tuple[DofHandle, ...]:
        """Return the dofs of a joint in chain order; empty for welds and force elements.

        Raises:
            KeyError: No simulated joint is on that node.
        """
        if joint_node not in self._rows:
            raise UnknownNameError(f"node {joint_node} carries no simulated joint")
        return tuple(self._dofs[joint_node])

    def dof_state(self, handle: DofHandle) -> DofState:
        """Read one degree of freedom from the engine."""
        articulation = self._articulations[handle.articulation]
        client = articulation.client_id
        index = handle.velocity_index
        if handle.axis == BALL:
            position, velocity = pybullet.getJointStateMultiDof(
                handle.body_id, handle.link_index, physicsClientId=client
            )[:2]
            vector = np.array(pybullet.getAxisAngleFromQuaternion(position)[0])
            angle = pybullet.getAxisAngleFromQuaternion(position)[1]
            sign = -1.0 if self._plan_of(handle).is_reversed else 1.0
            turn = vector * math.remainder(angle, math.tau) * sign
            force = articulation.row_force[index : index + 3]
            return DofState(
                position=tuple(turn.tolist()),
                velocity=tuple(velocity),
                applied_force=tuple(force.tolist()),
                lower=-math.inf,
                upper=math.inf,
            )
        state = pybullet.getJointState(handle.body_id, handle.link_index, physicsClientId=client)
        lower, upper = self._hard_bounds(articulation, index)
        return DofState(
            position=(state[0],),
            velocity=(state[1],),
            # The solve's share is a plain joint torque; the engine reports a user's own motor.
            applied_force=(float(articulation.row_force[index]) + state[3],),
            lower=lower,
            upper=upper,
        )

    def set_dof(
        self, handle: DofHandle, position: Sequence[float], velocity: Sequence[float]
    ) -> None:
        """Set position and velocity of a degree of freedom, as :meth:`dof_state` returns them.

        Call :meth:`recover` for its joint afterwards.
        """
        client = self._articulations[handle.articulation].client_id
        if handle.axis != BALL:
            pybullet.resetJointState(
                handle.body_id, handle.link_index, position[0], velocity[0], physicsClientId=client
            )
            return
        turn = -np.array(position) if self._plan_of(handle).is_reversed else np.array(position)
        pybullet.resetJointStateMultiDof(
            handle.body_id, handle.link_index, quat_from_rotation_vector(turn).tolist(),
            list(velocity), physicsClientId=client,
        )  # fmt: skip

    def recover(self, joint_node: int) -> None:
        """Let limits of a joint's bodies that were just violated by hand be restored gradually."""
        articulation = self._articulations[self._rows[joint_node][0]]
        articulation.recover(articulation.violated_limits())
        articulation.refresh_native_limits()

    def _plan_of(self, handle: DofHandle) -> DofPlan:
        articulation = self._articulations[handle.articulation]
        indices = articulation.record.dof_index
        return articulation.plan.dofs[list(indices).index(handle.velocity_index)]

    def _hard_bounds(self, articulation: Articulation, index: int) -> tuple[float, float]:
        rows = articulation.rows
        found = (rows.coordinate == index) & ~rows.is_drive & np.isinf(rows.stiffness)
        if not found.any():
            return -math.inf, math.inf
        return float(rows.lower[found].max()), float(rows.upper[found].min())

    # --- drives -------------------------------------------------------------------------------

    def set_drive_targets(
        self,
        positions: Sequence[float] | FloatArray | None = None,
        velocities: Sequence[float] | FloatArray | None = None,
    ) -> None:
        """Set the targets of all drives at once.

        Args:
            positions: [m] or [rad], one per entry of :attr:`drives`; ``None`` keeps them.
            velocities: [m/s] or [rad/s], likewise.

        Raises:
            ValueError: A wrong number of targets, or one that is not finite.
        """
        for targets, name in ((positions, "position_target"), (velocities, "velocity_target")):
            if targets is None:
                continue
            values = np.array(targets, dtype=np.float64)
            if values.shape != (len(self.drives),) or not np.isfinite(values).all():
                raise ValueError(f"drive targets must be {len(self.drives)} finite numbers")
            for articulation, rows, where in self._drive_rows:
                getattr(articulation.rows, name)[rows] = values[where]

    def drive_row(self, index: int) -> tuple[RowTable, int]:
        """Return the rows and the row number of an entry of :attr:`drives`."""
        handle = self.drives[index]
        return self._articulations[handle.articulation].rows, handle.row

    def drive_targets(self) -> tuple[FloatArray, FloatArray]:
        """Return position [m, rad] and velocity [m/s, rad/s] targets of all drives."""
        position, velocity = np.zeros(len(self.drives)), np.zeros(len(self.drives))
        for articulation, rows, where in self._drive_rows:
            position[where] = articulation.rows.position_target[rows]
            velocity[where] = articulation.rows.velocity_target[rows]
        return position, velocity

    def drive_states(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions, velocities and forces of the last step of all driven axes."""
        position, velocity, force = (np.zeros(len(self.drives)) for _ in range(3))
        for articulation, rows, where in self._drive_rows:
            if not len(rows):
                continue
            values, rates = articulation.measured_rows()
            position[where] = values[rows]
            velocity[where] = rates[rows]
            force[where] = articulation.row_forces()[rows]
        return position, velocity, force

    def set_drive(self, joint_node: int, drive: int, values: JointDrive) -> bool:
        """Replace the values of a drive; its axis stays.

        Returns:
            False if the drive acts on nothing (a locked axis).
        """
        for handle in self.drives:
            if handle.joint_node == joint_node and handle.drive == drive:
                self._write(handle, values)
                return True
        return False

    def _write(self, handle: DriveHandle, values: JointDrive) -> None:
        rows, r = self._articulations[handle.articulation].rows, handle.row
        rows.stiffness[r], rows.damping[r] = values.stiffness, values.damping
        rows.max_force[r] = values.max_force
        rows.position_target[r] = values.position_target
        rows.velocity_target[r] = values.velocity_target
        rows.by_acceleration[r] = values.mode is DriveMode.ACCELERATION

    def drive_values(self) -> tuple[JointDrive, ...]:
        """Return the authored drives with their present values."""
        found = []
        for handle in self.drives:
            articulation = self._articulations[handle.articulation]
            rows, r = articulation.rows, handle.row
            joint = articulation.plan.joints[articulation.plan.rows[r].joint].joint
            by_acceleration = bool(rows.by_acceleration[r])
            found.append(
                replace(
                    joint.description.drives[handle.drive],
                    stiffness=float(rows.stiffness[r]),
                    damping=float(rows.damping[r]),
                    max_force=float(rows.max_force[r]),
                    position_target=float(rows.position_target[r]),
                    velocity_target=float(rows.velocity_target[r]),
                    mode=DriveMode.ACCELERATION if by_acceleration else DriveMode.FORCE,
                )
            )
        return tuple(found)

    def restore_drives(self, values: Sequence[JointDrive]) -> None:
        """Restore :meth:`drive_values`."""
        for handle, drive in zip(self.drives, values, strict=True):
            self._write(handle, drive)

    def with_drives(self, physics: PhysicsScene) -> PhysicsScene:
        """Return a model with the present values of the drives."""
        joints = dict(physics.joints)
        for handle, drive in zip(self.drives, self.drive_values(), strict=True):
            joint = joints.get(handle.joint_node)
            if joint is None or joint.description.drives[handle.drive] == drive:
                continue
            drives = list(joint.description.drives)
            drives[handle.drive] = drive
            description = replace(joint.description, drives=tuple(drives))
            joints[handle.joint_node] = replace(joint, description=description)
        return replace(physics, joints=joints)

    # --- limits -------------------------------------------------------------------------------

    def limits(self, joint_node: int) -> tuple[JointLimit, ...]:
        """Return the present limits of a joint."""
        return tuple(self._limits[joint_node])

    def set_limit(
        self,
        joint_node: int,
        limit: int,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> bool:
        """Change one limit of a joint; a field that is no argument here keeps its value.

        Returns:
            False, with nothing changed, when the new limit needs other degrees of freedom than
            the joint was built with (a lock that opens, a hard limit that is soft now).
        """
        old = self._limits[joint_node][limit]
        new = replace(
            old,
            minimum=old.minimum if minimum is None else minimum,
            maximum=old.maximum if maximum is None else maximum,
            stiffness=old.stiffness if stiffness is None else stiffness,
            damping=old.damping if damping is None else damping,
        )
        number, row_numbers = self._rows[joint_node]
        articulation = self._articulations[number]
        acting = [r for r in row_numbers if limit in articulation.plan.rows[r].row.limits]
        turns = [dof.axis != BALL and dof.kind is DofKind.ANGULAR for dof in self._dofs[joint_node]]
        own = [articulation.plan.rows[r].row for r in acting]
        if needs_other_rows(old, new, own, sum(turns)):
            return False
        self._limits[joint_node][limit] = new
        self.limit_edits += 1
        rows = articulation.rows
        for r, row in zip(acting, own, strict=True):
            span = limit_range(row, self._limits[joint_node])
            rows.lower[r], rows.upper[r] = span.lower, span.upper
            rows.stiffness[r], rows.damping[r] = new.stiffness, new.damping
        self.recover(joint_node)
        return True
