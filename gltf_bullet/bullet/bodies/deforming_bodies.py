"""Static colliders whose shape changes: replaced, and moved so that they carry what lies on them.

The engine's shapes cannot change, so a shape of one moment approximates the surface. Its body moves
rigidly as the surface does near contacts, or on average without any, and is replaced where a vertex
is off by more than a hundredth of its size. PyBullet gives the new body the id of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.state import velocity_before_turn
from gltf_bullet.errors import EngineError
from gltf_bullet.planning.body_plans import StaticPlan
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Vec3,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    rotation_vector_from_quat,
)

# --- Fixed colliders in the engine: one body each -------------------------------------------------

_MANY_STATICS = 64
"""Number of static colliders above which maximal coordinates are cheaper."""


def create_statics(
    client_id: int,
    plans: Sequence[StaticPlan],
    shapes: EngineShapes,
    visuals: BodyVisuals,
    created: list[int],
    movable: Collection[int] = (),
    kept: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, int]:
    """Create one fixed body per static collider; ids by collider node.

    Those of ``movable`` nodes may be carried by an animation and are multibodies.
    ``kept``: those that are there already. Every id is appended to ``created`` at once, so that a
    failure half-way can be undone.
    """
    body_by_node: dict[int, int] = {}
    maximal = len(plans) > _MANY_STATICS
    for plan in plans:
        if plan.node in kept:
            body_by_node[plan.node] = kept[plan.node]
            created.append(kept[plan.node])
            continue
        # The pose goes into the body, not the shape: equal colliders then share one shape.
        world_from_shape = plan.world_from_collider @ plan.shape.body_from_shape
        parts = (type(plan.shape)(plan.shape.shape),)
        shape_id = shapes.shape_id(parts)
        body_id = pybullet.createMultiBody(
            baseMass=0.0,
            baseCollisionShapeIndex=shape_id,
            baseVisualShapeIndex=visuals.of_static(plan),
            basePosition=world_from_shape.translation,
            baseOrientation=world_from_shape.rotation_xyzw,
            useMaximalCoordinates=maximal and plan.node not in movable,
            physicsClientId=client_id,
        )
        created.append(body_id)
        shapes.settle_margin(shape_id, parts, body_id, -1)
        visuals.finish_static(plan, body_id)
        body_by_node[plan.node] = body_id
    return body_by_node


_TOLERANCE = 0.01
"""Largest error of a vertex, as a share of the extent, before the shape is replaced."""
_CATCH_UP = 0.1
"""Largest speed [m/s] at which a displaced shape is corrected, so that nothing on it is kicked."""
_NEAR = 0.05
"""Distance, as a share of the extent, within which other bodies count as touching: the next step
may bring them there.
"""
_IN_PLACE = 1e-7
"""Remaining error [m, and share of a turn] per extent at which a correction has ended."""
_MOST_PAIRS = 20_000
"""Largest number of contacts times triangles for which all triangles are searched."""
_NEAR_VERTICES = 16
"""Number of vertices near each contact whose triangles are searched otherwise."""


class BuiltSurface(Struct, frozen=True, eq=False):
    """The mesh that a collider's engine shape was made of."""

    plan: StaticPlan
    points: FloatArray
    """Vertices in the world at that time [m], shape [n, 3]."""
    triangles: IntArray
    """Vertex indices, shape [m, 3]."""

    @property
    def extent(self) -> float:
        """The longest side of its box [m]."""
        return float(np.ptp(self.points, axis=0).max(initial=0.0)) or 1.0


class SurfaceMotion(NamedTuple):
    """Vertices of a collider now and after the coming step."""

    now: FloatArray
    """Present vertices [m], shape [n, 3]."""
    ahead: FloatArray
    """Vertices after the step [m], shape [n, 3]."""
    is_jump: bool
    """True if the surface jumps there and carries nothing along."""
    rebuild: Callable[[], BuiltSurface | None]
    """Returns the surface as it is now; ``None`` if no shape can be made of it."""


