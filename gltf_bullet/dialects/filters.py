"""Collision filters: the same three lists in every dialect.

KHR_physics_rigid_bodies, "Collision Filtering"; MSFT_CollisionPrimitives has them on the collider.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import warning
from gltf_bullet.dialects.reading import known_keys, read_property, report_unknown
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import CollisionFilter
from gltf_bullet.model.properties import FILTER, Dialect, Property
from gltf_bullet.records import replace

FILTER_BOTH_LISTS = warning(
    "FILTER_BOTH_LISTS",
    "the filter has collideWithSystems and notCollideWithSystems; must have at most one of them; "
    "{used}",
)

FILTER_KEYS: Final = FILTER.names(Dialect.KHR)
SYSTEMS: Final = FILTER["collisionSystems"]
_KNOWN: Final = known_keys(*FILTER.names(Dialect.KHR))


def parse_filter(entry: Reader) -> CollisionFilter:
    """An entry of a ``collisionFilters`` table."""
    report_unknown(entry, _KNOWN, FILTER.what)
    return read_filter(entry)


def read_filter(owner: Reader, *, systems: Property = SYSTEMS) -> CollisionFilter:
    """The filter lists of ``owner``, which may hold other things too.

    Args:
        owner: The object.
        systems: The first list, as the object calls it.
    """
    values = {
        entry.field: read_property(owner, systems if entry is SYSTEMS else entry, Dialect.KHR)
        for entry in FILTER
    }
    found = CollisionFilter(**values, pointer=owner.at)
    if found.collide_with is None or found.not_collide_with is None:
        return found
    # Exporters that write every member write empty lists for what is not stated.
    used = (
        "what the first admits and the second does not refuse is met"
        if found.collide_with and found.not_collide_with
        else "an empty one says nothing"
    )
    owner.report(FILTER_BOTH_LISTS, used=used)
    return replace(
        found,
        collide_with=found.collide_with or None,
        not_collide_with=found.not_collide_with or None,
    )
