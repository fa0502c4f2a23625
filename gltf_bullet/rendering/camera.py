"""Cameras: poses, framing of scenes, and the matrices for PyBullet's renderers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.scene import Lens, OrthographicLens, PerspectiveLens
from gltf_bullet.transforms import FloatArray, IntArray, float_array

ENDLESS = 1e4
"""[m] Boxes larger than this are infinite planes and do not count for the framing."""

FARTHEST = 1e6
"""[m] Objects farther away were flung off; single precision cannot frame them."""

FIELD_OF_VIEW_DEG = 40.0
"""[degrees] Angle from the lower to the upper edge."""
VIEW_FROM = (0.55, -0.75, 0.42)
"""Direction from the middle of the picture to the camera: right, towards the viewer, up."""
MARGIN = 1.2
"""Room around the framed objects: for shadows, and for some of the floor."""
ESCAPED = 3.0
"""Films do not frame objects farther from the start, and from all that rests, than this many times
the size at the start.
"""
RUNAWAY = 8.0
"""Objects farther from the middle one than this many times the usual distance are not framed."""
_CENTRING = 20
"""Iterations that move the visible objects to the middle."""
SUNK = 0.02
"""Depth to which objects may be in a floor that they are on, in sizes of all of them."""
AROUND = 0.15
"""Distance from moving objects within which large scenery is framed, in sizes of these objects."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Camera:
    """A camera in the world; it looks along -Z of its frame, +Y is up in the picture."""

    world_from_camera: FloatArray
    """Rigid, shape [4, 4]."""
    lens: Lens

    @staticmethod
    def looking(
        eye: Sequence[float],
        target: Sequence[float],
        *,
        up: Sequence[float] = (0.0, 0.0, 1.0),
        vertical_field_of_view_deg: float = FIELD_OF_VIEW_DEG,
        near: float | None = None,
    ) -> Camera:
        """A perspective camera at ``eye`` that looks at ``target``.

        Args:
            eye: Position in the world [m].
            target: Point in the world that is in the middle of the picture [m].
            up: Upward direction of the picture, world axes.
            vertical_field_of_view_deg: Angle between the upper and the lower edge.
            near: Near clipping distance [m]; ``None``: a fiftieth of the distance to the target.

        Raises:
            ValueError: Eye and target are one point, or ``up`` is the direction of view.
        """
        back = float_array("eye", eye) - float_array("target", target)
        distance = float(np.linalg.norm(back))
        right = np.cross(float_array("up", up), back)
        if not distance > 0.0 or not float(np.linalg.norm(right)) > 1e-9 * distance:
            raise ValueError(f"no direction of view from {eye} to {target} with {up} upwards")
        back, right = back / distance, right / np.linalg.norm(right)
        matrix = np.eye(4)
        matrix[:3, :3] = np.stack([right, np.cross(back, right), back], axis=1)
        matrix[:3, 3] = eye
        lens = PerspectiveLens(
            vertical_field_of_view=math.radians(vertical_field_of_view_deg),
            near=0.02 * distance if near is None else near,
        )
        return Camera(world_from_camera=matrix, lens=lens)

    def is_like(self, other: Camera) -> bool:
        """True if both take the same picture."""
        is_there = np.array_equal(self.world_from_camera, other.world_from_camera)
        return is_there and self.lens == other.lens

    def aspect_ratio(self) -> float | None:
        """Width over height that the lens requires; ``None`` if it requires none."""
        if isinstance(self.lens, OrthographicLens):
            return self.lens.half_width / self.lens.half_height
        return self.lens.aspect_ratio


Window: TypeAlias = tuple[slice, slice]
"""A part of a picture: its rows and columns."""
EVERYTHING: Window = (slice(None), slice(None))


def window_around(pixels: IntArray, height: int, width: int) -> Window:
    """The part of a picture in which some pixels are, with their neighbours.

    Args:
        pixels: The pixels, counted row by row, shape [count], one at least.
        height: Height of the picture [pixels].
        width: Width of the picture [pixels].
    """
    rows, columns = np.divmod(pixels, width)
    return (
        slice(max(int(rows.min()) - 1, 0), min(int(rows.max()) + 2, height)),
        slice(max(int(columns.min()) - 1, 0), min(int(columns.max()) + 2, width)),
    )


