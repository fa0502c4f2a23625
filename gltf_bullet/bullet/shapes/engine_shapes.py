"""Collision shapes of a client, created once per content and kept while the client lives.

PyBullet never frees a shape that a body has used (measured: "Don't remove collision shape: it is
used", 35 KB per hull and 300 KB per 1280-triangle mesh and load), and it leaks the vertex lists of
every call. So shapes are kept per client and vertex lists per process, both by content: loading an
asset again costs no memory.

The file is long because hull rounding, margins and size limits all decide the arguments of the same
PyBullet call.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.planning.shapes import shape_plans
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray

# --- Corners of hulls that Bullet's rounding does not move ----------------------------------------
#
# ``btConvexHullComputer`` converts coordinates to integers: steps of 1/10216 of the hull's extents,
# from its middle, truncated (measured: a hull of 1.3 m was up to 0.13 mm too small, and smaller
# again each time that it was written to a file and loaded). Coordinates passed half a step further
# out are truncated to the nearest step; and those on such a grid, as of any hull that Bullet has
# made, stay unchanged.

OBJ_SCALE = 1.0000001
"""Scale of OBJ files for PyBullet, which multiplies single-precision numbers by it. With 1, both
ends of an axis would be rounded alike, and a hull that has lost a step at one of them could not be
made again.
"""

_END = 5108
"""Number of steps from the middle to either end; half of all ends lose one by rounding."""
_ON_GRID = 0.02
"""Largest distance from the grid in steps: the single precision of a file."""
_TRIES = 24
"""Neighbouring numbers of each end to try: one pair in two to four is rounded as wanted."""

_Kind = type[np.float32] | type[np.float64]


def on_hull_grid(points: FloatArray) -> FloatArray:
    """Return the points to pass for a hull with corners within half a step of ``points``.

    Args:
        points: Corners in any frame, shape [n, 3].
    """
    return np.stack([_on_axis(values, np.float64, 1.0) for values in points.T], axis=1)


def in_obj(points: FloatArray) -> FloatArray:
    """Do as :func:`on_hull_grid`, for a file that is read with a scale of :data:`OBJ_SCALE`."""
    handed = [_on_axis(values, np.float32, OBJ_SCALE) for values in points.T]
    return np.stack(handed, axis=1) / OBJ_SCALE


def _on_axis(values: FloatArray, kind: _Kind, scale: float) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return values
    # If the last step of an end was lost, the grid has one more there.
    for lost in ((0, 0), (0, 1), (1, 0), (1, 1)):
        handed = _handed(values, lost, kind, scale, _ON_GRID)
        # Other values are on a grid by chance, without ends from which the engine makes it.
        if handed is not None:
            return handed
    handed = _handed(values, (0, 0), kind, scale, 1.0)
    return values if handed is None else handed


def _handed(
    values: FloatArray, lost: tuple[int, int], kind: _Kind, scale: float, tolerance: float
) -> FloatArray | None:
    """Return the numbers to pass for values on a grid; ``None`` if they are not on it.

    Args:
        values: Coordinates along one axis.
        lost: Steps lost at the lower and at the upper end: 0 or 1.
        kind: Type of number that the engine is given.
        scale: Factor by which it multiplies them.
        tolerance: Largest distance of values from the grid, in steps.
    """
    low, high = float(values.min()), float(values.max())
    lost_low, lost_high = lost
    step = (high - low) / (2 * _END - lost_low - lost_high)
    numbers = (values - low) / step + (lost_low - _END)
    whole = np.rint(numbers)
    if np.abs(numbers - whole).max() > tolerance:
        return None
    keeps = not lost_low, not lost_high
    ends = _ends(low - lost_low * step, high + lost_high * step, keeps, kind, scale)
    if ends is None:
        return None
    handed: FloatArray = 0.5 * (ends[0] + ends[1]) + (whole + 0.5 * np.sign(whole)) * step
    handed[whole <= lost_low - _END], handed[whole >= _END - lost_high] = ends
    return handed


def _ends(
    low: float, high: float, keeps: tuple[bool, bool], kind: _Kind, scale: float
) -> tuple[float, float] | None:
    """Return numbers next to the ends of an axis whose last steps Bullet keeps as wanted."""
    lows, highs = _next_to(low, kind, scale), _next_to(high, kind, scale)
    for total in range(2 * _TRIES - 1):
        for k in range(max(0, total - _TRIES + 1), min(total, _TRIES - 1) + 1):
            ends = lows[k], highs[total - k]
            if _are_kept(*ends) == keeps:
                return ends
    return None


def _next_to(end: float, kind: _Kind, scale: float) -> list[float]:
    """Return an end and its neighbours as the engine gets them, the nearest first."""
    above = below = kind(end / scale)
    numbers = [above]
    for _ in range(_TRIES // 2):
        above, below = np.nextafter(above, kind(np.inf)), np.nextafter(below, kind(-np.inf))
        numbers += above, below
    return [float(number) * scale for number in numbers[:_TRIES]]


def _are_kept(low: float, high: float) -> tuple[bool, bool]:
    """Return True for each end that is a whole step from the middle, in Bullet's arithmetic."""
    step = (high - low) * (1.0 / (2 * _END))
    if not step > 0.0:  # to single precision a thin plate far out is flat
        return False, False
    per_unit, middle = 1.0 / step, (low + high) * 0.5
    return (low - middle) * per_unit <= -_END, (high - middle) * per_unit >= _END


