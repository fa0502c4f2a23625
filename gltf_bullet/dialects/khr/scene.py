"""A :class:`~gltf_bullet.model.PhysicsScene` as current KHR JSON: tables, and objects on nodes.

KHR_physics_rigid_bodies over KHR_implicit_shapes (001). What equals a schema default is left out,
infinity is written as 0 or by absence, and what KHR cannot say is reported. Putting the result into
a file is in :mod:`gltf_bullet.dialects.khr.writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.khr import implicit_shapes as khr_implicit_shapes
from gltf_bullet.dialects.khr import physics_rigid_bodies as khr_physics_rigid_bodies
from gltf_bullet.dialects.khr.moved_pointers import Places
from gltf_bullet.model import (
    Box,
    Capsule,
    Collider,
    CollisionFilter,
    Cylinder,
    DofKind,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    MeshPart,
    MeshShape,
    Motion,
    MotionKind,
    PhysicsMaterial,
    PhysicsScene,
    Plane,
    Shape,
    Sphere,
    Trigger,
    properties,
)
from gltf_bullet.records import replace

STATIC_MOTION_NOT_IN_KHR = warning(
    "STATIC_MOTION_NOT_IN_KHR",
    "the motion of node {node} is static; KHR knows no such motion; {done}",
)
JOINT_TO_WORLD_NOT_IN_KHR = warning(
    "JOINT_TO_WORLD_NOT_IN_KHR",
    "the joint of node {node} has no connected node; KHR asks for one; it is left out",
)
COMPOUND_FILTER_NOT_IN_KHR = warning(
    "COMPOUND_FILTER_NOT_IN_KHR",
    "the compound trigger of node {node} has a filter; KHR allows none there; it is left out",
)
SHAPE_NOT_IN_KHR = warning(
    "SHAPE_NOT_IN_KHR",
    "the {shape} of node {node} has a size of 0; KHR allows none; the {owner} is left out",
)
MESH_NOT_IN_KHR = warning(
    "MESH_NOT_IN_KHR",
    "no node gives the deformed or composed mesh of node {node}; KHR asks for one; "
    "the {owner} is left out",
)

_BODIES: Final = khr_physics_rigid_bodies.EXTENSION
_SHAPES: Final = khr_implicit_shapes.EXTENSION

JsonOut: TypeAlias = dict[str, Any]
_ImplicitShape: TypeAlias = Box | Sphere | Capsule | Cylinder | Plane

V = TypeVar("V")


# --- objects -------------------------------------------------------------------------------------


def _encode(item: object, table: properties.Properties) -> JsonOut:
    """The properties of an item that KHR has and that are not its defaults."""
    result: JsonOut = {}
    for entry, key, default in table.entries(properties.Dialect.KHR):
        if entry.always_written or entry.value_of(item) != default:
            value = entry.json_of(item)
            result[key] = list(value) if isinstance(value, tuple) else value
    return result


def _encode_motion(motion: Motion) -> JsonOut:
    """A ``motion`` object; a static body counts as a kinematic one that stands still."""
    if motion.kind is MotionKind.STATIC:
        motion = replace(
            motion,
            kind=MotionKind.KINEMATIC,
            linear_velocity=properties.MOTION["linearVelocity"].default,
            angular_velocity=properties.MOTION["angularVelocity"].default,
        )
    return _encode(motion, properties.MOTION)


def _encode_material(material: PhysicsMaterial) -> JsonOut:
    return _encode(material, properties.MATERIAL)


def _encode_filter(collision_filter: CollisionFilter) -> JsonOut:
    return _encode(collision_filter, properties.FILTER)


def _encode_description(description: JointDescription) -> JsonOut:
    result: JsonOut = {}
    if description.limits:
        result["limits"] = [_encode_limit(limit) for limit in description.limits]
    if description.drives:
        result["drives"] = [_encode_drive(drive) for drive in description.drives]
    return result


def _encode_limit(limit: JointLimit) -> JsonOut:
    key = "linearAxes" if limit.kind is DofKind.LINEAR else "angularAxes"
    return {key: list(limit.axes), **_encode(limit, properties.LIMIT)}


def _encode_drive(drive: JointDrive) -> JsonOut:
    result: JsonOut = {"type": drive.kind.value, "mode": drive.mode.value, "axis": drive.axis}
    stated = _encode(drive, properties.DRIVE)
    # The schema asks for targets and gains in pairs.
    for gain, target in (("stiffness", "positionTarget"), ("damping", "velocityTarget")):
        if gain in stated or target in stated:
            pair = {key: properties.DRIVE[key].json_of(drive) for key in (gain, target)}
            stated = {key: value for key, value in stated.items() if key not in pair} | pair
    return result | stated


def _plain_shape(shape: _ImplicitShape) -> _ImplicitShape | None:
    """The shape as KHR_implicit_shapes allows it, ``None`` where it "prohibits degenerate shapes".

    A capsule without a height is the larger of its spheres (OMI_collider: height = 2 radius).
    """
    if isinstance(shape, Capsule) and shape.mid_height == 0.0:
        shape = Sphere(radius=max(shape.radius_bottom, shape.radius_top), pointer=shape.pointer)
    if isinstance(shape, Box):
        return shape if min(shape.size) > 0.0 else None
    if isinstance(shape, Sphere):
        return shape if shape.radius > 0.0 else None
    if isinstance(shape, Cylinder):
        return shape if shape.height > 0.0 else None
    return shape


def _encode_shape(shape: _ImplicitShape) -> JsonOut:
    """An entry of ``shapes``, in full."""
    table = _SHAPE_TABLES[type(shape)]
    kind = type(shape).__name__.lower()
    return {"type": kind, kind: _encode(shape, table)}


_SHAPE_TABLES: Final = {
    table.owner: table
    for table in (
        properties.BOX,
        properties.SPHERE,
        properties.CAPSULE,
        properties.CYLINDER,
        properties.PLANE,
    )
}


# --- tables and nodes ----------------------------------------------------------------------------


class _Table(Generic[V]):
    """Distinct values and their indices, in the order of first use.

    Where somebody points to entries, those of two places in the file stay two.
    """

    def __init__(
        self, encode: Callable[[V], JsonOut], at: JsonPointer, places: Places | None = None
    ) -> None:
        self._encode, self._at, self._places = encode, at, places
        self._index_of: dict[tuple[V, str], int] = {}

    def index(self, value: V) -> int:
        place = "" if self._places is None else str(getattr(value, "pointer", ""))
        index = self._index_of.setdefault((value, place), len(self._index_of))
        if self._places is not None:
            block = type(value).__name__.lower() if isinstance(value, Shape) else ""
            self._places.put_entry(value, self._at / index, block)
        return index

    def entries(self) -> list[JsonOut]:
        return [self._encode(value) for value, _ in self._index_of]


class _Writer:
    """The tables while the nodes are written."""

    def __init__(
        self,
        node_of_parts: Mapping[tuple[MeshPart, ...], int],
        diagnostics: Diagnostics,
        places: Places | None,
    ) -> None:
        self.node_of_parts = node_of_parts
        self.diagnostics = diagnostics
        at = ROOT / "extensions"
        self.shapes = _Table(_encode_shape, at / _SHAPES / "shapes", places)
        self.materials = _Table(_encode_material, at / _BODIES / "physicsMaterials", places)
        self.filters: _Table[CollisionFilter] = _Table(_encode_filter, at)
        self.joints = _Table(_encode_description, at / _BODIES / "physicsJoints", places)

    def keep_tables(self, scene: PhysicsScene) -> None:
        """Write all entries of the file's tables, in their order, used or not."""
        for entry in scene.tables:
            if isinstance(entry, PhysicsMaterial):
                self.materials.index(entry)
            elif isinstance(entry, JointDescription):
                self.joints.index(entry)
            elif not isinstance(entry, MeshShape) and (plain := _plain_shape(entry)) is not None:
                self.shapes.index(plain)
        for collision_filter in scene.collision_filters:
            self.filters.index(collision_filter)

    def geometry(self, shape: Shape, node: int, owner: str) -> JsonOut | None:
        if isinstance(shape, MeshShape):
            return self._mesh_geometry(shape, node, owner)
        plain = _plain_shape(shape)
        if plain is None:
            name = type(shape).__name__.lower()
            self.diagnostics.report(
                SHAPE_NOT_IN_KHR, shape.pointer, shape=name, node=node, owner=owner
            )
            return None
        return {"shape": self.shapes.index(plain)}

    def _mesh_geometry(self, shape: MeshShape, node: int, owner: str) -> JsonOut | None:
        geometry: JsonOut
        if shape.parts in self.node_of_parts:
            geometry = {"node": self.node_of_parts[shape.parts]}
        elif len(shape.parts) == 1 and shape.parts[0] == MeshPart(mesh=shape.parts[0].mesh):
            geometry = {"mesh": shape.parts[0].mesh}
        else:
            self.diagnostics.report(MESH_NOT_IN_KHR, shape.pointer, node=node, owner=owner)
            return None
        if shape.convex_hull:
            geometry["convexHull"] = True
        return geometry

    def _add_filter(self, result: JsonOut, collision_filter: CollisionFilter | None) -> None:
        if collision_filter is not None:
            result["collisionFilter"] = self.filters.index(collision_filter)

    def collider(self, collider: Collider) -> JsonOut | None:
        geometry = self.geometry(collider.shape, collider.node, "collider")
        if geometry is None:
            return None
        result: JsonOut = {"geometry": geometry}
        if collider.material is not None:
            result["physicsMaterial"] = self.materials.index(collider.material)
        self._add_filter(result, collider.filter)
        return result

    def trigger(self, trigger: Trigger) -> JsonOut | None:
        if trigger.shape is None:
            if trigger.filter is not None:
                self.diagnostics.report(
                    COMPOUND_FILTER_NOT_IN_KHR, trigger.pointer, node=trigger.node
                )
            return {"nodes": list(trigger.part_nodes)}
        geometry = self.geometry(trigger.shape, trigger.node, "trigger")
        if geometry is None:
            return None
        result: JsonOut = {"geometry": geometry}
        self._add_filter(result, trigger.filter)
        return result

    def joint(self, joint: Joint) -> JsonOut | None:
        if joint.connected_node is None:
            self.diagnostics.report(JOINT_TO_WORLD_NOT_IN_KHR, joint.pointer, node=joint.node)
            return None
        result: JsonOut = {
            "connectedNode": joint.connected_node,
            "joint": self.joints.index(joint.description),
        }
        return result | _encode(joint, properties.JOINT)

    def roots(self) -> dict[str, JsonOut]:
        tables = {
            "physicsMaterials": self.materials.entries(),
            "collisionFilters": self.filters.entries(),
            "physicsJoints": self.joints.entries(),
        }
        # The schemas want lists with at least one item, so empty tables stay away.
        roots = {_BODIES: {key: entries for key, entries in tables.items() if entries}}
        if shapes := self.shapes.entries():
            roots[_SHAPES] = {"shapes": shapes}
        return {name: root for name, root in roots.items() if root}


