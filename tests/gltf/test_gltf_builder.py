"""The builder of ``tools/`` that the tests themselves stand on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf import read_document, read_mesh
from tools.gltf_builder import GltfBuilder


@pytest.mark.parametrize("name", ["a.gltf", "a.glb"])
def test_what_is_built_is_read_without_issues(
    name: str, tmp_path: Path, diagnostics: Diagnostics
) -> None:
    builder = GltfBuilder()
    triangle = builder.mesh(np.eye(3), [[0, 1, 2]], material=builder.material("red"))
    lid = builder.node("Lid", mesh=triangle, translation=np.array([0, 1, 0]))
    box = builder.node("Box", children=[lid], rotation=(0, 0, 0, 1), scale=None)
    builder.node("Handle", parent=lid, extensions={"B": {"extensions": {"C": {}}}})
    builder.root_extension("A", {"shapes": []}, required=True)
    builder.write(tmp_path / name)
    document = read_document(tmp_path / name, diagnostics)
    assert document.tree.names == ("Lid", "Box", "Handle")
    assert document.tree.parents.tolist() == [box, -1, lid]
    assert document.tree.scenes == ((box,),)
    assert document.extensions_used == ("A", "B", "C")
    assert document.extensions_required == ("A",)
    mesh = read_mesh(document, 0, diagnostics)
    assert mesh is not None
    assert_array_equal(mesh.primitives[0].triangles, [[0, 1, 2]])


def test_a_small_file_is_small() -> None:
    builder = GltfBuilder()
    builder.node("Ball", translation=(0, 2, 0))
    assert builder.text().splitlines() == [
        "{",
        '  "asset": {"version": "2.0", "generator": "gltf_bullet tools"},',
        '  "scene": 0,',
        '  "scenes": [{"nodes": [0]}],',
        '  "nodes": [{"name": "Ball", "translation": [0, 2, 0]}]',
        "}",
    ]


def test_text_bytes_and_json_are_the_same_file(diagnostics: Diagnostics) -> None:
    builder = GltfBuilder()
    builder.mesh(np.eye(3), np.arange(70_000) % 3)
    assert read_document(builder.gltf(), diagnostics).json == builder.json()
    assert builder.json()["accessors"][1]["componentType"] == 5123
