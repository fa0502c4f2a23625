"""Collision filters from MuJoCo's rules about which geoms collide.

A pair of geoms collides if a ``contype`` of one matches a ``conaffinity`` of the other, unless
their bodies are welded, parent and child (the world does not count as a parent), or excluded;
pairs of ``<pair>`` always do ("Collision detection", "Selection").
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.convert.mjcf.model import WORLD, MjcfModel
from gltf_bullet.model import CollisionFilter
from gltf_bullet.transforms import BoolArray, IntArray

_FILTER_PARENT_OFF: Final = 1 << 10
"""``mjDSBL_FILTERPARENT``."""
_UNKNOWN: Final = -1


def may_bodies_meet(model: MjcfModel, one: int, other: int) -> bool:
    """Return True if geoms of two bodies may collide."""
    return bool(_bodies_meet(model)[one, other])


def _bodies_meet(model: MjcfModel) -> BoolArray:
    weld = model["body_weldid"].astype(np.intp)
    above = weld[model["body_parentid"][weld]]
    same = weld[:, None] == weld[None, :]
    is_child = (above[:, None] == weld[None, :]) & (weld[:, None] != WORLD)
    is_child &= weld[None, :] != WORLD
    related = is_child | is_child.T
    if int(model.option("disableflags")) & _FILTER_PARENT_OFF:
        related[:] = False
    meets: BoolArray = ~(same | related)
    for signature in model["exclude_signature"].tolist():
        one, other = int(signature) >> 16, int(signature) & 0xFFFF
        meets[one, other] = meets[other, one] = False
    return meets


class Contacts:
    """The geoms that collide with any others, and their filters."""

    def __init__(self, model: MjcfModel, jointed: set[frozenset[int]]) -> None:
        """Compute the pairs of geoms that collide, and classes of equal geoms.

        Args:
            model: The model.
            jointed: Pairs of bodies whose joints already exclude collisions.
        """
        bodies = model["geom_bodyid"].astype(np.intp)
        types, affinities = model["geom_contype"], model["geom_conaffinity"]
        bits = (types[:, None] & affinities[None, :]) | (affinities[:, None] & types[None, :])
        meets = (bits != 0) & _bodies_meet(model)[bodies[:, None], bodies[None, :]]
        for one, other in zip(model["pair_geom1"], model["pair_geom2"], strict=True):
            meets[one, other] = meets[other, one] = True
        self.meets = meets
        """True for pairs of geoms that collide, shape [geom_count, geom_count]."""
        # Geoms that collide with nothing in their own file count: another file may have a floor.
        self.colliding: BoolArray = ((types | affinities) != 0) | meets.any(axis=1)
        fixed = np.array(
            [
                model.is_static(b) or int(model["body_mocapid"][b]) >= 0
                for b in range(model.count("body"))
            ]
        )[bodies]
        open_ = (bodies[:, None] == bodies[None, :]) | (fixed[:, None] & fixed[None, :])
        for pair in jointed:
            one, other = tuple(pair)
            apart = (bodies[:, None] == one) & (bodies[None, :] == other)
            open_ |= (apart | apart.T) & ~meets
        self._wanted = np.where(open_, _UNKNOWN, meets.astype(np.intp))
        self.classes, self._relation = self._classes()

    def filter(self, geom: int) -> CollisionFilter | None:
        """The filter of a geom that collides; ``None`` if it collides with all others."""
        if not (self._relation == 0).any():
            return None
        own = int(self.classes[geom])
        name = f"class {own}"
        apart = [f"class {k}" for k in np.flatnonzero(self._relation[own] == 0).tolist()]
        meets = [f"class {k}" for k in np.flatnonzero(self._relation[own] != 0).tolist()]
        if len(apart) <= len(meets):
            return CollisionFilter(systems=frozenset({name}), not_collide_with=frozenset(apart))
        return CollisionFilter(
            systems=frozenset({name}), collide_with=frozenset(meets) or frozenset({"nothing"})
        )

    def _classes(self) -> tuple[IntArray, IntArray]:
        """Classes of geoms that collide with the same others, and the relation between classes.

        Pairs within one body, and between bodies whose joint excludes collisions, are undefined; a
        geom joins the first class that it does not contradict.
        """
        classes = np.full(len(self.meets), _UNKNOWN)
        rows: list[IntArray] = []
        for geom in np.flatnonzero(self.colliding).tolist():
            wanted = self._wanted[geom]
            for number, row in enumerate(rows):
                if not np.any((row != wanted) & (row != _UNKNOWN) & (wanted != _UNKNOWN)):
                    rows[number] = np.maximum(row, wanted)
                    break
            else:
                number = len(rows)
                rows.append(wanted.copy())
            classes[geom] = number
        relation = self._relations(classes, len(rows))
        if relation is None:  # undefined pairs merged into a contradiction: a class for each geom
            classes = np.where(self.colliding, np.cumsum(self.colliding) - 1, _UNKNOWN)
            relation = np.asarray(self._wanted[self.colliding][:, self.colliding])
        return classes, relation

    def _relations(self, classes: IntArray, count: int) -> IntArray | None:
        """True where classes collide, shape [count, count]; ``None`` if members contradict."""
        relation = np.full((count, count), _UNKNOWN)
        for one in range(count):
            for other in range(count):
                wanted = self._wanted[classes == one][:, classes == other]
                known = wanted[wanted != _UNKNOWN]
                if len(known):
                    relation[one, other] = known[0]
                    if (known != known[0]).any():
                        return None
        return relation
