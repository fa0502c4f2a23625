"""The surface of a link as a material of glTF, and what a material has no words for."""

from __future__ import annotations

from collections.abc import Iterator

from gltf_bullet.convert.description import LinkDescription
from gltf_bullet.model import CombineMode, PhysicsMaterial

__all__ = ["lost_of", "material_of"]


def material_of(link: LinkDescription) -> PhysicsMaterial:
    """Friction and restitution, inside the ranges that glTF has for them."""
    friction = max(0.0, link.friction)
    return PhysicsMaterial(
        static_friction=friction,
        dynamic_friction=friction,
        restitution=min(max(0.0, link.restitution), 1.0),
        # Bullet multiplies.
        friction_combine=CombineMode.MULTIPLY,
        restitution_combine=CombineMode.MULTIPLY,
    )


def lost_of(link: LinkDescription) -> Iterator[tuple[str, str]]:
    """What of a link's motion and contacts glTF has no words for, and what is done with it."""
    left_out = "they are left out"
    if any(link.damping):
        linear, angular = link.damping
        yield f"linear damping {linear:.3g} and angular damping {angular:.3g}", left_out
    if not link.colliders:
        return
    if any(c.stated is None or c.stated.material is None for c in link.colliders):
        material = material_of(link)
        for name, value, written in (
            ("friction", link.friction, material.dynamic_friction),
            ("restitution", link.restitution, material.restitution),
        ):
            if value != written:
                yield f"the {name} {value:.3g}", f"{written:g} is written for it"
    if link.rolling_friction or link.spinning_friction:
        yield (
            f"rolling friction {link.rolling_friction:.3g} and spinning friction "
            f"{link.spinning_friction:.3g}",
            left_out,
        )
    if link.contact_spring is not None:
        stiffness, damping = link.contact_spring
        yield (
            f"contact stiffness {stiffness:.3g} N/m and damping {damping:.3g} N s/m",
            left_out,
        )
    if link.anisotropic_friction is not None:
        x, y, z = link.anisotropic_friction
        yield f"the factors ({x:.3g}, {y:.3g}, {z:.3g}) of anisotropic friction", left_out
    if link.friction_anchor:
        yield "the friction anchor", "it is left out"
