"""glTF files with KHR_physics_rigid_bodies from a world described independently of the engine."""

from typing import Final

ROBOT_SUFFIXES: Final = (".urdf", ".xml", ".mjcf", ".sdf")
