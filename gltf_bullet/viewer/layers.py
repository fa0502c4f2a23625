"""Lines and texts of a scene, layer by layer, as arrays; nothing here draws.

Colliders, triggers and axes of inertia are rigid: their segments are made once and moved with
their nodes' frames in one multiplication. The rest is made anew each time. The file is long since
it holds the geometry of all layers, which share colours, sizes and frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from gltf_bullet import model
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.shapes.shape_plans import InfinitePlanePlan, PlacedShape
from gltf_bullet.rendering.solids import COLOR_OF_KIND
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import BoolArray, FloatArray, Vec3, matrices_from_quats
from gltf_bullet.viewer.strokes import Labels, Strokes, arc, arrows, axes_cross, circle, placed
from gltf_bullet.viewer.wireframes import wireframe

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

# --- Joint frames, limits and drive targets as line segments in attachment frame a. Pure ----------
#
# Arcs start at the axis that follows the limited one (x, y, z, x): the pointer of
# :func:`pointer_segments` is on the same circle, so that its position on the arc is the coordinate.

ARC_STEP = math.radians(15.0)
"""Angle between two points of a drawn arc [rad]."""
TICK = 0.12
"""Length of the marks at the ends of a range, as share of the joint's mark size."""


def frame_segments(size: float) -> FloatArray:
    """The three axes of an attachment frame, shape [3, 2, 3]."""
    ends = size * np.eye(3)
    return np.stack([np.zeros((3, 3)), ends], axis=1)


def _plane_of(axis: int) -> tuple[FloatArray, FloatArray]:
    unit = np.eye(3)
    return unit[(axis + 1) % 3], unit[(axis + 2) % 3]


@lru_cache(maxsize=1024)
def limit_segments(limit: model.JointLimit, size: float, reach: float) -> FloatArray:
    """Lines for the range of a limit: lines or arcs, for radial limits circles and cones.

    Args:
        limit: The limit; a locked one has no lines.
        size: Radius of arcs, length of cones [m].
        reach: Distance at which unbounded ranges end [m].

    Returns:
        Lines in the joint node's frame [m], shape [k, 2, 3].
    """
    low, high = limit.minimum, limit.maximum
    if low == high == 0.0 or (math.isinf(low) and math.isinf(high)):
        return np.zeros((0, 2, 3))
    if limit.kind is model.DofKind.LINEAR:
        return _linear(limit, size, reach)
    if len(limit.axes) == 1:
        return _hinge(limit.axes[0], max(low, -math.pi), min(high, math.pi), size)
    if len(limit.axes) == 2:
        (pole,) = {0, 1, 2} - set(limit.axes)
        angles = {a for a in (low, high) if 0.0 < a < math.pi}
        return np.concatenate(
            [np.zeros((0, 2, 3)), *(_cone(pole, a, size) for a in sorted(angles))]
        )
    high = min(high, math.pi)
    return np.concatenate([_hinge(axis, -high, high, size) for axis in range(3)])


def _linear(limit: model.JointLimit, size: float, reach: float) -> FloatArray:
    unit = np.eye(3)
    if len(limit.axes) == 1:
        axis = limit.axes[0]
        low, high = max(limit.minimum, -reach), min(limit.maximum, reach)
        parts = [np.stack([low * unit[axis], high * unit[axis]])[None]]
        for bound, end in ((limit.minimum, low), (limit.maximum, high)):
            if math.isfinite(bound):
                lengths = np.full(3, TICK * size)
                lengths[axis] = 0.0
                across = [k for k in range(3) if k != axis]
                parts.append(axes_cross(lengths)[across] + end * unit[axis])
        return np.concatenate(parts)
    radii = sorted({r for r in (limit.minimum, limit.maximum) if 0.0 < r < math.inf})
    poles = range(3) if len(limit.axes) == 3 else {0, 1, 2} - set(limit.axes)
    rings = [circle(*_plane_of(pole), radius) for radius in radii for pole in poles]
    return np.concatenate([np.zeros((0, 2, 3)), *rings])


