"""Pictures of a world: colours, depths, and the body at each pixel.

PyBullet's software renderer works everywhere but has no transparency: what is behind is drawn in a
second picture and blended.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.rendering.stand_ins import StandIns
from gltf_bullet.rendering.camera import Camera, ViewMatrices, picture_axes, view_matrices
from gltf_bullet.rendering.shading import (
    Light,
    grid_colors,
    in_the_shade,
    normals_of,
    world_points,
)
from gltf_bullet.transforms import FloatArray

PixelArray: TypeAlias = npt.NDArray[np.uint8]
IdArray: TypeAlias = npt.NDArray[np.int64]

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
    bodies: IdArray
    """PyBullet's body ids, -1 in the background."""
    links: IdArray
    """Link indices, -1 for bases."""


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
    light = (picture_axes(up) @ np.array(LIGHT_FROM)).tolist()
    draw = partial(_draw, client_id, light=light, renderer=renderer)
    if stand_ins is not None:
        stand_ins.place()
        draw = partial(_draw_both, client_id, stand_ins, light=light, renderer=renderer)
    picture = draw(matrices, width, height)
    points = None
    if shadows_of is not None or planes:
        points = world_points(camera, matrices, picture.depth)
        _draw_grids(picture, points, planes or {})
    behind, alphas = None, np.ones((height, width, 1))
    lamp, light_depth = None, None
    if shadows_of is not None:
        lamp = Light(towards=np.array(light) / np.linalg.norm(light), low=shadows_of[0],
                     high=shadows_of[1])  # fmt: skip
    if is_tiny:
        for body_id, link, alpha in transparent:
            alphas[(picture.bodies == body_id) & (picture.links == link)] = alpha
    with _hidden(client_id, transparent if is_tiny else ()):
        if alphas.min() < 1.0:
            behind = draw(matrices, width, height)
        if lamp is not None:
            seen = view_matrices(lamp.camera(), 1.0, 0.0, for_tiny_renderer=is_tiny)
            pixels = LIGHT_PIXELS if max(width, height) > _SMALL else LIGHT_PIXELS // 2
            light_depth = draw(seen, pixels, pixels).depth
    layers = [] if points is None else [(picture, points)]
    if behind is not None and points is not None:
        layers.append((behind, world_points(camera, matrices, behind.depth)))
        _draw_grids(*layers[1], planes or {})
    if lamp is not None and light_depth is not None:
        for layer, places in layers:
            _shade(layer, camera, places, lamp, light_depth)
    if behind is not None:
        mixed = alphas * picture.rgb + (1.0 - alphas) * behind.rgb
        picture.rgb[:] = np.round(mixed).astype(np.uint8)
    if veils is not None:
        veils.place()
        veil = _draw(veils.client_id, matrices, width, height, light=light, renderer="tiny")
        is_nearer = veil.depth < picture.depth
        mixed = (1.0 - veil_alpha) * picture.rgb + veil_alpha * veil.rgb
        picture.rgb[is_nearer] = np.round(mixed[is_nearer]).astype(np.uint8)
    return picture


def _draw_grids(
    picture: RawPicture, points: FloatArray, planes: Mapping[tuple[int, int], FloatArray]
) -> None:
    for (body_id, link), matrix in planes.items():
        mask = (picture.bodies == body_id) & (picture.links == link)
        if mask.any():
            picture.rgb[mask] = grid_colors(points, matrix, mask)


def _shade(
    picture: RawPicture,
    camera: Camera,
    points: FloatArray,
    lamp: Light,
    light_depth: npt.NDArray[np.floating],
) -> None:
    """Reduce shaded pixels to the ambient light."""
    seen = np.isfinite(picture.depth)
    if not seen.any():
        return
    normals = normals_of(points, camera.world_from_camera[:3, 3] - points)
    facing = np.clip(normals @ lamp.towards, 0.0, 1.0)
    dark = 1.0 - AMBIENT / (AMBIENT + DIFFUSE * facing)
    dark *= np.where(seen, in_the_shade(points, facing, lamp, light_depth), 0.0)
    picture.rgb[:] = np.round(picture.rgb * (1.0 - dark)[..., None]).astype(np.uint8)


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


def _draw(
    client_id: int,
    matrices: ViewMatrices,
    width: int,
    height: int,
    *,
    light: list[float],
    renderer: Renderer,
) -> RawPicture:
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
    ids = np.array(seen, dtype=np.int64).reshape(height, width)
    nothing = ids < 0
    rgb = np.array(pixels, dtype=np.uint8).reshape(height, width, 4)[:, :, :3].copy()
    rgb[nothing] = SKY
    with np.errstate(divide="ignore", invalid="ignore"):
        meters = matrices.distances(np.array(depth, dtype=np.float64).reshape(height, width))
    meters[nothing] = np.inf
    return RawPicture(
        rgb=rgb,
        depth=meters.astype(np.float32),
        bodies=np.where(nothing, -1, ids & 0xFFFFFF),
        links=np.where(nothing, -1, (ids >> 24) - 1),
    )


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
    picture = _draw(client_id, matrices, width, height, light=light, renderer=renderer)
    other = _draw(stand_ins.client_id, matrices, width, height, light=light, renderer="tiny")
    is_nearer = other.depth < picture.depth
    links = stand_ins.links_of(other.bodies[is_nearer])
    picture.rgb[is_nearer], picture.depth[is_nearer] = other.rgb[is_nearer], other.depth[is_nearer]
    picture.bodies[is_nearer], picture.links[is_nearer] = links[:, 0], links[:, 1]
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
