"""Engine constraints that close loops, second anchors and cuts between multibodies.

Constraint frames are relative to centres of mass. A gap at load would explode under a large force
(measured: 50 mm released 27 kJ); it never reaches a constraint, because an axis that starts
displaced stays a dof of the welded chain and is brought back by the solve (0.1 J).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.multibody import create_multibody
from gltf_bullet.bullet.joints.articulation import AnchorMotion, Articulation
from gltf_bullet.bullet.joints.link_paths import ArticulationPath
from gltf_bullet.planning.joints.articulation_plan import (
    WORLD,
    CutConstraint,
    LinkFrame,
    LoopConstraint,
    LoopConstraintKind,
)
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose

__all__ = ["LoopConstraints"]

FORCE_PER_WEIGHT = 1000.0
"""Largest constraint force, in multiples of the weight that may hang on it."""


TIGHTENING = 3.0
"""The engine takes back 0.2 of a gap per step, which leaves five times what a step adds; it sees
a gap larger by this many times (measured: four-bar at 4 rad/s 0.22 -> 0.055 mm; 4.0 would be all
of it at once, without reserve)."""

WORTH_CLOSING = 2e-4
"""[m] A gap from which on joints are moved."""

LARGEST_MOVE = 0.2
"""[m] of a gap that is closed at once: larger ones, which somebody else has made, take steps."""

_CLOSING_STEPS = 3
"""Of Newton's method at most: a gap of 50 mm is one of 1 mm after the first (measured)."""

LARGEST_GAP = 0.01
"""[m] No larger gap is shown to the engine than the solve reckons with."""

CLOSED = 1e-7
"""[m] Smaller gaps are not worth the call."""


@dataclass(slots=True)
class _Held:
    """A constraint of one articulation, and how to show it a larger gap."""

    constraint: int
    articulation: Articulation
    number: int
    """Place among the articulation's engine constraints."""
    pivot: FloatArray
    """[3], in the child's inertial frame."""
    frame: int
    """Of the child."""
    frame_from_inertial: FloatArray
    """[3, 3], of the child."""
    sign: float
    is_shifted: bool = False


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
        self._held: list[_Held] = []
        self._loops: dict[Articulation, int] = {}
        """How many of the engine's constraints each articulation has."""
        for articulation in articulations:
            held = [
                constraint
                for constraint in articulation.plan.loop_constraints
                if constraint.kind is not LoopConstraintKind.ELEMENT
            ]
            if held:
                self._loops[articulation] = len(held)
            for number, loop_constraint in enumerate(held):
                self._create(articulation, articulation, loop_constraint, anchors, created)
                self._hold(articulation, number, loop_constraint)
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
        """Whether there is anything to tighten."""
        return bool(self._held)

    def tighten(self) -> None:
        """Show the engine larger gaps than there are; after the solve, before the step."""
        for held in self._held:
            gap = held.articulation.closure_gaps(held.number + 1)[held.number]
            gap = np.clip(gap, -LARGEST_GAP, LARGEST_GAP)
            is_open = bool(np.abs(gap).max() > CLOSED)
            if not is_open and not held.is_shifted:
                continue
            held.is_shifted = is_open
            world_from_frame = held.articulation.rotation_of(held.frame)
            shift = (held.sign * TIGHTENING * is_open) * gap @ world_from_frame
            pybullet.changeConstraint(
                held.constraint,
                jointChildPivot=(held.pivot + shift @ held.frame_from_inertial).tolist(),
                physicsClientId=self._client_id,
            )

    def close(self) -> None:
        """Move joints to where loops are closed; after the step, velocities stay.

        The engine's constraints hold velocities together, along straight lines: an impact that
        turns the links of a ring by 0.3 rad in a step leaves a gap of 50 mm (measured, 60 Hz).
        """
        for articulation, constraints in self._loops.items():
            for _ in range(_CLOSING_STEPS):
                gaps, move = articulation.closing_move(constraints, LARGEST_MOVE)
                if float(np.abs(gaps).max()) <= WORTH_CLOSING:
                    break
                ArticulationPath(articulation, 0.0).move(move)

    def _hold(
        self, articulation: Articulation, number: int, loop_constraint: LoopConstraint
    ) -> None:
        """Remember the constraint just created."""
        child, sign = loop_constraint.second, 1.0
        if loop_constraint.first.multibody < 0 and loop_constraint.first.link == WORLD:
            child, sign = loop_constraint.first, -1.0
        inertial = IDENTITY_POSE
        if child.multibody < 0 and child.link == WORLD:
            inertial = self._world_anchor.inverse()
        if child.multibody >= 0:
            spec = articulation.plan.multibodies[child.multibody].spec
            inertial = (
                spec.base_from_inertial
                if child.link < 0
                else spec.links[child.link].link_from_inertial
            )
        pivot = inertial.inverse() @ child.link_from_frame
        self._held.append(
            _Held(
                self.constraint_ids[-1],
                articulation,
                number,
                np.array(pivot.translation),
                articulation.record.frames.index[child.multibody, child.link],
                inertial.matrix()[:3, :3],
                sign,
            )
        )

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
            # The engine wants a body first; the world may only be the child.
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
        """Body, link and the frame relative to that link's centre of mass."""
        if frame.multibody >= 0:
            spec = articulation.plan.multibodies[frame.multibody].spec
            inertial = (
                spec.base_from_inertial
                if frame.link < 0
                else spec.links[frame.link].link_from_inertial
            )
            body = articulation.body_ids[frame.multibody]
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
