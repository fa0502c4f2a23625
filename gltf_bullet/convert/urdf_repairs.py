"""Repairs of URDF texts where PyBullet would deviate from them.

Measured with PyBullet 3.2.7: it lets numbers of ``<limit>`` decide over the type ``continuous``,
gives links with mass and without collision shapes no inertia, and crashes above 127 joints.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from gltf_bullet.convert.issues import ROBOT_INVALID, ROBOT_UNREADABLE
from gltf_bullet.convert.robot_checks import c_number
from gltf_bullet.convert.robot_xml import XmlElement, XmlError, parse_xml, places, read_text
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.transforms import Pose, Vec3, quat_from_rotation_vector, quats_from_matrices

MOST_JOINTS: Final = 127
"""Most joints of one multibody, fixed ones included."""


class StatedInertia(Struct, frozen=True):
    """Content of an ``<inertial>`` element."""

    diagonal: Vec3
    """Principal moments [kg m^2]."""
    link_from_inertial: Pose


def repair_limits(robot: XmlElement) -> None:
    """Joints of type ``continuous`` have no limits, whatever numbers ``<limit>`` has.

    PyBullet takes a lower limit above the upper one for none.
    """
    for joint in robot.named("joint"):
        limit = joint.first("limit")
        if joint.get("type") == "continuous" and limit is not None:
            limit.attributes |= {"lower": "0", "upper": "-1"}


def stated_inertias(robot: XmlElement) -> Iterator[tuple[str, StatedInertia]]:
    """Inertias by link, as the file states them, without those that are 0 or impossible."""
    for link in robot.named("link"):
        inertial = link.first("inertial")
        stated = None if inertial is None else inertial.first("inertia")
        if inertial is None or stated is None:
            continue
        xx, yy, zz, xy, xz, yz = (
            c_number(stated.get(name, "0")) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        )
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if not np.isfinite(tensor).all():
            continue
        moments, axes = np.linalg.eigh(tensor)
        if moments[0] <= 0.0:
            continue
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] = -axes[:, 0]
        x, y, z, w = quats_from_matrices(axes).tolist()
        principal = Pose((x, y, z, w), (0.0, 0.0, 0.0))
        a, b, c = moments.tolist()
        yield link.name, StatedInertia((a, b, c), _origin(inertial) @ principal)


def _origin(owner: XmlElement) -> Pose:
    """The pose of ``<origin>``: turns about the fixed axes X, Y, Z, in this order."""
    origin = owner.first("origin")
    if origin is None:
        return Pose.identity()
    (x, y, z), angles = (_three(origin.get(name)) for name in ("xyz", "rpy"))
    turn = Pose.identity()
    for axis, angle in enumerate(angles):
        vector = np.zeros(3)
        vector[axis] = angle
        qx, qy, qz, qw = quat_from_rotation_vector(vector).tolist()
        turn = Pose((qx, qy, qz, qw), (0.0, 0.0, 0.0)) @ turn
    return Pose.from_translation((x, y, z)) @ turn


def _three(text: str) -> Vec3:
    numbers = [c_number(word) for word in text.split()[:3]]
    if len(numbers) < 3 or not all(map(math.isfinite, numbers)):
        return 0.0, 0.0, 0.0
    return numbers[0], numbers[1], numbers[2]


# --- Parsed texts of robots: their format, or the reason why they have none -----------------------

_FORMATS: Final = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}


def robot_format(path: str | os.PathLike[str], diagnostics: Diagnostics) -> str:
    """``"urdf"``, ``"mjcf"`` or ``"sdf"``; errors as of :func:`parse_robot`."""
    return parse_robot(path, diagnostics)[1]


def parse_robot(path: str | os.PathLike[str], diagnostics: Diagnostics) -> tuple[XmlElement, str]:
    """The first element of a file and its format.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is none of the three formats, or no XML.
    """
    try:
        text = read_text(Path(path).absolute())
    except XmlError as error:
        diagnostics.report(
            ROBOT_INVALID, ROOT, where=Path(path).name, got=error.found, allowed=error.allowed
        )
        raise ContainerError(str(path), diagnostics.issues) from error
    return _parsed(path, text, diagnostics)


def stated_mass(path: str | os.PathLike[str]) -> float | None:
    """Mass of all links that a URDF or SDF states [kg]; ``None`` for an MJCF.

    Only MuJoCo can tell that of an MJCF, which states masses by densities, classes and other files.
    """
    root, kind = parse_robot(path, Diagnostics())
    if kind == "mjcf":
        return None
    words = [
        element.get("value") or element.text
        for element in root.all_below()
        if element.tag == "mass"
    ]
    return sum(number for number in map(c_number, words) if math.isfinite(number))


def _parsed(
    path: str | os.PathLike[str], text: str, diagnostics: Diagnostics
) -> tuple[XmlElement, str]:
    """The first element and its format."""
    root, wrong = None, None
    try:
        root = parse_xml(text)
        tag = "" if root is None else root.tag
    except XmlError as error:
        wrong = error
        # The root tells whether it is meant to be a robot at all.
        found = re.search(r"<([A-Za-z_][\w.-]*)", text)
        tag = "" if found is None else found[1]
    kind = _FORMATS.get(tag)
    if kind is None:
        got = f"a text in <{tag[:30]}>" if tag else "no XML"
        diagnostics.report(ROBOT_UNREADABLE, ROOT, got=got)
    elif wrong is not None:
        diagnostics.report(
            ROBOT_INVALID, ROOT,
            where=f"line {wrong.line}", got=wrong.found, allowed=wrong.allowed,
        )  # fmt: skip
    if root is None or kind is None:
        raise ContainerError(str(path), diagnostics.issues)
    unresolved = [element for element in root.all_below() if _is_xacro(element)]
    if unresolved:
        diagnostics.report(
            ROBOT_INVALID, ROOT, where=places(unresolved), got="an unprocessed xacro file",
            allowed="what `xacro` makes of it",
        )  # fmt: skip
        raise ContainerError(str(path), diagnostics.issues)
    return root, kind


def _is_xacro(element: XmlElement) -> bool:
    return element.tag.startswith("xacro:") or any(
        "${" in value for value in element.attributes.values()
    )
