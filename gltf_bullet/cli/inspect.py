"""``gltf-bullet inspect``: the content of a file and its plan for the engine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gltf_bullet.cli.loading import Loading, takes_loading

if TYPE_CHECKING:
    from rich.console import Console

    from gltf_bullet.runtime.inspect.inspection import Inspection

__all__ = ["inspect"]


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
    from gltf_bullet.cli.joint_tree import joint_tree
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
                m["material"],
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
                f["filter"],
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
    # Parents may stand after their children in the file.
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


def _list(values: list[Any]) -> str:
    shown = ", ".join(map(str, values[:12]))
    return shown + (f", ... ({len(values)})" if len(values) > 12 else "")
