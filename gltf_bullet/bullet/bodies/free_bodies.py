"""Bodies without joints: their creation (equal ones in batches), poses, and forces of the step.

A free body is one base-only multibody; collider groups beyond the first are fixed massless links
(measured: those behave as part of the body).

The file is long because creation in batches, body ids of a batch and the bodies in motion are one
concept: the order of the bodies, which plans, ids and poses share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_motion import FreeMotion, Load
from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.bodies.multibody import (
    LinkJoint,
    LinkSpec,
    MultibodySpec,
    create_multibody,
    weigh_link,
)
from gltf_bullet.bullet.bodies.unchanged_bodies import NONE_UNCHANGED, UnchangedBodies
from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.state import apply_base_force, velocity_before_turn
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.errors import EngineError
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP, BodyPlan
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.transforms import (
    IDENTITY_POSE,
    FloatArray,
    IntArray,
    Vec3,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

_TABLE: MemoKey[FreeTable] = MemoKey("free bodies as a table")

# --- Body ids of one ``createMultiBody(batchPositions=...)`` --------------------------------------

_ROUNDING = 1e-9
"""Tolerance of a position, relative to its distance from the origin, or in metres near it."""


def ids_of_batch(
    client_id: int,
    reported: Sequence[int],
    places: Sequence[Vec3],
    is_known: Callable[[int], bool],
) -> list[int]:
    """Return the ids of the bodies that were created at some places, in their order.

    PyBullet reports consecutive ids that end with the last one. Where bodies were removed before,
    their ids are reused, last in, first out, and the reported ids are other bodies' (measured):
    then the new bodies are found by their positions.

    Args:
        client_id: The world.
        reported: The ids that ``createMultiBody`` returned.
        places: Centres of mass of the bodies [m].
        is_known: Returns True for the id of an older body of ours.

    Raises:
        EngineError: A body cannot be found.
    """
    if all(
        not is_known(body) and _stands_at(client_id, body, place)
        for body, place in zip(reported, places, strict=True)
    ):
        return list(reported)
    from scipy.spatial import KDTree

    pybullet.syncBodyInfo(client_id)
    every = [
        pybullet.getBodyUniqueId(number, client_id)
        for number in range(pybullet.getNumBodies(client_id))
    ]
    # The newest first: of several at one place those that were there before stay what they are.
    unknown = [body for body in reversed(every) if not is_known(body)]
    where = [pybullet.getBasePositionAndOrientation(body, client_id)[0] for body in unknown]
    near = KDTree(where).query_ball_point(places, [_slack(place) for place in places])
    ids: list[int] = []
    taken: set[int] = set()
    for rows in near:
        free = [row for row in sorted(rows) if row not in taken]
        if not free:
            raise EngineError("bodies that were created cannot be found among those of the world")
        taken.add(free[0])
        ids.append(unknown[free[0]])
    return ids


def _stands_at(client_id: int, body: int, place: Vec3) -> bool:
    try:
        position, _ = pybullet.getBasePositionAndOrientation(body, client_id)
    except pybullet.error:
        return False
    return math.dist(position, place) <= _slack(place)


def _slack(place: Vec3) -> float:
    return _ROUNDING * max(1.0, *map(abs, place))


def create_free_bodies(
    client_id: int,
    plans: Mapping[int, BodyPlan],
    shapes: EngineShapes,
    visuals: BodyVisuals,
    batch_size: int,
    created: list[int],
    is_known: Callable[[int], bool] = lambda _: False,
    memo: PlanMemo | None = None,
    kept: UnchangedBodies = NONE_UNCHANGED,
) -> FreeBodies:
    """Create a multibody per plan; equal ones from ``batch_size`` on in one call.

    Every id is appended to ``created`` at once, so that a failure half-way can be undone;
    ``is_known`` tells the ids of older bodies of ours; ``memo`` is that of the scene's plan;
    ``kept``: those that are there already.
    """
    listed = list(plans.values())
    table = (memo or PlanMemo()).get(_TABLE, partial(FreeTable.of, listed))
    alike: dict[object, list[BodyPlan]] = {}
    for plan in listed:
        if plan.node in kept.free:
            continue
        key = (
            (
                plan.mass > 0.0,
                plan.groups[0].shapes if plan.groups else (),
                plan.body_from_inertial,
                visuals.of_body(plan),
            )
            if len(plan.groups) <= 1
            else plan.node
        )
        alike.setdefault(key, []).append(plan)
    id_by_node = dict(kept.free)
    batched = set(kept.batched)
    first = len(created)
    created += kept.free.values()
    for members in alike.values():
        if len(members) >= batch_size and len(members[0].groups) <= 1:
            _create_batch(client_id, members, shapes, visuals, id_by_node, created, is_known)
            batched.update(id_by_node[plan.node] for plan in members)
        else:
            for plan in members:
                id_by_node[plan.node] = _create_one(client_id, plan, shapes, visuals, created)
    created[first:] = [id_by_node[node] for node in plans]  # states know bodies by their order
    for plan in listed:
        if plan.node not in kept.free:
            _set_up(client_id, id_by_node[plan.node], plan)
    return FreeBodies(client_id, listed, [id_by_node[node] for node in plans], table, batched)


def no_free_bodies(session: EngineSession) -> FreeBodies:
    """Return an empty set, to be shared by all scenes of a world without free bodies."""
    return FreeBodies(session.client_id, (), (), FreeTable.of(()), ())


def _create_one(
    client_id: int,
    plan: BodyPlan,
    shapes: EngineShapes,
    visuals: BodyVisuals,
    created: list[int],
) -> int:
    shape_ids = [shapes.shape_id(group.shapes) for group in plan.groups]
    spec = MultibodySpec(
        world_from_base=plan.world_from_body,
        mass=plan.mass,
        inertia_diagonal=plan.inertia_diagonal,
        base_from_inertial=plan.body_from_inertial,
        shape_id=shape_ids[0] if shape_ids else -1,
        visual_id=visuals.of_body(plan),
        links=tuple(
            LinkSpec(
                parent=-1,
                joint=LinkJoint.FIXED,
                parent_from_link=IDENTITY_POSE,
                shape_id=shape_id,
                visual_id=visuals.of_group(plan, group),
            )
            for group, shape_id in zip(plan.groups[1:], shape_ids[1:], strict=True)
        ),
        # Colliders of one body never meet each other.
        self_collision=False,
    )
    body_id = create_multibody(client_id, spec)
    created.append(body_id)
    for index, (group, shape_id) in enumerate(zip(plan.groups, shape_ids, strict=True)):
        shapes.settle_margin(shape_id, group.shapes, body_id, index - 1)
    return body_id


def _create_batch(
    client_id: int,
    plans: Sequence[BodyPlan],
    shapes: EngineShapes,
    visuals: BodyVisuals,
    id_by_node: dict[int, int],
    created: list[int],
    is_known: Callable[[int], bool],
) -> None:
    """Create many bodies of one shape and inertial frame (measured: 12 us a body against 83)."""
    first = plans[0]
    parts = first.groups[0].shapes if first.groups else ()
    shape_id = shapes.shape_id(parts)
    # Bodies must be born apart: moving them out of one place costs 118 us each (measured).
    places = [plan.world_from_body.translation for plan in plans]
    reported = pybullet.createMultiBody(
        baseMass=1.0 if first.mass > 0.0 else 0.0,
        baseCollisionShapeIndex=shape_id,
        baseVisualShapeIndex=visuals.of_body(first),
        baseInertialFramePosition=first.body_from_inertial.translation,
        baseInertialFrameOrientation=first.body_from_inertial.rotation_xyzw,
        batchPositions=places,
        physicsClientId=client_id,
    )
    older = frozenset(created)
    x, y, z = first.body_from_inertial.translation
    centres = [(a + x, b + y, c + z) for a, b, c in places]
    ids = ids_of_batch(client_id, reported, centres, lambda body: body in older or is_known(body))
    created.extend(ids)
    is_centered = first.body_from_inertial == IDENTITY_POSE
    for plan, body_id in zip(plans, ids, strict=True):
        id_by_node[plan.node] = body_id
        world_from_inertial = plan.world_from_body
        if not is_centered:
            world_from_inertial = world_from_inertial @ plan.body_from_inertial
        pybullet.resetBasePositionAndOrientation(
            body_id,
            world_from_inertial.translation,
            world_from_inertial.rotation_xyzw,
            physicsClientId=client_id,
        )
        # Calls with damping or maxJointVelocity drop everything else in the same call.
        pybullet.changeDynamics(
            body_id, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client_id
        )
        pybullet.changeDynamics(
            body_id, -1, maxJointVelocity=VELOCITY_CLAMP, physicsClientId=client_id
        )
        if plan.mass > 0.0:
            weigh_link(client_id, body_id, -1, plan.mass, plan.inertia_diagonal)
    if parts:
        shapes.settle_margin(shape_id, parts, ids[0], -1)


def _set_up(client_id: int, body_id: int, plan: BodyPlan) -> None:
    if plan.linear_velocity != (0.0, 0.0, 0.0) or plan.angular_velocity != (0.0, 0.0, 0.0):
        pybullet.resetBaseVelocity(
            body_id, plan.linear_velocity, plan.angular_velocity, physicsClientId=client_id
        )


class FreeBodies:
    """The free bodies of one scene: reads their poses, applies forces that the engine lacks."""

    def __init__(
        self,
        client_id: int,
        plans: Sequence[BodyPlan],
        ids: Sequence[int],
        table: FreeTable,
        batched: Container[int],
    ) -> None:
        self._client_id = client_id
        self.batched = batched
        """Ids of bodies that were made in batches."""
        self.ids = tuple(ids)
        self.table = table
        """Constant properties of the bodies as arrays."""
        self.nodes: IntArray = table.nodes
        self.id_of_node: dict[int, int] = {
            plan.node: body_id for plan, body_id in zip(plans, ids, strict=True)
        }
        self.plans = tuple(plans)
        self._cruising = [
            (body_id, plan)
            for body_id, plan in zip(ids, plans, strict=True)
            if plan.kind is MotionKind.KINEMATIC
            and (any(plan.linear_velocity) or any(plan.angular_velocity))
        ]
        self.forces: list[Load] = []
        """Loads on bodies during the coming step, applied in each part of it."""
        self.weights: list[Load] = []
        """Loads on bodies in the coming engine step: what fields of gravity add."""
        self.poses: FloatArray = np.zeros(7 * len(self.ids))
        """Inertial frames at the last read: position [m] and rotation xyzw of each, shape [n * 7].
        """
        factors = [plan.gravity_factor for plan in plans]
        self.motion = FreeMotion(client_id, self.ids, table, factors)
        """Forces that the engine lacks on them, and those that go too far in a step."""

    @property
    def are_cruising(self) -> bool:
        """True if kinematic bodies have velocities, which are set in every step."""
        return bool(self._cruising)

    @property
    def kept_apart(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Pairs of links of one body, which never collide."""
        for body_id, plan in zip(self.ids, self.plans, strict=True):
            links = [(body_id, group - 1) for group in range(len(plan.groups))]
            yield from combinations(links, 2)

    def table_with(self, plans: Sequence[BodyPlan]) -> FreeTable:
        """Return the table of the bodies with other plans; the present one if none is another."""
        if all(new is old for new, old in zip(plans, self.plans, strict=True)):
            return self.table
        return FreeTable.of(plans)

    def can_weigh(self, table: FreeTable) -> bool:
        """Return True if :meth:`weigh` accepts such bodies: the same ones have unequal moments."""
        return table is self.table or np.array_equal(table.tumbling, self.table.tumbling)

    def weigh(self, plans: Sequence[BodyPlan]) -> None:
        """Set masses and moments of the bodies from other plans, in the order of these."""
        for body_id, old, new in zip(self.ids, self.plans, plans, strict=True):
            if new is not old:
                weigh_link(self._client_id, body_id, -1, new.mass, new.inertia_diagonal)

    def use(self, plans: Sequence[BodyPlan], table: FreeTable) -> None:
        """Use other plans of the bodies, and their table."""
        self.plans, self.table = tuple(plans), table
        self.motion.set_table(table)

    def world_from_bodies(self) -> tuple[FloatArray, FloatArray]:
        """Read body frames: positions [m] (k, 3) and rotations xyzw (k, 4), one read per body."""
        flat = self.read().reshape(-1, 7)
        positions, rotations = flat[:, :3], flat[:, 3:]
        if self.table.body_from_inertial is None:
            return positions, rotations
        offsets, turns = self.table.body_from_inertial
        body_rotations = quat_multiply(rotations, quat_conjugate(turns))
        return positions - quat_rotate(body_rotations, offsets), body_rotations

    def is_elsewhere(self, node: int) -> bool:
        """Return True if a body has moved since it was read last."""
        row = self._row_of[node]
        position, rotation = pybullet.getBasePositionAndOrientation(self.ids[row], self._client_id)
        known: list[float] = self.poses[7 * row : 7 * row + 7].tolist()
        return [*position, *rotation] != known

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {node: row for row, node in enumerate(self.id_of_node)}

    def read(self) -> FloatArray:
        """Read inertial frames: position [m] and rotation xyzw of each, shape [n * 7]."""
        read, client_id = pybullet.getBasePositionAndOrientation, self._client_id
        poses = [read(body_id, client_id) for body_id in self.ids]
        # The fastest way into an array that was measured: 1.17 us per body, the call included.
        flat = np.fromiter(chain.from_iterable(chain.from_iterable(poses)), float, 7 * len(poses))
        self.poses = flat
        return flat

    def before_step(self, time_step: float, gravity: Vec3, part: int, parts: int) -> None:
        """Apply what the engine lacks: gravity factors, kinematic velocities, gyroscopic torques.

        Args:
            time_step: Length of the coming engine step [s].
            gravity: Gravity of the world [m/s^2].
            part: Number of the engine step in a divided step, from 0 on.
            parts: Number of engine steps in it.
        """
        for body_id, plan in self._cruising:
            pybullet.resetBaseVelocity(
                body_id,
                velocity_before_turn(plan.linear_velocity, plan.angular_velocity, time_step),
                plan.angular_velocity,
                physicsClientId=self._client_id,
            )
        self.motion.before_step(gravity, part, parts, (*self.forces, *self.weights))
        self.weights.clear()

    def apply_force(self, body_id: int, force: list[float], torque: list[float]) -> None:
        """Apply a force [N] and a torque [N m] to a body during the coming step, world axes."""
        self.forces.append((body_id, force, torque))
        apply_base_force(self._client_id, body_id, force, torque)

    def reapply_forces(self) -> None:
        """Apply :attr:`forces` again: the engine clears forces after each of its steps."""
        for body_id, force, torque in self.forces:
            apply_base_force(self._client_id, body_id, force, torque)

    def set_kinematic(self, node: int, *, kinematic: bool) -> None:
        """Make a dynamic body kinematic, or dynamic again; its velocity stays.

        Collision bits must be written anew afterwards: a mass that crosses zero resets them.
        """
        index = int(np.flatnonzero(self.nodes == node)[0])
        self.motion.hold(index, is_held=kinematic)
        body_id, plan = self.ids[index], self.plans[index]
        linear, angular = pybullet.getBaseVelocity(body_id, self._client_id)
        if kinematic:
            pybullet.changeDynamics(body_id, -1, mass=0.0, physicsClientId=self._client_id)
        else:
            weigh_link(self._client_id, body_id, -1, plan.mass, plan.inertia_diagonal)
        pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=self._client_id)
