"""Load glTF assets with rigid-body physics into PyBullet and keep file and simulation in step.

``__init__.pyi`` lists the public names. ``gltf-bullet explain architecture`` shows the rooms of the
source, each of which imports only from those before it.
"""

import lazy_loader

# ``__init__.pyi`` lists the public names, once for type checkers and for the program. Each is
# imported on first use: reading and converting files works without PyBullet, and a program pays
# only for what it uses.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    from gltf_bullet.suggestions import did_you_mean

    hint = did_you_mean(name, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
