"""Paints of parts: one colour, a texture, or a texture made from vertex colours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.gltf.materials import Wrap
from gltf_bullet.records import replace
from gltf_bullet.rendering.colors import linear_from_srgb, srgb_from_linear, tinted
from gltf_bullet.rendering.mesh_parts import Part
from gltf_bullet.rendering.texture_sampling import sampled
from gltf_bullet.rendering.visual_plans import Texture
from gltf_bullet.transforms import FloatArray

VERTEX_COLORS_COARSE = warning(
    "VERTEX_COLORS_COARSE",
    "the vertex colours of {triangles} triangles are painted with {texels} texels along an edge; "
    "colours are off by up to {error:.2g} of full brightness",
)
UNLIT_SHADED = note("UNLIT_SHADED", "the material is unlit; PyBullet shades every surface")

REPEATED = (Wrap.REPEAT, Wrap.REPEAT)
CHART_TEXELS = 2**19
"""Number of texels of one texture made from vertex colours."""
MAX_CHART = 64
"""[pixels] Largest side of one triangle's chart in a texture made from vertex colours."""
STEP = 1.0 / 32.0
"""Finest change of colour between two texels that charts resolve, as share of full brightness."""


class Paint(Struct, frozen=True, eq=False, kw_only=True):
    """Colouring of a part's surface."""

    color: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """SRGB in 0..1; white with a texture."""
    texture: Texture | None = None
    uvs: FloatArray | None = None
    """Coordinates of the texture, v growing downwards, shape [vertex_count, 2]."""
    wraps: tuple[Wrap, Wrap] = REPEATED


def painted(
    part: Part, diagnostics: Diagnostics, textures: dict[object, Texture]
) -> tuple[Part, Paint]:
    """The part, with its vertices changed if the paint needs that, and its paint.

    Args:
        part: A part from one primitive.
        diagnostics: Receives the losses.
        textures: Textures of the same file by key; new ones are added.
    """
    material = part.material
    if material.unlit:
        diagnostics.report(UNLIT_SHADED, material.pointer)
    factor, emissive = np.array(material.base_color[:3]), np.array(material.emissive)
    if part.colors is not None:
        colors = part.colors[part.triangles][..., :3]
        if np.ptp(colors.reshape(-1, 3), axis=0).max() > 1.0 / 512.0:
            return _charted(part, diagnostics)
        factor = factor * colors.reshape(-1, 3).mean(axis=0)
    if part.image is None or part.uvs is None or material.texture is None:
        red, green, blue = srgb_from_linear(factor + emissive).tolist()
        return part, Paint(color=(red, green, blue))
    key = (material.texture.image, _rgb(factor), _rgb(emissive))
    if key not in textures:
        textures[key] = Texture(tinted(part.image[..., :3], key[1], key[2]))
    return part, Paint(texture=textures[key], uvs=part.uvs, wraps=material.texture.wraps)


def _rgb(values: FloatArray) -> tuple[float, float, float]:
    red, green, blue = values.tolist()
    return (red, green, blue)


def _charted(part: Part, diagnostics: Diagnostics) -> tuple[Part, Paint]:
    """A square of texels per triangle, coloured by its vertex colours and the texture."""
    colors = part.colors
    if colors is None:
        raise ValueError("a part without vertex colours")
    count = len(part.triangles)
    corner_colors = colors[part.triangles][..., :3] * np.array(part.material.base_color[:3])
    texels = max(2, min(MAX_CHART, int((CHART_TEXELS / count) ** 0.5)))
    spread = float(np.ptp(srgb_from_linear(corner_colors), axis=1).max())
    wanted = 2 + int(spread / STEP)
    corner_uvs = None if part.uvs is None else part.uvs[part.triangles]
    if corner_uvs is not None and part.image is not None:
        height, width = part.image.shape[:2]
        spans = np.ptp(corner_uvs, axis=1) * (width, height)
        wanted = max(wanted, 2 + int(min(float(spans.max()), 1e4)))
    texels = min(texels, wanted)
    if texels < wanted and spread / (texels - 1) > 2 * STEP:
        diagnostics.report(
            VERTEX_COLORS_COARSE,
            part.material.pointer,
            triangles=count,
            texels=texels,
            error=spread / (texels - 1),
        )
    pixels, uvs = _draw_charts(part, corner_colors, corner_uvs, texels)
    corners = part.corners()
    return part.with_corners(corners), Paint(texture=Texture(pixels), uvs=uvs)


def _draw_charts(
    part: Part, corner_colors: FloatArray, corner_uvs: FloatArray | None, texels: int
) -> tuple[npt.NDArray[np.uint8], FloatArray]:
    """Pixels of all charts and the coordinates of each triangle's corners in them."""
    count = len(corner_colors)
    steps = np.arange(texels) / (texels - 1)
    second, third = np.meshgrid(steps, steps)
    weights = np.stack([1.0 - second - third, second, third], axis=-1)
    # The far half of the square is visible only where sampling rounds across the edge.
    weights = np.maximum(weights, 0.0)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    linear = np.einsum("yxk,tkc->tyxc", weights, corner_colors)
    use = part.material.texture
    if corner_uvs is not None and part.image is not None and use is not None:
        # A little inwards: a coordinate of exactly 1 would be the first texel of the next tile.
        inner_weights = 0.999 * weights + 0.001 / 3.0
        uvs = np.einsum("yxk,tkn->tyxn", inner_weights, corner_uvs)
        linear *= linear_from_srgb(sampled(part.image, uvs, use.wraps)[..., :3] / 255.0)
    linear += np.array(part.material.emissive)
    shown = np.round(255.0 * srgb_from_linear(linear)).astype(np.uint8)
    columns = int(np.ceil(count**0.5))
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, texels, texels, 3), dtype=np.uint8)
    sheet[:count] = shown
    pixels = sheet.reshape(rows, columns, texels, texels, 3).swapaxes(1, 2)
    places = np.stack([np.arange(count) % columns, np.arange(count) // columns], axis=1)
    # The corners are at the centres of their texels.
    inner = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) * (texels - 1) + 0.5
    size = np.array([columns * texels, rows * texels])
    uvs = (places[:, None, :] * texels + inner) / size
    return pixels.reshape(rows * texels, columns * texels, 3), uvs.reshape(-1, 2)


def with_back_faces(part: Part) -> Part:
    """Both sides of a double-sided surface; a closed one hides its inside anyway."""
    if not part.material.double_sided or _is_closed(part):
        return part
    count = len(part.points)
    return replace(
        part,
        points=np.concatenate([part.points] * 2),
        normals=np.concatenate([part.normals, -part.normals]),
        triangles=np.concatenate([part.triangles, part.triangles[:, ::-1] + count]),
        uvs=None if part.uvs is None else np.concatenate([part.uvs] * 2),
        colors=None if part.colors is None else np.concatenate([part.colors] * 2),
    )


def _is_closed(part: Part) -> bool:
    """Return True if each edge has both directions equally often."""
    size = float(np.abs(part.points).max()) or 1.0
    _, ids = np.unique(np.round(part.points / size, 6), axis=0, return_inverse=True)
    corners = ids.reshape(-1)[part.triangles]
    starts, ends = corners.reshape(-1), np.roll(corners, -1, axis=1).reshape(-1)
    total = int(ids.max()) + 1
    forward, backward = starts * total + ends, ends * total + starts
    return bool(np.array_equal(np.sort(forward), np.sort(backward)))
