"""Frames and velocities of one articulation: what moves with what, and in which order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.body_sizes import body_sizes
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlan, LinkFrame
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.solver import arena
from gltf_bullet.transforms import IDENTITY_POSE, Pose

__all__ = ["ANCHOR_STATE", "DOFS", "FLOATING_STATE", "ArticulationFrames", "Room"]

_JOINT = {
    LinkJoint.FIXED: arena.FIXED,
    LinkJoint.REVOLUTE: arena.REVOLUTE,
    LinkJoint.PRISMATIC: arena.PRISMATIC,
    LinkJoint.SPHERICAL: arena.SPHERICAL,
}

DOFS = {arena.REVOLUTE: 1, arena.PRISMATIC: 1, arena.SPHERICAL: 3, arena.FLOATING: 6}
"""Velocities by joint type."""

FLOATING_STATE = 13
"""Numbers that the engine tells about a floating base: pose and both velocities."""
ANCHOR_STATE = 19
"""... and about a fixed one, its acceleration being 0."""


class Room(Protocol):
    """Something that hands out places in an array."""

    def room(self, count: int) -> int:
        """Append zeros; where they begin."""


class ArticulationFrames:
    """The frames of one articulation, parents first, and its velocities, leaves first."""

    def __init__(self, plan: ArticulationPlan, body_plans: Mapping[int, BodyPlan]) -> None:
        self.plan = plan
        self.keys = self._find_keys()
        self.index = {key: f for f, key in enumerate(self.keys)}
        node_of = {
            (k, link): node
            for k, multibody in enumerate(plan.multibodies)
            for node, link in multibody.bodies
        }
        self.nodes = [node_of.get(key, -1) if key[0] >= 0 else -1 for key in self.keys]
        self.gravity_factors = [
            body_plans[node].gravity_factor if node >= 0 else 1.0 for node in self.nodes
        ]
        self.half_sizes = [_half_sizes(body_plans.get(node)) for node in self.nodes]
        self.joints = [self._joint(key) for key in self.keys]
        self.parents: list[int] = []
        self.poses: list[Pose] = []
        for key in self.keys:
            parent, pose = self._parent(key)
            self.parents.append(parent)
            self.poses.append(pose)
        self.first_dof = [-1] * len(self.keys)
        self.dof_count = 0
        for f in reversed(range(len(self.keys))):
            if self.joints[f] in DOFS:
                self.first_dof[f] = self.dof_count
                self.dof_count += DOFS[self.joints[f]]
        self.state_offsets = [-1] * len(self.keys)
        self.states: list[tuple[int, tuple[tuple[int, bool], ...]]] = []

    def _find_keys(self) -> list[tuple[int, int]]:
        plan = self.plan
        anchors = {m.anchor for m in plan.multibodies if m.root_node < 0}
        used = [f for j in plan.joints for f in (j.frame_a, j.frame_b)]
        used += [f for c in plan.loop_constraints for f in (c.first, c.second)]
        anchors |= {frame.link for frame in used if frame.multibody < 0}
        keys = [(-1, anchor) for anchor in sorted(anchors)]
        for k, multibody in enumerate(plan.multibodies):
            carriers = {f.link for f in plan.dofs if f.multibody == k}
            if multibody.root_node >= 0:
                keys.append((k, -1))
            keys += [
                (k, link)
                for link, spec in enumerate(multibody.spec.links)
                if spec.mass > 0.0 or link in carriers
            ]
        return keys

    def _joint(self, key: tuple[int, int]) -> int:
        multibody, link = key
        if multibody < 0:
            return arena.ANCHOR
        if link < 0:
            # A fixed base is an anchor of its own, whose pose is read like a floating one's.
            is_floating = self.plan.multibodies[multibody].is_floating
            return arena.FLOATING if is_floating else arena.ANCHOR
        return _JOINT[self.plan.multibodies[multibody].spec.links[link].joint]

    def _parent(self, key: tuple[int, int]) -> tuple[int, Pose]:
        """The next frame towards the base, and where the frame is in it at coordinate 0."""
        k, link = key
        if k < 0 or link < 0:
            return -1, IDENTITY_POSE
        multibody = self.plan.multibodies[k]
        spec = multibody.spec.links[link]
        pose, parent = spec.parent_from_link, spec.parent
        while parent >= 0 and (k, parent) not in self.index:
            pose = multibody.spec.links[parent].parent_from_link @ pose
            parent = multibody.spec.links[parent].parent
        if parent >= 0 or multibody.root_node >= 0:
            return self.index[k, parent], pose
        return self.index[-1, multibody.anchor], pose

    def index_of(self, frame: LinkFrame) -> int:
        """The frame that an attachment moves with."""
        return self.index[frame.multibody, frame.link]

    def source(self, f: int) -> MultibodySpec | LinkSpec | None:
        """Mass properties of a frame; anchors have none."""
        multibody, link = self.keys[f]
        if multibody < 0:
            return None
        spec = self.plan.multibodies[multibody].spec
        return spec if link < 0 else spec.links[link]

    def inertial(self, f: int) -> Pose:
        """Centre of mass and principal axes in the frame."""
        source = self.source(f)
        if source is None:
            return IDENTITY_POSE
        if isinstance(source, MultibodySpec):
            return source.base_from_inertial
        return source.link_from_inertial

    def place_states(self, floats: Room) -> None:
        """Room for what the engine tells, in the order in which it is asked."""
        for k, multibody in enumerate(self.plan.multibodies):
            if multibody.root_node >= 0:
                size = FLOATING_STATE if multibody.is_floating else ANCHOR_STATE
                self.state_offsets[self.index[k, -1]] = floats.room(size)
            links = []
            for link in range(len(multibody.spec.links)):
                f = self.index.get((k, link), -1)
                if f >= 0 and self.joints[f] != arena.FIXED:
                    self.state_offsets[f] = floats.room(arena.STATE_SIZES[self.joints[f]])
                    links.append((link, self.joints[f] == arena.SPHERICAL))
            base = ANCHOR_STATE if multibody.root_node >= 0 else 0
            self.states.append((FLOATING_STATE if multibody.is_floating else base, tuple(links)))

    def command_dofs(self) -> list[int]:
        """Velocities in the order of commands: per multibody single axes, balls, the base."""
        result: list[int] = []
        for k, (floats, links) in enumerate(self.states):
            dofs = [(self.first_dof[self.index[k, link]], ball) for link, ball in links]
            result += [dof for dof, ball in dofs if not ball]
            result += [dof + n for dof, ball in dofs if ball for n in range(3)]
            if floats == FLOATING_STATE:
                base = self.first_dof[self.index[k, -1]]
                result += range(base, base + 6)
        return result


def _half_sizes(plan: BodyPlan | None) -> tuple[float, float]:
    """Half of the thickness and of the length of a body's colliders [m]."""
    size = None if plan is None else body_sizes([plan])[0]
    return (math.inf, 0.0) if size is None else (size.half_thickness, size.half_length)
