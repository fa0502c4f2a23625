"""Moving concave meshes as triangles, convex parts or a hull, and the error of each choice.

DESIGN, "Moving concave mesh": triangles collide well with convex shapes and fall through planes and
other meshes, so convex parts are the general answer, and a hull the last one.
"""

from __future__ import annotations

from gltf_bullet.diagnostics import Diagnostics, JsonPointer, warning
from gltf_bullet.model.mass_properties import Moments, mesh_moments
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.shapes.decomposition import Decomposer
from gltf_bullet.planning.shapes.hulls import Hull, are_closed, box_of_hull, convex_hull, weld
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    ConvexPartsPlan,
    HullPlan,
    PlacedShape,
    PointSet,
    TriangleSet,
)
from gltf_bullet.transforms import IDENTITY_POSE, Pose

CONCAVE_DECOMPOSED = warning(
    "CONCAVE_DECOMPOSED",
    "a moving concave mesh stands as {parts} convex parts of {ratio:.3g} times its volume",
)
CONCAVE_AS_HULL = warning(
    "CONCAVE_AS_HULL",
    "a moving concave mesh stands as its convex hull, whose volume is {ratio:.3g} of the mesh's",
)
DECOMPOSITION_STOPPED = warning(
    "DECOMPOSITION_STOPPED",
    "decomposing a concave mesh was stopped ({why}); {parts} coarse convex parts of "
    "{ratio:.3g} times its volume stand in (LoadOptions.decomposition_seconds)",
)
DECOMPOSITION_FAILED = warning(
    "DECOMPOSITION_FAILED",
    "a concave mesh could not be decomposed ({why}); its convex hull, {ratio:.3g} times its "
    "volume, stands in (LoadOptions.decomposition_seconds, LoadOptions.concave)",
)


class ConcavePlanner:
    """Plans the moving concave meshes of one scene."""

    def __init__(
        self, decomposer: Decomposer, options: LoadOptions, diagnostics: Diagnostics
    ) -> None:
        self._decomposer = decomposer
        self._choice = options.concave
        self._diagnostics = diagnostics

    def plan(
        self, mesh: TriangleSet, hull: Hull, moments: Moments, bvh_allowed: bool, at: JsonPointer
    ) -> PlacedShape:
        """Plan ``mesh``, welded, with its ``hull`` and the ``moments`` of what it encloses."""
        volume = max(moments.volume, 1e-300)
        hull_ratio = mesh_moments(hull.points, hull.triangles).volume / volume
        if self._choice == "hull":
            self._diagnostics.report(CONCAVE_AS_HULL, at, ratio=hull_ratio)
            return hull_shape(hull)
        if self._choice == "bvh" or (self._choice == "auto" and bvh_allowed):
            return PlacedShape(BvhPlan(mesh))
        found = self._decomposer.decompose(mesh)
        if found.outcome == "none":
            why = found.reason or "coacd gave no part with a volume"
            self._diagnostics.report(DECOMPOSITION_FAILED, at, why=why, ratio=hull_ratio)
            return hull_shape(hull)
        covered = 0.0
        for part in found.parts:
            solid = convex_hull(part.points, len(part.points))
            covered += mesh_moments(solid.points, solid.triangles).volume
        count, ratio = len(found.parts), covered / volume
        if found.outcome == "full":
            self._diagnostics.report(CONCAVE_DECOMPOSED, at, parts=count, ratio=ratio)
        else:
            self._diagnostics.report(
                DECOMPOSITION_STOPPED, at, why=found.reason, parts=count, ratio=ratio
            )
        return PlacedShape(ConvexPartsPlan(found.parts, mesh))


def hull_shape(hull: Hull) -> PlacedShape:
    """The shape of a hull: a box where it is one (DESIGN, "Restitution")."""
    box = box_of_hull(hull)
    if box is not None:
        return PlacedShape(BoxPlan(box[0]), tidy(box[1]))
    return PlacedShape(HullPlan(PointSet(hull.points)))


def is_convex(mesh: TriangleSet) -> bool:
    """Return True if triangles fill their convex hull, as its surface or as touching parts."""
    points, triangles = weld(mesh.points, mesh.triangles)
    if len(points) < 4 or not are_closed(triangles):
        return False
    try:
        hull = convex_hull(points, max_points=len(points))
    except ValueError:
        return False
    volume = abs(mesh_moments(points, triangles).volume)
    hull_volume = mesh_moments(hull.points, hull.triangles).volume
    # Parts that overlap count twice: their union may leave something of the hull empty.
    return not hull.was_flat and abs(volume - hull_volume) <= 1e-4 * hull_volume


def tidy(pose: Pose) -> Pose:
    """The identity, exactly, if the pose is one within rounding."""
    x, y, z, _ = pose.rotation_xyzw
    if max(map(abs, (x, y, z, *pose.translation))) < 1e-12:
        return IDENTITY_POSE
    return pose
