"""Which records of a saved world belong to which body."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pybullet

from gltf_bullet.bullet.reading.bullet_file import BulletFile, Record
from gltf_bullet.transforms import Pose, Quat, Vec3

__all__ = ["SavedBodies"]

_RIGID: Final = 1
"""What ``getDynamicsInfo`` calls a body in maximal coordinates; 2: multibody, 3: soft."""
_ROUNDING: Final = 1e-9
"""How far rotation matrices, and dot products of quaternions, of one rotation are apart at most."""
_Key = tuple[bool, int, tuple[float, ...]]
"""In maximal coordinates; number of links; where the base is, to the bit."""


@dataclass(frozen=True, slots=True, eq=False)
class _SavedBody:
    """A body of the file."""

    address: int
    key: _Key
    record: Record
    colliders: dict[int, Record]
    """Its collision objects by link."""

    @property
    def friction(self) -> float:
        """Of the base."""
        base = self.colliders.get(-1)
        return math.nan if base is None else float(base["m_friction"])

    def is_turned(self, rotation: Quat) -> bool:
        """Whether PyBullet would answer this rotation for it."""
        if not self.key[0]:
            saved = self.record["m_baseWorldOrientation"]["m_floats"]
            return bool(abs(abs(float(np.dot(saved, rotation))) - 1.0) < _ROUNDING)
        rows = self.record["m_collisionObjectData"]["m_worldTransform"]["m_basis"]["m_el"]
        matrix = np.array([row["m_floats"][:3] for row in rows])
        origin: Vec3 = (0.0, 0.0, 0.0)
        wanted = Pose(rotation, origin).matrix()[:3, :3]
        return bool(np.allclose(matrix, wanted, rtol=0.0, atol=_ROUNDING))


class SavedBodies:
    """A world as the engine saves it, and the records of each body in it.

    Bodies have no number in the file, and no order of theirs says which is which: PyBullet gives
    ids out again, and a changed collision filter files a body anew. They are told by where they
    are, which is equal to the bit; those at one place by a mark.
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
        """How many records may be those of a body, where that is not one."""
        taken: set[int] = set()
        self._saved: dict[int, _SavedBody] = {}
        for body, found in options.items():
            for number in [k for k in found if k not in taken][:1]:
                taken.add(number)
                self._saved[body] = listed[number]
        left = [saved.key[0] for k, saved in enumerate(listed) if k not in taken]
        self.nameless_count = sum(left)
        """Bodies in maximal coordinates that PyBullet has no id for: links of loaded robots."""
        self.unlisted_count = len(left) - sum(left)
        """Multibodies that PyBullet does not list: those of a batch, before ``syncBodyInfo``."""

    def colliders(self, body: int) -> dict[int, Record]:
        """The collision objects of a body by link; -1 is the base."""
        saved = self._saved.get(body)
        return {} if saved is None else saved.colliders

    def links(self, body: int) -> list[Record]:
        """The links of a multibody, without its base; none where it was not found."""
        saved = self._saved.get(body)
        return [] if saved is None or saved.key[0] else self.file.array(saved.record["m_links"])

    def rigid(self, body: int) -> Record | None:
        """A body in maximal coordinates; ``None`` for a multibody."""
        saved = self._saved.get(body)
        return saved.record if saved is not None and saved.key[0] else None


def _save(client_id: int) -> BulletFile:
    with tempfile.TemporaryDirectory(prefix="gltf_bullet_") as folder:
        path = Path(folder) / "world.bullet"
        pybullet.saveBullet(str(path), physicsClientId=client_id)
        return BulletFile(path.read_bytes())


def _listed(file: BulletFile) -> list[_SavedBody]:
    """All bodies of a file, in its order."""
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
    """Of the records that may be those of bodies at one place, the one that each body marks.

    The mark is in the last bits of the friction of its base, the one number that PyBullet sets by
    id for every kind of body, that it saves and that it takes back to the bit. No step sees it.
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
