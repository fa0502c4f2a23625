"""The bodies of a plan made with bare PyBullet calls: what contacts do without our recipes."""

from __future__ import annotations

import pybullet

from gltf_bullet.planning.body_plans import BodyPlan, StaticPlan
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.transforms import Pose, Vec3

__all__ = ["BareCopy"]

_Z_UP = Pose((-(0.5**0.5), 0.0, 0.0, 0.5**0.5), (0.0, 0.0, 0.0))
"""Round shapes stand along +Y in plans and along +Z in Bullet."""


class BareCopy:
    """The free bodies and static colliders of a scene, as a PyBullet user would create them.

    One multibody each with the first shape of its first collider group, the planned mass, inertia
    and materials, no damping; nothing else is set.
    """

    def __init__(self, client_id: int, plan: ScenePlan) -> None:
        """Create the bodies in a world."""
        self._client_id = client_id
        self._shapes: dict[object, int] = {}
        for static in plan.bodies.statics:
            self._static(static)
        self.body_of = {node: self._body(body) for node, body in plan.bodies.bodies.items()}
        """Body ids by motion node."""

    def position(self, node: int) -> Vec3:
        """Centre of mass of a body [m]."""
        found, _ = pybullet.getBasePositionAndOrientation(self.body_of[node], self._client_id)
        x, y, z = found
        return x, y, z

    def velocity(self, node: int) -> Vec3:
        """Velocity of a body's centre of mass [m/s]."""
        (x, y, z), _ = pybullet.getBaseVelocity(self.body_of[node], self._client_id)
        return x, y, z

    def spin(self, node: int) -> Vec3:
        """Spin of a body [rad/s]."""
        _, (x, y, z) = pybullet.getBaseVelocity(self.body_of[node], self._client_id)
        return x, y, z

    def step(self) -> None:
        """Advance the world."""
        pybullet.stepSimulation(physicsClientId=self._client_id)

    def _static(self, plan: StaticPlan) -> None:
        pose = plan.world_from_collider @ plan.shape.body_from_shape
        body = pybullet.createMultiBody(
            0.0,
            self._shape(PlacedShape(plan.shape.shape)),
            -1,
            pose.translation,
            pose.rotation_xyzw,
            physicsClientId=self._client_id,
        )
        self._rub(body, plan.surface.friction, plan.surface.restitution)

    def _body(self, plan: BodyPlan) -> int:
        group = plan.groups[0]
        body: int = pybullet.createMultiBody(
            plan.mass,
            self._shape(group.shapes[0]),
            -1,
            plan.world_from_body.translation,
            plan.world_from_body.rotation_xyzw,
            baseInertialFramePosition=plan.body_from_inertial.translation,
            baseInertialFrameOrientation=plan.body_from_inertial.rotation_xyzw,
            physicsClientId=self._client_id,
        )
        pybullet.changeDynamics(
            body, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=self._client_id
        )
        if plan.mass > 0.0:
            pybullet.changeDynamics(
                body,
                -1,
                localInertiaDiagonal=plan.inertia_diagonal,
                physicsClientId=self._client_id,
            )
        self._rub(body, group.surface.friction, group.surface.restitution)
        pybullet.resetBaseVelocity(
            body, plan.linear_velocity, plan.angular_velocity, physicsClientId=self._client_id
        )
        return body

    def _rub(self, body: int, friction: float, restitution: float) -> None:
        pybullet.changeDynamics(
            body,
            -1,
            lateralFriction=friction,
            restitution=restitution,
            physicsClientId=self._client_id,
        )

    def _shape(self, placed: PlacedShape) -> int:
        if placed not in self._shapes:
            turned = isinstance(placed.shape, (CapsulePlan, CylinderPlan))
            pose = placed.body_from_shape @ _Z_UP if turned else placed.body_from_shape
            self._shapes[placed] = self._create(placed, pose)
        return self._shapes[placed]

    def _create(self, placed: PlacedShape, pose: Pose) -> int:
        common = {
            "collisionFramePosition": pose.translation,
            "collisionFrameOrientation": pose.rotation_xyzw,
            "physicsClientId": self._client_id,
        }
        make = pybullet.createCollisionShape
        found: int
        match placed.shape:
            case BoxPlan(half_extents=half):
                found = make(pybullet.GEOM_BOX, halfExtents=half, **common)
            case SpherePlan(radius=radius):
                found = make(pybullet.GEOM_SPHERE, radius=radius, **common)
            case CapsulePlan(radius=radius, mid_height=height):
                found = make(pybullet.GEOM_CAPSULE, radius=radius, height=height, **common)
            case CylinderPlan(radius=radius, height=height):
                found = make(pybullet.GEOM_CYLINDER, radius=radius, height=height, **common)
            case HullPlan(vertices=vertices):
                found = make(pybullet.GEOM_MESH, vertices=vertices.points.tolist(), **common)
            case InfinitePlanePlan():
                found = make(pybullet.GEOM_PLANE, planeNormal=[0.0, 1.0, 0.0], **common)
            case BvhPlan(mesh=mesh):
                points, indices = mesh.points.tolist(), mesh.triangles.reshape(-1).tolist()
                found = make(pybullet.GEOM_MESH, vertices=points, indices=indices, **common)
            case shape:
                raise ValueError(f"{type(shape).__name__} is not compared with")
        return found
