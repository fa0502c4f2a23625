"""URDF and SDF texts, checked, and as far as PyBullet needs help with them: paths, mimics."""

from __future__ import annotations

import os
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
    ROBOT_MESH_CONVERTED,
)
from gltf_bullet.convert.mesh_files import MeshFile, read_mesh_file, write_obj
from gltf_bullet.convert.robot_checks import c_number, check_robot
from gltf_bullet.convert.robot_elements import read_elements, report_ignored
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.robot_misreadings import report_misread
from gltf_bullet.convert.robot_text import parse_robot
from gltf_bullet.convert.robot_xml import (
    Edit,
    XmlElement,
    edited,
    escaped,
    places,
)
from gltf_bullet.convert.urdf_repairs import (
    StatedInertia,
    edits_of_limits,
    in_lines,
    stated_inertias,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

__all__ = ["RobotText", "read_robot_text"]


@dataclass(frozen=True, slots=True)
class RobotText:
    """A robot description that PyBullet can load from anywhere."""

    format: str
    """``"urdf"`` or ``"sdf"``."""
    text: str
    """With the paths of its files made absolute, without what needs files that nobody finds."""
    mimic: dict[str, MimicRule]
    """By joint."""
    twists: dict[str, float]
    """[rad] Of limits of spherical joints, by joint; 0: there is none, so that none acts."""
    links: tuple[str, ...]
    """Names of the links that it has."""
    inertias: dict[str, StatedInertia] = field(default_factory=dict)
    """URDF: what the file states, by link."""
    joint_count: int = 0
    """URDF: joints, fixed ones among them."""
    meshes: dict[str, MeshFile] = field(default_factory=dict)
    """By the name in the text that stands for a file of a kind that PyBullet does not read."""

    def write(self, path: Path) -> None:
        """Write the text, and beside it the meshes that are for it alone."""
        text = self.text
        for name, mesh in self.meshes.items():
            write_obj(mesh, path.parent / name)
            text = text.replace(name, escaped((path.parent / name).as_posix()))
        path.write_text(in_lines(text), encoding="utf-8")


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
        ContainerError: It is neither format, or nothing that PyBullet can be given.
    """
    file = Path(path).absolute()
    text, root, kind = parse_robot(file, diagnostics)
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
        dict(stated_inertias(root)) if kind == "urdf" else {},
        len(root.named("joint")) if kind == "urdf" else 0,
        meshes,
    )


def _link_names(root: XmlElement, kind: str) -> Iterator[str]:
    owners = [root]
    if kind == "sdf":
        owners = [m for world in root.named("world")[:1] or [root] for m in world.named("model")]
    for owner in owners:
        yield from (link.name for link in owner.named("link") if link.name)


def _edits_of_urdf(
    robot: XmlElement, folders: RobotFolders, meshes: dict[str, MeshFile], diagnostics: Diagnostics
) -> Iterator[Edit]:
    yield from edits_of_limits(robot)
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


_FILE_EDITS: Final = {"urdf": _edits_of_urdf, "sdf": _edits_of_sdf}


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
