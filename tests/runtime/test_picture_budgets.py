"""How much render meshes and textures may cost, and what pictures leave behind."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tests.physics.scenes import KHR
from tests.runtime.pictures import (
    QUAD,
    RED,
    YELLOW,
    assert_pixel,
    camera_scene,
    codes,
    corner_image,
    front_camera,
    front_view,
    loaded,
    png,
    quad,
)
from tools.bench.memory import Growth, _growth, can_measure_growth
from tools.gltf_builder import GltfBuilder

HEAVY = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1]}}}
FLOATING = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1], "gravityFactor": 0}}}


def two_meshes(builder: GltfBuilder) -> tuple[int, int]:
    """A red and a green quad."""
    red, green = builder.material(color=(1, 0, 0, 1)), builder.material(color=(0, 1, 0, 1))
    return quad(builder, red, None), quad(builder, green, None)


# --- how much ---------------------------------------------------------------------------------


def bumpy(count: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.linspace(-1, 1, count), np.linspace(-1, 1, count))
    points = np.stack([x, y, 0.05 * np.sin(9 * x) * np.cos(9 * y)], axis=-1).reshape(-1, 3)
    ids = np.arange(count * count).reshape(count, count)
    a, b, c, d = (ids[:-1, :-1], ids[:-1, 1:], ids[1:, 1:], ids[1:, :-1])
    return points, np.concatenate(
        [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
    )


def test_a_mesh_beyond_the_engines_limit_is_drawn_coarser() -> None:
    """250 000 triangles: PyBullet takes 174 762 from memory."""
    points, triangles = bumpy(355)
    builder = GltfBuilder()
    normals = np.tile(np.array([0, 0, 1], np.float32), (len(points), 1))
    builder.node("Sheet", mesh=builder.mesh(points, triangles, attributes={"NORMAL": normals}))
    with loaded(builder) as scene:
        (issue,) = scene.issues
        assert issue.code == "VISUAL_REDUCED"
        picture = front_view(scene, half=1.2, pixels=120)
        seen = picture.segmentation == 0
        assert seen.mean() == pytest.approx((1 / 1.2) ** 2, rel=0.03)
        # The surface is where it was: 5 m away, give or take the bumps.
        assert np.abs(picture.depth[seen] - 5.0).max() < 0.05 + issue.values["deviation"] + 1e-3


def test_the_vertex_budget_counts_every_body() -> None:
    points, triangles = bumpy(21)
    builder = GltfBuilder()
    normals = np.tile(np.array([0, 0, 1], np.float32), (len(points), 1))
    mesh = builder.mesh(points, triangles, attributes={"NORMAL": normals})
    for k in range(10):
        builder.node(f"Body{k}", mesh=mesh, extensions=FLOATING, translation=(3 * k, 0, 0))
    with loaded(builder, gb.LoadOptions(visual_vertices=4410)) as scene:
        assert codes(scene) == []
    with loaded(builder, gb.LoadOptions(visual_vertices=2000)) as scene:
        assert set(codes(scene)) == {"VISUAL_REDUCED"}
        assert sum(len(s.visual.mesh.points) for s in scene.core.world.shown) <= 2000


def test_the_texel_budget_makes_textures_coarser() -> None:
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image(128))))
    material = builder.textured(texture)
    for k in range(4):
        node = builder.node(
            f"B{k}", mesh=quad(builder, material), extensions=FLOATING, translation=(3 * k, 0, 0)
        )
    assert node == 3
    with loaded(builder, gb.LoadOptions(visual_texels=4 * 128 * 128)) as scene:
        assert codes(scene) == []
    with loaded(builder, gb.LoadOptions(visual_texels=4 * 64 * 64)) as scene:
        assert codes(scene) == ["TEXTURE_REDUCED"]
        assert_pixel(front_view(scene), 0.25, 0.25, RED)


# --- what is left behind ----------------------------------------------------------------------


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("as_files", [False, True])
def test_no_file_is_left_behind_and_files_are_private(
    own_temp: Path, monkeypatch: pytest.MonkeyPatch, as_files: bool
) -> None:
    modes = []
    load = pybullet.loadTexture

    def watched(path: str, **arguments: int) -> int:
        modes.append((os.stat(os.path.dirname(path)).st_mode & 0o777, path))
        result: int = load(path, **arguments)
        return result

    monkeypatch.setattr(pybullet, "loadTexture", watched)
    options = gb.LoadOptions(visual_files=as_files)
    with loaded(camera_scene(), options) as scene:
        assert list(own_temp.iterdir()) == []
        assert [mode for mode, _ in modes] == [0o700]
        picture = front_view(scene)
        assert_pixel(picture, 0.25, 0.25, RED)
        assert_pixel(picture, 0.75, 0.75, YELLOW)
        # Again in the same world: the texture is known, the file of the mesh is written anew.
        again = scene.asset.instantiate(
            scene.client_id, position=(0, 2, 0), up_axis="y", options=options
        )
        assert list(own_temp.iterdir()) == []
        assert len(modes) == 1
        assert_pixel(front_view(again, half=4.0), 0.4, 0.2, RED)
        again.remove()
        scene.remove()
        assert list(own_temp.iterdir()) == []


def test_a_failing_load_leaves_no_file(own_temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str, **_: int) -> int:
        assert os.path.exists(path)
        raise pybullet.error("no")

    monkeypatch.setattr(pybullet, "loadTexture", broken)
    with pytest.raises(pybullet.error, match="no"), loaded(camera_scene()):
        pass
    assert list(own_temp.iterdir()) == []


def textured_bytes() -> bytes:
    """A body of two textured nodes over a textured floor."""
    builder = GltfBuilder()
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3))
    first = builder.textured(builder.texture(builder.image(png(corner_image(64)))))
    second = builder.textured(builder.texture(builder.image(png(noise))))
    left = builder.node("A", mesh=quad(builder, first), translation=(-1, 2, 0))
    right = builder.node("B", mesh=quad(builder, second), translation=(1, 2, 0))
    builder.node("Body", children=[left, right], extensions=HEAVY)
    builder.node("Floor", mesh=quad(builder, second))
    return builder.glb()


def our_growth(cycles: int) -> tuple[Growth, int]:
    """Of load/render/remove cycles; and how many clients are open at the end."""
    asset = gb.read_asset(textured_bytes())
    camera = front_camera(4.0)

    with headless_world() as client:

        def cycle() -> None:
            scene = asset.instantiate(client, up_axis="y")
            seen = np.unique(scene.render(camera, (64, 48)).segmentation)
            assert {0, 1} <= set(seen.tolist())
            scene.remove()

        growth = _growth(cycle, cycles, client)
        return growth, sum(pybullet.isConnected(k) for k in range(64))


def bare_growth(cycles: int) -> Growth:
    """Bare PyBullet doing the same: two bodies with a texture, a picture, a body of a moment."""
    arguments = {
        "vertices": [list(map(float, point)) for point in QUAD],
        "indices": [0, 1, 2, 0, 2, 3],
        "normals": [[0.0, 0.0, 1.0]] * 4,
        "uvs": [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
    }
    view = pybullet.computeViewMatrix([0, 0, 5], [0, 0, 0], [0, 1, 0])
    projection = pybullet.computeProjectionMatrixFOV(60, 4 / 3, 0.1, 10)
    with tempfile.TemporaryDirectory() as folder, headless_world() as client:
        path = os.path.join(folder, "image.png")
        Path(path).write_bytes(png(corner_image(64)))
        ball = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client
        )
        shape = pybullet.createVisualShape(pybullet.GEOM_MESH, physicsClientId=client, **arguments)
        texture = pybullet.loadTexture(path, physicsClientId=client)

        def cycle() -> None:
            bodies = [
                pybullet.createMultiBody(1, baseVisualShapeIndex=shape, physicsClientId=client)
                for _ in range(2)
            ]
            for body in bodies:
                pybullet.changeVisualShape(
                    body, -1, textureUniqueId=texture, physicsClientId=client
                )
            bodies.append(pybullet.createMultiBody(0, ball, physicsClientId=client))
            pybullet.getCameraImage(
                64, 48, view, projection, renderer=pybullet.ER_TINY_RENDERER,
                physicsClientId=client,
            )  # fmt: skip
            for body in bodies:
                pybullet.removeBody(body, physicsClientId=client)

        return _growth(cycle, cycles, client)


@pytest.mark.slow
@pytest.mark.skipif(not can_measure_growth(), reason="needs mallinfo2 of glibc")
def test_200_cycles_of_load_render_remove_grow_no_more_than_bare_pybullet() -> None:
    cycles = 200
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        ours, clients = pool.submit(our_growth, cycles).result()
        bare = pool.submit(bare_growth, cycles).result()
    assert ours.bodies_and_constraints == (0, 0)
    assert clients == 1
    assert ours.heap_kb <= bare.heap_kb + 0.1 * cycles, (ours, bare)
    assert ours.python_blocks <= bare.python_blocks + 2 * cycles, (ours, bare)
