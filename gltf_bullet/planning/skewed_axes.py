"""Findings about axes that scales above a node turn away from its rotation."""

from __future__ import annotations

import math

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.model import PhysicsScene
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray

AXES_SKEWED = warning(
    "AXES_SKEWED",
    "scales above turn the axes of the node up to {degrees:.3g} degrees away from its rotation, "
    "which {what} follows",
)

_TOLERANCE = 1e-3
"""[rad]"""


def report_skewed_axes(physics: PhysicsScene, frames: NodeFrames, diagnostics: Diagnostics) -> None:
    """Report joints and motions whose axes differ from the axes of the node's global transform.

    Below an uneven or mirroring scale no rotation has the node's axes. Bodies and joints need one;
    the specs have "the basis defined by the attachment frame" and "node space", and no more of it.
    """
    maps = frames.linear_maps()
    astray = np.abs(maps - np.maximum(maps, 0.0) * np.eye(3)).max(axis=1)
    is_odd = (astray > _TOLERANCE * np.linalg.norm(maps, axis=1)).any(axis=1)
    if not is_odd.any():
        return
    for node, joint in physics.joints.items():
        ends = [node] if joint.connected_node is None else [node, joint.connected_node]
        worst = max(ends, key=lambda end: _line_angle(maps[end]))
        _report(worst, _line_angle(maps[worst]), "the joint's frame", diagnostics)
    for node, motion in physics.motions.items():
        if is_odd[node]:
            axes = maps[node] / np.maximum(np.linalg.norm(maps[node], axis=0), 1e-300)
            # A mirror reverses rotations.
            linear, spin = np.array(motion.linear_velocity), np.array(motion.angular_velocity)
            turned = math.copysign(1.0, float(np.linalg.det(axes))) * (axes @ spin)
            angle = max(_angle(axes @ linear, linear), _angle(turned, spin))
            _report(node, angle, "its stated velocity", diagnostics)


def _report(node: int, angle: float, what: str, diagnostics: Diagnostics) -> None:
    if angle > _TOLERANCE:
        at = ROOT / "nodes" / node
        diagnostics.report(AXES_SKEWED, at, degrees=math.degrees(angle), what=what)


def _line_angle(linear_map: FloatArray) -> float:
    """Largest angle between a line along an axis of the node and the rotated axis [rad]."""
    lengths = np.maximum(np.linalg.norm(linear_map, axis=0), 1e-300)
    cosines = np.abs(np.diag(linear_map)) / lengths
    # A scale of 0 leaves no direction.
    return float(np.arccos(np.clip(cosines[lengths > 1e-300], -1.0, 1.0)).max(initial=0.0))


def _angle(one: FloatArray, other: FloatArray) -> float:
    """Angle between two vectors [rad]; 0 if one of them is 0."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return math.acos(min(max(float(one @ other) / size, -1.0), 1.0)) if size > 0.0 else 0.0