def _hinge(axis: int, low: float, high: float, size: float) -> FloatArray:
    u, v = _plane_of(axis)
    pieces = max(1, math.ceil((high - low) / ARC_STEP - 1e-9))
    ends = [size * (math.cos(a) * u + math.sin(a) * v) for a in (low, high)]
    spokes = np.stack([np.zeros((2, 3)), np.array(ends)], axis=1)
    return np.concatenate([arc(u, v, size, low, high, pieces), spokes])


def _cone(pole: int, angle: float, size: float) -> FloatArray:
    u, v = _plane_of(pole)
    top = size * math.cos(angle) * np.eye(3)[pole]
    radius = size * math.sin(angle)
    rim = circle(u, v, radius) + top
    spokes = np.stack([np.zeros((4, 3)), rim[::4, 0]], axis=1)
    return np.concatenate([rim, spokes])


def drive_segments(drive: model.JointDrive, target: float, speed: float, size: float) -> FloatArray:
    """Lines for the target of a drive: a mark at its position, or an arrow for a speed alone.

    Args:
        drive: Kind, axis and gains.
        target: Current position target [m] or [rad].
        speed: Current velocity target [m/s] or [rad/s].
        size: Size of the joint's marks [m].
    """
    unit = np.eye(3)[drive.axis]
    u, v = _plane_of(drive.axis)
    if drive.stiffness > 0.0:
        if drive.kind is model.DofKind.LINEAR:
            mark: FloatArray = axes_cross(np.full(3, 1.5 * TICK * size)) + target * unit
            return mark
        tip = 1.25 * size * (math.cos(target) * u + math.sin(target) * v)
        return np.stack([np.zeros(3), tip])[None]
    if speed == 0.0:
        return np.zeros((0, 2, 3))
    sign = math.copysign(1.0, speed)
    if drive.kind is model.DofKind.LINEAR:
        return arrows(np.zeros((1, 3)), (sign * size * unit)[None])
    sweep = arc(u, v, 1.25 * size, 0.0, sign * 0.5 * math.pi, 6)
    tip = arrows(sweep[-1:, 0], sweep[-1:, 1] - sweep[-1:, 0], head=0.8)
    return np.concatenate([sweep, tip[1:]])


def pointer_segments(limits: tuple[model.JointLimit, ...], size: float) -> FloatArray:
    """Pointers in attachment frame b that show its position on the arcs and cones of a.

    There is one per rotation axis with a limit of its own, and one along the pole of each cone.
    """
    unit = np.eye(3)
    ends = []
    for limit in limits:
        if limit.kind is not model.DofKind.ANGULAR or limit.minimum == limit.maximum == 0.0:
            continue
        if len(limit.axes) == 1:
            ends.append(_plane_of(limit.axes[0])[0])
        elif len(limit.axes) == 2:
            (pole,) = {0, 1, 2} - set(limit.axes)
            ends.append(unit[pole])
    tips = size * np.array(ends).reshape(-1, 3)
    return np.stack([np.zeros_like(tips), tips], axis=1)


# --- The layers of a scene ------------------------------------------------------------------------

COLORS: Final[Mapping[str, Vec3]] = {
    # As in pictures.
    **{kind.value: color[:3] for kind, color in COLOR_OF_KIND.items()},
    "disabled": (0.45, 0.25, 0.2),
    "trigger": (0.75, 0.0, 0.75),
    "occupied": (1.0, 0.9, 0.0),
    "limit": (0.0, 0.6, 0.75),
    "soft limit": (0.45, 0.75, 0.8),
    "pointer": (0.1, 0.1, 0.1),
    "drive": (0.85, 0.0, 0.45),
    "center of mass": (0.05, 0.05, 0.05),
    "velocity": (0.0, 0.45, 1.0),
    "spin": (0.55, 0.25, 0.9),
    "contact normal": (1.0, 0.85, 0.0),
    "contact force": (0.9, 0.1, 0.05),
    "name": (0.1, 0.1, 0.1),
}
"""Colours of strokes, by meaning."""

