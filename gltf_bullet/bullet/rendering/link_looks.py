"""What a link of a named multibody shows, in words of URDF."""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.rendering.box_meshes import DrawnBox

__all__ = ["NOTHING", "LinkLook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLook:
    """What a link shows."""

    file: str = ""
    """An OBJ or STL file; without one the collision shapes are drawn where ``as_colliders``."""
    box: DrawnBox | None = None
    """Instead of a file, in the link frame."""
    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    as_colliders: bool = False


NOTHING = LinkLook()
