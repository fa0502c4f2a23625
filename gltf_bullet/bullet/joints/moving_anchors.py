"""Moving attachments of joints: animated nodes, and bodies with a prescribed motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.state import link_state, velocity_after_turn, velocity_at
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.solver.engine.kinematic_bodies import ANCHOR
from gltf_bullet.transforms import (
    FloatArray,
    Pose,
    quat_from_rotation_vector,
    quat_multiply,
)

_Motion: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Present position and rotation xyzw, and velocity and spin over the coming step."""


class MovingAnchors:
    """Passes the motion of attachments to the articulations of one scene."""

    def __init__(
        self,
        client_id: int,
        plan: ScenePlan,
        articulations: ArticulationSet,
        link_of: Callable[[int], EngineLink],
    ) -> None:
        """``link_of``: returns the engine link of a motion node's body."""
        self._client_id = client_id
        self._bodies = plan.bodies.bodies
        self._nodes = plan.articulations.moving_anchors
        self._articulations = articulations
        self._link_of = link_of
        self._motion: dict[int, _Motion] = {}
        self._bases = [
            node for node in self._nodes if node in self._bodies and link_of(node)[1] < 0
        ]
        self.rest: FloatArray = np.full(ANCHOR.size * len(self._bases), -1.0)
        """The anchors that are bodies, as they were set at rest, for kernels."""

    @property
    def is_any(self) -> bool:
        """True if the scene has moving attachments."""
        return bool(self._nodes)

    def set_motion(
        self,
        node: int,
        position: FloatArray,
        rotation_xyzw: FloatArray,
        velocity: FloatArray,
        spin: FloatArray,
    ) -> None:
        """Set the pose and velocity of an animated attachment node without motion for a step.

        Args:
            node: One of ``plan.articulations.moving_anchors``.
            position: Present position [m], shape [3].
            rotation_xyzw: Present rotation, shape [4].
            velocity: Velocity over the step [m/s], world axes, shape [3].
            spin: Angular velocity over the step [rad/s], world axes, shape [3].
        """
        self._motion[node] = (position, rotation_xyzw, velocity, spin)

    def before_step(self, time_step: float, part: int = 0) -> None:
        """Set all anchors for an engine step of ``time_step`` [s], the ``part``-th of a step."""
        for node in self._nodes:
            if node in self._bodies:
                motion = self._body_motion(node, time_step)
                self._articulations.set_anchor(node, *motion, time_step)
            elif node in self._motion:
                position, rotation, velocity, spin = self._motion[node]
                if part:
                    position = position + part * time_step * velocity
                    turn = quat_from_rotation_vector(part * time_step * spin)
                    rotation = quat_multiply(turn, rotation)
                self._articulations.set_anchor(node, position, rotation, velocity, spin, time_step)
        for number, node in enumerate(self._bases):
            self._note_rest(number, node)

    def forget_rest(self) -> None:
        """Let Python set all anchors in the next step, as a restored state has others."""
        self.rest[:] = -1.0

    @property
    def may_rest(self) -> bool:
        """True if all anchors are bodies, which may rest."""
        return len(self._bases) == len(self._nodes)

    def _note_rest(self, number: int, node: int) -> None:
        """Note the state of an anchor for kernels: one that does not rest is left to Python."""
        rest = self.rest[ANCHOR.size * number :][: ANCHOR.size]
        rest[:] = -1.0
        if self._articulations.does_anchor_rest(node):
            body, _ = self._link_of(node)
            pose = pybullet.getBasePositionAndOrientation(body, self._client_id)
            velocity = pybullet.getBaseVelocity(body, self._client_id)
            rest[:] = (body, *pose[0], *pose[1], *velocity[0], *velocity[1])

    def _body_motion(self, node: int, time_step: float) -> _Motion:
        com, rotation, linear, angular = link_state(self._client_id, *self._link_of(node))
        linear = velocity_after_turn(linear, angular, time_step)
        world_from_body = Pose(rotation, com) @ self._bodies[node].body_from_inertial.inverse()
        origin = np.array(world_from_body.translation)
        velocity = np.array(velocity_at((com, rotation, linear, angular), origin.tolist()))
        return origin, np.array(world_from_body.rotation_xyzw), velocity, np.array(angular)