_Rigid: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""A point [m], its displacement [m], and the rotation vector of the turn around it [rad]."""


class DeformingBodies:
    """Bodies of the deforming colliders of a scene; they are its last bodies, in this order."""

    def __init__(
        self,
        session: EngineSession,
        plans: Sequence[StaticPlan],
        ids: Sequence[int],
        create: Callable[[StaticPlan], int],
    ) -> None:
        """Store the bodies; :meth:`begin` gives the surfaces that they were made of.

        Args:
            session: The world.
            plans: Plans of the bodies.
            ids: Body ids.
            create: Makes a body with the contact properties of its predecessor; returns its id.
        """
        self._session = session
        self._client_id = session.client_id
        self._ids = tuple(ids)
        self._create = create
        self.nodes = tuple(plan.node for plan in plans)
        """Collider nodes."""
        self.built: tuple[BuiltSurface, ...] = ()
        """Surfaces of the current bodies; a state to :meth:`restore`."""
        self._moves = [False] * len(plans)

    def begin(self, built: Sequence[BuiltSurface]) -> None:
        """Set the surfaces that the bodies were made of, in the order of :attr:`nodes`."""
        self.built = tuple(built)

    def restore(self, built: tuple[BuiltSurface, ...]) -> None:
        """Make the shapes of a saved state; the engine's snapshot restores their poses."""
        self._moves = [True] * len(self._moves)
        if len(built) == len(self.built) and not all(
            a is b or np.array_equal(a.points, b.points)
            for a, b in zip(built, self.built, strict=True)
        ):
            self._replace(built)

    def follow(self, motions: Sequence[SurfaceMotion], time_step: float) -> None:
        """Prepare a step of ``time_step`` [s]; ``motions`` in the order of :attr:`nodes`."""
        active = [
            number
            for number, motion in enumerate(motions)
            if motion.now is not motion.ahead or self._moves[number]
        ]
        if not active:
            return
        touched = {number: self._touched(number) for number in active}
        fresh = list(self.built)
        for number in active:
            old, now = self.built[number], motions[number].now
            place, shift, turn = self._fit(number, touched[number], now)
            left = now - old.points - shift - np.cross(turn, old.points - place)
            if float(np.abs(left).max(initial=0.0)) > _TOLERANCE * old.extent:
                fresh[number] = motions[number].rebuild() or old
        if any(a is not b for a, b in zip(fresh, self.built, strict=True)):
            self._replace(fresh)
        for number in active:
            places = touched[number]
            self._moves[number] = self._drive(number, motions[number], places, time_step)

    def _replace(self, built: Sequence[BuiltSurface]) -> None:
        """Replace all bodies, so that they stay the last ones in their order.

        Snapshots know bodies by their order, and PyBullet fills the gap of a removed body with the
        last.
        """
        states = [self._state(body_id) for body_id in self._ids]
        for body_id in reversed(self._ids):
            pybullet.removeBody(body_id, physicsClientId=self._client_id)
        for number, (body_id, surface) in enumerate(zip(self._ids, built, strict=True)):
            if self._create(surface.plan) != body_id:
                raise EngineError(f"the collider of node {self.nodes[number]} lost its body id")
            if surface is self.built[number]:
                pose, velocity = states[number]
                pybullet.resetBasePositionAndOrientation(
                    body_id, *pose, physicsClientId=self._client_id
                )
                pybullet.resetBaseVelocity(body_id, *velocity, physicsClientId=self._client_id)
        self._moves = [True] * len(self._moves)
        self.built = tuple(built)

    def _state(self, body_id: int) -> tuple[tuple[object, object], tuple[object, object]]:
        pose = pybullet.getBasePositionAndOrientation(body_id, self._client_id)
        return pose, pybullet.getBaseVelocity(body_id, self._client_id)

    def _drive(
        self, number: int, motion: SurfaceMotion, places: FloatArray, time_step: float
    ) -> bool:
        """Set the velocity of a body for the step; return True if it moves."""
        built, body_id = self.built[number], self._ids[number]
        origin, rotation = _pose_of(built.plan)
        position, turned = self._pose(body_id)
        place, shift_now, turn_now = self._fit(number, places, motion.now)
        _, shift_ahead, turn_ahead = self._fit(number, places, motion.ahead)
        arm = origin - place
        left = shift_now + np.cross(turn_now, arm) - (position - origin)
        left_turn = turn_now - rotation_vector_from_quat(
            quat_multiply(turned, quat_conjugate(rotation))
        )
        most = _CATCH_UP * time_step
        move, turn = _limited(left, most), _limited(left_turn, most / built.extent)
        if not motion.is_jump:
            turn = turn + turn_ahead - turn_now
            move = move + shift_ahead - shift_now + np.cross(turn_ahead - turn_now, arm)
        velocity, spin = (move / time_step).tolist(), (turn / time_step).tolist()
        pybullet.resetBaseVelocity(
            body_id,
            velocity_before_turn(velocity, spin, time_step),
            spin,
            physicsClientId=self._client_id,
        )
        return bool(max(np.abs(move).max(), np.abs(turn).max()) > _IN_PLACE * built.extent)

    def _pose(self, body_id: int) -> tuple[FloatArray, FloatArray]:
        pose = pybullet.getBasePositionAndOrientation(body_id, self._client_id)
        return np.array(pose[0]), np.array(pose[1])

    def _touched(self, number: int) -> FloatArray:
        """Return the points where others touch a body or nearly do, in the world [m], [k, 3]."""
        body_id, near = self._ids[number], _NEAR * self.built[number].extent
        low, high = pybullet.getAABB(body_id, physicsClientId=self._client_id)
        around = pybullet.getOverlappingObjects(
            [x - near for x in low], [x + near for x in high], physicsClientId=self._client_id
        )
        others = sorted({other for other, _ in around or ()} - {body_id, *self._ids})
        contacts = pybullet.getContactPoints(body_id, physicsClientId=self._client_id)
        found: list[Vec3] = [point[5] for point in contacts]
        touching = {point[2] for point in contacts}
        for other in others:
            if other not in touching and self._moves_freely(other):
                found += [
                    point[5]
                    for point in pybullet.getClosestPoints(
                        body_id, other, near, physicsClientId=self._client_id
                    )
                ]
        return np.array(found).reshape(-1, 3)

    def _moves_freely(self, body_id: int) -> bool:
        count = pybullet.getNumJoints(body_id, physicsClientId=self._client_id)
        mass: float = pybullet.getDynamicsInfo(body_id, -1, physicsClientId=self._client_id)[0]
        return count > 0 or mass > 0.0

    def _fit(self, number: int, places: FloatArray, points: FloatArray) -> _Rigid:
        """Fit the rigid motion from the built shape to the current places of its vertices.

        Args:
            number: Row of the body.
            places: Contact points in the world [m], shape [k, 3]; without any, all vertices count.
            points: Current vertices [m], shape [n, 3].
        """
        built = self.built[number]
        shifts = points - built.points
        if not len(places):
            return _rigid_fit(built.points, shifts)
        origin, rotation = _pose_of(built.plan)
        position, turned = self._pose(self._ids[number])
        back = quat_multiply(rotation, quat_conjugate(turned))
        places = origin + quat_rotate(back, places - position)
        return _rigid_fit(places, _at_places(built, places, shifts))


