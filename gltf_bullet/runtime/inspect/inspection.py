"""Description of a file's planned bodies, joints and triggers as JSON-ready rows; no engine.

All lengths are in the asset's own frame (glTF axes), at scale 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from gltf_bullet.diagnostics import Diagnostics, Issue
from gltf_bullet.model import DEFAULT_MATERIAL, CollisionFilter, PhysicsMaterial
from gltf_bullet.model.properties import FILTER, MATERIAL, Properties
from gltf_bullet.options import LoadOptions, require_options
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.inspect.joints import describe_joints
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.translation import translate_at

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Tables of rows; every ``node`` is a glTF node index."""

    path: str
    nodes: list[Row]
    bodies: list[Row]
    statics: list[Row]
    materials: list[Row]
    filters: list[Row]
    triggers: list[Row]
    joints: list[Row]
    behavior: list[str]
    """The behavior graph as text; empty without one."""
    issues: tuple[Issue, ...]


def inspect_asset(asset: AssetContent, options: LoadOptions | None = None) -> Inspection:
    """Translate ``asset`` in its own frame, as loading does, and describe the plan."""
    tree = asset.tree
    translation = translate_at(asset, Placement.of(up_axis="y"), require_options(options))
    physics, plan = translation.physics(asset), translation.plan
    colliders = physics.colliders.values()
    return Inspection(
        path=asset.path,
        nodes=_nodes(asset, plan),
        bodies=[_body(body, asset) for body in plan.bodies.bodies.values()],
        statics=[
            {
                "node": static.node,
                "name": tree.names[static.node],
                "shape": describe_shape(static.shape.shape),
                "position": _numbers(static.world_from_collider.translation),
            }
            for static in plan.bodies.statics
        ],
        materials=[
            _material(material, [c.node for c in colliders if c.material == material])
            for material in dict.fromkeys(c.material for c in colliders)
        ],
        filters=[
            _filter(entry, [c.node for c in colliders if c.filter == entry])
            for entry in dict.fromkeys(c.filter for c in colliders if c.filter is not None)
        ],
        triggers=[
            {
                "node": trigger.node,
                "name": tree.names[trigger.node],
                "shape": "" if trigger.shape is None else type(trigger.shape).__name__.lower(),
                "parts": list(trigger.part_nodes),
            }
            for trigger in physics.triggers.values()
        ],
        joints=list(describe_joints(plan.articulations, tree.names)),
        behavior=_graph_lines(asset) if asset.acts else [],
        issues=(*asset.issues, *translation.issues, *asset.lacks),
    )


def _graph_lines(asset: AssetContent) -> list[str]:
    from gltf_bullet.behavior.graph_text import graph_lines
    from gltf_bullet.behavior.reading import read_graphs

    graph = read_graphs(asset.document.json, Diagnostics())
    return [] if graph is None else graph_lines(graph)


def describe_shape(shape: shape_plans.ShapePlan) -> str:
    """Return the engine's shape in a few words, sizes in metres."""
    match shape:
        case shape_plans.BoxPlan(half_extents=half):
            return "box " + " x ".join(f"{2.0 * h:.4g}" for h in half)
        case shape_plans.SpherePlan(radius=radius):
            return f"sphere r {radius:.4g}"
        case shape_plans.CapsulePlan(radius=radius, mid_height=height):
            return f"capsule r {radius:.4g}, mid height {height:.4g}"
        case shape_plans.CylinderPlan(radius=radius, height=height):
            return f"cylinder r {radius:.4g}, height {height:.4g}"
        case shape_plans.InfinitePlanePlan():
            return "half-space"
        case shape_plans.HullPlan(vertices=vertices):
            return f"hull of {len(vertices.points)} points"
        case shape_plans.BvhPlan(mesh=mesh):
            return f"{len(mesh.triangles)} triangles"
        case shape_plans.ConvexPartsPlan(parts=parts):
            return f"{len(parts)} convex parts"


def _nodes(asset: AssetContent, plan: ScenePlan) -> list[Row]:
    tree, physics = asset.tree, asset.physics
    rows = []
    for node, name in enumerate(tree.names):
        roles = [
            role
            for role, table in (
                ("motion", physics.motions),
                ("collider", physics.colliders),
                ("trigger", physics.triggers),
                ("joint", physics.joints),
                ("gravity", physics.gravity_volumes),
            )
            if node in table
        ]
        if tree.mesh_of[node] is not None:
            roles.append("mesh")
        rows.append(
            {
                "node": node,
                "name": name,
                "parent": int(tree.parents[node]),
                "body": int(plan.motion_node_of[node]),
                "roles": roles,
            }
        )
    return rows


def _body(body: BodyPlan, asset: AssetContent) -> Row:
    return {
        "node": body.node,
        "name": asset.tree.names[body.node],
        "kind": body.kind.value,
        "mass": body.mass,
        "inertia": _numbers(body.inertia_diagonal),
        "inertia_orientation": _numbers(body.body_from_inertial.rotation_xyzw),
        "center_of_mass": _numbers(body.body_from_inertial.translation),
        "gravity_factor": body.gravity_factor,
        "linear_velocity": _numbers(body.linear_velocity),
        "angular_velocity": _numbers(body.angular_velocity),
        "colliders": [
            {"node": node, "shape": describe_shape(placed.shape), "link_group": number}
            for number, group in enumerate(body.groups)
            for node, placed in zip(group.collider_nodes, group.shapes, strict=False)
        ],
    }


def _material(material: PhysicsMaterial | None, nodes: list[int]) -> Row:
    name = "default" if material is None else str(material.pointer)
    return {"material": name, **_stated(material or DEFAULT_MATERIAL, MATERIAL), "nodes": nodes}


def _filter(entry: CollisionFilter, nodes: list[int]) -> Row:
    return {"filter": str(entry.pointer), **_stated(entry, FILTER), "nodes": nodes}


def _stated(item: object, table: Properties) -> Row:
    """The properties of an item by the names of the model."""
    values = {entry.field: entry.json_of(item) for entry in table}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def _numbers(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values]
