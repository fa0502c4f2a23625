"""Bodies without joints: creation (in batches where many are equal), poses, forces of the step.

A free body is one base-only multibody; collider groups beyond the first sit on fixed massless
links (measured: those behave as part of the body). Many static colliders are maximal-coordinate
bodies, the cheapest kind (measured: 1000 of them cost 0.3 ms per step, 0.9 ms as multibodies).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.bodies.gyroscopic_bodies import GyroscopicBodies
from gltf_bullet.bullet.bodies.kept_bodies import NONE_KEPT, KeptBodies
from gltf_bullet.bullet.bodies.multibody import (
    LinkJoint,
    LinkSpec,
    MultibodySpec,
    create_multibody,
    weigh_link,
)
from gltf_bullet.bullet.rendering.visuals import BodyVisuals
from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.state import apply_base_force, velocity_before_turn
from gltf_bullet.errors import EngineError
from gltf_bullet.model import MotionKind
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP, BodyPlan
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.transforms import (
    IDENTITY_POSE,
    FloatArray,
    IntArray,
    Quat,
    Vec3,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

__all__ = ["FreeBodies", "create_free_bodies", "no_free_bodies"]

_TABLE: MemoKey[FreeTable] = MemoKey("free bodies as a table")

# --- Which ids the bodies of one ``createMultiBody(batchPositions=...)`` have ---------------------

_ROUNDING = 1e-9
"""Of a distance from the origin, or in metres near it."""


def ids_of_batch(
    client_id: int,
    told: Sequence[int],
    places: Sequence[Vec3],
    is_known: Callable[[int], bool],
) -> list[int]:
    """The ids of the bodies that were created at some places, in their order.

    PyBullet says that they end one after the other with the last one. Where bodies were removed
    before, their ids are given out again, last in, first out, and what it says are other bodies'
    (measured): then the new ones are found by where they stand.

    Args:
        client_id: The world.
        told: What ``createMultiBody`` returned.
        places: Of the bodies' centres of mass [m].
        is_known: Whether an id is that of an older body of ours.

    Raises:
        EngineError: A body cannot be found.
    """
    if all(
        not is_known(body) and _stands_at(client_id, body, place)
        for body, place in zip(told, places, strict=True)
    ):
        return list(told)
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


PutBack: TypeAlias = Callable[[FloatArray, FloatArray, Collection[int]], None]
"""Takes inertial positions [n, 3] and rotations [n, 4], corrects them, and the engine's bodies; the
rows named last have prescribed poses."""


def create_free_bodies(
    client_id: int,
    plans: Mapping[int, BodyPlan],
    shapes: EngineShapes,
    visuals: BodyVisuals,
    batch_size: int,
    created: list[int],
    is_known: Callable[[int], bool] = lambda _: False,
    memo: PlanMemo | None = None,
    kept: KeptBodies = NONE_KEPT,
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
    """Those of all scenes of a world that have none, as most robots: to be shared."""
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
    """One call for many bodies that share shape and inertial frame (measured: 12 us against 83)."""
    first = plans[0]
    parts = first.groups[0].shapes if first.groups else ()
    shape_id = shapes.shape_id(parts)
    # Bodies must be born apart: moving them out of one place costs 118 us each (measured).
    places = [plan.world_from_body.translation for plan in plans]
    told = pybullet.createMultiBody(
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
    ids = ids_of_batch(client_id, told, centres, lambda body: body in older or is_known(body))
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
    """The free bodies of one scene in motion: stacked poses out, forces of the specs in."""

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
        """Bodies that were made in batches."""
        self.ids = tuple(ids)
        self.table = table
        """What the bodies are like."""
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
        self.pushes: list[tuple[int, list[float], list[float]]] = []
        """Forces [N] and torques [N m] on bodies during the coming step, which may be divided."""
        self.poses: FloatArray = np.zeros(7 * len(self.ids))
        """As they were read last."""
        self._held: set[int] = set()
        """Rows of dynamic bodies whose poses are prescribed at present."""
        self._gyroscopic = GyroscopicBodies(client_id, self.ids, table.tumbling, table.moments)
        self._lifted = self._find_lifted()
        self._is_left_alone = not (self._cruising or self._lifted or self.are_tumbling)

    def _find_lifted(self) -> list[tuple[int, float]]:
        """Bodies that fall otherwise than the engine's gravity has it, and what mass of it."""
        return [
            (body_id, plan.mass * (plan.gravity_factor - 1.0))
            for body_id, plan in zip(self.ids, self.plans, strict=True)
            if plan.kind is MotionKind.DYNAMIC and plan.gravity_factor != 1.0
        ]

    def connect(self, find_row: Callable[[], IntTable | None]) -> None:
        """Let kernels keep the angular momentum of bodies, if they can call the engine.

        ``find_row``: finds the row of the world's engine: see ``NativeWorld.row``.
        """
        self._gyroscopic.find_row = find_row

    @property
    def kept_apart(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Links of one body, which the engine keeps from colliding by itself."""
        for body_id, plan in zip(self.ids, self.plans, strict=True):
            links = [(body_id, group - 1) for group in range(len(plan.groups))]
            yield from combinations(links, 2)

    def can_weigh(self, table: FreeTable) -> bool:
        """Whether :meth:`weigh` can take such bodies: the same ones tumble."""
        return bool(np.array_equal(table.tumbling, self.table.tumbling))

    def weigh(self, plans: Sequence[BodyPlan], table: FreeTable) -> None:
        """Give the bodies the masses and moments of other plans, in the order of these."""
        for body_id, old, new in zip(self.ids, self.plans, plans, strict=True):
            if new is not old:
                weigh_link(self._client_id, body_id, -1, new.mass, new.inertia_diagonal)
        self.plans, self.table = tuple(plans), table
        self._lifted = self._find_lifted()
        self._gyroscopic.weigh(table.moments)

    def world_from_bodies(self, put_back: PutBack) -> tuple[FloatArray, FloatArray]:
        """Read body frames: positions [m] (k, 3) and rotations xyzw (k, 4), one read per body.

        Args:
            put_back: Corrects what went through something in the last step.
        """
        flat = self.read(put_back).reshape(-1, 7)
        positions, rotations = flat[:, :3], flat[:, 3:]
        if self.table.body_from_inertial is None:
            return positions, rotations
        offsets, turns = self.table.body_from_inertial
        body_rotations = quat_multiply(rotations, quat_conjugate(turns))
        return positions - quat_rotate(body_rotations, offsets), body_rotations

    def is_elsewhere(self, node: int) -> bool:
        """Whether a body is not where it was read last."""
        row = self._row_of[node]
        position, rotation = pybullet.getBasePositionAndOrientation(self.ids[row], self._client_id)
        known: list[float] = self.poses[7 * row : 7 * row + 7].tolist()
        return [*position, *rotation] != known

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {node: row for row, node in enumerate(self.id_of_node)}

    def glance(self) -> list[tuple[Vec3, Quat]]:
        """Of the inertial frames, as the engine gives them."""
        read, client_id = pybullet.getBasePositionAndOrientation, self._client_id
        return [read(body_id, client_id) for body_id in self.ids]

    def read(self, put_back: PutBack | None) -> FloatArray:
        """Read inertial frames: position [m] and rotation xyzw of each, shape [n * 7].

        Args:
            put_back: Corrects what went through something in the last step; ``None``: nothing did.
        """
        poses = self.glance()
        # The fastest way into an array that was measured: 1.17 us per body, the call included.
        flat = np.fromiter(chain.from_iterable(chain.from_iterable(poses)), float, 7 * len(poses))
        if put_back is not None:
            rows = flat.reshape(-1, 7)
            put_back(rows[:, :3], rows[:, 3:], self._held)
        self.poses = flat
        return flat

    def before_step(self, time_step: float, gravity: Vec3) -> None:
        """Apply what the engine does not know: gravity factors, kinematic velocities, gyroscopics.

        Args:
            time_step: [s] of the coming engine step.
            gravity: [m/s^2] of the world.
        """
        if self._is_left_alone:
            return
        for body_id, plan in self._cruising:
            pybullet.resetBaseVelocity(
                body_id,
                velocity_before_turn(plan.linear_velocity, plan.angular_velocity, time_step),
                plan.angular_velocity,
                physicsClientId=self._client_id,
            )
        for body_id, mass in self._lifted:
            position, _ = pybullet.getBasePositionAndOrientation(body_id, self._client_id)
            pybullet.applyExternalForce(
                body_id,
                -1,
                [mass * g for g in gravity],
                position,
                pybullet.WORLD_FRAME,
                physicsClientId=self._client_id,
            )
        self._gyroscopic.steady(time_step)

    def push(self, body_id: int, force: list[float], torque: list[float]) -> None:
        """Push and turn a body during the coming step, world axes."""
        self.pushes.append((body_id, force, torque))
        apply_base_force(self._client_id, body_id, force, torque)

    def push_again(self) -> None:
        """The engine forgets forces after each step of its own."""
        for body_id, force, torque in self.pushes:
            apply_base_force(self._client_id, body_id, force, torque)

    def set_kinematic(self, node: int, *, kinematic: bool) -> None:
        """Take a dynamic body out of the simulation, or give it back; its velocity stays.

        Collision bits must be written anew afterwards: a mass that crosses zero resets them.
        """
        index = int(np.flatnonzero(self.nodes == node)[0])
        (self._held.add if kinematic else self._held.discard)(index)
        body_id, plan = self.ids[index], self.plans[index]
        linear, angular = pybullet.getBaseVelocity(body_id, self._client_id)
        if kinematic:
            pybullet.changeDynamics(body_id, -1, mass=0.0, physicsClientId=self._client_id)
        else:
            weigh_link(self._client_id, body_id, -1, plan.mass, plan.inertia_diagonal)
        pybullet.resetBaseVelocity(body_id, linear, angular, physicsClientId=self._client_id)

    @property
    def fastest(self) -> float:
        """Speed of the fastest body as the step began [m/s]; infinite where that was not asked."""
        is_asked = len(self.ids) == self._gyroscopic.count
        return self._gyroscopic.fastest if is_asked else math.inf

    @property
    def is_idle(self) -> bool:
        """Whether :meth:`before_step` has nothing to do, ever."""
        return not (self._cruising or self._lifted or self._gyroscopic.are_any)

    @property
    def are_tumbling(self) -> bool:
        """Whether there are dynamic bodies whose principal moments differ."""
        return self._gyroscopic.are_any
