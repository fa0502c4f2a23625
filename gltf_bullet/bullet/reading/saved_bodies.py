"""Assignment of the records of a saved world to PyBullet's body ids."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.reading.bullet_file import BulletFile, Record
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.transforms import Pose, Quat, Vec3

_RIGID: Final = 1
"""Type of a body in maximal coordinates in ``getDynamicsInfo``; 2: multibody, 3: soft."""
_ROUNDING: Final = 1e-9
"""Largest difference of rotation matrices, and of dot products of quaternions, of one rotation."""
_Key = tuple[bool, int, tuple[float, ...]]
"""True for maximal coordinates; number of links; position of the base, exact to the bit."""


class _SavedBody(Struct, frozen=True, eq=False):
    """A body of the file."""

    address: int
    key: _Key
    record: Record
    colliders: dict[int, Record]
    """Its collision objects by link index, -1 for the base."""

    @property
    def friction(self) -> float:
        """Friction of the base."""
        base = self.colliders.get(-1)
        return math.nan if base is None else float(base["m_friction"])

    def is_turned(self, rotation: Quat) -> bool:
        """Return True if PyBullet returns this rotation for the body."""
        if not self.key[0]:
            saved = self.record["m_baseWorldOrientation"]["m_floats"]
            return bool(abs(abs(float(np.dot(saved, rotation))) - 1.0) < _ROUNDING)
        rows = self.record["m_collisionObjectData"]["m_worldTransform"]["m_basis"]["m_el"]
        matrix = np.array([row["m_floats"][:3] for row in rows])
        origin: Vec3 = (0.0, 0.0, 0.0)
        wanted = Pose(rotation, origin).matrix()[:3, :3]
        return bool(np.allclose(matrix, wanted, rtol=0.0, atol=_ROUNDING))


class SavedBodies:
    """A saved world, and the records of each body in it.

    Bodies have no id in the file, and their order does not identify them: PyBullet reuses ids, and
    a changed collision filter moves a body in the list. They are identified by their position,
    which is equal to the bit; those at one position by a temporary change of friction.
    """

    def __init__(self, client_id: int, body_ids: Iterable[int]) -> None:
        """Save the world and find ``body_ids`` in it: all that are not soft."""
        self.file = _save(client_id)
        listed = _listed(self.file)
        at_place: dict[_Key, list[int]] = {}
        for number, saved in enumerate(listed):
            at_place.setdefault(saved.key, []).append(number)
        options: dict[int, list[int]] = {}
        turned: dict[tuple[_Key, Quat], list[int]] = {}
        for body in body_ids:
            position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
            info = pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)
            count = pybullet.getNumJoints(body, physicsClientId=client_id)
            key = (info[10] == _RIGID, count, tuple(position))
            if (key, rotation) not in turned:
                there = at_place.get(key, [])
                turned[key, rotation] = [k for k in there if listed[k].is_turned(rotation)]
            options[body] = turned[key, rotation]
        several = {body: found for body, found in options.items() if len(found) > 1}
        if several:
            options.update(_told_by_marks(client_id, several, listed))
        self.uncertain = {body: len(found) for body, found in options.items() if len(found) != 1}
        """Number of possible records of each body for which that is not one."""
        taken: set[int] = set()
        self._saved: dict[int, _SavedBody] = {}
        for body, found in options.items():
            for number in [k for k in found if k not in taken][:1]:
                taken.add(number)
                self._saved[body] = listed[number]
        left = [saved.key[0] for k, saved in enumerate(listed) if k not in taken]
        self.nameless_count = sum(left)
        """Number of bodies in maximal coordinates without an id: links of loaded robots."""
        self.unlisted_count = len(left) - sum(left)
        """Number of multibodies that PyBullet does not list: those of a batch, before
        ``syncBodyInfo``.
        """

    def colliders(self, body: int) -> dict[int, Record]:
        """Return the collision objects of a body by link; -1 is the base."""
        saved = self._saved.get(body)
        return {} if saved is None else saved.colliders

    def links(self, body: int) -> list[Record]:
        """Return the links of a multibody, without its base; none if it was not found."""
        saved = self._saved.get(body)
        return [] if saved is None or saved.key[0] else self.file.array(saved.record["m_links"])

    def rigid(self, body: int) -> Record | None:
        """Return the record of a body in maximal coordinates; ``None`` for a multibody."""
        saved = self._saved.get(body)
        return saved.record if saved is not None and saved.key[0] else None


def _save(client_id: int) -> BulletFile:
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        path = Path(folder) / "world.bullet"
        pybullet.saveBullet(str(path), physicsClientId=client_id)
        return BulletFile(path.read_bytes())


def _listed(file: BulletFile) -> list[_SavedBody]:
    """Return all bodies of a file, in its order."""
    listed = []
    for address, record in file.records(b"MBDY"):
        links = {int(c["m_link"]): c["m_colObjData"] for c in file.colliders_of.get(address, ())}
        place = tuple(record.vector("m_baseWorldPosition"))
        key = (False, int(record["m_numLinks"]), place)
        listed.append(_SavedBody(address, key, record, links))
    for address, record in file.records(b"RBDY"):
        solid = record["m_collisionObjectData"]
        place = tuple(solid["m_worldTransform"].vector("m_origin"))
        listed.append(_SavedBody(address, (True, 0, place), record, {-1: solid}))
    return listed


def _told_by_marks(
    client_id: int, options: Mapping[int, Sequence[int]], listed: Sequence[_SavedBody]
) -> dict[int, list[int]]:
    """Identify bodies at one position by the last bits of the friction of their bases.

    Friction is the one number that PyBullet sets by id for every kind of body, saves, and sets back
    exact to the bit. No step is made meanwhile.
    """
    own = {
        body: float(pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)[1])
        for body in options
    }
    used = {saved.friction for saved in listed}
    marks: dict[int, float] = {}
    last: dict[float, float] = {}
    for body, friction in own.items():
        mark = last.get(friction, friction)
        while mark in used:
            mark = float(np.nextafter(mark, 0.0 if friction >= 1.0 else 1.0))
        used.add(mark)
        marks[body] = last[friction] = mark
    try:
        for body, mark in marks.items():
            pybullet.changeDynamics(body, -1, lateralFriction=mark, physicsClientId=client_id)
        marked = _listed(_save(client_id))
    finally:
        for body, friction in own.items():
            pybullet.changeDynamics(body, -1, lateralFriction=friction, physicsClientId=client_id)
    if [saved.address for saved in marked] != [saved.address for saved in listed]:
        return {}  # another thread has changed the world meanwhile
    marked_by: dict[float, list[int]] = {}
    for number, saved in enumerate(marked):
        marked_by.setdefault(saved.friction, []).append(number)
    return {
        body: [k for k in marked_by.get(marks[body], ()) if k in found] or list(found)
        for body, found in options.items()
    }
