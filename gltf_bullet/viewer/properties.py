"""What there is to say about one node of a scene, as it is now: for viewers that show text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gltf_bullet.transforms import decompose_trs

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

__all__ = ["node_properties"]


def node_properties(scene: Scene, node: int) -> tuple[tuple[str, str], ...]:
    """Names and values with units; only what applies.

    Args:
        scene: Whose.
        node: Index of the glTF node.

    Raises:
        SceneRemovedError: The scene was removed.
    """
    tree = scene.asset.tree
    position, rotation, scale = decompose_trs(scene.world_from_node(node))
    rows = [("node", f"{node} {tree.names[node]}".strip())]
    parent = int(tree.parents[node])
    if parent >= 0:
        rows.append(("parent", f"{parent} {tree.names[parent]}".strip()))
    rows += [("position", f"{_vector(position)} m"), ("rotation xyzw", _vector(rotation))]
    if not np.allclose(scale, 1.0):
        rows.append(("scale", _vector(scale)))
    rows += _body_rows(scene, node)
    if node in scene.joints:
        rows += _joint_rows(scene, node)
    if node in scene.triggers:
        inside = scene.triggers[node].overlapping
        names = ", ".join(tree.names[k] or str(k) for k in inside)
        rows.append(("trigger: inside now", names or "nobody"))
    own = f"/nodes/{node}"
    for issue in scene.issues:
        if f"{issue.pointer}/".startswith(f"{own}/"):
            rows.append((f"issue {issue.code}", issue.message))
    return tuple(rows)


def _body_rows(scene: Scene, node: int) -> list[tuple[str, str]]:
    body = scene.body_of(node)
    if body is None:
        return [("body", "none: static")]
    rows = [("body", f"{body.node} {body.name}, {body.kind.value}")]
    plan = scene.core.world.plan.bodies.bodies[body.node]
    rows.append(("mass", f"{body.mass:.6g} kg"))
    rows.append(("principal moments", f"{_vector(plan.inertia_diagonal)} kg m2"))
    rows.append(("centre of mass", f"{_vector(body.center_of_mass)} m"))
    rows.append(("velocity", f"{_vector(body.linear_velocity)} m/s"))
    rows.append(("spin", f"{_vector(body.angular_velocity)} rad/s"))
    return rows


def _joint_rows(scene: Scene, node: int) -> list[tuple[str, str]]:
    joint = scene.joints[node]
    rows = []
    for dof in joint.degrees_of_freedom:
        unit = "m" if dof.kind.value == "linear" else "rad"
        axis = "ball" if dof.axis == 3 else f"{dof.kind.value} {'xyz'[dof.axis]}"
        values = np.atleast_1d(np.asarray(dof.position))
        rows.append((f"joint {axis}", f"{_vector(values)} {unit}"))
    for limit in joint.limits:
        axes = "".join("xyz"[axis] for axis in limit.axes)
        text = f"{limit.minimum:.4g} .. {limit.maximum:.4g}"
        rows.append((f"limit {limit.kind.value} {axes}", text))
    for drive in joint.drives:
        text = f"stiffness {drive.stiffness:.4g}, damping {drive.damping:.4g}"
        rows.append((f"drive {drive.kind.value} {'xyz'[drive.axis]}", text))
    return rows


def _vector(values: Iterable[float]) -> str:
    return " ".join(f"{round(float(value), 4) + 0.0:.4g}" for value in values)
