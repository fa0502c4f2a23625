"""Pulling a body with the mouse: a damped spring between where it was taken and the pointer.

PyBullet has mouse picking of its own, but its point-to-point constraint does nothing to a body on a
fixed link behind a massless one (measured: no motion at all), and our jointed bodies are just that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray

__all__ = ["Dragging"]

PULL_RATE = 15.0
"""[rad/s] Of the spring, for a body that is free and as heavy as its mass at the grip."""


@dataclass(frozen=True, slots=True, eq=False)
class _Grip:
    node: int
    body_from_grip: FloatArray
    """Where the body was taken, in its node's frame, scale included, shape [3]."""
    depth: float
    """[m] from the eye along the middle of the picture: the pointer moves the grip across it."""


class Dragging:
    """What hangs on the mouse, if anything."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._grip: _Grip | None = None
        self._target = np.zeros(3)

    @property
    def is_active(self) -> bool:
        """Whether a body hangs on the mouse."""
        return self._grip is not None

    def take(self, start: FloatArray, end: FloatArray, forward: FloatArray) -> bool:
        """Take the body that a ray hits first; whether there is one that forces can move.

        Args:
            start: Where the eye is [m], shape [3].
            end: Far away behind the pointer [m], shape [3].
            forward: Where the camera looks, unit length, shape [3].
        """
        hit = self._scene.ray_cast(start.tolist(), end.tolist())
        if hit is None:
            return False
        point = start + hit.fraction * (end - start)
        return self.hold(hit.node, point, float((point - start) @ forward))

    def hold(self, node: int, point: FloatArray, depth: float = 0.0) -> bool:
        """Take a body at a point; whether it is one that forces can move.

        Args:
            node: On the body.
            point: In the world [m], shape [3].
            depth: From the eye, for :meth:`move` [m].
        """
        body = self._scene.body_of(node)
        if body is None or body.kind is not MotionKind.DYNAMIC:
            return False
        matrix = self._scene.world_from_node(body.node)
        in_body = np.asarray(
            np.linalg.solve(matrix[:3, :3], point - matrix[:3, 3]), dtype=np.float64
        )
        self._grip = _Grip(body.node, in_body, depth)
        self._target = point
        return True

    def aim(self, target: FloatArray) -> None:
        """Pull towards a point of the world from now on [m], shape [3]."""
        self._target = target

    def move(self, start: FloatArray, end: FloatArray, forward: FloatArray) -> None:
        """Pull towards the pointer from now on; arguments as of :meth:`take`."""
        if self._grip is not None:
            ray = end - start
            self._target = start + ray * (self._grip.depth / float(ray @ forward))

    def release(self) -> None:
        """Let go."""
        self._grip = None

    def line(self) -> FloatArray:
        """From the grip to the pointer [m], shape [k, 2, 3]; k is 0 where nothing is held."""
        if self._grip is None:
            return np.zeros((0, 2, 3))
        return np.stack([self._point(self._grip), self._target])[None]

    def pull(self, time_step: float) -> None:
        """Apply the spring's impulse for the coming step [s]."""
        if self._grip is None:
            return
        body = self._scene.bodies[self._grip.node]
        if body.mass <= 0.0:  # an animation has taken it over
            return
        point = self._point(self._grip)
        arm = point - body.center_of_mass
        velocity = body.linear_velocity + np.cross(body.angular_velocity, arm)
        rate, damping = PULL_RATE**2, 2.0 * PULL_RATE
        change = time_step * (rate * (self._target - point) - damping * velocity)
        # As if at the end of the step: stable for any length of it.
        change /= 1.0 + time_step * (damping + time_step * rate)
        body.apply_point_impulse((body.mass * change).tolist(), point.tolist())

    def _point(self, grip: _Grip) -> FloatArray:
        matrix = self._scene.world_from_node(grip.node)
        point: FloatArray = matrix[:3, :3] @ grip.body_from_grip + matrix[:3, 3]
        return point
