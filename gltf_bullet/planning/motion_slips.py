"""Likely slips in how bodies move and how heavy they are, for ``check``."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, note
from gltf_bullet.model import DofKind, JointDescription, MotionKind, PhysicsScene
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.scene import NodeTree
from gltf_bullet.transforms import FloatArray

DENSITY_UNLIKELY = note(
    "DENSITY_UNLIKELY",
    "{mass:.4g} kg in {volume:.4g} m3 are {density:.2g} kg/m3, {which}; are lengths in metres"
    "{more}?",
)
JOINT_TAKES_VELOCITY = note(
    "JOINT_TAKES_VELOCITY",
    "the bodies start with velocities that part the joint's two frames at {speed:.3g} m/s; the "
    "joint takes that away at once: linearVelocity is that of the centre of mass, which a turn "
    "about the joint moves too",
)

_LIGHTEST: Final = 0.02
"""[kg/m3] A fiftieth of air; a crate of 10 kg in centimetres has 1e-4."""
_HEAVIEST: Final = 1e5
"""[kg/m3] Four times osmium."""
_SLOW: Final = 0.02
"""[m/s] Velocity of two frames that is none."""


def note_motions(
    physics: PhysicsScene, tree: NodeTree, plan: ScenePlan, diagnostics: Diagnostics
) -> None:
    """Report bodies much lighter or heavier than anything is, and velocities that joints take.

    Args:
        physics: The model.
        tree: Its nodes.
        plan: Its plan in a world whose Y axis is up.
        diagnostics: Takes the findings.
    """
    unlikely: list[tuple[int, float, float, str]] = []
    for node, body in plan.bodies.bodies.items():
        motion, volume = physics.motions.get(node), body.moments.volume
        stated = None if motion is None else motion.mass
        if body.kind is not MotionKind.DYNAMIC or not stated or volume <= 0.0:
            continue  # a fixed base of an articulation has no motion
        if stated / volume < _LIGHTEST:
            unlikely.append((node, stated, volume, "lighter than any gas"))
        elif _HEAVIEST < stated / volume < np.inf:
            unlikely.append((node, stated, volume, "heavier than any metal"))
    for node, mass, volume, which in unlikely[:1]:
        more = f", and those of {len(unlikely) - 1} other bodies" if len(unlikely) > 1 else ""
        diagnostics.report(
            DENSITY_UNLIKELY, ROOT / "nodes" / node,
            mass=mass, volume=volume, density=mass / volume, which=which, more=more,
        )  # fmt: skip
    places = tree.compose(tree.local_matrices(), np.eye(4))[:, :3, 3]
    for joint in physics.joints.values():
        if joint.connected_node is None or not _holds_points(joint.description):
            continue
        ends = [_velocity_at(plan, k, places[k]) for k in (joint.node, joint.connected_node)]
        speed = float(np.linalg.norm(ends[1] - ends[0]))
        if speed > _SLOW + 0.02 * max(float(np.linalg.norm(end)) for end in ends):
            diagnostics.report(JOINT_TAKES_VELOCITY, joint.pointer, speed=speed)


def _holds_points(description: JointDescription) -> bool:
    """Tell whether hard limits lock all three linear axes."""
    locked = {
        axis
        for limit in description.limits
        for axis in limit.axes
        if limit.kind is DofKind.LINEAR
        and limit.minimum == limit.maximum
        and np.isinf(limit.stiffness)
    }
    return len(locked) == 3


def _velocity_at(plan: ScenePlan, node: int, place: FloatArray) -> FloatArray:
    """Velocity of the body that carries a node, at a point of the world [m/s], shape [3]."""
    body = plan.bodies.bodies.get(int(plan.motion_node_of[node]))
    if body is None:
        return np.zeros(3)
    center = np.array(body.world_from_body.apply(body.body_from_inertial.translation))
    turn = np.cross(np.array(body.angular_velocity), place - center)
    return np.asarray(np.array(body.linear_velocity) + turn)