class ViewMatrices(Struct, frozen=True, kw_only=True, eq=False):
    """View and projection matrices of a camera in PyBullet's convention."""

    view: FloatArray
    """camera_from_world, shape [4, 4]."""
    projection: FloatArray
    """Shape [4, 4]."""
    pulled_back: float
    """[m] Distance of the view behind the camera."""

    def distances(self, depth: FloatArray) -> FloatArray:
        """Distances along the direction of view [m] from PyBullet's depth values."""
        a, b = self.projection[2, 2], self.projection[2, 3]
        if self.projection[3, 2] == 0.0 and a == -0.5:
            # TinyRenderer converts depths of an assumed perspective to OpenGL's: the inverse.
            near, far = b / (a - 1.0), b / (a + 1.0)
            clip = (far * near - 2.0 * far * near * depth) / (depth * (far - near) - far)
            return np.asarray((clip - b) / -a - self.pulled_back, np.float64)
        clip = 2.0 * depth
        clip -= 1.0
        if self.projection[3, 2] == 0.0:
            return np.asarray((b - clip) / a, np.float64)
        clip += a
        return np.asarray(np.divide(b, clip, out=clip), np.float64)

    def window_of(self, points: FloatArray, height: int, width: int) -> Window:
        """The part of a picture in which points [m], shape [count, 3], and all between them are."""
        rows, columns = (0.0, height), (0.0, width)
        if not len(points):
            return slice(0, 0), slice(0, 0)
        seen = (np.c_[points, np.ones(len(points))] @ (self.projection @ self.view).T)[:, [0, 1, 3]]
        # What reaches behind the camera may be anywhere. Comparisons with NaN are false.
        if (seen[:, 2] > 0.0).all() and np.isfinite(seen).all():
            x, y = seen[:, 0] / seen[:, 2], seen[:, 1] / seen[:, 2]
            columns = 0.5 * width * (1.0 + x.min()), 0.5 * width * (1.0 + x.max())
            rows = 0.5 * height * (1.0 - y.max()), 0.5 * height * (1.0 - y.min())
        (above, below), (left, right) = (
            np.clip([ends[0] - 1.0, ends[1] + 2.0], 0.0, size).astype(int).tolist()
            for ends, size in ((rows, height), (columns, width))
        )
        if above >= below or left >= right:
            return slice(0, 0), slice(0, 0)
        return slice(above, below), slice(left, right)

    def of_window(self, window: Window, height: int, width: int) -> ViewMatrices:
        """The matrices with which a part of a picture is drawn as a picture of its own."""
        rows, columns = window
        part = np.eye(4)
        for axis, (ends, size) in enumerate(((columns, width), (rows, height))):
            part[axis, axis] = size / (ends.stop - ends.start)
            part[axis, 3] = (size - ends.start - ends.stop) / (ends.stop - ends.start)
        part[1, 3] = -part[1, 3]  # rows are counted from above
        return ViewMatrices(
            view=self.view, projection=part @ self.projection, pulled_back=self.pulled_back
        )


def view_matrices(
    camera: Camera, aspect_ratio: float, reach: float, *, for_tiny_renderer: bool
) -> ViewMatrices:
    """The matrices of a camera.

    Args:
        camera: The camera.
        aspect_ratio: Width over height of the picture.
        reach: Distance to the farthest object [m], for lenses without a far plane.
        for_tiny_renderer: TinyRenderer takes every projection for perspective: with an orthographic
            one it draws nothing (measured). With its depth row adapted, it is drawn correctly,
            with the eye far behind the camera, since the line to the eye tells back faces.
    """
    view = np.asarray(np.linalg.inv(camera.world_from_camera), np.float64)
    lens = camera.lens
    projection = np.zeros((4, 4))
    if isinstance(lens, PerspectiveLens):
        slope = math.tan(0.5 * lens.vertical_field_of_view)
        near = lens.near
        far = lens.far if lens.far is not None else max(1.1 * reach, 100.0 * near)
        projection[0, 0], projection[1, 1] = 1.0 / (slope * aspect_ratio), 1.0 / slope
        projection[2, 2] = -(far + near) / (far - near)
        projection[2, 3] = -2.0 * far * near / (far - near)
        projection[3, 2] = -1.0
        return ViewMatrices(view=view, projection=projection, pulled_back=0.0)
    half_height = max(lens.half_height, lens.half_width / aspect_ratio)
    projection[0, 0], projection[1, 1] = 1.0 / (half_height * aspect_ratio), 1.0 / half_height
    projection[3, 3] = 1.0
    if not for_tiny_renderer:
        projection[2, 2] = -2.0 / (lens.far - lens.near)
        projection[2, 3] = -(lens.far + lens.near) / (lens.far - lens.near)
        return ViewMatrices(view=view, projection=projection, pulled_back=0.0)
    pulled_back = 50.0 * max(half_height, half_height * aspect_ratio)
    view[2, 3] -= pulled_back
    # With depth row (-a, b) it clips distances below 0 or above b / (1 - a).
    projection[2, 2], projection[2, 3] = -0.5, 0.5 * (lens.far + pulled_back)
    return ViewMatrices(view=view, projection=projection, pulled_back=pulled_back)


