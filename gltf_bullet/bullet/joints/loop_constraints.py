"""Engine constraints that close loops, second anchors and cuts between multibodies.

Constraint frames are relative to centres of mass. A gap at load would explode under a large force
(measured: 50 mm released 27 kJ); no constraint ever gets one, because an axis that starts displaced
stays a degree of freedom of the welded chain, and the solve brings it back (0.1 J).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.multibody import create_multibody
from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.scene_arrays import AnchorMotion
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    CutConstraint,
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
)
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.solver.articulation_arrays import POSE
from gltf_bullet.solver.engine.calls import LOOP_SIZE, loop_at
from gltf_bullet.solver.engine.commands import CLOSED
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, IntArray, Pose

# --- Loops of one articulation, kept closed before a step by a stronger constraint ----------------
#
# After the step, kernels close the remaining gaps: see ``solver.last_step.loop_closing``. They also
# shift the constraints where they call the engine; elsewhere Python does.


@dataclass(frozen=True, slots=True)
class Grip:
    """The child end of a constraint of the engine."""

    constraint: int
    """PyBullet's id."""
    pivot: Sequence[float]
    """Point in the child's inertial frame [m], [3]."""
    frame: int
    """Frame of the child in the arena."""
    frame_from_inertial: FloatArray
    """Rotation of the child's inertial frame, [3, 3]."""
    sign: float
    """-1 if the child is the first end of the loop, else 1."""


class ClosedLoops:
    """The loops of an articulation that constraints of the engine close."""

    def __init__(self, articulation: Articulation, grips: Sequence[Grip]) -> None:
        """Store the constraints; ``grips`` are in the order of the arena's closures."""
        self._client_id, self._grips = articulation.client_id, tuple(grips)
        self._is_shifted = np.zeros(len(grips), dtype=bool)
        arena, record = articulation.arena, articulation.record
        self._first_pose = record.places["pose"].where.start
        self._first_shift = record.places["closure_shift"].where.start
        self._shifts = arena.view(record, "closure_shift")
        self._poses = arena.view(record, "pose")

    @property
    def records(self) -> list[IntArray]:
        """A ``Loop`` of each constraint, with which kernels :meth:`tighten` it."""
        found = []
        for number, grip in enumerate(self._grips):
            numbers: IntArray = np.zeros(LOOP_SIZE, dtype=np.int64)
            loop = loop_at(numbers, 0)
            loop.constraint = grip.constraint
            loop.frame_pose = self._first_pose + POSE.size * grip.frame
            loop.shift = self._first_shift + 3 * number
            loop.pivot[:], loop.inertial[:] = grip.pivot, grip.frame_from_inertial
            loop.sign = grip.sign
            found.append(numbers)
        return found

    def tighten(self) -> None:
        """Shift the gaps that the engine sees; call it between the solve and the step."""
        is_open = np.abs(self._shifts).max(axis=1) > CLOSED
        for k in np.flatnonzero(is_open | self._is_shifted).tolist():
            grip, pivot = self._grips[k], list(self._grips[k].pivot)
            shift: list[float] = self._shifts[k].tolist()
            world_from_frame: list[float] = self._poses[grip.frame, :9].tolist()
            # Summed in the order of ``solver.engine.commands``, so that the values are equal to the
            # bit.
            for j in range(3 if is_open[k] else 0):
                way = 0.0
                for i in range(3):
                    way += world_from_frame[3 * i + j] * shift[i]
                for i in range(3):
                    share = float(grip.frame_from_inertial[j, i])
                    pivot[i] += grip.sign * way * share
            pybullet.changeConstraint(
                grip.constraint, jointChildPivot=pivot, physicsClientId=self._client_id
            )
        self._is_shifted = is_open


FORCE_PER_WEIGHT = 1000.0
"""Largest constraint force, in multiples of the weight that may hang on it."""


