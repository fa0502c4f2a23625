"""The joints of ``gltf-bullet inspect`` as a tree: bodies below the bodies that carry them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from rich.tree import Tree

from gltf_bullet.cli.output import plain

__all__ = ["joint_tree"]


def joint_tree(joints: Sequence[dict[str, Any]]) -> Tree:
    """Draw rows of :func:`~gltf_bullet.runtime.inspect.joints.describe_joints`.

    One branch per articulation and root; joints that close loops stand after the trees.
    """
    root = Tree(plain("Joints", "bold"))
    loop_constraints = [joint for joint in joints if joint["closed_by"]]
    children: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for joint in joints:
        if not joint["closed_by"]:
            children.setdefault(_key(joint, "parent"), []).append(joint)
    carried = {_key(joint, "child") for joint in joints if not joint["closed_by"]}
    stack = []
    for key, below in children.items():
        if key not in carried:
            name = _end(below[0]["parent"], root=True)
            branch = root.add(plain(f"articulation {key[0]}: {name}", "cyan"))
            stack += [(branch, joint) for joint in reversed(below)]
            while stack:
                above, joint = stack.pop()
                text = f"{_end(joint['child'])} by joint {joint['node']} {joint['name']}"
                node = above.add(_label(text, joint))
                _add_axes(node, joint)
                deeper = children.get(_key(joint, "child"), [])
                stack += [(node, next_joint) for next_joint in reversed(deeper)]
    if loop_constraints:
        branch = root.add(plain("loop constraints (joints outside of the trees)", "cyan"))
        for joint in loop_constraints:
            text = (
                f"joint {joint['node']} {joint['name']} ({joint['closed_by']}) between "
                f"{_end(joint['parent'])} and {_end(joint['child'])}"
            )
            _add_axes(branch.add(_label(text, joint)), joint)
    return root


def _key(joint: dict[str, Any], side: str) -> tuple[Any, ...]:
    end = joint[side]
    return joint["articulation"], end["body"], end["anchor"]


def _end(end: dict[str, Any], *, root: bool = False) -> str:
    if end["body"] is None:
        return str(end["name"]) if end["anchor"] is None else f"node {end['anchor']} {end['name']}"
    what = f"link {end['link']}" if end["link"] >= 0 else "free base" if root else "base"
    # Only what is too large for one multibody has several.
    where = f" of multibody {end['multibody']}" if end["multibody"] else ""
    return f"body {end['body']} {end['name']} ({what}{where})"


def _label(text: str, joint: dict[str, Any]) -> Text:
    return plain(text + (", collides with it" if joint["enable_collision"] else ""))


def _add_axes(node: Tree, joint: dict[str, Any]) -> None:
    for dof in joint["dofs"]:
        node.add(plain(_dof_line(dof), "dim"))
    for limit in joint["limits"]:
        node.add(plain(_limit_line(limit), "dim"))
    if not joint["dofs"] and not joint["limits"]:
        node.add(plain("no degree of freedom", "dim"))


def _dof_line(dof: dict[str, Any]) -> str:
    line = f"link {dof['link']}: {dof['kind']} {dof['axis']}"
    if dof["kind"] != "ball":
        line += f", {_range(dof)}"
    for drive in dof["drives"]:
        about = f" about {drive['axis']}" if dof["kind"] == "ball" else ""
        line += (
            f", drive ({drive['mode']}){about} to {drive['position_target']:g} with stiffness "
            f"{drive['stiffness']:g}, to {drive['velocity_target']:g}/s with damping "
            f"{drive['damping']:g}"
        )
        if drive["max_force"] is not None:
            line += f", at most {drive['max_force']:g}"
    return line


def _limit_line(limit: dict[str, Any]) -> str:
    line = f"limit: {limit['kind']} {limit['axes']}, {_range(limit)}"
    if limit["stiffness"] is not None:
        line += f", soft with stiffness {limit['stiffness']:g}, damping {limit['damping']:g}"
    return line


def _range(entry: dict[str, Any]) -> str:
    low = "-inf" if entry["lower"] is None else f"{entry['lower']:.4g}"
    high = "inf" if entry["upper"] is None else f"{entry['upper']:.4g}"
    return f"{low} .. {high} {entry['unit']}"