TOGETHER: Final = 1e-3
"""[m] Nodes nearer to each other have one label."""

_AXES: Final = ((0.85, 0.1, 0.1), (0.1, 0.6, 0.1), (0.15, 0.2, 0.9))
"""Colours of the axes x, y, z."""

VELOCITY_TIME: Final = 0.2
"""[s] An arrow of velocity ends where the body would be after this time."""
SMALLEST: Final = 0.01
"""Share of the scene's mark size below which arrows are left out."""


class SceneLayers:
    """The layers of one scene; their sizes depend on its colliders."""

    def __init__(self, scene: Scene) -> None:
        """Prepare the rigid layers; they are made anew when the scene rebuilds its bodies."""
        self._scene = scene
        self._prepare()

    def _prepare(self) -> None:
        scene = self._scene
        self._world = scene.core.world
        self._bodies = scene.core.world.plan.bodies.bodies
        frames = scene.core.nodes.frames_now()
        colliders = self._placed_colliders()
        self.size = _mark_size([shape for _, shape, _ in colliders], frames)
        """Size of marks [m]: the usual half extent of the scene's colliders."""
        self._collider_nodes = np.array([node for node, _, _ in colliders], dtype=np.intp)
        self._collider_kinds = [kind for _, _, kind in colliders]
        self._colliders = _RigidLines([(owner, shape) for owner, shape, _ in colliders])
        volumes = scene.core.world.plan.triggers.volumes
        self._volume_of_trigger = np.array([v.trigger for v in volumes], dtype=np.intp)
        self._triggers = _RigidLines([(v.node, v.shape) for v in volumes])
        self._fixed_ends = _matrices(frames)
        self._weight = _usual_weight(scene)

    def _placed_colliders(self) -> list[tuple[int, PlacedShape, str]]:
        """Colliders with the node whose rigid frame they follow, and the key of their colour."""
        plan = self._scene.core.world.plan.bodies
        found: list[tuple[int, PlacedShape, str]] = []
        filters: list[tuple[int, model.CollisionFilter | None, bool]] = []
        for static in plan.statics:
            found.append((static.node, static.shape, static.kind.value))
            filters.append((static.owner, static.filter, True))
        for body in plan.bodies.values():
            for group in body.groups:
                for shape in group.shapes:
                    found.append((body.node, shape, body.kind.value))
                    filters.append(
                        (body.node, group.filter, body.kind is not model.MotionKind.DYNAMIC)
                    )
        disabled = _meets_nothing(filters)
        return [
            (owner, shape, "disabled" if off else kind)
            for (owner, shape, kind), off in zip(found, disabled, strict=True)
        ]

    # --- layers -------------------------------------------------------------------------------

    def strokes(self, layer: str) -> Strokes:
        """The current line segments of a layer.

        Raises:
            KeyError: There is no such layer.
            SceneRemovedError: The scene was removed.
        """
        self._scene.core.require_alive()
        if self._scene.core.world is not self._world:
            self._prepare()
        layers: dict[str, Callable[[], Strokes]] = {
            "colliders": self._collider_strokes,
            "triggers": self._trigger_strokes,
            "joints": self._joint_strokes,
            "inertia": self._inertia_strokes,
            "velocities": self._velocity_strokes,
            "contacts": self._contact_strokes,
            "names": lambda: Strokes.join([]),
        }
        return layers[layer]()

    def labels(self, layer: str) -> Labels:
        """The current texts of a layer: names of nodes, and numbers of bodies inside triggers."""
        if layer == "names":
            return self._name_labels()
        if layer == "triggers":
            return self._trigger_labels()
        return Labels.none()

    def _collider_strokes(self) -> Strokes:
        carried = set(self._world.kinematic_targets.nodes[1])
        kinds = [
            "kinematic" if kind == "dynamic" and node in carried else kind
            for node, kind in zip(self._collider_nodes.tolist(), self._collider_kinds, strict=True)
        ]
        colors = np.array([COLORS[kind] for kind in kinds]).reshape(-1, 3)
        return self._colliders.strokes(_matrices(self._scene.core.nodes.frames_now()), colors)

    def _trigger_strokes(self) -> Strokes:
        occupied = self._occupied()
        colors = np.array(
            [
                COLORS["occupied" if node in occupied else "trigger"]
                for node in self._volume_of_trigger.tolist()
            ]
        ).reshape(-1, 3)
        return self._triggers.strokes(_matrices(self._scene.core.nodes.frames_now()), colors)

    def _occupied(self) -> dict[int, int]:
        """Triggers that sense something, by node, and the number of colliders inside."""
        inside = {node: len(view.overlapping) for node, view in self._scene.triggers.items()}
        return {node: count for node, count in inside.items() if count}

    def _joint_strokes(self) -> Strokes:
        now = self._scene.core.nodes.frames_now()
        frames = _matrices(now)
        # Negative scales mirror the ranges of a joint too, in both frames.
        signs = np.where(np.diagonal(now.linear_maps(), axis1=1, axis2=2) < 0.0, -1.0, 1.0)
        mirrors = np.concatenate([signs, np.ones((len(signs), 1))], axis=1)
        controls = self._scene.joint_controls
        positions, speeds = controls.drive_targets()
        parts = []
        for node, joint in self._scene.joints.items():
            connected = joint.model.connected_node
            # Without a connected node attachment frame b is fixed in the world, as at load.
            world_from_b = self._fixed_ends[node] if connected is None else frames[connected]
            ends = frames[node] * mirrors[node], world_from_b * mirrors[node]
            parts += _attachment(*ends, joint.limits, self.size)
        for drive, position, speed in zip(controls.drives, positions, speeds, strict=True):
            model = self._scene.joints[drive.joint_node].drives[drive.drive]
            lines = drive_segments(model, float(position), float(speed), self.size)
            world_from_a = frames[drive.joint_node] * mirrors[drive.joint_node]
            parts.append(Strokes.of(placed(lines, world_from_a), COLORS["drive"]))
        return Strokes.join(parts)

    def _inertia_strokes(self) -> Strokes:
        matrices, plans = self._inertial_frames()
        marks = np.tile(axes_cross(np.full(3, 0.08 * self.size)), (len(plans), 1, 1))
        marks = placed(marks, np.repeat(matrices, 3, axis=0))
        moving = [k for k, plan in enumerate(plans) if plan.kind is model.MotionKind.DYNAMIC]
        lines = np.zeros((0, 2, 3))
        if moving:
            axes = [axes_cross(equivalent_half_extents(plans[k])) for k in moving]
            lines = placed(np.concatenate(axes), np.repeat(matrices[moving], 3, axis=0))
        colors = np.tile(np.array(_AXES), (len(moving), 1))
        return Strokes.join([Strokes.of(marks, COLORS["center of mass"]), Strokes(lines, colors)])

    def _velocity_strokes(self) -> Strokes:
        world_from_inertial, plans = self._inertial_frames()
        found = [self._scene.core.world.motion.velocities_of(plan.node) for plan in plans]
        linear = np.array([v for v, _ in found]).reshape(-1, 3)
        angular = np.array([w for _, w in found]).reshape(-1, 3)
        centers = world_from_inertial[:, :3, 3]
        parts = []
        # A rotation of one turn per second is as long as the mark size.
        for vectors, name in (
            (VELOCITY_TIME * linear, "velocity"),
            (self.size / (2.0 * np.pi) * angular, "spin"),
        ):
            seen = np.linalg.norm(vectors, axis=1) > SMALLEST * self.size
            parts.append(Strokes.of(arrows(centers[seen], vectors[seen]), COLORS[name]))
        return Strokes.join(parts)

    def _contact_strokes(self) -> Strokes:
        contacts = self._scene.contacts()
        points, normals = contacts.positions, contacts.normals
        forces = contacts.normal_forces[:, None] * normals + contacts.friction_forces
        vectors = forces * (self.size / self._weight)
        seen = np.linalg.norm(vectors, axis=1) > SMALLEST * self.size
        normal_lines = np.stack([points, points + 0.3 * self.size * normals], axis=1)
        return Strokes.join(
            [
                Strokes.of(normal_lines, COLORS["contact normal"]),
                Strokes.of(arrows(points[seen], vectors[seen]), COLORS["contact force"]),
            ]
        )

    def _name_labels(self) -> Labels:
        names = self._scene.asset.tree.names
        nodes = [node for node, name in enumerate(names) if name]
        positions = self._scene.node_matrices[nodes, :3, 3].reshape(-1, 3)
        # Nodes in one place, as a joint's two ends, have one label: theirs would lie on each other.
        at: dict[tuple[float, ...], list[int]] = {}
        for row, place in enumerate(np.round(positions / TOGETHER).tolist()):
            at.setdefault(tuple(place), []).append(row)
        texts = tuple(", ".join(names[nodes[row]] for row in rows) for rows in at.values())
        first = [rows[0] for rows in at.values()]
        return Labels(positions[first], texts, np.tile(COLORS["name"], (len(first), 1)))

    def _trigger_labels(self) -> Labels:
        occupied = self._occupied()
        nodes = sorted(occupied)
        positions = self._scene.node_matrices[nodes, :3, 3].reshape(-1, 3)
        texts = tuple(f"{occupied[node]} inside" for node in nodes)
        return Labels(positions, texts, np.tile(COLORS["trigger"], (len(nodes), 1)))

    # --- frames -------------------------------------------------------------------------------

    def _inertial_frames(self) -> tuple[FloatArray, list[BodyPlan]]:
        """world_from_inertial of the bodies, shape [k, 4, 4]."""
        plans = list(self._bodies.values())
        if not plans:
            return np.zeros((0, 4, 4)), []
        frames = _matrices(self._scene.core.nodes.frames_now())[[plan.node for plan in plans]]
        return frames @ np.stack([plan.body_from_inertial.matrix() for plan in plans]), plans


