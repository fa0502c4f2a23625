"""All jointed bodies of a scene in the engine: the step, poses, anchors, state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.bullet.joints.loop_constraints import NO_LOOPS, LoopConstraints
from gltf_bullet.bullet.joints.scene_arrays import (
    NO_MOMENT,
    NO_STATE,
    AnchorMotion,
    ArticulationMoment,
    ArticulationState,
    SceneArrays,
)
from gltf_bullet.bullet.joints.solving.contact_reader import ContactReader
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.bullet.state import velocity_before_turn
from gltf_bullet.diagnostics import Issue
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans, LinkPlaces
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.solver.articulation_arrays import PART, PARTS, SUBSTEPS
from gltf_bullet.solver.last_step.external_motors import OLD_READING
from gltf_bullet.transforms import (
    FloatArray,
    Pose,
    Quat,
    Vec3,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

__all__ = ["ArticulationSet"]

# --- Which engine links the jointed bodies of a scene are -----------------------------------------


class JointedLinks:
    """Worked out for who asks: copies of a robot differ in the ids of bodies alone."""

    def __init__(self, places: LinkPlaces, body_ids: tuple[int, ...]) -> None:
        self._places = places
        self.body_ids = body_ids
        """Every multibody of the articulations."""
        self.own_shapes: frozenset[int] = frozenset()
        """Bodies that do not share their shapes."""
        self.apart: Sequence[tuple[int, Sequence[tuple[int, int]]]] = ()
        """Bodies, and pairs of links within them that the engine keeps apart by itself."""

    @cached_property
    def link_of(self) -> dict[int, EngineLink]:
        """(body id, link index) by motion node; -1 is a base."""
        return {node: self.link_at(node) for node in self._places.bodies}

    def link_at(self, node: int) -> EngineLink:
        """The same for one node: to look up few of many."""
        number, link = self._places.bodies[node]
        return self.body_ids[number], link

    def links_of(self, node: int) -> list[EngineLink]:
        """All links that carry a body's colliders."""
        further = self._places.groups.get(node, ())
        return [self.link_at(node), *((self.body_ids[number], link) for number, link in further)]

    def sharers(self) -> Iterator[int]:
        """The motion nodes of bodies that share their shapes with others."""
        if not self.own_shapes.issuperset(self.body_ids):
            for node, (body, _) in self.link_of.items():
                if body not in self.own_shapes:
                    yield node

    def pairs_within_bodies(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Links that carry colliders of one body, and must not collide."""
        for node in self._places.groups:
            yield from combinations(self.links_of(node), 2)

    @property
    def kept_apart(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """All pairs that the engine keeps apart: a robot of 26 links has 325."""
        for body, pairs in self.apart:
            yield from (((body, link), (body, other)) for link, other in pairs)


_Connection: TypeAlias = tuple[EngineSession, Sequence[int], PlanMemo, Callable[[], bool]]


class ArticulationSet(JointedLinks):
    """The jointed bodies of one scene in motion."""

    def __init__(
        self,
        client_id: int,
        plans: ArticulationPlans,
        body_plans: Mapping[int, BodyPlan],
        arena: SceneArrays,
        articulations: Sequence[Articulation],
        anchors: dict[int, AnchorMotion],
        created: list[int],
        places: LinkPlaces,
    ) -> None:
        ids = tuple([body for articulation in articulations for body in articulation.body_ids])
        super().__init__(places, ids)
        self.client_id = client_id
        self.plans = plans
        self.arena = arena
        self.articulations = tuple(articulations)
        self._body_plans = body_plans
        self._anchors = anchors
        self._bases = [(anchor, ids[number]) for anchor, number in places.bases]
        self._connection: _Connection | None = None
        solid = {ids[number] for number in places.solid}
        self.contacts = ContactReader(client_id, self.articulations, solid)
        """The scene's view of the contacts in its world."""
        self.loop_constraints = NO_LOOPS
        if plans.cut_constraints or any(a.plan.loop_constraints for a in self.articulations):
            self.loop_constraints = LoopConstraints(
                client_id, self.articulations, anchors, created, plans.cut_constraints,
                plans.world_anchor,
            )  # fmt: skip
            self.contacts.own_constraints = set(self.loop_constraints.constraint_ids)

    # Made when they are asked for: many scenes have no joint.

    @cached_property
    def solver(self) -> JointSolver:
        """The joint-space solve, coupled where contacts carry forces."""
        solver = JointSolver(self.client_id, self.arena, self.articulations, self.contacts)
        if self._connection is not None and self.articulations:
            session, body_ids, memo, meet_nothing = self._connection
            loops = self.loop_constraints.records
            solver.connect(session, body_ids, loops, memo, meet_nothing)
        return solver

    @property
    def is_unread(self) -> bool:
        """Nobody has read its bodies yet."""
        return "solver" not in self.__dict__

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What steps have found."""
        return () if self.is_unread else self.solver.findings.issues

    @cached_property
    def nodes(self) -> npt.NDArray[np.intp]:
        """Motion nodes in the order of :meth:`world_from_bodies`."""
        return np.array(list(self.link_of), dtype=np.intp)

    @cached_property
    def controls(self) -> JointControls:
        """Dofs, drives and limits, to read and to change."""
        cuts = self.plans.cut_constraints
        return JointControls(
            self.articulations, [(c.first_articulation, c.planned) for c in cuts if c.planned]
        )

    @cached_property
    def _inertial(self) -> tuple[FloatArray, FloatArray]:
        """Inertial frames in those of the bodies: positions [m] (k, 3), rotations (k, 4)."""
        inertial = [self._body_plans[node].body_from_inertial for node in self.link_of]
        positions = np.array([pose.translation for pose in inertial])
        return positions, np.array([pose.rotation_xyzw for pose in inertial])

    @cached_property
    def _frame_of(self) -> dict[int, tuple[int, int]]:
        return {
            node: (number, frame)
            for number, articulation in enumerate(self.articulations)
            for frame, node in enumerate(articulation.record.frames.node)
            if node >= 0
        }

    def frame_of(self, node: int) -> tuple[int, int]:
        """Number of a body's articulation, and its frame there."""
        return self._frame_of[node]

    def connect(
        self,
        session: EngineSession,
        body_ids: Sequence[int],
        memo: PlanMemo,
        meet_nothing: Callable[[], bool],
    ) -> None:
        """Let kernels call the engine from the first step on, where they can.

        Args:
            session: The world.
            body_ids: All bodies of the scene, marked.
            memo: Of the scene's plan.
            meet_nothing: Tells whether rules and filters keep all links of the scene apart.
        """
        self._connection = session, body_ids, memo, meet_nothing

    @property
    def is_any(self) -> bool:
        """Whether there is a joint at all."""
        return bool(self.articulations)

    # --- the step -----------------------------------------------------------------------------

    def set_anchor(
        self,
        node: int,
        position: Vec3 | FloatArray,
        rotation_xyzw: Quat | FloatArray,
        linear_velocity: Vec3 | FloatArray,
        angular_velocity: Vec3 | FloatArray,
        dt: float,
    ) -> None:
        """Announce a moving anchor's pose now and its velocity over the coming step.

        Call it before :meth:`before_step`, every step. ``node`` is one of ``plans.moving_anchors``:
        a kinematic motion node or an animated attachment node. Velocities are those of the node's
        origin, world axes; their change since the last call is the acceleration that swings what
        hangs on the anchor.
        """
        anchor = self._anchors[node]
        velocity = np.array([*linear_velocity, *angular_velocity], dtype=np.float64)
        anchor.acceleration[:] = (velocity - anchor.velocity) / dt
        anchor.position[:], anchor.rotation_xyzw[:] = position, rotation_xyzw
        anchor.velocity[:] = velocity

    def tighten_loops(self) -> None:
        """Pull at open loops, where kernels did not."""
        if self.loop_constraints.is_any and not self.solver.is_native:
            self.loop_constraints.tighten()

    def after_step(self) -> None:
        """Close loops that the step has opened; give native limits back."""
        if self.loop_constraints.is_any and not self.solver.has_closed:
            self.solver.close_loops()
        self.solver.has_closed = False
        for articulation in self.articulations:
            if articulation.is_watching:
                articulation.after_step()

    @property
    def stands_alone(self) -> bool:
        """Whether nothing but the solve has to be done before a step."""
        return not self._anchors

    @property
    def needs_every_step(self) -> bool:
        """Whether :meth:`after_step` has something to do after every step."""
        for articulation in self.articulations:  # noqa: SIM110  # asked in every step
            if articulation.is_watching:
                return True
        return False

    def begin_part(self, substeps: int, part: int, parts: int) -> None:
        """Say what the coming engine step is.

        Args:
            substeps: That the engine makes of it.
            part: Its number among ...
            parts: ... those that the step is made of.
        """
        self.arena.ints[SUBSTEPS] = substeps
        self.arena.ints[PART] = part
        self.arena.ints[PARTS] = parts
        if self.is_any:
            self.solver.is_last_part = part == parts - 1

    def end_parts(self) -> None:
        """The step is over: the next one is one engine step."""
        self.arena.ints[PART] = 0
        self.arena.ints[PARTS] = 1

    def move_anchors(self, dt: float) -> None:
        """Put the bodies of moving anchors where they were announced: before the solve."""
        for node, body in (*self._bases, *self.loop_constraints.ghosts):
            anchor = self._anchors[node]
            pose = anchor.position.tolist(), anchor.rotation_xyzw.tolist()
            pybullet.resetBasePositionAndOrientation(body, *pose, physicsClientId=self.client_id)
            linear, spin = anchor.velocity[:3].tolist(), anchor.velocity[3:].tolist()
            before = velocity_before_turn(linear, spin, dt)
            pybullet.resetBaseVelocity(body, before, spin, physicsClientId=self.client_id)

    # --- bodies -------------------------------------------------------------------------------

    def world_from_bodies(self) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
        """Motion nodes (k,), body frame positions [m] (k, 3) and rotations xyzw (k, 4)."""
        rows: list[tuple[Vec3, Quat]] = []
        for articulation in self.articulations:
            for multibody, body in zip(
                articulation.plan.multibodies, articulation.body_ids, strict=True
            ):
                links = [link for _, link in multibody.bodies if link >= 0]
                if multibody.root_node >= 0:
                    rows.append(pybullet.getBasePositionAndOrientation(body, self.client_id))
                if links:
                    # Of a link that a body lacks PyBullet ends the process (measured).
                    if pybullet.getNumJoints(body, self.client_id) <= max(links):
                        raise pybullet.error("the body is another one")
                    states = pybullet.getLinkStates(
                        body,
                        links,
                        computeForwardKinematics=1,
                        physicsClientId=self.client_id,
                    )
                    rows += [state[:2] for state in states]
        if not rows:
            return self.nodes, np.zeros((0, 3)), np.zeros((0, 4))
        positions = np.array([row[0] for row in rows])
        rotations = np.array([row[1] for row in rows])
        inertial_positions, inertial_rotations = self._inertial
        body_rotations = quat_multiply(rotations, quat_conjugate(inertial_rotations))
        origins = positions - quat_rotate(body_rotations, inertial_positions)
        return self.nodes, origins, body_rotations

    def world_from_body(self, node: int) -> Pose:
        """Body frame of one motion node, read alone."""
        body, link = self.link_of[node]
        if link < 0:
            position, rotation = pybullet.getBasePositionAndOrientation(body, self.client_id)
        else:
            position, rotation = pybullet.getLinkState(
                body, link, computeForwardKinematics=1, physicsClientId=self.client_id
            )[:2]
        return Pose(rotation, position) @ self._body_plans[node].body_from_inertial.inverse()

    def velocities_of(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Linear velocity of the centre of mass [m/s] and angular velocity [rad/s], world axes."""
        number, frame = self._frame_of[node]
        state = self.articulations[number].read()
        return state.linear_velocity[frame].copy(), state.angular_velocity[frame].copy()

    def velocities(self) -> tuple[FloatArray, FloatArray]:
        """Velocities of all bodies in the order of :attr:`nodes`, world axes.

        Linear ones of the centres of mass [m/s] (k, 3) and angular ones [rad/s] (k, 3).
        """
        linear, angular = np.zeros((len(self.nodes), 3)), np.zeros((len(self.nodes), 3))
        where = {node: k for k, node in enumerate(self.nodes.tolist())}
        for articulation in self.articulations:
            state = articulation.read()
            for frame, node in enumerate(articulation.record.frames.node):
                if node >= 0:
                    linear[where[node]] = state.linear_velocity[frame]
                    angular[where[node]] = state.angular_velocity[frame]
        return linear, angular

    def weigh(self, plans: ArticulationPlans, body_plans: Mapping[int, BodyPlan]) -> bool:
        """Take plans that differ in masses alone; ``False`` where that takes other bodies."""
        pairs = list(zip(self.articulations, plans.articulations, strict=True))
        if not all(articulation.can_weigh(plan) for articulation, plan in pairs):
            return False
        for articulation, plan in pairs:
            articulation.weigh(plan)
        self.plans, self._body_plans = plans, body_plans
        return True

    def apply_impulse(
        self, node: int, linear: Vec3 | FloatArray, angular: Vec3 | FloatArray
    ) -> None:
        """Change velocities at once; the joints pass the impulse on to the other bodies.

        ``linear`` [N s] acts at the centre of mass of the body, ``angular`` is in N m s; both in
        world axes.
        """
        number, frame = self._frame_of[node]
        self.articulations[number].apply_impulse(frame, np.array(linear), np.array(angular))

    def apply_force(self, node: int, force: FloatArray, torque: FloatArray) -> None:
        """A force [N] at a body's centre of mass and a torque [N m] during the coming step."""
        self.solver.push(*self._frame_of[node], force, torque)

    def start_velocities(self) -> None:
        """Start all bodies with their authored velocities, as far as the joints allow."""
        for articulation in self.articulations:
            owned = (node for m in articulation.plan.multibodies for node, _ in m.bodies)
            plans = {node: self._body_plans[node] for node in owned}
            if any(any(p.linear_velocity) or any(p.angular_velocity) for p in plans.values()):
                articulation.project_velocities(
                    {node: np.array(p.linear_velocity) for node, p in plans.items()},
                    {node: np.array(p.angular_velocity) for node, p in plans.items()},
                )

    # --- state --------------------------------------------------------------------------------

    def state(self, dt: float) -> ArticulationState:
        """What has to be restored beside ``pybullet.restoreState``; ``dt`` [s] of the next step."""
        if not self.articulations:
            return NO_STATE
        self.solver.io.forget_bases()
        self.solver.hear(dt)
        return ArticulationState(
            memory=self.arena.memory(),
            drives=self.controls.drive_values(),
            anchors={
                node: (
                    anchor.position.copy(),
                    anchor.rotation_xyzw.copy(),
                    anchor.velocity.copy(),
                    anchor.acceleration.copy(),
                )
                for node, anchor in self._anchors.items()
            },
        )

    def moment(self) -> ArticulationMoment:
        """Return what :meth:`return_to` needs, right after :meth:`restore`."""
        if not self.articulations:
            return NO_MOMENT
        arena = self.arena
        taken = tuple([articulation.taken for articulation in self.articulations])
        edits = self.controls.limit_edits
        return ArticulationMoment(arena.ints.copy(), arena.floats.copy(), taken, edits)

    def note_masses(self, moment: ArticulationMoment) -> None:
        """Let a moment have the masses that are now: nothing else has changed."""
        for articulation in self.articulations:
            record = articulation.record
            own = record.places["link"].where
            moment.floats[own] = self.arena.floats[own]

    def return_to(self, moment: ArticulationMoment) -> bool:
        """Stand as then, if nobody has changed limits or given motors to PyBullet since."""
        if not self.articulations:
            return True
        if moment.limit_edits != self.controls.limit_edits or any(
            axes.any() for axes in moment.taken
        ):
            return False
        arena = self.arena
        motors = arena.ints[arena.own_motors].copy()  # those are still the engine's
        arena.ints[:], arena.floats[:] = moment.ints, moment.floats
        arena.ints[arena.own_motors] = motors
        self.solver.forget_motors()
        for articulation in self.articulations:
            articulation.follow_recovery()
        return True

    def restore(self, state: ArticulationState) -> None:
        """Take back :meth:`state`; call after ``pybullet.restoreState``."""
        if not self.articulations:
            return
        are_ours = [articulation.taken == 0.0 for articulation in self.articulations]
        self.arena.recall(state.memory)
        for articulation, is_ours in zip(self.articulations, are_ours, strict=True):
            articulation.heard[:] = 1.0
            articulation.quiet[is_ours] = OLD_READING
        self.solver.forget_motors()
        for articulation in self.articulations:
            articulation.follow_recovery()
        self.controls.restore_drives(state.drives)
        for node, values in state.anchors.items():
            anchor = self._anchors[node]
            anchor.position[:], anchor.rotation_xyzw[:] = values[:2]
            anchor.velocity[:], anchor.acceleration[:] = values[2:]
