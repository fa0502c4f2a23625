"""Files that this process loaded before: the same scene without reading and planning it again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.runtime import asset as asset_module
from gltf_bullet.runtime import recent

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """What is remembered: nothing at first."""
    remembered: dict[Any, Any] = {}
    monkeypatch.setattr(recent, "_known", remembered)
    return remembered


def age(*paths: Path, written: float = 1e9) -> None:
    """Let files have been written at another time [s], long ago."""
    for path in paths:
        os.utime(path, (written, written))


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read and translated anew."""
    done: list[str] = []

    def watched(module: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def noting(*arguments: Any, **options: Any) -> Any:
            done.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, noting)

    watched(asset_module, "read_content")
    watched(recent, "translate_at")
    return done


BOTH = ["read_content", "translate_at"]


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.gltf")), ids=lambda path: path.stem)
def test_a_file_is_read_and_translated_once(path: Path, client: int, work: list[str]) -> None:
    motions = []
    for _ in range(2):
        scene = gb.load_gltf(path, client)
        scene.step(60)
        motions.append((scene.node_matrices.copy(), scene.issues, len(scene.bodies)))
        scene.remove()
    assert work == BOTH
    assert np.array_equal(motions[0][0], motions[1][0])
    assert motions[0][1:] == motions[1][1:]


def test_who_reads_an_asset_gets_one_of_his_own(client: int, work: list[str]) -> None:
    path = ASSETS / "ragdoll.gltf"
    for _ in range(2):
        asset = gb.read_asset(path)
        for turn in ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0)) * 2:
            asset.instantiate(client, orientation=turn).remove()
    assert work == ["read_content", "translate_at", "translate_at"] * 2


def test_other_options_are_another_translation(client: int, work: list[str]) -> None:
    path = ASSETS / "cart_pole.gltf"
    for density in (1000.0, 500.0, 1000.0, 500.0):
        gb.load_gltf(path, client, options=gb.LoadOptions(density=density)).remove()
    assert work == [*BOTH, "translate_at"]


def test_the_first_few_translations_are_kept(client: int, work: list[str]) -> None:
    for scale in (1.0, 1.1, 1.2, 1.3, 1.4, 1.0, 1.4):
        gb.load_gltf(ASSETS / "falling_box.gltf", client, scale=scale).remove()
    assert work.count("translate_at") == 6


def test_it_says_under_which_name_the_file_was_found(
    tmp_path: Path, client: int, work: list[str]
) -> None:
    paths = [tmp_path / "one.gltf", tmp_path / "other.gltf"]
    for path in paths:
        shutil.copy(ASSETS / "pendulum.gltf", path)
        age(path)
        scene = gb.load_gltf(path, client)
        assert scene.asset.path == str(path)
        assert scene.asset.document.folder == tmp_path
    assert work == BOTH * 2