def _pose_of(plan: StaticPlan) -> tuple[FloatArray, FloatArray]:
    pose = plan.world_from_collider @ plan.shape.body_from_shape
    return np.array(pose.translation), np.array(pose.rotation_xyzw)


def _limited(vector: FloatArray, most: float) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector if length <= most else vector * (most / length)


def _rigid_fit(places: FloatArray, shifts: FloatArray) -> _Rigid:
    """Fit by least squares; a turn that the places leave open (about one point or line) is zero."""
    place, shift = places.mean(axis=0), shifts.mean(axis=0)
    x, y, z = (places - place).T
    zero = np.zeros_like(x)
    # Rows of w x arm, by component of w.
    columns = np.stack(
        [
            np.stack([zero, -z, y], axis=1),
            np.stack([z, zero, -x], axis=1),
            np.stack([-y, x, zero], axis=1),
        ],
        axis=2,
    ).reshape(-1, 3)
    turn, *_ = np.linalg.lstsq(columns, (shifts - shift).reshape(-1), rcond=1e-6)
    return place, shift, turn


def _at_places(built: BuiltSurface, places: FloatArray, values: FloatArray) -> FloatArray:
    """Interpolate values of the vertices at the points of the surface closest to some places."""
    from trimesh.triangles import closest_point, points_to_barycentric

    found = np.empty_like(places)
    for row, place in enumerate(places):
        triangles = built.triangles
        if len(places) * len(triangles) > _MOST_PAIRS:
            distances = np.linalg.norm(built.points - place, axis=1)
            near = np.argpartition(distances, _NEAR_VERTICES)[:_NEAR_VERTICES]
            triangles = triangles[np.isin(triangles, near).any(axis=1)]
        corners = built.points[triangles]
        closest = closest_point(corners, np.tile(place, (len(corners), 1)))
        best = int(np.linalg.norm(closest - place, axis=1).argmin())
        (shares,) = points_to_barycentric(corners[best : best + 1], closest[best : best + 1])
        shares = shares if np.isfinite(shares).all() else np.full(3, 1.0 / 3.0)
        found[row] = shares @ values[triangles[best]]
    return found


def create_deforming(
    session: EngineSession,
    statics: Sequence[StaticPlan],
    visuals: BodyVisuals,
    settle: Callable[[tuple[int, int]], object],
) -> tuple[DeformingBodies, dict[int, int]]:
    """Create the deforming colliders of a scene; return also their body ids by node.

    Args:
        session: The world.
        statics: All static colliders of the scene.
        visuals: Visual shapes of the bodies.
        settle: Gives the link of a new body the contact properties of its predecessor.
    """
    plans = [plan for plan in statics if plan.deforms]

    def create(plan: StaticPlan) -> int:
        made: list[int] = []
        shapes = session.shapes
        ids = create_statics(session.client_id, [plan], shapes, visuals, made, {plan.node})
        return ids[plan.node]

    def create_anew(plan: StaticPlan) -> int:
        body_id = create(plan)
        session.tag([body_id])
        settle((body_id, -1))
        return body_id

    id_of = {plan.node: create(plan) for plan in plans}
    return DeformingBodies(session, plans, list(id_of.values()), create_anew), id_of


def none_deforming(session: EngineSession) -> DeformingBodies:
    """Return an empty set, to be shared by all scenes of a world without such colliders."""
    return DeformingBodies(session, (), (), _none_created)


def _none_created(plan: StaticPlan) -> int:
    raise LookupError(f"{plan.node} does not deform")