class _RigidLines:
    """Wireframes that move with the frames of their nodes."""

    def __init__(self, shapes: list[tuple[int, PlacedShape]]) -> None:
        lines = [
            placed(wireframe(shape.shape), shape.body_from_shape.matrix()) for _, shape in shapes
        ]
        counts = [len(part) for part in lines]
        self._segments = np.concatenate([np.zeros((0, 2, 3)), *lines])
        self._rows = np.repeat(np.arange(len(shapes)), counts)
        self._nodes = np.repeat(np.array([node for node, _ in shapes], dtype=np.intp), counts)

    def strokes(
        self,
        world_from_node: FloatArray,
        colors: FloatArray | None = None,
        present: BoolArray | None = None,
    ) -> Strokes:
        """The current lines of all shapes.

        Args:
            world_from_node: Rigid frames of all nodes, shape [node_count, 4, 4].
            colors: Colours by shape, shape [shape_count, 3].
            present: True for the shapes to draw, shape [shape_count]; ``None``: all.
        """
        segments, rows, nodes = self._segments, self._rows, self._nodes
        keep = np.ones(len(rows), dtype=bool) if present is None else present[rows]
        if not keep.all():
            segments, rows, nodes = segments[keep], rows[keep], nodes[keep]
        world = placed(segments, world_from_node[nodes])
        return Strokes(world, np.zeros((len(world), 3)) if colors is None else colors[rows])


