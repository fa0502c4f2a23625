"""Vertices of static colliders that skins and morph targets deform, now and after a step."""

from __future__ import annotations

import numpy as np

from gltf_bullet.bullet.bodies.deforming_bodies import BuiltSurface, SurfaceMotion
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.skins import read_skin
from gltf_bullet.model import MeshShape, PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import StaticPlan
from gltf_bullet.planning.shapes.collision_meshes import collision_mesh
from gltf_bullet.planning.shapes.planner import ShapePlanner
from gltf_bullet.planning.shapes.shape_plans import TriangleSet
from gltf_bullet.records import replace
from gltf_bullet.runtime.animation.animator import Animator
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose


class DeformingColliders:
    """The deforming static colliders of one scene."""

    def __init__(
        self,
        asset: AssetContent,
        physics: PhysicsScene,
        animator: Animator,
        world: EngineWorld,
        options: LoadOptions,
    ) -> None:
        """Compute the surfaces that ``world`` was made of, with the animator's present weights."""
        self._bodies = world.deforming
        plan_of = {plan.node: plan for plan in world.plan.bodies.statics}
        self._colliders = [
            _Collider(asset, shape, plan_of[node], animator, options)
            for node in world.deforming.nodes
            if isinstance(shape := physics.colliders[node].shape, MeshShape)
        ]
        self._bodies.begin(
            [
                BuiltSurface(one.plan, one.points(world.plan.frames.world_from_node), one.triangles)
                for one in self._colliders
            ]
        )
        self._now: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._colliders)

    def begin_step(self, world_from_node: FloatArray) -> None:
        """Store the vertices before the animations advance."""
        self._now = [one.points(world_from_node) for one in self._colliders]

    def follow(self, ahead: FloatArray, time_step: float, *, is_jump: bool) -> None:
        """Move the colliders.

        Args:
            ahead: Matrices of all nodes after the step, shape [node_count, 4, 4].
            time_step: Length of the step [s].
            is_jump: True if an animation jumps, as at the end of a loop.
        """
        motions = [
            SurfaceMotion(now, one.points(ahead), is_jump, lambda one=one, now=now: one.built(now))  # type: ignore[misc]
            for one, now in zip(self._colliders, self._now, strict=True)
        ]
        self._bodies.follow(motions, time_step)


class _Collider:
    """One collider; its vertices are computed again when a node or weight has changed."""

    def __init__(
        self,
        asset: AssetContent,
        shape: MeshShape,
        plan: StaticPlan,
        animator: Animator,
        options: LoadOptions,
    ) -> None:
        self.plan = plan
        self._document, self._shape = asset.document, shape
        self._animator, self._options = animator, options
        nodes = [plan.node]
        for part in shape.parts:
            skin = None
            if part.skin is not None:
                skin = read_skin(asset.document, part.skin, Diagnostics())
            nodes += [] if skin is None else skin.joints
            ends = (part.skin_frame_node, part.node, part.frame_node)
            nodes += [node for node in ends if node is not None]
        self._movers = np.unique(np.array(nodes, dtype=np.intp))
        self._weights = [p.weights_node for p in shape.parts if p.weights_node is not None]
        self._key = b""
        self._points = np.zeros((0, 3))
        self.triangles: IntArray = np.zeros((0, 3), dtype=np.intp)

    def points(self, world_from_node: FloatArray) -> FloatArray:
        """Return its vertices in the world [m], shape [n, 3]; the same array without changes."""
        weights = self._animator.weights
        key = world_from_node[self._movers].tobytes() + b"".join(
            weights[node].tobytes() for node in self._weights if node in weights
        )
        if key != self._key:
            mesh = collision_mesh(
                self._shape,
                self._document,
                world_from_node,
                Diagnostics(),  # reported when the scene was planned
                weights,
            )
            if mesh is not None:
                matrix = world_from_node[self.plan.node]
                self._points = mesh.points @ matrix[:3, :3].T + matrix[:3, 3]
                flips = np.linalg.det(matrix[:3, :3]) < 0.0
                self.triangles = mesh.triangles[:, ::-1] if flips else mesh.triangles
            self._key = key
        return self._points

    def built(self, points: FloatArray) -> BuiltSurface | None:
        """Plan a body with other vertices [m], shape [n, 3]; ``None`` without a usable shape."""
        x, y, z = points.mean(axis=0).tolist()
        mesh = TriangleSet(points - (x, y, z), self.triangles)
        planner = ShapePlanner(lambda _: mesh, self._options, Diagnostics())
        planned = planner.plan(
            self._shape, np.eye(3), moving=False, bvh_allowed=True, at=self._shape.pointer
        )
        if planned is None:
            return None
        pose = Pose(IDENTITY_POSE.rotation_xyzw, (x, y, z))
        plan = replace(self.plan, world_from_collider=pose, shape=planned.placed)
        return BuiltSurface(plan, points, self.triangles)
