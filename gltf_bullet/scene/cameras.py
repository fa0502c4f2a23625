"""The lenses of cameras. A camera looks along -Z of its frame, +Y is up in the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Lens", "OrthographicLens", "PerspectiveLens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerspectiveLens:
    """Sees near things larger."""

    vertical_field_of_view: float
    """[rad]"""
    aspect_ratio: float | None = None
    """Width over height; ``None``: that of the picture."""
    near: float = 0.01
    """[m]"""
    far: float | None = None
    """[m]; ``None``: no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrthographicLens:
    """Sees all things at their size."""

    half_width: float
    """[m]"""
    half_height: float
    """[m]"""
    near: float = 0.0
    """[m]"""
    far: float
    """[m]"""


Lens: TypeAlias = "PerspectiveLens | OrthographicLens"
