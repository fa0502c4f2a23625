"""Hulls on disk: found again by content, and no trouble whatever is in the folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from gltf_bullet.planning.shapes import hulls
from gltf_bullet.planning.shapes.hulls import Hull, cached_hull, convex_hull
from gltf_bullet.planning.shapes.shape_plans import PointSet


def ball(seed: int = 1, count: int = 500) -> PointSet:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return PointSet(points / np.linalg.norm(points, axis=1, keepdims=True))


def same(one: Hull, other: Hull) -> bool:
    return (
        np.array_equal(one.points, other.points)
        and np.array_equal(one.triangles, other.triangles)
        and (one.deviation, one.was_flat) == (other.deviation, other.was_flat)
    )


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points each hull that was computed was of."""
    counts: list[int] = []

    def counting(points: np.ndarray, max_points: int) -> Hull:
        counts.append(len(points))
        return convex_hull(points, max_points)

    monkeypatch.setattr(hulls, "convex_hull", counting)
    return counts


def test_a_hull_is_computed_once(tmp_path: Path, computed: list[int]) -> None:
    first = cached_hull(ball(), 60, tmp_path)
    second = cached_hull(ball(), 60, tmp_path)
    assert same(first, second)
    assert same(first, convex_hull(ball().points, 60))
    assert first.deviation > 0.0
    assert computed == [500]
    assert len(list(tmp_path.iterdir())) == 1


def test_other_points_and_other_budgets_are_other_hulls(
    tmp_path: Path, computed: list[int]
) -> None:
    scaled = PointSet(2.0 * ball().points)
    assert np.allclose(cached_hull(scaled, 60, tmp_path).points.max(), 2.0, atol=0.1)
    assert len(cached_hull(ball(), 60, tmp_path).points) <= 60
    assert len(cached_hull(ball(), 500, tmp_path).points) == 500
    assert computed == [500, 500, 500]


def test_small_hulls_are_computed_again_where_scipy_is_at_hand(
    tmp_path: Path, computed: list[int]
) -> None:
    cached_hull(ball(count=20), 60, tmp_path)
    cached_hull(ball(count=20), 60, tmp_path)
    assert computed == [20, 20]


def test_small_hulls_are_read_where_scipy_would_have_to_be_imported(
    tmp_path: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached_hull(ball(count=20), 60, tmp_path)
    monkeypatch.delitem(sys.modules, "scipy.spatial")
    assert same(cached_hull(ball(count=20), 60, tmp_path), first)
    assert computed == [20]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "folder"])
def test_damaged_entries_are_none(tmp_path: Path, computed: list[int], damage: str) -> None:
    right = cached_hull(ball(), 60, tmp_path)
    (entry,) = tmp_path.iterdir()
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    match damage:
        case "empty":
            entry.write_bytes(b"")
        case "cut":
            entry.write_bytes(bytes(data[:-24]))
        case "flipped":
            entry.write_bytes(bytes(data))
        case "foreign":
            entry.write_bytes(os.urandom(10_000))
        case _:
            entry.unlink()
            entry.mkdir()
    assert same(cached_hull(ball(), 60, tmp_path), right)
    assert computed == [500, 500]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, computed: list[int]) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    assert same(cached_hull(ball(), 60, folder), cached_hull(ball(), 60, folder))
    assert computed == [500, 500]
