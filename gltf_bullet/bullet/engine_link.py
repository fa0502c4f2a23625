"""How PyBullet names a link: every room of the engine keeps lists of them."""

from __future__ import annotations

from typing import TypeAlias

from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan

__all__ = ["EngineLink", "SolidLink"]

EngineLink: TypeAlias = tuple[int, int]
"""(body id, link index); link -1 is the base."""

SolidLink: TypeAlias = tuple[EngineLink, "ColliderGroup | StaticPlan"]
"""A link and what is in it."""
