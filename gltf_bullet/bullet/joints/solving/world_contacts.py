"""The contacts of a world, read once for all its scenes and grouped by what hangs together."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader, Owners
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["WorldContacts"]

Member: TypeAlias = "ContactReader | int"
"""A scene, or the id of a body that belongs to none."""

_NOTHING: FloatArray = np.zeros(0)


class WorldContacts:
    """The contacts of a world with nothing but our scenes in it, read once for all of them."""

    def __init__(self, client_id: int, wanted: frozenset[int] | None = None) -> None:
        """``wanted``: bodies; what touches none of them is left out, unless this is ``None``."""
        self._client_id = client_id
        self._wanted = wanted
        self._rows: FloatArray | None = None
        self._group_of: dict[Member, Member] = {}
        """Towards who stands for the group."""
        self._number_of: dict[Member, int] = {}
        """Of the group that somebody stands for."""
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)
        """Of the group that each row belongs to, -1 for none."""
        self._rows_of: dict[int, FloatArray] = {}
        """By the number of a group that somebody has asked for."""

    def give(self, reader: ContactReader) -> None:
        """Spare a reader its own call: it shall reckon with these the next time.

        They are all contacts of what hangs together with it: what lies on a neighbour weighs.
        """
        if not reader.is_curious:
            return
        rows = self._read(reader)
        if not len(self._numbers):
            self._group(rows, reader.owners)
        number = self._number_of.get(self._find(reader))
        if number is None:
            reader.take(_NOTHING)
            return
        if number not in self._rows_of:
            self._rows_of[number] = rows[self._numbers == number].ravel()
        reader.take(self._rows_of[number])

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
        """What passes forces on to all that touches it: a scene, or somebody else's body."""
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
