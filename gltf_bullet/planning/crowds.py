"""Bodies that are put into one place, more of them than an engine can take apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind, Severity
from gltf_bullet.model import MotionKind, may_collide
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes.extents import extent_of
from gltf_bullet.transforms import FloatArray

__all__ = ["BODIES_IN_ONE_PLACE", "report_crowds"]

MOST_PAIRS = 1000
"""PyBullet's memory for the contacts of one heap grows one contact at a time: the first step of 60
boxes in one place (1770 pairs) takes 8.5 s, of 120 more than a minute (measured, engine alone)."""
_DEEP = 0.5
"""Two bodies are in one place where their centres are nearer than that share of half their sizes;
neighbours in a heap are twice as far apart."""
_CHUNK = 1 << 18
"""Pairs that are looked at together."""

BODIES_IN_ONE_PLACE = IssueKind(
    "BODIES_IN_ONE_PLACE",
    Severity.ERROR,
    "more than {allowed} pairs of dynamic bodies that collide have their centres inside of each "
    "other, as the body of this node and that of node {other}; the first step would take minutes",
)


def report_crowds(bodies: Iterable[BodyPlan], diagnostics: Diagnostics) -> None:
    """Refuse more than ``MOST_PAIRS`` pairs of dynamic bodies that stand in each other."""
    solid = [plan for plan in bodies if plan.kind is MotionKind.DYNAMIC and plan.groups]
    if len(solid) * (len(solid) - 1) // 2 <= MOST_PAIRS:
        return
    centers, sizes = _centers(solid), _sizes(solid)
    axis = int(np.ptp(centers, axis=0).argmax())
    order = np.argsort(centers[:, axis], kind="stable")
    centers, sizes = centers[order], sizes[order]
    along = centers[:, axis]
    ends = np.searchsorted(along, along + _DEEP * (sizes + sizes.max()), "right")
    counts = np.maximum(ends - np.arange(len(solid)) - 1, 0)
    if int(counts.sum()) <= MOST_PAIRS:
        return
    met = 0
    starts = np.concatenate([[0], np.cumsum(counts)])
    begin = 0
    while begin < len(solid):
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + _CHUNK, "right")) - 1)
        one = np.repeat(np.arange(begin, end), counts[begin:end])
        other = np.arange(len(one)) - np.repeat(
            starts[begin:end] - starts[begin], counts[begin:end]
        )
        other += one + 1
        apart = np.linalg.norm(centers[other] - centers[one], axis=1)
        is_deep = apart < _DEEP * (sizes[one] + sizes[other])
        for a, b in zip(order[one[is_deep]].tolist(), order[other[is_deep]].tolist(), strict=True):
            met += _meet(solid[a], solid[b])
            if met > MOST_PAIRS:
                at = ROOT / "nodes" / solid[a].node
                diagnostics.report(BODIES_IN_ONE_PLACE, at, allowed=MOST_PAIRS, other=solid[b].node)
                return
        begin = end


def _meet(one: BodyPlan, other: BodyPlan) -> bool:
    return any(may_collide(a.filter, b.filter) for a in one.groups for b in other.groups)


def _centers(plans: list[BodyPlan]) -> FloatArray:
    """Centres of mass in the world [m], shape [k, 3]."""
    return np.array(
        [plan.world_from_body.apply(plan.body_from_inertial.translation) for plan in plans]
    )


def _sizes(plans: list[BodyPlan]) -> FloatArray:
    """Half of the thickness of the thickest collider of each [m], shape [k]."""
    known: dict[int, float] = {}
    sizes = []
    for plan in plans:
        thickest = 0.0
        for group in plan.groups:
            for placed in group.shapes:
                key = id(placed.shape)
                if key not in known:
                    known[key] = float(extent_of(placed).half.min())
                thickest = max(thickest, known[key])
        sizes.append(thickest)
    return np.array(sizes)
