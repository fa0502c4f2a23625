"""Sorting contacts and following them from body to body, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver import islands as layout
from gltf_bullet.solver.contact_following import (
    ARTICULATED,
    BODY,
    FREE_BODY,
    ROW_SIZE,
    WRITE,
    follow_contacts,
)
from gltf_bullet.solver.islands import CONTACT, SIDE, islands_at

BODIES = 12
FIXED = {0, 1, 2}
"""Bodies that nothing moves."""


def random_rows(seed: int, count: int) -> np.ndarray:
    """Contacts between random links; some share all but the place."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, ROW_SIZE))
    rows[:, :2] = rng.integers(0, BODIES, (count, 2))
    rows[:, 2:4] = rng.integers(-1, 3, (count, 2))
    return rows


def table_of(start: int) -> tuple[np.ndarray, np.ndarray]:
    """All bodies are free ones but one, an articulation of a base and three links."""
    rows = np.zeros((BODIES, BODY.size), dtype=np.int64)
    rows[:, BODY.kind] = FREE_BODY
    rows[:, BODY.unit] = np.arange(1, BODIES + 1)
    rows[start] = ARTICULATED, start + 1, 0, 7, 0, 4
    moves = np.array([0, *(body not in FIXED for body in range(BODIES))], dtype=np.int64)
    starts = np.zeros_like(moves)
    starts[start + 1] = 1
    frames = np.array([3, 2, 1, 0], dtype=np.int64)
    return following.make_world_bodies(rows, moves, starts, frames, np.ones(len(moves)))


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("seed", range(3))
def test_contacts_are_followed_as_far_as_forces_reach(seed: int, count: int) -> None:
    rows = random_rows(seed, count)
    start = int(rows[0, 0]) if rows[0, 0] not in FIXED else 3
    world = table_of(start)
    ints, floats = following.contact_room(count)
    found = following.followed_at(ints, floats, 0)
    found.rows[:] = rows

    def call(stage: int, index=ints[:0], values=floats[:0]) -> int:
        return int(follow_contacts(*world, ints, floats, index, values, count, stage))

    links = call(following.FOLLOW)
    reached, grows = {start}, True
    while grows:
        touched = {int(b) for r in rows if {*r[:2]} & reached for b in r[:2]} - FIXED
        grows = not touched <= reached
        reached |= touched
    used = [k for k in range(count) if {*rows[k, :2]} & reached]
    used.sort(key=lambda k: tuple(rows[k, :7]))
    met = {(int(rows[k, which]), int(rows[k, 2 + which])) for k in used for which in (0, 1)}
    named = found.links[:links].tolist()
    assert {tuple(link) for link in named} == met
    assert links == len(met)

    # Sides of the articulation name its frames, those of free bodies their numbers.
    free = found.free[: found.free_used].tolist()
    assert sorted(free) == sorted([body, -1] for body in {body for body, _ in met} - {start})
    numbers = found.numbers[:links].tolist()
    for (body, link), number in zip(named, numbers, strict=True):
        expected = [0, 7, 2 - link] if body == start else [-1, free.index([body, -1]), -1]
        assert number == expected

    frictions = np.linspace(0.1, 1.0, links)
    found.frictions[:links] = frictions
    small = layout.allocate(1, 0, max(len(used) - 1, 0), 1, 6, 0)
    if used:
        assert call(WRITE, *small) == -len(used)
    index, values = layout.allocate(1, 0, count, 1, 6, 0)
    assert call(WRITE, index, values) == len(used)
    number_of = {tuple(link): k for k, link in enumerate(named)}
    for place, k in enumerate(used):
        first, second = (number_of[int(rows[k, w]), int(rows[k, 2 + w])] for w in (0, 1))
        islands = islands_at(index, values, 0)
        contact, sides = islands.contact[place], islands.contact_sides[place]
        assert contact[:19].tolist() == rows[k, 4:].tolist()
        assert contact[CONTACT.friction] == frictions[first] * frictions[second]
        assert sides[:3].tolist() == numbers[first]
        assert sides[SIDE.size :][:3].tolist() == numbers[second]


def test_forces_end_at_a_body_that_the_table_lacks() -> None:
    rows = random_rows(0, 1)
    rows[0, :4] = 3, BODIES, -1, -1
    world = table_of(3)
    ints, floats = following.contact_room(1)
    following.followed_at(ints, floats, 0).rows[:] = rows
    arrays = *world, ints, floats, ints[:0], floats[:0]
    assert follow_contacts(*arrays, 1, following.FOLLOW) == -1
