"""Constraints that others hang on our bodies, as rows for the solve beside the contacts.

A stiff drive that does not know of the 5 kg hung on its arm of 1 kg swings by 0.35 m at 60 Hz
(measured). Points and welds are known; of gears and slides the solve sees the load that they leave
behind, one step late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pybullet

from gltf_bullet.bullet.state.link_states import link_state
from gltf_bullet.solver.islands import HELD
from gltf_bullet.transforms import Pose

__all__ = ["ForeignConstraints"]

_ARM = 0.1
"""[m] A weld is held at three points, so far apart."""
_POINTS = {
    pybullet.JOINT_POINT2POINT: ((0.0, 0.0, 0.0),),
    pybullet.JOINT_FIXED: ((0.0, 0.0, 0.0), (_ARM, 0.0, 0.0), (0.0, _ARM, 0.0)),
}
"""By constraint type: what is held together, in the constraint's frame [m]."""
_WORLD_AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_IDENTITY = (0.0, 0.0, 0.0, 1.0)

Row: TypeAlias = "tuple[float, ...]"
"""As of ``contact_following``; instead of forces the gap [m], instead of a distance what
:data:`HELD` says."""


class ForeignConstraints:
    """Those of a world that are not ours."""

    def __init__(self, client_id: int, is_ours: Callable[[int, int], bool]) -> None:
        """Look for none yet.

        Args:
            client_id: The world.
            is_ours: Whether a constraint, by id and by its first body, was made by a scene.
        """
        self._client_id = client_id
        self._is_ours = is_ours
        self._known = (0, -1)
        self.ids: list[int] = []
        """Of those that are known, as of the last :meth:`rows`."""

    def rows(self) -> list[Row]:
        """One for each point that is held."""
        client = self._client_id
        count = pybullet.getNumConstraints(client)
        if not count:
            self._known = (0, -1)
            self.ids = []
            return []
        known = (count, pybullet.getConstraintUniqueId(count - 1, client))
        if known != self._known:
            self._known = known
            ids = [pybullet.getConstraintUniqueId(k, client) for k in range(count)]
            self.ids = [k for k in ids if self._is_row(k, self._info(k))]
        return [row for k in self.ids for row in self._rows_of(self._info(k))]

    def _is_row(self, constraint: int, info: tuple[Any, ...]) -> bool:
        return info[4] in _POINTS and not self._is_ours(constraint, info[0])

    def _info(self, constraint: int) -> tuple[Any, ...]:
        found: tuple[Any, ...] = pybullet.getConstraintInfo(constraint, self._client_id)
        return found

    def _rows_of(self, info: tuple[Any, ...]) -> list[Row]:
        parent, parent_link, child, child_link, kind, _, at_parent, at_child = info[:8]
        turns, strength = info[8:10], float(info[10])
        first = self._pose(parent, parent_link) @ Pose(turns[0] or _IDENTITY, at_parent)
        second = self._pose(child, child_link) @ Pose(turns[1] or _IDENTITY, at_child)
        found = []
        for point in _POINTS[kind]:
            here = (first @ Pose(_IDENTITY, point)).translation
            there = (second @ Pose(_IDENTITY, point)).translation
            gap = [a - b for a, b in zip(here, there, strict=True)]
            ends = (parent, child, parent_link, child_link, *here, *there)
            found.append((*ends, *_WORLD_AXES, -(HELD + strength), *gap))
        return found

    def _pose(self, body: int, link: int) -> Pose:
        """The inertial frame of a link; body -1 is the world."""
        if body < 0:
            return Pose(_IDENTITY, (0.0, 0.0, 0.0))
        position, rotation, _, _ = link_state(self._client_id, body, link)
        return Pose(rotation, position)
