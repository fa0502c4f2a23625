"""Headless Chromium with software WebGL, and how its pictures are read."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium")
PATIENCE = 150.0
"""[s] On a busy machine without a graphics card; nothing is timed."""

Pixels = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser that cannot reach the network but for this machine."""
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    flags.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield started
        started.close()


@pytest.fixture(autouse=True)
def no_page_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pages draw without end, by software: those of earlier tests took most of the later ones."""
    browser = request.getfixturevalue("browser") if "browser" in request.fixturenames else None
    yield
    for context in browser.contexts if browser is not None else ():
        context.close()


def pixels_of(page: Any) -> Pixels:
    """What is seen, RGB, shape [height, width, 3]."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(np.int64)


def count_like(pixels: Pixels, color: tuple[float, float, float], within: float = 30.0) -> int:
    """How many pixels have about this hue: shading scales all channels alike."""
    wanted = np.array(color) / np.linalg.norm(color)
    lengths = np.linalg.norm(pixels, axis=2)
    along = pixels @ wanted
    off = np.sqrt(np.maximum(lengths**2 - along**2, 0.0))
    return int(((off < within * lengths / 255.0) & (lengths > 90.0)).sum())


def until(wanted: Callable[[], Any], what: str, page: Any = None) -> Any:
    """Wait until something holds; its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = wanted()
        if found:
            return found
        if page is None:
            time.sleep(0.2)
        else:
            page.wait_for_timeout(200)
    pytest.fail(f"never seen: {what}")
