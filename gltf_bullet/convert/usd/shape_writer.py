"""Collision shapes of the model as prims of UsdGeom."""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, Vt

from gltf_bullet.convert.usd.joint_writer import solved
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import Box, Capsule, Cylinder, MeshShape, MotionKind, Plane, Shape, Sphere
from gltf_bullet.model.mass_properties import mesh_moments, solid_moments
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes.collision_meshes import collision_mesh
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.planner import INFINITE_EXTENT
from gltf_bullet.planning.shapes.shape_plans import (
    CapsulePlan,
    CylinderPlan,
    HullPlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.transforms import FloatArray, IntArray

_EVEN: Final = 1e-6
"""Largest relative difference of scales that are taken for the same."""
_Round: TypeAlias = Sphere | Capsule | Cylinder


class ShapeWriter:
    """Defines prims of shapes, each in the frame of its node."""

    def __init__(
        self,
        stage: Any,
        document: Document,
        plan: ScenePlan,
        losses: Losses,
        diagnostics: Diagnostics,
    ) -> None:
        """Remember where the nodes are."""
        self._stage, self._document, self._plan = stage, document, plan
        self._losses, self._diagnostics = losses, diagnostics
        self._world = plan.frames.world_from_node
        self._flips = (plan.frames.linear_maps()[:, 1, 1] < 0.0).tolist()

    def define(self, path: str, node: int, shape: Shape) -> Any:
        """The prim of a shape; ``None`` if there is none."""
        if isinstance(shape, Box):
            cube = UsdGeom.Cube.Define(self._stage, path)
            cube.CreateSizeAttr(1.0)
            cube.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*shape.size))
            return _bounded(cube)
        if isinstance(shape, Plane):
            return self._plane(path, node, shape)
        if isinstance(shape, MeshShape):
            return self._mesh(path, node, shape)
        lengths = np.linalg.norm(self._world[node][:3, :3], axis=0)
        if float(np.ptp(lengths)) > _EVEN * float(lengths.max()):
            return self._uneven(path, node, shape)
        return self._round(path, shape, is_flipped=self._flips[node])

    def _round(self, path: str, shape: _Round, *, is_flipped: bool) -> Any:
        """A round shape; ``is_flipped``: its prim turns it over, which glTF does not."""
        if isinstance(shape, Sphere):
            ball = UsdGeom.Sphere.Define(self._stage, path)
            ball.CreateRadiusAttr(shape.radius)
            return _bounded(ball)
        is_capsule = isinstance(shape, Capsule)
        low, high = shape.radius_bottom, shape.radius_top
        if is_flipped:
            low, high = high, low
        kinds = (UsdGeom.Capsule, UsdGeom.Capsule_1) if is_capsule else (
            UsdGeom.Cylinder, UsdGeom.Cylinder_1
        )  # fmt: skip
        if low == high or (not is_capsule and high == 0.0):
            solid = (kinds[0] if low == high else UsdGeom.Cone).Define(self._stage, path)
            solid.CreateRadiusAttr(low)
        else:
            solid = kinds[1].Define(self._stage, path)
            solid.CreateRadiusBottomAttr(low)
            solid.CreateRadiusTopAttr(high)
        solid.CreateHeightAttr(shape.mid_height if isinstance(shape, Capsule) else shape.height)
        solid.CreateAxisAttr(UsdGeom.Tokens.y)
        return _bounded(solid)

    def _uneven(self, path: str, node: int, shape: _Round) -> Any:
        """A round shape that its node scales unevenly, as it is simulated."""
        planned = self._planned(node)
        if planned is None:
            self._losses.lost("the uneven scale of a trigger", path, "readers may ignore it")
            return self._round(path, shape, is_flipped=self._flips[node])
        node_from_shape = solved(
            self._world[node], planned.body_from_shape.matrix()
        )  # fmt: skip
        found = planned.shape
        solid: _Round
        if isinstance(found, SpherePlan):
            solid = Sphere(radius=found.radius)
        elif isinstance(found, CapsulePlan):
            r = found.radius
            solid = Capsule(mid_height=found.mid_height, radius_bottom=r, radius_top=r)
        elif isinstance(found, CylinderPlan):
            r = found.radius
            solid = Cylinder(height=found.height, radius_bottom=r, radius_top=r)
        else:
            hull = convex_hull(found.vertices.points, len(found.vertices.points)) if isinstance(
                found, HullPlan
            ) else None  # fmt: skip
            if hull is None:
                self._losses.lost("a shape of no size", path)
                return None
            whole = solid_moments(shape).volume * abs(np.linalg.det(self._world[node][:3, :3]))
            held = mesh_moments(hull.points, hull.triangles.astype(np.int64)).volume
            self._losses.changed(
                "an uneven round shape", path, f"a hull of {len(hull.points)} corners",
                f"{100.0 * (1.0 - held / whole):.2g} % of its volume",
            )  # fmt: skip
            points = hull.points @ node_from_shape[:3, :3].T + node_from_shape[:3, 3]
            return self._triangles(path, node, points, hull.triangles, is_convex=True)
        geometry = self._round(path, solid, is_flipped=False)
        geometry.AddTransformOp().Set(Gf.Matrix4d(*node_from_shape.T.ravel().tolist()))
        return geometry

    def _planned(self, node: int) -> PlacedShape | None:
        """The shape that is simulated of a collider, in the world."""
        bodies = self._plan.bodies
        for static in bodies.statics:
            if static.node == node:
                pose = static.world_from_collider @ static.shape.body_from_shape
                return PlacedShape(static.shape.shape, pose)
        for body in bodies.bodies.values():
            for group in body.groups:
                if node in group.collider_nodes:
                    placed = group.shapes[group.collider_nodes.index(node)]
                    return PlacedShape(placed.shape, body.world_from_body @ placed.body_from_shape)
        return None

    def _plane(self, path: str, node: int, shape: Plane) -> Any:
        is_endless = math.isinf(shape.size_x) and math.isinf(shape.size_z)
        owner = self._plan.bodies.bodies.get(int(self._plan.motion_node_of[node]))
        if is_endless and (owner is None or owner.kind is MotionKind.STATIC):
            if shape.double_sided:
                self._losses.lost("the other side of a plane", path, "all below it is solid")
            plane = UsdGeom.Plane.Define(self._stage, path)
            plane.CreateAxisAttr(UsdGeom.Tokens.y)
            return _bounded(plane)
        sizes = [0.5 * min(size, 2.0 * INFINITE_EXTENT) for size in (shape.size_x, shape.size_z)]
        self._losses.changed(
            "a plane that ends or moves", path, "two triangles, solid from both sides",
            "0 from above" if math.isfinite(max(shape.size_x, shape.size_z))
            else f"0 up to {INFINITE_EXTENT:g} m from its origin",
        )  # fmt: skip
        corners = [(x * sizes[0], 0.0, z * sizes[1]) for x in (-1, 1) for z in (-1, 1)]
        return self._triangles(path, node, np.array(corners), np.array([[0, 1, 2], [2, 1, 3]]))

    def _mesh(self, path: str, node: int, shape: MeshShape) -> Any:
        found = collision_mesh(shape, self._document, self._world, self._diagnostics)
        if found is None or not len(found.triangles):
            self._losses.lost("a collider without triangles", path)
            return None
        if shape.is_deformable:
            self._losses.lost("the deformation of a collider", path, "its first form collides")
        hull = shape.convex_hull
        return self._triangles(path, node, found.points, found.triangles, is_convex=hull)

    def _triangles(
        self,
        path: str,
        node: int,
        points: FloatArray,
        triangles: IntArray,
        *,
        is_convex: bool = False,
    ) -> Any:
        mesh = UsdGeom.Mesh.Define(self._stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        mesh.CreateFaceVertexCountsAttr([3] * len(triangles))
        mesh.CreateFaceVertexIndicesAttr(
            Vt.IntArray.FromNumpy(triangles.reshape(-1).astype(np.int32))
        )
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        collides = UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim())
        owner = self._plan.bodies.bodies.get(int(self._plan.motion_node_of[node]))
        moves = owner is not None and owner.kind is MotionKind.DYNAMIC
        how = "convexDecomposition" if moves else "none"
        collides.CreateApproximationAttr("convexHull" if is_convex else how)
        return _bounded(mesh)


def _bounded(geometry: Any) -> Any:
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(geometry, Usd.TimeCode.Default())
    if extent:
        geometry.CreateExtentAttr(extent)
    return geometry
