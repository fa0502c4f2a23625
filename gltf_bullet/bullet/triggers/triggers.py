"""Overlaps of colliders with the triggers of a scene, and entries and exits in a step.

KHR_physics_rigid_bodies, "Triggers". A kernel finds the pairs that are near and decides most of
them by balls and boxes; the engine is queried for the rest. An overlap at any time within a step
counts, also when the engine takes several substeps and a fast body is past the volume at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.shapes.engine_shapes import EngineShapes
from gltf_bullet.bullet.triggers.carriers import Carriers
from gltf_bullet.bullet.triggers.overlap_probe import Probe, ScrewMotion, Solid, passage
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.planning.triggers import TriggerPlans
from gltf_bullet.scene import NodeTree
from gltf_bullet.solver.triggers.layout import JUMP, PASSES, TOUCHES, UNSURE
from gltf_bullet.transforms import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Crossing:
    """Entry or exit of a collider."""

    entered: bool
    trigger_node: int
    collider_node: int
    motion_node: int
    """-1 for a collider without a motion node."""
    fraction: float
    """Time as a fraction of the step; 1 is its end."""


@dataclass(frozen=True, slots=True, eq=False)
class TriggerMemory:
    """State that ``pybullet.saveState`` leaves out; treat as opaque."""

    overlaps: tuple[tuple[int, int], ...]
    """Pairs of trigger node and collider node."""
    speeds: tuple[float, ...]
    """Speeds of the frames in the last step [m/s]."""
    places: Mapping[int, tuple[float, ...]]
    """Poses of the nodes' frames after it, 12 numbers each."""


