"""Room 7b: looking at physics. Debug drawing for any PyBullet window, and the program ``view``."""

from gltf_bullet.viewer.debug_draw import DebugDraw
from gltf_bullet.viewer.layers import COLORS, LAYERS
from gltf_bullet.viewer.strokes import Labels, Strokes

__all__ = ["COLORS", "LAYERS", "DebugDraw", "Labels", "Strokes"]
