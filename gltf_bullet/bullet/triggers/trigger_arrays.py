"""The arrays that the triggers' kernel works on, filled in from the plans of a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.triggers.carriers import Carrier
from gltf_bullet.model import CollisionFilter
from gltf_bullet.numba_aot import address_of, addresses, load, size_of
from gltf_bullet.planning.shapes.extents import Extent, extent_of
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.planning.triggers import TriggerPlans
from gltf_bullet.solver.engine.stepping import Watcher, watcher_at
from gltf_bullet.solver.tables import Place
from gltf_bullet.solver.triggers import layout
from gltf_bullet.solver.triggers.layout import (
    FIND,
    FOLLOW,
    FRAME,
    PAIR,
    PART,
    PLACE,
    SOURCE,
    triggers_at,
)  # fmt: skip
from gltf_bullet.solver.triggers.watching import FAST_SHARE, watch
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Pose,
    matrices_from_quats,
    quats_from_matrices,
    split_linear,
)

# --- World frames of nodes, as stacked arrays -----------------------------------------------------

_ROUNDING = 1e-6
"""By which the squares of a rotation's numbers may miss their sum of 3."""


class Frames:
    """World frames of some nodes, without their scale."""

    def __init__(
        self, nodes: IntArray, linear_maps: FloatArray, world_from_node: FloatArray
    ) -> None:
        self._nodes = nodes
        unscale = np.linalg.pinv(linear_maps[nodes])
        is_identity = np.abs(unscale - np.eye(3)).max(initial=0.0) < 1e-12
        self._unscale: FloatArray | None = None if is_identity else unscale.astype(np.float64)
        self.positions: FloatArray = np.zeros((len(nodes), 3))
        """[m], shape [k, 3]."""
        self.rotations: FloatArray = np.zeros((len(nodes), 3, 3))
        """Rotation matrices, shape [k, 3, 3]."""
        self.move(world_from_node)

    def move(self, world_from_node: FloatArray) -> None:
        """Follow the nodes."""
        matrices = world_from_node[self._nodes]
        self.positions = matrices[:, :3, 3]
        linear = matrices[:, :3, :3]
        if self._unscale is not None:
            linear = np.matmul(linear, self._unscale)
        # What was made of a node stays as large meanwhile where an animation scales it.
        if np.abs(np.square(linear).sum(axis=(1, 2)) - 3.0).max(initial=0.0) > _ROUNDING:
            quats, _, _ = split_linear(linear)
            linear = matrices_from_quats(quats)
        self.rotations = linear


_SURE = 0.5
"""Share of a gap, or of a depth, that two parts may move before the engine is asked again."""
_FIRST_ROOM = 16
"""Pairs that there is room for at first."""