class Triggers:
    """The triggers of one scene."""

    def __init__(
        self,
        client_id: int,
        plan: ScenePlan,
        tree: Callable[[], NodeTree],
        shapes: EngineShapes,
        free: FreeBodies,
        articulations: ArticulationSet,
        velocities_of: Callable[[int], tuple[FloatArray, FloatArray]],
    ) -> None:
        """Create the shapes and store the poses at load.

        Args:
            client_id: The PyBullet world.
            plan: Plan of the scene.
            tree: Returns the scene's nodes.
            shapes: The world's shapes.
            free: The scene's bodies without joints.
            articulations: Its bodies with joints.
            velocities_of: Returns the velocity of the centre of mass [m/s] and the spin of a motion
                node's body.
        """
        plans, bodies = plan.triggers, plan.bodies.bodies
        self.plans = plans
        self._overlaps: frozenset[int] = frozenset()
        self._recalled: (
            tuple[TriggerMemory, FloatArray, frozenset[int], FloatArray, FloatArray] | None
        ) = None
        """The state that was restored last, and what it has set."""
        self._velocities_of = velocities_of
        self.is_idle = not plans.volumes or not plans.colliders
        """True if there are no triggers, or no colliders for them."""
        self.needs_nodes = self.needs_joints = self.needs_free = False
        if self.is_idle:
            return
        # Only scenes with triggers load the kernel (measured: 35 ms).
        from gltf_bullet.bullet.triggers.trigger_arrays import TriggerArrays

        volumes, colliders = plans.volumes, plans.colliders
        self._probe = Probe(client_id)
        self._solids = [Solid(shapes, c.shape) for c in colliders]
        self._volume_solids = [Solid(shapes, v.shape) for v in volumes]
        self._arrays = TriggerArrays(
            plans,
            articulations.arena,
            len(free.ids),
            Carriers(plan, tree(), free, articulations).of,
            plan.frames.linear_maps(),
            plan.frames.world_from_node,
        )
        self.needs_nodes = self._arrays.is_given
        """True if :meth:`after_step` needs the poses of nodes."""
        self.needs_joints = self._arrays.is_jointed
        """True if it needs the poses of links in the arena."""
        self.needs_free = self._arrays.is_free
        """True if it needs the poses of free bodies."""
        self._is_body = [node in bodies for node in self._arrays.frame_nodes]
        self._arrays.speeds[:] = [
            np.linalg.norm(bodies[node].linear_velocity) if node in bodies else 0.0
            for node in self._arrays.frame_nodes
        ]
        row_of = {node: row for row, node in enumerate(plans.nodes)}
        self._first_keys = [len(colliders) * row_of[v.trigger] for v in volumes]
        """First key of each volume; a pair's key is this plus the collider's number."""

    # --- overlaps and state -------------------------------------------------------------------

    def overlaps(self) -> list[tuple[int, int]]:
        """Return pairs of trigger node and collider node at the last update, in file order."""
        return [
            (crossing.trigger_node, crossing.collider_node)
            for crossing in (self._crossing(key, True, 1.0) for key in sorted(self._overlaps))
        ]

    def overlaps_at_rest(
        self, plans: TriggerPlans, world_from_node: FloatArray
    ) -> list[tuple[int, int]]:
        """Return pairs that overlapped while both rested, if one of them does not rest now.

        Args:
            plans: Former plans of these nodes.
            world_from_node: Former poses, scale included, shape [node_count, 4, 4].
        """
        if self.is_idle or plans is self.plans:
            return []
        volumes, colliders = self.plans.volumes, self.plans.colliders
        resting = {(v.trigger, v.node) for v in plans.volumes if v.rests}
        moving = {c.node for c in plans.colliders if not c.rests}
        rested = [v for v, one in enumerate(volumes) if (one.trigger, one.node) in resting]
        lain = [c for c, one in enumerate(colliders) if one.node not in moving]
        woken = (
            {v for v in rested if not volumes[v].rests},
            {c for c in lain if not colliders[c].rests},
        )
        pairs = [
            (v, c)
            for v in rested
            for c in (lain if v in woken[0] else woken[1])
            if colliders[c].owner not in volumes[v].own_bodies and volumes[v].admits(colliders[c])
        ]
        if not pairs:
            return []
        arrays = self._arrays
        now = arrays.places.copy()
        arrays.place_anew(world_from_node)
        found = self._ask([pair for pair in pairs if arrays.are_near(*pair)])
        arrays.places[:] = now
        return [(volumes[v].trigger, colliders[c].node) for v, c in found]

    def memory(self) -> TriggerMemory:
        """Return the state for a snapshot."""
        if self.is_idle:
            return TriggerMemory((), (), {})
        return TriggerMemory(
            tuple(self.overlaps()),
            tuple(self._arrays.speeds.tolist()),
            dict(zip(self._arrays.nodes, map(tuple, self._arrays.places.tolist()), strict=True)),
        )

    def recall(self, memory: TriggerMemory, world_from_node: FloatArray) -> None:
        """Restore a state, without events.

        The state may be of triggers that were planned otherwise: those that are gone are left out.

        Args:
            memory: From :meth:`memory`.
            world_from_node: Poses at that time, for nodes that the state lacks.
        """
        if self.is_idle:
            return
        arrays, known = self._arrays, self._recalled
        if known is not None and known[0] is memory and known[1] is world_from_node:
            # Every episode of an environment begins so.
            _, _, self._overlaps, arrays.places[:], arrays.speeds[:] = known
            arrays.forget()
            return
        row_of = {node: row for row, node in enumerate(self.plans.nodes)}
        column_of = {c.node: column for column, c in enumerate(self.plans.colliders)}
        self._overlaps = frozenset(
            row_of[trigger] * len(column_of) + column_of[collider]
            for trigger, collider in memory.overlaps
            if trigger in row_of and collider in column_of
        )
        arrays.place_anew(world_from_node)
        arrays.forget()
        for place, node in zip(arrays.places, arrays.nodes, strict=True):
            place[:] = memory.places.get(node, place)
        if len(memory.speeds) == len(arrays.speeds):
            arrays.speeds[:] = memory.speeds
        places, speeds = arrays.places.copy(), arrays.speeds.copy()
        self._recalled = (memory, world_from_node, self._overlaps, places, speeds)

    # --- the step -----------------------------------------------------------------------------

    @property
    def overlap(self) -> bool:
        """True if any collider is inside a volume."""
        return bool(self._overlaps)

    @property
    def need_looks(self) -> bool:
        """True if Python has to see if a collider that is inside of a volume stays there."""
        return bool(self._overlaps) and not self._arrays.is_known

    def place_again(self, world_from_node: FloatArray) -> None:
        """Take up nodes that were put elsewhere between two steps, matrices of all nodes."""
        if not self.is_idle:
            self._arrays.forget()
            self._arrays.place_anew(world_from_node)

    def watcher(self, free_bodies: Sequence[int]) -> IntArray:
        """Return the array by which kernels find pairs; see :meth:`after_watched_step`."""
        return self._arrays.watcher(free_bodies)

    def after_watched_step(self, count: int, time_step: float) -> list[Crossing]:
        """Do as :meth:`after_step` does, where a kernel has found ``count`` pairs already."""
        if count < 0:
            self._correct_starts(self._arrays.fast(), time_step)
            count = self._arrays.find(time_step)
        elif not self._arrays.is_room(count):
            count = self._arrays.find(time_step)
        if not count and not self.need_looks:
            return []
        return self._settle(self._arrays.pairs(count))

    def after_step(
        self, poses: FloatArray, world_from_node: Callable[[], FloatArray], time_step: float
    ) -> list[Crossing]:
        """Return the entries and exits of a step, in order of time.

        Args:
            poses: Present poses of the free bodies' inertial frames, shape [free_bodies * 7].
            world_from_node: Returns the present frames of all nodes, scale included, shape
                [node_count, 4, 4].
            time_step: Length of the step [s].
        """
        if self.is_idle:
            return []
        count = self._arrays.follow(poses, world_from_node, time_step)
        return self.after_watched_step(count, time_step)

    def _correct_starts(self, fast: Sequence[int], time_step: float) -> None:
        """Move the start of frames that jumped to where they must have begun the step.

        A jump is further than the velocities before and after the step can explain: the user reset
        a pose between two steps, or an animation started again. Reading every body before the step
        instead would be exact for a body that is placed, thrown and stopped by a wall all in one
        step, but costs a sixth of the engine's step (1000 bodies, measured).
        """
        arrays = self._arrays
        for frame in fast:
            now, way = arrays.way(frame)
            velocity = np.zeros(3)
            if self._is_body[frame]:
                velocity, _ = self._velocities_of(arrays.frame_nodes[frame])
            speed = max(float(np.linalg.norm(velocity)), float(arrays.speeds[frame]))
            if way > JUMP * time_step * speed + 0.5 * arrays.widest[frame]:
                arrays.begin_at(frame, now - time_step * velocity)

    def _settle(self, pairs: Sequence[Sequence[int]]) -> list[Crossing]:
        """Return the events of near pairs, given as volume, collider, and the kernel's result."""
        unsure = [(volume, collider) for volume, collider, state in pairs if state & UNSURE]
        asked = self._ask(unsure) if unsure else ()
        now = {
            self._first_keys[volume] + collider
            for volume, collider, state in pairs
            if state & TOUCHES or (state & UNSURE and (volume, collider) in asked)
        }
        self._arrays.set_inside(
            (volume, collider)
            for volume, collider, state in pairs
            if state & TOUCHES or (state & UNSURE and (volume, collider) in asked)
        )
        came, went = now - self._overlaps, self._overlaps - now
        passing = [
            (volume, collider)
            for volume, collider, state in pairs
            if state & PASSES
            and self._first_keys[volume] + collider not in now
            and self._first_keys[volume] + collider not in self._overlaps
        ]
        if not (came or went or passing):
            return []
        self._overlaps = frozenset(now)
        crossings = self._passages(passing) if passing else []
        crossings += [self._crossing(key, True, 1.0) for key in sorted(came)]
        crossings += [self._crossing(key, False, 1.0) for key in sorted(went)]
        crossings.sort(key=lambda crossing: (crossing.fraction, not crossing.entered))
        return crossings

    def _ask(self, pairs: Sequence[tuple[int, int]]) -> Collection[tuple[int, int]]:
        """Return the pairs that overlap by the engine's distance query."""
        arrays = self._arrays
        volume_frames = arrays.frames_of_volumes([volume for volume, _ in pairs])
        frames = [arrays.frame_of[collider] for _, collider in pairs]
        poses = arrays.poses([*volume_frames, *frames])
        found = set()
        for (volume, collider), volume_frame, frame in zip(
            pairs, volume_frames, frames, strict=True
        ):
            gap = self._probe.gap(
                self._volume_solids[volume], poses[volume_frame],
                self._solids[collider], poses[frame],
                within=arrays.thickness(volume, collider),
            )  # fmt: skip
            arrays.note_gap(volume, collider, gap)
            if gap <= 0.0:
                found.add((volume, collider))
        return found

    def _passages(self, pairs: Sequence[tuple[int, int]]) -> list[Crossing]:
        """Return entry and exit of colliders that passed through a volume within the step."""
        arrays = self._arrays
        volume_frames = arrays.frames_of_volumes([volume for volume, _ in pairs])
        frames = [arrays.frame_of[collider] for _, collider in pairs]
        begin = arrays.poses([*volume_frames, *frames], before=True)
        end = arrays.poses([*volume_frames, *frames])
        times: dict[int, tuple[float, float]] = {}
        for (volume, collider), volume_frame, frame in zip(
            pairs, volume_frames, frames, strict=True
        ):
            found = passage(
                self._probe,
                self._volume_solids[volume],
                ScrewMotion(begin[volume_frame], end[volume_frame]),
                self._solids[collider],
                ScrewMotion(begin[frame], end[frame]),
                arrays.thickness(volume, collider),
            )
            if found is not None:
                key = self._first_keys[volume] + collider
                first, last = times.get(key, found)
                times[key] = (min(first, found[0]), max(last, found[1]))
        return [
            crossing
            for key, (first, last) in sorted(times.items())
            for crossing in (self._crossing(key, True, first), self._crossing(key, False, last))
        ]

    def _crossing(self, key: int, entered: bool, fraction: float) -> Crossing:
        row, column = divmod(key, len(self.plans.colliders))
        collider = self.plans.colliders[column]
        return Crossing(entered, self.plans.nodes[row], collider.node, collider.owner, fraction)
