"""Checks of robots before PyBullet loads them: it crashes on some mistakes and ignores others.

It takes words that are no numbers for 0, and vectors of a wrong length too; circles of joints and
links without a parent end in a segmentation fault (measured with PyBullet 3.2.7).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gltf_bullet.convert.issues import ROBOT_ELEMENT_IGNORED, ROBOT_INVALID
from gltf_bullet.convert.robot_xml import XmlElement, places
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.number_ranges import PLACE

# --- Elements and attributes that PyBullet reads; it ignores others: measured with PyBullet 3.2.7
#
# Each element was added to a small robot, alone; elements without effect on what PyBullet reports
# are not in these tables.

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
        # This package reads twists and mimic rules itself.
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
"""Attributes | elements, per format and element (``parent/element`` where that matters)."""


def read_elements(root: XmlElement, kind: str) -> Iterator[tuple[str, XmlElement]]:
    """The elements that PyBullet reads, in the file's order, each with its key in ``_READ``."""
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
    """Report each kind of element and attribute that PyBullet ignores, once."""
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


# --- Numbers, types and names that robots must have -----------------------------------------------

_ATTRIBUTES: Final[dict[str, dict[str, str]]] = {
    "urdf": {
        "origin": "xyz:3@ rpy:3",
        "mass": "value:1+",
        "inertia": "ixx:1 ixy:1 ixz:1 iyy:1 iyz:1 izz:1",
        "box": "size:3+@",
        "sphere": "radius:1+@",
        "cylinder": "radius:1+@ length:1+@",
        "capsule": "radius:1+@ length:1+@",
        "plane": "normal:3!",
        "mesh": "scale:1@",
        "color": "rgba:4",
        "axis": "xyz:3",
        "limit": "lower:1~ upper:1~ effort:1~ velocity:1 twist:1~",
        "dynamics": "damping:1 friction:1",
        "mimic": "multiplier:1 offset:1",
        **dict.fromkeys(CONTACT_VALUES, "value:1"),
    },
    "sdf": {},
}  # fmt: skip
"""Least count of numbers per element and attribute; + not negative, ! not all 0, ~ may be infinite,
@ is a place or a size."""

_TEXTS: Final = {
    "pose": "6@", "mass": "1+", "ixx": "1", "ixy": "1", "ixz": "1", "iyy": "1", "iyz": "1",
    "izz": "1", "radius": "1+@", "length": "1+@", "size": "3+@", "normal": "3!", "scale": "1@",
    "xyz": "3", "lower": "1~", "upper": "1~", "effort": "1~", "velocity": "1", "friction": "1",
    "diffuse": "4", **dict.fromkeys(CONTACT_VALUES, "1"),
}  # fmt: skip
"""Rules for the elements of SDF, which hold their numbers as text."""

_NUMBER: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf)", re.IGNORECASE)
_JOINT_TYPES: Final = (
    "revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical",
)  # fmt: skip
_TYPES_WITH_AXIS: Final = ("revolute", "continuous", "prismatic", "planar")


def check_robot(root: XmlElement, kind: str, diagnostics: Diagnostics) -> None:
    """Report values that PyBullet would misread silently, or that would crash it."""
    for key, element in read_elements(root, kind):
        for row in _ATTRIBUTES[kind].get(key, "").split():
            name, _, rule = row.partition(":")
            if name in element.attributes:
                what = f"{name} of <{element.tag}>"
                _check_numbers(element, what, element.get(name), rule, diagnostics)
        if kind == "sdf" and key in _TEXTS:
            _check_numbers(element, f"<{key}>", element.text, _TEXTS[key], diagnostics)
    if kind == "urdf":
        _check_tree(root, "robot", _urdf_joints(root), diagnostics)
    else:
        for world in root.named("world")[:1] or [root]:
            for model in world.named("model"):
                _check_tree(model, f"model {model.name!r}", _sdf_joints(model), diagnostics)


def _check_numbers(
    element: XmlElement, what: str, text: str, rule: str, diagnostics: Diagnostics
) -> None:
    if "$(" in text:
        return  # reported as misread: PyBullet takes the numbers that it finds
    count = int(rule[0])
    finite = "" if "~" in rule else "finite "
    allowed = f"a {finite}number" if count == 1 else f"{count} {finite}numbers"
    numbers = [c_number(word) for word in text.split()]
    is_good = len(numbers) >= count and not any(map(math.isnan, numbers))
    if finite:
        is_good = is_good and all(map(math.isfinite, numbers))
    if "+" in rule:
        allowed += ", not negative"
        is_good = is_good and all(number >= 0.0 for number in numbers)
    if "@" in rule:
        allowed += f", at most {PLACE:g} in magnitude"
        is_good = is_good and all(abs(number) <= PLACE for number in numbers)
    is_axis = element.tag in ("axis", "joint", "xyz") and count == 3 and not what.startswith("pos")
    if "!" in rule or (is_axis and _joint_type(element) in _TYPES_WITH_AXIS):
        allowed += ", not all 0"
        is_good = is_good and any(numbers)
    if not is_good:
        _report(diagnostics, [element], f"{what} is {text[:60]!r}", allowed)


