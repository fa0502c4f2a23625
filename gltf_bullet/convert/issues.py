"""Issues of the conversion: properties of a world or robot that glTF or PyBullet lacks."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import IssueKind, Severity

NOT_IN_GLTF: Final = IssueKind(
    "NOT_IN_GLTF",
    Severity.WARNING,
    "glTF has no words for {what} of {owner}; {done}",
)
LINK_WITHOUT_MASS: Final = IssueKind(
    "LINK_WITHOUT_MASS",
    Severity.INFO,
    "{count} links of {owner} ({names}) have no {what}, which glTF takes for an infinite one; "
    "{value:.3g} kg within {gyration:g} m stand for it",
)
MJCF_APPROXIMATED: Final = IssueKind(
    "MJCF_APPROXIMATED",
    Severity.WARNING,
    "{count} x {what} ({names}): {done}; off by {error}",
)
MJCF_NEEDS_MUJOCO: Final = IssueKind(
    "MJCF_NEEDS_MUJOCO",
    Severity.ERROR,
    "MJCF is read by MuJoCo, which is not installed: pip install 'gltf_bullet[mjcf]'",
)
ROBOT_FILE_MISSING: Final = IssueKind(
    "ROBOT_FILE_MISSING",
    Severity.ERROR,
    "{owner} names the file {got} ({where}), which is neither in the robot's folder nor in a ROS "
    "package; left out: its {what}",
    loads=True,
)
ROBOT_FILE_REFUSED: Final = IssueKind(
    "ROBOT_FILE_REFUSED",
    Severity.ERROR,
    "{owner} names the file {got} ({where}), which leads out of the robot's folder and of ROS "
    "packages{more}; left out: {what}; --allow {folder} lets the robot name files there",
    loads=True,
)
ROBOT_FILE_UNREADABLE: Final = IssueKind(
    "ROBOT_FILE_UNREADABLE",
    Severity.ERROR,
    "{owner} names the file {got} ({where}), whose meshes cannot be read ({why}); left out: its "
    "{what}",
    loads=True,
)
ROBOT_MESH_CONVERTED: Final = IssueKind(
    "ROBOT_MESH_CONVERTED",
    Severity.INFO,
    "{owner} names the file {got} ({where}), of a kind that PyBullet does not read; it gets the "
    "triangles and the first texture as OBJ, without the file's colours",
)
ROBOT_UNREADABLE: Final = IssueKind(
    "ROBOT_UNREADABLE",
    Severity.ERROR,
    "the file is {got}; must be a robot: <robot> (URDF), <mujoco> (MJCF) or <sdf>",
)
ROBOT_INERTIA_FROM_FILE: Final = IssueKind(
    "ROBOT_INERTIA_FROM_FILE",
    Severity.INFO,
    "PyBullet gives {count} links with mass and without collision shape next to no inertia "
    "({names}); "
    "they get what the file states, {least:.3g} to {most:.3g} kg m2",
)
ROBOT_INVALID: Final = IssueKind(
    "ROBOT_INVALID",
    Severity.ERROR,
    "{where}: {got}; must be {allowed}",
)
ROBOT_REFUSED: Final = IssueKind(
    "ROBOT_REFUSED",
    Severity.ERROR,
    "{reader} cannot load the robot: {why}",
)
WORLD_NOT_FINITE: Final = IssueKind(
    "WORLD_NOT_FINITE",
    Severity.ERROR,
    "{key}{of} is no finite number as PyBullet tells it; glTF has none for it",
)
ROBOT_ELEMENT_IGNORED: Final = IssueKind(
    "ROBOT_ELEMENT_IGNORED",
    Severity.WARNING,
    "PyBullet tells nothing of {what} ({where}); it is left out",
)
ROBOT_MISREAD: Final = IssueKind(
    "ROBOT_MISREAD",
    Severity.WARNING,
    "PyBullet takes {what} ({where}) for {taken}",
)
ROBOT_SLIP: Final = IssueKind(
    "ROBOT_SLIP",
    Severity.INFO,
    "{what} ({where}): {doubt}",
)
ROBOT_LINK_LOST: Final = IssueKind(
    "ROBOT_LINK_LOST",
    Severity.ERROR,
    "PyBullet leaves out {count} links of the robot ({names})",
)
ROBOT_ENGINE_LINES: Final = IssueKind(
    "ROBOT_ENGINE_LINES",
    Severity.INFO,
    "PyBullet says of the robot: {lines}",
)
NOT_IN_USD: Final = IssueKind(
    "NOT_IN_USD",
    Severity.WARNING,
    "OpenUSD has no words for {what} of {owner}; {done}",
)
USD_APPROXIMATED: Final = IssueKind(
    "USD_APPROXIMATED",
    Severity.WARNING,
    "{count} x {what} ({names}): {done}; off by {error}",
)
USD_NEEDS_USD_CORE: Final = IssueKind(
    "USD_NEEDS_USD_CORE",
    Severity.ERROR,
    "USD is read and written by OpenUSD, which is not installed: pip install 'gltf_bullet[usd]'",
)
USD_NO_UNITS: Final = IssueKind(
    "USD_NO_UNITS",
    Severity.INFO,
    "the stage states no metersPerUnit; its unit of length is USD's default, {length:g} m",
)
USD_UNITS_DIFFER: Final = IssueKind(
    "USD_UNITS_DIFFER",
    Severity.WARNING,
    "layer {layer} has {key} {got}, the stage {used}; OpenUSD does not convert what it refers to, "
    "which is {error} as its author meant it",
)
USD_ZERO_MASS: Final = IssueKind(
    "USD_ZERO_MASS",
    Severity.WARNING,
    '{count} prims state the mass 0 ({names}), which means "not stated" in USD; the densities of '
    "their shapes count, {mass:.4g} kg together",
)
