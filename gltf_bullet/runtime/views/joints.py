"""Views of joints by glTF node, for users: degrees of freedom, drives and limits."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gltf_bullet.bullet.joints.joint_controls import DofHandle, DofState
from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.errors import WorldChangedError
from gltf_bullet.model import DofKind, Joint, JointDrive, JointLimit
from gltf_bullet.number_ranges import STIFFNESS
from gltf_bullet.records import replace
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.nodes import ByNode
from gltf_bullet.runtime.views.posing import set_joint_position
from gltf_bullet.transforms import FloatArray, float_array


@holds_world_lock("_core.session.lock")
class DegreeOfFreedom:
    """One free or limited axis of a joint; an ordinary PyBullet joint.

    Positions are those of the connected node relative to the joint node, in the joint node's
    frame: [m] or [rad].
    """

    __slots__ = ("_core", "_node", "_number")

    def __init__(self, core: SceneCore, node: int, number: int) -> None:
        self._core, self._node, self._number = core, node, number

    @property
    def _handle(self) -> DofHandle:
        # Bodies are replaced where a change needs others: their ids are then those of the new ones.
        handles = self._core.joint_controls.dofs(self._node)
        if self._number >= len(handles):
            raise WorldChangedError(
                f"the joint of node {self._node} has {len(handles)} degrees of freedom by now; "
                f"this was number {self._number}"
            )
        return handles[self._number]

    @property
    def body_id(self) -> int:
        """The PyBullet body of the joint."""
        return self._handle.body_id

    @property
    def link_index(self) -> int:
        """The PyBullet joint and link index."""
        return self._handle.link_index

    @property
    def kind(self) -> DofKind:
        """Translation or rotation."""
        return self._handle.kind

    @property
    def axis(self) -> int:
        """0, 1, 2 of the joint node's frame; 3 for a ball, all three rotations at once."""
        return self._handle.axis

    @property
    def state(self) -> DofState:
        """Present position, velocity, applied force and hard limits, in one read."""
        self._core.require_alive()
        self._core.world.ownership.require_body(self._handle.body_id)
        return self._core.joint_controls.dof_state(self._handle)

    @property
    def position(self) -> float | tuple[float, ...]:
        """Position [m] or [rad]; of a ball the rotation vector [rad]."""
        return _single(self.state.position)

    @property
    def velocity(self) -> float | tuple[float, ...]:
        """Velocity [m/s] or [rad/s]."""
        return _single(self.state.velocity)

    @property
    def applied_force(self) -> float | tuple[float, ...]:
        """Force [N] or torque [N m] of drives and limits in the last step."""
        return _single(self.state.applied_force)

    def __repr__(self) -> str:
        return (
            f"DegreeOfFreedom({self.kind.value}, axis={self.axis}, body_id={self.body_id}, "
            f"link_index={self.link_index})"
        )


