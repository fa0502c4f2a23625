"""The contacts of a world, read once for all its scenes and grouped by connected scenes."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader, Owners
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.transforms import FloatArray, IntArray

Member: TypeAlias = "ContactReader | int"
"""A scene, or the id of a body of no scene."""

_NOTHING: FloatArray = np.zeros(0)


class WorldContacts:
    """The contacts of a world, read once for all scenes that need them."""

    def __init__(self, client_id: int, wanted: frozenset[int] | None = None) -> None:
        """``wanted``: bodies whose contacts are kept; ``None``: all contacts."""
        self._client_id = client_id
        self._wanted = wanted
        self._rows: FloatArray | None = None
        self._group_of: dict[Member, Member] = {}
        """Union-find parents; a root represents its group."""
        self._number_of: dict[Member, int] = {}
        """Number of each group, by its root."""
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)
        """Number of the group of each row, -1 for none."""
        self._rows_of: dict[int, FloatArray] = {}
        """Contacts by the number of a group, for those that were given to a reader."""

    def give(self, reader: ContactReader) -> None:
        """Give a reader the contacts of its group, so that it makes no call of its own.

        The group has all that is connected with it by contacts: what lies on a neighbour weighs.
        """
        if not reader.reads_engine:
            return
        rows = self._read(reader)
        reader.arrays.set_room(len(rows))
        if not len(self._numbers):
            self._group(rows, reader.owners)
        number = self._number_of.get(self._find(reader))
        if number is None:
            reader.set_contacts(_NOTHING)
            return
        if number not in self._rows_of:
            self._rows_of[number] = rows[self._numbers == number].ravel()
        reader.set_contacts(self._rows_of[number])

    def _read(self, reader: ContactReader) -> FloatArray:
        if self._rows is None:
            self._rows = reader.fetch().reshape(-1, ROW_SIZE)
        return self._rows

    def _group(self, rows: FloatArray, owners: Owners) -> None:
        bodies: list[tuple[int, int]] = list(map(tuple, rows[:, :2].astype(np.int64).tolist()))
        pairs = set(bodies)
        if self._wanted is not None:
            pairs = {pair for pair in pairs if not self._wanted.isdisjoint(pair)}
        member_of = {body: self._member(body, owners) for body in {*chain(*pairs)}}
        members = {pair: (member_of[pair[0]], member_of[pair[1]]) for pair in pairs}
        for one, other in members.values():
            if one is not None and other is not None:
                self._group_of[self._find(one)] = self._find(other)
        known = self._number_of
        number_of_member: dict[Member | None, int] = {None: -1}
        for member in member_of.values():
            if member is not None and member not in number_of_member:
                number_of_member[member] = known.setdefault(self._find(member), len(known))
        number_of = {
            pair: number_of_member[other if one is None else one]
            for pair, (one, other) in members.items()
        }
        self._numbers = np.array([number_of.get(pair, -1) for pair in bodies], dtype=np.int64)

    def _member(self, body: int, owners: Owners) -> Member | None:
        """Return what transmits forces to all that it touches: a scene, or a body of the user."""
        owner = owners.get(body)
        if owner is not None and body in owner.where:
            return owner
        mass = pybullet.getDynamicsInfo(body, -1, physicsClientId=self._client_id)[0]
        if mass == 0.0 and not pybullet.getNumJoints(body, self._client_id):
            return None
        return body if owner is None else owner

    def _find(self, member: Member) -> Member:
        while (next_one := self._group_of.get(member, member)) != member:
            member = next_one
        return member