def framing_camera(
    moving: FloatArray, resting: FloatArray, up: npt.ArrayLike, aspect_ratio: float
) -> Camera:
    """A camera that sees some boxes, from the front, the right and above.

    Args:
        moving: Boxes that matter most; the others are framed only near them. Lowest and highest
            corner of each [m], shape [n, 2, 3].
        resting: The other boxes; infinite ones do not count.
        up: Upward direction of the picture, world axes.
        aspect_ratio: Width over height of the picture.
    """
    whole, _ = _framed_boxes(moving, resting, np.asarray(up, dtype=np.float64))
    return _camera_on(whole, up, aspect_ratio)


def camera_on_box(
    low: FloatArray, high: FloatArray, up: npt.ArrayLike, aspect_ratio: float
) -> Camera:
    """A camera that sees one box whole, as :func:`framing_camera` does.

    Args:
        low: Lowest corner [m], shape [3].
        high: Highest corner [m], shape [3].
        up: Upward direction of the picture, world axes.
        aspect_ratio: Width over height of the picture.
    """
    return _camera_on(np.stack([low, high])[None], up, aspect_ratio)


def _camera_on(boxes: FloatArray, up: npt.ArrayLike, aspect_ratio: float) -> Camera:
    """A camera that sees boxes [n, 2, 3] whole, in the middle, from as near as possible.

    A point at (x, z) to the right of and in front of the middle is in the picture of a lens of
    slope s, at a distance d and a place c to the right, where ``|x - c| <= s (d - z)``. The
    extremes on either side give the least d, and so does the height; then the visible objects are
    moved to the middle.
    """
    axes = picture_axes(np.asarray(up, dtype=np.float64))
    back = axes @ (np.array(VIEW_FROM) / np.linalg.norm(VIEW_FROM))
    right = np.cross(axes[:, 2], back)
    right /= np.linalg.norm(right)
    upwards = np.cross(back, right)
    middle = 0.5 * (boxes[:, 0].min(axis=0) + boxes[:, 1].max(axis=0))
    signs = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    corners = boxes[:, 0, None] + signs * (boxes[:, 1] - boxes[:, 0])[:, None] - middle
    corners = corners.reshape(-1, 3)
    near, distance = corners @ back, float((corners @ back).max()) + 1e-3
    slope = math.tan(math.radians(0.5 * FIELD_OF_VIEW_DEG)) / MARGIN
    for axis, width in ((right, slope * aspect_ratio), (upwards, slope)):
        along = corners @ axis
        most, least = float((along + width * near).max()), float((along - width * near).min())
        distance = max(distance, 0.5 * (most - least) / width)
    for axis in (right, upwards):
        along, place = corners @ axis, 0.0
        for _ in range(_CENTRING):
            seen = (along - place) / (distance - near)
            place += 0.5 * distance * float(seen.max() + seen.min())
        middle = middle + place * axis
    eye = middle + distance * back
    return Camera.looking(eye.tolist(), middle.tolist(), up=axes[:, 2].tolist())


