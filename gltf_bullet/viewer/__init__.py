"""Room 7b: looking at physics. Debug drawing for any PyBullet window, and the program ``view``."""

from importlib import import_module
from typing import TYPE_CHECKING

from gltf_bullet.viewer.keys import LAYERS

if TYPE_CHECKING:
    from gltf_bullet.viewer.debug_draw import DebugDraw
    from gltf_bullet.viewer.layers import COLORS
    from gltf_bullet.viewer.strokes import Labels, Strokes

__all__ = ["COLORS", "LAYERS", "DebugDraw", "Labels", "Strokes"]

# What draws needs PyBullet, and is imported at first use.
_LAZY = {
    "COLORS": "gltf_bullet.viewer.layers",
    "DebugDraw": "gltf_bullet.viewer.debug_draw",
    "Labels": "gltf_bullet.viewer.strokes",
    "Strokes": "gltf_bullet.viewer.strokes",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
