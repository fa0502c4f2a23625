"""The texts of robots, parsed: which format they are, or why they are none."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Final

from gltf_bullet.convert.issues import ROBOT_INVALID, ROBOT_UNREADABLE
from gltf_bullet.convert.robot_checks import c_number
from gltf_bullet.convert.robot_xml import XmlElement, XmlError, parse_xml, places
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

__all__ = ["ROBOT_SUFFIXES", "parse_robot", "robot_format", "stated_mass"]

ROBOT_SUFFIXES: Final = (".urdf", ".xml", ".mjcf", ".sdf")

_FORMATS: Final = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}


def robot_format(path: str | os.PathLike[str], diagnostics: Diagnostics) -> str:
    """``"urdf"``, ``"mjcf"`` or ``"sdf"``; errors as of :func:`parse_robot`."""
    return parse_robot(path, diagnostics)[2]


def parse_robot(
    path: str | os.PathLike[str], diagnostics: Diagnostics
) -> tuple[str, XmlElement, str]:
    """The text of a file, its first element and the format that it stands for.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is none of the three formats, or no XML.
    """
    text = Path(path).absolute().read_bytes().decode("utf-8-sig", "replace")
    return text, *_parsed(path, text, diagnostics)


def stated_mass(path: str | os.PathLike[str]) -> float | None:
    """[kg] The masses of all links that a URDF or SDF states; ``None`` of an MJCF.

    Of MJCF only MuJoCo knows: masses are stated by densities, classes and other files there.
    """
    _, root, kind = parse_robot(path, Diagnostics())
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
    """The first element and the format that it stands for."""
    root, wrong = None, None
    try:
        root = parse_xml(text)
        tag = "" if root is None else root.tag
    except XmlError as error:
        wrong = error
        # Whether it is meant to be a robot at all.
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
        "${" in attribute.value for attribute in element.attributes.values()
    )