def physics_to_khr(
    scene: PhysicsScene,
    diagnostics: Diagnostics,
    *,
    node_of_parts: Mapping[tuple[MeshPart, ...], int] | None = None,
    kept_static_nodes: frozenset[int] = frozenset(),
    places: Places | None = None,
) -> tuple[dict[str, JsonOut], dict[int, JsonOut]]:
    """Root extension objects by name, and ``KHR_physics_rigid_bodies`` objects by node.

    Args:
        scene: What to write; gravity is not part of KHR and is left alone.
        diagnostics: Takes what KHR cannot say.
        node_of_parts: The node whose meshes are exactly these parts, for ``geometry.node``; a plain
            mesh without one is written as ``geometry.mesh``.
        kept_static_nodes: Static motions that are written as kinematic ones at rest, since they
            stand below a moving body or hold joints.
        places: Is told what stands where, for those who point to it; tables are then written as
            they are, also what nothing uses.
    """
    writer = _Writer(node_of_parts or {}, diagnostics, places)
    if places is not None:
        writer.keep_tables(scene)
    nodes: dict[int, JsonOut] = {}

    def put(node: int, key: str, value: JsonOut | None, item: Motion | Joint | None = None) -> None:
        if value is not None:
            nodes.setdefault(node, {})[key] = value
            if places is not None and item is not None:
                places.put(item, ROOT / "nodes" / node / "extensions" / _BODIES / key)

    for node, motion in scene.motions.items():
        is_static = motion.kind is MotionKind.STATIC
        if is_static:
            done = (
                "it is written as a kinematic one at rest"
                if node in kept_static_nodes
                else "it is left out, which fixes its colliders to the world"
            )
            diagnostics.report(STATIC_MOTION_NOT_IN_KHR, motion.pointer, node=node, done=done)
        if not is_static or node in kept_static_nodes:
            put(node, "motion", _encode_motion(motion), motion)
    for node, collider in scene.colliders.items():
        put(node, "collider", writer.collider(collider))
    for node, trigger in scene.triggers.items():
        put(node, "trigger", writer.trigger(trigger))
    for node, joint in scene.joints.items():
        put(node, "joint", writer.joint(joint), joint)
    return writer.roots(), nodes
