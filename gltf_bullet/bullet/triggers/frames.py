"""Where trigger volumes and the balls around colliders stand, as stacked arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gltf_bullet.bullet.triggers.overlap_search import IntArray, distances_to_boxes
from gltf_bullet.planning.shapes.extents import UNBOUNDED, Extent, extent_of
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.planning.triggers import TriggerVolume
from gltf_bullet.transforms import (
    FloatArray,
    Pose,
    quats_from_matrices,
)

__all__ = ["Balls", "Frames", "Gaps", "Volumes"]


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
        self.rotations = linear

    def copy(self) -> Frames:
        """The frames as they are now; moving either one later leaves the other as it is."""
        twin = object.__new__(Frames)
        twin._nodes, twin._unscale = self._nodes, self._unscale
        twin.positions, twin.rotations = self.positions, self.rotations
        return twin

    def pose(self, row: int) -> Pose:
        """One frame."""
        return self.poses(np.array([row], dtype=np.intp))[row]

    def poses(self, rows: IntArray) -> dict[int, Pose]:
        """Some frames by row, each converted once."""
        distinct = np.unique(rows)
        positions = self.positions[distinct].tolist()
        rotations = quats_from_matrices(self.rotations[distinct]).tolist()
        return {
            row: Pose((qx, qy, qz, qw), (x, y, z))
            for row, (x, y, z), (qx, qy, qz, qw) in zip(
                distinct.tolist(), positions, rotations, strict=True
            )
        }

    def place(self, row: int, position: FloatArray, rotation: FloatArray) -> None:
        """Put one frame elsewhere: position [3] and rotation matrix [3, 3]."""
        self.positions[row] = position
        self.rotations[row] = rotation


class Balls:
    """A ball around and a ball inside each collider."""

    def __init__(self, shapes: Sequence[PlacedShape], frame_of: IntArray) -> None:
        known: dict[PlacedShape, Extent] = {}
        for shape in shapes:
            if shape not in known:
                known[shape] = extent_of(shape)
        extents = [known[shape] for shape in shapes]
        self._frame_of = frame_of
        self._offsets = np.array([e.center for e in extents]).reshape(-1, 3)
        self._is_centered = not self._offsets.any()
        self.outer = np.array([e.outer for e in extents])
        """Radius [m] of a ball that holds the collider, shape [k]."""
        self.inner = np.array([e.inner for e in extents])
        """Radius [m] of a ball within the collider, 0 if unknown, shape [k]."""
        self.halves = np.array([e.half for e in extents]).reshape(-1, 3)
        """Half extents of a box around the collider [m], shape [k, 3]."""
        self.is_box = np.array([isinstance(shape.shape, BoxPlan) for shape in shapes], dtype=bool)
        """Whether the collider is that box, shape [k]."""
        self._axes = np.array([e.axes for e in extents]).reshape(-1, 3, 3)
        self.thickness = 2.0 * self.halves.min(axis=1)
        """[m], shape [k]."""
        frames = int(frame_of.max(initial=-1)) + 1
        self.thinnest = np.full(frames, np.inf)
        """Smallest thickness per frame [m]."""
        np.minimum.at(self.thinnest, frame_of, self.thickness)
        self.widest = np.zeros(frames)
        """Largest outer radius per frame [m]."""
        np.maximum.at(self.widest, frame_of, self.outer)

    def axes(self, frames: Frames, rows: IntArray) -> FloatArray:
        """Axes of the boxes around some colliders in the world, shape [k, 3, 3]."""
        result: FloatArray = np.matmul(frames.rotations[self._frame_of[rows]], self._axes[rows])
        return result

    def centers(self, frames: Frames) -> FloatArray:
        """Of the balls in the world [m], shape [k, 3]."""
        centers: FloatArray = frames.positions[self._frame_of]
        if not self._is_centered:
            centers += np.einsum("kij,kj->ki", frames.rotations[self._frame_of], self._offsets)
        return centers


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Bounds on the distance of points from volumes [m]."""

    lower: FloatArray
    upper: FloatArray


class Volumes:
    """The volumes of all triggers: boxes around them and balls inside."""

    def __init__(
        self,
        volumes: Sequence[TriggerVolume],
        linear_maps: FloatArray,
        world_from_node: FloatArray,
    ) -> None:
        extents = [extent_of(volume.shape) for volume in volumes]
        kinds = [volume.shape.shape for volume in volumes]
        self._offsets = np.array([e.center for e in extents]).reshape(-1, 3)
        self._axes_in_node = np.array([e.axes for e in extents]).reshape(-1, 3, 3)
        self.halves = np.array([e.half for e in extents]).reshape(-1, 3)
        """Half extents of the bounding boxes [m], shape [v, 3]."""
        self._inner = np.array([e.inner for e in extents])
        self.is_box = np.array([isinstance(kind, BoxPlan) for kind in kinds])
        """Whether a volume is its bounding box, shape [v]."""
        self._is_ball = np.array([isinstance(kind, SpherePlan) for kind in kinds])
        self._is_plane = np.array([isinstance(kind, InfinitePlanePlan) for kind in kinds])
        self.thickness = 2.0 * self.halves.min(axis=1)
        """[m], shape [v]."""
        self.moves = True
        """Whether any volume can move; refined by :meth:`move`."""
        nodes = np.array([volume.node for volume in volumes], dtype=np.intp)
        self.frames = Frames(nodes, linear_maps, world_from_node)
        self._place()

    def move(self, world_from_node: FloatArray) -> None:
        """Follow the nodes."""
        positions, rotations = self.frames.positions, self.frames.rotations
        self.frames.move(world_from_node)
        self.moves = not (
            np.array_equal(positions, self.frames.positions)
            and np.array_equal(rotations, self.frames.rotations)
        )
        if self.moves:
            self._place()

    def _place(self) -> None:
        self.centers: FloatArray = self.frames.positions + np.einsum(
            "kij,kj->ki", self.frames.rotations, self._offsets
        )
        """Of the bounding boxes in the world [m], shape [v, 3]."""
        self.axes: FloatArray = np.matmul(self.frames.rotations, self._axes_in_node)
        """Axes of the bounding boxes in the world, shape [v, 3, 3]."""
        reach = np.einsum("kij,kj->ki", np.abs(self.axes), self.halves)
        self.low: FloatArray = self.centers - reach
        """Lower corners of boxes along the world's axes [m], shape [v, 3]."""
        self.high: FloatArray = self.centers + reach
        """Their upper corners [m], shape [v, 3]."""

    def copy(self) -> Volumes:
        """The volumes as they stand now."""
        twin = object.__new__(Volumes)
        twin.__dict__.update(self.__dict__)
        twin.frames = self.frames.copy()
        return twin

    def gaps(self, rows: IntArray, points: FloatArray) -> Gaps:
        """How far points are from the volumes at the same index; equal bounds are exact."""
        centers = self.centers[rows]
        lower = distances_to_boxes(points, centers, self.axes[rows], self.halves[rows])
        offsets = points - centers
        distances = np.sqrt(np.einsum("ki,ki->k", offsets, offsets))
        upper = np.maximum(distances - self._inner[rows], 0.0)
        upper[self._inner[rows] == 0.0] = UNBOUNDED
        box, ball, plane = self.is_box[rows], self._is_ball[rows], self._is_plane[rows]
        upper[box] = lower[box]
        lower[ball] = upper[ball]
        if plane.any():
            heights = np.einsum("ki,ki->k", self.axes[rows][:, :, 1], offsets)
            lower[plane] = upper[plane] = heights[plane]
        return Gaps(lower, upper)
