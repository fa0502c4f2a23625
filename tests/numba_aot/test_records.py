"""Records: what kernels read and set by name stands in the array that they are given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gltf_bullet.numba_aot import (
    Count,
    FloatTable,
    Table,
    array,
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


@record
class TablesSample:
    """A count, a number, and tables in two arrays."""

    ints: IntArray = array()
    floats: FloatArray = array()
    count: int = Count("n")  # type: ignore[assignment]
    factor: float
    parents: IntArray = Table("ints", ("n",))  # type: ignore[assignment]
    speeds: FloatArray = Table("floats", ("n",))  # type: ignore[assignment]
    turns: FloatTable = Table("floats", ("n", 3))  # type: ignore[assignment]
    square: FloatTable = Table("floats", ("n", "n"))  # type: ignore[assignment]


tables_at = record_reader(TablesSample)


@kernel
def tables_of(ints: IntArray, floats: FloatArray, offset: int) -> TablesSample:
    """Yield a record from a kernel."""
    return tables_at(ints, floats, offset)


@kernel
def spun(turn: FloatArray, factor: float) -> float:
    """Scale three numbers where they stand, and add them up."""
    total = 0.0
    for k in range(3):
        turn[k] *= factor
        total += turn[k]
    return total


def pass_on(ints: IntArray, floats: FloatArray, offset: int) -> int:
    """Read and set tables, parts of them, a number, and an array itself."""
    tables = tables_of(ints, floats, offset)
    tables.factor = tables.factor + 1.0
    for k in range(tables.count):
        tables.speeds[k] = spun(tables.turns[k], tables.factor)
        tables.parents[k] -= 1
    either = tables.square if tables.factor > 100.0 else tables.turns
    either[0, 1] = floats[0]
    last, end = tables.turns[1:], tables.turns[1, 1:]
    tables.square[1, 0] = last[0, 1] + end[1]
    tables.square[0, 1] += 1.0
    tables.floats[0] = 0.5
    return int(tables.ints[offset]) + len(floats[1:3]) + len(tables.turns[0])


@pytest.fixture(scope="module")
def compiled() -> Callable[..., int]:
    """The entry, built once."""
    made = entry(fill)
    if is_compiled():
        load(made)
    return made


@pytest.fixture(scope="module")
def compiled_pass_on() -> Callable[..., int]:
    """The entry with tables, built once."""
    made = entry(pass_on)
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


def tables_sample() -> tuple[IntArray, FloatArray]:
    """A record behind one number of others, two rows in its tables."""
    size = size_of(TablesSample)
    ints, floats = np.zeros(1 + size + 2, dtype=np.int64), np.zeros(1 + 2 + 6 + 4)
    numbers = ints[1 : 1 + size]
    fields = {"count": 2, "parents": 1 + size, "speeds": 1, "turns": 3, "square": 9}
    for name, value in fields.items():
        numbers[place_of(TablesSample, name)] = value
    tables = tables_at(ints, floats, 1)
    tables.factor = 1.0
    floats[:] = [7.0, 0.0, 0.0, *range(10)]
    return ints, floats


def test_compiled_kernels_do_with_tables_what_python_does(
    compiled_pass_on: Callable[..., int],
) -> None:
    (ints, floats), (expected_ints, expected_floats) = tables_sample(), tables_sample()
    assert compiled_pass_on(ints, floats, 1) == pass_on(expected_ints, expected_floats, 1) == 7
    assert ints.tolist() == expected_ints.tolist()
    assert ints[-2:].tolist() == [-1, -1]
    expected = [0.5, 6.0, 24.0, 0.0, 7.0, 4.0, 6.0, 8.0, 10.0, 6.0, 8.0, 18.0, 9.0]
    assert floats.tolist() == expected_floats.tolist() == expected


def test_python_sees_a_table_of_the_length_that_its_counts_say() -> None:
    ints, floats = tables_sample()
    tables = tables_at(ints, floats, 1)
    assert tables.parents.shape == tables.speeds.shape == (2,)
    assert tables.turns.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert tables.square.shape == (2, 2)
    assert tables.turns.base is not None
    assert tables.floats is floats


def test_arrays_and_tables_take_no_room_but_the_offset_of_a_table() -> None:
    assert size_of(TablesSample) == 6
    assert place_of(TablesSample, "count") == 0
    assert place_of(TablesSample, "turns") == 4


def test_no_two_records_have_one_name() -> None:
    with pytest.raises(ValueError, match="there is a record of the name ReadSample"):
        record(ReadSample)


def test_a_table_of_two_dimensions_needs_the_counts_of_its_shape() -> None:
    class Uncounted:
        ints: IntArray = array()
        square: IntArray = Table("ints", ("n", "n"))  # type: ignore[assignment]

    with pytest.raises(ValueError, match="a letter of the shape of square has no count"):
        record(Uncounted)
