"""Triggers at work: which colliders overlap which triggers, and who came or went in a step.

KHR_physics_rigid_bodies, "Triggers". Numpy finds the pairs that are near, settles most of them by
balls and boxes, and asks the engine about the rest. An overlap at any time within a step counts,
also when the engine takes several substeps and a fast body is past the volume at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.triggers.frames import Balls, Frames, Volumes
from gltf_bullet.bullet.triggers.overlap_probe import Probe, ScrewMotion, Solid, passage
from gltf_bullet.bullet.triggers.overlap_search import IntArray, boxes_overlap, near_pairs
from gltf_bullet.model import may_collide
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.triggers import TriggerPlans
from gltf_bullet.transforms import BoolArray, FloatArray

__all__ = ["Crossing", "TriggerMemory", "Triggers"]

_FAST = 0.5
"""A collider is looked for on its way when it moves further than this part of both thicknesses."""

_JUMP = 2.0
"""Times the distance that its velocities explain, beyond which a body was put where it is."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A collider that came or went."""

    entered: bool
    trigger_node: int
    collider_node: int
    motion_node: int
    """-1 without one."""
    fraction: float
    """When within the step; 1 is its end."""


@dataclass(frozen=True, slots=True, eq=False)
class TriggerMemory:
    """What snapshots keep beside the engine's own state; treat as opaque."""

    overlaps: tuple[tuple[int, int], ...]
    """Pairs of trigger node and collider node."""
    speeds: tuple[float, ...]
    """Of the frames in the last step [m/s]."""


