"""Bodies of a single shape, made about the axes of that shape.

Where a shape stands otherwise than the inertial frame of its body, to the last bit, PyBullet makes
a compound of it, whose contacts are fewer and found anew (measured at 240 Hz: cylinders that land
flat on a box from 1.5 m hop by 82 mm and topple; without compound they stay).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    CylinderPlan,
    HullPlan,
    PlacedShape,
    PointSet,
    SpherePlan,
    engine_pose,
)
from gltf_bullet.transforms import FloatArray, Pose, Vec3, matrices_from_quats

__all__ = ["about_own_shape", "principal_moments_about"]

_NEAR = 1e-9
"""[m], and share of the largest moment: what sums of the same numbers differ by."""


def about_own_shape(plan: BodyPlan, *, is_stated: bool) -> BodyPlan:
    """The same body, its inertial frame being that of its only shape where it can be.

    ``is_stated``: the moments are the file's, any others may follow in place: they have to be
    principal ones as well. What does not move of itself keeps the frame of its node.
    """
    if plan.mass == 0.0 or len(plan.groups) != 1 or len(plan.groups[0].shapes) != 1:
        return plan
    [group] = plan.groups
    [placed] = group.shapes
    pose, inertial = engine_pose(placed), plan.body_from_inertial
    if pose == inertial:
        return plan
    if isinstance(placed.shape, HullPlan):
        hull = _hull_in(placed.shape.vertices, placed.body_from_shape, inertial)
        return _with_shape(plan, hull)
    if not _is_near(pose.translation, inertial.translation):
        return plan
    if isinstance(placed.shape, SpherePlan):
        return _with_shape(plan, replace(placed, body_from_shape=inertial))
    if not isinstance(placed.shape, (BoxPlan, CapsulePlan, CylinderPlan)):
        return plan
    moments = principal_moments_about(pose, plan.inertia_diagonal, inertial, is_any=is_stated)
    if moments is None:
        return plan
    return replace(plan, inertia_diagonal=moments, body_from_inertial=pose)


@lru_cache(256)
def principal_moments_about(
    pose: Pose, moments: Vec3, inertial: Pose, *, is_any: bool = False
) -> Vec3 | None:
    """Principal moments about the axes of ``pose``; ``None`` where these are no principal axes.

    ``is_any``: for any moments, not for these alone.
    """
    turn = _matrix(pose).T @ _matrix(inertial)
    order = np.abs(turn).argmax(axis=1).tolist()
    if np.abs(np.abs(turn).max(axis=1) - 1.0).max() < _NEAR:
        a, b, c = (moments[k] for k in order)  # the same axes, in another order
        return a, b, c
    tensor = turn @ np.diag(moments) @ turn.T
    rest = tensor - np.diag(np.diag(tensor))
    if is_any or np.abs(rest).max() > _NEAR * max(moments):
        return None
    a, b, c = np.diag(tensor).tolist()
    return a, b, c


def _matrix(pose: Pose) -> FloatArray:
    return matrices_from_quats(np.array(pose.rotation_xyzw))


def _is_near(one: Vec3, other: Vec3) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR


def _with_shape(plan: BodyPlan, placed: PlacedShape) -> BodyPlan:
    [group] = plan.groups
    return plan.with_groups((replace(group, shapes=(placed,)),))


@lru_cache(64)
def _hull_in(vertices: PointSet, body_from_shape: Pose, inertial: Pose) -> PlacedShape:
    """A hull whose points are told in the inertial frame."""
    matrix = (inertial.inverse() @ body_from_shape).matrix()
    points = vertices.points @ matrix[:3, :3].T + matrix[:3, 3]
    return PlacedShape(HullPlan(PointSet(points)), inertial)
