"""Mass matrix and bias forces of the kernels against Pinocchio, on random trees."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from gltf_bullet.solver import islands
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.scene_table import PREPARE_ROWS, row_of
from tests.solver.trees import Tree, order, random_tree, set_random_state, table

SIZES = (2, 3, 5, 8, 13, 20, 40)


def evaluate(tree: Tree) -> None:
    index, values = islands.allocate(1, 0, 0, 0, 64, 0)
    arena = tree.arena
    # Of no length: no bias is centred, and nothing moves.
    row = row_of(*arena.arrays, index, values)
    prepare(row, PREPARE_ROWS, 0, 0, 0.0, 0, 0, 0)


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("count", SIZES)
def test_mass_matrix_and_bias_forces_are_those_of_pinocchio(count: int, floats: bool) -> None:
    for seed in range(4):
        tree = random_tree(seed, count, floats=floats, balls=count <= 13)
        q, v, turn = set_random_state(tree, seed)
        evaluate(tree)
        model, data = tree.pin_model, tree.pin_model.createData()
        n, ours = len(v), order(tree)
        mass = pinocchio.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        expected = turn.T @ mass @ turn
        found = table(tree, "mass")[np.ix_(ours, ours)]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=1e-10 * scale)
        # Velocities of a base stay in world axes: those of Pinocchio turn with the body.
        rate = np.zeros(n)
        if floats:
            rate[:3] = -turn[:3, :3] @ np.cross(v[3:6], v[:3])
        nle = pinocchio.nonLinearEffects(model, data, q, turn @ v)
        expected_bias = turn.T @ (nle + mass @ rate)
        bias = table(tree, "bias")[ours]
        np.testing.assert_allclose(bias, expected_bias, atol=1e-10 * np.abs(expected_bias).max())


def test_a_gimbal_locked_chain_is_regularised_not_refused() -> None:
    """Two hinges about one line: the factor gives a finite answer where M is singular."""
    tree = random_tree(0, 2, floats=False, balls=False)
    set_random_state(tree, 0)
    evaluate(tree)
    assert np.isfinite(table(tree, "free_velocity")).all()
