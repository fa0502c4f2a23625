"""What a world has and glTF has no words for."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import IssueKind, Severity

__all__ = ["LINK_WITHOUT_MASS", "NOT_IN_GLTF", "ROBOT_FILE_MISSING", "ROBOT_UNREADABLE"]

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
ROBOT_FILE_MISSING: Final = IssueKind(
    "ROBOT_FILE_MISSING",
    Severity.ERROR,
    "the robot names {got}, which is neither beside it nor in a ROS package; what it shows or "
    "collides with is left out",
)
ROBOT_UNREADABLE: Final = IssueKind(
    "ROBOT_UNREADABLE",
    Severity.ERROR,
    "the file is {got}; must be a robot: <robot> (URDF), <mujoco> (MJCF) or <sdf>",
)