def _attachment(
    world_from_a: FloatArray,
    world_from_b: FloatArray,
    limits: tuple[model.JointLimit, ...],
    size: float,
) -> list[Strokes]:
    """Both frames of a joint, the ranges of its limits, and pointers to its position in them."""
    parts = [
        Strokes(placed(frame_segments(0.5 * size), world_from_a), np.array(_AXES)),
        Strokes(placed(frame_segments(0.25 * size), world_from_b), np.array(_AXES)),
    ]
    for limit in limits:
        lines = limit_segments(limit, size, 20.0 * size)
        name = "limit" if np.isinf(limit.stiffness) else "soft limit"
        parts.append(Strokes.of(placed(lines, world_from_a), COLORS[name]))
    # The pointer starts at a's origin, so that it meets the arc also if b has moved off.
    world_from_pointer = world_from_b.copy()
    world_from_pointer[:3, 3] = world_from_a[:3, 3]
    pointers = placed(pointer_segments(limits, 1.1 * size), world_from_pointer)
    parts.append(Strokes.of(pointers, COLORS["pointer"]))
    return parts


def equivalent_half_extents(plan: BodyPlan) -> FloatArray:
    """Half extents of the uniform box with a body's mass and principal moments [m], shape [3].

    I_x = m (h_y^2 + h_z^2) / 3 and so on, solved for the h.
    """
    moments = np.array(plan.inertia_diagonal)
    squares = 1.5 * (moments.sum() - 2.0 * moments) / plan.mass
    extents: FloatArray = np.sqrt(np.maximum(squares, 0.0))
    return extents


