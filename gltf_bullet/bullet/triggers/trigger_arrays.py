"""The arrays that the triggers' kernel works on, filled in from the plans of a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gltf_bullet.bullet.joints.scene_arena import Arena
from gltf_bullet.bullet.triggers.carriers import Carrier
from gltf_bullet.bullet.triggers.frames import Frames
from gltf_bullet.model import CollisionFilter
from gltf_bullet.numba_aot import address_of, addresses, load
from gltf_bullet.planning.shapes.extents import Extent, extent_of
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.planning.triggers import TriggerPlans
from gltf_bullet.solver.engine import sensing
from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.watching import FAST_SHARE, FIND, FOLLOW, watch
from gltf_bullet.transforms import FloatArray, IntArray, Pose, quats_from_matrices

__all__ = ["TriggerArrays"]

_FIRST_ROOM = 16
"""Pairs that there is room for at first."""


class TriggerArrays:
    """Frames, colliders and volumes of one scene's triggers."""

    def __init__(
        self,
        plans: TriggerPlans,
        arena: Arena,
        free_bodies: int,
        carrier_of: Callable[[int], Carrier],
        linear_maps: FloatArray,
        world_from_node: FloatArray,
    ) -> None:
        """Place everything as it stands at load.

        Args:
            plans: With at least one volume and one collider.
            arena: Of the scene's articulations.
            free_bodies: How many the scene has.
            carrier_of: What moves a node.
            linear_maps: Scale and shear of all nodes, shape [node_count, 3, 3].
            world_from_node: Of all nodes at load, scale included, shape [node_count, 4, 4].
        """
        load(watch)
        volumes, colliders = plans.volumes, plans.colliders
        places = [c.frame_node for c in colliders]
        frame_nodes, frame_of = np.unique(np.array(places, dtype=np.intp), return_inverse=True)
        self.frame_nodes: list[int] = frame_nodes.tolist()
        """Nodes whose frames colliders are placed in."""
        self.frame_of: list[int] = frame_of.tolist()
        """Of each collider."""
        nodes = self.nodes = [*self.frame_nodes, *(volume.node for volume in volumes)]
        """Of all frames."""
        self._arena = arena
        self._table, self._numbers = layout.allocate(
            len(frame_nodes), len(colliders), len(volumes), free_bodies, _admission(plans)
        )
        self._pairs = layout.allocate_pairs(_FIRST_ROOM)
        self._watcher: IntArray | None = None
        self._frames = self._view(layout.FRAME, len(nodes), layout.FRAME_SIZE)
        self._colliders = self._view(layout.COLLIDER, len(colliders), layout.COLLIDER_SIZE)
        self._volumes = self._view(layout.VOLUME, len(volumes), layout.VOLUME_SIZE)
        start = int(self._table[layout.FREE_POSE])
        self._poses = self._numbers[start : start + 7 * free_bodies]
        self._nodes = Frames(np.array(nodes, dtype=np.intp), linear_maps, world_from_node)
        self.place_anew(world_from_node)
        self._follow([carrier_of(node) for node in nodes])
        self._describe(plans)

    def _view(self, slot: int, count: int, size: int) -> FloatArray:
        start = int(self._table[slot])
        return self._numbers[start : start + count * size].reshape(count, size)

    def _follow(self, carriers: Sequence[Carrier]) -> None:
        """Let the frames move with their carriers from where they are."""
        start = int(self._table[layout.FRAME_SOURCE])
        sources = self._table[start : start + layout.SOURCE_SIZE * len(carriers)]
        sources[:] = [n for c in carriers for n in (c.kind, c.first, c.second)]
        self._given = np.flatnonzero([c.kind == layout.GIVEN for c in carriers])
        self.is_given = bool(len(self._given))
        """Whether :meth:`find` needs to know where nodes are."""
        kinds = {c.kind for c in carriers}
        self.is_jointed = layout.LINK in kinds
        """Whether it needs the arena to know where the joints are."""
        self.is_free = layout.FREE in kinds
        """Whether it needs to know where free bodies are."""
        self._table[layout.JOINTED] = self.is_jointed
        now = self._frames[:, layout.FRAME_NOW : layout.FRAME_NOW + 12]
        local = self._frames[:, layout.FRAME_LOCAL : layout.FRAME_LOCAL + 12]
        for row, carrier in enumerate(carriers):
            matrix = carrier.carrier_from_world
            local[row, :9] = (matrix[:3, :3] @ now[row, :9].reshape(3, 3)).ravel()
            local[row, 9:] = matrix[:3, :3] @ now[row, 9:] + matrix[:3, 3]

    def _describe(self, plans: TriggerPlans) -> None:
        """Sizes, kinds and filters of colliders and volumes."""
        volume_filters, filters = _filters(plans)
        known: dict[PlacedShape, Extent] = {}
        for shape in (c.shape for c in plans.colliders):
            if shape not in known:
                known[shape] = extent_of(shape)
        _describe_parts(self._colliders, [known[c.shape] for c in plans.colliders])
        _describe_parts(self._volumes, [extent_of(v.shape) for v in plans.volumes])
        start = int(self._table[layout.COLLIDER_PLACE])
        for k, c in enumerate(plans.colliders):
            at = start + layout.PLACE_SIZE * k
            self._table[at : at + layout.PLACE_SIZE] = (
                self.frame_of[k], filters[c.filter, c.rests], _kind(c.shape), c.owner, 0,
            )  # fmt: skip
        start = int(self._table[layout.VOLUME_PLACE])
        for k, v in enumerate(plans.volumes):
            at = start + layout.PLACE_SIZE * k
            self._table[at : at + layout.PLACE_SIZE] = (
                0, volume_filters[v.filter, v.rests], _kind(v.shape),
                *[*sorted(v.own_bodies), -2, -2][:2],
            )  # fmt: skip
        thinnest = np.full(len(self.frame_nodes), np.inf)
        np.minimum.at(thinnest, self.frame_of, self._colliders[:, layout.PART_THICKNESS])
        self._frames[: len(thinnest), layout.FRAME_THINNEST] = thinnest
        self.widest: FloatArray = np.zeros(len(thinnest))
        """Per frame of colliders, the largest radius of a ball that holds one [m]."""
        np.maximum.at(self.widest, self.frame_of, self._colliders[:, layout.PART_OUTER])

    # --- where everything is ------------------------------------------------------------------

    @property
    def places(self) -> FloatArray:
        """Where all frames are, in order; a view, shape [frame_count, 12]."""
        return self._frames[:, layout.FRAME_NOW : layout.FRAME_NOW + 12]

    @property
    def speeds(self) -> FloatArray:
        """Of the frames of colliders in the last step [m/s]; a view."""
        return self._frames[: len(self.frame_nodes), layout.FRAME_SPEED]

    def place_anew(self, world_from_node: FloatArray) -> None:
        """Put all frames where the nodes are."""
        self._nodes.move(world_from_node)
        self.places[:, :9] = self._nodes.rotations.reshape(-1, 9)
        self.places[:, 9:] = self._nodes.positions

    def frames_of_volumes(self, volumes: IntArray | Sequence[int]) -> list[int]:
        """Frames by number of the volume."""
        return [len(self.frame_nodes) + volume for volume in volumes]

    def poses(self, frames: Sequence[int], *, before: bool = False) -> dict[int, Pose]:
        """Some frames, each converted once: after the step, or before it."""
        distinct = sorted(set(frames))
        start = layout.FRAME_BEFORE if before else layout.FRAME_NOW
        rows = self._frames[distinct, start : start + 12]
        rotations = quats_from_matrices(rows[:, :9].reshape(-1, 3, 3)).tolist()
        return {
            frame: Pose((qx, qy, qz, qw), (x, y, z))
            for frame, (x, y, z), (qx, qy, qz, qw) in zip(
                distinct, rows[:, 9:].tolist(), rotations, strict=True
            )
        }

    def way(self, frame: int) -> tuple[FloatArray, float]:
        """Position of a frame of colliders after the step [m], and how far it has gone [m]."""
        row = self._frames[frame]
        now = row[layout.FRAME_NOW + 9 : layout.FRAME_NOW + 12]
        before = row[layout.FRAME_BEFORE + 9 : layout.FRAME_BEFORE + 12]
        return now, float(np.linalg.norm(now - before))

    def begin_at(self, frame: int, position: FloatArray) -> None:
        """Let a frame have begun the step at a position [m], turned as it is now."""
        row = self._frames[frame]
        row[layout.FRAME_BEFORE : layout.FRAME_BEFORE + 9] = row[
            layout.FRAME_NOW : layout.FRAME_NOW + 9
        ]
        row[layout.FRAME_BEFORE + 9 : layout.FRAME_BEFORE + 12] = position

    def are_near(self, volume: int, collider: int) -> bool:
        """Whether the balls around a volume and a collider overlap where their frames are now."""
        a, b = self._volumes[volume], self._colliders[collider]
        gap = self._center_in_world(a, len(self.frame_nodes) + volume)
        gap = gap - self._center_in_world(b, self.frame_of[collider])
        reach = a[layout.PART_OUTER] + b[layout.PART_OUTER]
        return not float(np.linalg.norm(gap)) > float(reach)

    def _center_in_world(self, part: FloatArray, frame: int) -> FloatArray:
        center = part[layout.PART_CENTER : layout.PART_CENTER + 3]
        place = self.places[frame]
        found: FloatArray = place[:9].reshape(3, 3) @ center + place[9:]
        return found

    def thickness(self, volume: int, collider: int) -> float:
        """[m] of the thinner one of two."""
        return float(
            min(
                self._volumes[volume, layout.PART_THICKNESS],
                self._colliders[collider, layout.PART_THICKNESS],
            )
        )

    # --- the step -----------------------------------------------------------------------------

    def follow(
        self, poses: FloatArray, world_from_node: Callable[[], FloatArray], dt: float
    ) -> int:
        """Place all frames after a step, and find the pairs that may have met in it.

        Args:
            poses: Of the free bodies' inertial frames, shape [free_body_count * 7].
            world_from_node: Tells where nodes are; asked where :attr:`is_given`.
            dt: [s] of the step.

        Returns:
            How many there are, or -1 where a frame of colliders is :meth:`fast`: :meth:`find` is
            still to do.
        """
        self._poses[:] = poses
        if self.is_given:
            self._nodes.move(world_from_node())
            local = self._frames[:, layout.FRAME_LOCAL : layout.FRAME_LOCAL + 12]
            local[self._given, :9] = self._nodes.rotations[self._given].reshape(-1, 9)
            local[self._given, 9:] = self._nodes.positions[self._given]
        return self._watch(FOLLOW | FIND, dt)

    def fast(self) -> list[int]:
        """Frames of colliders that moved by more than half of what is thinnest on them."""
        count = len(self.frame_nodes)
        now = self._frames[:count, layout.FRAME_NOW + 9 : layout.FRAME_NOW + 12]
        before = self._frames[:count, layout.FRAME_BEFORE + 9 : layout.FRAME_BEFORE + 12]
        ways = np.linalg.norm(now - before, axis=1)
        found: list[int] = np.flatnonzero(
            ways > FAST_SHARE * self._frames[:count, layout.FRAME_THINNEST]
        ).tolist()
        return found

    def watcher(self, free_bodies: Sequence[int]) -> IntArray:
        """For kernels that do what :meth:`follow` does, ids of the free bodies given."""
        start = int(self._table[layout.FREE_POSE])
        header = [address_of(watch), *addresses(self._table, self._numbers, self._pairs), start]
        numbers = [*header, len(free_bodies), *free_bodies]
        self._watcher = np.array(numbers, dtype=np.int64)
        return self._watcher

    def find(self, dt: float) -> int:
        """Find the pairs that may have met in a step of ``dt`` seconds; how many there are."""
        return self._watch(FIND, dt)

    def is_room(self, count: int) -> bool:
        """Whether so many pairs could be listed; where not, :meth:`find` does it again."""
        return count * layout.PAIR_SIZE <= len(self._pairs)

    def pairs(self, count: int) -> list[list[int]]:
        """The pairs that were found: volume, collider, and sum of TOUCHES, UNSURE and PASSES."""
        size = layout.PAIR_SIZE
        found: list[list[int]] = self._pairs[: size * count].reshape(-1, size).tolist()
        return found

    def _watch(self, stages: int, dt: float) -> int:
        arena = self._arena
        count = watch(
            arena.ints, arena.floats, arena.work, self._table, self._numbers, self._pairs,
            stages, dt,
        )  # fmt: skip
        if count * layout.PAIR_SIZE > len(self._pairs):
            self._make_room(count)
            return self._watch(FIND, dt)
        return int(count)

    def _make_room(self, count: int) -> None:
        self._pairs = layout.allocate_pairs(2 * count)
        if self._watcher is not None:
            self._watcher[sensing.PAIRS : sensing.PAIRS + 2] = addresses(self._pairs)


