"""The pictures of README and pages are those that the command line draws."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tools import make_readme_images
from tools.list_issues import REFERENCE, ROOT
from tools.make_readme_images import FOLDER, IMAGES, make_images


def test_the_pages_show_what_the_tool_draws() -> None:
    pages = [ROOT / "README.md", *REFERENCE.glob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    shown = {name for text in texts for name in re.findall(r"examples/images/([^)]+)\)", text)}
    assert set(IMAGES) <= shown
    assert {path.name for path in FOLDER.iterdir()} == shown
    assert sum((FOLDER / name).stat().st_size for name in IMAGES) < 200_000


@pytest.mark.slow
def test_a_picture_is_as_it_would_be_drawn_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "toy_blocks.png"
    monkeypatch.setattr(make_readme_images, "IMAGES", {name: IMAGES[name]})
    (drawn,) = make_images(tmp_path)
    now, committed = (
        np.asarray(Image.open(path).convert("RGB")).astype(int) for path in (drawn, FOLDER / name)
    )
    assert now.shape == committed.shape
    # Palettes and rounding may differ between versions; what is seen may not.
    assert np.abs(now - committed).mean() < 3.0
