"""Rows that watch distances, cones and angles: their Jacobians are derivatives of their values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gltf_bullet.model import JointLimit
from gltf_bullet.solver.articulation_arrays import SPHERICAL
from gltf_bullet.solver.entries import evaluate
from tests.physics.joint_bench import ANGULAR, BALL, LINEAR, Bench, drive, lock, span

STEP = 1e-6
LIMITS: dict[str, tuple[JointLimit, ...]] = {
    "one axis": (span(LINEAR, 0, -1.0, 1.0), lock(LINEAR, 1, 2), lock(ANGULAR, 0, 1, 2)),
    "radius": (span(LINEAR, (0, 1), 0.0, 1.0), lock(LINEAR, 2), lock(ANGULAR, 0, 1, 2)),
    "distance": (span(LINEAR, (0, 1, 2), 0.0, 1.0), lock(ANGULAR, 0, 1, 2)),
    "distance of a free body": (span(LINEAR, (0, 1, 2), 0.0, 1.0),),
    "cone": (*BALL, span(ANGULAR, (1, 2), 0.0, 1.0)),
    "cone about a locked twist": (*BALL, span(ANGULAR, (1, 2), 0.0, 1.0), lock(ANGULAR, 0)),
    "twist of a ball": (*BALL, span(ANGULAR, 0, -1.0, 1.0)),
    "angle": (*BALL, span(ANGULAR, (0, 1, 2), 0.0, 1.0)),
}


def coordinates(bench: Bench) -> list[tuple[int, int, int]]:
    """Of each frame with a joint: its type, the place of its state, its first velocity."""
    arena = bench.art.arena
    record = arena.records[0]
    names = ("frame_joint", "frame_state", "frame_first_dof")
    found = zip(*(arena.numbers(record, name).tolist() for name in names), strict=True)
    return [(joint, state, dof) for joint, state, dof in found if dof >= 0]


def values(bench: Bench) -> np.ndarray:
    """Values of all rows at the coordinates that stand in the arena."""
    arena = bench.art.arena
    evaluate(arena.alone, 0)
    return arena.view(arena.records[0], "row_value").copy()


def move(bench: Bench, joint: int, state: int, axis: int, way: float) -> None:
    """Move one degree of freedom; a ball turns about its child's axis."""
    floats = bench.art.arena.floats
    if joint == SPHERICAL:
        turn = Rotation.from_quat(floats[state : state + 4])
        turn = turn * Rotation.from_rotvec(way * np.eye(3)[axis])
        floats[state : state + 4] = turn.as_quat()
    else:
        floats[state] += way


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("seed", range(3))
def test_jacobians_of_rows_are_the_derivatives_of_their_values(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    bench = Bench(gravity=(0.0, 0.0, 0.0))
    body = bench.body((0.3, 0.1, 0.2), rotation=Rotation.random(random_state=seed).as_quat())
    pull = drive(LINEAR, 0, stiffness=10.0, damping=1.0)
    turn = drive(ANGULAR, 0, stiffness=10.0, damping=1.0)
    bench.connect(-1, body, (0.0, 0.0, 0.0), LIMITS[kind], [pull, turn])
    bench.start()
    places = coordinates(bench)
    for joint, state, _ in places:
        for axis in range(3 if joint == SPHERICAL else 1):
            # Well inside of what angles can be told by.
            move(bench, joint, state, axis, float(rng.uniform(0.1, 0.5)))
    arena, record = bench.art.arena, bench.art.arena.records[0]
    assert len(values(bench))
    jacobian = arena.view(record, "row_jacobian").copy()
    for joint, state, dof in places:
        for axis in range(3 if joint == SPHERICAL else 1):
            move(bench, joint, state, axis, STEP)
            above = values(bench)
            move(bench, joint, state, axis, -2.0 * STEP)
            below = values(bench)
            move(bench, joint, state, axis, STEP)
            slope = (above - below) / (2.0 * STEP)
            assert jacobian[:, dof + axis] == pytest.approx(slope, abs=1e-7), (kind, dof, axis)
    assert math.isfinite(jacobian.sum())
    bench.close()
