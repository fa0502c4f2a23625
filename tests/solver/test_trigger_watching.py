"""Laws of the triggers' kernel: never a pair too few, and balls and boxes exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.layout import (
    FRAME,
    PAIR,
    PART,
    SOURCE,
    triggers_at,
)
from gltf_bullet.solver.triggers.watching import FIND, FOLLOW, watch
from gltf_bullet.transforms import FloatArray, matrices_from_quats, quat_normalize

SEEDS = st.integers(0, 2**32 - 1)
NOTHING = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
DT = 0.01


@dataclass(frozen=True, kw_only=True)
class Part:
    """A box or a ball, somewhere."""

    kind: int
    halves: FloatArray
    position: FloatArray
    rotation: FloatArray
    before: FloatArray
    """Position before the step."""


def box(position: FloatArray, halves: FloatArray, rotation: FloatArray | None = None) -> Part:
    turn = np.eye(3) if rotation is None else rotation
    return Part(kind=layout.BOX, halves=halves, position=position, rotation=turn, before=position)


def ball(position: FloatArray, radius: float, before: FloatArray | None = None) -> Part:
    start = position if before is None else before
    halves = np.full(3, radius)
    return Part(
        kind=layout.BALL, halves=halves, position=position, rotation=np.eye(3), before=start
    )


def _describe(numbers: FloatArray, part: Part) -> None:
    numbers[PART.halves : PART.halves + 3] = part.halves
    numbers[PART.axes : PART.axes + 9] = np.eye(3).ravel()
    numbers[PART.inner] = part.halves.min()
    is_ball = part.kind == layout.BALL
    numbers[PART.outer] = part.halves[0] if is_ball else np.linalg.norm(part.halves)
    numbers[PART.thickness] = 2.0 * part.halves.min()


def found(volumes: Sequence[Part], colliders: Sequence[Part]) -> dict[tuple[int, int], int]:
    """Near pairs and what the kernel says about each; every part has a frame of its own."""
    count = len(colliders)
    admits = np.ones((1, 1), dtype=np.int64)
    table, numbers, _ = layout.allocate(count, count, len(volumes), 0, admits)
    triggers = triggers_at(table, numbers, 0)
    for f, part in enumerate([*colliders, *volumes]):
        triggers.frame_source[f, SOURCE.kind] = layout.GIVEN
        frame = triggers.frame[f]
        for start, position in ((FRAME.local, part.position), (FRAME.now, part.before)):
            frame[start : start + 9] = part.rotation.ravel()
            frame[start + 9 : start + 12] = position
        frame[FRAME.thinnest] = 2.0 * part.halves.min()
    for k, part in enumerate(colliders):
        triggers.collider_place[k, :4] = (k, 0, part.kind, k)
        _describe(triggers.collider[k], part)
    for k, part in enumerate(volumes):
        triggers.volume_place[k] = (0, 0, part.kind, -2, -2)
        _describe(triggers.volume[k], part)
    pairs = layout.allocate_pairs(len(volumes) * count)
    number = watch(*NOTHING, table, numbers, pairs, FOLLOW | FIND, DT)
    if number < 0:
        number = watch(*NOTHING, table, numbers, pairs, FIND, DT)
    rows = pairs[: PAIR.size * number].reshape(-1, PAIR.size).tolist()
    return {(volume, collider): state for volume, collider, state in rows}


@given(seed=SEEDS, volumes=st.integers(0, 12), balls=st.integers(0, 40))
def test_near_pairs_are_those_of_all_against_all(seed: int, volumes: int, balls: int) -> None:
    random = np.random.default_rng(seed)
    half, middle = random.uniform(0, 1, (volumes, 3)), random.uniform(-3, 3, (volumes, 3))
    center, radius = random.uniform(-3, 3, (balls, 3)), random.exponential(0.3, balls)
    before = center + random.normal(scale=0.3, size=(balls, 3))
    pairs = found(
        [box(*one) for one in zip(middle, half, strict=True)],
        [ball(*one) for one in zip(center, radius, before, strict=True)],
    )
    low = np.minimum(center, before) - radius[:, None]
    high = np.maximum(center, before) + radius[:, None]
    touching = (low[None] <= (middle + half)[:, None]).all(2)
    touching &= (high[None] >= (middle - half)[:, None]).all(2)
    assert sorted(pairs) == sorted(map(tuple, np.argwhere(touching).tolist()))


def test_an_unbounded_volume_is_near_everything() -> None:
    points = np.array([[0.0, 0, 0], [5, 5, 5], [-7, 2, 1]])
    everywhere = box(np.zeros(3), np.full(3, 1e9))
    assert sorted(found([everywhere], [ball(p, 0.1) for p in points])) == [(0, 0), (0, 1), (0, 2)]


@given(seed=SEEDS, gap=st.sampled_from([-1e-9, 1e-9]))
def test_a_ball_touches_a_turned_box_as_it_would_the_upright_one(seed: int, gap: float) -> None:
    random = np.random.default_rng(seed)
    half = random.uniform(0.1, 2.0, 3)
    local = random.uniform(-4, 4, 3)
    axes = matrices_from_quats(quat_normalize(random.normal(size=4)))
    center = random.uniform(-5, 5, 3)
    distance = float(np.linalg.norm(local - np.clip(local, -half, half)))
    if distance == 0.0:
        return
    pairs = found([box(center, half, axes)], [ball(center + axes @ local, distance - gap)])
    assert bool(pairs.get((0, 0), 0) & layout.TOUCHES) == (gap < 0.0)
    assert not pairs.get((0, 0), 0) & layout.UNSURE


def _separation(corners_a: FloatArray, corners_b: FloatArray, normals: FloatArray) -> float:
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
    pairs = found([box(np.zeros(3), halves[0], axes[0])], [box(low * way, halves[1], axes[1])])
    assert pairs.get((0, 0), 0) == (layout.TOUCHES if gap < 0.0 else 0)


def test_boxes_with_parallel_edges_are_told_apart() -> None:
    half = np.full(3, 0.5)
    for offset, expected in ((0.99, layout.TOUCHES), (1.01, 0)):
        for axis in np.eye(3):
            pairs = found([box(np.zeros(3), half)], [box(offset * axis, half)])
            assert pairs.get((0, 0), 0) == expected


def test_what_moves_further_than_it_is_thick_is_looked_for_on_its_way() -> None:
    # From above to below a sheet: neither touches it, and only the first one is far enough.
    sheet = box(np.zeros(3), np.array([1.0, 1.0, 0.01]))
    low, high = np.array([0, 0, -0.2]), np.array([0, 0, 0.2])
    assert found([sheet], [ball(low, 0.1, before=high)]) == {(0, 0): layout.PASSES}
    assert found([sheet], [ball(0.6 * low, 0.1, before=0.6 * high)]) == {(0, 0): layout.PASSES}
    assert found([sheet], [ball(0.6 * low, 0.1)]) == {}