class TriggerArrays:
    """Frames, colliders and volumes of one scene's triggers."""

    def __init__(
        self,
        plans: TriggerPlans,
        arena: SceneArrays,
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
        placed = [c.frame_node for c in colliders]
        frame_nodes, frame_of = np.unique(np.array(placed, dtype=np.intp), return_inverse=True)
        self.frame_nodes: list[int] = frame_nodes.tolist()
        """Nodes whose frames colliders are placed in."""
        self.frame_of: list[int] = frame_of.tolist()
        """Frame of each collider."""
        nodes = self.nodes = [*self.frame_nodes, *(volume.node for volume in volumes)]
        """Nodes of all frames."""
        self._arena = arena
        self._table, self._numbers, packed = layout.allocate(
            len(frame_nodes), len(colliders), len(volumes), free_bodies, _admission(plans)
        )
        places = packed.places
        self._triggers = triggers_at(self._table, self._numbers, 0)
        self._first_pose = places["free_pose"].where.start
        self._pairs = layout.allocate_pairs(_FIRST_ROOM)
        self._watcher: IntArray | None = None
        self._frames = self._view(places["frame"])
        self._colliders = self._view(places["collider"])
        self._volumes = self._view(places["volume"])
        self._poses = self._numbers[places["free_pose"].where]
        self._known = self._table[places["known"].where]
        self._margins = self._numbers[places["margin"].where]
        self.remembers = bool(self._triggers.remembers)
        """True if kernels can know which colliders are inside."""
        self.is_known = False
        """True if they do."""
        self._sources = self._table[places["frame_source"].where].reshape(-1, SOURCE.size)
        self._collider_places = self._table[places["collider_place"].where].reshape(-1, PLACE.size)
        self._volume_places = self._table[places["volume_place"].where].reshape(-1, PLACE.size)
        self._nodes = Frames(np.array(nodes, dtype=np.intp), linear_maps, world_from_node)
        self.place_anew(world_from_node)
        self._follow([carrier_of(node) for node in nodes])
        self._describe(plans)

    def _view(self, place: Place) -> FloatArray:
        return self._numbers[place.where].reshape(place.shape)

    def _follow(self, carriers: Sequence[Carrier]) -> None:
        """Let the frames move with their carriers from where they are."""
        self._sources[:] = [(c.kind, c.first, c.second) for c in carriers]
        self._given = np.flatnonzero([c.kind == layout.GIVEN for c in carriers])
        self.is_given = bool(len(self._given))
        """True if :meth:`find` needs the transforms of nodes."""
        kinds = {c.kind for c in carriers}
        self.is_jointed = layout.LINK in kinds
        """True if it needs the state of the joints."""
        self.is_free = layout.FREE in kinds
        """True if it needs the poses of free bodies."""
        self._triggers.is_jointed = self.is_jointed
        now = self._frames[:, FRAME.now : FRAME.now + 12]
        local = self._frames[:, FRAME.local : FRAME.local + 12]
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
        for k, c in enumerate(plans.colliders):
            self._collider_places[k] = (
                self.frame_of[k], filters[c.filter, c.rests], _kind(c.shape), c.owner, 0,
            )  # fmt: skip
        for k, v in enumerate(plans.volumes):
            self._volume_places[k] = (
                0, volume_filters[v.filter, v.rests], _kind(v.shape),
                *[*sorted(v.own_bodies), -2, -2][:2],
            )  # fmt: skip
        thinnest = np.full(len(self.frame_nodes), np.inf)
        np.minimum.at(thinnest, self.frame_of, self._colliders[:, PART.thickness])
        self._frames[: len(thinnest), FRAME.thinnest] = thinnest
        self.widest: FloatArray = np.zeros(len(thinnest))
        """Per frame of colliders, the largest radius of a ball that holds one [m]."""
        np.maximum.at(self.widest, self.frame_of, self._colliders[:, PART.outer])
        self._frames[: len(thinnest), FRAME.widest] = self.widest

    # --- where everything is ------------------------------------------------------------------

    @property
    def places(self) -> FloatArray:
        """Transforms of all frames, in order; a view, shape [frame_count, 12]."""
        return self._frames[:, FRAME.now : FRAME.now + 12]

    @property
    def speeds(self) -> FloatArray:
        """Speeds of the frames of colliders in the last step [m/s]; a view."""
        return self._frames[: len(self.frame_nodes), FRAME.speed]

    def set_inside(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Let kernels know which colliders are inside: volume and collider of each."""
        if self.remembers:
            self._set_known(True)
            self._known &= ~layout.INSIDE
            for volume, collider in pairs:
                self._known[volume * len(self.frame_of) + collider] |= layout.INSIDE

    def note_gap(self, volume: int, collider: int, gap: float) -> None:
        """Remember the gap [m] of a pair that the engine was asked for; negative inside."""
        if self.remembers:
            key = volume * len(self.frame_of) + collider
            reach = self.thickness(volume, collider)  # as far as the engine looked
            self._margins[key] = _SURE * min(abs(gap), reach)
            self._known[key] &= ~layout.TOUCHED
            self._known[key] |= layout.TOUCHED if gap <= 0.0 else 0

    def forget_gaps(self) -> None:
        """Let the engine be asked for all pairs again."""
        self._margins[:] = 0.0

    def forget(self) -> None:
        """Forget what kernels know: the next step is looked at by Python."""
        self.forget_gaps()
        self._set_known(False)

    def _set_known(self, is_known: bool) -> None:
        self.is_known = is_known
        self._triggers.is_known = is_known

    def place_anew(self, world_from_node: FloatArray) -> None:
        """Put all frames where the nodes are."""
        self.forget_gaps()
        self._nodes.move(world_from_node)
        self.places[:, :9] = self._nodes.rotations.reshape(-1, 9)
        self.places[:, 9:] = self._nodes.positions

    def frames_of_volumes(self, volumes: IntArray | Sequence[int]) -> list[int]:
        """Frames by number of the volume."""
        return [len(self.frame_nodes) + volume for volume in volumes]

    def poses(self, frames: Sequence[int], *, before: bool = False) -> dict[int, Pose]:
        """Some frames, each converted once: after the step, or before it."""
        distinct = sorted(set(frames))
        start = FRAME.before if before else FRAME.now
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
        now = row[FRAME.now + 9 : FRAME.now + 12]
        before = row[FRAME.before + 9 : FRAME.before + 12]
        return now, float(np.linalg.norm(now - before))

    def begin_at(self, frame: int, position: FloatArray) -> None:
        """Let a frame have begun the step at a position [m], turned as it is now."""
        row = self._frames[frame]
        row[FRAME.before : FRAME.before + 9] = row[FRAME.now : FRAME.now + 9]
        row[FRAME.before + 9 : FRAME.before + 12] = position
        self.forget_gaps()  # what it went is not told by where it began any more

    def are_near(self, volume: int, collider: int) -> bool:
        """Tell whether the balls around a volume and a collider overlap now."""
        a, b = self._volumes[volume], self._colliders[collider]
        gap = self._center_in_world(a, len(self.frame_nodes) + volume)
        gap = gap - self._center_in_world(b, self.frame_of[collider])
        reach = a[PART.outer] + b[PART.outer]
        return not float(np.linalg.norm(gap)) > float(reach)

    def _center_in_world(self, part: FloatArray, frame: int) -> FloatArray:
        center = part[PART.center : PART.center + 3]
        place = self.places[frame]
        found: FloatArray = place[:9].reshape(3, 3) @ center + place[9:]
        return found

    def thickness(self, volume: int, collider: int) -> float:
        """[m] of the thinner one of two."""
        return float(
            min(
                self._volumes[volume, PART.thickness],
                self._colliders[collider, PART.thickness],
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
            local = self._frames[:, FRAME.local : FRAME.local + 12]
            local[self._given, :9] = self._nodes.rotations[self._given].reshape(-1, 9)
            local[self._given, 9:] = self._nodes.positions[self._given]
        return self._watch(FOLLOW | FIND, dt)

    def fast(self) -> list[int]:
        """Frames of colliders that moved by more than half of what is thinnest on them."""
        count = len(self.frame_nodes)
        now = self._frames[:count, FRAME.now + 9 : FRAME.now + 12]
        before = self._frames[:count, FRAME.before + 9 : FRAME.before + 12]
        ways = np.linalg.norm(now - before, axis=1)
        found: list[int] = np.flatnonzero(
            ways > FAST_SHARE * self._frames[:count, FRAME.thinnest]
        ).tolist()
        return found

    def watcher(self, free_bodies: Sequence[int]) -> IntArray:
        """Make the record of kernels that do what :meth:`follow` does, for ids of free bodies."""
        numbers: IntArray = np.zeros(size_of(Watcher) + len(free_bodies), dtype=np.int64)
        watcher = watcher_at(numbers, 0)
        watcher.watch = address_of(watch)
        watcher.table[:], watcher.numbers[:] = addresses(self._table), addresses(self._numbers)
        watcher.pairs[:] = addresses(self._pairs)
        watcher.poses = self._first_pose
        watcher.free_count = len(free_bodies)
        numbers[size_of(Watcher) :] = free_bodies
        self._watcher = numbers
        return numbers

    def find(self, dt: float) -> int:
        """Find the pairs that may have met in a step of ``dt`` seconds; how many there are."""
        return self._watch(FIND, dt)

    def is_room(self, count: int) -> bool:
        """Tell whether so many pairs could be listed; if not, :meth:`find` lists them again."""
        return count * PAIR.size <= len(self._pairs)

    def pairs(self, count: int) -> list[list[int]]:
        """The pairs that were found: volume, collider, and sum of TOUCHES, UNSURE and PASSES."""
        size = PAIR.size
        found: list[list[int]] = self._pairs[: size * count].reshape(-1, size).tolist()
        return found

    def _watch(self, stages: int, dt: float) -> int:
        arena = self._arena
        count = watch(
            arena.ints, arena.floats, arena.work, self._table, self._numbers, self._pairs,
            stages, dt,
        )  # fmt: skip
        if count * PAIR.size > len(self._pairs):
            self._make_room(count)
            return self._watch(FIND, dt)
        return int(count)

    def _make_room(self, count: int) -> None:
        self._pairs = layout.allocate_pairs(2 * count)
        if self._watcher is not None:
            watcher_at(self._watcher, 0).pairs[:] = addresses(self._pairs)


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
    """1 where a volume admits a collider, by number in :func:`_filters`, shape [rows, columns]."""
    rows = {(v.filter, v.rests): v for v in reversed(plans.volumes)}
    columns = {(c.filter, c.rests): c for c in reversed(plans.colliders)}
    of_volumes, of_colliders = _filters(plans)
    return np.array(
        [[int(rows[a].admits(columns[b])) for b in of_colliders] for a in of_volumes],
        dtype=np.int64,
    )


def _describe_parts(parts: FloatArray, extents: Sequence[Extent]) -> None:
    for part, extent in zip(parts, extents, strict=True):
        part[PART.center : PART.center + 3] = extent.center
        part[PART.halves : PART.halves + 3] = extent.half
        part[PART.axes : PART.axes + 9] = extent.axes.ravel()
        part[PART.inner], part[PART.outer] = extent.inner, extent.outer
        part[PART.thickness] = 2.0 * extent.half.min()
