"""The examples that learn do learn."""

from __future__ import annotations

from pathlib import Path

import pytest

import gltf_bullet as gb
from tests.examples.test_examples import FOLDER, load


@pytest.mark.slow
def test_the_cart_learns_to_balance_its_pole(tmp_path: Path) -> None:
    module = load(FOLDER / "train_cart_pole.py")
    before, after = module.main(tmp_path)
    assert before < 0.5 * module.STEPS
    assert after > 0.9 * module.STEPS
    assert (tmp_path / "cart_pole.png").stat().st_size > 0
    animations = gb.read_asset(tmp_path / "cart_pole.glb").animations
    # Cart and pole both slide; the pole also turns.
    assert {track.target_path for track in animations[-1].tracks} == {"translation", "rotation"}
