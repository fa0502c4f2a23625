"""All jointed bodies of a scene in the engine: their links, step, poses, anchors and state.

The file is long because it is the one interface between a scene and its articulations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from gltf_bullet.bullet.state import set_base_pose, velocity_before_turn
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import Issue
from gltf_bullet.numba_aot.library import package_library
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans, LinkPlaces
from gltf_bullet.planning.plan_memo import PlanMemo
from gltf_bullet.planning.shapes.shape_plans import PlacedShape
from gltf_bullet.solver.articulation_arrays import PART, SUBSTEPS
from gltf_bullet.solver.entries import load_entries
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

# --- Engine links of the jointed bodies of a scene ------------------------------------------------


class JointedLinks:
    """Engine links by motion node, computed on first use: copies differ in body ids alone."""

    def __init__(self, places: LinkPlaces, body_ids: tuple[int, ...]) -> None:
        self._places = places
        self.body_ids = body_ids
        """Ids of all multibodies of the articulations."""
        self.own_shapes: frozenset[int] = frozenset()
        """Ids of bodies with shapes of their own."""
        self.apart: Sequence[tuple[int, Sequence[tuple[int, int]]]] = ()
        """Bodies, each with the pairs of its links that the engine keeps from colliding."""
        self.shared: Sequence[tuple[EngineLink, tuple[PlacedShape, ...]]] = ()
        """Links of bodies that share shapes with others, and these shapes in the links' frames."""

    @cached_property
    def link_of(self) -> dict[int, EngineLink]:
        """(body id, link index) by motion node; link -1 is a base."""
        return {node: self.link_at(node) for node in self._places.bodies}

    def link_at(self, node: int) -> EngineLink:
        """Return (body id, link index) of one node, without the whole :attr:`link_of`."""
        number, link = self._places.bodies[node]
        return self.body_ids[number], link

    def links_of(self, node: int) -> list[EngineLink]:
        """Return all links that carry a body's colliders."""
        further = self._places.groups.get(node, ())
        return [self.link_at(node), *((self.body_ids[number], link) for number, link in further)]

    def pairs_within_bodies(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """Yield pairs of links with colliders of one body, which must not collide."""
        for node in self._places.groups:
            yield from combinations(self.links_of(node), 2)

    @property
    def kept_apart(self) -> Iterator[tuple[EngineLink, EngineLink]]:
        """All pairs that the engine keeps from colliding: a robot of 26 links has 325."""
        for body, pairs in self.apart:
            yield from (((body, link), (body, other)) for link, other in pairs)


_Connection: TypeAlias = tuple[
    EngineSession, Sequence[int], PlanMemo, Callable[[], bool], FloatArray
]


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

    # Computed on first use: many scenes have no joint.

    @cached_property
    def solver(self) -> JointSolver:
        """The joint-space solve of the scene."""
        solver = JointSolver(self.client_id, self.arena, self.articulations, self.contacts)
        # Nothing is compiled for scenes without joints.
        if self._connection is not None and (self.articulations or package_library() is not None):
            load_entries()
            session, body_ids, memo, meet_nothing, free = self._connection
            loops = self.loop_constraints.records
            solver.connect(session, body_ids, loops, memo, meet_nothing, free)
        return solver

    @property
    def is_unread(self) -> bool:
        """True until the solver is first used."""
        return "solver" not in self.__dict__

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Issues that steps have found."""
        return () if self.is_unread else self.solver.warnings.issues

    @cached_property
    def nodes(self) -> npt.NDArray[np.intp]:
        """Motion nodes in the order of :meth:`world_from_bodies`."""
        return np.array(list(self.link_of), dtype=np.intp)

    @cached_property
    def controls(self) -> JointControls:
        """Degrees of freedom, drives and limits, to read and to change."""
        cuts = self.plans.cut_constraints
        return JointControls(
            self.articulations, [(c.first_articulation, c.planned) for c in cuts if c.planned]
        )

    @cached_property
    def _inertial(self) -> tuple[FloatArray, FloatArray]:
        """body_from_inertial of each body: positions [m] (k, 3) and rotations xyzw (k, 4)."""
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
        """Return the number of a body's articulation, and its frame there."""
        return self._frame_of[node]

    def is_floating(self, node: int) -> bool:
        """Return True if nothing holds the mechanism of a body: no fixed or kinematic base."""
        number, _ = self.frame_of(node)
        return all(
            pybullet.getDynamicsInfo(body, -1, physicsClientId=self.client_id)[0] > 0.0
            for body in self.articulations[number].body_ids
        )

    def move(self, node: int, present_from_past: Pose) -> None:
        """Move the whole mechanism of a body in the world; velocities and joints stay."""
        number, _ = self.frame_of(node)
        for body in self.articulations[number].body_ids:
            place, turn = pybullet.getBasePositionAndOrientation(body, self.client_id)
            pose = present_from_past @ Pose(turn, place)
            set_base_pose(self.client_id, body, pose.translation, pose.rotation_xyzw)

    def connect(
        self,
        session: EngineSession,
        body_ids: Sequence[int],
        memo: PlanMemo,
        meet_nothing: Callable[[], bool],
        free: FloatArray,
    ) -> None:
        """Let kernels call the engine from the first step on, if they can.

        Args:
            session: The world.
            body_ids: All bodies of the scene, tagged.
            memo: Memo of the scene's plan.
            meet_nothing: Returns True if rules and filters keep all links of the scene apart.
            free: Table of the scene's free bodies: see ``FreeMotion.values``.
        """
        self._connection = session, body_ids, memo, meet_nothing, free

    @property
    def is_any(self) -> bool:
        """True if there is a joint."""
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
        """Set a moving anchor's present pose and its velocity over the coming step.

        Call it before ``JointSteps.before_step``, every step. ``node`` is one of
        ``plans.moving_anchors``: a kinematic motion node or an animated attachment node. Velocities
        are those of the node's origin, world axes; their change since the last call is the anchor's
        acceleration, which acts on the jointed bodies.
        """
        anchor = self._anchors[node]
        velocity = np.array([*linear_velocity, *angular_velocity], dtype=np.float64)
        anchor.acceleration[:] = (velocity - anchor.velocity) / dt
        anchor.position[:], anchor.rotation_xyzw[:] = position, rotation_xyzw
        anchor.velocity[:] = velocity

    def does_anchor_rest(self, node: int) -> bool:
        """Return True if a moving anchor was set at rest, and rested when it was set before."""
        anchor = self._anchors[node]
        return not (anchor.velocity.any() or anchor.acceleration.any())

    def tighten_loops(self) -> None:
        """Shift the constraints of open loops before the step, unless kernels have done it."""
        if self.loop_constraints.is_any and not self.solver.is_native:
            self.loop_constraints.tighten()

    def after_step(self) -> None:
        """Close loops that the step has opened; restore native limits of recovered axes."""
        if self.loop_constraints.is_any and not self.solver.has_closed:
            self.solver.close_loops()
        self.solver.has_closed = False
        for articulation in self.articulations:
            if articulation.has_recovering_limits:
                articulation.after_step()

    @property
    def needs_every_step(self) -> bool:
        """True if :meth:`after_step` has something to do after every step."""
        for articulation in self.articulations:  # noqa: SIM110  # asked in every step
            if articulation.has_recovering_limits:
                return True
        return False

    def begin_part(self, substeps: int, part: int) -> None:
        """Set which part of a divided step the coming engine step is.

        Args:
            substeps: Substeps of the engine in it.
            part: Number of the part, from 0 on.
        """
        self.arena.ints[SUBSTEPS] = substeps
        self.arena.ints[PART] = part

    def move_anchors(self, dt: float) -> None:
        """Set poses and velocities of the anchors' bodies in the engine, before the solve."""
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
                    # PyBullet ends the process for a link that a body lacks (measured).
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
        """Return the body frame of one motion node, read alone."""
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
        """Return velocities of all bodies in the order of :attr:`nodes`, world axes.

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
        """Set masses from other plans; return False if those need other bodies."""
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
        """Change velocities at once by an impulse, which the joints transmit to the other bodies.

        ``linear`` [N s] acts at the centre of mass of the body, ``angular`` is in N m s; both in
        world axes.
        """
        number, frame = self._frame_of[node]
        self.articulations[number].apply_impulse(frame, np.array(linear), np.array(angular))

    def apply_force(self, node: int, force: FloatArray, torque: FloatArray) -> None:
        """Apply a force [N] at a centre of mass and a torque [N m] during the coming step."""
        self.solver.apply_force(*self._frame_of[node], force, torque)

    def start_velocities(self) -> None:
        """Set the authored velocities of all bodies, as far as the joints allow."""
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
        """Return the state that ``pybullet.restoreState`` lacks; ``dt`` [s] of the next step."""
        if not self.articulations:
            return NO_STATE
        self.solver.io.forget_bases()
        self.solver.read_motor_forces(dt)
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
        """Return the data for :meth:`return_to`, right after :meth:`restore`."""
        if not self.articulations:
            return NO_MOMENT
        arena = self.arena
        taken = tuple([articulation.externally_driven for articulation in self.articulations])
        edits = self.controls.limit_edits
        return ArticulationMoment(arena.ints.copy(), arena.floats.copy(), taken, edits)

    def note_masses(self, moment: ArticulationMoment) -> None:
        """Copy the present masses into a moment, if nothing else has changed."""
        for articulation in self.articulations:
            record = articulation.record
            own = record.places["link"].where
            moment.floats[own] = self.arena.floats[own]

    def return_to(self, moment: ArticulationMoment) -> bool:
        """Restore a moment; return False if limits have changed or axes are externally driven."""
        if not self.articulations:
            return True
        if moment.limit_edits != self.controls.limit_edits or any(
            axes.any() for axes in moment.taken
        ):
            return False
        arena = self.arena
        motors = arena.ints[arena.own_motors].copy()  # these describe the engine's present motors
        arena.ints[:], arena.floats[:] = moment.ints, moment.floats
        arena.ints[arena.own_motors] = motors
        self.solver.io.forget_bases()
        for articulation in self.articulations:
            articulation.follow_recovery()
        return True

    def restore(self, state: ArticulationState) -> None:
        """Restore a :meth:`state`; call it after ``pybullet.restoreState``."""
        if not self.articulations:
            return
        are_ours = [articulation.externally_driven == 0.0 for articulation in self.articulations]
        self.arena.recall(state.memory)
        for articulation, is_ours in zip(self.articulations, are_ours, strict=True):
            articulation.motor_force_is_old[:] = 1.0
            articulation.idle_steps[is_ours] = OLD_READING
        self.solver.io.forget_bases()
        for articulation in self.articulations:
            articulation.follow_recovery()
        self.controls.restore_drives(state.drives)
        for node, values in state.anchors.items():
            anchor = self._anchors[node]
            anchor.position[:], anchor.rotation_xyzw[:] = values[:2]
            anchor.velocity[:], anchor.acceleration[:] = values[2:]