def c_number(word: str) -> float:
    """A number as C reads it, ignoring what follows ("0.5," and "1.57." are in use), or NaN."""
    found = _NUMBER.match(word)
    return math.nan if found is None else float(found[0])


def _joint_type(element: XmlElement) -> str:
    """Type of the joint that an axis belongs to."""
    joint: XmlElement | None = element
    while joint is not None and joint.tag != "joint":
        joint = joint.parent
    return "" if joint is None else joint.get("type")


def _report(
    diagnostics: Diagnostics, elements: Sequence[XmlElement], got: str, allowed: str
) -> None:
    diagnostics.report(ROBOT_INVALID, ROOT, where=places(elements), got=got, allowed=allowed)


Joint = tuple[XmlElement, str, str]
"""A joint with the names of its parent and child link."""


def _urdf_joints(robot: XmlElement) -> list[Joint]:
    found = []
    for joint in robot.named("joint"):
        parent, child = joint.first("parent"), joint.first("child")
        if parent is not None and child is not None:  # else PyBullet refuses it with a reason
            found.append((joint, parent.get("link"), child.get("link")))
    return found


def _sdf_joints(model: XmlElement) -> list[Joint]:
    found = []
    for joint in model.named("joint"):
        parent, child = joint.first("parent"), joint.first("child")
        if parent is not None and child is not None:
            found.append((joint, parent.text, child.text))
    return found


def _check_tree(
    owner: XmlElement, shown: str, joints: Sequence[Joint], diagnostics: Diagnostics
) -> None:
    """Check that links and joints of a robot or model form one tree."""
    links = owner.named("link")
    _check_names(links, "links", f"a name that no other link of the {shown} has", diagnostics)
    _check_names(
        (joint for joint, _, _ in joints), "joints",
        f"a name that no other joint of the {shown} has", diagnostics,
    )  # fmt: skip
    for joint in owner.named("joint"):
        if joint.get("type") not in _JOINT_TYPES:
            got = f"joint {joint.name!r} is of type {joint.get('type')!r}"
            _report(diagnostics, [joint], got, f"one of {', '.join(_JOINT_TYPES)}")
    names = {link.name for link in links}
    above: dict[str, tuple[XmlElement, str]] = {}
    is_whole = True
    for joint, parent, child in joints:
        for name in (parent, child):
            if name not in names:
                got = f"joint {joint.name!r} names the link {name!r}"
                _report(diagnostics, [joint], got, f"the name of a link of the {shown}")
                is_whole = False
        if child in above:
            got = f"link {child!r} is the child of {above[child][0].name!r} and of {joint.name!r}"
            _report(diagnostics, [above[child][0], joint], got, "the child of one joint")
            is_whole = False
        above[child] = joint, parent
    if not (is_whole and links):
        return
    circling = _circle(above)
    if circling:
        joint = above[circling[0]][0]
        got = f"the links {', '.join(map(repr, circling[:5]))} hang on each other in a circle"
        _report(diagnostics, [joint], got, "a tree")
        return
    roots = [link for link in links if link.name not in above]
    if len(roots) > 1:
        got = f"{len(roots)} links hang on no other: {', '.join(repr(r.name) for r in roots[:5])}"
        _report(diagnostics, roots, got, f"one in a {shown.partition(' ')[0]}, its base")


def _circle(above: dict[str, tuple[XmlElement, str]]) -> list[str]:
    """Links of a cycle; empty if there is none."""
    done: set[str] = set()
    for start in above:
        way: dict[str, None] = {}
        link = start
        while link in above and link not in done:
            if link in way:
                members = list(way)
                return members[members.index(link) :]
            way[link] = None
            link = above[link][1]
        done.update(way)
    return []


def _check_names(
    elements: Iterable[XmlElement], what: str, allowed: str, diagnostics: Diagnostics
) -> None:
    by_name: dict[str, list[XmlElement]] = {}
    for element in elements:
        if element.name:
            by_name.setdefault(element.name, []).append(element)
    for name, same in by_name.items():
        if len(same) > 1:
            _report(diagnostics, same, f"{len(same)} {what} are called {name!r}", allowed)
