"""How PyBullet names a link: every room of the engine keeps lists of them."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["EngineLink"]

EngineLink: TypeAlias = tuple[int, int]
"""(body id, link index); link -1 is the base."""