def _meets_nothing(filters: list[tuple[int, model.CollisionFilter | None, bool]]) -> list[bool]:
    """True for colliders whose filters keep them from colliding with any other.

    Args:
        filters: Body (-1: none), filter, and True if no force moves it, for each collider. Two that
            no force moves never collide and do not count.
    """
    kinds: dict[tuple[int, model.CollisionFilter | None, bool], None] = dict.fromkeys(filters)
    allowed: dict[tuple[model.CollisionFilter | None, model.CollisionFilter | None], bool] = {}

    def meets(a: model.CollisionFilter | None, b: model.CollisionFilter | None) -> bool:
        if (a, b) not in allowed:
            allowed[a, b] = model.may_collide(a, b)
        return allowed[a, b]

    verdicts = {}
    for kind in kinds:
        body, own, unmoved = kind
        if own is None:
            verdicts[kind] = False
            continue
        partners = [
            other
            for other_body, other, other_unmoved in kinds
            if not (unmoved and other_unmoved) and (other_body != body or body < 0)
        ]
        verdicts[kind] = bool(partners) and not any(meets(own, other) for other in partners)
    return [verdicts[entry] for entry in filters]


def _matrices(frames: NodeFrames) -> FloatArray:
    """Rigid frames of all nodes, scale left out, shape [node_count, 4, 4]."""
    result = np.zeros((len(frames.rotations_xyzw), 4, 4))
    result[:, :3, :3] = matrices_from_quats(frames.rotations_xyzw)
    result[:, :3, 3] = frames.positions
    result[:, 3, 3] = 1.0
    return result


def _mark_size(shapes: list[PlacedShape], frames: NodeFrames) -> float:
    reaches = [
        float(np.ptp(wireframe(s.shape).reshape(-1, 3), axis=0).max()) / 2.0
        for s in shapes
        if not isinstance(s.shape, InfinitePlanePlan)
    ]
    if reaches:
        return max(float(np.median(reaches)), 1e-3)
    spread = np.ptp(frames.positions, axis=0).max() if len(frames.positions) else 0.0
    return max(0.1 * float(spread), 0.1)


def _usual_weight(scene: Scene) -> float:
    """[N] Force that is drawn as long as the mark size."""
    masses = [body.mass for body in scene.bodies.values() if body.mass > 0.0]
    return 9.81 * float(np.median(masses)) if masses else 1.0
