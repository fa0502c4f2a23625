"""Tables that a record declares: where they are, and what stands in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from gltf_bullet.numba_aot import record, record_reader, size_of
from gltf_bullet.solver.tables import (
    FLOATS,
    INTS,
    MEMORY,
    WORK,
    Column,
    count,
    offsets,
    pack,
    table,
)


class Parts(NamedTuple):
    rotation: int = 9
    mass: int = 1
    size: int = 0


PARTS = offsets(Parts)


@record
class PackedSample:
    """Two counts, a number, and tables of all kinds."""

    frame_count: int = count("f")
    row_count: int = count("r")
    number: int
    last: int = table(MEMORY, "r")
    parent: int = table(INTS, "f")
    part: int = table(FLOATS, "f", PARTS.size)
    lasting: int = table(MEMORY, "f", "r")
    result: int = table(WORK, 2, "r")
    shared: int = table(WORK, "f")


sample_at = record_reader(PackedSample)
COUNTS = {"f": 3, "r": 2}


def columns() -> dict[str, Column]:
    made = {INTS: Column(np.int64), FLOATS: Column(np.float64), WORK: Column(np.float64)}
    for column in made.values():
        column.room(4)  # of others
    return made


def test_parts_of_a_row_are_numbered_by_their_sizes() -> None:
    assert PARTS == (0, 9, 10)


def test_a_record_says_where_its_tables_are() -> None:
    arrays = columns()
    values = {"parent": [-1, 0, 1], "number": 7, "shared": 1, "last": [0.5, 1.5]}
    packed = pack(PackedSample, arrays, COUNTS, values)
    ints, floats, work = (arrays[name].made() for name in (INTS, FLOATS, WORK))
    sample = sample_at(ints, packed.offset)
    assert (packed.offset, sample.frame_count, sample.row_count, sample.number) == (4, 3, 2, 7)
    assert ints[sample.parent : sample.parent + 3].tolist() == [-1, 0, 1]
    assert floats[sample.last : sample.last + 2].tolist() == [0.5, 1.5]
    assert sample.shared == 1  # it stood there already
    assert len(work) == 4 + 2 * 2
    assert len(ints) == 4 + size_of(PackedSample) + 3
    for name, (_, where, shape) in packed.places.items():
        assert where.start == getattr(sample, name)
        assert where.stop - where.start == np.prod(shape)
    assert packed.places["part"].shape == (3, PARTS.size)


def test_memory_is_one_part_of_the_floats() -> None:
    packed = pack(PackedSample, columns(), COUNTS, {})
    inside = [packed.places[name].where for name in ("last", "lasting")]
    assert packed.memory == slice(inside[0].start, inside[1].stop)
    assert packed.memory.stop - packed.memory.start == 2 + 3 * 2
    assert packed.places["part"].where.stop <= packed.memory.start


def test_numbers_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"parent is not of shape \(3,\)"):
        pack(PackedSample, columns(), COUNTS, {"parent": [0]})


def test_a_record_may_stand_where_room_was_reserved() -> None:
    arrays = columns()
    room = arrays[INTS].reserve(size_of(PackedSample))
    arrays[INTS].room(5)
    packed = pack(PackedSample, arrays, COUNTS, {"number": 3}, room)
    assert packed.offset == room[0]
    assert sample_at(arrays[INTS].made(), packed.offset).number == 3
