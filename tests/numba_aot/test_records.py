"""Records: what kernels read and set by name stands in the array that they are given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gltf_bullet.numba_aot import (
    cells,
    entry,
    is_compiled,
    kernel,
    load,
    place_of,
    record,
    record_reader,
    size_of,
)
from gltf_bullet.transforms import FloatArray, IntArray


@record
class ReadSample:
    """What the kernels below read."""

    count: int
    doubled: int
    """Has the name of a kernel."""
    share: float
    pair: IntArray = cells(2)
    turn: FloatArray = cells(2, 3)


sample_at = record_reader(ReadSample)


@kernel
def doubled(sample: ReadSample, k: int) -> float:
    sample.count += 1
    return 2.0 * sample.turn[1, k] * sample.share


def fill(ints: IntArray, floats: FloatArray, offset: int) -> int:
    """Read and set everything."""
    sample = sample_at(ints, offset)
    for k in range(3):
        sample.turn[1, k] = floats[k]
        floats[k] = doubled(sample, k)
    sample.pair[1] = sample.pair[0] + 1
    sample.doubled = 2 * sample.count
    return int(sample.doubled)


@pytest.fixture(scope="module")
def compiled() -> Callable[..., int]:
    """The entry, built once."""
    made = entry(fill)
    if is_compiled():
        load(made)
    return made


def sample() -> tuple[IntArray, FloatArray]:
    """A record behind two numbers of others, and some floats."""
    ints = np.zeros(2 + size_of(ReadSample) + 1, dtype=np.int64)
    made = sample_at(ints, 2)
    made.count, made.share, made.pair[:] = 5, 0.25, (7, 0)
    return ints, np.array([1.0, -2.0, 0.5])


def test_compiled_kernels_do_with_records_what_python_does(compiled: Callable[..., int]) -> None:
    (ints, floats), (expected_ints, expected_floats) = sample(), sample()
    assert compiled(ints, floats, 2) == fill(expected_ints, expected_floats, 2) == 16
    assert ints.tolist() == expected_ints.tolist()
    assert floats.tolist() == expected_floats.tolist() == [0.5, -1.0, 0.25]


def test_what_is_set_in_a_record_is_set_in_its_array() -> None:
    ints, floats = sample()
    fill(ints, floats, 2)
    assert ints[:2].tolist() == [0, 0]
    assert ints[-1] == 0
    numbers = ints[2:]
    assert numbers[place_of(ReadSample, "count")] == 8
    assert numbers[place_of(ReadSample, "pair")] == 7
    assert numbers[place_of(ReadSample, "pair") + 1] == 8
    turn = place_of(ReadSample, "turn")
    assert numbers[turn : turn + 6].view(np.float64).tolist() == [0.0, 0.0, 0.0, 1.0, -2.0, 0.5]


def test_fields_follow_each_other_in_the_order_of_their_declaration() -> None:
    names = ("count", "doubled", "share", "pair", "turn")
    assert [place_of(ReadSample, name) for name in names] == [0, 1, 2, 3, 5]
    assert size_of(ReadSample) == 11


def test_no_two_records_have_one_name() -> None:
    with pytest.raises(ValueError, match="there is a record of the name ReadSample"):
        record(ReadSample)
