"""URDF, MJCF and SDF texts, checked, and as far as PyBullet needs help with them: paths, mimics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gltf_bullet.convert.description import MimicRule
from gltf_bullet.convert.issues import (
    ROBOT_ELEMENT_IGNORED,
    ROBOT_FILE_MISSING,
    ROBOT_FILE_REFUSED,
    ROBOT_FILE_UNREADABLE,
    ROBOT_INVALID,
    ROBOT_MESH_CONVERTED,
    ROBOT_UNREADABLE,
)
from gltf_bullet.convert.mesh_files import MeshFile, read_mesh_file, write_obj
from gltf_bullet.convert.robot_checks import c_number, check_robot
from gltf_bullet.convert.robot_elements import read_elements, report_ignored
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.robot_misreadings import report_misread
from gltf_bullet.convert.robot_xml import (
    Edit,
    XmlElement,
    XmlError,
    edited,
    escaped,
    parse_xml,
    places,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

__all__ = ["ROBOT_SUFFIXES", "RobotText", "read_robot_text"]

ROBOT_SUFFIXES: Final = (".urdf", ".xml", ".mjcf", ".sdf")

_FORMATS: Final = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}


@dataclass(frozen=True, slots=True)
class RobotText:
    """A robot description that PyBullet can load from anywhere."""

    format: str
    """``"urdf"``, ``"mjcf"`` or ``"sdf"``."""
    text: str
    """With the paths of its files made absolute, without what needs files that nobody finds."""
    mimic: dict[str, MimicRule]
    """By joint."""
    twists: dict[str, float]
    """[rad] Of limits of spherical joints, by joint; 0: there is none, so that none acts."""
    links: tuple[str, ...]
    """Names of the links or bodies that it has."""
    meshes: dict[str, MeshFile] = field(default_factory=dict)
    """By the name in the text that stands for a file of a kind that PyBullet does not read."""

    def write(self, path: Path) -> None:
        """Write the text, and beside it the meshes that are for it alone."""
        text = self.text
        for name, mesh in self.meshes.items():
            write_obj(mesh, path.parent / name)
            text = text.replace(name, escaped((path.parent / name).as_posix()))
        path.write_text(text, encoding="utf-8")


def read_robot_text(
    path: str | os.PathLike[str], diagnostics: Diagnostics, folders: RobotFolders | None = None
) -> RobotText:
    """Read a description; what PyBullet will not make of it, and files not found, are reported.

    Args:
        path: The file.
        diagnostics: Receives the findings.
        folders: Where it may name files; ``None``: beside itself and in packages.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is none of the three formats, or nothing that PyBullet can be given.
    """
    file = Path(path).absolute()
    text = file.read_bytes().decode("utf-8-sig", "replace")
    root, kind = _parsed(path, text, diagnostics)
    findings = Diagnostics()
    check_robot(root, kind, findings)
    if findings.refuses:
        diagnostics.extend(findings.issues)
        raise ContainerError(str(path), diagnostics.issues)
    meshes: dict[str, MeshFile] = {}
    edits = list(_FILE_EDITS[kind](root, folders or RobotFolders(file), meshes, diagnostics))
    report_ignored(root, kind, diagnostics)
    report_misread(root, kind, diagnostics)
    return RobotText(
        kind,
        edited(text, edits),
        dict(_mimic_rules(root, diagnostics)) if kind == "urdf" else {},
        dict(_twists(root, diagnostics)) if kind == "urdf" else {},
        tuple(_link_names(root, kind)),
        meshes,
    )


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


def _link_names(root: XmlElement, kind: str) -> Iterator[str]:
    tag = "body" if kind == "mjcf" else "link"
    if kind == "urdf":
        owners = [root]
    elif kind == "sdf":
        owners = [m for world in root.named("world")[:1] or [root] for m in world.named("model")]
    else:
        bodies = [e for world in root.named("worldbody") for e in world.all_below()]
        owners = [e for e in bodies if e.tag in ("worldbody", "body")]
    for owner in owners:
        yield from (link.name for link in owner.named(tag) if link.name)


def _edits_of_urdf(
    robot: XmlElement, folders: RobotFolders, meshes: dict[str, MeshFile], diagnostics: Diagnostics
) -> Iterator[Edit]:
    yield from _edits_of_named_files(robot, "urdf", folders, meshes, diagnostics)


def _edits_of_sdf(
    sdf: XmlElement, folders: RobotFolders, meshes: dict[str, MeshFile], diagnostics: Diagnostics
) -> Iterator[Edit]:
    for element in sdf.all_below():
        if element.tag == "static" and element.text.lower() == "true":
            # PyBullet reads a number.
            yield Edit(element.text_start, element.text_end, "1")
    yield from _edits_of_named_files(sdf, "sdf", folders, meshes, diagnostics)


def _edits_of_named_files(
    root: XmlElement,
    kind: str,
    folders: RobotFolders,
    meshes: dict[str, MeshFile],
    diagnostics: Diagnostics,
) -> Iterator[Edit]:
    """Of URDF and SDF: paths as they are found; without it the visual or collider."""
    missing: dict[tuple[str, str], list[XmlElement]] = {}
    converted: dict[tuple[str, str], list[XmlElement]] = {}
    stand_ins: dict[Path, str] = {}
    for _, element in read_elements(root, kind):
        name, start, end = _file_of(element)
        if not name:
            continue
        found = folders.find(name)
        part, link = (_above(element, tags) for tags in (("visual", "collision"), ("link",)))
        if found is None:
            yield Edit(part.start, part.end)
            missing.setdefault((link.name, name), []).append(part)
        elif _is_known(found) or _above(element, ("mesh",)).tag != "mesh":
            yield Edit(start, end, escaped(found.as_posix()))
        else:
            if found not in stand_ins and (
                read := _read(found, name, link, part, folders, diagnostics)
            ):
                stand_ins[found] = f"gltf_bullet_mesh_{len(meshes)}.obj"
                meshes[stand_ins[found]] = read
            if found in stand_ins:
                yield Edit(start, end, stand_ins[found])
                converted.setdefault((link.name, name), []).append(part)
            else:
                yield Edit(part.start, part.end)
    for (link_name, name), parts in missing.items():
        _report_missing(parts, f"link {link_name!r}", name, folders, diagnostics)
    for (link_name, name), parts in converted.items():
        diagnostics.report(
            ROBOT_MESH_CONVERTED, ROOT,
            owner=f"link {link_name!r}", got=repr(name[:120]), where=places(parts),
        )  # fmt: skip


def _read(
    file: Path,
    name: str,
    link: XmlElement,
    part: XmlElement,
    folders: RobotFolders,
    diagnostics: Diagnostics,
) -> MeshFile | None:
    """A mesh that PyBullet does not read; ``None`` was reported."""
    try:
        return read_mesh_file(str(file), folders.holds)
    except (OSError, ValueError, ImportError) as error:
        diagnostics.report(
            ROBOT_FILE_UNREADABLE, ROOT, owner=f"link {link.name!r}", got=repr(name[:120]),
            where=places([part]), why=str(error)[:120], what=part.tag,
        )  # fmt: skip
        return None


def _is_known(file: Path) -> bool:
    """Whether PyBullet reads files of that kind; it refuses robots that have others (measured)."""
    return file.suffix.lower() in (".obj", ".stl", ".dae", ".vtk", ".cdf")


def _file_of(element: XmlElement) -> tuple[str, int, int]:
    """The file that an element names, and where in the text; an empty name: none."""
    if "filename" in element.attributes:
        return element.attributes["filename"]
    if element.tag == "uri":
        return element.text, element.text_start, element.text_end
    return "", 0, 0


def _above(element: XmlElement, tags: tuple[str, ...]) -> XmlElement:
    """The element of a kind that another is in; PyBullet reads files nowhere else."""
    found = element
    while found.tag not in tags and found.parent is not None:
        found = found.parent
    return found


def _edits_of_mjcf(
    root: XmlElement,
    folders: RobotFolders,
    _meshes: dict[str, MeshFile],
    diagnostics: Diagnostics,
) -> Iterator[Edit]:
    """Meshes by absolute paths; without them the geoms that show them."""
    directories = []
    for compiler in root.named("compiler"):
        if "meshdir" in compiler.attributes:
            value, start, end = compiler.attributes["meshdir"]
            directories.append(value)
            yield Edit(start, end)
    missing: dict[str, str] = {}
    for mesh in (mesh for asset in root.named("asset") for mesh in asset.named("mesh")):
        name = mesh.get("file")
        if not name:
            continue
        names = [os.path.join(directory, name) for directory in [*directories, ""]]
        found = next(filter(None, map(folders.find, names)), None)
        if found is not None:
            _, start, end = mesh.attributes["file"]
            yield Edit(start, end, escaped(found.as_posix()))
            continue
        yield Edit(mesh.start, mesh.end)
        missing[mesh.name or Path(name).stem] = next(filter(folders.is_outside, names), name)
    for geom in root.all_below() if missing else ():
        if geom.tag == "geom" and geom.get("mesh") in missing and geom.parent is not None:
            yield Edit(geom.start, geom.end)
            owner = geom.parent
            shown = f"body {owner.name!r}" if owner.tag == "body" else f"the {owner.tag}"
            _report_missing([geom], shown, missing[geom.get("mesh")], folders, diagnostics)


_FILE_EDITS: Final = {"urdf": _edits_of_urdf, "sdf": _edits_of_sdf, "mjcf": _edits_of_mjcf}


def _report_missing(
    parts: list[XmlElement],
    owner: str,
    name: str,
    folders: RobotFolders,
    diagnostics: Diagnostics,
) -> None:
    what = " and ".join(dict.fromkeys(part.tag for part in parts))
    kind = ROBOT_FILE_REFUSED if folders.is_outside(name) else ROBOT_FILE_MISSING
    diagnostics.report(
        kind, ROOT, owner=owner, got=repr(name[:120]), where=places(parts), what=what
    )


def _mimic_rules(robot: XmlElement, diagnostics: Diagnostics) -> Iterator[tuple[str, MimicRule]]:
    """Rules of joints that follow others."""
    joints = {joint.name for joint in robot.named("joint")}
    for joint in robot.named("joint"):
        mimic = joint.first("mimic")
        if mimic is None:
            continue
        leader = mimic.get("joint")
        if leader == joint.name or leader not in joints:
            which = "itself" if leader == joint.name else f"{leader!r}, which the robot has not"
            what = f"the mimic rule of joint {joint.name!r}, which names {which}"
            diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=what, where=places([mimic]))
            continue
        multiplier, offset = (
            c_number(mimic.get(name, stated))
            for name, stated in (("multiplier", "1"), ("offset", "0"))
        )
        yield joint.name, MimicRule(leader, multiplier, offset)


def _twists(robot: XmlElement, diagnostics: Diagnostics) -> Iterator[tuple[str, float]]:
    """Largest twists of spherical joints, the only ones that PyBullet limits by them."""
    unused = []
    for joint in robot.named("joint"):
        limit = joint.first("limit")
        twist = "" if limit is None else limit.get("twist")
        if joint.get("type") == "spherical":
            yield joint.name, c_number(twist) if twist else 0.0
        elif limit is not None and twist:
            unused.append(limit)
    if unused:
        what = "twist of <limit> of joints that are not spherical"
        diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=what, where=places(unused))
