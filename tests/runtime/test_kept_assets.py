"""Files that were loaded before, by whatever process: the same scene without planning it again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.baselines.robots import robot_file
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.cli.robots import read_source
from gltf_bullet.runtime import asset as asset_module
from gltf_bullet.runtime import first_translations, kept_assets
from gltf_bullet.sleeping_values import is_asleep

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture
def client() -> Iterator[int]:
    with headless_world() as client_id:
        yield client_id


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where things are kept."""
    monkeypatch.setenv("GLTF_BULLET_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


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
    watched(first_translations, "translate_at")
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


@pytest.mark.parametrize("robot", ["cartpole", "xarm/xarm6_robot", "husky/husky"])
def test_a_robot_is_made_again_without_a_look_at_most_of_its_plan(
    robot: str, tmp_path: Path, client: int
) -> None:
    path = tmp_path / "robot.glb"
    path.write_bytes(read_source(robot_file(robot)).to_glb())
    for _ in range(2):
        scene = gb.load_gltf(path, client)
    plan = scene.core.world.plan
    assert all(map(is_asleep, plan.bodies.bodies.values()))
    assert is_asleep(plan.contacts)
    scene.step()
    assert not any(map(is_asleep, plan.bodies.bodies.values()))


def test_an_asset_that_is_read_first_finds_its_translations(client: int, work: list[str]) -> None:
    path = ASSETS / "ragdoll.gltf"
    for _ in range(2):
        asset = gb.read_asset(path)
        for turn in ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0)):
            asset.instantiate(client, orientation=turn).remove()
    assert work == ["read_content", "translate_at", "translate_at"]


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
        scene = gb.load_gltf(path, client)
        assert scene.asset.path == str(path)
        assert scene.asset.document.folder == tmp_path
    assert work == BOTH


def test_a_file_that_changes_is_another(tmp_path: Path, client: int, work: list[str]) -> None:
    path = tmp_path / "asset.gltf"
    text = (ASSETS / "falling_box.gltf").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    gb.load_gltf(path, client)
    path.write_text(text + " ", encoding="utf-8")
    gb.load_gltf(path, client)
    assert work == BOTH * 2


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


@pytest.mark.parametrize("content", [b"", b"nothing of ours", None])
def test_an_entry_that_is_none_is_made_anew(
    content: bytes | None, client: int, folder: Path, work: list[str]
) -> None:
    path = ASSETS / "ragdoll.gltf"
    gb.load_gltf(path, client).remove()
    [entry] = folder.glob("*.asset")
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data if content is None else content)
    gb.load_gltf(path, client).remove()
    assert work == BOTH * 2
    gb.load_gltf(path, client).remove()
    assert work == BOTH * 2


def test_files_that_a_robot_shows_may_go(client: int, folder: Path, work: list[str]) -> None:
    path = ASSETS / "ragdoll.gltf"
    gb.load_gltf(path, client).remove()
    for file in [*folder.glob("*.stl"), *folder.glob("*.obj")]:
        file.unlink()
    scene = gb.load_gltf(path, client)
    scene.step(10)
    assert work[:2] == BOTH


@pytest.mark.parametrize("name", ["_others", "write_entry"])
def test_what_cannot_be_kept_is_no_error(
    name: str, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> bytes:
        raise TypeError

    monkeypatch.setattr(kept_assets, name, failing if name == "_others" else lambda *_: None)
    gb.load_gltf(ASSETS / "falling_box.gltf", client).step(1)


def test_sources_without_a_place_leave_nothing(client: int, folder: Path) -> None:
    gb.load_gltf((ASSETS / "falling_box.gltf").read_bytes(), client)
    assert not list(folder.glob("*.asset"))


def test_a_folder_of_the_options_is_the_only_one(tmp_path: Path, client: int, folder: Path) -> None:
    other = tmp_path / "other"
    path, options = ASSETS / "falling_box.gltf", gb.LoadOptions(cache_folder=other)
    gb.load_gltf(path, client, options=options)
    gb.read_asset(path).instantiate(client, options=options)
    assert len(list(other.glob("*.asset"))) == 1
    assert not list(folder.glob("*.asset"))


def test_a_strict_load_still_refuses(client: int) -> None:
    """Of tapered shapes hulls are made, with a warning."""
    path = ASSETS / "shape_zoo.gltf"
    assert "ROUND_SHAPE_APPROXIMATED" in {issue.code for issue in gb.load_gltf(path, client).issues}
    for _ in range(2):
        with pytest.raises(gb.TranslationError):
            gb.load_gltf(path, client, options=gb.LoadOptions(strict=True))
