"""Arrays by which kernels follow a scene's contacts; and contacts that a snapshot keeps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pybullet

from gltf_bullet.numba_aot import addresses, size_of
from gltf_bullet.solver.contact_following import (
    ROW_SIZE,
    FollowedContacts,
    WorldBodies,
    contact_room,
    followed_at,
    world_bodies_at,
)
from gltf_bullet.solver.engine.contact_reading import ContactMemory, contact_memory_at
from gltf_bullet.transforms import FloatArray, IntArray

_NO_INTS: IntArray = np.zeros(0, dtype=np.int64)
_NO_FLOATS: FloatArray = np.zeros(0)
_LEAST_ROOM = 8
"""Number of contacts for which there is room in the beginning."""
_SPARE = 2
"""Factor of spare room for more contacts."""


class ContactArrays:
    """The arrays by which the contacts of a scene are followed, by kernels alone or with Python."""

    def __init__(self) -> None:
        self.numbers: IntArray = np.zeros(size_of(ContactMemory), dtype=np.int64)
        """The :class:`ContactMemory`, which stays where it is."""
        self._memory = contact_memory_at(self.numbers, 0)
        self.world, self.factors = _NO_INTS, _NO_FLOATS
        """The bodies of the world; empty until they are known."""
        self._make_room(_LEAST_ROOM)

    @property
    def bodies(self) -> WorldBodies:
        """The record in :attr:`world`."""
        return world_bodies_at(self.world, self.factors, 0)

    @property
    def found(self) -> FollowedContacts:
        """The record in :attr:`ints`."""
        return followed_at(self.ints, self.floats, 0)

    @property
    def all(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """All arrays, as ``follow_contacts`` takes them."""
        return self.world, self.factors, self.ints, self.floats

    def set_bodies(self, world: IntArray, factors: FloatArray) -> None:
        """Set the table of the world's bodies."""
        self.world, self.factors = world, factors
        self._memory.world[:] = addresses(world)
        self._memory.factors[:] = addresses(factors)

    def forget_bodies(self) -> None:
        """Drop the table, as there are other bodies."""
        if len(self.world):
            self.set_bodies(_NO_INTS, _NO_FLOATS)

    def set_room(self, contacts: int) -> None:
        """Make room for so many contacts of the world, and more."""
        if contacts > self.found.room:
            self._make_room(_SPARE * contacts)

    def _make_room(self, contacts: int) -> None:
        self.ints, self.floats = contact_room(contacts)
        self._memory.ints[:] = addresses(self.ints)
        self._memory.floats[:] = addresses(self.floats)

    def limit(self, contacts: int, free_bodies: int) -> None:
        """Set how many contacts and free bodies there is room for in the islands."""
        self._memory.most_contacts, self._memory.most_free = contacts, free_bodies


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
