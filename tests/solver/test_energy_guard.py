"""Joints that are slowed down keep the momentum of the whole, whichever body is the base."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.island_layout import EVALUATE
from gltf_bullet.solver.last_step.energy_guard import slow_joints
from tests.solver.trees import order, random_tree, set_random_state, slots, table


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("share", [0.9, 0.5, 0.05])
def test_energy_is_taken_from_the_joints_and_no_momentum(
    share: float, floats: bool, seed: int
) -> None:
    tree = random_tree(seed, 6, floats=floats)
    set_random_state(tree, seed)
    prepare(tree.arena.alone, EVALUATE, 0, 0, 0, 0, 0, 0)
    n = tree.arena.records[0].dof_count
    mass = table(tree, slots.MASS, n, n)
    velocity = table(tree, slots.VELOCITY, n)
    before = velocity.copy()
    energy = 0.5 * before @ mass @ before
    bases = order(tree)[: 6 * floats]
    # The least energy with the same momentum of the whole: that of the body with locked joints.
    momentum = mass[bases] @ before
    whole = 0.5 * momentum @ np.linalg.solve(mass[np.ix_(bases, bases)], momentum)
    allowed = share * energy
    arena, header = tree.arena, tree.arena.records[0].offset
    left = slow_joints(arena.ints, arena.work, header, energy, allowed)
    np.testing.assert_allclose(mass[bases] @ velocity, momentum, rtol=1e-9, atol=1e-12)
    assert 0.5 * (left * velocity) @ mass @ (left * velocity) == pytest.approx(allowed)
    assert (left == 1.0) == (whole < allowed)
