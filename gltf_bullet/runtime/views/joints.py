"""Joints as users hold them: degrees of freedom, drives and limits, by glTF node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gltf_bullet.bullet.joints.joint_controls import (
    DofHandle,
    DofState,
    DriveHandle,
    JointControls,
)
from gltf_bullet.model import DofKind, JointDrive, JointLimit
from gltf_bullet.model import Joint as JointModel

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

__all__ = ["DegreeOfFreedom", "Joint"]


class DegreeOfFreedom:
    """One free or limited axis of a joint; an ordinary PyBullet joint.

    Positions are those of the connected node relative to the joint node, in the joint node's
    frame: [m] or [rad].
    """

    __slots__ = ("_controls", "_handle")

    def __init__(self, controls: JointControls, handle: DofHandle) -> None:
        self._controls = controls
        self._handle = handle

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
        """Position, velocity, applied force and hard limits now, read in one go."""
        return self._controls.dof_state(self._handle)

    @property
    def position(self) -> float | tuple[float, ...]:
        """[m] or [rad]; of a ball the rotation vector."""
        return _single(self.state.position)

    @property
    def velocity(self) -> float | tuple[float, ...]:
        """[m/s] or [rad/s]."""
        return _single(self.state.velocity)

    @property
    def applied_force(self) -> float | tuple[float, ...]:
        """[N] or [N m] that drives and limits put on it in the last step."""
        return _single(self.state.applied_force)

    def __repr__(self) -> str:
        return (
            f"DegreeOfFreedom({self.kind.value}, axis={self.axis}, body_id={self.body_id}, "
            f"link_index={self.link_index})"
        )


class Joint:
    """A simulated joint of a scene."""

    __slots__ = ("_scene", "node")

    def __init__(self, scene: Scene, node: int) -> None:
        self._scene = scene
        self.node = node
        """glTF index of the joint node."""

    @property
    def _controls(self) -> JointControls:
        return self._scene.joint_controls

    @property
    def name(self) -> str:
        """The node's name."""
        return self._scene.asset.tree.names[self.node]

    @property
    def model(self) -> JointModel:
        """The joint as it stands in the file, runtime changes by pointer included."""
        return self._scene.physics.joints[self.node]

    @property
    def degrees_of_freedom(self) -> tuple[DegreeOfFreedom, ...]:
        """The axes along the chain; none for a weld and for purely soft loop joints."""
        return tuple(
            DegreeOfFreedom(self._controls, handle) for handle in self._controls.dofs(self.node)
        )

    @property
    def limits(self) -> tuple[JointLimit, ...]:
        """The limits as they are now."""
        return self._controls.limits(self.node)

    @property
    def drives(self) -> tuple[JointDrive, ...]:
        """The drives as the file has them, changes by pointer included."""
        return self.model.description.drives

    @property
    def drive_handles(self) -> tuple[DriveHandle, ...]:
        """The drives that act on something; places in :meth:`Scene.set_drive_targets`."""
        return tuple(d for d in self._controls.drives if d.joint_node == self.node)

    def __repr__(self) -> str:
        return f"Joint(node={self.node}, name={self.name!r}, {self.degrees_of_freedom})"


def _single(values: tuple[float, ...]) -> float | tuple[float, ...]:
    return values[0] if len(values) == 1 else values
