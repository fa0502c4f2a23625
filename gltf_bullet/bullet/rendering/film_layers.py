"""Pictures of a film in layers: what rests, what moves, and what is glass.

What rests is drawn once, by the light, and by a camera that rests, too. What moves is drawn in the
part of the picture that it is in, and shadows are computed where one falls or goes. In a film of
ten bodies on a floor, the floor takes five sixths of a picture's time (measured).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gltf_bullet.bullet.rendering.pictures import (
    PixelArray,
    RawPicture,
    blend,
    draw_grids,
    draw_part,
    light_direction,
    light_pixels,
    nothing,
    scene_light,
    shade,
)
from gltf_bullet.bullet.rendering.stand_ins import StandIns
from gltf_bullet.rendering.camera import Camera, ViewMatrices, Window, view_matrices
from gltf_bullet.rendering.shading import Shader, Single
from gltf_bullet.transforms import BoolArray, FloatArray


class FilmLayers:
    """Draws the frames of one film."""

    def __init__(
        self,
        size: tuple[int, int],
        *,
        up: FloatArray,
        shadows_of: tuple[FloatArray, FloatArray],
        resting: StandIns,
        planes: Sequence[FloatArray | None],
        moving: StandIns,
        glass: StandIns,
        veils: StandIns,
    ) -> None:
        """Draw the shadows of what rests.

        Args:
            size: Width and height [pixels].
            up: Up axis, from which the light comes, world axes.
            shadows_of: Lowest and highest corner [m] of the box whose contents throw shadows.
            resting: Opaque shapes that have one pose in all frames.
            planes: world_from_plane, normal y, of those that are infinite planes, else ``None``.
            moving: Other opaque shapes.
            glass: Transparent shapes, which throw no shadows.
            veils: Transparent shapes on which no shadows fall, over all others.

        Raises:
            EngineError: PyBullet has no room for another client.
        """
        self._size = size
        self._resting, self._moving, self._glass, self._veils = resting, moving, glass, veils
        resting.place()
        self._planes = {
            (body, -1): plane
            for body, plane in zip(resting.bodies, planes, strict=True)
            if plane is not None
        }
        self._light, self._lamp = light_direction(up), scene_light(up, shadows_of)
        self._lamp_view = view_matrices(self._lamp.camera(), 1.0, 0.0, for_tiny_renderer=True)
        self._side = light_pixels(*size)
        self._lamp_depth = self._background(self._lamp_view, self._side, self._side).depth
        self._frame: PixelArray | None = None

    def look_from(self, camera: Camera, reach: float) -> None:
        """Draw what rests as a camera sees it.

        Args:
            camera: The camera.
            reach: Distance of the farthest thing from it [m].
        """
        width, height = self._size
        self._view = view_matrices(camera, width / height, reach, for_tiny_renderer=True)
        self._shader = Shader(camera, self._view, height, width, self._lamp)
        self._plain = self._background(self._view, height, width)
        draw_grids(self._plain, camera, self._view, self._planes)
        self._shaded = self._plain.copy()
        shade(self._shaded, np.arange(height * width), self._shader, self._lamp_depth)
        self._texels = self._shader.texels(self._plain.depth, self._side)
        self._over: dict[StandIns, tuple[Window, RawPicture]] = {}
        self._frame = None

    def frame(self) -> PixelArray:
        """Draw everything at its present pose; return colours, shape [height, width, 3]."""
        moved = [things for things in (self._moving, self._glass, self._veils) if things.place()]
        if self._frame is not None and not moved:
            return self._frame
        height, width = self._plain.depth.shape
        picture, lamp_depth, side = self._shaded.copy(), self._lamp_depth.copy(), self._side
        window, part = draw_part(self._moving, self._lamp_view, side, side, self._light)
        darkened = np.zeros(lamp_depth.shape, dtype=bool)
        darkened[window] = part.depth < lamp_depth[window]
        lamp_depth[window] = np.minimum(lamp_depth[window], part.depth)
        window, part = draw_part(self._moving, self._view, height, width, self._light)
        covered = picture.cover(part, window)
        # A surface's slope is that to its neighbours.
        changed = _widened(covered)
        changed.reshape(-1)[:] |= _widened(darkened).reshape(-1)[self._texels]
        pixels = np.flatnonzero(changed & ~covered)
        picture.rgb.reshape(-1, 3)[pixels] = self._plain.rgb.reshape(-1, 3)[pixels]
        shade(picture, np.flatnonzero(changed), self._shader, lamp_depth)
        for things in (self._glass, self._veils):
            if things.bodies and (things in moved or things not in self._over):
                self._over[things] = draw_part(things, self._view, height, width, self._light)
        if self._over:
            self._draw_over(picture, lamp_depth)
        self._frame = picture.rgb
        return self._frame

    def _draw_over(self, picture: RawPicture, lamp_depth: Single) -> None:
        """Blend what objects are seen through over a picture of these."""
        front = picture.copy()
        for things, (window, part) in self._over.items():  # glass, then veils
            covered = front.cover(part, window)
            pixels = np.flatnonzero(covered)
            if things is self._glass:
                shade(front, pixels, self._shader, lamp_depth)
            alphas = things.alphas_of(part.bodies[covered[window]])
            blend(picture.rgb, pixels, front.rgb.reshape(-1, 3)[pixels], alphas)

    def _background(self, view: ViewMatrices, height: int, width: int) -> RawPicture:
        """Draw what rests."""
        picture = nothing(height, width)
        window, part = draw_part(self._resting, view, height, width, self._light)
        picture.cover(part, window)
        return picture


def _widened(mask: BoolArray) -> BoolArray:
    """Return True also for the neighbours of what is True, in rows, columns and diagonals."""
    tall = mask.copy()
    tall[1:] |= mask[:-1]
    tall[:-1] |= mask[1:]
    wide = tall.copy()
    wide[:, 1:] |= tall[:, :-1]
    wide[:, :-1] |= tall[:, 1:]
    return wide
