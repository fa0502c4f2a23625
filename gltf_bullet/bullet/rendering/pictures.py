"""Pictures of a world: colours, depths, and the body at each pixel.

PyBullet's software renderer works everywhere but has no transparency: what is behind is drawn in a
second picture and blended.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.rendering.stand_ins import StandIns
from gltf_bullet.rendering.camera import (
    EVERYTHING,
    Camera,
    ViewMatrices,
    Window,
    picture_axes,
    view_matrices,
    window_around,
)
from gltf_bullet.rendering.shading import Light, Shader, Single, grid_colors, world_points
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

PixelArray: TypeAlias = npt.NDArray[np.uint8]
IdArray: TypeAlias = npt.NDArray[np.int64]

Ids = TypeVar("Ids", int, IdArray)

Renderer: TypeAlias = Literal["tiny", "hardware"]
"""PyBullet's software renderer, or OpenGL of its window or EGL plugin."""

LIGHT_FROM = (-0.4, -0.6, 1.0)
"""Direction towards the light: right, away from the viewer, up."""
AMBIENT, DIFFUSE, SPECULAR = 0.55, 0.5, 0.1
LIGHT_PIXELS = 512
"""Side of the light's picture: a shadow's edge is sharp to a 500th of the frame."""
_SMALL = 400
"""Size [pixels] up to which pictures get half of that: their own pixels are hardly finer, and it is
a quarter of the longest part (76 of 169 ms of a picture of 400 x 300, measured).
"""
SKY = (226, 232, 240)
"""Red, green and blue of the background."""


class RawPicture(Struct, frozen=True, kw_only=True, eq=False):
    """A picture as arrays [height, width, ...], first row on top."""

    rgb: PixelArray
    """Shape [height, width, 3]."""
    depth: npt.NDArray[np.float32]
    """Depth [m] along the direction of view, infinite in the background."""
    ids: npt.NDArray[np.int32]
    """Bodies and links as PyBullet packs them, -1 in the background."""

    @property
    def bodies(self) -> IdArray:
        """PyBullet's body ids, -1 in the background."""
        return np.where(self.ids < 0, -1, self.ids & 0xFFFFFF).astype(np.int64)

    @property
    def links(self) -> IdArray:
        """Link indices, -1 for bases and in the background."""
        return np.where(self.ids < 0, -1, (self.ids >> 24) - 1).astype(np.int64)

    def shows(self, body_id: int, link: int) -> BoolArray:
        """True for the pixels of a link."""
        return np.asarray(self.ids == packed_id(body_id, link))

    def cover(self, part: RawPicture, window: Window = EVERYTHING) -> BoolArray:
        """Draw a picture over a part of this one, where it is nearer.

        Returns:
            True for the pixels where it is, shape [height, width].
        """
        covered = np.zeros(self.depth.shape, dtype=bool)
        here = covered[window]
        here[:] = part.depth < self.depth[window]
        self.rgb[window][here] = part.rgb[here]
        self.depth[window][here] = part.depth[here]
        self.ids[window][here] = part.ids[here]
        return covered

    def paste(self, part: RawPicture, window: Window) -> None:
        """Put a picture in the place of a part of this one."""
        self.rgb[window], self.depth[window], self.ids[window] = part.rgb, part.depth, part.ids

    def copy(self) -> RawPicture:
        """Return a picture with arrays of its own."""
        return RawPicture(rgb=self.rgb.copy(), depth=self.depth.copy(), ids=self.ids.copy())