HULL_MARGIN = 1e-5
"""Margin of hulls [m]; Bullet's own 1 mm lifts hulls off the floor, and 0 makes every ray miss
(measured).
"""
_LEAST_MESH_MARGIN, _BULLET_MARGIN = 3e-4, 1e-3
"""Smallest margin of meshes, and Bullet's own [m]; pegs of 8 to 40 mm with 0.3 mm of play go into
holes of triangles, which Bullet's own margin throws them out of at 240 Hz. On large meshes flat
blocks stop at inner edges more often without it: 13 of 80 at 240 Hz instead of 2 (measured).
"""
_MARGIN_OF_SIZE = 1e-3
"""Margin of a mesh as a share of its size, between the two bounds."""

MAX_VERTICES = 131072
MAX_INDICES = 524288
"""Limits of a mesh from memory; beyond them PyBullet fails or makes another shape (measured). A
mesh from a file has no such limit: 250000 vertices, 498002 triangles in 3 s (measured).
"""

# Passing the same list object again leaks nothing; a new one is leaked at every call (measured).
_VERTEX_LISTS: dict[
    shape_plans.PointSet | shape_plans.TriangleSet, tuple[list[list[float]], list[int]]
] = {}

_HULLS = (shape_plans.HullPlan, shape_plans.ConvexPartsPlan)

_FAR_AWAY = (0.0, 0.0, 1e6)
"""Position [m] where a temporary probe body touches nothing."""


def margin_of(shapes: Sequence[shape_plans.PlacedShape]) -> float | None:
    """Return the collision margin of a link with these shapes [m]; ``None``: Bullet's own."""
    if any(isinstance(placed.shape, _HULLS) for placed in shapes):
        return HULL_MARGIN
    meshes = [
        placed.shape.mesh for placed in shapes if isinstance(placed.shape, shape_plans.BvhPlan)
    ]
    size = max(
        (float(np.ptp(mesh.points, axis=0).max(initial=0.0)) for mesh in meshes), default=1.0
    )
    margin = max(_MARGIN_OF_SIZE * size, _LEAST_MESH_MARGIN)
    return margin if margin < _BULLET_MARGIN else None