class LoopConstraints:
    """All closing constraints of a scene's articulations."""

    def __init__(
        self,
        client_id: int,
        articulations: Sequence[Articulation],
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
        cross: Sequence[CutConstraint] = (),
        world_anchor: Pose = IDENTITY_POSE,
    ) -> None:
        self._client_id = client_id
        self._world_anchor = world_anchor
        self.ghosts: list[tuple[int, int]] = []
        """(anchor node, body id) of shapeless bodies that follow second moving anchors."""
        self._ghost_of: dict[int, int] = {}
        self.constraint_ids: list[int] = []
        self._loops: list[ClosedLoops] = []
        for articulation in articulations:
            held = [
                constraint
                for constraint in articulation.plan.loop_constraints
                if constraint.kind is not LoopConstraintKind.ELEMENT
            ]
            grips = []
            for loop_constraint in held:
                self._create(articulation, articulation, loop_constraint, anchors, created)
                grips.append(self._grip(articulation, loop_constraint))
            if grips:
                self._loops.append(ClosedLoops(articulation, grips))
        for between in cross:
            self._create(
                articulations[between.first_articulation],
                articulations[between.second_articulation],
                between.loop_constraint,
                anchors,
                created,
            )

    @property
    def is_any(self) -> bool:
        """True if there are loops to tighten."""
        return bool(self._loops)

    def tighten(self) -> None:
        """Call :meth:`ClosedLoops.tighten` for all articulations."""
        for loops in self._loops:
            loops.tighten()

    @property
    def records(self) -> list[IntArray]:
        """Data of all constraints with which kernels :meth:`tighten` them."""
        return [record for loops in self._loops for record in loops.records]

    def _grip(self, articulation: Articulation, loop_constraint: LoopConstraint) -> Grip:
        """Return the child end of the constraint that was just created."""
        child, sign = loop_constraint.second, 1.0
        if loop_constraint.first.multibody < 0 and loop_constraint.first.link == WORLD:
            child, sign = loop_constraint.first, -1.0
        inertial = self._inertial_of(articulation, child)
        return Grip(
            constraint=self.constraint_ids[-1],
            pivot=(inertial.inverse() @ child.link_from_frame).translation,
            frame=articulation.record.frames.index[child.multibody, child.link],
            frame_from_inertial=inertial.matrix()[:3, :3],
            sign=sign,
        )

    def _inertial_of(self, articulation: Articulation, child: LinkFrame) -> Pose:
        """Return link_from_inertial of a constraint's child."""
        if child.multibody < 0:
            return self._world_anchor.inverse() if child.link == WORLD else IDENTITY_POSE
        spec = articulation.plan.multibodies[child.multibody].spec
        if child.link < 0:
            return spec.base_from_inertial
        return spec.links[child.link].link_from_inertial

    def _create(
        self,
        first: Articulation,
        second: Articulation,
        loop_constraint: LoopConstraint,
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
    ) -> None:
        parent, parent_link, parent_frame = self._end(
            first, loop_constraint.first, anchors, created
        )
        child, child_link, child_frame = self._end(second, loop_constraint.second, anchors, created)
        if parent < 0:
            # PyBullet wants a body as parent; only the child may be the world.
            parent, parent_link, parent_frame, child, child_link, child_frame = (
                child,
                child_link,
                child_frame,
                parent,
                parent_link,
                parent_frame,
            )
        kind = (
            pybullet.JOINT_FIXED
            if loop_constraint.kind is LoopConstraintKind.WELD
            else pybullet.JOINT_POINT2POINT
        )
        constraint = pybullet.createConstraint(
            parent,
            parent_link,
            child,
            child_link,
            kind,
            [0.0, 0.0, 0.0],
            parent_frame.translation,
            child_frame.translation,
            parent_frame.rotation_xyzw,
            child_frame.rotation_xyzw,
            physicsClientId=self._client_id,
        )
        pybullet.changeConstraint(
            constraint,
            maxForce=FORCE_PER_WEIGHT * 9.81 * max(loop_constraint.load, 1e-3),
            physicsClientId=self._client_id,
        )
        self.constraint_ids.append(constraint)

    def _end(
        self,
        articulation: Articulation,
        frame: LinkFrame,
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
    ) -> tuple[int, int, Pose]:
        """Return body, link and the frame relative to that link's centre of mass."""
        if frame.multibody >= 0:
            body = articulation.body_ids[frame.multibody]
            inertial = self._inertial_of(articulation, frame)
            return body, frame.link, inertial.inverse() @ frame.link_from_frame
        if frame.link == WORLD:
            return -1, -1, self._world_anchor @ frame.link_from_frame
        if frame.link not in self._ghost_of:
            anchor = anchors[frame.link]
            x, y, z = anchor.position.tolist()
            qx, qy, qz, qw = anchor.rotation_xyzw.tolist()
            body = create_multibody(
                self._client_id,
                MultibodySpec(world_from_base=Pose((qx, qy, qz, qw), (x, y, z))),
            )
            created.append(body)
            self._ghost_of[frame.link] = body
            self.ghosts.append((frame.link, body))
        return self._ghost_of[frame.link], -1, frame.link_from_frame


NO_LOOPS = LoopConstraints(-1, (), {}, [])
"""Shared by scenes without loops."""
