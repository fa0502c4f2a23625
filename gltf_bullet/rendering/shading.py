"""Additions to PyBullet's software renderer: shadows, and floors with a grid that shows size.

PyBullet's own shadows (``shadow=1``) darken whole floors and stripe curved surfaces (seen at every
``lightDistance``). These follow a shadow map, a second picture from the light: a point is in the
shade if it is farther from the light than the surface that the light sees there.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.rendering.camera import EVERYTHING, Camera, ViewMatrices, Window, window_around
from gltf_bullet.scene import OrthographicLens
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

Single: TypeAlias = npt.NDArray[np.float32]

FLOOR = np.array([214.0, 219.0, 226.0])
"""Red, green, blue of endless planes."""
LINES: tuple[tuple[float, float], ...] = ((0.1, 0.06), (1.0, 0.16), (10.0, 0.28))
"""[m] Distance between the lines of a plane's grid, and by which share they are darker."""
WIDEST_PIXEL = 0.1
"""Largest pixel, as share of the distance between two lines, with which these are drawn."""
LINE_PIXELS = 1.2
"""Width of a line [pixels]."""
SLOPE_BIAS = 2.3
"""[texels of the shadow map] Depth bias per slope against the light: the nine texels that are
compared reach 1.5 texels along both sides, and a smaller bias makes surfaces shade themselves."""
STEEPEST = 10.0
"""Largest slope with a bias; steeper surfaces receive hardly any light."""


class Light(Struct, frozen=True, kw_only=True, eq=False):
    """A distant lamp, and the part of the world that casts shadows."""

    towards: FloatArray
    """Unit vector towards the lamp, world axes, shape [3]."""
    low: FloatArray
    """Lowest corner of the objects that cast shadows [m], shape [3]."""
    high: FloatArray
    """Highest corner [m], shape [3]."""
    ambient: float
    """Strength of what reaches points in the shade, too."""
    diffuse: float
    """Strength of what a surface reflects that faces the lamp."""

    def camera(self) -> Camera:
        """A camera at the lamp that sees the whole box."""
        middle, reach = 0.5 * (self.low + self.high), self.reach()
        up = np.eye(3)[int(np.argmin(np.abs(self.towards)))]
        eye = middle + 4.0 * reach * self.towards
        aimed = Camera.looking(eye.tolist(), middle.tolist(), up=up.tolist())
        lens = OrthographicLens(half_width=reach, half_height=reach, near=0.0, far=16.0 * reach)
        return Camera(world_from_camera=aimed.world_from_camera, lens=lens)

    def reach(self) -> float:
        """Half the width of what the camera sees [m]."""
        return max(0.5 * float(np.linalg.norm(self.high - self.low)), 1e-3)


def world_points(
    camera: Camera, matrices: ViewMatrices, depth: npt.NDArray[np.floating]
) -> FloatArray:
    """World position of each pixel's surface [m], shape [height, width, 3].

    Args:
        camera: Camera of the picture.
        matrices: Matrices of the picture.
        depth: Distance along the direction of view [m], shape [height, width]; infinite for the
            background, where points are undefined.
    """
    starts, ways = _rays(camera, matrices, *depth.shape)
    reached = np.where(np.isfinite(depth), depth, 0.0)
    from_camera = np.moveaxis(starts + ways * reached, 0, -1)
    world: FloatArray = from_camera + camera.world_from_camera[:3, 3]
    return world


def _rays(
    camera: Camera, matrices: ViewMatrices, height: int, width: int
) -> tuple[FloatArray, FloatArray]:
    """Starts of the pixels' rays, from the camera [m], and their ways per metre of depth.

    World axes, shape [3, height, width], or [3, 1, 1] of those that are equal.
    """
    across = (2.0 * np.arange(width) + 1.0) / width - 1.0
    upwards = 1.0 - (2.0 * np.arange(height) + 1.0) / height
    x, y = np.meshgrid(across / matrices.projection[0, 0], upwards / matrices.projection[1, 1])
    right, up, back = camera.world_from_camera[:3, :3].T[..., None, None]
    beside = right * x + up * y
    if matrices.projection[3, 2] != 0.0:
        return np.zeros((3, 1, 1)), beside - back
    return beside, -back