class EngineShapes:
    """Shape ids by content for one session."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._id_by_content: dict[tuple[shape_plans.PlacedShape, ...], int] = {}
        self._has_margin: set[int] = set()
        # ``resetSimulation`` and reconnecting void all ids silently. If no body of ours is left to
        # ask for, a ball of random size that only we know shows if this is still the same world.
        self._sentinel_radius = 0.5 + 0.5 * secrets.randbits(48) / 2.0**48
        self._sentinel = self._create(pybullet.GEOM_SPHERE, radius=self._sentinel_radius)
        self.dummy_visual: int = pybullet.createVisualShape(
            pybullet.GEOM_BOX,
            halfExtents=[5e-4] * 3,
            rgbaColor=[0.0, 0.0, 0.0, 0.0],
            physicsClientId=client_id,
        )
        """Visual shape for bodies that show nothing: without one Bullet tessellates the collision
        shape, 150-220 us per round body (measured).
        """

    def answers(self) -> bool:
        """Return True if the sentinel is still the shape that we made.

        A body with the sentinel's shape is created for a moment: Bullet accepts any shape id
        silently and then returns the shape's size, or nothing. (A closest-point query would print a
        warning at every reconnection, and a new shape to compare ids with costs 27 KB for good;
        both measured.)
        """
        body_id = pybullet.createMultiBody(
            baseMass=0.0,
            baseCollisionShapeIndex=self._sentinel,
            basePosition=_FAR_AWAY,
            physicsClientId=self._client_id,
        )
        data = pybullet.getCollisionShapeData(body_id, -1, physicsClientId=self._client_id)
        pybullet.removeBody(body_id, physicsClientId=self._client_id)
        return bool(data) and abs(data[0][3][0] - self._sentinel_radius) < 1e-12

    def shape_id(self, shapes: tuple[shape_plans.PlacedShape, ...]) -> int:
        """Return the engine shape of one placed shape or of a compound of primitives and hulls.

        Raises:
            EngineError: The engine cannot make it.
        """
        if not shapes:
            return -1
        known = self._id_by_content.get(shapes)
        if known is None:
            known = self._create_placed(shapes)
            self._id_by_content[shapes] = known
        return known

    def settle_margin(
        self, shape_id: int, shapes: tuple[shape_plans.PlacedShape, ...], body_id: int, link: int
    ) -> None:
        """Set the margin of a hull or mesh; PyBullet needs a body that uses the shape for it."""
        if shape_id in self._has_margin:
            return
        margin = margin_of(shapes)
        if margin is None:
            return
        pybullet.changeDynamics(
            body_id, link, collisionMargin=margin, physicsClientId=self._client_id
        )
        self._has_margin.add(shape_id)

    def settle_margin_alone(
        self, shape_id: int, shapes: tuple[shape_plans.PlacedShape, ...]
    ) -> None:
        """Set the margin of a hull that no body uses, by a temporary body."""
        if shape_id in self._has_margin:
            return
        body_id = pybullet.createMultiBody(
            baseMass=0.0,
            baseCollisionShapeIndex=shape_id,
            baseVisualShapeIndex=self.dummy_visual,
            basePosition=_FAR_AWAY,
            physicsClientId=self._client_id,
        )
        self.settle_margin(shape_id, shapes, body_id, -1)
        pybullet.removeBody(body_id, physicsClientId=self._client_id)

    def _create_placed(self, shapes: tuple[shape_plans.PlacedShape, ...]) -> int:
        if len(shapes) > 1:
            return self._create_compound(shapes)
        shape, pose = shapes[0].shape, shape_plans.engine_pose(shapes[0])
        frame = {
            "collisionFramePosition": pose.translation,
            "collisionFrameOrientation": pose.rotation_xyzw,
        }
        if isinstance(shape, shape_plans.ConvexPartsPlan):
            return self._create_hulls([part.points for part in shape.parts], **frame)
        if isinstance(shape, shape_plans.BvhPlan) and _is_large(shape.mesh):
            # Without the first flag a file is taken as a hull.
            flags = pybullet.GEOM_FORCE_CONCAVE_TRIMESH | pybullet.GEOM_CONCAVE_INTERNAL_EDGE
            return self._create_from_file(_mesh_obj(shape.mesh), flags=flags, **frame)
        geometry, values = self._arguments(shape)
        return self._create(geometry, **frame, **values)

    def _create_hulls(self, hulls: Sequence[FloatArray], **values: Any) -> int:
        return self._create_from_file(parts_obj(hulls), meshScale=[OBJ_SCALE] * 3, **values)

    def _create_from_file(self, obj: str, **values: Any) -> int:
        with _temporary_file(obj) as path:
            return self._create(pybullet.GEOM_MESH, fileName=path, **values)

    def _create_compound(self, shapes: tuple[shape_plans.PlacedShape, ...]) -> int:
        hulls = [point for placed in shapes for point in _hulls_in_body(placed)]
        others = [placed for placed in shapes if not isinstance(placed.shape, _HULLS)]
        if not others:
            return self._create_hulls(hulls)
        poses = [shape_plans.engine_pose(placed) for placed in others]
        described = [self._arguments(placed.shape) for placed in others]
        with _temporary_file(parts_obj(hulls)) as path:
            names = [""] * len(others)
            if hulls:
                names.append(path)
                poses.append(IDENTITY_POSE)
                described.append((pybullet.GEOM_MESH, {}))
            scales = [[OBJ_SCALE] * 3] * len(names)
            shape_id = pybullet.createCollisionShapeArray(
                shapeTypes=[geometry for geometry, _ in described],
                halfExtents=[values.get("halfExtents", [1.0, 1.0, 1.0]) for _, values in described],
                radii=[values.get("radius", 1.0) for _, values in described],
                lengths=[values.get("height", 1.0) for _, values in described],
                collisionFramePositions=[pose.translation for pose in poses],
                collisionFrameOrientations=[pose.rotation_xyzw for pose in poses],
                physicsClientId=self._client_id,
                **({"fileNames": names, "meshScales": scales} if hulls else {}),
            )
        return _checked(shape_id)

    def _create(self, geometry: int, **values: Any) -> int:
        try:
            shape_id = pybullet.createCollisionShape(
                geometry, physicsClientId=self._client_id, **values
            )
        except (pybullet.error, SystemError) as error:
            raise EngineError(f"createCollisionShape: {error}") from error
        return _checked(shape_id)

    def _arguments(self, shape: shape_plans.ShapePlan) -> tuple[int, dict[str, Any]]:
        match shape:
            case shape_plans.BoxPlan(half_extents=half_extents):
                return pybullet.GEOM_BOX, {"halfExtents": half_extents}
            case shape_plans.SpherePlan(radius=radius):
                return pybullet.GEOM_SPHERE, {"radius": radius}
            case shape_plans.CapsulePlan(radius=radius, mid_height=height):
                return pybullet.GEOM_CAPSULE, {"radius": radius, "height": height}
            case shape_plans.CylinderPlan(radius=radius, height=height):
                return pybullet.GEOM_CYLINDER, {"radius": radius, "height": height}
            case shape_plans.InfinitePlanePlan():
                return pybullet.GEOM_PLANE, {"planeNormal": [0.0, 0.0, 1.0]}
            case shape_plans.HullPlan(vertices=vertices):
                return pybullet.GEOM_MESH, {"vertices": _vertex_lists(vertices)[0]}
            case shape_plans.BvhPlan(mesh=mesh):
                points, indices = _vertex_lists(mesh)
                # Without the internal-edge flag a box sliding over a flat grid stops up to 54 %
                # short and veers (measured).
                return pybullet.GEOM_MESH, {
                    "vertices": points,
                    "indices": indices,
                    "flags": pybullet.GEOM_CONCAVE_INTERNAL_EDGE,
                }
            case shape_plans.ConvexPartsPlan():
                raise ValueError("convex parts are created from a file")


def _checked(shape_id: int) -> int:
    if shape_id < 0:
        raise EngineError("the engine refused a collision shape")
    return shape_id


def _vertex_lists(
    mesh: shape_plans.PointSet | shape_plans.TriangleSet,
) -> tuple[list[list[float]], list[int]]:
    known = _VERTEX_LISTS.get(mesh)
    if known is None:
        indices = (
            mesh.triangles.reshape(-1).tolist() if isinstance(mesh, shape_plans.TriangleSet) else []
        )
        if len(mesh.points) > MAX_VERTICES or len(indices) > MAX_INDICES:
            raise EngineError(
                f"a mesh of {len(mesh.points)} vertices and {len(indices)} indices; the engine "
                f"holds {MAX_VERTICES} and {MAX_INDICES}"
            )
        is_hull = not isinstance(mesh, shape_plans.TriangleSet)
        known = (on_hull_grid(mesh.points) if is_hull else mesh.points).tolist(), indices
        _VERTEX_LISTS[mesh] = known
    return known


def _is_large(mesh: shape_plans.TriangleSet) -> bool:
    return len(mesh.points) > MAX_VERTICES or mesh.triangles.size > MAX_INDICES


def _mesh_obj(mesh: shape_plans.TriangleSet) -> str:
    """Return triangles as OBJ."""
    corners = (mesh.triangles + 1).tolist()
    lines = ["o mesh", *(f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.points.tolist())]
    lines += [f"f {a} {b} {c}" for a, b, c in corners]
    return "\n".join(lines)


def parts_obj(parts: Sequence[FloatArray]) -> str:
    """Return parts as OBJ objects, which load as one compound of hulls, without the 16-child limit.

    Read it with a scale of ``OBJ_SCALE``. PyBullet reads single precision, and each copy of a robot
    makes its hulls anew of all corners of all faces: short numbers and few faces halve the cost
    (measured).
    """
    lines: list[str] = []
    first = 1
    for number, points in enumerate(parts):
        lines.append(f"o part{number}")
        lines += [f"v {x} {y} {z}" for x, y, z in in_obj(points).astype(np.float32).astype(str)]
        # The loader keeps only vertices of faces; the hull is made of all of them.
        count = len(points)
        lines += [
            f"f {first + k} {first + (k + 1) % count} {first + (k + 2) % count}"
            for k in range(0, count, 3)
        ]
        first += count
    return "\n".join(lines)


def hulls_of(shape: shape_plans.ShapePlan) -> list[FloatArray]:
    """Return the corners of the hulls of a shape in its own frame; none for a primitive."""
    if isinstance(shape, shape_plans.HullPlan):
        return [shape.vertices.points]
    if isinstance(shape, shape_plans.ConvexPartsPlan):
        return [part.points for part in shape.parts]
    return []


def _hulls_in_body(placed: shape_plans.PlacedShape) -> list[FloatArray]:
    if placed.body_from_shape == IDENTITY_POSE:
        return hulls_of(placed.shape)
    matrix = placed.body_from_shape.matrix()
    return [points @ matrix[:3, :3].T + matrix[:3, 3] for points in hulls_of(placed.shape)]


@contextmanager
def _temporary_file(obj: str) -> Iterator[str]:
    # A fresh name each time: file contents are cached by path for the life of the client.
    handle, path = tempfile.mkstemp(dir=scratch_folder(), suffix=".obj")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(obj)
        yield path
    finally:
        os.unlink(path)
