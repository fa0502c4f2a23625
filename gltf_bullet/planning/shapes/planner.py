"""Engine shapes from the model's shapes: what is exact, what is approximated and by how much.

Implements KHR_implicit_shapes and "Geometry" of KHR_physics_rigid_bodies for any node scale:
uniform, non-uniform, negative (absolute value), sheared, and zero (disabled). The file is long
since each kind of shape has its own rules, and all share these scales and limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, JsonPointer, error, note, warning
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.model import Box, Capsule, Cylinder, MeshShape, Plane, Shape, Sphere
from gltf_bullet.model.mass_properties import Moments, mesh_moments, solid_moments
from gltf_bullet.number_ranges import PLACED_SIZE
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.concave_meshes import ConcavePlanner, hull_shape, is_convex, tidy
from gltf_bullet.planning.shapes.decomposition import Decomposer
from gltf_bullet.planning.shapes.hulls import Hull, are_closed, cached_hull, convex_hull, weld
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    PointSet,
    ShapePlan,
    SpherePlan,
    TriangleSet,
)
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, Pose, split_linear

# --- Bullet primitives that equal a scaled solid, exactly or nearly -------------------------------

_EXACT = 1e-6
"""Share of its size by which a solid may differ unreported: files hold single-precision floats."""
_NEARLY = 5e-3
"""Share by which it may differ with a report: a hull of many points is further off (1 to 3 %)."""


def near_primitive(
    shape: Box | Sphere | Capsule | Cylinder, size: FloatArray, shear: float
) -> tuple[ShapePlan, float] | None:
    """The primitive that replaces a solid scaled by ``size``, and its error [m], 0.0 if exact.

    ``None`` if a hull is closer. ``shear``: deviation of the scale's axes from right angles.
    """
    sx, sy, sz = size.tolist()
    is_round, is_uniform = abs(sx - sz) <= _EXACT * sx, float(np.ptp(size)) <= _EXACT * sx
    across, mean = sx if is_round else 0.5 * (sx + sz), sx if is_uniform else float(size.mean())
    plan: ShapePlan
    match shape:
        case Box(size=(x, y, z)):
            # A sheared box has eight corners: their hull is exact.
            plan, share, reach = BoxPlan((0.5 * x * sx, 0.5 * y * sy, 0.5 * z * sz)), 0.0, 0.0
            if shear > _EXACT:
                return None
        case Sphere(radius=radius):
            share, reach = float(np.ptp(size)) / mean, radius * mean
            plan = SpherePlan(reach)
        case Capsule(radius_bottom=a, radius_top=b) if a == b:
            share, reach = float(np.ptp(size)) / mean, a * mean
            plan = CapsulePlan(reach, shape.mid_height * sy)
        case Cylinder(radius_bottom=a, radius_top=b) if a == b:
            share, reach = abs(sx - sz) / across, a * across
            plan = CylinderPlan(reach, shape.height * sy)
        case _:
            return None
    if share <= _EXACT and shear <= _EXACT:
        return plan, 0.0
    length = reach + 0.5 * _height(shape) * sy
    off = share * reach + shear * length
    return (plan, off) if off <= _NEARLY * reach else None


def _height(shape: Box | Sphere | Capsule | Cylinder) -> float:
    match shape:
        case Capsule(mid_height=height) | Cylinder(height=height):
            return height
        case _:
            return 0.0


# --- Points for round shapes without a Bullet primitive: tapered, stretched or sheared ones -------
#
# Rings of vertices are laid on the true surface; the error is measured facet by facet against the
# shape's support function, which is exact for every linear map.

_USUAL = 256
"""Number of vertices that the numbers below are chosen for."""
_SEGMENTS = {Cylinder: 64, Capsule: 24, Sphere: 20}
"""Vertices per ring: a sagitta of at most 1.2 % of the radius."""
_TIP = 1e-6
"""Ratio of two radii below which the smaller one is a tip: qhull loses facets that are a billion
times smaller than the others."""
_CAP_RINGS = 5
"""Rings per cap of a capsule, pole included."""
_SPHERE_RINGS = 11
"""Rings from pole to pole, or between the poles."""


def round_hull(
    shape: Sphere | Capsule | Cylinder, linear: FloatArray, most_points: int = _USUAL
) -> Hull:
    """The hull of ``linear @ shape`` with its ``deviation`` [m] from the true surface.

    It has about ``most_points`` vertices; four times as many halve each distance between two of
    them.
    """
    finer = math.sqrt(most_points / _USUAL)
    hull = convex_hull(_surface_points(shape, finer) @ linear.T, max_points=1 << 20)
    corners = hull.points[hull.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    keep = lengths > 1e-12 * lengths.max()
    normals = normals[keep] / lengths[keep, None]
    offsets = np.einsum("ij,ij->i", normals, corners[keep, 0])
    gaps = _support(shape, normals @ linear) - offsets
    hull.deviation = float(max(0.0, gaps.max()))
    return hull


def _support(shape: Sphere | Capsule | Cylinder, directions: FloatArray) -> FloatArray:
    """Support of the shape, times the length of each direction, shape [direction_count]."""
    reach: FloatArray
    if isinstance(shape, Sphere):
        reach = shape.radius * np.linalg.norm(directions, axis=1)
    elif isinstance(shape, Cylinder):
        flat = np.hypot(directions[:, 0], directions[:, 2])
        half = 0.5 * shape.height * directions[:, 1]
        reach = np.maximum(-half + shape.radius_bottom * flat, half + shape.radius_top * flat)
    else:
        length = np.linalg.norm(directions, axis=1)
        half = 0.5 * shape.mid_height * directions[:, 1]
        reach = np.maximum(-half + shape.radius_bottom * length, half + shape.radius_top * length)
    return reach


def _surface_points(shape: Sphere | Capsule | Cylinder, finer: float) -> FloatArray:
    def times(count: int) -> int:
        return max(3, int(count * finer))

    def around(kind: type) -> int:
        # A multiple of four: a shape rests on its extremes along the axes.
        return max(4, 4 * int(0.25 * _SEGMENTS[kind] * finer))

    segments, cap_rings = around(type(shape)), times(_CAP_RINGS)
    if isinstance(shape, Cylinder):
        segments = max(6, 4 * (int(_SEGMENTS[Cylinder] * finer * finer) // 4))
        half = 0.5 * shape.height
        return np.concatenate(
            [
                _ring(-half, _tip(shape.radius_bottom, shape.radius_top), segments),
                _ring(half, _tip(shape.radius_top, shape.radius_bottom), segments),
            ]
        )
    if isinstance(shape, Sphere):
        latitudes = np.linspace(-0.5 * math.pi, 0.5 * math.pi, times(_SPHERE_RINGS) + 2)
        return _latitude_rings(0.0, shape.radius, latitudes, segments)
    half, rb, rt = 0.5 * shape.mid_height, shape.radius_bottom, shape.radius_top
    rb, rt = _tip(rb, rt), _tip(rt, rb)
    if abs(rb - rt) >= shape.mid_height:
        center, radius = (-half, rb) if rb >= rt else (half, rt)
        latitudes = np.linspace(-0.5 * math.pi, 0.5 * math.pi, times(_SPHERE_RINGS))
        return _latitude_rings(center, radius, latitudes, around(Sphere))
    # The tube touches both spheres at this latitude.
    tangent = math.asin((rb - rt) / shape.mid_height)
    low = np.linspace(-0.5 * math.pi, tangent, cap_rings + 1)
    high = np.linspace(tangent, 0.5 * math.pi, cap_rings + 1)
    return np.concatenate(
        [_latitude_rings(-half, rb, low, segments), _latitude_rings(half, rt, high, segments)]
    )


def _latitude_rings(
    center_y: float, radius: float, latitudes: FloatArray, segments: int
) -> FloatArray:
    return np.concatenate(
        [
            _ring(center_y + radius * math.sin(a), radius * math.cos(a), segments)
            for a in latitudes.tolist()
        ]
    )


def _tip(radius: float, other: float) -> float:
    """``radius``, or 0 if it is negligible beside the other radius of its shape."""
    return radius if radius > _TIP * other else 0.0


def _ring(y: float, radius: float, segments: int) -> FloatArray:
    if radius <= 1e-12:
        return np.array([[0.0, y, 0.0]])
    angle = 2.0 * math.pi * np.arange(segments) / segments
    return np.stack([radius * np.cos(angle), np.full(segments, y), radius * np.sin(angle)], axis=1)


# --- Largest and smallest sizes of the model's shapes that the engine can handle ------------------

LEAST_THICKNESS = 1e-6
"""Smallest thickness [m]: the engine refuses balls and capsules of radius 0, and a shape thinner
than a thousandth of its own contact margin collides unreliably."""


def reach_of(shape: Shape) -> float:
    """Largest size of a shape along an axis of its own [m]; 0 for meshes and infinite planes."""
    match shape:
        case Box(size=size):
            return max(size)
        case Sphere(radius=radius):
            return radius
        case Capsule(radius_bottom=bottom, radius_top=top, mid_height=height):
            return max(bottom, top) + height
        case Cylinder(radius_bottom=bottom, radius_top=top, height=height):
            return max(bottom, top, height)
        case Plane(size_x=x, size_z=z):
            return max((size for size in (x, z) if math.isfinite(size)), default=0.0)
        case MeshShape():
            return 0.0


def with_thickness(
    shape: Box | Sphere | Capsule | Cylinder, scale: FloatArray
) -> Box | Sphere | Capsule | Cylinder:
    """``shape``, with sizes below :data:`LEAST_THICKNESS` raised to it.

    Args:
        shape: The model's shape.
        scale: Size of the node along each axis, none of them 0, shape [3].
    """
    least_x, least_y, least_z = (LEAST_THICKNESS / scale).tolist()
    least_r = max(least_x, least_z)
    match shape:
        case Box(size=(x, y, z)):
            size = (max(x, least_x), max(y, least_y), max(z, least_z))
            return shape if size == shape.size else replace(shape, size=size)
        case Sphere(radius=radius):
            least = max(least_x, least_y, least_z)
            return shape if radius >= least else replace(shape, radius=least)
        case Capsule() | Cylinder():
            if isinstance(shape, Cylinder) and shape.height < least_y:
                shape = replace(shape, height=least_y)
            if max(shape.radius_bottom, shape.radius_top) >= least_r:
                return shape
            return replace(shape, radius_bottom=least_r, radius_top=least_r)


# --- The engine shape of each shape of the model --------------------------------------------------

SHAPE_DISABLED = note(
    "SHAPE_DISABLED",
    "the node's scale is zero on all axes; the shape is disabled as the text demands",
)
SHAPE_DEGENERATE = warning(
    "SHAPE_DEGENERATE",
    "the shape has no volume ({why}); it is given a thickness of {thickness:.3g} m",
)
SHAPE_EMPTY = warning("SHAPE_EMPTY", "the mesh gives no usable {what}; the collider is left out")
SHAPE_TOO_LARGE = error(
    "SHAPE_TOO_LARGE",
    "the shape is {got:.3g} m large, its node's scale included; must be at most {allowed:g} m",
)
ROUND_SHAPE_APPROXIMATED = warning(
    "ROUND_SHAPE_APPROXIMATED",
    "a {what} has no Bullet primitive; a hull of {points} points stands in, at most "
    "{deviation:.3g} m inside the true surface",
)
NEARLY_ROUND = note(
    "NEARLY_ROUND",
    "a {what} is all but a Bullet primitive, which stands in, at most {deviation:.3g} m off the "
    "true surface",
)
HULL_REDUCED = warning(
    "HULL_REDUCED",
    "the convex hull has more than {limit} vertices; it is reduced, at most {deviation:.3g} m "
    "inside the true hull",
)
PLANE_SIDES_APPROXIMATED = warning(
    "PLANE_SIDES_APPROXIMATED", "a {what} plane collides {how} in Bullet"
)
MESH_OPEN = note("MESH_OPEN", "the mesh is not closed; mass and inertia come from its convex hull")

MeshOf = Callable[[MeshShape], TriangleSet | None]
"""Gives the (morphed, skinned) triangles of a mesh shape in shape space; ``None``: unreadable."""

NO_SCALE = 1e-12
"""A smaller scale, by itself or beside the others of its node, is 0: a product of rounding."""
INFINITE_EXTENT = 1000.0
"""Half extent [m] of the triangles that stand for a plane infinite along one axis or two-sided."""

_HULL_MATTERS = 1e-4
"""Share of its size by which a reduced hull may lie inside of the true one without a finding."""

_FINER_AT_REST = 4
"""Factor of points of a round shape that does not move: facets then cut off a quarter as much."""

_SHEET_THICKNESS = 0.01
"""Largest thickness of a moving two-sided plane [m]."""


class PlannedShape(Struct, frozen=True, eq=False):
    """An engine shape in the collider's frame, and the moments of the true solid."""

    placed: PlacedShape
    moments: Moments
    """About the collider's origin, density 1."""