@holds_world_lock("_core.session.lock")
class JointView:
    """A simulated joint of a scene."""

    __slots__ = ("_core", "node")

    def __init__(self, core: SceneCore, node: int) -> None:
        self._core = core
        self.node = node
        """glTF index of the joint node."""

    @property
    def name(self) -> str:
        """The node's name."""
        return self._core.asset.tree.names[self.node]

    @property
    def model(self) -> Joint:
        """The present joint: that of the file, with changes by pointer and drive targets."""
        self._core.require_alive()
        return self._core.model_now().joints[self.node]

    @property
    def degrees_of_freedom(self) -> tuple[DegreeOfFreedom, ...]:
        """The axes along the chain; none for welds, and if only limits connect the bodies."""
        self._core.require_alive()
        count = len(self._core.joint_controls.dofs(self.node))
        return tuple(DegreeOfFreedom(self._core, self.node, number) for number in range(count))

    @property
    def position(self) -> float | tuple[float, ...]:
        """Coordinates of all degrees of freedom, :attr:`DegreeOfFreedom.position` one by one.

        A single number [m] or [rad] for a joint with one. Setting it calls :meth:`set_position`.
        """
        return _single(tuple(v for dof in self.degrees_of_freedom for v in dof.state.position))

    @position.setter
    def position(self, position: float | Sequence[float] | FloatArray) -> None:
        self.set_position(position)

    @property
    def velocity(self) -> float | tuple[float, ...]:
        """Rates of :attr:`position` [m/s] or [rad/s]."""
        return _single(tuple(v for dof in self.degrees_of_freedom for v in dof.state.velocity))

    def set_position(
        self,
        position: float | Sequence[float] | FloatArray,
        velocity: float | Sequence[float] | FloatArray | None = None,
    ) -> None:
        """Put the joint somewhere at once, and what it carries with it, as ``resetJointState``.

        Drive targets stay as they are, limits are not asked (a violated one pushes back slowly),
        and nothing is felt by what is in the way.

        Args:
            position: Coordinates [m] or [rad], one for each degree of freedom, of a ball the three
                numbers of the rotation vector.
            velocity: Their rates [m/s] or [rad/s]; ``None``: at rest.

        Raises:
            ValueError: A wrong number of numbers, or one that is not finite.
        """
        self._core.require_alive()
        with self._core.engine_errors():
            set_joint_position(self._core, self.node, position, velocity)

    def set_gains(self, stiffness: float, damping: float) -> None:
        """Set the gains of this joint's drives, and of no other joint that shares its description.

        Args:
            stiffness: [N/m] or [N m/rad]; of drives by acceleration [1/s^2].
            damping: [N s/m] or [N m s/rad]; of drives by acceleration [1/s].

        Raises:
            ValueError: The joint has no drive that acts, or a gain is negative or not finite.
        """
        self._core.require_alive()
        for name, value in (("stiffness", stiffness), ("damping", damping)):
            if not 0.0 <= value <= STIFFNESS.largest:
                shown = reprlib.repr(value)
                most = STIFFNESS.largest
                raise ValueError(f"{name} is {shown}; must be a number of 0 to {most:g}")
        controls, acts = self._core.joint_controls, False
        for index, drive in enumerate(self.drives):
            gains = replace(drive, stiffness=float(stiffness), damping=float(damping))
            acts |= controls.set_drive(self.node, index, gains)
        if not acts:
            raise ValueError(f"joint {self.name or self.node!r} has no drive that acts")

    @property
    def limits(self) -> tuple[JointLimit, ...]:
        """The present limits."""
        return self.model.description.limits

    @property
    def drives(self) -> tuple[JointDrive, ...]:
        """The present drives, with the targets and gains that act."""
        return self.model.description.drives

    @property
    def is_taken_over(self) -> bool:
        """True if a motor set with PyBullet's own calls acts in place of the file's drives.

        It is known after the step in which the motor first exerts a force.
        """
        self._core.require_alive()
        return self._core.joint_controls.is_taken_over(self.node)

    def resume_drives(self) -> None:
        """Switch PyBullet's motors on this joint's axes off; the file's drives act again."""
        self._core.require_alive()
        self._core.joint_controls.resume_drives(self.node)

    def __repr__(self) -> str:
        return f"JointView(node={self.node}, name={self.name!r})"


def _single(values: tuple[float, ...]) -> float | tuple[float, ...]:
    return values[0] if len(values) == 1 else values


# --- Targets of all drives of a scene, by order or by joint ---------------------------------------

Targets: TypeAlias = "Sequence[float] | FloatArray | Mapping[int | str, float]"

_MOST_NAMES = 12
"""Largest number of names in a message."""


def set_drive_targets(
    core: SceneCore,
    joints: ByNode[JointView],
    positions: Targets | None,
    velocities: Targets | None,
) -> None:
    """Set the targets; arguments and errors as for ``Scene.set_drive_targets``."""
    controls = core.joint_controls
    now: tuple[FloatArray, FloatArray] | None = None
    given: list[FloatArray | None] = []
    for number, (what, targets) in enumerate(
        (("positions", positions), ("velocities", velocities))
    ):
        if isinstance(targets, Mapping):
            now = now or controls.drive_targets()
            given.append(_by_joint(core, joints, targets, now[number]))
        elif targets is None:
            given.append(None)
        else:
            given.append(_in_order(core, targets, what))
    controls.set_drive_targets(*given)


def _in_order(core: SceneCore, targets: Sequence[float] | FloatArray, what: str) -> FloatArray:
    count = len(core.joint_controls.drives)
    values = float_array("the drive targets", targets)
    if values.shape != (count,) or not np.isfinite(values).all():
        got = f"{len(values)} came" if values.ndim == 1 else f"an array of {values.shape} came"
        if values.shape == (count,):
            got = f"{values[~np.isfinite(values)][0]} is among them"
        raise ValueError(
            f"drive targets must be {count} finite numbers; {got} as {what}; in this order: "
            f"{_order(core)}; or a dict by joint"
        )
    return values


def _order(core: SceneCore) -> str:
    names = [
        core.asset.tree.names[drive.joint_node] or f"node {drive.joint_node}"
        for drive in core.joint_controls.drives
    ]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f", and {more} more" if more > 0 else "")


def _by_joint(
    core: SceneCore, joints: ByNode[JointView], targets: Mapping[int | str, float], now: FloatArray
) -> FloatArray:
    values = now.copy()
    for key, wanted in targets.items():
        node = joints[key].node
        rows = [k for k, d in enumerate(core.joint_controls.drives) if d.joint_node == node]
        numbers: FloatArray = np.atleast_1d(float_array(f"joint {key!r}", wanted))
        if numbers.shape != (len(rows),) or not np.isfinite(numbers).all():
            raise ValueError(
                f"joint {key!r} has {len(rows)} drives; got {wanted!r}, must be as many finite "
                "numbers"
            )
        values[rows] = numbers
    return values
