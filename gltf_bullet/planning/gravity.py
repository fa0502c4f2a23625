"""Gravity that the file states, with scale baked in (OMI_physics_gravity).

Where that text is silent: several volumes of one priority act in file order; ``replace`` replaces
what higher priorities gave, and the world's gravity is added last unless a volume of non-negative
priority stopped it. A body is in a volume when its centre of mass is: where volumes adjoin it is in
one of them. Lengths of a field are those of its node, scaled with it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gltf_bullet import model
from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.planner import MeshOf, ShapePlanner
from gltf_bullet.planning.shapes.shape_plans import PlacedShape
from gltf_bullet.planning.triggers import TriggerPlans, TriggerVolume
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, IntArray, Vec3

GRAVITY_SCALED_UNEVENLY = warning(
    "GRAVITY_SCALED_UNEVENLY",
    "the node of the gravity is scaled by {smallest:.3g} to {largest:.3g} along its axes; "
    "should be scaled evenly; unitDistance and radius grow by {used:.3g}",
)


class FieldPlan(Struct, frozen=True, eq=False, kw_only=True):
    """A gravity field in the frame of its node without the node's scale."""

    kind: model.GravityFieldKind
    gravity: float
    """Gravity [m/s^2]."""
    unit_distance: float
    """Distance of that gravity [m], scaled like the node; 0: no falloff."""
    direction: Vec3
    radius: float
    """Radius of a disc or torus [m], scaled like the node."""
    points: FloatArray
    """Vertices of a polyline [m], shape [point_count, 3]."""
    shape: PlacedShape | None


class GravityVolumePlan(Struct, frozen=True, eq=False, kw_only=True):
    """A gravity field and the volumes in which it acts."""

    node: int
    volumes: tuple[TriggerVolume, ...]
    field: FieldPlan
    priority: int
    replace: bool
    stop: bool


class GravityPlan(Struct, frozen=True, eq=False, kw_only=True):
    """All gravity of a scene."""

    world: Vec3 | None
    """Acceleration in the frame of the asset [m/s^2]; ``None``: the engine's setting."""
    volumes: tuple[GravityVolumePlan, ...]
    """In the order of evaluation."""

    @property
    def is_idle(self) -> bool:
        """True if the engine's own gravity is the only one."""
        return self.world is None and not self.volumes


def plan_gravity(
    physics: model.PhysicsScene,
    *,
    triggers: TriggerPlans,
    motion_node_of: IntArray,
    linear_maps: FloatArray,
    mesh_of: MeshOf,
    options: LoadOptions,
    diagnostics: Diagnostics,
) -> GravityPlan:
    """Plan the gravity of a scene.

    Args:
        physics: The model.
        triggers: Their volumes tell where fields act, and on which bodies.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        linear_maps: Scale and shear of all nodes, shape [node_count, 3, 3].
        mesh_of: Gives the triangles of mesh shapes.
        options: They tell whether the file's world gravity counts.
        diagnostics: Receives the findings.
    """
    shapes = ShapePlanner(mesh_of, options, diagnostics)
    volumes = []
    for node, volume in physics.gravity_volumes.items():
        places = triggers.volumes_by_node.get(node, ())
        if not places:
            # The dialect or the shape planner has reported the reason.
            continue
        _report_uneven(volume, linear_maps[node], diagnostics)
        volumes.append(
            GravityVolumePlan(
                node=node,
                volumes=tuple(_without_passers(place, physics, motion_node_of) for place in places),
                field=_plan_field(
                    volume, linear_maps[node], _plan_shape(volume, linear_maps[node], shapes)
                ),
                priority=volume.priority,
                replace=volume.replace,
                stop=volume.stop,
            )
        )
    volumes.sort(key=lambda plan: -plan.priority)
    return GravityPlan(world=_world(physics, options), volumes=tuple(volumes))


def changed_gravity(
    plan: GravityPlan, physics: model.PhysicsScene, linear_maps: FloatArray, options: LoadOptions
) -> GravityPlan:
    """The plan of a model that differs from the planned one in numbers of gravity only."""
    node_order = {node: row for row, node in enumerate(physics.gravity_volumes)}
    volumes = []
    for old in sorted(plan.volumes, key=lambda volume: node_order[volume.node]):
        volume = physics.gravity_volumes[old.node]
        volumes.append(
            replace(
                old,
                field=_plan_field(volume, linear_maps[old.node], old.field.shape),
                priority=volume.priority,
                replace=volume.replace,
                stop=volume.stop,
            )
        )
    volumes.sort(key=lambda volume: -volume.priority)
    return GravityPlan(world=_world(physics, options), volumes=tuple(volumes))


def _world(physics: model.PhysicsScene, options: LoadOptions) -> Vec3 | None:
    if physics.world_gravity is None or options.world_gravity != "file":
        return None
    x, y, z = physics.world_gravity.direction
    strength = physics.world_gravity.gravity
    return (strength * x, strength * y, strength * z)


def _report_uneven(
    volume: model.GravityVolume, linear: FloatArray, diagnostics: Diagnostics
) -> None:
    """Report lengths of a field below an uneven scale: they have no single value."""
    stretches = np.linalg.svd(linear, compute_uv=False)
    has_lengths = volume.source.unit_distance > 0.0 or volume.source.radius > 0.0
    if has_lengths and stretches[0] > (1.0 + 1e-3) * stretches[2]:
        diagnostics.report(
            GRAVITY_SCALED_UNEVENLY, volume.pointer, largest=float(stretches[0]),
            smallest=float(stretches[2]), used=_size_of(linear),
        )  # fmt: skip


def _size_of(linear: FloatArray) -> float:
    """Factor by which lengths of a field grow with its node; exact for uniform scale."""
    return float(np.cbrt(abs(np.linalg.det(linear))))


def _without_passers(
    volume: TriggerVolume, physics: model.PhysicsScene, motion_node_of: IntArray
) -> TriggerVolume:
    """The volume without bodies of which its filter admits no collider."""
    is_sensed: dict[int, bool] = {}
    for node, collider in physics.colliders.items():
        body = int(motion_node_of[node])
        is_met = model.may_collide(volume.filter, collider.filter)
        is_sensed[body] = is_sensed.get(body, False) or is_met
    passing = {body for body, is_met in is_sensed.items() if not is_met}
    return replace(volume, own_bodies=volume.own_bodies | passing)


def _plan_shape(
    volume: model.GravityVolume, linear: FloatArray, shapes: ShapePlanner
) -> PlacedShape | None:
    shape = volume.source.shape
    if not isinstance(shape, model.Shape):
        return None
    is_surface = isinstance(shape, (model.MeshShape, model.Plane))
    planned = shapes.plan(
        shape, linear, moving=not is_surface, bvh_allowed=False, at=volume.pointer
    )
    return None if planned is None else planned.placed


def _plan_field(
    volume: model.GravityVolume, linear: FloatArray, shape: PlacedShape | None
) -> FieldPlan:
    source, size = volume.source, _size_of(linear)
    return FieldPlan(
        kind=source.kind,
        gravity=source.gravity,
        unit_distance=source.unit_distance * size,
        direction=source.direction,
        radius=source.radius * size,
        points=np.array(source.points, dtype=np.float64).reshape(-1, 3) @ linear.T,
        shape=shape,
    )
