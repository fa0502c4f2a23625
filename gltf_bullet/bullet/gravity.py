"""The difference between a scene's gravity and the engine's, as forces of the coming step."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.triggers.trigger_arrays import Frames
from gltf_bullet.model import GravityFieldKind, MotionKind
from gltf_bullet.planning.gravity import FieldPlan, GravityPlan, GravityVolumePlan
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.shapes.point_geometry import PointGeometry
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray, Vec3, quat_rotate

# --- Acceleration of each body by the gravity volumes (OMI_physics_gravity) that contain it -------
#
# The engine's own gravity stays the user's: bodies get the difference as a force, times their
# gravity factor.

_NEAREST = 1e-2
"""Inverse-square fields grow no further below this part of their unit distance."""


class GravityFields:
    """The world gravity and all gravity volumes of one scene."""

    def __init__(self, plan: GravityPlan, frames: NodeFrames, asset_xyzw: FloatArray) -> None:
        """Place the gravity volumes.

        Args:
            plan: From ``plan_gravity``.
            frames: Frames of all nodes at load.
            asset_xyzw: Rotation of the asset in the world, shape [4].
        """
        self._world = None if plan.world is None else quat_rotate(asset_xyzw, np.array(plan.world))
        self._volumes = [
            _Volume(volume, frames.linear_maps(), frames.world_from_node) for volume in plan.volumes
        ]

    def follow(self, world_from_node: FloatArray) -> None:
        """Move the fields with their nodes, shape [node_count, 4, 4]."""
        for volume in self._volumes:
            volume.follow(world_from_node)

    def accelerations(self, points: FloatArray, owners: IntArray, engine: Vec3) -> FloatArray:
        """Return the gravity of bodies [m/s^2], shape [k, 3].

        Args:
            points: Their centres of mass in the world [m], shape [k, 3].
            owners: Their motion nodes, shape [k]; a volume does not act on its own body.
            engine: Gravity of the engine [m/s^2]: the world's gravity where the file has none.
        """
        total = np.zeros_like(points)
        is_open = np.ones(len(points), dtype=bool)
        in_world = np.ones(len(points), dtype=bool)
        for volume in self._volumes:
            inside = is_open & volume.contains(points, owners)
            if not inside.any():
                continue
            pull = volume.field(points[inside])
            total[inside] = pull if volume.plan.replace else total[inside] + pull
            if volume.plan.stop:
                is_open &= ~inside
                if volume.plan.priority >= 0:
                    in_world &= ~inside
        total[in_world] += np.array(engine) if self._world is None else self._world
        return total


class _Volume:
    def __init__(
        self, plan: GravityVolumePlan, linear_maps: FloatArray, world_from_node: FloatArray
    ) -> None:
        self.plan = plan
        nodes = [plan.node, *(volume.node for volume in plan.volumes)]
        self._frames = Frames(np.array(nodes, dtype=np.intp), linear_maps, world_from_node)
        self._places = [PointGeometry(volume.shape) for volume in plan.volumes]
        self._source = None if plan.field.shape is None else PointGeometry(plan.field.shape)

    def follow(self, world_from_node: FloatArray) -> None:
        self._frames.move(world_from_node)

    def contains(self, points: FloatArray, owners: IntArray) -> BoolArray:
        inside = np.zeros(len(points), dtype=bool)
        for row, (place, volume) in enumerate(
            zip(self._places, self.plan.volumes, strict=True), start=1
        ):
            found = place.contains(self._local(row, points))
            if volume.own_bodies:
                found &= ~np.isin(owners, list(volume.own_bodies))
            inside |= found
        return inside

    def field(self, points: FloatArray) -> FloatArray:
        """The field's acceleration at points of the world [m/s^2], shape [k, 3]."""
        field, frame = self.plan.field, self._frames.rotations[0]
        if field.kind is GravityFieldKind.DIRECTIONAL:
            pull = frame @ np.array(field.direction) * field.gravity
            return np.tile(pull, (len(points), 1))
        local = self._local(0, points)
        arms = self._nearest(field, local) - local
        distances = np.linalg.norm(arms, axis=1)
        directions = arms / np.where(distances > 0.0, distances, 1.0)[:, None]
        if field.kind is GravityFieldKind.TORUS:
            # On its axis the nearest point is no single one, but all are as far away.
            radial = np.hypot(local[:, 0], local[:, 2]) - field.radius
            distances = np.hypot(radial, local[:, 1])
        strengths = np.full(len(points), field.gravity)
        if field.unit_distance > 0.0:
            nearest = _NEAREST * field.unit_distance
            strengths *= (field.unit_distance / np.maximum(distances, nearest)) ** 2
        result: FloatArray = (strengths[:, None] * directions) @ frame.T
        return result

    def _local(self, row: int, points: FloatArray) -> FloatArray:
        local: FloatArray = (points - self._frames.positions[row]) @ self._frames.rotations[row]
        return local

    def _nearest(self, field: FieldPlan, local: FloatArray) -> FloatArray:
        match field.kind:
            case GravityFieldKind.DISC | GravityFieldKind.TORUS:
                # A filled or hollow circle across the node's Y axis.
                flat = local * np.array([1.0, 0.0, 1.0])
                lengths = np.linalg.norm(flat, axis=1)
                wanted = np.full(len(local), field.radius)
                if field.kind is GravityFieldKind.DISC:
                    wanted = np.minimum(lengths, wanted)
                # On the axis every point of a ring is as near: it pulls towards their middle.
                safe = np.where(lengths > 0.0, lengths, 1.0)
                nearest: FloatArray = flat * (wanted / safe)[:, None]
                return nearest
            case GravityFieldKind.LINE:
                return _nearest_on_line(field.points, local)
            case GravityFieldKind.SHAPED if self._source is not None:
                return self._source.nearest(local)
            case _:
                return np.zeros_like(local)


