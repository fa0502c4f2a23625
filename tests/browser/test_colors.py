"""Colours in the browser are the file's, and something below tells how large things are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.rendering.colors import srgb_from_linear
from tests.browser.conftest import Pixels, pixels_of, until

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
GRASS = 255.0 * srgb_from_linear([0.2, 0.5, 0.2])
"""Of ``goal_line.gltf``, which states it in linear light."""
OFF = 6.0
"""Of 255: textures and edges are filtered."""


def usual(pixels: Pixels) -> np.ndarray:
    """The colour that most pixels of the lower half have."""
    lower = pixels[len(pixels) // 2 : -60].reshape(-1, 3)
    colors, counts = np.unique(lower, axis=0, return_counts=True)
    return np.asarray(colors[counts.argmax()])


def shows_grass(page: Any) -> bool:
    return bool(np.abs(usual(pixels_of(page)) - GRASS).max() <= OFF)


def test_a_page_shows_the_grass_in_its_colour_over_lines(browser: Any, tmp_path: Path) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "goal_line.gltf", client)
        recording = gb.record(scene, fps=10)
        scene.step(24)
        recording.export_html(tmp_path / "grass.html")
    page = browser.new_page(viewport={"width": 900, "height": 600})
    page.goto((tmp_path / "grass.html").as_uri())
    until(lambda: shows_grass(page), f"grass of {GRASS.round()}", page)
    # Beyond the field there are lines of a metre on white.
    picture = pixels_of(page)
    page.close()
    upper = picture[:200, 320:]
    grey = (np.ptp(upper, axis=2) < 12) & (upper[..., 0] < 250) & (upper[..., 0] > 120)
    assert (upper.min(axis=2) == 255).mean() > 0.03
    assert grey.mean() > 0.003


def test_the_live_view_shows_the_same(browser: Any) -> None:
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "goal_line.gltf", client)
        with gb.viewer.WebView(scene, show=(), play=False) as view:
            view.update(force=True)
            page = browser.new_page(viewport={"width": 900, "height": 600})
            page.goto(view.url)
            until(lambda: shows_grass(page), f"grass of {GRASS.round()}", page)
            page.close()
