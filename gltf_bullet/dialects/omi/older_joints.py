"""The first form of OMI_physics_joint, rewritten to the present one before a file is read.

There a joint node stands anywhere: it lists its ``constraints`` and names the bodies ``nodeA`` and
``nodeB``, which it holds together in its own frame. The present form wants one frame on each body,
so nodes are added at the end of the list where the joint node hangs on neither. The schema of the
root still requires ``constraints``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.dialects.joints import JOINT_LEFT_OUT
from gltf_bullet.dialects.parts import node_extension_pointer
from gltf_bullet.dialects.reading import AS_EMPTY, require
from gltf_bullet.gltf.fields import JsonObject, Reader
from gltf_bullet.transforms import FloatArray, matrices_from_trs

JOINT_IN_FIRST_FORM = warning(
    "JOINT_IN_FIRST_FORM",
    "constraints, nodeA and nodeB are the first form of OMI_physics_joint; should be joint and "
    "connectedNode; it is read with a frame on each body where the joint node stands",
)

_EXTENSION: Final = "OMI_physics_joint"
_BODY: Final = "OMI_physics_body"
_CONSTRAINTS: Final = "constraints"
_ENDS: Final = ("nodeA", "nodeB")
_PRESENT_KEYS: Final = {"lowerLimit": "min", "upperLimit": "max"}


def with_present_joints(root: JsonObject, diagnostics: Diagnostics) -> JsonObject:
    """The root of a file with its joints in the present form; itself where there is no other."""
    table = _object(root, "extensions", _EXTENSION)
    nodes = root.get("nodes")
    if not isinstance(nodes, list) or _CONSTRAINTS not in table:
        return root
    older = [
        index
        for index, node in enumerate(nodes)
        if isinstance(node, dict) and _CONSTRAINTS in _object(node, "extensions", _EXTENSION)
    ]
    file = _File(nodes=list(nodes))
    reader = Reader(table, ROOT / "extensions" / _EXTENSION, diagnostics)
    limits = [_limit(entry.json) for entry in reader.entries(_CONSTRAINTS, instead=AS_EMPTY)]
    present = table.get("physicsJoints")
    joints: list[Any] = list(present) if isinstance(present, list) else []
    for index in older:
        parts = _read_parts(nodes[index], index, len(limits), len(nodes), diagnostics)
        file.set_joint(index, None)
        if parts is None:
            continue
        numbers, (a, b), rest = parts
        a, b = file.end_on(a, index, "nodeA"), file.end_on(b, index, "nodeB")
        file.set_joint(a, {**rest, "joint": len(joints), "connectedNode": b})
        joints.append({"limits": [limits[number] for number in numbers]})
    kept = {key: value for key, value in table.items() if key != _CONSTRAINTS}
    extensions = dict(_object(root, "extensions"))
    extensions[_EXTENSION] = {**kept, "physicsJoints": joints}
    return {**root, "nodes": file.nodes, "extensions": extensions}


def _read_parts(
    node: JsonObject, index: int, limit_count: int, node_count: int, diagnostics: Diagnostics
) -> tuple[tuple[int, ...], tuple[int, int], JsonObject] | None:
    """The limits of a joint, its bodies, and what it says besides."""
    at = node_extension_pointer(index, _EXTENSION)
    joint = Reader(_object(node, "extensions", _EXTENSION), at, diagnostics)
    joint.report(JOINT_IN_FIRST_FORM)
    numbers = joint.indices(_CONSTRAINTS, count=limit_count, instead="it is left out", refers=True)
    ends = []
    for key in _ENDS:
        require(joint, key, "the index of a node", instead=JOINT_LEFT_OUT)
        end = joint.index(key, count=node_count, instead=JOINT_LEFT_OUT, refers=True)
        if end is not None:
            ends.append(end)
    if len(ends) < len(_ENDS):
        return None
    rest = {key: value for key, value in joint.json.items() if key not in (_CONSTRAINTS, *_ENDS)}
    return numbers or (), (ends[0], ends[1]), rest


def _limit(constraint: JsonObject) -> JsonObject:
    """A constraint as a limit; the first form's defaults: 0, and 1 for a spring's damping."""
    named = {_PRESENT_KEYS.get(key, key): value for key, value in constraint.items()}
    damping = {"damping": 1.0} if "stiffness" in named else {}
    return {"min": 0.0, "max": 0.0, **damping, **named}


@dataclass(slots=True, kw_only=True)
class _File:
    """The nodes of a file that is being changed; what is changed is copied."""

    nodes: list[Any]
    parents: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.parents = {
            child: index
            for index, node in enumerate(self.nodes)
            if isinstance(node, dict) and isinstance(node.get("children"), list)
            for child in node["children"]
            if isinstance(child, int)
        }

    def set_joint(self, index: int, joint: JsonObject | None) -> None:
        """Give a node a joint in the place of the one that it may have."""
        node = self.nodes[index]
        others = {k: v for k, v in _object(node, "extensions").items() if k != _EXTENSION}
        extensions = others if joint is None else {**others, _EXTENSION: joint}
        rest = {key: value for key, value in node.items() if key != "extensions"}
        self.nodes[index] = {**rest, "extensions": extensions} if extensions else rest

    def end_on(self, body: int, joint: int, key: str) -> int:
        """The node that stands on ``body`` where the joint node does; itself if it hangs there."""
        if body == next(self._bodies_above(joint), None):
            return joint
        owner = self.nodes[body]
        if not isinstance(owner, dict):
            return body  # reported when the nodes are read
        matrix = np.linalg.pinv(self._world(body)) @ self._world(joint)
        matrix[3] = (0.0, 0.0, 0.0, 1.0)
        number = len(self.nodes)
        name = self.nodes[joint].get("name")
        # glTF stores columns first.
        end = {"name": f"{name or 'joint'} ({key})", "matrix": matrix.T.ravel().tolist()}
        children = owner.get("children")
        children = list(children) if isinstance(children, list) else []
        self.nodes[body] = {**owner, "children": [*children, number]}
        self.nodes.append(end)
        self.parents[number] = body
        return number

    def _bodies_above(self, index: int) -> Iterator[int]:
        return (
            node for node in self._upwards(index) if _object(self.nodes[node], "extensions", _BODY)
        )

    def _upwards(self, index: int) -> Iterator[int]:
        """A node and those above it; a circle, which is refused later, is gone round once."""
        seen: set[int] = set()
        while index not in seen:
            seen.add(index)
            yield index
            index = self.parents.get(index, index)

    def _world(self, index: int) -> FloatArray:
        matrix = np.eye(4)
        for node in self._upwards(index):
            matrix = _local(self.nodes[node]) @ matrix
        return matrix


def _local(node: JsonObject) -> FloatArray:
    """Transform of a node; what is wrong in it counts as absent and is reported later."""
    if "matrix" in node:
        return _numbers(node, "matrix", np.eye(4).ravel()).reshape(4, 4).T
    rotation = _numbers(node, "rotation", np.array([0.0, 0.0, 0.0, 1.0]))
    length = float(np.linalg.norm(rotation))
    return matrices_from_trs(
        _numbers(node, "translation", np.zeros(3)),
        rotation / length if length > 0.0 else np.array([0.0, 0.0, 0.0, 1.0]),
        _numbers(node, "scale", np.ones(3)),
    )


def _numbers(node: JsonObject, key: str, default: FloatArray) -> FloatArray:
    value = node.get(key)
    if not isinstance(value, list) or not all(
        isinstance(number, (int, float)) and abs(number) < 1e30 for number in value
    ):
        return default
    return np.array(value, dtype=float) if len(value) == len(default) else default


def _object(owner: object, *keys: str) -> JsonObject:
    """The object below ``owner`` that the keys lead to; empty where there is none."""
    for key in keys:
        owner = owner.get(key) if isinstance(owner, dict) else None
    return owner if isinstance(owner, dict) else {}
