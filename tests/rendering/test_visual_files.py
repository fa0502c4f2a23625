"""Files that PyBullet reads meshes from: what they say, read back by the formats' own rules."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.rendering.visual_files import MeshFiles, mesh_file
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.rendering.visual_plans import Texture, VisualMesh
from gltf_bullet.transforms import FloatArray
from tools.gltf_builder import GltfBuilder

TRIANGLES = np.array([[0, 1, 2], [3, 4, 5]])


def mesh(*, scale: float = 1.0, is_flat: bool = True, texture: Texture | None = None) -> VisualMesh:
    rng = np.random.default_rng(3)
    normals = rng.normal(size=(2 if is_flat else 6, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    uvs = rng.uniform(size=(6, 2))
    points = scale * rng.normal(size=(6, 3))
    normals = np.repeat(normals, 3, axis=0) if is_flat else normals
    return VisualMesh(points, normals, TRIANGLES, texture=texture, uvs=uvs)


def rows(content: bytes, word: str) -> list[list[str]]:
    return [row[1:] for line in content.decode().splitlines() if (row := line.split())[0] == word]


def corners(content: bytes, word: str, place: int) -> FloatArray:
    """What the faces' corners have of a kind of row, by its place between the slashes."""
    values = np.array(rows(content, word), dtype=np.float64)
    numbers = [int(corner.split("/")[place]) for face in rows(content, "f") for corner in face]
    return values[np.array(numbers) - 1]


def test_flat_triangles_are_stl() -> None:
    flat = mesh()
    suffix, content = mesh_file(flat)
    data = content()
    (count,) = struct.unpack_from("<I", data, 80)
    assert (suffix, count, len(data)) == (".stl", 2, 84 + 2 * 50)
    for k, corners in enumerate(TRIANGLES):
        numbers = struct.unpack_from("<12f", data, 84 + 50 * k)
        expected = [*flat.normals[corners[0]], *flat.points[corners].reshape(-1)]
        assert numbers == pytest.approx(expected, rel=2.0**-23)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 3e5])
def test_bent_triangles_are_obj_with_nine_digits(scale: float) -> None:
    bent = mesh(scale=scale, is_flat=False)
    suffix, content = mesh_file(bent)
    data = content()
    assert suffix == ".obj"
    # Half a unit of the ninth digit of the largest number.
    digit = 10.0 ** (np.floor(np.log10(np.abs(bent.points).max())) - 8)
    assert np.abs(corners(data, "v", 0) - bent.points).max() <= 0.5001 * digit
    assert np.abs(corners(data, "vn", 2) - bent.normals).max() <= 1e-8
    assert b"vt" not in data


def test_textured_triangles_are_obj_with_v_upwards() -> None:
    texture = Texture(np.zeros((2, 2, 3), dtype=np.uint8))
    textured = mesh(texture=texture)
    suffix, content = mesh_file(textured)
    data = content()
    assert suffix == ".obj"
    u, v = textured.uvs.T
    assert corners(data, "vt", 1) == pytest.approx(np.stack([u, 1.0 - v], axis=1), abs=1e-8)
    assert np.abs(corners(data, "v", 0) - textured.points).max() <= 1e-8
    assert np.abs(corners(data, "vn", 2) - textured.normals).max() <= 1e-8


def test_corners_that_share_a_point_or_a_normal_share_its_row() -> None:
    """PyBullet reads the text again for every copy of a robot."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    up, aside = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    folded = VisualMesh(
        points[[0, 1, 2, 2, 1, 3]], np.array([up, up, up, up, aside, aside]), TRIANGLES
    )
    _, content = mesh_file(folded)
    assert len(rows(content(), "v")) == len(points)
    assert len(rows(content(), "vn")) == len([up, aside])


@pytest.mark.parametrize("as_files", [False, True])
def test_a_collider_without_triangles_is_drawn_as_nothing(*, as_files: bool) -> None:
    """The engine refuses such a visual shape."""
    builder = GltfBuilder()
    mesh = builder.mesh(np.vstack([np.eye(3), np.zeros(3)]), np.zeros((0, 3), dtype=np.uint32))
    shown = builder.node("Points", mesh=mesh)
    body = {"motion": {"mass": 1.0}, "collider": {"geometry": {"node": shown}}}
    builder.node("Nothing", extensions={"KHR_physics_rigid_bodies": body})
    options = gb.LoadOptions(visuals="collider", visual_files=as_files)
    with headless_world() as client:
        scene = gb.load_gltf(builder.gltf(), client, options=options)
        scene.step()


def test_meshes_are_written_again_when_the_folder_above_them_is_gone() -> None:
    """As in a fork, whose parent has ended; but not where somebody else has made it meanwhile."""
    files, shown = MeshFiles(), mesh()
    path = Path(files.path(shown))
    shutil.rmtree(path.parents[1])
    assert files.path(shown) == str(path)
    assert path.is_file()
    shutil.rmtree(path.parents[1])
    path.parents[1].mkdir()
    path.parents[1].chmod(0o777)
    with pytest.raises(PermissionError):
        files.path(shown)
    shutil.rmtree(path.parents[1])
