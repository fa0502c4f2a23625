"""What both viewers are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.placement import UpAxis
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.transforms import Vec3

__all__ = ["ViewOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """How a file is looked at, in the window and in the browser."""

    load: LoadOptions = field(default_factory=LoadOptions)
    """How to load; :attr:`visuals` decides about theirs."""
    up_axis: UpAxis = "z"
    """``"z"`` turns the asset up into a Z-up world, ``"y"`` keeps glTF's axes."""
    gravity: Vec3 = (0.0, 0.0, -9.81)
    """[m/s^2], world axes."""
    time_step: float = 1.0 / 240.0
    """[s]"""
    speed: float = 1.0
    """Simulated seconds per second."""
    play: bool = True
    """Whether time runs from the start."""
    visuals: Shown = "auto"
    """``"mesh"``, ``"collider"``, or ``"auto"``: meshes where the file has any."""
    show: Sequence[str] = ("joints",)
    """Layers that are on at first."""
    floor: bool = False
    """Put a floor through the world's origin."""
    seconds: float = float("inf")
    """Stop after this time of the clock [s]."""
