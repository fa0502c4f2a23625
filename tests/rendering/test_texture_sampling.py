"""What is cut out of textures: the same texels under every point of a mesh."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.gltf.materials import Wrap
from gltf_bullet.rendering.texture_sampling import cropped, sampled
from gltf_bullet.rendering.visual_plans import Texture
from gltf_bullet.transforms import FloatArray, IntArray

SIDE = 640
CLAMPED = (Wrap.CLAMP, Wrap.CLAMP)
SHARES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.3, 0.1], [1 / 3, 1 / 3, 1 / 3]])
"""Points of a triangle by its corners."""


@pytest.fixture
def texture() -> Texture:
    chance = np.random.default_rng(5)
    return Texture(chance.integers(0, 256, size=(SIDE, SIDE, 3), dtype=np.uint8))


def picture(low: float, high: float) -> tuple[FloatArray, IntArray]:
    """A square that shows a part of the texture, in two triangles."""
    corners = np.array([[low, low], [high, low], [high, high], [low, high]])
    return corners, np.array([[0, 1, 2], [0, 2, 3]])


def spot(u: float, v: float) -> tuple[FloatArray, IntArray]:
    """A triangle of one colour."""
    return np.full((3, 2), (u, v)), np.array([[0, 1, 2]])


def colors(texture: Texture, uvs: FloatArray, triangles: IntArray) -> IntArray:
    points = np.einsum("sc,tcd->tsd", SHARES, uvs[triangles])
    return sampled(texture.pixels, points, CLAMPED).astype(np.int64)


def check(texture: Texture, *pieces: tuple[FloatArray, IntArray]) -> Texture:
    uvs, triangles = [piece[0] for piece in pieces], [piece[1] for piece in pieces]
    part, placed = cropped(texture, uvs, triangles)
    for before, after, corners in zip(uvs, placed, triangles, strict=True):
        assert (colors(texture, before, corners) == colors(part, after, corners)).all()
    return part


# Off the borders of texels, where rounding decides.
LOW, HIGH = 100.3 / SIDE, 300.7 / SIDE


def test_a_picture_in_the_middle_is_cut_out(texture: Texture) -> None:
    part = check(texture, picture(LOW, HIGH))
    # Cells of 40 texels, from 80 to 320.
    assert part.pixels.shape == (240, 240, 3)


def test_single_colors_far_off_do_not_widen_what_is_cut_out(texture: Texture) -> None:
    part = check(texture, picture(LOW, HIGH), spot(0.5 / SIDE, 0.5 / SIDE), spot(0.99, 0.02))
    assert part.pixels.shape == (240 + 8, 240, 3)


def test_single_colors_of_one_piece_with_the_picture(texture: Texture) -> None:
    corners, faces = picture(LOW, HIGH)
    dots, dot = spot(0.998, 0.998)
    both = np.concatenate([corners, dots]), np.concatenate([faces, dot + len(corners)])
    assert check(texture, both).pixels.shape == (240 + 8, 240, 3)


def test_a_vertex_of_both_keeps_its_place(texture: Texture) -> None:
    """A triangle without extent that hangs on a corner of the picture."""
    corners, faces = picture(LOW, HIGH)
    hanging = corners, np.concatenate([faces, [[0, 0, 0]]])
    assert check(texture, hanging).pixels.shape == (240, 240, 3)


def test_more_colors_than_fit_below_are_left_where_they_are(texture: Texture) -> None:
    dots = [spot((k + 0.5) / SIDE, 0.5 / SIDE) for k in range(60)]
    part = check(texture, picture(LOW, HIGH), *dots)
    assert part.pixels.shape == (320, 320, 3)


def test_spots_alone_are_cut_out_as_any_mesh(texture: Texture) -> None:
    part = check(texture, spot(0.5, 0.5))
    assert part.pixels.shape == (80, 80, 3)


def test_a_texture_that_is_shown_whole_stays_itself(texture: Texture) -> None:
    assert check(texture, picture(0.001, 0.999)) is texture
