"""The version of the installed package, as ``pyproject.toml`` states it."""

from importlib.metadata import version
from typing import Final

__version__: Final[str] = version("gltf_bullet")
