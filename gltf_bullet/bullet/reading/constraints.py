"""Constraints between the bodies of a PyBullet world."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pybullet

from gltf_bullet.bullet.reading.issues import CONSTRAINT_NOT_IN_GLTF
from gltf_bullet.bullet.reading.joint_values import unit_axis
from gltf_bullet.convert.description import (
    BodyDescription,
    ConstraintDescription,
    ConstraintKind,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.transforms import IDENTITY_POSE, Pose

__all__ = ["read_constraints"]

_KIND = {
    pybullet.JOINT_POINT2POINT: ConstraintKind.POINT,
    pybullet.JOINT_FIXED: ConstraintKind.FIXED,
    pybullet.JOINT_PRISMATIC: ConstraintKind.PRISMATIC,
}
_NO_LIMIT_FORCE = 1e9
"""[N] A constraint that may pull as hard as this is taken for a rigid one."""


def read_constraints(
    client_id: int,
    bodies: Sequence[BodyDescription],
    index_of: Mapping[int, int],
    without: Collection[int],
    diagnostics: Diagnostics,
) -> list[ConstraintDescription]:
    """All constraints that hold one of some bodies.

    Args:
        client_id: A connected world.
        bodies: The bodies that are described.
        index_of: Which of them an id stands for.
        without: Constraints that are left out and not named.
        diagnostics: Receives the constraints that cannot be described.
    """
    found = []
    for k in range(pybullet.getNumConstraints(physicsClientId=client_id)):
        number = pybullet.getConstraintUniqueId(k, physicsClientId=client_id)
        if number in without:
            continue
        with contextlib.suppress(pybullet.error):
            info = pybullet.getConstraintInfo(number, physicsClientId=client_id)
            ends = {end for end in (info[0], info[2]) if end >= 0}
            if ends.isdisjoint(index_of):
                continue
            what = _lost(info, ends.difference(index_of))
            if what:
                diagnostics.report(CONSTRAINT_NOT_IN_GLTF, ROOT, got=number, what=what)
                continue
            found.append(_described(info, bodies, index_of))
    return found


def _lost(info: Any, others: set[int]) -> str:
    """Why a constraint cannot be described; empty if it can."""
    if others:
        return f"to body {min(others)}, which is not written"
    if info[4] in _KIND:
        return ""
    return "a gear" if info[4] == pybullet.JOINT_GEAR else f"of type {info[4]}"


def _described(
    info: Any, bodies: Sequence[BodyDescription], index_of: Mapping[int, int]
) -> ConstraintDescription:
    parent, parent_link, child, child_link, kind, axis = info[:6]
    ends = (
        (index_of[parent], parent_link + 1),
        ((index_of[child], child_link + 1) if child >= 0 else (-1, -1)),
    )
    frames = []
    for (body, link), pivot, turn in zip(ends, info[6:8], info[8:10], strict=True):
        inertial = bodies[body].links[link].link_from_inertial if body >= 0 else IDENTITY_POSE
        frames.append(inertial @ Pose(turn, pivot))
    return ConstraintDescription(
        kind=_KIND[kind],
        parent=ends[0],
        child=ends[1],
        parent_from_frame=frames[0],
        child_from_frame=frames[1],
        axis=unit_axis(axis),
        max_force=info[10] if info[10] < _NO_LIMIT_FORCE else math.inf,
    )
