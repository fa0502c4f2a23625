"""Room 4: one module per extension, JSON -> model, by the tables of ``model/properties.py``."""

from gltf_bullet.dialects.assemble import read_physics
from gltf_bullet.dialects.khr.writer import physics_to_khr, write_physics
from gltf_bullet.dialects.registry import IMPLEMENTED_EXTENSIONS, check_extensions

__all__ = [
    "IMPLEMENTED_EXTENSIONS",
    "check_extensions",
    "physics_to_khr",
    "read_physics",
    "write_physics",
]
