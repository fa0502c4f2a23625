"""Convex hulls: vertices, reduction to a budget with its error, recognition of boxes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gltf_bullet.disk_cache import read_entry, write_entry
from gltf_bullet.planning.shapes.shape_plans import PointSet
from gltf_bullet.transforms import FloatArray, IntArray, Pose

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

FLAT_THICKNESS = 1e-3
"""Thickness given to a hull whose points lie in one plane, relative to its size."""
CANDIDATES = 8192
"""Largest number of corners that a reduction chooses from; more are thinned before."""
BLOCK = 1 << 22
"""Numbers in memory at a time while each facet is compared with each corner."""


class Hull:
    """The convex hull of a point set, outward facing.

    Attributes:
        points: Vertices, shape [point_count, 3].
        triangles: Faces, shape [triangle_count, 3].
        deviation: Largest distance of the true hull from this one [m]; 0 when exact.
        was_flat: The points lay in one plane and were given a thickness.
    """

    __slots__ = ("deviation", "points", "triangles", "was_flat")

    def __init__(
        self, points: FloatArray, triangles: IntArray, deviation: float, was_flat: bool
    ) -> None:
        self.points = points
        self.triangles = triangles
        self.deviation = deviation
        self.was_flat = was_flat


def convex_hull(points: FloatArray, max_points: int) -> Hull:
    """The hull of ``points``, reduced to ``max_points`` vertices where it has more.

    Raises:
        ValueError: Fewer than three points that differ, or a size that is not finite.
    """
    points = np.unique(np.asarray(points, dtype=np.float64), axis=0)
    was_flat = False
    if len(points) < 3:
        raise ValueError("a hull needs three points that are not one")
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        center, extent = 0.5 * (low + high), float((high - low).max())
    if not 0.0 < extent < np.inf:
        raise ValueError("a hull needs three points that are not one, and a finite size")
    # Qhull gets points about the origin and of size 1: with a radius of 1e160 it ends the process
    # (measured), and its tolerances are made for such numbers.
    even = (points - center) / extent
    # Not the full matrices: one of them has a row and a column per point, 12 GB for 40 000.
    _, spread, axes = np.linalg.svd(even - even.mean(axis=0), full_matrices=False)
    if spread[1] < 1e-9 * spread[0]:
        raise ValueError("a hull needs three points that are not on one line")
    if spread[2] < 1e-7 * spread[0]:
        offset = axes[2] * (0.5 * FLAT_THICKNESS)
        even = np.concatenate([even + offset, even - offset])
        points = np.concatenate([points + offset * extent, points - offset * extent])
        was_flat = True
    hull = _qhull(even)
    deviation = 0.0
    if len(hull.vertices) > max_points:
        corners = even[hull.vertices]
        candidates = _thinned(corners, max(CANDIDATES, 4 * max_points))
        kept = hull.vertices[candidates[_spread_subset(corners[candidates], max_points)]]
        reduced = _qhull(even[kept])
        _, heights = _furthest(reduced.equations[:, :3], corners)
        deviation = max(0.0, float((heights + reduced.equations[:, 3]).max())) * extent
        points, even, hull = points[kept], even[kept], reduced
    vertices = np.sort(hull.vertices)
    renumber = np.full(len(points), -1, dtype=np.int64)
    renumber[vertices] = np.arange(len(vertices))
    triangles = renumber[_outward(even, hull)]
    return Hull(points[vertices], triangles, deviation, was_flat)


def hull_faces(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outward normals [k, 3] and offsets [k] of the planes ``normals @ x == offsets`` of a hull.

    Raises:
        ValueError: The points have no hull.
    """
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    extent = float(np.ptp(points, axis=0).max())
    if not 0.0 < extent < np.inf:
        raise ValueError("a hull needs points that differ and a finite size")
    equations = _qhull((points - center) / extent).equations
    normals: FloatArray = equations[:, :3]
    return normals, normals @ center - equations[:, 3] * extent


def _qhull(points: FloatArray) -> ConvexHull:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points)
    except QhullError:
        # Joggled input resolves what merging facets could not (nearly flat clusters).
        try:
            return ConvexHull(points, qhull_options="QJ")
        except QhullError as error:
            raise ValueError("no hull of its points can be computed") from error


def _outward(points: FloatArray, hull: ConvexHull) -> IntArray:
    """Hull facets wound so that their normals point outwards (Qhull does not promise it)."""
    triangles = hull.simplices.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return triangles


