"""Room 7b: looking at physics. Debug drawing for any PyBullet window, and the program ``view``."""

import lazy_loader

# The public names are listed in __init__.pyi. What draws needs PyBullet, and is imported at first
# use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