class Triggers:
    """The triggers of one scene."""

    def __init__(
        self,
        client_id: int,
        plans: TriggerPlans,
        shapes: EngineShapes,
        *,
        linear_maps: FloatArray,
        world_from_node: FloatArray,
        bodies: Mapping[int, BodyPlan],
        velocity_of: Callable[[int], FloatArray],
    ) -> None:
        """Create the shapes and note where everything stands at load.

        Args:
            client_id: The PyBullet world.
            plans: From ``plan_triggers``.
            shapes: The world's shapes.
            linear_maps: Scale and shear of all nodes, shape [node_count, 3, 3].
            world_from_node: Of all nodes at load, scale included, shape [node_count, 4, 4].
            bodies: By motion node; their velocities at load count as those before.
            velocity_of: The velocity of the centre of mass of a motion node's body now [m/s].
        """
        self.plans = plans
        self._client_id = client_id
        self._overlaps: IntArray = np.zeros(0, dtype=np.intp)
        self._velocity_of = velocity_of
        self.is_idle = not plans.volumes or not plans.colliders
        """Whether nothing can ever be sensed."""
        if self.is_idle:
            return
        volumes, colliders = plans.volumes, plans.colliders
        self._probe = Probe(client_id)
        self._solids = [Solid(shapes, c.shape) for c in colliders]
        self._volume_solids = [Solid(shapes, v.shape) for v in volumes]
        self._owners = np.array([c.owner for c in colliders], dtype=np.intp)
        # A shape is placed in the frame of its body, of its node where there is no body.
        places = [c.owner if c.owner >= 0 else c.node for c in colliders]
        frame_nodes, self._frame_of = np.unique(
            np.array(places, dtype=np.intp), return_inverse=True
        )
        self._frames = Frames(frame_nodes, linear_maps, world_from_node)
        self._balls = Balls([c.shape for c in colliders], self._frame_of)
        self._volumes = Volumes(volumes, linear_maps, world_from_node)
        self._centers = self._balls.centers(self._frames)
        self._frame_nodes: list[int] = frame_nodes.tolist()
        self._is_body = [node in bodies for node in self._frame_nodes]
        self._speeds = np.array(
            [
                np.linalg.norm(bodies[node].linear_velocity) if node in bodies else 0.0
                for node in self._frame_nodes
            ]
        )
        self._index_admission()

    def _index_admission(self) -> None:
        volumes, colliders = self.plans.volumes, self.plans.colliders
        row_of = {node: row for row, node in enumerate(self.plans.nodes)}
        self._trigger_of = np.array([row_of[v.trigger] for v in volumes], dtype=np.intp)
        own = [[*sorted(v.own_bodies), -2, -2][:2] for v in volumes]
        self._own_bodies = np.array(own, dtype=np.intp)
        volume_filters = {f: k for k, f in enumerate(dict.fromkeys(v.filter for v in volumes))}
        filters = {f: k for k, f in enumerate(dict.fromkeys(c.filter for c in colliders))}
        self._admits = np.array([[may_collide(a, b) for b in filters] for a in volume_filters])
        self._volume_class = np.array([volume_filters[v.filter] for v in volumes])
        self._collider_class = np.array([filters[c.filter] for c in colliders])

    # --- what is where ------------------------------------------------------------------------

    def overlaps(self) -> list[tuple[int, int]]:
        """Pairs of trigger node and collider node as of the last update, in file order."""
        if not len(self._overlaps):
            return []
        rows, columns = np.divmod(self._overlaps, len(self.plans.colliders))
        return [
            (self.plans.nodes[row], self.plans.colliders[column].node)
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        ]

    def memory(self) -> TriggerMemory:
        """What a snapshot keeps."""
        return TriggerMemory(
            tuple(self.overlaps()), () if self.is_idle else tuple(self._speeds.tolist())
        )

    def recall(self, memory: TriggerMemory, world_from_node: FloatArray) -> None:
        """Take back a snapshot, without events; ``world_from_node`` is where nodes stand then.

        The snapshot may be of triggers that were planned otherwise: what is gone is left out.
        """
        if self.is_idle:
            return
        row_of = {node: row for row, node in enumerate(self.plans.nodes)}
        column_of = {c.node: column for column, c in enumerate(self.plans.colliders)}
        keys = [
            row_of[trigger] * len(column_of) + column_of[collider]
            for trigger, collider in memory.overlaps
            if trigger in row_of and collider in column_of
        ]
        self._overlaps = np.array(sorted(keys), dtype=np.intp)
        self._frames.move(world_from_node)
        self._volumes.move(world_from_node)
        self._centers = self._balls.centers(self._frames)
        if len(memory.speeds) == len(self._speeds):
            self._speeds = np.array(memory.speeds, dtype=np.float64)

    # --- the step -----------------------------------------------------------------------------

    def after_step(self, world_from_node: FloatArray, time_step: float) -> list[Crossing]:
        """Who came and went, in order of time.

        Args:
            world_from_node: Of all nodes now, scale included, shape [node_count, 4, 4].
            time_step: Length of the step [s].
        """
        if self.is_idle:
            return []
        before, volumes_before = self._frames.copy(), self._volumes.copy()
        centers_before = self._centers
        self._frames.move(world_from_node)
        self._volumes.move(world_from_node)
        self._centers = self._balls.centers(self._frames)
        moves = np.linalg.norm(self._frames.positions - before.positions, axis=1)
        fast = np.flatnonzero(moves > _FAST * self._balls.thinnest)
        if len(fast) and self._correct_starts(fast, before, time_step):
            centers_before = self._balls.centers(before)
            moves = np.linalg.norm(self._frames.positions - before.positions, axis=1)
        self._speeds = moves / time_step

        volumes, balls = self._candidates(volumes_before, centers_before)
        touching = self._touching(volumes, balls)
        keys = self._trigger_of[volumes] * len(self._owners) + balls
        now = np.unique(keys[touching])
        crossings: list[Crossing] = []
        if len(fast) or self._volumes.moves:
            crossings = self._passages(
                volumes, balls,
                np.flatnonzero(~np.isin(keys, now) & ~np.isin(keys, self._overlaps)),
                before, volumes_before, centers_before,
            )  # fmt: skip
        came = np.setdiff1d(now, self._overlaps, assume_unique=True)
        went = np.setdiff1d(self._overlaps, now, assume_unique=True)
        self._overlaps = now
        crossings += [self._crossing(key, True, 1.0) for key in came.tolist()]
        crossings += [self._crossing(key, False, 1.0) for key in went.tolist()]
        crossings.sort(key=lambda crossing: (crossing.fraction, not crossing.entered))
        return crossings

    def _correct_starts(self, fast: IntArray, before: Frames, time_step: float) -> bool:
        """Move frames that jumped to where they must have begun the step; whether any did.

        A jump is further than the velocities before and after the step can explain: somebody reset
        a pose between two steps, or an animation started again. Reading every body before the step
        instead would be exact for a body that is placed, thrown and stopped by a wall all in one
        step, but costs a sixth of the engine's step (1000 bodies, measured).
        """
        corrected = False
        for row in fast.tolist():
            node = self._frame_nodes[row]
            now = self._frames.positions[row]
            velocity = self._velocity_of(node) if self._is_body[row] else np.zeros(3)
            speed = max(float(np.linalg.norm(velocity)), float(self._speeds[row]))
            reach = _JUMP * time_step * speed + 0.5 * self._balls.widest[row]
            if np.linalg.norm(now - before.positions[row]) > reach:
                before.place(row, now - time_step * velocity, self._frames.rotations[row])
                corrected = True
        return corrected

    def _candidates(
        self, volumes_before: Volumes, centers_before: FloatArray
    ) -> tuple[IntArray, IntArray]:
        """Pairs that may have touched at some time in the step and may be reported."""
        reach = self._balls.outer[:, None]
        low, high = self._volumes.low, self._volumes.high
        if self._volumes.moves:
            low, high = np.minimum(low, volumes_before.low), np.maximum(high, volumes_before.high)
        volumes, balls = near_pairs(
            low, high,
            np.minimum(self._centers, centers_before) - reach,
            np.maximum(self._centers, centers_before) + reach,
        )  # fmt: skip
        owners = self._owners[balls]
        allowed = self._admits[self._volume_class[volumes], self._collider_class[balls]]
        allowed &= (owners[:, None] != self._own_bodies[volumes]).all(axis=1)
        return volumes[allowed], balls[allowed]

    def _touching(self, volumes: IntArray, balls: IntArray) -> BoolArray:
        """Whether each pair overlaps now: by balls where they can tell, else by the engine."""
        gaps = self._volumes.gaps(volumes, self._centers[balls])
        outer, inner = self._balls.outer[balls], self._balls.inner[balls]
        touching = (inner > 0.0) & (gaps.upper <= inner)
        unsure = ~touching & (gaps.lower <= outer)
        boxes = np.flatnonzero(unsure & self._volumes.is_box[volumes] & self._balls.is_box[balls])
        if len(boxes):
            a, b = volumes[boxes], balls[boxes]
            touching[boxes] = boxes_overlap(
                self._centers[b] - self._volumes.centers[a],
                self._volumes.axes[a],
                self._volumes.halves[a],
                self._balls.axes(self._frames, b),
                self._balls.halves[b],
            )
            unsure[boxes] = False
        if unsure.any():
            touching[unsure] = self._ask(volumes[unsure], balls[unsure])
        return touching

    def _ask(self, volumes: IntArray, balls: IntArray) -> list[bool]:
        """The engine's word on pairs."""
        frames = self._frame_of[balls]
        volume_poses = self._volumes.frames.poses(volumes)
        poses = self._frames.poses(frames)
        return [
            self._probe.gap(
                self._volume_solids[volume], volume_poses[volume], self._solids[ball], poses[frame]
            )
            <= 0.0
            for volume, ball, frame in zip(
                volumes.tolist(), balls.tolist(), frames.tolist(), strict=True
            )
        ]

    def _passages(
        self,
        volumes: IntArray,
        balls: IntArray,
        pairs: IntArray,
        before: Frames,
        volumes_before: Volumes,
        centers_before: FloatArray,
    ) -> list[Crossing]:
        """Colliders that came and went within the step."""
        if not len(pairs):
            return []
        volumes, balls = volumes[pairs], balls[pairs]
        shifts = self._centers[balls] - centers_before[balls]
        shifts -= self._volumes.centers[volumes] - volumes_before.centers[volumes]
        thickness = self._balls.thickness[balls] + self._volumes.thickness[volumes]
        fast = np.linalg.norm(shifts, axis=1) > _FAST * thickness
        times: dict[int, tuple[float, float]] = {}
        for volume, ball in zip(volumes[fast].tolist(), balls[fast].tolist(), strict=True):
            frame = int(self._frame_of[ball])
            found = passage(
                self._probe,
                self._volume_solids[volume],
                ScrewMotion(volumes_before.frames.pose(volume), self._volumes.frames.pose(volume)),
                self._solids[ball],
                ScrewMotion(before.pose(frame), self._frames.pose(frame)),
                min(self._balls.thickness[ball], self._volumes.thickness[volume]),
            )
            if found is not None:
                key = int(self._trigger_of[volume]) * len(self._owners) + ball
                first, last = times.get(key, found)
                times[key] = (min(first, found[0]), max(last, found[1]))
        return [
            crossing
            for key, (first, last) in sorted(times.items())
            for crossing in (self._crossing(key, True, first), self._crossing(key, False, last))
        ]

    def _crossing(self, key: int, entered: bool, fraction: float) -> Crossing:
        row, column = divmod(key, len(self._owners))
        collider = self.plans.colliders[column]
        return Crossing(entered, self.plans.nodes[row], collider.node, collider.owner, fraction)
