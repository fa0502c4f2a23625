"""Collision filters for any table of pairs: colliders with the same partners share a system."""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.model import CollisionFilter
from gltf_bullet.transforms import BoolArray, IntArray

UNKNOWN: Final = -1
"""A pair about which nothing is to be said."""


class CollisionClasses:
    """Classes of colliders that collide with the same others, and their filters."""

    def __init__(self, wanted: IntArray, colliding: BoolArray) -> None:
        """Find the classes.

        Args:
            wanted: 1 where a pair collides, 0 where it does not, else :data:`UNKNOWN`; symmetric,
                shape [count, count].
            colliding: True for colliders that need a filter, shape [count].
        """
        self._wanted = wanted
        self._colliding = colliding
        self.classes, self._relation = self._find()

    def filter(self, collider: int) -> CollisionFilter | None:
        """The filter of a collider; ``None`` if it collides with all others."""
        if not (self._relation == 0).any():
            return None
        own = int(self.classes[collider])
        name = f"class {own}"
        apart = [f"class {k}" for k in np.flatnonzero(self._relation[own] == 0).tolist()]
        meets = [f"class {k}" for k in np.flatnonzero(self._relation[own] != 0).tolist()]
        if len(apart) <= len(meets):
            return CollisionFilter(systems=frozenset({name}), not_collide_with=frozenset(apart))
        return CollisionFilter(
            systems=frozenset({name}), collide_with=frozenset(meets) or frozenset({"nothing"})
        )

    def _find(self) -> tuple[IntArray, IntArray]:
        """Classes of colliders, and the relation between classes.

        A collider joins the first class that it does not contradict.
        """
        classes = np.full(len(self._wanted), UNKNOWN)
        rows: list[IntArray] = []
        for collider in np.flatnonzero(self._colliding).tolist():
            wanted = self._wanted[collider]
            for number, row in enumerate(rows):
                if not np.any((row != wanted) & (row != UNKNOWN) & (wanted != UNKNOWN)):
                    rows[number] = np.maximum(row, wanted)
                    break
            else:
                number = len(rows)
                rows.append(wanted.copy())
            classes[collider] = number
        relation = self._relations(classes, len(rows))
        if relation is None:  # unknown pairs merged into a contradiction: a class for each
            classes = np.where(self._colliding, np.cumsum(self._colliding) - 1, UNKNOWN)
            relation = np.asarray(self._wanted[self._colliding][:, self._colliding])
        return classes, relation

    def _relations(self, classes: IntArray, count: int) -> IntArray | None:
        """True where classes collide, shape [count, count]; ``None`` if members contradict."""
        relation = np.full((count, count), UNKNOWN)
        for one in range(count):
            for other in range(count):
                wanted = self._wanted[classes == one][:, classes == other]
                known = wanted[wanted != UNKNOWN]
                if len(known):
                    relation[one, other] = known[0]
                    if (known != known[0]).any():
                        return None
        return relation
