"""Views of bodies by glTF index or name, for users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gltf_bullet.bullet.state import link_state
from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.model import MotionKind
from gltf_bullet.number_ranges import WORLD, finite_vector
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.pointers import set_value
from gltf_bullet.runtime.views.posing import node_pose, set_node_pose
from gltf_bullet.transforms import FloatArray, Pose

_KHR = "KHR_physics_rigid_bodies"


@holds_world_lock("_core.session.lock")
class Body:
    """A rigid body of a scene: a node with motion.

    ``body_id`` and ``link_index`` are ordinary PyBullet ids: use them with any PyBullet call.
    Velocities and impulses are in world axes.
    """

    __slots__ = ("_core", "node")

    def __init__(self, core: SceneCore, node: int) -> None:
        self._core = core
        self.node = node
        """glTF index of the node with the motion."""

    @property
    def _link(self) -> tuple[int, int]:
        self._core.require_alive()
        link = self._core.world.link_of(self.node)
        self._core.world.ownership.require_body(link[0])
        return link

    @property
    def body_id(self) -> int:
        """Id of the PyBullet body."""
        return self._link[0]

    @property
    def link_index(self) -> int:
        """-1 for a free body, else the link of an articulated multibody."""
        return self._link[1]

    @property
    def kind(self) -> MotionKind:
        """Dynamic, kinematic or static; an animation may drive a dynamic body while it plays."""
        return self._core.world.plan.bodies.bodies[self.node].kind

    @property
    def mass(self) -> float:
        """Mass in the engine [kg]; 0 for kinematic and static bodies.

        Setting it is ``Scene.set`` of the motion's ``mass``: a stated inertia stays, any other
        grows with it.
        """
        return self._core.world.plan.bodies.bodies[self.node].mass

    @mass.setter
    def mass(self, mass: float) -> None:
        self._set("mass", mass)

    @property
    def name(self) -> str:
        """The node's name."""
        return self._core.asset.tree.names[self.node]

    @property
    def position(self) -> FloatArray:
        """Position of the node in the world [m], shape [3].

        Setting it puts the body elsewhere, with the whole mechanism that it is jointed to;
        velocities and joints stay. What joints hold at a fixed or kinematic base stays there, and
        ``ValueError`` is raised: see ``JointView.set_position``.
        """
        return node_pose(self._alive(), self.node)[0]

    @position.setter
    def position(self, position: Sequence[float] | FloatArray) -> None:
        core = self._alive()
        with core.engine_errors():
            set_node_pose(core, self.node, position=position)

    @property
    def orientation(self) -> FloatArray:
        """Orientation of the node in the world, a quaternion xyzw, shape [4].

        It is set as :attr:`position` is, about the node's origin.
        """
        return node_pose(self._alive(), self.node)[1]

    @orientation.setter
    def orientation(self, orientation: Sequence[float] | FloatArray) -> None:
        core = self._alive()
        with core.engine_errors():
            set_node_pose(core, self.node, orientation=orientation)

    def _alive(self) -> SceneCore:
        self._core.require_alive()
        return self._core

    @property
    def center_of_mass(self) -> FloatArray:
        """Centre of mass in the world [m], shape [3]."""
        return np.array(link_state(self._core.client_id, *self._link)[0])

    @property
    def linear_velocity(self) -> FloatArray:
        """Velocity of the centre of mass [m/s], shape [3]; it can be set.

        Joints keep of it what they allow, as of an impulse.
        """
        return np.array(link_state(self._core.client_id, *self._link)[2])

    @linear_velocity.setter
    def linear_velocity(self, velocity: Sequence[float] | FloatArray) -> None:
        self._set("linearVelocity", self._in_node_axes("linear_velocity", velocity))

    @property
    def angular_velocity(self) -> FloatArray:
        """Angular velocity [rad/s], shape [3]; it is set as :attr:`linear_velocity` is."""
        return np.array(link_state(self._core.client_id, *self._link)[3])

    @angular_velocity.setter
    def angular_velocity(self, velocity: Sequence[float] | FloatArray) -> None:
        self._set("angularVelocity", self._in_node_axes("angular_velocity", velocity))

    def _set(self, what: str, value: object) -> None:
        core = self._alive()
        with core.engine_errors():
            set_value(core, f"/nodes/{self.node}/extensions/{_KHR}/motion/{what}", value)

    def _in_node_axes(
        self, what: str, velocity: Sequence[float] | FloatArray
    ) -> tuple[float, float, float]:
        x, y, z, w = node_pose(self._alive(), self.node)[1].tolist()
        return Pose((-x, -y, -z, w), (0.0, 0.0, 0.0)).rotate(finite_vector(what, velocity))

    def apply_impulse(
        self,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """rigid_body/applyImpulse: change the velocity at once; no effect on kinematic bodies.

        Args:
            linear: [N s] at the centre of mass, world axes.
            angular: [N m s], world axes.

        Raises:
            ValueError: Not three finite numbers each.
        """
        impulses = finite_vector("linear", linear), finite_vector("angular", angular)
        self._core.world.ownership.require_body(self.body_id)
        self._core.world.motion.apply_impulse(self.node, *impulses)

    def apply_point_impulse(self, impulse: Sequence[float], position: Sequence[float]) -> None:
        """rigid_body/applyPointImpulse: apply an impulse [N s] at a point of the world [m].

        Raises:
            ValueError: Not three finite numbers each.
        """
        linear = np.array(finite_vector("impulse", impulse))
        arm = np.array(finite_vector("position", position, WORLD)) - self.center_of_mass
        self.apply_impulse(linear.tolist(), np.cross(arm, linear).tolist())

    def apply_force(self, force: Sequence[float], position: Sequence[float] | None = None) -> None:
        """Apply a force during the coming step, which drives and limits take into account.

        They react to a force that is given to PyBullet itself one or two steps later. It has no
        effect on kinematic bodies.

        Args:
            force: [N], world axes.
            position: Point of application in the world [m]; ``None``: the centre of mass.

        Raises:
            ValueError: Not three finite numbers each.
        """
        linear = np.array(finite_vector("force", force))
        torque = np.zeros(3)
        if position is not None:
            arm = np.array(finite_vector("position", position, WORLD)) - self.center_of_mass
            torque = np.cross(arm, linear)
        self._core.world.ownership.require_body(self.body_id)
        self._core.world.motion.apply_force(self.node, linear, torque)

    def apply_torque(self, torque: Sequence[float]) -> None:
        """Apply a torque [N m] during the coming step, world axes; see :meth:`apply_force`."""
        turn = np.array(finite_vector("torque", torque))
        self._core.world.ownership.require_body(self.body_id)
        self._core.world.motion.apply_force(self.node, np.zeros(3), turn)

    def __repr__(self) -> str:
        body_id, link_index = self._core.world.link_of(self.node)
        return (
            f"Body(node={self.node}, name={self.name!r}, body_id={body_id}, "
            f"link_index={link_index}, kind={self.kind.value})"
        )