def take_picture(
    client_id: int,
    camera: Camera,
    width: int,
    height: int,
    *,
    up: FloatArray,
    reach: float,
    transparent: Sequence[tuple[int, int, float]] = (),
    renderer: Renderer = "tiny",
    shadows_of: tuple[FloatArray, FloatArray] | None = None,
    planes: Mapping[tuple[int, int], FloatArray] | None = None,
    stand_ins: StandIns | None = None,
    veils: StandIns | None = None,
    veil_alpha: float = 1.0,
) -> RawPicture:
    """Draw the world in its present state.

    Args:
        client_id: The world; everything in it is drawn.
        camera: The camera.
        width: [pixels]
        height: [pixels]
        up: Up axis, from which the light comes, world axes.
        reach: Distance of the farthest thing from the camera [m].
        transparent: Body id, link and alpha of transparent links.
        renderer: The renderer.
        shadows_of: Lowest and highest corner [m] of the box whose contents throw shadows; ``None``:
            no shadows.
        planes: world_from_plane, normal y, of infinite planes by body id and link; they get lines
            every metre.
        stand_ins: Shapes drawn in addition, by the software renderer.
        veils: Shapes whose colours are blended over the picture and change nothing else of it.
        veil_alpha: Opacity of the veils.
    """
    is_tiny = renderer == "tiny"
    matrices = view_matrices(camera, width / height, reach, for_tiny_renderer=is_tiny)
    light = light_direction(up)
    draw = partial(draw_world, client_id, light=light, renderer=renderer)
    if stand_ins is not None:
        stand_ins.place()
        draw = partial(_draw_both, client_id, stand_ins, light=light, renderer=renderer)
    picture = draw(matrices, width, height)
    draw_grids(picture, camera, matrices, planes or {})
    alphas = np.ones((height, width))
    if is_tiny:
        for body_id, link, alpha in transparent:
            alphas[picture.shows(body_id, link)] = alpha
    glass = np.flatnonzero(alphas < 1.0)
    behind, shader, light_depth = None, None, None
    with _hidden(client_id, transparent if is_tiny else ()):
        if len(glass):
            rows, columns = window = window_around(glass, height, width)
            tall, wide = rows.stop - rows.start, columns.stop - columns.start
            behind = picture.copy()
            behind.paste(draw(matrices.of_window(window, height, width), wide, tall), window)
            draw_grids(behind, camera, matrices, planes or {})
        if shadows_of is not None:
            lamp = scene_light(up, shadows_of)
            shader = Shader(camera, matrices, height, width, lamp)
            seen = view_matrices(lamp.camera(), 1.0, 0.0, for_tiny_renderer=is_tiny)
            side = light_pixels(width, height)
            light_depth = draw(seen, side, side).depth
    if shader is not None and light_depth is not None:
        shade(picture, np.arange(height * width), shader, light_depth)
        if behind is not None:
            shade(behind, glass, shader, light_depth)
    if behind is not None:
        blend(picture.rgb, glass, behind.rgb.reshape(-1, 3)[glass], 1.0 - alphas.flat[glass])
    if veils is not None:
        veils.place()
        window, part = draw_part(veils, matrices, height, width, light)
        front = picture.copy()
        pixels = np.flatnonzero(front.cover(part, window))
        blend(picture.rgb, pixels, front.rgb.reshape(-1, 3)[pixels], veil_alpha)
    return picture


def nothing(height: int, width: int) -> RawPicture:
    """Return a picture of the background alone."""
    rgb = np.empty((height, width, 3), np.uint8)
    rgb[:] = SKY
    return RawPicture(
        rgb=rgb,
        depth=np.full((height, width), np.inf, np.float32),
        ids=np.full((height, width), -1, np.int32),
    )


def packed_id(body_id: Ids, link: Ids) -> Ids:
    """Number by which PyBullet's pictures name a link."""
    return body_id | (link + 1) << 24


def light_direction(up: FloatArray) -> list[float]:
    """Return the direction towards the light, world axes."""
    direction: list[float] = (picture_axes(up) @ np.array(LIGHT_FROM)).tolist()
    return direction


def light_pixels(width: int, height: int) -> int:
    """Return the side of the light's picture for a picture of that size [pixels]."""
    return LIGHT_PIXELS if max(width, height) > _SMALL else LIGHT_PIXELS // 2


def scene_light(up: FloatArray, shadows_of: tuple[FloatArray, FloatArray]) -> Light:
    """Return the light of a picture in which what is in a box, of two corners [m], has a shadow."""
    towards = np.array(light_direction(up))
    return Light(
        towards=towards / np.linalg.norm(towards),
        low=shadows_of[0],
        high=shadows_of[1],
        ambient=AMBIENT,
        diffuse=DIFFUSE,
    )


def draw_grids(
    picture: RawPicture,
    camera: Camera,
    matrices: ViewMatrices,
    planes: Mapping[tuple[int, int], FloatArray],
) -> None:
    """Draw infinite planes with lines; see :func:`take_picture`."""
    points = world_points(camera, matrices, picture.depth) if planes else np.zeros(0)
    for link, matrix in planes.items():
        mask = picture.shows(*link)
        if mask.any():
            picture.rgb[mask] = grid_colors(points, matrix, mask)


def shade(picture: RawPicture, pixels: IntArray, shader: Shader, light_depth: Single) -> None:
    """Darken what no light reaches, among some pixels, counted row by row."""
    pixels = pixels[np.isfinite(picture.depth.reshape(-1)[pixels])]
    if not len(pixels):
        return
    strengths = shader.strengths(picture.depth, pixels, light_depth)
    for channel in picture.rgb.reshape(-1, 3).T:
        channel[pixels] = np.rint(channel[pixels] * strengths)


