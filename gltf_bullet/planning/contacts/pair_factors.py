"""Coefficients per pair of surfaces on an engine that multiplies one number per surface.

The specs give a coefficient ``F[i, j]`` per pair of materials (average, minimum, ...); Bullet uses
``g[i] * g[j]``. Pure numpy: find ``g`` for as many pairs as can be right together, name the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Struct

from gltf_bullet.transforms import FloatArray

TOLERANCE = 0.005
"""Largest error of a coefficient that still counts as exact."""

HAIR = 1e-4
"""Factor instead of 0 for a class that a pair-specific surface divides by: any coefficient is then
possible. On ice of so little friction a body loses 1 mm/s in a second."""
_MOST_ROUNDS = 12
"""Bound on rounds of the search for the least error; without factors of 0, 3 to 5 do (measured)."""
_LIGHT = 0.03
"""Weight of pairs of moving classes against fixed ones where not all can be right: 25 materials
dropped on one floor bounced with 0.4 instead of 1.0 for the sake of pairs that never met."""
_STILL = 1e-3
"""Weight of a weak preference, which decides the factors only where no pair does."""

Edge = tuple[int, int]


class PairTargets(Struct, frozen=True, eq=False):
    """Required coefficients of each pair of surface classes; symmetric, shape [count, count]."""

    friction: FloatArray
    restitution: FloatArray
    edges: tuple[Edge, ...]
    """Pairs that can meet, the most important first. Only the first class of each can have a
    pair-specific surface for the second."""
    alone_friction: FloatArray
    """Coefficient of a class by itself, shape [count]; decides what the pairs leave open."""
    alone_restitution: FloatArray
    fixed: frozenset[int] = frozenset()
    """Classes of surfaces that do not move."""


class Factors(Struct, frozen=True, eq=False):
    """One factor per surface class, and the pairs that these factors cannot serve."""

    friction: FloatArray
    restitution: FloatArray
    split: tuple[Edge, ...]
    """Pairs (class, partner): the class needs a pair-specific surface for the partner."""
    light: frozenset[Edge] = frozenset()
    """Pairs of low weight, since not all pairs can be right."""


def factor_pairs(targets: PairTargets, *, may_split: bool) -> Factors:
    """Find the factors.

    Args:
        targets: The pairs that can meet.
        may_split: True if pairs that contradict the others may get pair-specific surfaces;
            else every pair is served with the least error, those with fixed ground first.
    """
    if not may_split:
        return _least_error(targets)
    direct, (friction, restitution) = _dedicated(targets)
    split = tuple(edge for edge in targets.edges if edge not in set(direct))
    return Factors(
        friction=_in_reach(friction, targets.friction, split),
        restitution=_in_reach(restitution, targets.restitution, split),
        split=split,
    )


def _least_error(targets: PairTargets) -> Factors:
    edges, ground = list(targets.edges), [e for e in targets.edges if targets.fixed & {*e}]
    light = frozenset(edges) - frozenset(ground) if ground else frozenset()
    first = ground or edges
    friction = _solve(targets.friction, first, targets.alone_friction)
    restitution = _solve(targets.restitution, first, targets.alone_restitution)
    friction = _nearest(friction, targets.friction, edges, light)
    restitution = _nearest(restitution, targets.restitution, edges, light)
    most = np.maximum(targets.restitution, 1.0)
    restitution = _bounded(_leaned(restitution, most, light, targets.fixed), most, edges)
    return Factors(friction, restitution, (), light)


def restitution_factors(
    targets: PairTargets, factors: Factors, wanted: FloatArray, most: FloatArray
) -> FloatArray:
    """Restitution factors for an engine whose coefficients must differ from the spec's.

    Coefficients reduced by a constant are no products any more: then the error is the least
    possible, and spread over the pairs. Splitting those pairs as well would cost links for 0.026
    at most (measured, 600 random sets of materials at 60 and 240 Hz).

    Args:
        targets: Coefficients that the spec asks for.
        factors: The factors found for ``targets``.
        wanted: Coefficients that the engine needs, shape [count, count].
        most: Upper bounds of the same shape: above them, contacts would gain energy.

    Returns:
        Shape [count].
    """
    split = set(factors.split)
    direct = [edge for edge in targets.edges if edge not in split]
    found = _solve(wanted, direct, targets.alone_restitution)
    if not _fits(found, wanted, direct):
        nearest = _nearest(factors.restitution, wanted, direct, factors.light)
        found = _bounded(_leaned(nearest, most, factors.light, targets.fixed), most, direct)
    return _in_reach(found, wanted, factors.split)


def pair_specific_factor(wanted: float, partner: float) -> float:
    """Factor of a pair-specific surface whose only partner has the factor ``partner``."""
    return float(wanted / partner) if wanted > 0.0 else 0.0


def _dedicated(targets: PairTargets) -> tuple[list[Edge], tuple[FloatArray, FloatArray]]:
    """Take pairs one by one, the most important first, while all of them can be right together.

    Returns:
        The pairs, and the factors of friction and restitution that serve them.
    """
    direct = list(targets.edges)
    served = _served(targets, direct)
    if served is None:
        direct = []
        for edge in targets.edges:
            together = [*direct, edge]
            if len(together) == len(targets.edges):
                break  # all: they cannot be right
            if _is_open(targets, direct, edge):
                direct, served = together, None
            elif (found := _served(targets, together)) is not None:
                direct, served = together, found
    return direct, served or _factors(targets, direct)


def _is_open(targets: PairTargets, edges: Sequence[Edge], edge: Edge) -> bool:
    """True if a class of a pair is in none of others, so that its factor can be any.

    Unless the other class has to be 0 for the sake of those, and cannot be for this pair.
    """
    known = {*edge}.intersection(chain.from_iterable(edges))
    if known == {*edge}:
        return False
    others = [e for e in edges if not known.isdisjoint(e)]
    return not any(
        wanted[edge] > 0.0 and any(wanted[e] <= 0.0 for e in others)
        for wanted in (targets.friction, targets.restitution)
    )


def _factors(targets: PairTargets, edges: Sequence[Edge]) -> tuple[FloatArray, FloatArray]:
    """Factors of friction and restitution for some pairs."""
    friction = _solve(targets.friction, edges, targets.alone_friction)
    return friction, _solve(targets.restitution, edges, targets.alone_restitution)


def _served(targets: PairTargets, edges: Sequence[Edge]) -> tuple[FloatArray, FloatArray] | None:
    """Factors of friction and restitution for some pairs; ``None`` if not all can be right."""
    friction = _solve(targets.friction, edges, targets.alone_friction)
    if not _fits(friction, targets.friction, edges):
        return None
    restitution = _solve(targets.restitution, edges, targets.alone_restitution)
    return (friction, restitution) if _fits(restitution, targets.restitution, edges) else None


def _fits(factors: FloatArray, wanted: FloatArray, edges: Sequence[Edge]) -> bool:
    given, asked = factors.tolist(), wanted.tolist()
    return all(abs(given[i] * given[j] - asked[i][j]) <= TOLERANCE for i, j in edges)


def _solve(wanted: FloatArray, edges: Sequence[Edge], alone: FloatArray) -> FloatArray:
    """``g`` with ``g[i] * g[j]`` near ``wanted[i, j]``: least squares in logarithms.

    What the pairs leave open follows ``alone``. A class whose every pair is 0 gets 0; another
    pair of 0 asks for what no product can give and is left to the caller's check.
    """
    count, asked = len(alone), wanted.tolist()
    factors = alone.astype(np.float64)
    positive = [(i, j) for i, j in edges if asked[i][j] > 0.0]
    touched = {c for e in positive for c in e}
    if positive:
        size = len(positive)
        rows = np.zeros((size + count, count))
        goal = np.zeros(size + count)
        for k, (i, j) in enumerate(positive):
            rows[k, i] += 1.0
            rows[k, j] += 1.0
            goal[k] = np.log(max(asked[i][j], HAIR))
        # A weak preference: it decides only what the pairs leave open.
        weight = 1e-5
        rows[size:].flat[:: count + 1] = weight
        goal[size:] = weight * np.log(np.maximum(alone, 0.05))
        solution = np.linalg.lstsq(rows, goal, rcond=None)[0]
        found = list(touched)
        factors[found] = np.exp(solution)[found]
    zeros = [e for e in edges if asked[e[0]][e[1]] <= 0.0 and not touched.issuperset(e)]
    while zeros:
        # One class at a time: with a class at 0, the zero pairs of its partners are served.
        uses = [c for e in zeros for c in {*e} - touched]
        chosen = max(sorted({*uses}), key=uses.count)
        factors[chosen] = 0.0
        zeros = [e for e in zeros if chosen not in e]
    return factors


def _nearest(
    start: FloatArray, wanted: FloatArray, edges: Sequence[Edge], light: frozenset[Edge]
) -> FloatArray:
    """Factors whose products have the least squared error, found by the method of Gauss and Newton.

    Not of the logarithms: those would ruin a pair of 1 for the sake of one of 0.001.
    """
    first, second = np.array(edges, dtype=np.intp).reshape(-1, 2).T
    pair = np.arange(len(first))
    count = len(start)
    factors = start.copy()
    weights = np.array([_LIGHT if edge in light else 1.0 for edge in edges])
    still = _STILL * np.eye(count)
    for _ in range(_MOST_ROUNDS):
        product = factors[first] * factors[second]
        slope = np.zeros((len(pair), count))
        slope[pair, first] += product
        slope[pair, second] += product
        slope *= weights[:, None]
        error = weights * (wanted[first, second] - product)
        goal = np.concatenate((error, np.zeros(count)))
        step = np.linalg.lstsq(np.vstack((slope, still)), goal, rcond=None)[0]
        factors *= np.exp(np.clip(step, -1.0, 1.0))
        if np.abs(step).max() < 1e-4:
            break
    return factors


def _leaned(
    factors: FloatArray, most: FloatArray, light: frozenset[Edge], fixed: frozenset[int]
) -> FloatArray:
    """Factors reduced until no light product exceeds its bound, at the cost of classes that move.

    Factors of ``fixed`` classes grow by as much, so that products with them stay.
    """
    leaned = factors.copy()
    share = max((factors[i] * factors[j] / max(most[i, j], TOLERANCE) for i, j in light), default=0)
    share = math.sqrt(max(1.0, share))
    for k in range(len(leaned)):
        leaned[k] *= share if k in fixed else 1.0 / share
    return leaned


def _bounded(factors: FloatArray, most: FloatArray, edges: Sequence[Edge]) -> FloatArray:
    """Factors reduced until no product exceeds its bound; both classes of a pair give way alike."""
    bounded = factors.copy()
    for i, j in edges:
        share = math.sqrt(max(1.0, bounded[i] * bounded[j] / max(most[i, j], TOLERANCE)))
        bounded[i] /= share
        if i != j:
            bounded[j] /= share
    return bounded


def _in_reach(factors: FloatArray, wanted: FloatArray, split: Sequence[Edge]) -> FloatArray:
    """Factors raised to :data:`HAIR` where a pair-specific surface would have to divide by 0."""
    reached = factors.copy()
    for owner, partner in split:
        if wanted[owner, partner] > 0.0:
            reached[partner] = max(reached[partner], HAIR)
    return reached
