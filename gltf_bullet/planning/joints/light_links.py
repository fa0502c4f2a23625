"""Links that carry so much more than their own mass that usual time steps shake them apart.

What hangs on a link pulls it straight like a spring: with a mass ``M`` below it, a length ``l``
between its joints and an inertia ``I`` about the upper one, it swings at ``sqrt(M g l / I)``. An
explicit step must be shorter than that, in Bullet as in other engines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan, MultibodyPlan
from gltf_bullet.planning.joints.multibody_spec import LinkJoint
from gltf_bullet.transforms import FloatArray, Pose

__all__ = ["report_light_links"]

LOAD_ON_LIGHT_LINK = IssueKind(
    "LOAD_ON_LIGHT_LINK",
    Severity.INFO,
    "{ratio:.3g} times the body's own mass hangs on it; with time steps above {step:.2g} s it "
    "shakes, and is held by taking its energy away",
)

_GRAVITY: Final = 9.81
"""[m/s^2] The world's is not known here."""
_PHASE: Final = 0.7
"""[rad] that the swing may go on in a step. Measured on ropes of 20 with 1, 100 and 1000 times a
segment's mass at their end: quiet at 0.3, 0.3 and 0.6, shaken at 1.3, 2.2 and 2.3."""
_TURNING: Final = (LinkJoint.REVOLUTE, LinkJoint.SPHERICAL)
_USUAL_STEP: Final = 1.0 / 60.0
"""[s] What is quiet at this step is not named."""


def report_light_links(articulations: Iterable[ArticulationPlan], diagnostics: Diagnostics) -> None:
    """Name the worst such body of each multibody that hangs on the world or on a moving anchor."""
    for articulation in articulations:
        for multibody in articulation.multibodies:
            if multibody.is_floating:
                continue
            node, speed, ratio = _worst(multibody)
            if speed * _USUAL_STEP > _PHASE:
                diagnostics.report(
                    LOAD_ON_LIGHT_LINK,
                    JsonPointer(f"/nodes/{node}"),
                    ratio=ratio,
                    step=_PHASE / speed,
                )


@dataclass(slots=True)
class _Hanging:
    """A body of a multibody, by its link."""

    joint: FloatArray
    """Where it hangs on the body above, in the world [m], shape [3]."""
    turns: bool
    """Whether it can turn there."""
    above: int
    """Link of the body above, -1 for the base."""
    carried: float = 0.0
    """Mass that hangs on it [kg]."""
    lever: float = 0.0
    """From its joint to the furthest one that hangs on it [m]."""


def _worst(multibody: MultibodyPlan) -> tuple[int, float, float]:
    """The body that swings fastest, how fast [rad/s], and the mass on it over its own."""
    links, poses = multibody.spec.links, _poses(multibody)
    found: dict[int, _Hanging] = {}
    for index, link in enumerate(links):
        origin, turns = np.array(poses[index].translation), link.joint in _TURNING
        above = link.parent
        # Joints of several axes are chains of links without mass.
        if above >= 0 and links[above].mass == 0.0:
            passed = found[above]
            origin, turns, above = passed.joint, turns or passed.turns, passed.above
        found[index] = _Hanging(origin, turns, above)
    worst = (-1, 0.0, 0.0)
    nodes = {index: node for node, index in multibody.bodies}
    for index in range(len(links) - 1, -1, -1):  # children come after their parents
        one, link = found[index], links[index]
        if link.mass == 0.0:
            continue
        if one.above >= 0:
            upper = found[one.above]
            upper.carried += one.carried + link.mass
            upper.lever = max(upper.lever, float(np.linalg.norm(one.joint - upper.joint)))
        if not (one.turns and one.carried):
            continue
        center = (poses[index] @ link.link_from_inertial).translation
        arm = float(np.linalg.norm(np.array(center) - one.joint))
        inertia = link.mass * arm * arm + max(link.inertia_diagonal)
        speed = math.sqrt(one.carried * _GRAVITY * one.lever / inertia)
        if speed > worst[1]:
            worst = (nodes.get(index, -1), speed, one.carried / link.mass)
    return worst


def _poses(multibody: MultibodyPlan) -> list[Pose]:
    """world_from_link at load."""
    poses: list[Pose] = []
    for link in multibody.spec.links:
        above = multibody.spec.world_from_base if link.parent < 0 else poses[link.parent]
        poses.append(above @ link.parent_from_link)
    return poses
