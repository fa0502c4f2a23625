"""Issues of the conversion: properties of a world or robot that glTF or PyBullet lacks."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import error, note, warning

NOT_IN_GLTF: Final = warning("NOT_IN_GLTF", "glTF has no words for {what} of {owner}; {done}")
LINK_WITHOUT_MASS: Final = note(
    "LINK_WITHOUT_MASS",
    "{count} links of {owner} ({names}) have no {what}, which glTF takes for an infinite one; "
    "{value:.3g} kg within {gyration:g} m stand for it",
)
MJCF_APPROXIMATED: Final = warning(
    "MJCF_APPROXIMATED", "{count} x {what} ({names}): {done}; off by {error}"
)
MJCF_NEEDS_MUJOCO: Final = error(
    "MJCF_NEEDS_MUJOCO",
    "MJCF is read by MuJoCo, which is not installed: pip install 'gltf_bullet[mjcf]'",
)
ROBOT_FILE_MISSING: Final = error(
    "ROBOT_FILE_MISSING",
    "{owner} names the file {got} ({where}), which is neither in the robot's folder nor in a ROS "
    "package; left out: its {what}",
    loads=True,
)
ROBOT_FILE_REFUSED: Final = error(
    "ROBOT_FILE_REFUSED",
    "{owner} names the file {got} ({where}), which leads out of the robot's folder and of ROS "
    "packages{more}; left out: {what}; --allow {folder} lets the robot name files there",
    loads=True,
)
ROBOT_FILE_UNREADABLE: Final = error(
    "ROBOT_FILE_UNREADABLE",
    "{owner} names the file {got} ({where}), whose meshes cannot be read ({why}); left out: its "
    "{what}",
    loads=True,
)
ROBOT_MESH_CONVERTED: Final = note(
    "ROBOT_MESH_CONVERTED",
    "{owner} names the file {got} ({where}), of a kind that PyBullet does not read; it gets the "
    "triangles and the first texture as OBJ, without the file's colours",
)
ROBOT_UNREADABLE: Final = error(
    "ROBOT_UNREADABLE",
    "the file is {got}; must be a robot: <robot> (URDF), <mujoco> (MJCF) or <sdf>",
)
ROBOT_INERTIA_FROM_FILE: Final = note(
    "ROBOT_INERTIA_FROM_FILE",
    "PyBullet gives {count} links with mass and without collision shape next to no inertia "
    "({names}); "
    "they get what the file states, {least:.3g} to {most:.3g} kg m2",
)
ROBOT_INVALID: Final = error("ROBOT_INVALID", "{where}: {got}; must be {allowed}")
ROBOT_REFUSED: Final = error("ROBOT_REFUSED", "{reader} cannot load the robot: {why}")
WORLD_NOT_FINITE: Final = error(
    "WORLD_NOT_FINITE", "{key}{of} is no finite number as PyBullet tells it; glTF has none for it"
)
ROBOT_ELEMENT_IGNORED: Final = warning(
    "ROBOT_ELEMENT_IGNORED", "PyBullet tells nothing of {what} ({where}); it is left out"
)
ROBOT_MISREAD: Final = warning("ROBOT_MISREAD", "PyBullet takes {what} ({where}) for {taken}")
ROBOT_SLIP: Final = note("ROBOT_SLIP", "{what} ({where}): {doubt}")
ROBOT_LINK_LOST: Final = error(
    "ROBOT_LINK_LOST", "PyBullet leaves out {count} links of the robot ({names})"
)
ROBOT_ENGINE_LINES: Final = note("ROBOT_ENGINE_LINES", "PyBullet says of the robot: {lines}")
NOT_IN_USD: Final = warning("NOT_IN_USD", "OpenUSD has no words for {what} of {owner}; {done}")
USD_APPROXIMATED: Final = warning(
    "USD_APPROXIMATED", "{count} x {what} ({names}): {done}; off by {error}"
)
USD_NEEDS_USD_CORE: Final = error(
    "USD_NEEDS_USD_CORE",
    "USD is read and written by OpenUSD, which is not installed: pip install 'gltf_bullet[usd]'",
)
USD_NO_UNITS: Final = note(
    "USD_NO_UNITS",
    "the stage states no metersPerUnit; its unit of length is USD's default, {length:g} m",
)
USD_UNITS_DIFFER: Final = warning(
    "USD_UNITS_DIFFER",
    "layer {layer} has {key} {got}, the stage {used}; OpenUSD does not convert what it refers to, "
    "which is {error} as its author meant it",
)
USD_ZERO_MASS: Final = warning(
    "USD_ZERO_MASS",
    '{count} prims state the mass 0 ({names}), which means "not stated" in USD; the densities of '
    "their shapes count, {mass:.4g} kg together",
)
