"""Lookup of the engine body that moves each node: a free body, a link, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.scene import NodeTree
from gltf_bullet.solver.articulation_arrays import ANCHOR
from gltf_bullet.solver.articulation_arrays import LINK as LINK_PARTS
from gltf_bullet.solver.triggers.layout import FREE, GIVEN, LINK, RESTS
from gltf_bullet.transforms import FloatArray, Pose


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """The body that moves a node."""

    kind: int
    """RESTS, FREE, LINK, or GIVEN: the pose comes from the node tree."""
    first: int
    """Number of the free body for FREE; the articulation's record in the arena for LINK."""
    second: int
    """Frame in the arena for LINK."""
    carrier_from_world: FloatArray
    """Inverse pose of the body's frame at load, shape [4, 4]."""


class Carriers:
    """The bodies that move the nodes of one scene."""

    def __init__(
        self, plan: ScenePlan, tree: NodeTree, free: FreeBodies, articulations: ArticulationSet
    ) -> None:
        self._bodies = plan.bodies.bodies
        self._free = {node: k for k, node in enumerate(free.nodes.tolist())}
        self._articulations = articulations
        self._is_followed = not plan.articulations.moving_anchors
        """True if the arena has the poses of links after a step: it is not updated with moving
        anchors.
        """
        self._animated = plan.animated.moved
        is_body = np.zeros(len(tree), dtype=bool)
        is_body[[*self._free, *articulations.link_of]] = True
        self._body_of = tree.nearest_at_or_above(is_body)

    def of(self, node: int) -> Carrier:
        """Return the body that moves a node."""
        body, nowhere = int(self._body_of[node]), np.eye(4)
        if node in self._animated and node != body:
            return Carrier(GIVEN, -1, -1, nowhere)
        if body < 0:
            return Carrier(RESTS, -1, -1, nowhere)
        plan = self._bodies[body]
        inertial_from_world = (plan.world_from_body @ plan.body_from_inertial).inverse().matrix()
        if body in self._free:
            return Carrier(FREE, self._free[body], -1, inertial_from_world)
        if not self._is_followed:
            return Carrier(GIVEN, -1, -1, nowhere)
        number, frame = self._articulations.frame_of(body)
        record = self._articulations.articulations[number].record
        link_from_world = self._link_from_inertial(number, frame) @ inertial_from_world
        return Carrier(LINK, record.offset, frame, link_from_world)

    def _link_from_inertial(self, number: int, frame: int) -> FloatArray:
        """Return link_from_inertial of a frame of the arena; identity for a fixed base."""
        found, record = self._articulations.arena, self._articulations.arena.records[number]
        if found.numbers(record, "frame_joint")[frame] == ANCHOR:
            return Pose.identity().matrix()
        link = found.view(record, "link")[frame]
        result: FloatArray = np.eye(4)
        result[:3, :3] = link[LINK_PARTS.inertial : LINK_PARTS.inertial + 9].reshape(3, 3)
        result[:3, 3] = link[LINK_PARTS.com : LINK_PARTS.com + 3]
        return result