def _usable(boxes: FloatArray) -> FloatArray:
    boxes = np.asarray(boxes, dtype=np.float64).reshape(-1, 2, 3)
    # Comparisons with NaN are false.
    boxes = boxes[np.abs(boxes).max(axis=(1, 2), initial=0.0) < FARTHEST]
    sizes = np.ptp(boxes, axis=1).max(axis=1, initial=0.0)
    usable: FloatArray = boxes[(sizes > 0.0) & (sizes < ENDLESS)]
    return usable


def course_boxes(frames: Sequence[FloatArray], resting: FloatArray) -> FloatArray:
    """The boxes that one camera of a film has to see, without those that have flown away.

    What is at things that rest, as on a ramp or a floor, has not, however far it has come.

    Args:
        frames: Boxes of the moving objects, frame by frame [m], shape [n, 2, 3] each.
        resting: Boxes of the others, infinite ones among them.
    """
    boxes = np.concatenate(frames)
    first = _usable(frames[0])
    if not len(first):
        return boxes
    low, high = first[:, 0].min(axis=0), first[:, 1].max(axis=0)
    reach = ESCAPED * float((high - low).max())
    stays = (np.abs(boxes.mean(axis=1) - 0.5 * (low + high)) <= reach).all(axis=1)
    for box in np.asarray(resting, dtype=np.float64).reshape(-1, 2, 3):
        stays |= ((boxes[:, 0] - reach <= box[1]) & (boxes[:, 1] + reach >= box[0])).all(axis=1)
    stayed: FloatArray = boxes[stays]
    return stayed


def _without_runaways(boxes: FloatArray) -> FloatArray:
    if len(boxes) < 3:
        return boxes
    centers = boxes.mean(axis=1)
    away = np.abs(centers - np.median(centers, axis=0)).max(axis=1)
    usual = max(float(np.median(away)), float(np.median(np.ptp(boxes, axis=1).max(axis=1))))
    stayed: FloatArray = boxes[away <= RUNAWAY * usual]
    return stayed


def framed_box(moving: FloatArray, resting: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner of the box that :func:`framing_camera` sees [m], shape [3] each.

    Floors are included as far as objects are on them.
    """
    boxes = np.concatenate(_framed_boxes(moving, resting))
    low: FloatArray = boxes[:, 0].min(axis=0)
    high: FloatArray = boxes[:, 1].max(axis=0)
    return low, high


def _framed_boxes(
    moving: FloatArray, resting: FloatArray, up: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Boxes to be seen whole, and parts of larger ones that they are on; shapes [n, 2, 3].

    A floor of any size is such a larger one where ``up`` says which are floors.
    """
    moving, resting = _without_runaways(_usable(moving)), _usable(resting)
    if not len(moving):
        moving, resting = resting, resting[:0]
    if not len(moving):
        return np.array([[[-1.0] * 3, [1.0] * 3]]), moving
    low, high = moving[:, 0].min(axis=0), moving[:, 1].max(axis=0)
    size = float((high - low).max())
    whole: list[FloatArray] = list(moving)
    parts: list[FloatArray] = []
    for box in resting:
        # A door frame is seen whole, a floor as far as objects are on it.
        is_large = float(np.ptp(box, axis=0).max()) > 2.0 * size
        is_large |= up is not None and _is_floor(box, low, high, up)
        reach = AROUND * size if is_large else size
        near_low, near_high = np.maximum(box[0], low - reach), np.minimum(box[1], high + reach)
        if (near_low <= near_high).all():
            (parts if is_large else whole).append(np.stack([near_low, near_high]))
    return np.array(whole), np.array(parts).reshape(-1, 2, 3)


def _is_floor(box: FloatArray, low: FloatArray, high: FloatArray, up: FloatArray) -> bool:
    """True if a box is below all that is between two corners, and reaches beyond on all sides."""
    axis = int(np.argmax(np.abs(up)))
    gap = low[axis] - box[1, axis] if up[axis] > 0.0 else box[0, axis] - high[axis]
    covers = np.delete((box[0] <= low) & (box[1] >= high), axis)
    return bool(gap >= -SUNK * float((high - low).max()) and covers.all())


def picture_axes(up: FloatArray) -> FloatArray:
    """world_from_picture: columns right, away from the viewer, up."""
    third = up / np.linalg.norm(up)
    helper = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = np.cross(helper, third) if abs(third[0]) > 0.5 else np.eye(3)[0]
    first = first - third * float(first @ third)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(third, first), third], axis=1)
