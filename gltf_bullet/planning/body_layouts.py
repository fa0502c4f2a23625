"""Layouts of planned bodies: they tell whether a saved state fits the bodies of a scene.

A state holds poses of inertial frames, of links by coordinates along their chain, and memories of
the rows. Bodies with the same layout as those that it was taken of can take it over.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import numpy as np

from gltf_bullet.model import MotionKind
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import FloatArray

_SAME = 1e-7
"""Tolerance [m, and of quaternions]: frames planned from other places differ in the last bits."""

BodyLayout: TypeAlias = tuple[Hashable, FloatArray]
"""Kinds, numbers of links and joint chains, which must be equal, and inertial frames, shape
[body_count, 7]."""


def layout_of(plan: ScenePlan) -> BodyLayout:
    """The layout of planned bodies."""
    bodies, fixed = plan.bodies.bodies, fixed_root_nodes(plan)
    frames = [
        (*body.body_from_inertial.translation, *body.body_from_inertial.rotation_xyzw)
        for node, body in bodies.items()
        if node not in fixed
    ]
    chains = tuple(_chain(articulation) for articulation in plan.articulations.articulations)
    kinds = tuple((node, body.kind, len(body.groups)) for node, body in bodies.items())
    return (kinds, chains), np.array(frames, dtype=np.float64).reshape(-1, 7)


def fixed_root_nodes(plan: ScenePlan) -> frozenset[int]:
    """Motion nodes of bodies in multibodies whose root is not a dynamic body.

    Their states are joint coordinates, which do not depend on inertial frames.
    """
    bodies = plan.bodies.bodies
    return frozenset(
        node
        for articulation in plan.articulations.articulations
        for multibody in articulation.multibodies
        if multibody.root_node not in bodies
        or bodies[multibody.root_node].kind is not MotionKind.DYNAMIC
        for node, _ in multibody.bodies
    )


def fits(one: BodyLayout, other: BodyLayout) -> bool:
    """Return True if a state saved with one layout can be restored into bodies with the other."""
    # Of as many bodies: their kinds are equal.
    return one[0] == other[0] and bool((np.abs(one[1] - other[1]) <= _SAME).all())


def _chain(plan: ArticulationPlan) -> Hashable:
    return (
        tuple((multibody.root_node, multibody.bodies) for multibody in plan.multibodies),
        tuple((dof.joint_node, dof.dof.kind, dof.dof.axis, dof.is_reversed) for dof in plan.dofs),
        tuple((row.joint, row.row) for row in plan.rows),
    )
