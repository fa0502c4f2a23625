"""The bounded problem of islands against scipy, and from any start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from gltf_bullet.numba_aot import size_of
from gltf_bullet.solver import islands as layout
from gltf_bullet.solver.articulation_arrays import SceneHeader
from gltf_bullet.solver.entries import solve
from gltf_bullet.solver.islands import islands_at
from gltf_bullet.solver.scene_table import SOLVE_ISLANDS, row_of


class Problem:
    """Blocks and rows of one random problem in the arrays of the solve."""

    def __init__(self, seed: int, blocks: int, rows: int) -> None:
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(1, 7, size=blocks)
        self.places = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        n = int(self.sizes.sum())
        self.mass = np.zeros((n, n))
        for place, size in zip(self.places, self.sizes, strict=True):
            root = rng.normal(size=(size, size))
            self.mass[place : place + size, place : place + size] = root @ root.T + np.eye(size)
        self.rows = np.zeros((rows, n))
        self.pairs: list[tuple[int, int]] = []
        for r in range(rows):
            first, second = int(rng.integers(blocks)), int(rng.integers(blocks))
            self.pairs.append((first, second if second != first else -1))
            for b in self.pairs[-1]:
                if b >= 0:
                    part = slice(self.places[b], self.places[b] + self.sizes[b])
                    self.rows[r, part] = rng.normal(size=self.sizes[b])
        self.free, self.now = rng.normal(size=n), rng.normal(size=n)
        self.target = 3.0 * rng.normal(size=rows)
        self.softness = 10.0 ** rng.uniform(-4, 0, size=rows)
        kind = rng.integers(0, 4, size=rows)
        self.low = np.select([kind == 0, kind == 1, kind == 2], [0.0, -np.inf, -0.5], -np.inf)
        self.high = np.select([kind == 0, kind == 1, kind == 2], [np.inf, 0.0, 0.7], np.inf)

    def solve(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Velocities, impulses and iterations of the kernels."""
        blocks, rows, n = len(self.sizes), len(self.rows), len(self.free)
        index, values = layout.allocate(blocks, rows, 0, 0, n, 200 + 40 * n * n)
        islands = islands_at(index, values, 0)
        top = int(islands.first)

        def put(numbers: np.ndarray) -> int:
            nonlocal top
            values[top : top + numbers.size] = numbers.reshape(-1)
            top += numbers.size
            return top - numbers.size

        def fill(table: np.ndarray, numbers: Sequence[float] | np.ndarray) -> None:
            table[: len(numbers)] = numbers

        islands.block_count, islands.row_count = blocks, rows
        fill(islands.block_size, self.sizes)
        fill(islands.block_place, self.places)
        parts = [slice(p, p + s) for p, s in zip(self.places, self.sizes, strict=True)]
        fill(islands.block_mass, [put(self.mass[part, part]) for part in parts])
        for table, numbers in (
            (islands.row_target, self.target),
            (islands.row_softness, self.softness),
            (islands.row_low, self.low),
            (islands.row_high, self.high),
            (islands.free_velocity, self.free),
            (islands.present_velocity, self.now),
        ):
            fill(table, numbers)
        fill(islands.row_first, [first for first, _ in self.pairs])
        fill(islands.row_second, [second for _, second in self.pairs])
        fill(islands.row_unit, [-1] * rows)
        for side, table in enumerate((islands.row_first_jacobian, islands.row_second_jacobian)):
            places = [
                put(self.rows[r, parts[pair[side]]]) if pair[side] >= 0 else 0
                for r, pair in enumerate(self.pairs)
            ]
            fill(table, places)
        islands.top = top
        nothing = np.zeros(size_of(SceneHeader), dtype=np.int64), np.zeros(0), np.zeros(0)
        solve(row_of(*nothing, index, values), SOLVE_ISLANDS, 0, 0, 0, 0.01)
        assert islands.needed == 0
        assert islands.unconverged == 0
        v, impulses = islands.velocity[:n].copy(), islands.row_impulse[:rows].copy()
        return v, impulses, int(islands.iterations)

    def expected(self) -> np.ndarray:
        """Impulses: the dual is bounded least squares, which scipy solves by active sets."""
        inverse = np.linalg.inv(self.mass)
        matrix = self.rows @ inverse @ self.rows.T + np.diag(self.softness)
        root = np.linalg.cholesky(matrix)
        right = np.linalg.solve(root, self.target - self.rows @ self.free)
        found = lsq_linear(root.T, right, (self.low, self.high), method="bvls", tol=1e-15)
        return found.x


@pytest.mark.parametrize(("blocks", "rows"), [(1, 1), (1, 6), (3, 8), (6, 20), (12, 40)])
def test_random_bounded_problems_are_solved_as_scipy_does(blocks: int, rows: int) -> None:
    for seed in range(10):
        problem = Problem(seed, blocks, rows)
        v, impulses, iterations = problem.solve()
        expected = problem.expected()
        np.testing.assert_allclose(impulses, expected, atol=1e-8 * (1 + np.abs(expected).max()))
        momentum = problem.mass @ (v - problem.free)
        np.testing.assert_allclose(momentum, problem.rows.T @ impulses, atol=1e-8)
        assert iterations <= 40


def test_the_result_does_not_depend_on_the_start() -> None:
    for seed in range(20):
        problem = Problem(seed, 5, 20)
        v, impulses, _ = problem.solve()
        problem.now = np.random.default_rng(seed).normal(size=len(v)) * 10.0
        again, same, _ = problem.solve()
        assert again.tobytes() == v.tobytes()
        assert same.tobytes() == impulses.tobytes()


def test_two_rows_that_ask_for_the_same_thing_share_it() -> None:
    problem = Problem(0, 1, 2)
    problem.rows[1] = problem.rows[0]
    problem.target[:], problem.softness[:] = 1.0, 1e-9
    problem.low[:], problem.high[:] = 0.0, np.inf
    problem.free[:] = 0.0
    v, impulses, _ = problem.solve()
    assert problem.rows[0] @ v == pytest.approx(1.0, abs=1e-6)
    assert impulses[0] == pytest.approx(impulses[1], rel=1e-6)
