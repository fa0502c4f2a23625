"""What a collision object of a saved world says about its contacts."""

from __future__ import annotations

from typing import Final

from gltf_bullet.bullet.reading.bullet_file import Record
from gltf_bullet.transforms import Vec3

__all__ = [
    "anisotropic_friction",
    "contact_spring",
    "has_friction_anchor",
    "saved_contact_spring",
]

_HAS_CONTACT_SPRING: Final = 128
"""``CF_HAS_CONTACT_STIFFNESS_DAMPING`` of Bullet."""
_HAS_FRICTION_ANCHOR: Final = 512
"""``CF_HAS_FRICTION_ANCHOR`` of Bullet."""
_RIGID: Final = 1e9
"""[N s/m] Contacts damped like this are rigid, their correction tuned, as in scenes of ours."""


def contact_spring(stiffness: float, damping: float) -> tuple[float, float] | None:
    """The spring of soft contacts; ``None`` where they are rigid."""
    return None if damping >= _RIGID else (stiffness, damping)


def saved_contact_spring(solid: Record) -> tuple[float, float] | None:
    """:func:`contact_spring` of a collision object."""
    if not solid["m_collisionFlags"] & _HAS_CONTACT_SPRING:
        return None
    return contact_spring(solid["m_contactStiffness"], solid["m_contactDamping"])


def has_friction_anchor(solid: Record) -> bool:
    """Whether contacts hold on to the point where they began."""
    return bool(solid["m_collisionFlags"] & _HAS_FRICTION_ANCHOR)


def anisotropic_friction(solid: Record) -> Vec3 | None:
    """Factors of friction along the axes of the inertial frame; ``None``: alike along all."""
    if not solid["m_hasAnisotropicFriction"]:
        return None
    x, y, z = solid.vector("m_anisotropicFriction").tolist()
    return (x, y, z)
