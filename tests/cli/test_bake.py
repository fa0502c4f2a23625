"""``gltf-bullet bake``: a file with the rollout in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gltf_bullet as gb
from gltf_bullet.cli import app
from tests.cli.conftest import Run
from tests.physics.scenes import G, Scenery
from tools.gltf_builder import GltfBuilder


def test_bake_writes_the_fall_as_an_animation(tmp_path: Path) -> None:
    scenery = Scenery()
    scenery.node("Ball", at=(0, 10, 0), shape=scenery.shape("sphere"), motion={"mass": 1})
    source, out = tmp_path / "in.gltf", tmp_path / "sub" / "out.glb"
    source.write_bytes(scenery.bytes())
    result = CliRunner().invoke(app, ["bake", str(source), str(out), "--seconds", "1"])
    assert result.exit_code == 0, result.output
    (animation,) = gb.read_asset(str(out)).animations
    assert abs(animation.duration - 1.0) < 1e-6
    (track,) = animation.tracks
    fall = 0.5 * G * (1 + 1 / 240)
    # Of every step: a flight is one curve, whose keys have tangents on both sides.
    assert track.values.shape[1:] == (3, 3)
    assert abs(track.values[-1, 1, 1] - (10 - fall)) < 1e-3
    assert "241 frames, 1 s, " in result.output
    assert " kB" in result.output


def test_bake_at_a_rate_keeps_lines(tmp_path: Path) -> None:
    scenery = Scenery()
    scenery.node("Ball", at=(0, 10, 0), shape=scenery.shape("sphere"), motion={"mass": 1})
    source, out = tmp_path / "in.gltf", tmp_path / "out.glb"
    source.write_bytes(scenery.bytes())
    arguments = ["bake", str(source), str(out), "--seconds", "1", "--fps", "30"]
    result = CliRunner().invoke(app, arguments)
    assert "31 frames, 1 s, " in result.output
    (animation,) = gb.read_asset(str(out)).animations
    assert animation.tracks[0].values.shape == (31, 3)


def test_a_wrong_suffix_is_a_usage_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bake", "in.gltf", str(tmp_path / "out.obj")])
    assert result.exit_code == 2


@pytest.mark.parametrize("how", ["once", "loop"])
def test_a_baked_animation_does_not_snap_back_at_its_last_key(
    run: Run, tmp_path: Path, how: str
) -> None:
    builder = GltfBuilder()
    node = builder.node("Flap")
    builder.animation("Open", [(node, "translation", [0, 1], [(0, 0, 0), (0, 1, 0)])])
    source, target = tmp_path / "flap.glb", tmp_path / "baked.glb"
    source.write_bytes(builder.glb())
    seconds = "1" if how == "loop" else "1.5"
    assert run("bake", source, target, "--seconds", seconds, "--play", how).code == 0
    baked = gb.read_asset(target).animations[-1]
    (track,) = (track for track in baked.tracks if track.target_path == "translation")
    heights = track.values[:, 1] if track.values.ndim == 2 else track.values[:, 1, 1]
    assert heights[-1] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(heights) >= -1e-6).all()
