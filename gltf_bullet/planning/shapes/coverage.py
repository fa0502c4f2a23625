"""Coverage of the properties of shapes: what is exact, approximated or left out."""

from __future__ import annotations

from typing import Final

from gltf_bullet.coverage import approximated, covers, exact
from gltf_bullet.planning.shapes.concave_meshes import CONCAVE_DECOMPOSED
from gltf_bullet.planning.shapes.planner import (
    HULL_REDUCED,
    PLANE_SIDES_APPROXIMATED,
    ROUND_SHAPE_APPROXIMATED,
    SHAPE_DEGENERATE,
)

_PLANNER: Final = "tests/planning/test_shape_planner.py"
_CHANGES: Final = "tests/runtime/test_shape_changes.py"
_REBUILT: Final = (
    "rebuilt when off by 1 % of its size; fixed ones carry what lies on them to 1 mm at 240 Hz"
)

COVERAGE: Final = covers(
    "Shapes",
    exact(
        "size",
        shown_by=f"{_PLANNER}::test_scale_along_the_axes_keeps_boxes_and_round_cylinders",
        when="any scale",
    ),
    exact(
        "size",
        shown_by=f"{_PLANNER}::test_a_sheared_box_is_its_exact_hull_without_a_warning",
        when="sheared",
        how="a hull of its eight corners",
    ),
    approximated("size", when="0 on one axis, or scaled by 0", by=SHAPE_DEGENERATE),
    exact(
        "radius",
        "height",
        shown_by=f"{_PLANNER}::test_uniform_scale_keeps_primitives",
        when="uniform scale; cylinders also along their axis",
    ),
    approximated("radius", "height", when="another scale, or sheared", by=ROUND_SHAPE_APPROXIMATED),
    exact(
        "radiusBottom",
        "radiusTop",
        shown_by=f"{_PLANNER}::test_uniform_scale_keeps_primitives",
        when="equal to each other",
    ),
    approximated("radiusBottom", "radiusTop", when="different", by=ROUND_SHAPE_APPROXIMATED),
    exact(
        "sizeX",
        "sizeZ",
        shown_by=f"{_PLANNER}::test_an_infinite_plane_is_a_half_space_where_it_rests",
        when="both absent, one-sided, at rest",
        how="Bullet's infinite plane",
    ),
    exact(
        "sizeX",
        "sizeZ",
        "doubleSided",
        shown_by=f"{_PLANNER}::test_a_finite_two_sided_plane_is_two_triangles_of_its_size",
        when="both given, two-sided, at rest",
    ),
    approximated(
        "sizeX",
        "sizeZ",
        "doubleSided",
        when="one-sided with an edge, two-sided without, or moving",
        by=PLANE_SIDES_APPROXIMATED,
    ),
    exact(
        "convexHull",
        "convex",
        shown_by=f"{_PLANNER}::test_a_moving_convex_mesh_becomes_a_hull",
        when="up to `LoadOptions.max_hull_points` (1024) vertices",
    ),
    approximated("convexHull", "convex", when="more vertices", by=HULL_REDUCED),
    exact(
        "mesh",
        "trimesh",
        shown_by=f"{_PLANNER}::test_a_static_mesh_stays_triangles",
        when="at rest",
    ),
    exact(
        "mesh",
        "trimesh",
        shown_by=f"{_PLANNER}::test_a_moving_concave_mesh_stays_triangles_among_convex_partners",
        when="moving among convex partners",
    ),
    approximated(
        "mesh",
        "trimesh",
        when="moving among planes and concave meshes",
        by=CONCAVE_DECOMPOSED,
    ),
    exact(
        "skin",
        shown_by=f"{_CHANGES}::test_skin_joints_place_the_collider_at_load",
        when="at load",
    ),
    approximated("skin", when="joints that move", how=_REBUILT),
    exact(
        "weights",
        shown_by=f"{_CHANGES}::test_authored_morph_weights_shape_the_collider_at_load",
        when="at load",
    ),
    exact(
        "useNodeWeights",
        shown_by="tests/dialects/test_mesh_geometry.py"
        "::test_a_shape_has_weights_of_its_own_or_of_the_node",
        when="at load",
    ),
    approximated("weights", "useNodeWeights", when="weights that change", how=_REBUILT),
)
