"""Laws of the numpy side of triggers: never a pair too few, and boxes exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.bullet.triggers.overlap_search import boxes_overlap, distances_to_boxes, near_pairs
from gltf_bullet.transforms import matrices_from_quats, quat_normalize

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, volumes=st.integers(0, 12), balls=st.integers(0, 40))
def test_near_pairs_are_those_of_all_against_all(seed: int, volumes: int, balls: int) -> None:
    random = np.random.default_rng(seed)
    low_v, low_b = random.uniform(-3, 3, (volumes, 3)), random.uniform(-3, 3, (balls, 3))
    high_v = low_v + random.uniform(0, 2, (volumes, 3))
    high_b = low_b + random.exponential(0.5, (balls, 3))
    found = near_pairs(low_v, high_v, low_b, high_b)
    touching = (low_b[None] <= high_v[:, None]).all(2) & (high_b[None] >= low_v[:, None]).all(2)
    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == sorted(
        map(tuple, np.argwhere(touching).tolist())
    )


def test_an_unbounded_volume_is_near_everything() -> None:
    points = np.array([[0.0, 0, 0], [5, 5, 5], [-7, 2, 1]])
    low, high = np.full((1, 3), -1e9), np.full((1, 3), 1e9)
    _, found = near_pairs(low, high, points - 0.1, points + 0.1)
    assert sorted(found.tolist()) == [0, 1, 2]


@given(seed=SEEDS)
def test_the_distance_to_a_turned_box_is_that_to_the_upright_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    half = random.uniform(0.1, 2.0, 3)
    local = random.uniform(-4, 4, 3)
    axes = matrices_from_quats(quat_normalize(random.normal(size=4)))
    center = random.uniform(-5, 5, 3)
    expected = np.linalg.norm(local - np.clip(local, -half, half))
    found = distances_to_boxes((center + axes @ local)[None], center[None], axes[None], half[None])
    np.testing.assert_allclose(found, [expected], atol=1e-12)


def _separation(corners_a: np.ndarray, corners_b: np.ndarray, normals: np.ndarray) -> float:
    """The widest gap between two point clouds along some directions; negative: they overlap."""
    a, b = corners_a @ normals.T, corners_b @ normals.T
    return float(np.maximum(b.min(0) - a.max(0), a.min(0) - b.max(0)).max())


@given(seed=SEEDS, gap=st.sampled_from([-0.05, 0.05]))
def test_boxes_overlap_as_their_corners_and_edges_say(seed: int, gap: float) -> None:
    random = np.random.default_rng(seed)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    halves = random.uniform(0.2, 1.5, (2, 3))
    axes = matrices_from_quats(quat_normalize(random.normal(size=(2, 4))))
    corners = [(signs * halves[k]) @ axes[k].T for k in range(2)]
    edges = [np.cross(axes[0][:, i], axes[1][:, j]) for i in range(3) for j in range(3)]
    normals = np.concatenate([axes[0].T, axes[1].T, edges])
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals[lengths > 1e-6] / lengths[lengths > 1e-6, None]
    # Put the second box along a random way so that the widest gap is the one wanted.
    way = random.normal(size=3)
    way /= np.linalg.norm(way)
    low, high = 0.0, 20.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if _separation(corners[0], corners[1] + middle * way, normals) < gap:
            low = middle
        else:
            high = middle
    found = boxes_overlap((low * way)[None], axes[:1], halves[:1], axes[1:], halves[1:])
    assert found.tolist() == [gap < 0.0]


def test_boxes_with_parallel_edges_are_told_apart() -> None:
    axes, half = np.eye(3)[None], np.full((1, 3), 0.5)
    for offset, expected in ((0.99, True), (1.01, False)):
        for axis in np.eye(3):
            found = boxes_overlap(offset * axis[None], axes, half, axes, half)
            assert found.tolist() == [expected]
