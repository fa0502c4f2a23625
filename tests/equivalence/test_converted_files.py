"""Files of the older dialects, converted to current KHR, move as the originals do."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pygltflib
import pytest
import trimesh

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import read_document
from gltf_bullet.gltf.writing import self_contained, write_document
from tests.physics.scenes import world

ASSETS = Path(__file__).resolve().parents[3] / "shared" / "assets"
OLDER = sorted(
    path
    for family in ("khr_collision_shapes", "msft", "omi", "omi_collider")
    for suffix in ("*.gltf", "*.glb")
    for path in (ASSETS / family).rglob(suffix)
)
STEPS = 120

pytestmark = [
    pytest.mark.shared,
    pytest.mark.slow,
    pytest.mark.skipif(not ASSETS.is_dir(), reason="the shared folder is absent"),
]


def convert(source: Path, target: Path) -> None:
    document = read_document(str(source), Diagnostics())
    asset = gb.read_asset(str(source))
    _, buffers = self_contained(document, Diagnostics())
    root = gb.write_physics(document, asset.physics, Diagnostics())
    root.pop("images", None)
    for material in root.get("materials", []):
        material.pop("pbrMetallicRoughness", None)
    for key in ("textures", "samplers"):
        root.pop(key, None)
    write_document(root, buffers[: len(root.get("buffers", []))], target)


def trajectory(path: Path, node_count: int) -> np.ndarray:
    with world(str(path), options=gb.LoadOptions(visuals="none")) as scene:
        frames = []
        for _ in range(STEPS):
            scene.step()
            frames.append(scene.node_matrices[:node_count].copy())
    return np.array(frames)


@pytest.mark.parametrize("path", OLDER, ids=lambda p: os.path.relpath(p, ASSETS))
def test_a_converted_file_moves_as_the_original(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "converted.glb"
    convert(path, target)
    report = gb.check(str(target))
    assert report.is_usable, report.errors
    count = len(gb.read_asset(str(path)).tree)
    assert np.allclose(trajectory(target, count), trajectory(path, count), atol=1e-6)
    pygltflib.GLTF2().load(str(target))
    trimesh.load(target)
