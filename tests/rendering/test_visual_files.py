"""Files that PyBullet reads meshes from: what they say, read back by the formats' own rules."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.bullet.rendering.visual_files import mesh_file
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


def lines(content: bytes, word: str) -> FloatArray:
    rows = [line.split()[1:] for line in content.decode().splitlines() if line.split()[0] == word]
    return np.array(rows, dtype=np.float64)


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
    assert np.abs(lines(data, "v") - bent.points).max() <= 0.5001 * digit
    assert np.abs(lines(data, "vn") - bent.normals).max() <= 1e-8
    assert b"vt" not in data
    assert data.splitlines()[-2:] == [b"f 1//1 2//2 3//3", b"f 4//4 5//5 6//6"]


def test_textured_triangles_are_obj_with_v_upwards() -> None:
    texture = Texture(np.zeros((2, 2, 3), dtype=np.uint8))
    textured = mesh(texture=texture)
    suffix, content = mesh_file(textured)
    data = content()
    assert suffix == ".obj"
    u, v = textured.uvs.T
    assert lines(data, "vt") == pytest.approx(np.stack([u, 1.0 - v], axis=1), abs=1e-8)
    assert data.splitlines()[-1] == b"f 4/4/4 5/5/5 6/6/6"


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
