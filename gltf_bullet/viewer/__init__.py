"""Viewers of physics: debug drawing for any PyBullet window, and the program ``view``."""

import lazy_loader

# ``__init__.pyi`` lists the public names. Modules that draw need PyBullet, and are imported at
# first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
