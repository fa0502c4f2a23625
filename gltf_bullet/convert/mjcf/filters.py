"""Collision filters from MuJoCo's rules about which geoms collide.

A pair of geoms collides if a ``contype`` of one matches a ``conaffinity`` of the other, unless
their bodies are welded, parent and child (the world does not count as a parent), or excluded;
pairs of ``<pair>`` always do ("Collision detection", "Selection").
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gltf_bullet.convert.collision_classes import UNKNOWN, CollisionClasses
from gltf_bullet.convert.mjcf.model import WORLD, MjcfModel
from gltf_bullet.transforms import BoolArray

_FILTER_PARENT_OFF: Final = 1 << 10
"""``mjDSBL_FILTERPARENT``."""


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
        wanted = np.where(open_, UNKNOWN, meets.astype(np.intp))
        self.filter = CollisionClasses(wanted, self.colliding).filter
        """The filter of a geom that collides; ``None`` if it collides with all others."""