def _nearest_on_line(line: FloatArray, points: FloatArray) -> FloatArray:
    """The nearest points of a polyline, shape [k, 3]."""
    starts, spans = line[:-1], np.diff(line, axis=0)
    squares = np.maximum((spans * spans).sum(axis=1), 1e-300)
    along = ((points[:, None, :] - starts) * spans).sum(axis=2) / squares
    candidates = starts + np.clip(along, 0.0, 1.0)[:, :, None] * spans
    gaps = np.linalg.norm(candidates - points[:, None, :], axis=2)
    nearest: FloatArray = candidates[np.arange(len(points)), gaps.argmin(axis=1)]
    return nearest


def gravity_forces(
    client_id: int,
    plan: ScenePlan,
    free: FreeBodies,
    articulations: ArticulationSet,
    world_from_asset_xyzw: FloatArray,
) -> GravityForces | None:
    """Create the gravity forces of a scene; ``None`` if the engine's gravity is all that acts.

    Also where nothing can fall: fields act on the bodies of their own scene.
    """
    bodies = plan.bodies.bodies.values()
    if plan.gravity.is_idle or not any(body.kind is MotionKind.DYNAMIC for body in bodies):
        return None
    return GravityForces(client_id, plan, world_from_asset_xyzw, free, articulations)


class GravityForces:
    """Applies gravity fields to the bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        plan: ScenePlan,
        world_from_asset_xyzw: FloatArray,
        free: FreeBodies,
        articulations: ArticulationSet,
    ) -> None:
        self._client_id = client_id
        self._world_from_asset_xyzw = world_from_asset_xyzw
        self.change(plan)
        self._free = free
        self._engine: Vec3 = (0.0, 0.0, 0.0)
        self._factor_of = {
            node: body.gravity_factor
            for node, body in plan.bodies.bodies.items()
            if body.kind is MotionKind.DYNAMIC
        }
        falling = [
            (body_id, body)
            for body_id, body in zip(free.ids, free.plans, strict=True)
            if body.kind is MotionKind.DYNAMIC and body.gravity_factor != 0.0
        ]
        self._ids = [body_id for body_id, _ in falling]
        self._nodes = np.array([body.node for _, body in falling], dtype=np.intp)
        self._factors = np.array([body.gravity_factor for _, body in falling])
        self.weigh()
        # Joints must know these forces: their solve balances them.
        articulations.solver.gravity_change = self._changes_of_links

    def change(self, plan: ScenePlan) -> None:
        """Use the gravity volumes of another plan from the next step on."""
        self._fields = GravityFields(plan.gravity, plan.frames, self._world_from_asset_xyzw)

    def weigh(self) -> None:
        """Read the masses of the free bodies again after they have changed."""
        mass_of = dict(zip(self._free.ids, (plan.mass for plan in self._free.plans), strict=True))
        self._masses = np.array([mass_of[body_id] for body_id in self._ids])

    def before_step(self, engine: Vec3, world_from_node: FloatArray) -> None:
        """Apply the forces.

        Args:
            engine: Gravity of the engine [m/s^2].
            world_from_node: Current frames of all nodes, shape [node_count, 4, 4].
        """
        self._engine = engine
        self._fields.follow(world_from_node)
        read, push, client_id = (
            pybullet.getBasePositionAndOrientation,
            pybullet.applyExternalForce,
            self._client_id,
        )
        # Not as of the last step: where the user has moved a body, a force would turn it.
        points = [read(body_id, client_id)[0] for body_id in self._ids]
        if not points:
            return
        changes = self._changes(np.array(points), self._nodes, self._factors)
        acting = np.flatnonzero(changes.any(axis=1))
        forces = (self._masses[acting, None] * changes[acting]).tolist()
        for row, force in zip(acting.tolist(), forces, strict=True):
            push(self._ids[row], -1, force, points[row], pybullet.WORLD_FRAME, client_id)
            self._free.weights.append((self._ids[row], force, (0.0, 0.0, 0.0)))

    def _changes_of_links(self, points: FloatArray, nodes: IntArray) -> FloatArray:
        factors = np.array([self._factor_of.get(node, 0.0) for node in nodes.tolist()])
        return self._changes(points, nodes, factors)

    def _changes(self, points: FloatArray, nodes: IntArray, factors: FloatArray) -> FloatArray:
        """Return wanted minus engine gravity, times the gravity factors [m/s^2], shape [k, 3]."""
        wanted = self._fields.accelerations(points, nodes, self._engine)
        result: FloatArray = factors[:, None] * (wanted - np.array(self._engine))
        return result
