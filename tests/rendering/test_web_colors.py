"""Colours for the browser: what three.js makes of them is what the file says."""

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.rendering import glb_meshes
from gltf_bullet.rendering.colors import linear_from_srgb, srgb_from_linear
from gltf_bullet.rendering.glb_meshes import GLOW, LEVEL_LIGHT, shown_in_browser


def film_of(linear: np.ndarray) -> np.ndarray:
    """Apply the film curve of three.js to linear light, shape [..., 3]."""
    v = linear * glb_meshes._EXPOSURE @ glb_meshes._TO_FILM.T
    a, b, c, d, e = 0.0245786, 0.000090537, 0.983729, 0.4329510, 0.238081
    curved = (v * (v + a) - b) / (v * (c * v + d) + e)
    return np.clip(curved @ glb_meshes._TO_SCREEN.T, 0.0, 1.0)


def seen(shown: np.ndarray, share: float = 1.0) -> np.ndarray:
    """What a colour for the browser looks like there, 0..255, in a share of the level light."""
    light = linear_from_srgb(shown_in_browser(shown)) * LEVEL_LIGHT * (share + GLOW)
    return 255.0 * srgb_from_linear(film_of(light))


def test_the_curve_is_that_of_three_js() -> None:
    # Read in Chromium: light from everywhere on white, of these shares of what is white.
    shares = np.array([0.1, 0.2, 0.5, 1.0, 2.0])
    found = 255.0 * srgb_from_linear(film_of(np.repeat(shares[:, None], 3, axis=1)))
    assert found[:, 0] == pytest.approx([86, 135, 197, 226, 242], abs=1.0)
    assert found == pytest.approx(np.repeat(found[:, :1], 3, axis=1), abs=1.0)


@pytest.mark.parametrize("color", [(124, 188, 124), (240, 135, 46), (128, 128, 128), (40, 70, 180)])
def test_usual_colours_come_out_as_they_are(color: tuple[int, int, int]) -> None:
    assert seen(np.array(color) / 255.0) == pytest.approx(color, abs=1.0)


@pytest.mark.parametrize("color", [(124, 188, 124), (240, 135, 46), (148, 117, 76)])
def test_sides_in_shade_keep_half_of_their_colour(color: tuple[int, int, int]) -> None:
    """The darkest, with 0.19 of the level light, were a third or less, and orange was red."""
    kept = seen(np.array(color) / 255.0, share=0.19) / np.array(color)
    assert kept[:2].min() > 0.45


def test_what_is_too_bright_or_too_strong_is_the_nearest_that_there_is() -> None:
    white = seen(np.ones(3))
    assert white.min() > 238.0
    assert np.ptp(white) < 6.0
    red = seen(np.array([1.0, 0.0, 0.0]))
    assert red[0] > 200.0
    assert red[1:].max() < 60.0
    assert seen(np.zeros(3)) == pytest.approx([0.0] * 3, abs=3.0)