class Shader:
    """Shadows of one light in the pictures of one camera.

    Its lengths are in single precision, which depths have, too: from the camera, and in parts of
    the light's reach, for any place and any size of the scene.
    """

    def __init__(
        self, camera: Camera, matrices: ViewMatrices, height: int, width: int, light: Light
    ) -> None:
        self._light = light
        lamp, reach = light.camera(), light.reach()
        starts, ways = _rays(camera, matrices, height, width)
        self._starts, self._ways = (
            np.broadcast_to((part / reach).astype(np.float32), (3, height, width))
            for part in (starts, ways)
        )
        turn = lamp.world_from_camera[:3, :3].T
        away = camera.world_from_camera[:3, 3] - lamp.world_from_camera[:3, 3]
        self._lamp_from_world = turn.astype(np.float32)
        self._lamp_from_camera = (turn @ away / reach).astype(np.float32)[:, None]
        self._towards = light.towards.astype(np.float32)

    def texels(self, depth: Single, side: int) -> IntArray:
        """Place of each pixel in a shadow map, counted row by row, shape [height * width].

        It is 0 for what the map does not show with all its neighbours.

        Args:
            depth: Depth of the picture [m], shape [height, width].
            side: Side of the map [texels].
        """
        return self._texels(self._points(depth, EVERYTHING).reshape(3, -1), side)[0]

    def strengths(self, depth: Single, pixels: IntArray, light_depth: Single) -> Single:
        """Share of its unshaded colour that each pixel keeps, 0..1, shape [count].

        Args:
            depth: Depth of the picture [m], shape [height, width]; finite at the pixels.
            pixels: The pixels, counted row by row, shape [count], one at least.
            light_depth: The shadow map, square: distances from the light's camera [m], infinite for
                the background.
        """
        around = window_around(pixels, *depth.shape)
        points = self._points(depth, around)
        rows, columns = np.divmod(pixels, depth.shape[1])
        pixels = (rows - around[0].start) * points.shape[2] + columns - around[1].start
        # Ten times faster than an index (measured).
        places = points.reshape(3, -1).take(pixels, axis=1)
        facing = self._facing(points, pixels, places)
        light, side = self._light, len(light_depth)
        texels, distances = self._texels(places, side)
        kept = np.ones(len(pixels), np.float32)
        reached = np.flatnonzero((facing > 0.0) & (texels > 0))
        facing, texels, distances = facing[reached], texels[reached], distances[reached]
        slope = np.sqrt(1.0 - facing**2) / np.maximum(facing, 1.0 / STEEPEST)
        limits = light.reach() * (distances - (1.0 + SLOPE_BIAS * slope) * (2.0 / side))
        # The mean of nine texels softens the edges of shadows.
        shade, depths = np.zeros(len(reached), np.float32), light_depth.reshape(-1)
        for neighbour in (side * down + right for down in (-1, 0, 1) for right in (-1, 0, 1)):
            shade += depths[texels + neighbour] < limits
        dark = 1.0 - light.ambient / (light.ambient + light.diffuse * facing)
        kept[reached] -= dark * shade / 9.0
        return kept

    def _points(self, depth: Single, window: Window) -> Single:
        """Points of the surfaces in a part of a picture, shape [3, rows, columns].

        The background is where the rays start.
        """
        here, (rows, columns) = depth[window], window
        reached = np.where(np.isfinite(here), here, 0.0)
        return np.asarray(self._starts[:, rows, columns] + self._ways[:, rows, columns] * reached)

    def _facing(self, points: Single, pixels: IntArray, places: Single) -> Single:
        """Cosine between the light and the side of the surface that the camera sees, 0..1.

        The surface goes through the neighbours; a single row or column has none, and no shadow.
        """
        height, width = points.shape[1:]
        flat = points.reshape(3, -1)
        row, column = np.divmod(pixels, width)
        right, left = pixels + (column < width - 1), pixels - (column > 0)
        below, above = pixels + width * (row < height - 1), pixels - width * (row > 0)
        x, y, z = flat.take(right, axis=1) - flat.take(left, axis=1)
        u, v, w = flat.take(below, axis=1) - flat.take(above, axis=1)
        normals = np.stack([y * w - z * v, z * u - x * w, x * v - y * u])
        lengths = np.linalg.norm(normals, axis=0)
        cosines = self._towards @ normals / np.where(lengths > 0.0, lengths, 1.0)
        is_back = np.einsum("kn,kn->n", normals, places) > 0.0
        cosines[is_back] *= -1.0
        return np.asarray(np.clip(cosines, 0.0, 1.0))

    def _texels(self, places: Single, side: int) -> tuple[IntArray, Single]:
        """Places in a shadow map, and distances from the light's camera."""
        seen = self._lamp_from_world @ places + self._lamp_from_camera
        column, row = (
            np.clip((1.0 + sign * along) * (0.5 * side), 0.0, side - 1.0).astype(np.intp)
            for sign, along in ((1.0, seen[0]), (-1.0, seen[1]))
        )
        inside = (column >= 1) & (column < side - 1) & (row >= 1) & (row < side - 1)
        return np.where(inside, side * row + column, 0), -seen[2]


def grid_colors(
    points: FloatArray, world_from_plane: FloatArray, mask: BoolArray
) -> npt.NDArray[np.uint8]:
    """Colours of an endless plane with lines every metre, shape [count of mask, 3].

    Args:
        points: World position of each pixel [m], shape [height, width, 3].
        world_from_plane: Frame of the plane, whose normal is y, shape [4, 4].
        mask: Pixels that show it, shape [height, width].
    """
    local = (points - world_from_plane[:3, 3]) @ world_from_plane[:3, :3]
    flat = np.nan_to_num(local[..., [0, 2]])
    steps = [np.abs(np.gradient(flat, axis=axis)).max(axis=-1) for axis in (0, 1)]
    pixel = np.maximum(*steps)[mask]
    places = flat[mask]
    shade = np.zeros(len(places))
    for spacing, darker in LINES:
        away = np.abs(places / spacing - np.round(places / spacing)).min(axis=1) * spacing
        width = 0.5 * LINE_PIXELS * np.maximum(pixel, 1e-9)
        cover = np.clip(1.5 - away / width, 0.0, 1.0)
        fade = np.clip(2.0 - pixel / (WIDEST_PIXEL * spacing), 0.0, 1.0)
        shade = np.maximum(shade, darker * cover * fade)
    colors: npt.NDArray[np.uint8] = np.round(FLOOR * (1.0 - shade)[:, None]).astype(np.uint8)
    return colors
