"""Meshes that were baked once on a machine: equal in every process, made anew where in doubt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.rendering import visual_files
from gltf_bullet.bullet.rendering.visual_files import link_file
from gltf_bullet.rendering import render_meshes
from gltf_bullet.rendering.visual_plans import VisualMesh, VisualPlans
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.recent import recent_translation
from tools.gltf_builder import GltfBuilder
from tools.stored_png import stored_png

SIDE = 60
"""Of a square of points: 3600 of 32 bytes are more than are baked as fast as they are read."""


def square(*, height: float = 0.0, image: str | None = None) -> bytes:
    """A body that shows a square of many triangles with a picture, in the file or beside it."""
    builder = GltfBuilder()
    x, y = (axis.ravel() for axis in np.meshgrid(*[np.linspace(0, 1, SIDE)] * 2))
    first = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)[:-1, :-1].ravel()
    texture = builder.texture(builder.image(picture()))
    mesh = builder.mesh(
        np.stack([x, y, height * x], axis=1),
        np.stack([first, first + 1, first + SIDE], axis=1),
        material=builder.material(
            pbrMetallicRoughness={"baseColorTexture": {"index": texture}}, doubleSided=True
        ),
        attributes={
            "NORMAL": np.tile([0.0, 0.0, 1.0], (len(x), 1)).astype(np.float32),
            "TEXCOORD_0": np.stack([x, y], axis=1).astype(np.float32),
        },
    )
    motion = {"KHR_physics_rigid_bodies": {"motion": {"mass": 1.0}}}
    builder.node("Square", mesh=mesh, extensions=motion)
    root = builder.json()
    if image is not None:
        root["images"] = [{"uri": image}]
    return json.dumps(root).encode()


def picture(shade: int = 200) -> bytes:
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[::2, ::2] = shade
    return stored_png(pixels)


@pytest.fixture
def bakes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each mesh that was baked and not read."""
    made: list[int] = []
    merged = render_meshes.merged

    def counting(*arguments: Any) -> VisualMesh:
        made.append(len(made))
        return merged(*arguments)

    monkeypatch.setattr(render_meshes, "merged", counting)
    return made


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., VisualPlans]:
    """The visuals of a file that is read as if by another process."""

    def planned(source: bytes | Path, **options: Any) -> VisualPlans:
        chosen = gb.LoadOptions(cache_folder=tmp_path / "kept", **options)
        return recent_translation(read_asset(source), Placement.of(), chosen).visuals

    return planned


def same(one: VisualPlans, other: VisualPlans) -> bool:
    (mesh,), (again,) = ([v.mesh for v in plans.bodies.values()] for plans in (one, other))
    names = ("points", "normals", "triangles", "uvs", "part_of_triangle")
    assert mesh.texture is not None
    assert again.texture is not None
    return (
        all(np.array_equal(getattr(mesh, name), getattr(again, name)) for name in names)
        and np.array_equal(mesh.texture.pixels, again.texture.pixels)
        and (mesh.digest, mesh.color, mesh.texture.digest)
        == (again.digest, again.color, again.texture.digest)
    )


def test_a_mesh_is_baked_once(plan: Callable[..., VisualPlans], bakes: list[int]) -> None:
    assert same(plan(square()), plan(square()))
    assert len(bakes) == 1


def test_another_file_is_baked_anew(plan: Callable[..., VisualPlans], bakes: list[int]) -> None:
    assert not same(plan(square()), plan(square(height=0.1)))
    assert len(bakes) == 2


def test_another_picture_beside_the_file_is_another_file(
    plan: Callable[..., VisualPlans], bakes: list[int], tmp_path: Path
) -> None:
    (tmp_path / "square.gltf").write_bytes(square(image="picture.png"))
    (tmp_path / "picture.png").write_bytes(picture(200))
    first = plan(tmp_path / "square.gltf")
    assert same(first, plan(tmp_path / "square.gltf"))
    (tmp_path / "picture.png").write_bytes(picture(100))
    assert not same(first, plan(tmp_path / "square.gltf"))
    assert len(bakes) == 2


@pytest.mark.parametrize("suffix", ["meshes", "texels"])
@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_damaged_entries_are_none(
    plan: Callable[..., VisualPlans],
    bakes: list[int],
    tmp_path: Path,
    suffix: str,
    damage: str,
) -> None:
    first = plan(square())
    (entry,) = (tmp_path / "kept").glob(f"*.{suffix}")
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.unlink()
    if damage != "gone":
        entry.write_bytes(data[:-40] if damage == "cut" else data)
    assert same(first, plan(square()))
    assert len(bakes) == 2


def test_what_has_findings_is_baked_anew(tmp_path: Path, bakes: list[int]) -> None:
    missing = square(image="picture.png")
    (tmp_path / "square.gltf").write_bytes(missing)
    for _ in range(2):
        translation = recent_translation(
            read_asset(tmp_path / "square.gltf"),
            Placement.of(),
            gb.LoadOptions(cache_folder=tmp_path / "kept"),
        )
        assert "IMAGE_MISSING" in {issue.code for issue in translation.issues}
    assert len(bakes) == 2


def test_the_budget_is_kept_to_all_the_same(plan: Callable[..., VisualPlans]) -> None:
    (whole,) = (visual.mesh for visual in plan(square()).bodies.values())
    (fewer,) = (
        v.mesh for v in plan(square(), visual_vertices=len(whole.points) // 2).bodies.values()
    )
    assert len(fewer.points) <= len(whole.points) // 2


def test_files_for_the_engine_are_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Callable[..., VisualPlans]
) -> None:
    (mesh,) = (visual.mesh for visual in plan(square()).bodies.values())
    path = link_file(mesh, tmp_path)
    content = Path(path).read_bytes()
    with monkeypatch.context() as nothing_to_write:
        nothing_to_write.setattr(visual_files, "mesh_file", None)
        assert link_file(mesh, tmp_path) == path
    Path(path).unlink()
    assert link_file(mesh, tmp_path) == path
    assert Path(path).read_bytes() == content


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    plans = recent_translation(
        read_asset(square()),
        Placement.of(),
        gb.LoadOptions(cache_folder=tmp_path / "file" / "kept"),
    ).visuals
    (mesh,) = (visual.mesh for visual in plans.bodies.values())
    assert Path(link_file(mesh, tmp_path / "file" / "kept")).exists()
