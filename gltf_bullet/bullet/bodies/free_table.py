"""The free bodies of a plan as arrays, computed once for all copies of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.body_sizes import BodySize, body_sizes
from gltf_bullet.transforms import IDENTITY_POSE, BoolArray, FloatArray, IntArray

_SOFT_LANDING = 0.5
"""Speed [m/s] from which on bodies that can meet triangle meshes, and bounce on nothing, are swept:
meshes push out fast, and a body that penetrates one deeply would jump (measured, a box of 0.4 m
from 0.5 m at 240 Hz: 1.0 m/s upwards instead of 0.04; bare PyBullet 0.3).
"""

_DIFFER = 1e-6
"""Relative difference above which principal moments count as unequal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeTable:
    """Constant properties of free bodies, in the order of their plans."""

    nodes: IntArray
    """Motion nodes, shape [n]."""
    is_dynamic: BoolArray
    """True for dynamic bodies, shape [n]."""
    body_from_inertial: tuple[FloatArray, FloatArray] | None
    """Positions [m] (n, 3) and rotations xyzw (n, 4); ``None`` where all are the same frame."""
    masses: tuple[float, ...]
    """Masses [kg]."""
    moments: FloatArray
    """Principal moments [kg m^2], shape [n, 3]."""
    is_lopsided: BoolArray
    """True where the principal moments differ, shape [n]."""
    sizes: tuple[BodySize | None, ...]
    half_thickness: FloatArray
    """Half the smallest thickness [m], shape [n]; infinite if not dynamic or without a collider."""
    bounces: tuple[bool, ...]
    """True where a body has restitution in some contact."""
    lands_softly: BoolArray
    """True where a body can meet triangle meshes and bounces on nothing, shape [n]."""

    @staticmethod
    def of(plans: Sequence[BodyPlan]) -> FreeTable:
        """Build the table of some bodies."""
        is_dynamic = np.array([plan.kind is MotionKind.DYNAMIC for plan in plans], dtype=bool)
        moments = np.array([plan.inertia_diagonal for plan in plans]).reshape(-1, 3)
        sizes = tuple(body_sizes(plans))
        half = np.array([np.inf if size is None else size.half_thickness for size in sizes])
        half[~is_dynamic] = np.inf
        surfaces = [[group.surface for group in plan.groups] for plan in plans]
        bounces = tuple(any(surface.bounces for surface in its) for its in surfaces)
        on_triangles = [any(surface.on_triangles for surface in its) for its in surfaces]
        return FreeTable(
            nodes=np.array([plan.node for plan in plans], dtype=np.intp),
            is_dynamic=is_dynamic,
            body_from_inertial=_inertial_frames(plans),
            masses=tuple(plan.mass for plan in plans),
            moments=moments,
            is_lopsided=np.ptp(moments, axis=1) > _DIFFER * moments.max(axis=1, initial=0.0),
            sizes=sizes,
            half_thickness=half,
            bounces=bounces,
            lands_softly=np.array(on_triangles, dtype=bool) & ~np.array(bounces, dtype=bool),
        )

    def furthest(self, time_step: float) -> FloatArray:
        """Return the travel within a step [s] above which each body is fast [m], shape [n].

        In a step of 0 s this is the geometric limit.
        """
        half = self.half_thickness
        is_soft = self.lands_softly & np.isfinite(half) & (time_step > 0.0)
        return np.where(is_soft, np.minimum(half, _SOFT_LANDING * time_step), half)

    @cached_property
    def tumbling(self) -> IntArray:
        """Rows of dynamic bodies whose principal moments differ."""
        return np.flatnonzero(self.is_dynamic & self.is_lopsided)


def _inertial_frames(plans: Sequence[BodyPlan]) -> tuple[FloatArray, FloatArray] | None:
    poses = [plan.body_from_inertial for plan in plans]
    if all(pose == IDENTITY_POSE for pose in poses):
        return None
    positions = np.array([pose.translation for pose in poses])
    return positions, np.array([pose.rotation_xyzw for pose in poses])
