"""Memory of the kernels about contacts, reused while the same links touch each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.solver import contact_following as following
from gltf_bullet.solver.contact_following import PASSES_ON, ROW_SIZE, SORT
from gltf_bullet.solver.engine import contact_table
from gltf_bullet.solver.entries import follow_contacts
from gltf_bullet.solver.islands import FREE
from gltf_bullet.transforms import FloatArray, IntArray

TouchMemory = tuple[IntArray, FloatArray]
"""Integers and floats with the layout of ``solver.engine.contact_table``."""

TouchPattern = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Body and link of all links with contacts, flattened; and the pairs of these with contacts."""

NO_CONTACTS: TouchMemory = (np.zeros(0, dtype=np.int64), np.zeros(0))
"""Empty memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContacts:
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


def make_memory(found: FoundContacts, room: int) -> TouchMemory:
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
    return contact_table.make_contact_table(
        names,
        states[order],
        np.array(found.numbers, dtype=np.int64).reshape(-1, 3)[order],
        pairs[changes],
        np.array([(body, moves) for body, moves, _ in found.free], dtype=np.int64).reshape(-1, 2),
        values,
        active,
        room,
    )


def _pattern_of(marks: IntArray, count: int, links: int) -> TouchPattern:
    """Make the key that identifies a set of links with the same contacts between them.

    Args:
        marks: As :data:`SORT` leaves them.
        count: Number of contacts.
        links: Number of links with contacts.
    """
    marked = following.marks_at(marks, 0)
    start, sides = marked.links, marked.sides
    names = marks[start : start + 2 * links].tolist()
    pairs = marks[sides : sides + 2 * count].tolist()
    return tuple(names), tuple(dict.fromkeys(zip(pairs[::2], pairs[1::2], strict=True)))


def contacts_of(rows: FloatArray, bodies: Set[int]) -> FloatArray:
    """Return contacts with a side on some bodies; ``rows``: the world's, ROW_SIZE each."""
    ends = zip(rows[::ROW_SIZE].tolist(), rows[1::ROW_SIZE].tolist(), strict=True)
    own = [first in bodies or second in bodies for first, second in ends]
    return rows if all(own) else rows.reshape(-1, ROW_SIZE)[own].ravel()


def contact_pattern(rows: FloatArray, marks: IntArray) -> TouchPattern:
    """Return the pattern of contacts.

    Args:
        rows: The contacts, ROW_SIZE numbers each.
        marks: Scratch, with room for them: see ``contact_following.places``.
    """
    count = len(rows) // ROW_SIZE
    links = int(follow_contacts(rows, count, marks, rows, marks, rows, SORT))
    return _pattern_of(marks, count, links)


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
