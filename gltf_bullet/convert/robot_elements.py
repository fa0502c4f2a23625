"""What PyBullet reads of robots, and by that what it passes over: measured with PyBullet 3.2.7.

Each element was put into a small robot, alone; what changed nothing that PyBullet tells is not in
these tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gltf_bullet.convert.issues import ROBOT_ELEMENT_IGNORED
from gltf_bullet.convert.robot_xml import XmlElement, places
from gltf_bullet.diagnostics import ROOT, Diagnostics

__all__ = ["CONTACT_VALUES", "read_elements", "report_ignored"]

CONTACT_VALUES: Final = (
    "lateral_friction", "rolling_friction", "spinning_friction", "restitution", "inertia_scaling",
    "stiffness", "damping",
)  # fmt: skip
"""PyBullet's own element, in URDF by attributes and in SDF as text."""
_POSE_TEXT: Final = {"pose": "|"}
_LIMIT_TEXTS: Final = dict.fromkeys(("lower", "upper", "effort", "velocity"), "|")
_SIZE_TEXTS: Final = dict.fromkeys(("size", "radius", "length", "normal", "uri", "scale"), "|")
_INERTIA_TEXTS: Final = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "|")

_READ: Final[dict[str, dict[str, str]]] = {
    "urdf": {
        "robot": "name version|link joint material",
        "link": "name|inertial visual collision contact",
        "inertial": "|origin mass inertia",
        "origin": "xyz rpy|",
        "mass": "value|",
        "inertia": "ixx ixy ixz iyy iyz izz|",
        "visual": "name|origin geometry material",
        "collision": "name group mask concave|origin geometry verbose",
        "verbose": "value|",
        "geometry": "|box sphere cylinder capsule plane mesh cdf",
        "box": "size|",
        "sphere": "radius|",
        "cylinder": "radius length|",
        "capsule": "radius length|",
        "plane": "normal|",
        "mesh": "filename scale|",
        "cdf": "filename|",
        "material": "name|color specular",
        "color": "rgba|",
        "specular": "rgb|",
        "contact": f"|{' '.join(CONTACT_VALUES)}",
        **dict.fromkeys(CONTACT_VALUES, "value|"),
        "joint": "name type|origin parent child axis limit dynamics mimic",
        "parent": "link|",
        "child": "link|",
        "axis": "xyz|",
        # Twists and mimic rules are read by ourselves.
        "limit": "lower upper effort velocity twist|",
        "dynamics": "damping friction|",
        "mimic": "joint multiplier offset|",
    },
    "sdf": {
        "sdf": "version|world model",
        "world": "name|model",
        "model": "name|pose static link joint",
        "static": "|",
        "link": "name|pose inertial collision visual contact",
        "inertial": "|pose mass inertia",
        "mass": "|",
        "inertia": "|ixx ixy ixz iyy iyz izz",
        "collision": "name|pose geometry",
        "visual": "name|pose geometry material",
        "geometry": "|box sphere cylinder capsule plane mesh",
        "box": "|size",
        "sphere": "|radius",
        "cylinder": "|radius length",
        "capsule": "|radius length",
        "plane": "|normal",
        "mesh": "|uri scale",
        "material": "|diffuse specular",
        "diffuse": "|",
        "specular": "|",
        "contact": f"|{' '.join(CONTACT_VALUES)}",
        **dict.fromkeys(CONTACT_VALUES, "|"),
        "joint": "name type|parent child axis",
        "parent": "|",
        "child": "|",
        "axis": "|xyz limit dynamics",
        "xyz": "|",
        "limit": "|lower upper effort velocity",
        "dynamics": "|damping friction",
        "friction": "|",
        **_POSE_TEXT,
        **_LIMIT_TEXTS,
        **_SIZE_TEXTS,
        **_INERTIA_TEXTS,
    },
}
"""Per format and element (``parent/element`` where that matters): attributes | elements."""


def read_elements(root: XmlElement, kind: str) -> Iterator[tuple[str, XmlElement]]:
    """What PyBullet reads, in the order of the file, each with its key in the table."""
    table = _READ[kind]
    waiting = [root]
    while waiting:
        element = waiting.pop()
        within = "" if element.parent is None else f"{element.parent.tag}/{element.tag}"
        key = within if within in table else element.tag
        yield key, element
        known = table[key].partition("|")[2].split()
        waiting += reversed([child for child in element.children if child.tag in known])


def report_ignored(root: XmlElement, kind: str, diagnostics: Diagnostics) -> None:
    """Name each kind of element and attribute that PyBullet passes over, once."""
    elements: dict[tuple[str, str], list[XmlElement]] = {}
    attributes: dict[str, dict[str, list[XmlElement]]] = {}
    for key, element in read_elements(root, kind):
        known_attributes, known = (part.split() for part in _READ[kind][key].split("|"))
        for name in element.attributes:
            if name not in known_attributes and not name.startswith("xmlns"):
                attributes.setdefault(key, {}).setdefault(name, []).append(element)
        for child in element.children:
            if child.tag not in known:
                elements.setdefault((element.tag, child.tag), []).append(child)
    for (parent, tag), found in elements.items():
        times = f"{len(found)} x " if len(found) > 1 else ""
        what = f"{times}<{tag}> in <{parent}>"
        diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=what, where=places(found))
    for key, names in attributes.items():
        owner = " in ".join(f"<{tag}>" for tag in reversed(key.split("/")))
        owners = [element for found in names.values() for element in found]
        where = places(sorted(owners, key=lambda element: element.line))
        what = f"{', '.join(names)} of {owner}"
        diagnostics.report(ROBOT_ELEMENT_IGNORED, ROOT, what=what, where=where)
