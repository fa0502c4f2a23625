"""The joint-space solve against dense references; no engine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gltf_bullet.solver.bounded_solve import MassFactor, _sweep, solve_bounded, spring_rows


def random_spd(rng: np.random.Generator, size: int) -> np.ndarray:
    a = rng.normal(size=(size, size))
    return a @ a.T + 0.1 * np.eye(size)


def brute_force(matrix, right, low, high) -> np.ndarray:
    """Try every combination of at-low, free, at-high."""
    for states in itertools.product((-1, 0, 1), repeat=len(right)):
        state = np.array(states)
        if (~np.isfinite(low) & (state < 0)).any() or (~np.isfinite(high) & (state > 0)).any():
            continue
        x = np.where(state < 0, low, np.where(state > 0, high, 0.0))
        free = np.flatnonzero(state == 0)
        if len(free):
            x[free] = np.linalg.solve(matrix[np.ix_(free, free)], (right - matrix @ x)[free])
        w = matrix @ x - right
        tolerance = 1e-9
        fits = (x >= low - tolerance).all() and (x <= high + tolerance).all()
        slack = (w[state < 0] >= -tolerance).all() and (w[state > 0] <= tolerance).all()
        if fits and slack:
            return x
    raise AssertionError("no solution")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), size=st.integers(1, 5))
def test_solution_equals_the_exhaustive_search(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, right = random_spd(rng, size), rng.normal(size=size) * 3.0
    kind = rng.integers(0, 4, size=size)
    low = np.select([kind == 0, kind == 1, kind == 2], [0.0, -np.inf, -0.5], -np.inf)
    high = np.select([kind == 0, kind == 1, kind == 2], [np.inf, 0.0, 0.7], np.inf)
    x, _ = solve_bounded(matrix, right, low, high)
    np.testing.assert_allclose(x, brute_force(matrix, right, low, high), atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_conditions_hold_for_forty_rows_and_any_guess(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, right = random_spd(rng, 40), rng.normal(size=40)
    low, high = np.where(rng.random(40) < 0.5, 0.0, -0.1), np.full(40, np.inf)
    guess = rng.integers(-1, 2, size=40).astype(np.int8)
    x, state = solve_bounded(matrix, right, low, high, guess)
    w = matrix @ x - right
    assert (x >= low - 1e-9).all()
    assert (np.abs(w[state == 0]) < 1e-7).all()
    assert (w[state < 0] > -1e-7).all()


def test_two_rows_that_ask_for_the_same_thing_do_not_break_the_solve() -> None:
    x, _ = solve_bounded(
        np.array([[1.0, 1.0], [1.0, 1.0]]) + 1e-10 * np.eye(2),
        np.array([1.0, 1.0]),
        np.zeros(2),
        np.full(2, np.inf),
    )
    assert x.sum() == pytest.approx(1.0)


def test_a_slow_spring_is_symplectic_and_a_stiff_one_implicit() -> None:
    """v' = v + dt F / m with F = k (e - theta dt v'): theta -> 0 and theta -> 1."""
    dt, mass = 1 / 240, 2.0
    for stiffness, theta in ((1.0, 0.0), (1e9, 1.0)):
        softness, target = spring_rows(
            np.array([stiffness]),
            np.array([0.0]),
            np.array([0.01]),
            np.array([0.0]),
            np.array([1 / mass]),
            dt,
        )
        impulse = target / (softness + 1 / mass)
        speed = float(impulse[0]) / mass
        expected = dt * stiffness * 0.01 / (mass + theta * dt * dt * stiffness)
        assert speed == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("dt", [1 / 240, 1 / 60])
@pytest.mark.parametrize("stiffness", [1.0, 1e2, 1e4, 1e5, 1e7])
def test_no_spring_gains_energy_at_any_stiffness(stiffness: float, dt: float) -> None:
    mass, x, v = 1.5, 0.1, 0.0
    start = 0.5 * stiffness * x * x
    for _ in range(2000):
        softness, target = spring_rows(
            np.array([stiffness]),
            np.zeros(1),
            np.array([-x]),
            np.zeros(1),
            np.array([1 / mass]),
            dt,
        )
        v += float(((target - v) / (softness + 1 / mass))[0]) / mass
        x += dt * v
        assert 0.5 * mass * v * v <= 1.3 * start + 1e-12


def test_a_singular_mass_matrix_is_regularised() -> None:
    mass = np.array([[1.0, 1.0], [1.0, 1.0]])
    solution = MassFactor(mass).solve(np.array([2.0, 2.0]))
    np.testing.assert_allclose(mass @ solution, [2.0, 2.0], rtol=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_sweeps_end_at_the_same_impulses(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count, count))
    matrix = root @ root.T + 0.1 * np.eye(count)
    right = rng.normal(size=count)
    low = np.where(rng.random(count) < 0.5, 0.0, -0.3)
    high = np.where(rng.random(count) < 0.5, np.inf, 0.4)
    fast, _ = solve_bounded(matrix, right, low, high)
    x = np.clip(np.zeros(count), low, high)
    for _ in range(200):
        x, _ = _sweep(matrix, right, low, high, x)
    assert np.allclose(fast, x, atol=1e-4)


def test_rows_without_numbers_give_impulses_within_their_bounds() -> None:
    found, _ = solve_bounded(
        np.full((2, 2), np.nan), np.ones(2), np.zeros(2), np.array([1.0, np.inf])
    )
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()
