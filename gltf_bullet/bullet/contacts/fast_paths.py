"""Where a fast body went within a step, and where on that way it first touched a surface."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.planning.body_sizes import BodySize
from gltf_bullet.transforms import (
    FloatArray,
    matrices_from_quats,
    quat_from_rotation_vector,
    quat_multiply,
    quat_rotate,
)

__all__ = ["FastPath", "near_others"]

TOUCH = 2e-5
"""[m] that a body is put inside the surface: with a gap boxes on boxes find no contact and gain
energy (measured: 7 times)."""
TOUCH_SHARE = 5e-4
"""... or this share of half its thickness: balls over an edge of a mesh are sometimes held by the
triangle beside it (measured: 10 um too high to touch at a radius of 0.2 m)."""

_STEADY = 0.01
"""Share of ``TOUCH`` by which a turn may move a surface that counts as not turning."""
_SAMPLES = 9
"""Poses of a way that are looked at: a step turns a watched body by 1.5 rad at most."""
_BISECTIONS = 12
"""... and how often the way between two of them is halved: to a tenth of ``TOUCH`` at 50 m/s."""


_NEAR = 0.02
"""[m] within which a gap that is left is closed."""
_REFINEMENTS = 3


class FastPath:
    """Where a body went within the last step."""

    __slots__ = ("_is_turning", "position", "rotation", "row", "size", "touch", "travel", "turn")

    def __init__(
        self,
        row: int,
        size: BodySize,
        position: FloatArray,
        rotation: FloatArray,
        travel: FloatArray,
        turn: FloatArray,
    ) -> None:
        self.row, self.size = row, size
        self.position, self.rotation = position.copy(), rotation.copy()
        self.travel, self.turn = travel, turn
        self._is_turning = any(turn.tolist())
        self.touch = max(TOUCH, TOUCH_SHARE * size.half_thickness)
        """How deep the body is put into what it meets [m]."""

    def put_before(
        self, client_id: int, body: int, share: float, other: EngineLink
    ) -> tuple[FloatArray, FloatArray]:
        """Put a body where it touches a link, after about a share of the way; its pose there."""
        position, rotation = self.pose_after(share)
        for _ in range(_REFINEMENTS):
            pybullet.resetBasePositionAndOrientation(
                body, position.tolist(), rotation.tolist(), physicsClientId=client_id
            )
            # Where a ray hits is known to a tenth of a millimetre only (measured).
            near = pybullet.getClosestPoints(
                body, other[0], _NEAR, linkIndexB=other[1], physicsClientId=client_id
            )
            gap, normal = min(((n[8], n[7]) for n in near), default=(0.0, None))
            if normal is None or gap <= 0.0:
                break
            position = position - (gap + self.touch) * np.array(normal)
        return position, rotation

    def probe_paths(self, *, from_surface: bool) -> tuple[FloatArray, FloatArray]:
        """Rays along the ways of the probes, lengthened by their reaches: starts and ends.

        Args:
            from_surface: Rays of balls begin just outside: from inside they hit the ball itself,
                while those of other bodies miss them (measured).
        """
        if self.size.is_central:
            starts, ends = (self.position - self.travel)[None], self.position[None]
        else:
            position, rotation = self.pose_after(0.0)
            starts = position + quat_rotate(rotation, self.size.probes)
            ends = self.position + quat_rotate(self.rotation, self.size.probes)
        ways = ends - starts
        lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-12)
        along = ways / lengths
        if from_surface and self.size.is_ball:
            starts += (1.0 + 1e-6) * self.size.half_thickness * along
        return starts, ends + along * self.size.reaches[:, None]

    def pose_after(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Centre of mass and rotation after a share of the way."""
        back = 1.0 - share
        if not self._is_turning:
            return self.position - back * self.travel, self.rotation
        turned = quat_multiply(quat_from_rotation_vector(-back * self.turn), self.rotation)
        return self.position - back * self.travel, turned

    def share_before(
        self, point: Sequence[float], normal: FloatArray, groups: Collection[int]
    ) -> float:
        """The share of the way after which the body touches a plane, 1 if it does not get there.

        Args:
            point: On the plane.
            normal: Towards where the body came from.
            groups: Those of its colliders that the plane stops.
        """
        touch = self.touch
        first, last = (self._gap(share, point, normal, groups) for share in (0.0, 1.0))
        approach = float(-normal @ self.travel)
        # Between the ends the body is turned by half as much at most.
        sway = self.size.reach * math.hypot(*self.turn.tolist())
        if min(first, last) - abs(first - last - approach) - 0.5 * sway > -touch:
            return 1.0
        if first < -touch:
            # Something of it is behind the plane already, maybe beside the surface: the ball
            # inside of it decides. With half the thickness of a box around it instead, a hull that
            # lay on a corner was put back in each step, and hung there for good (seen).
            if approach <= 0.0 or first < -self.size.half_thickness:
                return 1.0  # it leaves, or is inside: the engine pushes it out
            height = float(normal @ (self.position - self.travel - np.array(point)))
            share = (height - self.size.core + touch) / approach
            return min(max(share, 0.0), 1.0)
        if sway < _STEADY * touch:
            return (first + touch) / (first - last) if last < -touch else 1.0
        shares = np.linspace(0.0, 1.0, _SAMPLES)
        inner = (self._gap(share, point, normal, groups) for share in shares[1:-1].tolist())
        gaps = [first, *inner, last]
        behind = [k for k, gap in enumerate(gaps) if gap < -touch]
        if not behind:
            return 1.0
        low, high = float(shares[behind[0] - 1]), float(shares[behind[0]])
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if self._gap(middle, point, normal, groups) < -touch:
                high = middle
            else:
                low = middle
        return high

    def _gap(
        self, share: float, point: Sequence[float], normal: FloatArray, groups: Collection[int]
    ) -> float:
        """Between the body and a plane after a share of the way [m]."""
        position, rotation = self.pose_after(share)
        reach = self.size.support(matrices_from_quats(rotation).T @ -normal, groups)
        return float(normal @ (position - np.array(point))) - reach


def near_others(
    client_id: int, ids: Sequence[int], middles: FloatArray, reaches: FloatArray
) -> list[bool]:
    """Whether anything but themselves is in boxes around bodies, as rays through them would find.

    What falls through the air is let go by that: of 1000 boxes a step took 120 times as long as the
    engine's, and takes 12 times as long now (measured).

    Args:
        client_id: The world.
        ids: Of the bodies.
        middles: Of the boxes [m], shape [n, 3].
        reaches: Half their edges [m], shape [n, 3].
    """
    lows, highs = (middles - reaches).tolist(), (middles + reaches).tolist()
    found = [
        pybullet.getOverlappingObjects(low, high, client_id) or ()
        for low, high in zip(lows, highs, strict=True)
    ]
    return [any(body != own for body, _ in others) for own, others in zip(ids, found, strict=True)]
