"""Collision filters: the same three lists in every dialect.

KHR_physics_rigid_bodies, "Collision Filtering"; MSFT_CollisionPrimitives has them on the collider.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers
from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.dialects.properties import AS_ABSENT, known_keys, report_unknown
from gltf_bullet.gltf.fields import JsonObject, read_strings
from gltf_bullet.model import CollisionFilter

__all__ = [
    "COVERAGE",
    "FILTER_BOTH_LISTS",
    "FILTER_KEYS",
    "parse_filter",
    "read_filter",
]

FILTER_BOTH_LISTS = IssueKind(
    "FILTER_BOTH_LISTS",
    Severity.WARNING,
    "the filter has collideWithSystems and notCollideWithSystems; must have at most one of them; "
    "{used}",
)

COVERAGE: Final = covers(
    "Materials and filters",
    approximated(
        "collideWithSystems", "notCollideWithSystems", when="both", by=FILTER_BOTH_LISTS,
        how="what the first admits and the second does not refuse; an empty one says nothing",
    ),
)  # fmt: skip

FILTER_KEYS: Final = ("collisionSystems", "collideWithSystems", "notCollideWithSystems")
_KNOWN: Final = known_keys(*FILTER_KEYS)


def parse_filter(entry: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> CollisionFilter:
    """An entry of a ``collisionFilters`` table."""
    report_unknown(entry, _KNOWN, "a collision filter", at, diagnostics)
    return read_filter(entry, at, diagnostics)


def read_filter(
    owner: JsonObject,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    systems_key: str = "collisionSystems",
) -> CollisionFilter:
    """The filter lists of ``owner``, which may hold other things too."""
    systems = read_strings(owner, systems_key, at, diagnostics, instead=AS_ABSENT)
    collide_with, not_collide_with = (
        read_strings(owner, key, at, diagnostics, instead=AS_ABSENT)
        for key in ("collideWithSystems", "notCollideWithSystems")
    )
    if collide_with is not None and not_collide_with is not None:
        # Exporters that write every member write empty lists for what is not stated.
        used = (
            "what the first admits and the second does not refuse is met"
            if collide_with and not_collide_with
            else "an empty one says nothing"
        )
        diagnostics.report(FILTER_BOTH_LISTS, at, used=used)
        collide_with, not_collide_with = collide_with or None, not_collide_with or None
    return CollisionFilter(
        systems=frozenset(systems or ()),
        collide_with=None if collide_with is None else frozenset(collide_with),
        not_collide_with=None if not_collide_with is None else frozenset(not_collide_with),
        pointer=at,
    )
