"""What PyBullet reads of robots and takes for something else than their formats mean by it.

Measured with PyBullet 3.2.7, by loading small robots with and without each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gltf_bullet.convert.issues import ROBOT_ELEMENT_IGNORED, ROBOT_MISREAD
from gltf_bullet.convert.robot_xml import XmlElement, places
from gltf_bullet.diagnostics import ROOT, Diagnostics

__all__ = ["report_misread"]


def report_misread(root: XmlElement, kind: str, diagnostics: Diagnostics) -> None:
    """Name what becomes something else, and what is dropped for what it says."""
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
