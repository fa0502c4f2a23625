"""Texels at texture coordinates, beyond the edges by the sampler's rules (glTF 2.0, "Samplers")."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.gltf.materials import Wrap
from gltf_bullet.rendering.visual_plans import Texture
from gltf_bullet.transforms import BoolArray, FloatArray, IntArray

_MARGIN = 2
"""[texels] Border around the used coordinates, since filtering mixes neighbours."""
_CELLS = 16
"""Approximate number of cells along a side, each a multiple of four texels as rows of OpenGL begin:
meshes that show nearly the same part share it."""
FLAT_CELL = 8
"""[texels] Side of the cell of a part with one colour."""
_SAME_PLACE = 1e-2
"""[texels] Largest extent of coordinates that count as one place."""
_WORTH_CUTTING = 0.9
"""Largest share of a texture that is cut out; above it all bodies share the whole."""


def wrapped(indices: npt.NDArray[np.integer[Any]], size: int, wrap: Wrap) -> IntArray:
    """Texel numbers in 0..size-1 for any integers, of the same shape."""
    whole = np.asarray(indices, dtype=np.int64)
    if wrap is Wrap.CLAMP:
        return np.clip(whole, 0, size - 1)
    if wrap is Wrap.REPEAT:
        return whole % size
    folded = whole % (2 * size)
    return np.where(folded < size, folded, 2 * size - 1 - folded)


def sampled(
    pixels: npt.NDArray[np.uint8], uvs: FloatArray, wraps: tuple[Wrap, Wrap]
) -> npt.NDArray[np.uint8]:
    """The nearest texels, shape [..., channels], at ``uvs`` of shape [..., 2]."""
    height, width = pixels.shape[:2]
    columns = wrapped(np.floor(_bounded(uvs[..., 0]) * width), width, wraps[0])
    rows = wrapped(np.floor(_bounded(uvs[..., 1]) * height), height, wraps[1])
    found: npt.NDArray[np.uint8] = pixels[rows, columns]
    return found


def region_of(
    pixels: npt.NDArray[np.uint8], uvs: FloatArray, wraps: tuple[Wrap, Wrap], largest: int
) -> tuple[npt.NDArray[np.uint8], FloatArray, float]:
    """The part of an endless texture that ``uvs`` [n, 2] touch, texel by texel.

    Returns:
        Its pixels, at most ``largest`` on a side; the coordinates in it, 0..1; and the factor by
        which it had to become coarser, 1 if it did not.
    """
    size = np.array([pixels.shape[1], pixels.shape[0]])
    texels = _bounded(uvs) * size
    # Rounding of coordinates like 1/3 must not add a row of texels.
    low = np.floor(texels.min(axis=0) + 1e-4).astype(np.int64)
    high = np.maximum(np.ceil(texels.max(axis=0) - 1e-4).astype(np.int64), low + 1)
    spans = high - low
    counts = np.minimum(spans, largest)
    columns, rows = (
        wrapped(
            low[k] + ((np.arange(counts[k]) + 0.5) * spans[k] / counts[k]).astype(np.int64),
            int(size[k]),
            wraps[k],
        )
        for k in range(2)
    )
    inside = np.clip((texels - low) / spans, 0.0, 1.0)
    return pixels[np.ix_(rows, columns)], inside, float((spans / counts).max())


def cropped(
    texture: Texture, uvs: list[FloatArray], triangles: list[IntArray]
) -> tuple[Texture, list[FloatArray]]:
    """The part of a texture that a mesh shows, if the rest is worth cutting off.

    PyBullet copies it for every body that shows it: for a robot's eight motors, four fifths of the
    time of a copy (measured). Texels stay unchanged. Faces that show one texel each, such as the
    sides of a disc with a picture, get cells of their colours below the rest.

    Args:
        texture: Texture of the mesh.
        uvs: Coordinates of its pieces, within 0..1, shape [n, 2] each.
        triangles: Triangles of its pieces.
    """
    height, width = texture.pixels.shape[:2]
    sides = np.array([width, height])
    texels = [coordinates * sides for coordinates in uvs]
    low, high = _box(np.concatenate(texels), sides)
    spots = [_spots(*piece) for piece in zip(texels, triangles, strict=True)]
    colors = [
        texture.pixels[tuple(np.minimum(own[spot], sides - 1).astype(np.int64).T[::-1])]
        for own, spot in zip(texels, spots, strict=True)
    ]
    shown, number = np.unique(np.concatenate(colors), axis=0, return_inverse=True)
    others = np.concatenate([own[~spot] for own, spot in zip(texels, spots, strict=True)])
    strip = 0
    if len(shown) and len(others):
        inner, outer = _box(others, sides)
        spans = outer - inner
        is_smaller = spans.prod() + spans[0] * FLAT_CELL < _WORTH_CUTTING * (high - low).prod()
        if is_smaller and len(shown) * FLAT_CELL <= spans[0]:
            low, high, strip = inner, outer, FLAT_CELL
    spans = high - low
    if spans.prod() > _WORTH_CUTTING * sides.prod():
        return texture, uvs
    pixels = np.zeros((spans[1] + strip, spans[0], 3), dtype=np.uint8)
    pixels[: spans[1]] = texture.pixels[low[1] : high[1], low[0] : high[0]]
    size = np.array([spans[0], spans[1] + strip])
    placed = [(own - low) / size for own in texels]
    if strip:
        pixels[spans[1] :, : len(shown) * FLAT_CELL] = np.repeat(shown, FLAT_CELL, axis=0)
        cells = np.split(number.reshape(-1), np.cumsum([len(found) for found in colors])[:-1])
        for own, spot, cell in zip(placed, spots, cells, strict=True):
            own[spot, 0] = (cell + 0.5) * FLAT_CELL / size[0]
            own[spot, 1] = (spans[1] + 0.5 * FLAT_CELL) / size[1]
    return Texture(pixels), placed


def _box(texels: FloatArray, sides: IntArray) -> tuple[IntArray, IntArray]:
    """Lowest and highest corner of the region that coordinates touch, in whole cells."""
    cell = np.maximum(sides // _CELLS // 4 * 4, 4)
    low = np.floor((texels.min(axis=0) - _MARGIN) / cell).astype(np.int64) * cell
    high = np.ceil((texels.max(axis=0) + _MARGIN) / cell).astype(np.int64) * cell
    return np.maximum(low, 0), np.minimum(high, sides)


def _spots(texels: FloatArray, triangles: IntArray) -> BoolArray:
    """True for vertices of triangles that show one place in the texture only, shape [n]."""
    has_extent = np.ptp(texels[triangles], axis=1).max(axis=1, initial=0.0) > _SAME_PLACE
    spots = np.ones(len(texels), dtype=bool)
    spots[triangles[has_extent]] = False
    return spots


def near_origin(
    uvs: FloatArray, triangles: IntArray, wraps: tuple[Wrap, Wrap]
) -> tuple[FloatArray, IntArray, IntArray]:
    """Shift each triangle by whole tiles, so that all are side by side near the origin.

    Returns:
        Coordinates of the new vertices, their triangles, and the old vertex of each new one.
    """
    # Where nothing repeats, a period of 0 shifts nothing.
    periods = np.array([{Wrap.REPEAT: 1.0, Wrap.MIRROR: 2.0}.get(wrap, 0.0) for wrap in wraps])
    lowest = uvs[triangles].min(axis=1)
    shifts = np.floor(lowest / np.where(periods > 0.0, periods, 1.0) + 1e-6) * periods
    rows = np.concatenate(
        [triangles.reshape(-1, 1), np.repeat(shifts, 3, axis=0).astype(np.int64)], axis=1
    )
    kept, inverse = np.unique(rows, axis=0, return_inverse=True)
    return (
        uvs[kept[:, 0]] - kept[:, 1:],
        inverse.reshape(-1, 3).astype(np.int64),
        kept[:, 0],
    )


def _bounded(values: FloatArray) -> FloatArray:
    """Coordinates clipped to a range that does not overflow as integers."""
    return np.clip(values, -1e6, 1e6)
