"""Physics materials and the rule that combines two of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from gltf_bullet.diagnostics import ROOT, JsonPointer

__all__ = ["DEFAULT_MATERIAL", "CombineMode", "PhysicsMaterial", "combine"]


class CombineMode(enum.Enum):
    """How two values become one, strongest first ("Physics Materials")."""

    AVERAGE = "average"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    MULTIPLY = "multiply"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsMaterial:
    """Surface properties of a collider. Coefficients are dimensionless."""

    static_friction: float = 0.6
    dynamic_friction: float = 0.6
    restitution: float = 0.0
    friction_combine: CombineMode | None = None
    """``None``: the file states no mode, which has no opinion on the pair."""
    restitution_combine: CombineMode | None = None
    """``None``: the file states no mode, which has no opinion on the pair."""
    pointer: JsonPointer = field(default=ROOT, compare=False)


DEFAULT_MATERIAL = PhysicsMaterial()
"""For colliders without a material: the schema's defaults (0.6, 0.6, 0)."""

_PRECEDENCE = tuple(CombineMode)


def combine(a: float, b: float, mode_a: CombineMode | None, mode_b: CombineMode | None) -> float:
    """Combine two coefficients by the strongest *stated* mode; none stated: average."""
    mode = next((m for m in _PRECEDENCE if m in (mode_a, mode_b)), CombineMode.AVERAGE)
    if mode is CombineMode.AVERAGE:
        return 0.5 * (a + b)
    if mode is CombineMode.MINIMUM:
        return min(a, b)
    if mode is CombineMode.MAXIMUM:
        return max(a, b)
    return a * b
