"""Third-party assets: everything in them is read, and nothing is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf import (
    read_accessor,
    read_animations,
    read_document,
    read_mesh,
    read_skin,
)
from gltf_bullet.gltf.writing import IMAGE_NOT_EMBEDDED, encode_glb, self_contained

ASSETS = Path(__file__).parents[2].parent / "shared" / "assets"
FILES = sorted(p for p in ASSETS.rglob("*") if p.suffix in (".gltf", ".glb"))

pytestmark = pytest.mark.shared


@pytest.mark.skipif(not FILES, reason=f"{ASSETS} is not there")
def test_the_collection_is_complete() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ASSETS)))
def test_a_published_asset_is_read_whole(file: Path, diagnostics: Diagnostics) -> None:
    document = read_document(file, diagnostics)
    assert len(document.tree) > 0
    for index in range(document.count("accessors")):
        assert read_accessor(document, index, diagnostics) is not None
    for index in range(document.count("meshes")):
        mesh = read_mesh(document, index, diagnostics)
        assert mesh is not None
        assert all(len(primitive.triangles) for primitive in mesh.primitives)
    for index in range(document.count("skins")):
        assert read_skin(document, index, diagnostics) is not None
    animations = read_animations(document, diagnostics)
    owners: Any = document.objects("animations")
    channels = sum(len(owner["channels"]) for owner in owners)
    assert sum(len(animation.tracks) for animation in animations) == channels


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ASSETS)))
def test_a_published_asset_comes_back_from_a_glb(file: Path, diagnostics: Diagnostics) -> None:
    document = read_document(file, diagnostics)
    root, buffers = self_contained(document, diagnostics)
    # The collection comes without its pictures.
    while diagnostics.issues:
        diagnostics.take(IMAGE_NOT_EMBEDDED)
    copy = read_document(encode_glb(root, buffers), diagnostics)
    for index in range(document.count("accessors")):
        first, second = (read_accessor(d, index, diagnostics) for d in (document, copy))
        assert_array_equal(first, second)
    changing = ("buffers", "bufferViews", "images")
    assert {k: v for k, v in copy.json.items() if k not in changing} == {
        k: v for k, v in document.json.items() if k not in changing
    }