_known_hull = lru_cache(maxsize=4096)(cached_hull)
"""Hulls cached in memory, for further copies of a robot (measured: 96 hulls take 1 s)."""


class ShapePlanner:
    """Plans the shapes of one scene; equal shapes under equal scale are planned once."""

    def __init__(
        self,
        mesh_of: MeshOf,
        options: LoadOptions,
        diagnostics: Diagnostics,
        decomposer: Decomposer | None = None,
    ) -> None:
        self._mesh_of = mesh_of
        self._options = options
        self._diagnostics = diagnostics
        self._concave = ConcavePlanner(decomposer or Decomposer(options), options, diagnostics)
        self._planned: dict[tuple[Shape, bytes, bool, bool], PlannedShape | None] = {}
        self._meshes: dict[MeshShape, TriangleSet | None] = {}
        self._is_convex: dict[TriangleSet, bool] = {}

    def plan(
        self, shape: Shape, linear: FloatArray, *, moving: bool, bvh_allowed: bool, at: JsonPointer
    ) -> PlannedShape | None:
        """Plan ``linear @ shape`` in the collider's frame (the node's, without its scale).

        Args:
            shape: The model's shape.
            linear: Scale and shear of the collider node, shape [3, 3].
            moving: True if the collider belongs to a body that can move.
            bvh_allowed: True if a moving concave mesh may stay triangles: all partners are convex.
            at: Location of the findings.

        Returns:
            ``None`` when the shape is disabled or empty (an issue says so).
        """
        key = (shape, np.round(linear, 9).tobytes(), moving, bvh_allowed)
        if key not in self._planned:
            self._planned[key] = self._plan(shape, linear, moving, bvh_allowed, at)
        return self._planned[key]

    def is_concave(self, shape: Shape, *, moving: bool) -> bool:
        """True if a collider is a surface or half-space for the others, not a convex solid."""
        if isinstance(shape, Plane):
            return True
        if not isinstance(shape, MeshShape) or shape.convex_hull:
            return False
        mesh = self._mesh(shape)
        if mesh is None:
            return False
        return not moving or not self._convex(mesh)

    def _plan(
        self, shape: Shape, linear: FloatArray, moving: bool, bvh_allowed: bool, at: JsonPointer
    ) -> PlannedShape | None:
        reach = reach_of(shape)
        if isinstance(shape, MeshShape) and (mesh := self._mesh(shape)) is not None:
            reach = float(np.abs(mesh.points).max(initial=0.0))
        lengths = np.linalg.norm(linear, axis=0)
        reach *= float(lengths.max())
        if not reach <= PLACED_SIZE:
            self._diagnostics.report(SHAPE_TOO_LARGE, at, got=reach, allowed=PLACED_SIZE)
            return None
        if not lengths.max() > NO_SCALE:
            self._diagnostics.report(SHAPE_DISABLED, at)
            return None
        flat = lengths <= NO_SCALE * lengths.max()
        if flat.any():
            thickness = 1e-3 * float(lengths.max())
            self._diagnostics.report(
                SHAPE_DEGENERATE, at, why="a scale of zero", thickness=thickness
            )
            linear = np.where(flat, 0.0, linear)
            linear = linear + _missing_axes(linear, thickness)
        if not isinstance(shape, MeshShape | Plane):
            # KHR_implicit_shapes, "Geometry": the absolute value of a scale counts, so that what
            # is thicker at one end is not turned over. Meshes are mirrored as the nodes are.
            linear = linear * np.where(np.diagonal(linear) < 0.0, -1.0, 1.0)
        rotation, scale, shear = split_linear(linear)
        size = np.abs(scale)
        if isinstance(shape, MeshShape):
            return self._plan_mesh(shape, linear, moving, bvh_allowed, at)
        if isinstance(shape, Plane):
            return self._plan_plane(shape, linear, moving, at)
        thick = with_thickness(shape, size)
        if thick != shape:
            self._diagnostics.report(
                SHAPE_DEGENERATE, at, why="a size next to nothing", thickness=LEAST_THICKNESS
            )
        shape = thick
        moments = solid_moments(shape).mapped(linear, np.zeros(3))
        turn = Pose(tuple(rotation.tolist()), (0.0, 0.0, 0.0))
        found = near_primitive(shape, size, float(shear))
        if found is not None:
            plan, off = found
            if off > 0.0:
                self._diagnostics.report(
                    NEARLY_ROUND, at, what=_describe(shape, size, float(shear)), deviation=off
                )
            return PlannedShape(PlacedShape(plan, tidy(turn)), moments)
        try:
            points = self._options.stand_in_points * (1 if moving else _FINER_AT_REST)
            hull = self._solid_hull(shape, linear, _describe(shape, size, float(shear)), points, at)
        except ValueError as error:
            self._diagnostics.report(SHAPE_EMPTY, at, what=f"volume ({error})")
            return None
        return PlannedShape(PlacedShape(HullPlan(PointSet(hull.points))), moments)

    def _solid_hull(
        self,
        shape: Box | Sphere | Capsule | Cylinder,
        linear: FloatArray,
        what: str,
        most_points: int,
        at: JsonPointer,
    ) -> Hull:
        """The hull of a solid that Bullet has no primitive for.

        Raises:
            ValueError: It is too thin, beside its length, for a hull.
        """
        if isinstance(shape, Box):
            corners = np.array(
                [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
            )
            return convex_hull(corners * np.array(shape.size) @ linear.T, 8)
        hull = round_hull(shape, linear, most_points)
        self._diagnostics.report(
            ROUND_SHAPE_APPROXIMATED,
            at, what=what, points=len(hull.points), deviation=hull.deviation,
        )  # fmt: skip
        return hull

    def _plan_plane(
        self, shape: Plane, linear: FloatArray, moving: bool, at: JsonPointer
    ) -> PlannedShape:
        finite = math.isfinite(shape.size_x) and math.isfinite(shape.size_z)
        # Infinite extents stay infinite under any scale.
        reach_x, _, reach_z = (INFINITE_EXTENT / np.linalg.norm(linear, axis=0)).tolist()
        half_x = 0.5 * shape.size_x if math.isfinite(shape.size_x) else reach_x
        half_z = 0.5 * shape.size_z if math.isfinite(shape.size_z) else reach_z
        normal: FloatArray = np.linalg.inv(linear)[1]
        if normal[1] < 0.0:
            # A negative scale means its absolute value ("Geometry"): no plane turns over.
            normal = -normal
        unbounded = math.isinf(shape.size_x) and math.isinf(shape.size_z)
        if unbounded and not shape.double_sided and not moving:
            pose = _turn_from_y(normal)
            return PlannedShape(PlacedShape(InfinitePlanePlan(), pose), Moments.zero())
        if not finite:
            self._diagnostics.report(
                PLANE_SIDES_APPROXIMATED,
                at, what="moving, half-infinite or two-sided infinite",
                how=f"as a sheet that ends {INFINITE_EXTENT:g} m from its origin",
            )  # fmt: skip
        elif not shape.double_sided:
            self._diagnostics.report(
                PLANE_SIDES_APPROXIMATED, at, what="finite one-sided", how="from both sides"
            )
        corners = np.array([[sx * half_x, 0.0, sz * half_z] for sx in (-1, 1) for sz in (-1, 1)])
        corners = corners @ linear.T
        if not moving:
            mesh = TriangleSet(corners, [[0, 1, 2], [2, 1, 3]])
            return PlannedShape(PlacedShape(BvhPlan(mesh)), Moments.zero())
        # A sheet that moves must have an inside to collide with planes and meshes at all. It lies
        # below the surface; one with two surfaces is as thin as it can be.
        thickness = 1e-3 * max(float(np.ptp(corners, axis=0).max()), 1e-3)
        above = 0.5 * min(thickness, _SHEET_THICKNESS) if shape.double_sided else 0.0
        below = above if shape.double_sided else thickness
        up = normal / np.linalg.norm(normal)
        hull = convex_hull(np.concatenate([corners + above * up, corners - below * up]), 8)
        return PlannedShape(PlacedShape(HullPlan(PointSet(hull.points))), Moments.zero())

    def _plan_mesh(
        self,
        shape: MeshShape,
        linear: FloatArray,
        moving: bool,
        bvh_allowed: bool,
        at: JsonPointer,
    ) -> PlannedShape | None:
        mesh = self._mesh(shape)
        if mesh is None or not len(mesh.points):
            self._diagnostics.report(SHAPE_EMPTY, at, what="vertices")
            return None
        points, triangles = mesh.points @ linear.T, mesh.triangles
        if np.linalg.det(linear) < 0.0:
            triangles = triangles[:, ::-1]
        if not shape.convex_hull and not moving:
            if not len(triangles):
                self._diagnostics.report(SHAPE_EMPTY, at, what="triangles")
                return None
            return PlannedShape(
                PlacedShape(BvhPlan(TriangleSet(points, triangles))), Moments.zero()
            )
        try:
            hull = _known_hull(
                PointSet(points),
                self._options.max_hull_points,
                cache_folder(self._options.cache_folder),
            )
        except ValueError as error:
            self._diagnostics.report(SHAPE_EMPTY, at, what=f"volume ({error})")
            return None
        if hull.was_flat:
            self._diagnostics.report(
                SHAPE_DEGENERATE, at, why="all its points lie in one plane",
                thickness=1e-3 * float(np.ptp(points, axis=0).max()),
            )  # fmt: skip
        hull_moments = mesh_moments(hull.points, hull.triangles)
        if shape.convex_hull:
            return self._hull(hull, hull_moments, at)
        welded = weld(points, triangles)
        moments = hull_moments
        if not are_closed(welded[1]):
            if not self._convex(mesh):
                self._diagnostics.report(MESH_OPEN, at)
        else:
            turned = welded[0], welded[1][:, ::-1]
            for found in (mesh_moments(*welded), mesh_moments(*turned)):
                moments = found if found.volume > 0.0 else moments
        if self._convex(mesh):
            return self._hull(hull, moments, at)
        placed = self._concave.plan(TriangleSet(*welded), hull, moments, bvh_allowed, at)
        return PlannedShape(placed, moments)

    def _hull(self, hull: Hull, moments: Moments, at: JsonPointer) -> PlannedShape:
        if hull.deviation > _HULL_MATTERS * float(np.ptp(hull.points, axis=0).max()):
            self._diagnostics.report(
                HULL_REDUCED, at, limit=self._options.max_hull_points, deviation=hull.deviation
            )
        return PlannedShape(hull_shape(hull), moments)

    def _mesh(self, shape: MeshShape) -> TriangleSet | None:
        if shape not in self._meshes:
            self._meshes[shape] = self._mesh_of(shape)
        return self._meshes[shape]

    def _convex(self, mesh: TriangleSet) -> bool:
        if mesh not in self._is_convex:
            self._is_convex[mesh] = is_convex(mesh)
        return self._is_convex[mesh]


def _describe(shape: Box | Sphere | Capsule | Cylinder, size: FloatArray, shear: float) -> str:
    words = []
    if shear > 1e-6:
        words.append("sheared")
    elif float(np.ptp(size)) > 1e-6 * float(size.max()):
        words.append("non-uniformly scaled")
    if isinstance(shape, Capsule | Cylinder) and shape.radius_bottom != shape.radius_top:
        words.append("tapered")
    return " ".join([*words, type(shape).__name__.lower()])


def _turn_from_y(normal: FloatArray) -> Pose:
    """The shortest turn that brings +Y to ``normal``."""
    x, y, z = (normal / np.linalg.norm(normal)).tolist()
    if y < -1.0 + 1e-12:
        return Pose((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    length = math.sqrt(2.0 * (1.0 + y))
    return tidy(Pose((z / length, 0.0, -x / length, 0.5 * length), (0.0, 0.0, 0.0)))


def _missing_axes(linear: FloatArray, thickness: float) -> FloatArray:
    """Term to add to a singular map so that its zero columns get ``thickness``."""
    rotation, _, _ = split_linear(linear)
    frame = Pose(tuple(rotation.tolist()), (0.0, 0.0, 0.0)).matrix()[:3, :3]
    zero = ~linear.any(axis=0)
    return frame * np.where(zero, thickness, 0.0)
