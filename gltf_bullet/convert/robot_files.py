"""URDF, MJCF and SDF texts as far as PyBullet needs help with them: paths and mimic rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gltf_bullet.convert.description import MimicRule
from gltf_bullet.convert.issues import ROBOT_FILE_MISSING, ROBOT_UNREADABLE
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

__all__ = ["ROBOT_SUFFIXES", "RobotText", "read_robot_text"]

ROBOT_SUFFIXES: Final = (".urdf", ".xml", ".mjcf", ".sdf")

_SCHEME: Final = re.compile(r"^(package|model|file)://")
_FORMATS: Final = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}


@dataclass(frozen=True, slots=True)
class RobotText:
    """A robot description that PyBullet can load from anywhere."""

    format: str
    """``"urdf"``, ``"mjcf"`` or ``"sdf"``."""
    text: str
    """With the paths of its files made absolute."""
    mimic: dict[str, MimicRule]
    """By joint."""


def read_robot_text(path: str | os.PathLike[str], diagnostics: Diagnostics) -> RobotText:
    """Read a description; files that it names and nobody finds are reported.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is none of the three formats.
    """
    file = Path(path).absolute()
    data = file.read_bytes()
    # PyBullet's own parser forgives what a strict one refuses (a robot of pybullet_data is such).
    plain = re.sub(r"<!--.*?-->|<\?.*?\?>", "", data.decode("utf-8", "replace"), flags=re.DOTALL)
    tag = re.search(r"<([A-Za-z_][\w.-]*)", plain)
    kind = _FORMATS.get(tag[1]) if tag is not None else None
    if kind is None:
        got = "no XML" if tag is None else f"a text in <{tag[1][:30]}>"
        diagnostics.report(ROBOT_UNREADABLE, ROOT, got=got)
        raise ContainerError(str(path), diagnostics.issues)
    text = data.decode("utf-8", "replace")
    for name in dict.fromkeys(_file_names(plain, kind)):
        found = _find(name, file.parent)
        if found is None:
            diagnostics.report(ROBOT_FILE_MISSING, ROOT, got=name[:120])
            continue
        absolute = found.as_posix()
        for quote in ('"', "'"):
            text = text.replace(f"{quote}{name}{quote}", f"{quote}{absolute}{quote}")
        text = text.replace(f">{name}<", f">{absolute}<")
    return RobotText(kind, text, dict(_mimic_rules(plain)) if kind == "urdf" else {})


def _file_names(text: str, kind: str) -> list[str]:
    if kind == "urdf":
        return re.findall(r"""<(?:mesh|texture)\b[^>]*?\bfilename\s*=\s*["']([^"']+)["']""", text)
    if kind == "sdf":
        return re.findall(r"<mesh>.*?<uri>\s*([^<]+?)\s*</uri>", text, re.DOTALL)
    return []  # MJCF names files relative to itself, which PyBullet follows


def _find(name: str, folder: Path) -> Path | None:
    """Where a file is: as ROS finds packages, else beside the description or above it."""
    scheme = _SCHEME.match(name)
    rest = name[scheme.end() :] if scheme else name
    if Path(rest).is_absolute():
        return Path(rest) if Path(rest).is_file() else None
    if scheme and scheme[1] == "package":
        package, _, inside = rest.partition("/")
        for root in _ros_roots():
            for candidate in (root / package / inside, root / "share" / package / inside):
                if candidate.is_file():
                    return candidate
        for above in (folder, *folder.parents):
            if above.name == package and (above / inside).is_file():
                return above / inside
    for above in (folder, *folder.parents):
        if (above / rest).is_file():
            return above / rest
    return None


def _ros_roots() -> list[Path]:
    values = [os.environ.get(key, "") for key in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")]
    return [Path(part) for value in values for part in value.split(os.pathsep) if part]


def _mimic_rules(text: str) -> Iterator[tuple[str, MimicRule]]:
    for joint in re.finditer(r"<joint\b([^>]*[^/])>(.*?)</joint>", text, re.DOTALL):
        name = _attributes(joint[1]).get("name")
        mimic = re.search(r"<mimic\b([^>]*)>", joint[2])
        rule = {} if mimic is None else _attributes(mimic[1])
        if name is not None and "joint" in rule:
            numbers = float(rule.get("multiplier", 1.0)), float(rule.get("offset", 0.0))
            yield name, MimicRule(rule["joint"], *numbers)


def _attributes(text: str) -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"""([\w:.-]+)\s*=\s*["']([^"']*)["']""", text)}
