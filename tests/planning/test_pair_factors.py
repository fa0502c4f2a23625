"""One number per surface on an engine that multiplies, checked against the pairs it must give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.planning.contacts.pair_factors import (
    TOLERANCE,
    PairTargets,
    factor_pairs,
    pair_specific_factor,
    restitution_factors,
)


def targets(friction: np.ndarray, edges: list[tuple[int, int]]) -> PairTargets:
    count = len(friction)
    return PairTargets(
        friction=friction,
        restitution=np.zeros((count, count)),
        edges=tuple(edges),
        alone_friction=np.full(count, 0.5),
        alone_restitution=np.zeros(count),
    )


coefficients = st.floats(0.05, 1.0)


@given(st.lists(coefficients, min_size=2, max_size=5))
def test_products_are_always_served(own: list[float]) -> None:
    """Where the wanted pairs are products already, nothing is split."""
    wanted = np.outer(own, own)
    edges = [(i, j) for i in range(len(own)) for j in range(i, len(own))]
    factors = factor_pairs(targets(wanted, edges), may_split=True)
    assert not factors.split
    for i, j in edges:
        assert factors.friction[i] * factors.friction[j] == pytest.approx(wanted[i, j], abs=1e-3)


@given(st.lists(coefficients, min_size=2, max_size=5))
def test_every_pair_is_served_or_split(own: list[float]) -> None:
    """Averages: what stays direct is right within the tolerance, the rest is named."""
    wanted = 0.5 * np.add.outer(own, own)
    edges = [(i, j) for i in range(len(own)) for j in range(i, len(own))]
    factors = factor_pairs(targets(wanted, edges), may_split=True)
    for i, j in set(edges) - set(factors.split):
        got = factors.friction[i] * factors.friction[j]
        assert got == pytest.approx(wanted[i, j], abs=TOLERANCE + 1e-9)


def test_two_classes_that_never_meet_themselves_need_no_split() -> None:
    """One mover on one ground: any coefficient is a product."""
    wanted = np.array([[0.0, 0.37], [0.37, 0.0]])
    factors = factor_pairs(targets(wanted, [(0, 1)]), may_split=True)
    assert not factors.split
    assert factors.friction[0] * factors.friction[1] == pytest.approx(0.37, abs=1e-6)


def test_a_pair_without_friction_beside_pairs_with_is_split() -> None:
    """Ice on steel 0, ice on wood 0.3, steel on wood 0.4: no product gives the zero."""
    wanted = np.array([[0.3, 0.0, 0.3], [0.0, 0.4, 0.4], [0.3, 0.4, 0.4]])
    edges = [(0, 1), (0, 2), (1, 2)]
    factors = factor_pairs(targets(wanted, edges), may_split=True)
    assert len(factors.split) == 1
    for i, j in set(edges) - set(factors.split):
        got = factors.friction[i] * factors.friction[j]
        assert got == pytest.approx(wanted[i, j], abs=1e-3)


def test_a_class_that_rubs_on_nothing_gets_zero() -> None:
    wanted = np.array([[0.0, 0.0], [0.0, 0.0]])
    factors = factor_pairs(targets(wanted, [(0, 1)]), may_split=True)
    assert not factors.split
    assert 0.0 in factors.friction


def test_a_class_of_zero_pairs_can_still_be_aimed_at() -> None:
    """A ball on dull and lively ground: 0.5 on the dull one, where the other ball has 0."""
    wanted = np.zeros((4, 4))
    pairs = {(0, 2): 0.0, (1, 2): 0.5, (0, 3): 0.5, (1, 3): 0.75}
    for (i, j), value in pairs.items():
        wanted[i, j] = wanted[j, i] = value
    factors = factor_pairs(targets(wanted, list(pairs)), may_split=True)
    assert factors.split
    for (i, j), value in pairs.items():
        own = factors.friction[i]
        if (i, j) in factors.split:
            own = pair_specific_factor(wanted[i, j], factors.friction[j])
        assert own * factors.friction[j] == pytest.approx(value, abs=TOLERANCE)


@given(st.lists(coefficients, min_size=2, max_size=6), st.floats(0.02, 0.05))
def test_products_less_a_constant_are_nearly_right_and_never_above_their_bound(
    own: list[float], excess: float
) -> None:
    """The error is less than what the excess itself would make."""
    nominal = np.outer(own, own)
    edges = tuple((i, j) for i in range(len(own)) for j in range(i, len(own)))
    count = len(own)
    pairs = PairTargets(
        np.full((count, count), 0.25), nominal, edges, np.full(count, 0.5), np.array(own)
    )
    wanted, most = np.maximum(nominal - excess, 0.0), np.full((count, count), 1.0 - excess)
    found = restitution_factors(pairs, factor_pairs(pairs, may_split=True), wanted, most)
    product = np.outer(found, found)
    assert np.all(np.abs(product - wanted) <= excess + TOLERANCE)
    assert np.all(product <= most + TOLERANCE)


@given(st.lists(coefficients, min_size=3, max_size=6))
def test_shared_factors_give_no_more_restitution_than_one(own: list[float]) -> None:
    """Maxima that must not be split: their least error may not be energy from nowhere."""
    wanted = np.maximum.outer(own, own) / max(own)
    count = len(own)
    edges = tuple((i, j) for i in range(count) for j in range(i, count))
    alone = np.full(count, 0.5)
    pairs = PairTargets(wanted, wanted, edges, alone, alone)
    factors = factor_pairs(pairs, may_split=False)
    assert not factors.split
    assert np.outer(factors.restitution, factors.restitution).max() <= 1.0 + 1e-9


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12))
def test_without_splits_pairs_with_fixed_ground_come_first(own: list[float]) -> None:
    """One ground towards each mover: any coefficients are products. Movers among each other lose,
    but none of their products exceeds 1, above which they would gain energy."""
    count = len(own) + 1
    wanted = np.zeros((count, count))
    wanted[1:, 1:] = 0.5 * np.add.outer(own, own)
    wanted[0, 1:] = wanted[1:, 0] = own
    movers = [(i, j) for i in range(1, count) for j in range(i, count)]
    factors = factor_pairs(
        PairTargets(
            friction=wanted,
            restitution=wanted,
            edges=(*((i, 0) for i in range(1, count)), *movers),
            alone_friction=np.full(count, 0.5),
            alone_restitution=np.full(count, 0.5),
            fixed=frozenset({0}),
        ),
        may_split=False,
    )
    for found in (factors.friction, factors.restitution):
        assert found[0] * found[1:] == pytest.approx(np.array(own), abs=0.02)
    for i, j in movers:
        assert factors.restitution[i] * factors.restitution[j] <= 1.0 + 1e-9