def blend(rgb: PixelArray, pixels: IntArray, over: PixelArray, alphas: float | FloatArray) -> None:
    """Blend colours, shape [count, 3], over some pixels, counted row by row.

    Args:
        rgb: Shape [height, width, 3].
        pixels: Shape [count].
        over: Shape [count, 3].
        alphas: Opacity of the colours, one for all or shape [count].
    """
    for channel, color in zip(rgb.reshape(-1, 3).T, over.T, strict=True):
        channel[pixels] = np.rint((1.0 - alphas) * channel[pixels] + alphas * color)


@contextmanager
def _hidden(client_id: int, links: Sequence[tuple[int, int, float]]) -> Iterator[None]:
    """Hide these links: TinyRenderer leaves out what is fully transparent."""
    colors = [_color(client_id, body_id, link) for body_id, link, _ in links]
    try:
        for (body_id, link, _), color in zip(links, colors, strict=True):
            _set_color(client_id, body_id, link, (*color[:3], 0.0))
        yield
    finally:
        for (body_id, link, _), color in zip(links, colors, strict=True):
            _set_color(client_id, body_id, link, color)


def draw_world(
    client_id: int,
    matrices: ViewMatrices,
    width: int,
    height: int,
    *,
    light: list[float],
    renderer: Renderer = "tiny",
) -> RawPicture:
    """Draw a world without shadows, transparency and grids."""
    _, _, pixels, depth, seen = pybullet.getCameraImage(
        width,
        height,
        matrices.view.T.reshape(-1).tolist(),
        matrices.projection.T.reshape(-1).tolist(),
        lightDirection=light,
        lightColor=[1.0, 1.0, 1.0],
        lightAmbientCoeff=AMBIENT,
        lightDiffuseCoeff=DIFFUSE,
        lightSpecularCoeff=SPECULAR,
        shadow=0,
        renderer=pybullet.ER_TINY_RENDERER
        if renderer == "tiny"
        else pybullet.ER_BULLET_HARDWARE_OPENGL,
        flags=pybullet.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=client_id,
    )
    ids = np.array(seen, dtype=np.int32).reshape(height, width)
    is_sky = ids < 0
    with np.errstate(divide="ignore", invalid="ignore"):
        meters = matrices.distances(np.array(depth, dtype=np.float64).reshape(height, width))
    rgb = np.empty((height, width, 3), np.uint8)
    # Channel by channel, which is five times faster.
    for k in range(3):
        rgb[:, :, k] = np.where(is_sky, SKY[k], np.reshape(pixels, (height, width, 4))[:, :, k])
    return RawPicture(rgb=rgb, depth=np.where(is_sky, np.inf, meters).astype(np.float32), ids=ids)


def draw_part(
    things: StandIns, matrices: ViewMatrices, height: int, width: int, light: list[float]
) -> tuple[Window, RawPicture]:
    """Draw the part of a picture in which some things are, by the software renderer."""
    rows, columns = window = matrices.window_of(things.corners(), height, width)
    tall, wide = rows.stop - rows.start, columns.stop - columns.start
    if not tall:
        return window, nothing(0, 0)
    part = matrices.of_window(window, height, width)
    return window, draw_world(things.client_id, part, wide, tall, light=light)


def _draw_both(
    client_id: int,
    stand_ins: StandIns,
    matrices: ViewMatrices,
    width: int,
    height: int,
    *,
    light: list[float],
    renderer: Renderer,
) -> RawPicture:
    """Draw the world, and stand-ins where they are nearer, with the ids of their links."""
    picture = draw_world(client_id, matrices, width, height, light=light, renderer=renderer)
    window, part = draw_part(stand_ins, matrices, height, width, light)
    is_nearer = picture.cover(part, window)
    links = stand_ins.links_of(part.bodies[is_nearer[window]])
    picture.ids[is_nearer] = packed_id(links[:, 0], links[:, 1])
    return picture


def _color(client_id: int, body_id: int, link: int) -> tuple[float, ...]:
    """Return the present colour of a link, which the user may have changed."""
    for entry in pybullet.getVisualShapeData(body_id, physicsClientId=client_id):
        if entry[1] == link:
            return tuple(entry[7])
    return (1.0, 1.0, 1.0, 1.0)


def _set_color(client_id: int, body_id: int, link: int, color: Sequence[float]) -> None:
    pybullet.changeVisualShape(body_id, link, rgbaColor=color, physicsClientId=client_id)


def body_boxes(client_id: int, body_id: int) -> list[FloatArray]:
    """Return the lowest and highest corner of each collision shape of a body [m], shape [2, 3]."""
    count = pybullet.getNumJoints(body_id, physicsClientId=client_id)
    return [
        np.array(pybullet.getAABB(body_id, link, physicsClientId=client_id))
        for link in range(-1, count)
    ]


def png_of(pixels: PixelArray) -> bytes:
    """Return pixels, shape [height, width, 3], as a PNG file."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()
