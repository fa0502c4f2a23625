"""What PyBullet reads of robots and takes for something else than their formats mean by it.

Measured with PyBullet 3.2.7, by loading small robots with and without each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gltf_bullet.convert.issues import ROBOT_ELEMENT_IGNORED, ROBOT_MISREAD
from gltf_bullet.convert.robot_xml import XmlElement, places
from gltf_bullet.diagnostics import ROOT, Diagnostics

__all__ = ["default_limited", "report_misread"]

_GEOM_TYPES: Final = ("sphere", "capsule", "cylinder", "box", "plane", "mesh")


def report_misread(root: XmlElement, kind: str, diagnostics: Diagnostics) -> None:
    """Name what becomes something else, and what is dropped for what it says."""
    readers = {"urdf": _of_urdf, "sdf": _of_sdf, "mjcf": _of_mjcf}
    for elements, what, taken in readers[kind](root):
        if not elements:
            continue
        shown = what if isinstance(what, str) else what(elements)
        where = places(elements)
        if taken:
            diagnostics.report(ROBOT_MISREAD, ROOT, what=shown, where=where, taken=taken)
        else:
            diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=shown, where=where)


def default_limited(root: XmlElement) -> str:
    """MJCF: what the only default of joints that PyBullet applies says, that of no class."""
    found = [joint for defaults in root.named("default") for joint in defaults.named("joint")]
    return next((joint.get("limited") for joint in reversed(found) if joint.get("limited")), "")


Finding = tuple[list[XmlElement], "str | Callable[[Sequence[XmlElement]], str]", str]
"""Elements, what they are, and what PyBullet takes them for; empty: nothing."""


def _counted(what: str) -> Callable[[Sequence[XmlElement]], str]:
    """How many there are, and what they are called."""

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
    yield massless, _counted("link without <inertial>"), "1 kg, moments of 1 kg m2"
    unresolved = [
        element
        for element in robot.all_below()
        if element.tag in ("origin", "axis")
        and any("$(" in attribute.value for attribute in element.attributes.values())
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


def _of_mjcf(root: XmlElement) -> Iterator[Finding]:
    worlds = root.named("worldbody")
    trees = [body for world in worlds for body in world.named("body")]
    bodies = [element for tree in trees for element in tree.all_below() if element.tag == "body"]
    geoms = [geom for place in (*worlds, *bodies) for geom in place.named("geom")]
    joints = [joint for body in bodies for joint in body.named("joint")]
    free = [body for body in trees if not (body.named("joint") or body.named("freejoint"))]
    yield free, _counted("body without joint"), "free to fall; MJCF means fixed to the world"
    yield from _of_joints(root, trees, joints)
    yield from _of_geoms(root, geoms)


def _of_joints(
    root: XmlElement, trees: Sequence[XmlElement], joints: Sequence[XmlElement]
) -> Iterator[Finding]:
    by_type: dict[str, list[XmlElement]] = {}
    names: dict[tuple[int, str], XmlElement] = {}
    repeated = []
    tree_of = {id(body): k for k, tree in enumerate(trees) for body in tree.all_below()}
    for joint in joints:
        kind = joint.get("type")
        if kind not in ("hinge", "slide", "fixed", "free"):
            by_type.setdefault(kind, []).append(joint)
        key = tree_of[id(joint)], joint.name
        if joint.name and names.setdefault(key, joint) is not joint:
            repeated.append(joint)
    for kind, found in by_type.items():
        yield found, _counted(f"joint of type {kind}" if kind else "joint that states no type"), ""
    yield repeated, _counted("joint of the same name as another"), ""
    moving = [joint for joint in joints if joint.get("type") in ("hinge", "slide")]
    without_axis = [joint for joint in moving if not joint.get("axis")]
    yield without_axis, _counted("joint without axis"), "one along X; MJCF means Z"
    limited = default_limited(root)
    ranged = [joint for joint in moving if joint.get("range")]
    free = [joint for joint in ranged if joint.get("limited", limited) != "true"]
    yield (
        [j for j in free if j.get("limited") != "false"],
        _counted("range without limited of joint"),
        "",
    )
    stated = any(compiler.get("angle") for compiler in root.named("compiler"))
    angles = [j for j in ranged if j not in free and j.get("type") == "hinge"] if not stated else []
    yield (
        angles,
        _counted("range of hinge"),
        "radians; MJCF means degrees where <compiler> states no angle",
    )


def _of_geoms(root: XmlElement, geoms: Sequence[XmlElement]) -> Iterator[Finding]:
    meshes = {mesh.name for asset in root.named("asset") for mesh in asset.named("mesh")} - {""}
    dropped: dict[str, list[XmlElement]] = {}
    for geom in geoms:
        kind = geom.get("type")
        sizes = len(geom.get("size").split())
        why = ""
        if not kind:
            why = "geom that states no type"
        elif kind not in _GEOM_TYPES:
            why = f"geom of type {kind}"
        elif kind == "mesh" and geom.get("mesh") not in meshes:
            why = "geom whose mesh no <mesh> has for its name"
        elif kind in ("capsule", "cylinder") and sizes < 2 and not geom.get("fromto"):
            why = f"{kind} of less than two sizes"
        elif kind == "box" and sizes < 3:
            why = "box of less than three sizes"
        if why:
            dropped.setdefault(why, []).append(geom)
    for why, found in dropped.items():
        yield found, _counted(why), ""
    boxes = [g for g in geoms if g.get("type") == "box" and g.get("fromto")]
    yield boxes, _counted("box with fromto"), "one that stands at its pos"
    rolling = [g for g in geoms if len(g.get("friction").split()) > 1]
    yield rolling, "friction of <geom>", "its first number"
