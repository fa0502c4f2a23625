"""Triggers at work: which colliders overlap which triggers, and who came or went in a step.

KHR_physics_rigid_bodies, "Triggers". Numpy finds the pairs that are near, settles most of them by
balls and boxes, and asks the engine about the rest. An overlap at any time within a step counts,
also when the engine takes several substeps and a fast body is past the volume at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.engine_shapes import EngineShapes
from gltf_bullet.bullet.overlap_probe import Motion, Probe, Solid, passage
from gltf_bullet.bullet.overlap_search import IntArray, near_pairs
from gltf_bullet.bullet.trigger_frames import Balls, Frames, Volumes
from gltf_bullet.bullet.trigger_plan import TriggerPlans
from gltf_bullet.model import may_collide
from gltf_bullet.transforms import FloatArray, Pose, Quat, Vec3

__all__ = ["Crossing", "TriggerMemory", "Triggers"]

_FAST = 0.5
"""A collider is looked for on its way when it moves further than this part of both thicknesses."""


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
        free_bodies: Mapping[int, tuple[int, Pose]],
    ) -> None:
        """Create the shapes and note where everything stands at load.

        Args:
            client_id: The PyBullet world.
            plans: From ``plan_triggers``.
            shapes: The world's shapes.
            linear_maps: Scale and shear of all nodes, shape [node_count, 3, 3].
            world_from_node: Of all nodes at load, scale included, shape [node_count, 4, 4].
            free_bodies: Body id and body_from_inertial of bodies without joints, by motion node.
        """
        self.plans = plans
        self._client_id = client_id
        self._overlaps: IntArray = np.zeros(0, dtype=np.intp)
        self._begun: list[tuple[Vec3, Quat]] | None = None
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
        self._last_moves = np.zeros(len(frame_nodes))
        free = [(row, free_bodies[node]) for row, node in enumerate(frame_nodes.tolist())
                if node in free_bodies]  # fmt: skip
        self._free_rows = {row: k for k, (row, _) in enumerate(free)}
        self._free_ids = [body_id for _, (body_id, _) in free]
        self._body_from_inertial = [pose for _, (_, pose) in free]
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
        return TriggerMemory(tuple(self.overlaps()))

    def recall(self, memory: TriggerMemory, world_from_node: FloatArray) -> None:
        """Take back a snapshot, without events; ``world_from_node`` is where nodes stand then."""
        if self.is_idle:
            return
        row_of = {node: row for row, node in enumerate(self.plans.nodes)}
        column_of = {c.node: column for column, c in enumerate(self.plans.colliders)}
        keys = [row_of[t] * len(column_of) + column_of[c] for t, c in memory.overlaps]
        self._overlaps = np.array(sorted(keys), dtype=np.intp)
        self._frames.move(world_from_node)
        self._volumes.move(world_from_node)
        self._centers = self._balls.centers(self._frames)
        self._last_moves[:] = 0.0
        self._begun = None

    # --- the step -----------------------------------------------------------------------------

    def before_step(self) -> None:
        """Note where bodies start: what moved before is a teleport, not a flight."""
        if self.is_idle:
            return
        read, client_id = pybullet.getBasePositionAndOrientation, self._client_id
        try:
            self._begun = [read(body_id, client_id) for body_id in self._free_ids]
        except pybullet.error:  # the user removed one
            self._begun = None

    def after_step(self, world_from_node: FloatArray, gone: Collection[int] = ()) -> list[Crossing]:
        """Who came and went, in order of time.

        Args:
            world_from_node: Of all nodes now, scale included, shape [node_count, 4, 4].
            gone: Motion nodes whose bodies are no longer in the world.
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
        if len(fast):
            centers_before = self._correct_starts(fast, moves, before, centers_before)
        self._last_moves, self._begun = moves, None

        volumes, balls = self._candidates(volumes_before, centers_before, gone)
        touching = self._touching(volumes, balls)
        keys = self._trigger_of[volumes] * len(self._owners) + balls
        now = np.unique(keys[touching])
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

    def _correct_starts(
        self, fast: IntArray, moves: FloatArray, before: Frames, centers_before: FloatArray
    ) -> FloatArray:
        """Where fast frames began the step: not where the last one ended if they jumped."""
        for row in fast.tolist():
            k = self._free_rows.get(row)
            if k is not None and self._begun is not None:
                position, rotation = self._begun[k]
                inertial = Pose(rotation, position)
                before.place(row, inertial @ self._body_from_inertial[k].inverse())
            elif k is None and moves[row] > 4.0 * self._last_moves[row] + self._balls.widest[row]:
                # Links and nodes accelerate within reason; a jump is the user's doing.
                before.place(row, self._frames.pose(row))
        moved = np.isin(self._frame_of, fast)
        centers_before = centers_before.copy()
        centers_before[moved] = self._balls.centers(before)[moved]
        return centers_before

    def _candidates(
        self, volumes_before: Volumes, centers_before: FloatArray, gone: Collection[int]
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
        if gone:
            allowed &= ~np.isin(owners, list(gone))
        return volumes[allowed], balls[allowed]

    def _touching(self, volumes: IntArray, balls: IntArray) -> npt.NDArray[np.bool_]:
        """Whether each pair overlaps now: by balls where they can tell, else by the engine."""
        gaps = self._volumes.gaps(volumes, self._centers[balls])
        outer, inner = self._balls.outer[balls], self._balls.inner[balls]
        touching = (inner > 0.0) & (gaps.upper <= inner)
        for pair in np.flatnonzero(~touching & (gaps.lower <= outer)).tolist():
            volume, ball = int(volumes[pair]), int(balls[pair])
            gap = self._probe.gap(
                self._volume_solids[volume], self._volumes.frames.pose(volume),
                self._solids[ball], self._frames.pose(int(self._frame_of[ball])),
            )  # fmt: skip
            touching[pair] = gap <= 0.0
        return touching

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
                Motion(volumes_before.frames.pose(volume), self._volumes.frames.pose(volume)),
                self._solids[ball],
                Motion(before.pose(frame), self._frames.pose(frame)),
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
