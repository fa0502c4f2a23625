"""Which collision objects of a saved world belong to which body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import pybullet

from gltf_bullet.bullet.reading.bullet_file import BulletFile, Record
from gltf_bullet.transforms import Pose, Quat, Vec3

__all__ = ["SavedBodies", "is_maximal"]

_RIGID: Final = 1
"""What ``getDynamicsInfo`` calls a body in maximal coordinates; 2: multibody, 3: soft."""
_Key = tuple[bool, int, tuple[float, ...]]
"""In maximal coordinates; number of links; where the base is, to the bit."""
_Candidate = tuple[Record, dict[int, Record]]
"""A body of the file, and its collision objects by link."""


def is_maximal(client_id: int, body: int) -> bool:
    """Whether a body is one of ``useMaximalCoordinates``."""
    return bool(pybullet.getDynamicsInfo(body, -1, physicsClientId=client_id)[10] == _RIGID)


class SavedBodies:
    """The collision objects of all bodies of a world.

    Bodies have no number in the file; they are told by where they are, which is equal to the bit,
    and those at one place by the order in which they were made.
    """

    def __init__(self, client_id: int, saved: BulletFile, body_ids: Iterable[int]) -> None:
        """Match all bodies of the world, ``body_ids``, with those of the file."""
        candidates = _candidates(saved)
        self._links_of: dict[int, dict[int, Record]] = {}
        self._rigid: dict[int, Record] = {}
        for body in sorted(body_ids):
            maximal = is_maximal(client_id, body)
            count = pybullet.getNumJoints(body, physicsClientId=client_id)
            position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
            there = candidates.get((maximal, count, tuple(position)), [])
            for k, (record, links) in enumerate(there):
                if (_stands_so if maximal else _is_turned_so)(record, rotation):
                    self._links_of[body] = links
                    if maximal:
                        self._rigid[body] = record
                    del there[k]
                    break
        self.nameless_count = sum(len(r) for key, r in candidates.items() if key[0])
        """Bodies in maximal coordinates that PyBullet has no id for: links of loaded robots."""

    def colliders(self, body: int) -> dict[int, Record]:
        """The collision objects of a body by link; -1 is the base."""
        return self._links_of.get(body, {})

    def rigid(self, body: int) -> Record | None:
        """A body in maximal coordinates; ``None`` for a multibody."""
        return self._rigid.get(body)


def _candidates(saved: BulletFile) -> dict[_Key, list[_Candidate]]:
    """All bodies of the file by what tells them, in the order in which they were made."""
    listed: list[tuple[int, _Key, _Candidate]] = []
    for address, record in saved.records(b"MBDY"):
        links = {int(c["m_link"]): c["m_colObjData"] for c in saved.colliders_of.get(address, ())}
        number = min((solid["m_uniqueId"] for solid in links.values()), default=0)
        place = tuple(record.vector("m_baseWorldPosition"))
        listed.append((number, (False, int(record["m_numLinks"]), place), (record, links)))
    for _, record in saved.records(b"RBDY"):
        solid = record["m_collisionObjectData"]
        place = tuple(solid["m_worldTransform"].vector("m_origin"))
        listed.append((solid["m_uniqueId"], (True, 0, place), (record, {-1: solid})))
    found: dict[_Key, list[_Candidate]] = {}
    for _, key, candidate in sorted(listed, key=lambda entry: entry[0]):
        found.setdefault(key, []).append(candidate)
    return found


def _is_turned_so(multibody: Record, rotation: Quat) -> bool:
    """Bullet stores the inverse of what it answers, up to rounding."""
    saved = multibody["m_baseWorldOrientation"]["m_floats"]
    return bool(abs(abs(sum(a * b for a, b in zip(saved[:3], rotation[:3], strict=True)))
               + abs(saved[3] * rotation[3]) - 1.0) < 1e-9)  # fmt: skip


def _stands_so(rigid: Record, rotation: Quat) -> bool:
    rows = rigid["m_collisionObjectData"]["m_worldTransform"]["m_basis"]["m_el"]
    saved = np.array([row["m_floats"][:3] for row in rows])
    origin: Vec3 = (0.0, 0.0, 0.0)
    return bool(np.allclose(saved, Pose(rotation, origin).matrix()[:3, :3], rtol=0.0, atol=1e-9))
