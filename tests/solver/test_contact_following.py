"""Sorting contacts and following them from link to link, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver import islands as layout
from gltf_bullet.solver.contact_following import (
    ENDS,
    PASSES_ON,
    ROW_SIZE,
    SORT,
    SPREAD,
    WRITE,
    follow_contacts,
)
from gltf_bullet.solver.islands import CONTACT, SIDE, islands_at

BODIES = 12


def random_rows(seed: int, count: int) -> np.ndarray:
    """Contacts between random links; some share all but the place."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, ROW_SIZE))
    rows[:, :2] = rng.integers(0, BODIES, (count, 2))
    rows[:, 2:4] = rng.integers(-1, 3, (count, 2))
    return rows


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("seed", range(3))
def test_contacts_are_followed_as_far_as_forces_reach(seed: int, count: int) -> None:
    rows = random_rows(seed, count)
    ends = {0, 1, 2}  # bodies that nothing moves
    start = int(rows[0, 0]) if rows[0, 0] not in ends else 3
    marks, frictions = following.places(count), np.zeros(2 * count)
    nothing, flat = marks[:0], rows.ravel()

    def call(stage: int, index=nothing, values=flat) -> int:
        return int(follow_contacts(flat, count, marks, frictions, index, values, stage))

    links = call(SORT)
    order = marks[following.marks_at(marks, 0).order :][:count].tolist()
    assert order == sorted(range(count), key=lambda k: tuple(rows[k, :7]))
    bodies = marks[following.marks_at(marks, 0).links :][: 2 * links].reshape(-1, 2)
    met = {(int(r[which]), int(r[2 + which])) for r in rows for which in (0, 1)}
    assert {tuple(link) for link in bodies.tolist()} == met
    assert links == len(met)

    # A body passes forces on with all of its links, unless it ends them.
    states = marks[following.marks_at(marks, 0).states :][:links]
    numbers = marks[following.marks_at(marks, 0).numbers :][: 3 * links].reshape(-1, 3)
    numbers[:] = np.arange(3 * links).reshape(-1, 3)
    frictions[:links] = np.linspace(0.1, 1.0, links)
    states[bodies[:, 0] == start] = PASSES_ON
    while found := call(SPREAD):
        for side in marks[following.marks_at(marks, 0).fresh :][:found].tolist():
            body = bodies[side, 0]
            states[bodies[:, 0] == body] = ENDS if body in ends else PASSES_ON

    reached, grows = {start}, True
    while grows:
        touched = {int(b) for r in rows if {*r[:2]} & reached for b in r[:2]} - ends
        grows = not touched <= reached
        reached |= touched
    used = [k for k in order if {*rows[k, :2]} & reached]
    assert {int(b) for b in bodies[states == PASSES_ON, 0]} <= reached

    small = layout.allocate(1, 0, max(len(used) - 1, 0), 1, 6, 0)
    if used:
        assert call(WRITE, *small) == -len(used)
    index, values = layout.allocate(1, 0, count, 1, 6, 0)
    assert call(WRITE, index, values) == len(used)
    number_of = {tuple(link): k for k, link in enumerate(bodies.tolist())}
    for place, k in enumerate(used):
        first, second = (number_of[int(rows[k, w]), int(rows[k, 2 + w])] for w in (0, 1))
        at = islands_at(index, 0).contact + CONTACT.size * place
        assert values[at : at + 19].tolist() == rows[k, 4:].tolist()
        assert values[at + CONTACT.friction] == frictions[first] * frictions[second]
        side = islands_at(index, 0).contact_sides + 2 * SIDE.size * place
        assert index[side : side + 3].tolist() == numbers[first].tolist()
        assert index[side + SIDE.size :][:3].tolist() == numbers[second].tolist()
