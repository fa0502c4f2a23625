"""Numbers that users hand over: how many steps, and which world."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world

FALLING = Path(__file__).parents[2] / "examples" / "assets" / "falling_box.gltf"


@pytest.fixture
def client() -> Iterator[int]:
    with headless_world() as client_id:
        yield client_id


@pytest.mark.parametrize(
    ("count", "error", "match"),
    [
        (-1, ValueError, "count is -1; must be 0 or more steps"),
        (np.int64(-3), ValueError, "count is -3; must be 0 or more steps"),
        (1.5, TypeError, "count is 1.5; must be a whole number of steps"),
        (2.0, TypeError, "count is 2.0; must be a whole number of steps"),
        (math.nan, TypeError, "count is nan; must be a whole number of steps"),
        (None, TypeError, "count is None; must be a whole number of steps"),
        ("3", TypeError, "count is '3'; must be a whole number of steps"),
    ],
)
def test_steps_are_whole_numbers(
    client: int, count: object, error: type[Exception], match: str
) -> None:
    """-1 made none, 1.5 two and nan none, without a word."""
    scene = gb.load_gltf(FALLING, client)
    for stepped in (scene, scene):
        with pytest.raises(error, match=match):
            stepped.step(count)  # type: ignore[arg-type]
    assert scene.time == 0.0


def test_numbers_of_numpy_count_steps_and_name_worlds(client: int) -> None:
    scene = gb.load_gltf(FALLING, np.int64(client))
    assert type(scene.client_id) is int
    for count in (0, 1, np.int64(2), np.uint8(3)):
        scene.step(count)  # type: ignore[arg-type]
    assert scene.time == pytest.approx(6 / 240)
    scene.remove()


@pytest.mark.parametrize("wrong", [True, 0.0, "0", None, np.float64(0.0)])
def test_what_is_no_world_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be a client id or a BulletClient"):
        gb.load_gltf(FALLING, wrong)  # type: ignore[arg-type]


def test_a_number_of_no_world_is_refused() -> None:
    with pytest.raises(gb.EngineError, match="physics client 991 is not connected"):
        gb.load_gltf(FALLING, np.int32(991))


@pytest.mark.parametrize("scale", [2, np.float32(2.0), np.array(2.0), Decimal(2), Fraction(2)])
def test_any_real_number_is_a_scale(client: int, scale: float) -> None:
    scene = gb.load_gltf(FALLING, client, scale=scale)
    same = gb.load_gltf(FALLING, client, scale=2.0)
    assert (scene.world_from_node(0) == same.world_from_node(0)).all()


@pytest.mark.parametrize("scale", ["1", None, 1 + 0j, (1,), [1.0]])
def test_what_is_no_number_is_no_scale_whatever_was_loaded_before(
    client: int, scale: object
) -> None:
    gb.load_gltf(FALLING, client, scale=1.0)
    with pytest.raises(TypeError, match="must be real number, not"):
        gb.load_gltf(FALLING, client, scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("up_axis", ["x", None, [], {}])
def test_an_axis_that_is_neither_is_refused(client: int, up_axis: object) -> None:
    with pytest.raises(ValueError, match="must be 'y' or 'z'"):
        gb.load_gltf(FALLING, client, up_axis=up_axis)  # type: ignore[arg-type]
