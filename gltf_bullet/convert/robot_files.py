"""URDF and SDF texts, checked and completed for PyBullet: paths of files, mimic rules, limits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.bounds import MESH_FILE_BYTES
from gltf_bullet.convert.description import MimicRule
from gltf_bullet.convert.issues import (
    ROBOT_ELEMENT_IGNORED,
    ROBOT_FILE_UNREADABLE,
    ROBOT_MESH_CONVERTED,
    ROBOT_MISREAD,
    ROBOT_SLIP,
)
from gltf_bullet.convert.mesh_files import MeshFile, read_mesh_file, write_obj
from gltf_bullet.convert.obj_texts import ObjText, names_libraries, read_obj_text
from gltf_bullet.convert.robot_checks import c_number, check_robot, read_elements, report_ignored
from gltf_bullet.convert.robot_folders import NamedFile, RobotFolders, report_files
from gltf_bullet.convert.robot_xml import XmlElement, escaped, places, written
from gltf_bullet.convert.urdf_repairs import (
    StatedInertia,
    parse_robot,
    repair_limits,
    stated_inertias,
)
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

# --- Elements that PyBullet misreads: it takes them for something else than their format defines --
#
# Measured with PyBullet 3.2.7, by loading small robots with and without each of these.


def report_misread(root: XmlElement, kind: str, diagnostics: Diagnostics) -> None:
    """Report elements that PyBullet takes for something else, or drops because of their value."""
    readers = {"urdf": _of_urdf, "sdf": _of_sdf}
    for elements, what, taken in readers[kind](root):
        if not elements:
            continue
        shown = what if isinstance(what, str) else what(elements)
        where = places(elements)
        if taken:
            diagnostics.report(ROBOT_MISREAD, ROOT, what=shown, where=where, taken=taken)
        else:
            diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=shown, where=where)


Finding = tuple[list[XmlElement], "str | Callable[[Sequence[XmlElement]], str]", str]
"""Elements, their description, and what PyBullet takes them for; empty: nothing."""


def _counted(what: str) -> Callable[[Sequence[XmlElement]], str]:
    """A function that describes elements by number, kind and names."""

    def shown(elements: Sequence[XmlElement]) -> str:
        names = [repr(element.name) for element in elements if element.name]
        more = ", ..." if len(names) > 3 else ""
        listed = f" {', '.join(names[:3])}{more}" if names else ""
        times = f"{len(elements)} x " if len(elements) > 1 else ""
        return f"{times}{what}{listed}"

    return shown


def _of_urdf(robot: XmlElement) -> Iterator[Finding]:
    floating = [joint for joint in robot.named("joint") if joint.get("type") == "floating"]
    yield floating, _counted("floating joint"), "fixed"
    massless = [link for link in robot.named("link") if link.first("inertial") is None]
    # Without a shape the moments are those of a cube of 2 mm (measured).
    taken = "1 kg, with the moments of its collision shapes (6.7e-07 kg m2 without any)"
    yield massless, _counted("link without <inertial>"), taken
    unresolved = [
        element
        for element in robot.all_below()
        if element.tag in ("origin", "axis")
        and any("$(" in value for value in element.attributes.values())
    ]
    yield (
        unresolved,
        "$(...), which xacro resolves,",
        "numbers, of which it reads any that it finds",
    )


def _of_sdf(sdf: XmlElement) -> Iterator[Finding]:
    worlds = sdf.named("world")
    models = [model for world in worlds[:1] or [sdf] for model in world.named("model")]
    jointed = [model for model in models if model.named("joint") and _is_static(model)]
    moving = [m for m in jointed if any(j.get("type") != "fixed" for j in m.named("joint"))]
    yield moving, _counted("static model"), "one whose base alone stands still; its joints move"
    yield worlds[1:], _counted("further world"), ""
    if worlds:
        yield sdf.named("model"), _counted("model beside the world"), ""


def _is_static(model: XmlElement) -> bool:
    static = model.first("static")
    return static is not None and static.text in ("1", "true", "True")


# --- Numbers of URDF that are allowed and that hardly anybody means -------------------------------


_A_TURN: Final = 2.0 * math.pi * (1.0 + 1e-3)


def report_slips(robot: XmlElement, diagnostics: Diagnostics) -> None:
    """Report each kind of likely slip in the joints of a URDF once, with the first number."""
    found: dict[str, list[tuple[XmlElement, str]]] = {}
    for joint in robot.named("joint"):
        for doubt, number in _slips_of_joint(joint):
            found.setdefault(doubt, []).append((joint, number))
    for doubt, slips in found.items():
        joints = [joint for joint, _ in slips]
        what = f"{_counted('joint')(joints)}, {slips[0][1]}"
        diagnostics.report(ROBOT_SLIP, ROOT, what=what, where=places(joints), doubt=doubt)
    turned = [
        (owner, furthest)
        for owner in (*robot.named("link"), *robot.named("joint"))
        for origin in owner.all_below()
        if origin.tag == "origin"
        and _A_TURN < abs(furthest := _furthest_turn(origin.get("rpy"))) < math.inf
    ]
    if turned:
        owners = [owner for owner, _ in turned]
        what = f"{_counted('origin of')(owners)}, rpy {turned[0][1]:g} rad"
        doubt = "turned by more than a turn, in radians: degrees?"
        diagnostics.report(ROBOT_SLIP, ROOT, what=what, where=places(owners), doubt=doubt)


def _furthest_turn(rpy: str) -> float:
    """The largest angle of an origin [rad], by its size."""
    return max((c_number(word) for word in rpy.split()[:3]), key=abs, default=0.0)


def _slips_of_joint(joint: XmlElement) -> Iterator[tuple[str, str]]:
    """Yield each doubt about a joint, with the number that raises it."""
    limit, axis, kind = joint.first("limit"), joint.first("axis"), joint.get("type")
    if limit is not None and kind in ("revolute", "prismatic"):
        lower, upper = (c_number(limit.get(name) or "0") for name in ("lower", "upper"))
        furthest = max(lower, upper, key=abs)
        if kind == "revolute" and _A_TURN < abs(furthest) < math.inf:
            yield "limits of more than a turn, in radians: degrees?", f"limit {furthest:g} rad"
        if lower > upper:
            doubt = "lower is above upper, which PyBullet takes for no limits"
            yield doubt, f"lower {lower:g}, upper {upper:g}"
    is_moving = kind in ("revolute", "prismatic", "continuous")
    effort = "" if limit is None else limit.get("effort")
    if is_moving and c_number(effort) == 0.0:
        yield "a motor that may exert nothing moves nothing", "effort 0"
    if axis is not None and is_moving:
        words = [c_number(word) for word in axis.get("xyz").split()[:3]]
        length = math.hypot(*words) if len(words) == 3 else 1.0
        if abs(length - 1.0) > 0.01:
            yield "an axis is a direction of length 1; its length is not used", f"length {length:g}"


# --- Texts that PyBullet can load -----------------------------------------------------------------


class RobotText(Struct, frozen=True):
    """A robot description that PyBullet can load from anywhere."""

    format: str
    """``"urdf"`` or ``"sdf"``."""
    text: str
    """The text with absolute paths of its files, without elements whose files are not found."""
    mimic: dict[str, MimicRule]
    """Mimic rules by joint."""
    twists: dict[str, float]
    """Limits [rad] of the twist of spherical joints by joint; 0 if there is none, so that none
    acts."""
    links: tuple[str, ...]
    """Names of the links."""
    inertias: dict[str, StatedInertia] = msgspec_field(default_factory=dict)
    """Inertias that a URDF states, by link."""
    joint_count: int = 0
    """Number of joints of a URDF, fixed ones included."""
    meshes: dict[str, MeshFile | ObjText] = msgspec_field(default_factory=dict)
    """Meshes of formats that PyBullet does not read, and of files that name others, by their name
    in the text."""

    def write(self, path: Path) -> None:
        """Write the text, and beside it the meshes made for it."""
        text = self.text
        for name, mesh in self.meshes.items():
            made = path.parent / name
            if isinstance(mesh, ObjText):
                made = mesh.write(made.with_suffix(""))
            else:
                write_obj(mesh, made)
            text = text.replace(name, escaped(made.as_posix()))
        path.write_text(text, encoding="utf-8")


def read_robot_text(
    path: str | os.PathLike[str], diagnostics: Diagnostics, folders: RobotFolders | None = None
) -> RobotText:
    """Read a description; what PyBullet ignores or misreads, and missing files, are reported.

    Args:
        path: The file.
        diagnostics: Receives the findings.
        folders: Folders in which it may name files; ``None``: its own and packages.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is neither format, or nothing that PyBullet can be given.
    """
    file = Path(path).absolute()
    root, kind = parse_robot(file, diagnostics)
    findings = Diagnostics()
    check_robot(root, kind, findings)
    if findings.refuses:
        diagnostics.extend(findings.issues)
        raise ContainerError(str(path), diagnostics.issues)
    meshes: dict[str, MeshFile | ObjText] = {}
    if kind == "urdf":
        repair_limits(root)
    for element in root.all_below():
        if kind == "sdf" and element.tag == "static" and element.text.lower() == "true":
            element.text = "1"  # PyBullet reads a number.
    _name_files(root, kind, folders or RobotFolders(file), meshes, diagnostics)
    report_ignored(root, kind, diagnostics)
    report_misread(root, kind, diagnostics)
    if kind == "urdf":
        report_slips(root, diagnostics)
    return RobotText(
        kind,
        written(root),
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


def _name_files(
    root: XmlElement,
    kind: str,
    folders: RobotFolders,
    meshes: dict[str, MeshFile | ObjText],
    diagnostics: Diagnostics,
) -> None:
    """Give files their absolute paths, and leave out parts whose file is missing."""
    missing: dict[tuple[str, str], list[XmlElement]] = {}
    converted: dict[tuple[str, str], list[XmlElement]] = {}
    stand_ins: dict[Path, str] = {}
    read = [element for _, element in read_elements(root, kind)]
    known = set(map(id, read))
    for element in root.all_below():
        # What is not read by name here must not be read by an engine either.
        if _file_of(element) and id(element) not in known:
            element.is_left_out = True
    for element in read:
        name = _file_of(element)
        if not name:
            continue
        found = folders.find(name)
        part, link = (_above(element, tags) for tags in (("visual", "collision"), ("link",)))
        if found is None:
            part.is_left_out = True
            missing.setdefault((link.name, name), []).append(part)
        elif found.stat().st_size > MESH_FILE_BYTES:
            diagnostics.report(
                ROBOT_FILE_UNREADABLE, ROOT, owner=f"link {link.name!r}", got=repr(name[:120]),
                where=places([part]), what=part.tag,
                why=f"it has more than {MESH_FILE_BYTES} bytes",
            )  # fmt: skip
            part.is_left_out = True
        elif _above(element, ("mesh",)).tag != "mesh" or (
            _is_known(found) and not names_libraries(found)
        ):
            _set_file(element, found.as_posix())
        else:
            if found not in stand_ins and (
                made := _read(found, name, link, part, folders, diagnostics)
            ):
                stand_ins[found] = f"gltf_bullet_mesh_{len(meshes)}.obj"
                meshes[stand_ins[found]] = made
            if found in stand_ins:
                _set_file(element, stand_ins[found])
                if not _is_known(found):
                    converted.setdefault((link.name, name), []).append(part)
            else:
                part.is_left_out = True
    lost = [
        NamedFile(
            owner=f"link {link_name!r}", name=name, where=places(parts),
            what=" and ".join(dict.fromkeys(part.tag for part in parts)),
        )
        for (link_name, name), parts in missing.items()
    ]  # fmt: skip
    report_files(lost, folders, diagnostics)
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
) -> MeshFile | ObjText | None:
    """A mesh that an engine cannot be given as it is; ``None`` if a finding was reported."""
    try:
        if not _is_known(file):
            return read_mesh_file(str(file), folders.holds)
        text, refused = read_obj_text(file, folders.holds)
        lost = [
            NamedFile(
                owner=f"{name[:120]!r} of link {link.name!r}", name=str(file.parent / other),
                where=places([part]), what="material",
            )
            for other in refused
        ]  # fmt: skip
        report_files(lost, folders, diagnostics)
        return text
    except (OSError, ValueError, ImportError) as error:
        diagnostics.report(
            ROBOT_FILE_UNREADABLE, ROOT, owner=f"link {link.name!r}", got=repr(name[:120]),
            where=places([part]), why=str(error)[:120], what=part.tag,
        )  # fmt: skip
        return None


def _is_known(file: Path) -> bool:
    """Return True if PyBullet reads such files; it refuses robots with others (measured)."""
    return file.suffix.lower() in (".obj", ".stl", ".dae", ".vtk", ".cdf")


def _file_of(element: XmlElement) -> str:
    """The file that an element names; empty: none."""
    return element.get("filename") or (element.text if element.tag == "uri" else "")


def _set_file(element: XmlElement, name: str) -> None:
    if element.get("filename"):
        element.attributes["filename"] = name
    else:
        element.text = name


def _above(element: XmlElement, tags: tuple[str, ...]) -> XmlElement:
    """The innermost element of a kind around another; PyBullet reads files nowhere else."""
    found = element
    while found.tag not in tags and found.parent is not None:
        found = found.parent
    return found


def _mimic_rules(robot: XmlElement, diagnostics: Diagnostics) -> Iterator[tuple[str, MimicRule]]:
    """Mimic rules by joint."""
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
    """Largest twists of spherical joints, the only joints for which PyBullet uses them."""
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
