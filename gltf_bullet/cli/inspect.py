"""``gltf-bullet inspect``: the content of a file and its translation for the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from gltf_bullet.cli.loading import Loading, takes_loading
from gltf_bullet.cli.output import plain

if TYPE_CHECKING:
    from rich.console import Console

    from gltf_bullet.runtime.inspect.inspection import Inspection


@takes_loading
def inspect(
    file: Annotated[Path, typer.Argument(help="A .gltf or .glb file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    *,
    loading: Loading,
) -> None:
    """Show nodes, bodies, shapes, materials, joints, and what is exact or approximated.

    Example: gltf-bullet inspect examples/assets/hinge_door.gltf
    """
    from gltf_bullet.cli.output import console, issue_rows, print_json
    from gltf_bullet.runtime.content import read_usable
    from gltf_bullet.runtime.inspect.inspection import inspect_asset

    with loading.options() as options:
        found = inspect_asset(read_usable(file), options)
    if as_json:
        rows = {key: value for key, value in _tables(found).items() if key != "issues"}
        print_json({**rows, "issues": issue_rows(found.issues)})
    else:
        _print(console(), found)
    if any(issue.is_error for issue in found.issues):
        raise typer.Exit(1)


def _tables(found: Inspection) -> dict[str, Any]:
    return asdict(found)


def _print(out: Console, found: Inspection) -> None:
    from gltf_bullet.cli.output import print_issues, print_table, vector
    from gltf_bullet.model.properties import FILTER, MATERIAL

    _print_tree(out, found)
    print_table(
        out,
        "Bodies (kg, kg m2, m; in the body's own frame)",
        ("Node>", "Name", "Kind", "Mass>", "Inertia", "Centre of mass", "Colliders"),
        (
            (
                body["node"], body["name"], body["kind"], f"{body['mass']:.6g}",
                vector(body["inertia"]), vector(body["center_of_mass"]),
                "; ".join(f"{c['node']}: {c['shape']}" for c in body["colliders"]) or "none",
            )
            for body in found.bodies
        ),
    )  # fmt: skip
    print_table(
        out,
        "Static colliders",
        ("Node>", "Name", "Shape", "Position"),
        ((s["node"], s["name"], s["shape"], vector(s["position"])) for s in found.statics),
    )
    numbers = [entry for entry in MATERIAL if entry.title]
    modes = [entry for entry in MATERIAL if not entry.title]
    print_table(
        out,
        "Materials",
        ("Material", *(f"{entry.title}>" for entry in numbers), "Combine", "On nodes"),
        (
            (
                _of_table(m["material"]),
                *(f"{m[entry.field]:g}" for entry in numbers),
                " / ".join(m[entry.field] or "-" for entry in modes),
                _list(m["nodes"]),
            )
            for m in found.materials
        ),
    )
    print_table(
        out,
        "Collision filters",
        ("Filter", *(entry.title for entry in FILTER), "On nodes"),
        (
            (
                _of_table(f["filter"]),
                *("-" if f[e.field] is None else _list(f[e.field]) for e in FILTER),
                _list(f["nodes"]),
            )
            for f in found.filters
        ),
    )
    print_table(
        out,
        "Triggers",
        ("Node>", "Name", "Shape", "Parts"),
        ((t["node"], t["name"], t["shape"] or "compound", _list(t["parts"]))
         for t in found.triggers),
    )  # fmt: skip
    if found.joints:
        out.print(joint_tree(found.joints))
    if found.behavior:
        out.print("Behavior", style="bold")
        for line in found.behavior:
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    print_issues(out, found.issues)


def _print_tree(out: Console, found: Inspection) -> None:
    from rich.tree import Tree

    from gltf_bullet.cli.output import plain

    root = Tree(plain(f"{found.path}: {len(found.nodes)} nodes", "bold"))
    branches = {-1: root}
    # Parents may come after their children in the file.
    waiting = {row["node"]: row for row in found.nodes}
    children: dict[int, list[int]] = {}
    for row in found.nodes:
        children.setdefault(row["parent"], []).append(row["node"])
    stack = [(-1, node) for node in reversed(children.get(-1, []))]
    while stack:
        parent, node = stack.pop()
        row = waiting[node]
        label = plain(f"{node} {row['name']}")
        if row["roles"]:
            label.append(f"  [{', '.join(row['roles'])}]", "cyan")
        branches[node] = branches[parent].add(label)
        stack.extend((node, child) for child in reversed(children.get(node, [])))
    out.print(root)


def _of_table(pointer: str) -> str:
    """The end of a pointer into a table: ``physicsMaterials/0``."""
    return "/".join(pointer.split("/")[-2:])


def _list(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:12]))
    return shown + (f", ... ({len(values)})" if len(values) > 12 else "")


# --- The joints of ``gltf-bullet inspect`` as a tree, bodies below those they are joined to -------


def joint_tree(joints: Sequence[dict[str, Any]]) -> Tree:
    """A tree from rows of :func:`~gltf_bullet.runtime.inspect.joints.describe_joints`.

    It has one branch per articulation and root; joints that close loops come after the trees.
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
    # Only an articulation that is too large for one multibody has several.
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