def _kind(placed: PlacedShape) -> int:
    match placed.shape:
        case BoxPlan():
            return layout.BOX
        case SpherePlan():
            return layout.BALL
        case InfinitePlanePlan():
            return layout.PLANE
    return layout.OTHER


_Kind: TypeAlias = tuple[CollisionFilter | None, bool]
"""Collision filter, and whether it rests."""


def _filters(plans: TriggerPlans) -> tuple[dict[_Kind, int], dict[_Kind, int]]:
    """Numbers of what is alike to :meth:`TriggerVolume.admits`: of volumes, of colliders."""
    return (
        {f: k for k, f in enumerate(dict.fromkeys((v.filter, v.rests) for v in plans.volumes))},
        {f: k for k, f in enumerate(dict.fromkeys((c.filter, c.rests) for c in plans.colliders))},
    )


def _admission(plans: TriggerPlans) -> IntArray:
    """Which volumes admit which colliders, by number in :func:`_filters`, shape [rows, columns]."""
    rows = {(v.filter, v.rests): v for v in reversed(plans.volumes)}
    columns = {(c.filter, c.rests): c for c in reversed(plans.colliders)}
    of_volumes, of_colliders = _filters(plans)
    return np.array(
        [[int(rows[a].admits(columns[b])) for b in of_colliders] for a in of_volumes],
        dtype=np.int64,
    )


def _describe_parts(parts: FloatArray, extents: Sequence[Extent]) -> None:
    for part, extent in zip(parts, extents, strict=True):
        part[layout.PART_CENTER : layout.PART_CENTER + 3] = extent.center
        part[layout.PART_HALVES : layout.PART_HALVES + 3] = extent.half
        part[layout.PART_AXES : layout.PART_AXES + 9] = extent.axes.ravel()
        part[layout.PART_INNER], part[layout.PART_OUTER] = extent.inner, extent.outer
        part[layout.PART_THICKNESS] = 2.0 * extent.half.min()
