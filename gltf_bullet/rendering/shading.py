"""Additions to PyBullet's software renderer: shadows, and floors with a grid that shows size.

PyBullet's own shadows (``shadow=1``) darken whole floors and stripe curved surfaces (seen at every
``lightDistance``). These follow a shadow map, a second picture from the light: a point is in the
shade if it is farther from the light than the surface that the light sees there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.rendering.camera import Camera, ViewMatrices
from gltf_bullet.scene import OrthographicLens
from gltf_bullet.transforms import BoolArray, FloatArray

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

    def camera(self) -> Camera:
        """A camera at the lamp that sees the whole box."""
        middle, reach = 0.5 * (self.low + self.high), self._reach()
        up = np.eye(3)[int(np.argmin(np.abs(self.towards)))]
        eye = middle + 4.0 * reach * self.towards
        aimed = Camera.looking(eye.tolist(), middle.tolist(), up=up.tolist())
        lens = OrthographicLens(half_width=reach, half_height=reach, near=0.0, far=16.0 * reach)
        return Camera(world_from_camera=aimed.world_from_camera, lens=lens)

    def _reach(self) -> float:
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
    height, width = depth.shape
    depth = np.where(np.isfinite(depth), depth, 0.0)
    across = (2.0 * np.arange(width) + 1.0) / width - 1.0
    upwards = 1.0 - (2.0 * np.arange(height) + 1.0) / height
    x, y = np.meshgrid(across / matrices.projection[0, 0], upwards / matrices.projection[1, 1])
    if matrices.projection[3, 2] != 0.0:
        x, y = x * depth, y * depth
    points = np.stack([x, y, -depth], axis=-1)
    matrix = camera.world_from_camera
    world: FloatArray = points @ matrix[:3, :3].T + matrix[:3, 3]
    return world


def normals_of(points: FloatArray, towards_eye: FloatArray) -> FloatArray:
    """Unit normals of the surface through the points of a picture, on the side of the eye.

    Args:
        points: Shape [height, width, 3].
        towards_eye: From each point, or one for all, shape [..., 3].
    """
    normals = np.cross(_slopes(points, 1), _slopes(points, 0))
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
    away = (normals * towards_eye).sum(axis=-1, keepdims=True) < 0.0
    turned: FloatArray = np.where(away, -normals, normals)
    return turned


def _slopes(points: FloatArray, axis: int) -> FloatArray:
    """Differences along rows or columns; a single one has none, and gets no shadow."""
    if points.shape[axis] < 2:
        return np.zeros_like(points)
    return np.asarray(np.gradient(points, axis=axis))


def in_the_shade(
    points: FloatArray,
    facing: FloatArray,
    light: Light,
    light_depth: npt.NDArray[np.floating],
) -> FloatArray:
    """Share of the light that does not reach each point, 0..1, shape [...].

    Args:
        points: World positions [m], shape [..., 3].
        facing: Cosine between the surface's normal and the light, 0..1, shape [...].
        light: The light.
        light_depth: Distances from its camera [m], square, infinite for the background.
    """
    camera = light.camera()
    matrix, lens = camera.world_from_camera, camera.lens
    reach = lens.half_width if isinstance(lens, OrthographicLens) else 1.0
    texels = len(light_depth)
    seen = (points - matrix[:3, 3]) @ matrix[:3, :3]
    slope = np.sqrt(1.0 - facing**2) / np.maximum(facing, 1.0 / STEEPEST)
    bias = (1.0 + SLOPE_BIAS * slope) * 2.0 * reach / texels
    column = (seen[..., 0] / reach + 1.0) * 0.5 * texels
    row = (1.0 - seen[..., 1] / reach) * 0.5 * texels
    inside = (column >= 1) & (column < texels - 1) & (row >= 1) & (row < texels - 1)
    columns = np.where(inside, column, 1.0).astype(np.intp)
    rows = np.where(inside, row, 1.0).astype(np.intp)
    distance = -seen[..., 2] - bias
    # The mean of nine texels softens the edges of shadows.
    shade = np.zeros(points.shape[:-1])
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            shade += light_depth[rows + down, columns + right] < distance
    found: FloatArray = np.where(inside, shade / 9.0, 0.0)
    return found


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
