# What users may rely on. Read by type checkers and, when the package is imported, by lazy_loader.

from .debug_draw import DebugDraw as DebugDraw
from .keys import LAYERS as LAYERS
from .layers import COLORS as COLORS
from .strokes import Labels as Labels
from .strokes import Strokes as Strokes
from .web.program import WebView as WebView
