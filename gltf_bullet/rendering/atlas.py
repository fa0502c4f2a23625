"""Parts with paints of their own as one mesh with at most one texture.

PyBullet's window shows one texture and one colour per link: of two visual shapes with a red and a
green texture both are green (measured; its software renderer keeps them apart). Further links cost
time in every step, 1.13 to 1.57 ms for 200 boxes with one more each (measured). So the textures of
time in every step, 1.13 to 1.57 ms for 200 boxes with one more each (measured). So the textures of
a body are put side by side into one. Repeated and mirrored textures are written out as far as the
mesh reaches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.gltf.materials import Wrap
from gltf_bullet.records import replace
from gltf_bullet.rendering.mesh_parts import Part
from gltf_bullet.rendering.paints import REPEATED, Paint
from gltf_bullet.rendering.texture_sampling import (
    FLAT_CELL,
    cropped,
    near_origin,
    region_of,
)
from gltf_bullet.rendering.visual_plans import WHITE, Color, Texture, VisualMesh
from gltf_bullet.transforms import FloatArray

Pixels = npt.NDArray[np.uint8]

TEXTURE_REDUCED = warning(
    "TEXTURE_REDUCED", "the texture is shown {factor:.3g} times coarser, so that {why}"
)

MAX_SIDE = 2048
"""[pixels] Largest side of a texture that several parts share."""
MARGIN = 2
"""[pixels] Border around a cell, a copy of its edge, so that filtering cannot mix neighbours."""


class Piece(Struct, frozen=True, eq=False, kw_only=True):
    """A part with its paint."""

    part: Part
    paint: Paint
    alpha: float = 1.0
    """Opacity of the whole piece, for blending."""


def repeats(paint: Paint) -> bool:
    """Return True if a texture repeats beyond its edges in the way that PyBullet itself does."""
    return paint.wraps == REPEATED and paint.uvs is not None and _inside(paint) is None


def merged(
    pieces: list[Piece], ordinals: dict[int, int], alpha: float, diagnostics: Diagnostics
) -> VisualMesh:
    """One mesh of all pieces.

    Args:
        pieces: In one frame, at least one.
        ordinals: Number of each node in ``part_of_triangle``.
        alpha: Opacity of the whole mesh.
        diagnostics: Receives the losses in the textures.
    """
    paints = [piece.paint for piece in pieces]
    textures = {(paint.texture, paint.wraps) for paint in paints}
    if textures == {(None, REPEATED)} and len({paint.color for paint in paints}) == 1:
        return _joined(pieces, [None] * len(pieces), ordinals, None, (*paints[0].color, alpha))
    if len(textures) == 1:
        uvs = [_inside(paint) for paint in paints]
        texture, color = paints[0].texture, (*WHITE[:3], alpha)
        within = [found for found in uvs if found is not None]
        if texture is not None and len(within) == len(paints):
            triangles = [piece.part.triangles for piece in pieces]
            texture, within = cropped(texture, within, triangles)
            return _joined(pieces, [*within], ordinals, texture, color)
        if paints[0].wraps == REPEATED:
            uvs = [paint.uvs if found is None else found
                   for paint, found in zip(paints, uvs, strict=True)]  # fmt: skip
        if all(found is not None for found in uvs):
            return _joined(pieces, uvs, ordinals, texture, color)
    pieces, atlas_uvs, texture = _atlas(pieces, diagnostics)
    return _joined(pieces, list(atlas_uvs), ordinals, texture, (*WHITE[:3], alpha))


def _inside(paint: Paint) -> FloatArray | None:
    """Coordinates within the texture, off its edge, where sampling wraps around; else ``None``."""
    if paint.texture is None or paint.uvs is None:
        return None
    if paint.uvs.min(initial=0.0) < -1e-5 or paint.uvs.max(initial=1.0) > 1.0 + 1e-5:
        return None
    height, width = paint.texture.pixels.shape[:2]
    texels = [0.5 if wrap is Wrap.CLAMP else 0.01 for wrap in paint.wraps]
    edge = np.array([texels[0] / width, texels[1] / height])
    return np.clip(paint.uvs, edge, 1.0 - edge)


def _joined(
    pieces: list[Piece],
    uvs: list[FloatArray | None],
    ordinals: dict[int, int],
    texture: Texture | None,
    color: Color,
) -> VisualMesh:
    parts = [piece.part for piece in pieces]
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return VisualMesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([p.triangles + start for p, start in zip(parts, starts[:-1], strict=True)]),
        color=color,
        texture=texture,
        uvs=None if texture is None else np.concatenate([uv for uv in uvs if uv is not None]),
        part_of_triangle=np.concatenate(
            [np.full(len(part.triangles), ordinals[part.node]) for part in parts]
        ),
    )


class _Cell(Struct):
    """An image in the atlas and the coordinates of some pieces in it."""

    pixels: Pixels
    uvs: list[tuple[int, FloatArray]]


def _atlas(
    pieces: list[Piece], diagnostics: Diagnostics
) -> tuple[list[Piece], list[FloatArray], Texture]:
    """Pieces (their vertices changed if tiles are shifted), coordinates, and the texture."""
    pieces = [_side_by_side(piece) for piece in pieces]
    largest = MAX_SIDE - 2 * MARGIN
    while True:
        cells, coarser = _cells(pieces, largest)
        sizes = [(cell.pixels.shape[1], cell.pixels.shape[0]) for cell in cells]
        packed = _packed([(w + 2 * MARGIN, h + 2 * MARGIN) for w, h in sizes])
        if packed is not None:
            break
        largest //= 2
    for number, factor in coarser.items():
        diagnostics.report(
            TEXTURE_REDUCED,
            pieces[number].part.material.pointer,
            factor=factor,
            why=f"one texture of {MAX_SIDE} pixels holds all of the body",
        )
    places, width, height = packed
    sheet = np.zeros((height, width, 3), dtype=np.uint8)
    uvs: dict[int, FloatArray] = {}
    for cell, (x, y), (w, h) in zip(cells, places, sizes, strict=True):
        edged = np.pad(cell.pixels, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)), mode="edge")
        sheet[y : y + h + 2 * MARGIN, x : x + w + 2 * MARGIN] = edged
        for number, inside in cell.uvs:
            texels = np.array([x, y]) + MARGIN + inside * (w, h)
            uvs[number] = texels / (width, height)
    return pieces, [uvs[number] for number in range(len(pieces))], Texture(sheet)


def _side_by_side(piece: Piece) -> Piece:
    """A tiled piece whose triangles are shifted by whole tiles to be near the origin."""
    paint, part = piece.paint, piece.part
    if paint.uvs is None or _inside(paint) is not None or paint.wraps == (Wrap.CLAMP,) * 2:
        return piece
    uvs, triangles, source = near_origin(paint.uvs, part.triangles, paint.wraps)
    moved = replace(
        part,
        points=part.points[source],
        normals=part.normals[source],
        triangles=triangles,
        uvs=None,
        image=None,
        colors=None,
    )
    return replace(piece, part=moved, paint=replace(paint, uvs=uvs))


def _cells(pieces: list[Piece], largest: int) -> tuple[list[_Cell], dict[int, float]]:
    """One cell per colour and per texture, and by which factor pieces' textures are coarser."""
    flats: dict[tuple[float, float, float], list[int]] = {}
    textured: dict[tuple[Texture, tuple[Wrap, Wrap]], list[int]] = {}
    for number, piece in enumerate(pieces):
        if piece.paint.texture is None:
            flats.setdefault(piece.paint.color, []).append(number)
        else:
            textured.setdefault((piece.paint.texture, piece.paint.wraps), []).append(number)
    cells, coarser = [], {}
    for color, numbers in flats.items():
        shown = np.round(255.0 * np.array(color)).astype(np.uint8)
        pixels = np.broadcast_to(shown, (FLAT_CELL, FLAT_CELL, 3))
        middle = [(n, np.full((len(pieces[n].part.points), 2), 0.5)) for n in numbers]
        cells.append(_Cell(pixels, middle))
    for (texture, wraps), numbers in textured.items():
        found = [uvs for n in numbers if (uvs := pieces[n].paint.uvs) is not None]
        region, inside, factor = region_of(texture.pixels, np.concatenate(found), wraps, largest)
        ends = np.cumsum([len(uvs) for uvs in found])[:-1]
        cells.append(_Cell(region, list(zip(numbers, np.split(inside, ends), strict=True))))
        if factor > 1.0:
            coarser[numbers[0]] = factor
    return cells, coarser


def _packed(sizes: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], int, int] | None:
    """Positions of rectangles on shelves, and the size of the whole; ``None`` if too large."""
    order = sorted(range(len(sizes)), key=lambda k: -sizes[k][1])
    width = 16
    while width <= MAX_SIDE:
        places = [(0, 0)] * len(sizes)
        x = y = shelf = 0
        for k in order:
            if x + sizes[k][0] > width:
                x, y, shelf = 0, y + shelf, 0
            places[k] = (x, y)
            x, shelf = x + sizes[k][0], max(shelf, sizes[k][1])
        height = -(-(y + shelf) // 4) * 4
        fits = max(w for w, _ in sizes) <= width
        if fits and (height <= width or (width == MAX_SIDE and height <= MAX_SIDE)):
            return places, width, height
        width *= 2
    return None
