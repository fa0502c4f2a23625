"""Memory of the kernels about contacts, reused whenever the same links touch each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.numba_aot import addresses, size_of
from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver.contact_following import PASSES_ON, ROW_SIZE, SORT
from gltf_bullet.solver.engine.contact_table import (
    MOST_TABLES,
    ContactTables,
    contact_tables_at,
    make_contact_table,
)
from gltf_bullet.solver.entries import follow_contacts
from gltf_bullet.solver.islands import FREE
from gltf_bullet.transforms import FloatArray, IntArray

TouchMemory = tuple[IntArray, FloatArray]
"""Integers and floats with the layout of ``solver.engine.contact_table``."""

TouchPattern = tuple[bytes, bytes]
"""Body and link of all links with contacts; and the pairs of these with contacts."""


class FoundContacts(Struct, frozen=True, kw_only=True):
    """Contacts of a step as Python has found them, for the kernels."""

    rows: FloatArray
    """Contacts of the world, ROW_SIZE numbers each."""
    links: Sequence[tuple[int, int]]
    """Body and link of each link with contacts."""
    states: Sequence[int]
    """State of each link."""
    numbers: Sequence[int]
    """Three numbers per link."""
    free: Sequence[tuple[int, int, float]]
    """Body id of each free body, 1 if it moves, and its gravity factor."""
    values: Sequence[float]
    """FREE.size numbers per free body."""
    starts: Collection[int]
    """Bodies whose contacts the solve includes, also those without any yet."""


class TouchMemories:
    """The contact tables of a scene, by which kernels know the contacts of earlier steps."""

    def __init__(self) -> None:
        self.numbers: IntArray = np.zeros(size_of(ContactTables), dtype=np.int64)
        """The :class:`ContactTables`."""
        self._tables = contact_tables_at(self.numbers, 0)
        self._kept: dict[int, tuple[TouchMemory, TouchPattern]] = {}
        """By the address of the integers."""

    def forget(self) -> None:
        """Drop all, as the world has changed."""
        self._tables.count = 0
        self._kept.clear()

    def add(self, found: FoundContacts, room: int) -> None:
        """Add what Python has found; it replaces what was found for the same links.

        ``room``: largest number of contacts.
        """
        memory, pattern = _make_memory(found, room)
        known = self._tables.tables[:, : self._tables.count].T.tolist()
        others = [row for row in known if self._kept[row[0]][1] != pattern]
        rows = [addresses(*memory), *others[: MOST_TABLES - 1]]
        kept = {row[0]: self._kept[row[0]] for row in rows[1:]}
        self._kept = {rows[0][0]: (memory, pattern), **kept}
        self._tables.count = len(rows)
        self._tables.tables[:, : len(rows)] = np.array(rows, dtype=np.int64).T


def _make_memory(found: FoundContacts, room: int) -> tuple[TouchMemory, TouchPattern]:
    """Make the memory, valid while the same links touch; ``room``: largest number of contacts."""
    bodies = np.array(found.links, dtype=np.int64).reshape(-1, 2)[:, 0]
    states = np.array(found.states, dtype=np.int64)
    starts = np.array(sorted(found.starts), dtype=np.int64)
    last = max(int(bodies.max(initial=0)), int(starts.max(initial=0)))
    active = np.zeros(last + 1, dtype=np.int64)
    passing = bodies[states == PASSES_ON]
    active[passing[passing >= 0]] = 1
    # Also bodies without contacts yet: a landing machine was missed while another one stood.
    active[starts] = 1
    table = found.rows.reshape(-1, ROW_SIZE)
    ends = table[:, :2].astype(np.int64)
    is_active = (active[np.maximum(ends, 0)] != 0) & (ends >= 0)
    rows = np.ascontiguousarray(table[is_active.any(axis=1)]).ravel()
    count = len(rows) // ROW_SIZE
    marks = following.places(count)
    links = int(follow_contacts(rows, count, marks, rows, marks, rows, SORT))
    marked = following.marks_at(marks, 0)
    start, sides = marked.links, marked.sides
    names = marks[start : start + 2 * links].reshape(-1, 2)
    pairs = marks[sides : sides + 2 * count].reshape(-1, 2)
    changes = np.ones(count, dtype=bool)
    changes[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    place = {name: k for k, name in enumerate(found.links)}
    order = [place[body, link] for body, link in names.tolist()]
    values = np.array(found.values).reshape(-1, FREE.size)
    for k, (body, _, factor) in enumerate(found.free):
        if body >= 0:
            values[k, FREE.gain] = factor
    memory = make_contact_table(
        names,
        states[order],
        np.array(found.numbers, dtype=np.int64).reshape(-1, 3)[order],
        pairs[changes],
        np.array([(body, moves) for body, moves, _ in found.free], dtype=np.int64).reshape(-1, 2),
        values,
        active,
        room,
    )
    return memory, (names.tobytes(), pairs[changes].tobytes())


def with_body_ids(rows: FloatArray, code: Mapping[int, int]) -> FloatArray:
    """Return contacts with replaced body ids, for a snapshot; ids without a code stay."""
    table = rows.copy().reshape(-1, ROW_SIZE)
    for column in (0, 1):
        table[:, column] = [code.get(int(body), int(body)) for body in table[:, column].tolist()]
    return table.ravel()


def between_links(client_id: int, rows: FloatArray) -> FloatArray:
    """Return the saved contacts between links that still exist."""
    if not len(rows):
        return rows
    table = rows.reshape(-1, ROW_SIZE)
    ends = table[:, :4].astype(int)
    links = {tuple(link) for link in np.concatenate([ends[:, ::2], ends[:, 1::2]]).tolist()}
    gone = {link for link in links if not _is_there(client_id, *link)}
    if not gone:
        return rows
    stays = [(a, b) not in gone and (c, d) not in gone for a, c, b, d in ends.tolist()]
    return table[stays].ravel()


def _is_there(client_id: int, body: int, link: int) -> bool:
    if body < 0:
        return True
    if link >= 0:  # for a link that a body lacks PyBullet ends the process (measured)
        return link < int(pybullet.getNumJoints(body, client_id))
    try:
        pybullet.getDynamicsInfo(body, link, client_id)
    except pybullet.error:
        return False
    return True