def test_a_path_means_another_file_in_another_folder(
    tmp_path: Path, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = []
    for name in ("falling_box", "ragdoll", "falling_box"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        shutil.copy(ASSETS / f"{name}.gltf", folder / "asset.gltf")
        age(folder / "asset.gltf")
        monkeypatch.chdir(folder)
        scene = gb.load_gltf("asset.gltf", client)
        bodies.append(len(scene.bodies))
    assert bodies[0] == bodies[2] != bodies[1]


def test_a_file_that_changes_is_another(tmp_path: Path, client: int, work: list[str]) -> None:
    path = tmp_path / "asset.gltf"
    text = (ASSETS / "falling_box.gltf").read_text(encoding="utf-8")
    for size, written in ((0, 1e9), (1, 1e9), (1, 1e9 + 1.0)):
        path.write_text(text + size * " ", encoding="utf-8")
        age(path, written=written)
        gb.load_gltf(path, client)
    assert work == BOTH * 3


def test_a_file_that_was_just_written_is_read_again(
    tmp_path: Path, client: int, work: list[str], known: dict[Any, Any]
) -> None:
    """A second change in the same tick of the file system's clock would show in nothing."""
    path = tmp_path / "asset.gltf"
    shutil.copy(ASSETS / "falling_box.gltf", path)
    os.utime(path)
    for _ in range(2):
        gb.load_gltf(path, client)
    assert work == BOTH * 2
    assert not known


def test_a_file_that_goes_is_missed(tmp_path: Path, client: int) -> None:
    path = tmp_path / "asset.gltf"
    shutil.copy(ASSETS / "falling_box.gltf", path)
    age(path)
    gb.load_gltf(path, client)
    path.unlink()
    with pytest.raises(gb.ContainerError):
        gb.load_gltf(path, client)


def test_only_a_few_files_are_remembered(
    tmp_path: Path, client: int, known: dict[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ASSETS / "falling_box.gltf").read_bytes()
    paths = [tmp_path / f"{k}.gltf" for k in range(12)]
    for path in paths:
        path.write_bytes(text)
    age(*paths)
    for path in (*paths, paths[5]):
        gb.load_gltf(path, client).remove()
    assert [Path(name).stem for name, _ in known] == ["4", "6", "7", "8", "9", "10", "11", "5"]
    monkeypatch.setattr(recent, "_MOST_BYTES", 3 * len(text))
    gb.load_gltf(paths[5], client).remove()
    assert [Path(name).stem for name, _ in known] == ["10", "11", "5"]


def hull(path: Path, size: float) -> None:
    """A pyramid whose corners are in a file beside."""
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    path.with_suffix(".bin").write_bytes(corners.tobytes())
    least, most = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    body = {"geometry": {"convexHull": True, "mesh": 0}}
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_physics_rigid_bodies"],
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "buffers": [{"uri": path.with_suffix(".bin").name, "byteLength": 48}],
        "bufferViews": [{"buffer": 0, "byteLength": 48}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}
            | ({"min": least, "max": most} if size == 1.0 else {"min": [0.0] * 3, "max": [1.0] * 3})
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"extensions": {"KHR_physics_rigid_bodies": {"motion": {}, "collider": body}}}],
    }
    path.write_text(json.dumps(root), encoding="utf-8")


def test_what_else_the_file_is_made_of_is_compared(
    tmp_path: Path, client: int, work: list[str]
) -> None:
    path = tmp_path / "hull.gltf"
    for size, expected in ((1.0, BOTH), (1.0, []), (2.0, BOTH)):
        hull(path, size)
        age(path, path.with_suffix(".bin"), written=1e9 + size)
        work.clear()
        scene = gb.load_gltf(path, client)
        assert work == expected
        # A corner of a cube: a sixth of its volume, of the default density.
        assert scene.bodies[0].mass == pytest.approx(1000.0 * size**3 / 6.0, rel=1e-6)


def test_a_physics_that_was_edited_is_not_kept(client: int, work: list[str]) -> None:
    path = ASSETS / "falling_box.gltf"
    scene = gb.load_gltf(path, client)
    mass = scene.bodies["Crate"].mass
    scene.set("/nodes/1/extensions/KHR_physics_rigid_bodies/motion/mass", 2.0 * mass)
    assert gb.load_gltf(path, client).bodies["Crate"].mass == mass
    assert work == BOTH


def test_sources_without_a_place_are_not_remembered(client: int, known: dict[Any, Any]) -> None:
    gb.load_gltf((ASSETS / "falling_box.gltf").read_bytes(), client)
    assert not known


def test_nothing_of_a_file_is_kept_for_other_processes(
    client: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on disk is numbers, meshes and text of robots: nothing that makes objects."""
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(tmp_path / "kept"))
    gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    suffixes = {file.suffix for file in (tmp_path / "kept").rglob("*") if file.is_file()}
    assert suffixes <= {".hull", ".meshes", ".texels", ".npz", ".obj", ".stl", ".urdf"}


def test_a_strict_load_still_refuses(client: int) -> None:
    """Of tapered shapes hulls are made, with a warning."""
    path = ASSETS / "shape_zoo.gltf"
    assert "ROUND_SHAPE_APPROXIMATED" in {issue.code for issue in gb.load_gltf(path, client).issues}
    for _ in range(2):
        with pytest.raises(gb.TranslationError):
            gb.load_gltf(path, client, options=gb.LoadOptions(strict=True))
