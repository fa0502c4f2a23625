"""Pages that were written open without a network and show another picture at another time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Pixels, pixels_of, until
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # a fixture

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
LARGEST = 3_000_000
"""[bytes] of a page, besides what the file itself weighs."""


def seen_at(page: Any, time: float) -> Pixels:
    """The picture at a time of the rollout, without the bar below."""
    box = page.get_by_role("textbox").first
    box.fill(f"{time:.1f}")
    page.wait_for_timeout(1500)
    return pixels_of(page)[200:520]


def changed(one: Any, other: Any) -> int:
    """Number of pixels that look different."""
    return int((np.abs(one - other).max(axis=2) > 40).sum())


@pytest.mark.parametrize("name", ["ragdoll", "toy_blocks", "vehicle"])
def test_a_page_plays_offline(browser: Any, run: Run, tmp_path: Path, name: str) -> None:
    source, path = ASSETS / f"{name}.gltf", tmp_path / f"{name}.html"
    outcome = run("simulate", source, "--seconds", "3", "--html", path)
    assert outcome.code == 0, outcome.err
    assert path.stat().st_size < LARGEST + source.stat().st_size
    context = browser.new_context(offline=True, viewport={"width": 800, "height": 600})
    try:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        until(lambda: page.get_by_role("textbox").count() > 0, "the time", page)
        seen_at(page, 2.9)  # it has played until now
        pictures = [seen_at(page, time) for time in (0.1, 0.6, 2.5, 0.1)]
        assert all(len(np.unique(p.reshape(-1, 3) // 32, axis=0)) > 4 for p in pictures)
        changes = [changed(pictures[k], pictures[k + 1]) for k in (0, 1)]
        assert min(changes) > 400
        # Edges differ from one drawing to the next, some hundred pixels of them.
        assert changed(pictures[0], pictures[3]) < 0.5 * min(changes), (
            "at the same time it looks the same"
        )
        assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    finally:
        context.close()