def _spread_subset(points: FloatArray, count: int) -> IntArray:
    """The ``count`` points that represent a hull best.

    Half of them reach furthest in evenly spread directions (a Fibonacci sphere); the rest are
    those that the hull of the chosen ones misses most, facet by facet.
    """
    index = np.arange(count // 2)
    height = 1.0 - (2.0 * index + 1.0) / len(index)
    angle = np.pi * (1.0 + 5.0**0.5) * index
    ring = np.sqrt(1.0 - height**2)
    directions = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    # Directions are spread in the normalised shape, so that thin ones keep their detail.
    center, scale = points.mean(axis=0), np.ptp(points, axis=0)
    even = (points - center) / scale
    # The extremes along the axes span a volume, whatever the directions pick.
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    # One row per direction or facet: the search for the largest runs along memory.
    chosen = np.unique(_furthest(np.concatenate([axes, directions]), even)[0])[:count]
    while len(chosen) < count:
        facets = _qhull(even[chosen]).equations
        furthest, beyond = _furthest(facets[:, :3], even)
        missed = beyond + facets[:, 3]
        furthest = furthest[missed > 1e-9]
        if not len(furthest):
            break
        worst = np.argsort(-missed[missed > 1e-9], kind="stable")
        # A quarter at a time: each point added changes what is missed around it.
        step = max(1, (count - len(chosen)) // 4)
        added = list(dict.fromkeys(furthest[worst].tolist()))[:step]
        chosen = np.union1d(chosen, added)
    return chosen.astype(np.int64)


def _furthest(directions: FloatArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each direction the point that reaches furthest along it, and how far."""
    found = np.empty(len(directions), dtype=np.int64)
    reach = np.empty(len(directions))
    rows = max(1, BLOCK // len(points))
    for begin in range(0, len(directions), rows):
        part = directions[begin : begin + rows] @ points.T
        found[begin : begin + rows] = best = np.argmax(part, axis=1)
        reach[begin : begin + rows] = part[np.arange(len(part)), best]
    return found, reach


def _thinned(points: FloatArray, most: int) -> IntArray:
    """At most about ``most`` of the corners of a hull, spread over it; all where they are fewer.

    The sides of a cube around the middle are divided into squares: of the corners that are seen
    through one square, the one that reaches furthest stays, and the extremes along the axes do.
    """
    if len(points) <= most:
        return np.arange(len(points))
    low, high = points.min(axis=0), points.max(axis=0)
    outward = (points - 0.5 * (low + high)) / (high - low)
    size = np.abs(outward).max(axis=1)
    side = np.abs(outward).argmax(axis=1)
    rows = np.arange(len(points))
    across = outward[rows[:, None], (side[:, None] + [1, 2]) % 3] / size[:, None]
    per_side = max(1, int((most / 6.0) ** 0.5))
    square = np.clip(((across + 1.0) * (0.5 * per_side)).astype(np.int64), 0, per_side - 1)
    number = 2 * side + (outward[rows, side] > 0.0)
    number = (number * per_side + square[:, 0]) * per_side + square[:, 1]
    order = np.lexsort((-np.linalg.norm(outward, axis=1), number))
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    extremes = [points.argmin(axis=0), points.argmax(axis=0)]
    kept: IntArray = np.unique(np.concatenate([order[first], *extremes]))
    return kept


def box_of_hull(hull: Hull) -> tuple[tuple[float, float, float], Pose] | None:
    """Half extents and frame when the hull is a box, else ``None``.

    A box-shaped hull as GEOM_BOX rests without margin and lands flat (DESIGN, "Restitution").
    """
    if len(hull.points) != 8 or hull.was_flat or hull.deviation > 0.0:
        return None
    corner = hull.points[0]
    edges = hull.points[1:] - corner
    order = np.argsort(np.linalg.norm(edges, axis=1))
    x = edges[order[0]]
    candidates = [edges[k] for k in order[1:]]
    y = next((e for e in candidates if abs(e @ x) < 1e-6 * _product(e, x)), None)
    if y is None:
        return None
    normal = np.cross(x, y)
    z = next(
        (e for e in candidates if np.linalg.norm(np.cross(e, normal)) < 1e-6 * _product(e, normal)),
        None,
    )
    if z is None:
        return None
    sums = np.array([i * x + j * y + k * z for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    size = float(np.linalg.norm(sums[-1]))
    gaps = np.linalg.norm((hull.points - corner)[:, None] - sums[None], axis=2).min(axis=1)
    if gaps.max() > 1e-6 * size:
        return None
    lengths = [float(np.linalg.norm(axis)) for axis in (x, y, z)]
    frame = np.eye(4)
    frame[:3, 0], frame[:3, 1] = x / lengths[0], y / lengths[1]
    frame[:3, 2] = np.cross(frame[:3, 0], frame[:3, 1])
    frame[:3, 3] = corner + 0.5 * (x + y + z)
    return (0.5 * lengths[0], 0.5 * lengths[1], 0.5 * lengths[2]), Pose.from_matrix(frame)


def _product(a: FloatArray, b: FloatArray) -> float:
    return float(np.linalg.norm(a) * np.linalg.norm(b))


def weld(points: FloatArray, triangles: IntArray) -> tuple[FloatArray, IntArray]:
    """Merge vertices at the same place and drop triangles that lose a corner by it."""
    unique, inverse = np.unique(points, axis=0, return_inverse=True)
    welded = inverse.reshape(-1)[triangles]
    distinct = (
        (welded[:, 0] != welded[:, 1])
        & (welded[:, 1] != welded[:, 2])
        & (welded[:, 2] != welded[:, 0])
    )
    return unique, welded[distinct].astype(np.int64)


def are_closed(triangles: IntArray) -> bool:
    """Return True if triangles form closed surfaces: edges are paired with their reverses."""
    forward, backward = _directed_edges(triangles)
    return bool(len(forward) and np.array_equal(forward, backward))


def _directed_edges(triangles: IntArray) -> tuple[IntArray, IntArray]:
    """A number for each directed edge, and for the same edge reversed, both sorted."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    span = int(triangles.max(initial=0)) + 1
    return np.sort(edges[:, 0] * span + edges[:, 1]), np.sort(edges[:, 1] * span + edges[:, 0])


# --- Hulls cached on disk by their points: they take most of the first load of a robot -----------
#
# An entry is a mesh with its scale, whatever its pose. A cache that cannot be read or written is no
# error, and a damaged entry counts as missing.

_RECIPE = "2"
"""Version of the entries: raise it when the hull of equal points changes."""
_WORTH_IT = 200
"""Number of points from which on reading a hull is faster than computing it (0.1 ms). For fewer
points it is read only while scipy is not imported (0.25 s of a new process)."""
_HEADER, _ROW = 24, 24
"""Sizes in bytes: of four numbers and the deviation; of a point or a triangle."""


def cached_hull(points: PointSet, max_points: int, folder: Path) -> Hull:
    """The hull of ``convex_hull``, computed once per machine.

    Raises:
        ValueError: See ``convex_hull``.
    """
    path = folder / f"{points.digest}-{_RECIPE}-{max_points}.hull"
    is_slow = len(points.points) >= _WORTH_IT or "scipy.spatial" not in sys.modules
    found = _read(path) if is_slow else None
    if found is None:
        found = convex_hull(points.points, max_points)
        if is_slow or not path.exists():
            _write(path, found)
    return found


def _read(path: Path) -> Hull | None:
    content = read_entry(path)
    if content is None or len(content) < _HEADER:
        return None
    corners, faces, was_flat = np.frombuffer(content, "<i4", 3).tolist()
    if min(corners, faces) < 0 or len(content) != _HEADER + _ROW * (corners + faces):
        return None
    deviation = float(np.frombuffer(content, "<f8", 1, 16)[0])
    points = np.frombuffer(content, "<f8", 3 * corners, _HEADER).reshape(-1, 3)
    triangles = np.frombuffer(content, "<i8", 3 * faces, _HEADER + _ROW * corners).reshape(-1, 3)
    if not np.isfinite(points).all() or not ((triangles >= 0) & (triangles < corners)).all():
        return None
    return Hull(points, triangles, deviation, bool(was_flat))


def _write(path: Path, hull: Hull) -> None:
    sizes = np.array([len(hull.points), len(hull.triangles), hull.was_flat, 0], dtype="<i4")
    write_entry(
        path,
        (
            sizes.tobytes(),
            np.array([hull.deviation], dtype="<f8").tobytes(),
            hull.points.astype("<f8").tobytes(),
            hull.triangles.astype("<i8").tobytes(),
        ),
    )
