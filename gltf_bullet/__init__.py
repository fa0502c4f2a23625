"""Load glTF assets with rigid-body physics into PyBullet and keep file and simulation in step.

The rooms, each importing only from those before it: ``errors``, ``diagnostics``, ``transforms``,
``options``; ``scene`` (node tree); ``gltf`` (the file) and ``model`` (the physics); ``dialects``
(JSON to model) and ``bullet`` (model to PyBullet); ``runtime`` (a world in motion); ``envs`` and
``viewer``; ``cli``. ``gltf-bullet explain architecture`` shows them.
"""

import lazy_loader

# The public names are listed in __init__.pyi, once for type checkers and for the program. Each is
# imported at first use: reading and converting files works without PyBullet, and what a program
# does not use costs it nothing.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    from gltf_bullet.suggestions import did_you_mean

    hint = did_you_mean(name, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
