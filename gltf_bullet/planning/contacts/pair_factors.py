"""Coefficients per pair of surfaces on an engine that multiplies one number per surface.

The specs give a coefficient ``F[i, j]`` per pair of materials (average, minimum, ...); Bullet uses
``g[i] * g[j]``. Pure numpy: find ``g`` for as many pairs as can be right together, name the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.transforms import FloatArray

__all__ = ["Factors", "PairTargets", "factor_pairs", "restitution_factors"]

TOLERANCE = 0.005
"""Largest error of a coefficient that still counts as right."""

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class PairTargets:
    """What each pair of surface classes should have; symmetric arrays, shape [count, count]."""

    friction: FloatArray
    restitution: FloatArray
    edges: tuple[Edge, ...]
    """Pairs that can meet (i <= j), the most important first."""
    alone_friction: FloatArray
    """What a class would have alone, shape [count]; decides what the pairs leave open."""
    alone_restitution: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """One number per surface class, and the pairs that they cannot serve."""

    friction: FloatArray
    restitution: FloatArray
    split: tuple[Edge, ...]
    """Pairs for which a surface of its own is needed."""


def factor_pairs(targets: PairTargets, *, may_split: bool) -> Factors:
    """Find the factors.

    Args:
        targets: The pairs that can meet.
        may_split: Whether pairs that contradict the others may be left to surfaces of their own;
            else every pair is served with the least error.
    """
    direct = _dedicated(targets) if may_split else list(targets.edges)
    split = tuple(edge for edge in targets.edges if edge not in set(direct))
    friction = _solve(targets.friction, direct, targets.alone_friction)
    restitution = _solve(targets.restitution, direct, targets.alone_restitution)
    return Factors(friction, restitution, split)


def restitution_factors(
    targets: FloatArray, edges: Sequence[Edge], alone: FloatArray
) -> FloatArray:
    """Restitution factors of pairs that need no surface of their own, shape [count]."""
    return _solve(targets, edges, alone)


def _dedicated(targets: PairTargets) -> list[Edge]:
    """Take pairs one by one, the most important first, while all of them can be right together."""
    if _serves(targets, list(targets.edges)):
        return list(targets.edges)
    direct: list[Edge] = []
    for edge in targets.edges:
        if _serves(targets, [*direct, edge]):
            direct.append(edge)
    return direct


def _serves(targets: PairTargets, edges: Sequence[Edge]) -> bool:
    for wanted, alone in (
        (targets.friction, targets.alone_friction),
        (targets.restitution, targets.alone_restitution),
    ):
        found = _solve(wanted, edges, alone)
        if any(abs(found[i] * found[j] - wanted[i, j]) > TOLERANCE for i, j in edges):
            return False
    return True


def _solve(wanted: FloatArray, edges: Sequence[Edge], alone: FloatArray) -> FloatArray:
    """``g`` with ``g[i] * g[j]`` near ``wanted[i, j]``: least squares in logarithms.

    What the pairs leave open follows ``alone``. A class whose every pair is 0 gets 0; another
    pair of 0 asks for what no product can give and is left to the caller's check.
    """
    count = len(alone)
    factors = alone.astype(np.float64)
    nil = np.zeros(count, dtype=bool)
    open_edges = list(edges)
    while True:
        seen = [c for c in range(count) if any(c in edge for edge in open_edges)]
        found = [
            c for c in seen
            if all(wanted[e] <= 0.0 for e in open_edges if c in e)
        ]  # fmt: skip
        if not found:
            break
        # One class at a time: with a class at 0, the zero pairs of its partners are served.
        chosen = max(found, key=lambda c: sum(c in e for e in open_edges))
        nil[chosen] = True
        open_edges = [e for e in open_edges if chosen not in e]
    positive = [e for e in open_edges if wanted[e] > 0.0]
    if positive:
        rows = np.zeros((len(positive) + count, count))
        goal = np.zeros(len(positive) + count)
        for k, (i, j) in enumerate(positive):
            rows[k, i] += 1.0
            rows[k, j] += 1.0
            goal[k] = np.log(wanted[i, j])
        # A whisper of the preference: it decides only what the pairs leave open.
        weight = 1e-5
        rows[len(positive) :] = weight * np.eye(count)
        goal[len(positive) :] = weight * np.log(np.maximum(alone, 0.05))
        solution = np.linalg.lstsq(rows, goal, rcond=None)[0]
        touched = np.zeros(count, dtype=bool)
        touched[[c for e in positive for c in e]] = True
        factors = np.where(touched, np.exp(solution), factors)
    factors[nil] = 0.0
    return factors
