"""Dynamic bodies that begin around thousands of triangles: the engine looks at each in every step.

A factor in a file makes them: a robot of 25 km on a floor of 2304 triangles takes 12 s a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec import Struct

from gltf_bullet.bounds import BURIED_TRIANGLES
from gltf_bullet.diagnostics import ROOT, Diagnostics, error
from gltf_bullet.model import CollisionFilter, MotionKind, may_collide
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.shapes.extents import extent_of
from gltf_bullet.planning.shapes.shape_plans import (
    BvhPlan,
    ConvexPartsPlan,
    InfinitePlanePlan,
)
from gltf_bullet.transforms import FloatArray, IntArray

_INSIDE: Final = 0.9
"""A triangle is within a shape if its first corner is in the ellipsoid of the shape's box, shrunk
by this: what lies on the ground or in a bowl has hardly any there."""
_THINNEST: Final = 1e-9
"""[m]"""
_MOST_LOOKS: Final = 20_000_000
"""Most corners that are compared, which takes a second; scenes that were seen have a hundredth."""

TRIANGLES_WITHIN_BODIES: Final = error(
    "TRIANGLES_WITHIN_BODIES",
    "more than {allowed} triangles begin inside of dynamic bodies that collide with them, as those "
    "of node {other} in the body of this node; each step would take many seconds",
)


class _Solid(Struct, frozen=True):
    """A convex shape of a dynamic body, or several that share a box."""

    node: int
    filter: CollisionFilter | None
    parts: int
    middle: FloatArray
    """Centre of the box [m], shape [3]."""
    box_from_world: FloatArray
    """Makes the box a cube from -1 to 1, shape [3, 3]."""
    reach: float
    """Half of the longest edge of the box [m]."""


class _Mesh(Struct, frozen=True):
    """A triangle mesh of what forces do not move."""

    node: int
    filter: CollisionFilter | None
    corners: FloatArray
    """Its vertices in the world [m], shape [vertex_count, 3]."""
    counts: IntArray
    """Count of the triangles that begin at each of them, shape [vertex_count]."""


def report_buried_triangles(bodies: BodyPlans, diagnostics: Diagnostics) -> None:
    """Report an error if more triangles than the bound begin inside of dynamic bodies."""
    meshes = list(_meshes(bodies))
    if not meshes:
        return
    solids = list(_solids(bodies))
    weights = np.concatenate([mesh.counts for mesh in meshes])
    if sum(solid.parts for solid in solids) * int(weights.sum()) <= BURIED_TRIANGLES:
        return
    corners = np.concatenate([mesh.corners for mesh in meshes])
    owners = np.repeat(np.arange(len(meshes)), [len(mesh.corners) for mesh in meshes])
    axis = int(np.ptp(corners, axis=0).argmax())
    order = np.argsort(corners[:, axis])
    corners, owners, weights = corners[order], owners[order], weights[order]
    along = np.ascontiguousarray(corners[:, axis])
    found = looks = 0
    for solid in solids:
        near = solid.middle[axis] - solid.reach, solid.middle[axis] + solid.reach
        begin, end = np.searchsorted(along, near).tolist()
        looks += end - begin
        if looks > _MOST_LOOKS:
            return
        local = (corners[begin:end] - solid.middle) @ solid.box_from_world.T
        inside = begin + np.flatnonzero(np.einsum("ij,ij->i", local, local) < _INSIDE**2)
        counts = np.bincount(owners[inside], weights[inside])
        for number in np.flatnonzero(counts).tolist():
            if may_collide(solid.filter, meshes[number].filter):
                found += solid.parts * int(counts[number])
            if found > BURIED_TRIANGLES:
                diagnostics.report(
                    TRIANGLES_WITHIN_BODIES, ROOT / "nodes" / solid.node,
                    allowed=BURIED_TRIANGLES, other=meshes[number].node,
                )  # fmt: skip
                return


def _solids(bodies: BodyPlans) -> Iterator[_Solid]:
    for plan in bodies.bodies.values():
        if plan.kind is not MotionKind.DYNAMIC:
            continue
        for group in plan.groups:
            for placed in group.shapes:
                shape = placed.shape
                if isinstance(shape, (BvhPlan, InfinitePlanePlan)):
                    continue
                extent = extent_of(placed)
                axes = plan.world_from_body.matrix()[:3, :3] @ extent.axes
                half = np.maximum(extent.half, _THINNEST)
                yield _Solid(
                    plan.node,
                    group.filter,
                    len(shape.parts) if isinstance(shape, ConvexPartsPlan) else 1,
                    np.array(plan.world_from_body.apply(tuple(extent.center.tolist()))),
                    axes.T / half[:, None],
                    float(half.max()),
                )


def _meshes(bodies: BodyPlans) -> Iterator[_Mesh]:
    still = [plan for plan in bodies.bodies.values() if plan.kind is not MotionKind.DYNAMIC]
    placed = [(s.node, s.filter, s.world_from_collider, s.shape) for s in bodies.statics]
    placed += [
        (plan.node, group.filter, plan.world_from_body, shape)
        for plan in still
        for group in plan.groups
        for shape in group.shapes
    ]
    for node, filter_, world, shape in placed:
        if isinstance(shape.shape, BvhPlan):
            matrix = (world @ shape.body_from_shape).matrix()
            mesh = shape.shape.mesh
            points = mesh.points @ matrix[:3, :3].T + matrix[:3, 3]
            counts = np.bincount(mesh.triangles[:, 0], minlength=len(points))
            yield _Mesh(node, filter_, points, counts)
