"""Cameras, distances, glTF nodes per pixel, what follows what, and what pictures leave behind."""

from __future__ import annotations

import math
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.cli.bench_memory import Growth, _growth, can_measure_growth
from tests.physics.scenes import KHR
from tests.runtime.pictures import (
    BLUE,
    GREEN,
    QUAD,
    QUAD_TRIANGLES,
    RED,
    YELLOW,
    assert_pixel,
    assert_sky,
    codes,
    corner_image,
    front_camera,
    front_view,
    loaded,
    png,
    quad,
)
from tools.gltf_builder import GltfBuilder

HEAVY = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1]}}}
FLOATING = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1], "gravityFactor": 0}}}


def two_meshes(builder: GltfBuilder) -> tuple[int, int]:
    """A red and a green quad."""
    red, green = builder.material(color=(1, 0, 0, 1)), builder.material(color=(0, 1, 0, 1))
    return quad(builder, red, None), quad(builder, green, None)


# --- cameras ----------------------------------------------------------------------------------


def camera_scene() -> GltfBuilder:
    """The corner image, 2 m wide at z = 0, seen from z = 4 in two ways and from below once."""
    builder = GltfBuilder()
    texture = builder.texture(builder.image(png(corner_image())))
    builder.node("Quad", mesh=quad(builder, builder.textured(texture)))
    narrow = builder.camera(
        "Narrow", perspective={"yfov": 2 * math.atan(1 / 4), "znear": 0.1, "aspectRatio": 1.0}
    )
    flat = builder.camera(
        "Flat", orthographic={"xmag": 2.0, "ymag": 1.0, "znear": 0.5, "zfar": 10.0}
    )
    builder.node("Front", camera=narrow, translation=(0, 0, 4), scale=(3, 3, 3))
    builder.node("Wide", camera=flat, translation=(0, 0, 4))
    # A quarter turn about its line of sight: what was right is up.
    turned = (0, 0, math.sqrt(0.5), math.sqrt(0.5))
    builder.node("Turned", camera=flat, translation=(0, 0, 4), rotation=turned)
    return builder


def test_a_perspective_camera_of_the_file_fills_the_picture() -> None:
    with loaded(camera_scene()) as scene:
        assert [scene.cameras[node].name for node in scene.cameras] == ["Narrow", "Flat", "Flat"]
        for key in (1, "Front", "Narrow"):
            picture = scene.render(key)
            assert picture.rgb.shape == (800, 800, 3)
            for x, y, color in (
                (0.02, 0.02, RED),
                (0.98, 0.02, GREEN),
                (0.02, 0.98, BLUE),
                (0.98, 0.98, YELLOW),
            ):
                assert_pixel(picture, x, y, color)
        assert np.allclose(picture.depth, 4.0, atol=2e-3)


def test_an_orthographic_camera_of_the_file() -> None:
    with loaded(camera_scene()) as scene:
        picture = scene.render("Wide")
        assert picture.rgb.shape == (400, 800, 3)
        assert_sky(picture, 0.23, 0.5)
        assert_pixel(picture, 0.27, 0.1, RED)
        assert_pixel(picture, 0.73, 0.9, YELLOW)
        assert np.allclose(picture.depth[200, 250:550], 4.0, atol=1e-3)
        assert np.isinf(picture.depth[200, 10])
        turned = scene.render("Turned", (400, 400))
        # The lens shows 4 m x 2 m; a square picture shows all of it.
        # Turned by a quarter counter-clockwise: -X is up, +Y is to the right.
        assert_pixel(turned, 0.45, 0.45, BLUE)
        assert_pixel(turned, 0.55, 0.45, RED)


def test_both_sides_of_a_line_of_sight_are_seen_right_in_parallel_projection() -> None:
    """Back faces are told by the line to the eye: a box aside must show its front only."""
    builder = GltfBuilder()
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.2
    triangles = [
        (0, 1, 2), (1, 3, 2), (4, 6, 5), (5, 6, 7), (0, 4, 1), (1, 4, 5),
        (2, 3, 6), (3, 7, 6), (0, 2, 4), (2, 6, 4), (1, 5, 3), (3, 5, 7),
    ]  # fmt: skip
    box = builder.mesh(corners, triangles)
    builder.node("Box", mesh=box, translation=(0.7, 0, 0))
    with loaded(builder) as scene:
        picture = front_view(scene, pixels=200)
        seen = picture.segmentation == 0
        # The renderer draws the pixels on both edges.
        assert 40 * 40 <= seen.sum() <= 41 * 41
        assert np.allclose(picture.depth[seen], 4.8, atol=1e-3)


def test_a_camera_follows_the_body_that_carries_it() -> None:
    builder = GltfBuilder()
    lens = builder.camera("Eye", perspective={"yfov": 1.0, "znear": 0.01, "zfar": 100.0})
    rider = builder.node("Rider", camera=lens)
    builder.node("Body", children=[rider], extensions=HEAVY, translation=(0, 5, 3))
    builder.node("Quad", mesh=quad(builder))
    with loaded(builder) as scene:
        pybullet.setGravity(0, -9.81, 0, physicsClientId=scene.client_id)
        scene.step(60)
        height = float(scene.world_from_node("Body")[1, 3])
        assert height < 5
        assert scene.cameras["Rider"].world_from_camera[1, 3] == pytest.approx(height)


@pytest.mark.parametrize("key", ["Nobody", 0, 17])
def test_an_unknown_camera_is_a_key_error_that_lists_them(key: int | str) -> None:
    with loaded(camera_scene()) as scene, pytest.raises(KeyError, match="Narrow"):
        scene.render(key)


@pytest.mark.parametrize("arguments", [{"size": (0, 5)}, {"renderer": "ink"}])
def test_wrong_arguments_are_refused(arguments: dict[str, object]) -> None:
    with loaded(camera_scene()) as scene, pytest.raises(ValueError, match=next(iter(arguments))):
        scene.render(**arguments)  # type: ignore[arg-type]


def test_a_box_of_the_moment_frames_as_no_box_does() -> None:
    with loaded(camera_scene()) as scene:
        framed = scene.render_rgb(size=(64, 48))
        assert np.array_equal(scene.render_rgb(size=(64, 48), box=scene.framed_box()), framed)
        low, high = scene.framed_box()
        wider = scene.render_rgb(size=(64, 48), box=(low - 5.0, high + 5.0))
        assert not np.array_equal(wider, framed)


def test_looking_needs_a_direction() -> None:
    with pytest.raises(ValueError, match="no direction of view"):
        gb.Camera.looking((0, 0, 1), (0, 0, 0), up=(0, 0, 1))


@pytest.mark.parametrize(
    ("camera", "code"),
    [
        ({"type": "perspective", "perspective": {"yfov": 1.0}}, "REQUIRED_MISSING"),
        ({"type": "perspective", "perspective": {"yfov": 4, "znear": 1}}, "VALUE_OUT_OF_RANGE"),
        ({"type": "panorama"}, "VALUE_NOT_ALLOWED"),
        (
            {"type": "orthographic", "orthographic": {"xmag": 1, "ymag": 1, "zfar": 0}},
            "VALUE_OUT_OF_RANGE",
        ),
    ],
)
def test_a_wrong_camera_is_left_out(camera: dict[str, object], code: str) -> None:
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.gltf.cameras import read_camera

    builder = GltfBuilder()
    builder._add("cameras", camera)
    builder.node("Eye", camera=0)
    with loaded(builder) as scene:
        assert not scene.cameras
        sink = Diagnostics()
        assert read_camera(scene.asset.document, 0, sink) is None
        assert {issue.code for issue in sink} == {code}


# --- nodes per pixel --------------------------------------------------------------------------


def test_every_pixel_knows_its_gltf_node() -> None:
    """A body of two nodes, scenery of two nodes, a body of somebody else, and nothing."""
    builder = GltfBuilder()
    red, green = two_meshes(builder)
    left = builder.node("Left", mesh=red, translation=(-2, 0, 0))
    right = builder.node("Right", mesh=green)
    body = builder.node("Body", children=[left, right], extensions=FLOATING)
    above = builder.node("Above", mesh=green, translation=(-2, 3, 0))
    beside = builder.node("Beside", mesh=red, translation=(0, 3, 0))
    builder.node("Root", children=[above, beside])
    with loaded(builder) as scene:
        client = scene.client_id
        foreign = pybullet.createMultiBody(
            baseVisualShapeIndex=pybullet.createVisualShape(
                pybullet.GEOM_BOX, halfExtents=[0.5] * 3, physicsClientId=client
            ),
            basePosition=(3, 3, 0),
            physicsClientId=client,
        )
        picture = front_view(scene, half=5.0, pixels=200)

        def seen_at(x: float, y: float) -> int:
            return int(picture.segmentation[int(100 - 20 * y), int(100 + 20 * x)])

        assert seen_at(-2, 0) == left
        assert seen_at(0, 0) == right
        assert seen_at(-2, 3) == above
        assert seen_at(0, 3) == beside
        assert seen_at(3, 3) == -2
        assert seen_at(4, -4) == -1
        # Exact at the border between the two nodes of one body, x = -1.
        row = picture.segmentation[100]
        assert set(row[60:78].tolist()) == {left}
        assert set(row[82:118].tolist()) == {right}
        # The same after the body has moved: 1 m up.
        scene.place_node(body, np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]))
        picture = front_view(scene, half=5.0, pixels=200)
        assert (seen_at(-2, 1.5), seen_at(0, 1.5), seen_at(0, -0.5)) == (left, right, -1)
        count = pybullet.getNumBodies(client)
        pybullet.removeBody(foreign, client)
        scene.remove()
        assert count == 3
        assert pybullet.getNumBodies(client) == 0


def test_collider_visuals_show_collider_nodes() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "assets" / "shape_zoo.gltf"
    with loaded(str(path), gb.LoadOptions(visuals="collider"), "z") as scene:
        picture = scene.render(size=(320, 240))
        seen = set(np.unique(picture.segmentation).tolist()) - {-1}
        colliders = set(scene.physics.colliders)
        assert seen <= colliders
        assert len(seen) > 0.8 * len(colliders)


# --- what follows what ------------------------------------------------------------------------


def test_a_node_below_a_body_is_drawn_where_the_body_is() -> None:
    builder = GltfBuilder()
    _, green = two_meshes(builder)
    child = builder.node("Flag", mesh=green, translation=(0, 2, 0), scale=(0.5, 0.5, 1))
    builder.node("Body", children=[child], extensions=FLOATING)
    with loaded(builder) as scene:
        assert_pixel(front_view(scene, half=4.0), 0.5, 0.25, GREEN)
        # A quarter turn about Z: up becomes left.
        turn = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
        scene.place_node(1, turn)
        picture = front_view(scene, half=4.0)
        assert_pixel(picture, 0.25, 0.5, GREEN)
        assert_sky(picture, 0.5, 0.25)


def test_an_animated_node_without_a_body_is_drawn_where_it_is() -> None:
    """3 m to the right in one second; a child rides along."""
    builder = GltfBuilder()
    red, green = two_meshes(builder)
    child = builder.node("Child", mesh=green, translation=(0, 3, 0))
    mover = builder.node("Mover", mesh=red, children=[child], translation=(-3, 0, 0))
    builder.node("Rock", mesh=red, translation=(0, -3, 0))
    builder.animation("Go", [(mover, "translation", [0, 1], [[-3, 0, 0], [0, 0, 0]])])
    with loaded(builder) as scene:
        assert_pixel(front_view(scene, half=5.0), 0.2, 0.5, RED)
        scene.step(120)
        picture = front_view(scene, half=5.0, pixels=200)
        # Half the way: x = -1.5.
        assert_pixel(picture, 0.35, 0.5, RED)
        assert_pixel(picture, 0.35, 0.2, GREEN)
        assert_pixel(picture, 0.5, 0.8, RED)
        assert picture.segmentation[100, 70] == mover
        assert picture.segmentation[40, 70] == child
        assert codes(scene) == []


def test_a_skin_on_two_bodies_goes_with_both() -> None:
    """Two quads as one skinned mesh; one joint is a body that moves up, the other stays."""
    builder = GltfBuilder()
    points = np.concatenate([np.array(QUAD) + np.array([x, 0, 0]) for x in (-2, 2)])
    triangles = np.concatenate([np.array(QUAD_TRIANGLES), np.array(QUAD_TRIANGLES) + 4])
    for smooth in (False, True):
        builder = GltfBuilder()
        left = builder.node("Left", extensions=FLOATING)
        right = builder.node("Right", extensions=FLOATING)
        weights = np.zeros((8, 4), np.float32)
        weights[:4, 0] = weights[4:, 1] = 1
        if smooth:
            weights[:2, 0], weights[:2, 1] = 0.75, 0.25
        joints = np.tile(np.array([0, 1, 0, 0], np.uint16), (8, 1))
        mesh = builder.mesh(
            points, triangles, attributes={"JOINTS_0": joints, "WEIGHTS_0": weights}
        )
        node = builder.node("Skin", mesh=mesh, skin=builder.skin([left, right]))
        with loaded(builder) as scene:
            assert codes(scene) == (["SKIN_RIGID"] if smooth else [])
            up = np.eye(4)
            up[1, 3] = 2.0
            scene.place_node(right, up)
            picture = front_view(scene, half=4.0, pixels=80)
            assert picture.segmentation[40, 20] == node
            assert picture.segmentation[20, 60] == node
            assert picture.segmentation[45, 60] == -1


def test_morphing_and_growing_meshes_are_drawn_as_at_load_and_named() -> None:
    builder = GltfBuilder()
    mesh = builder.mesh(
        QUAD, QUAD_TRIANGLES, targets=[np.array(QUAD) + np.array([0, 2, 0])], weights=[0.0]
    )
    node = builder.node("Morph", mesh=mesh)
    builder.animation("Wave", [(node, "weights", [0, 1], [0.0, 1.0])])
    with loaded(builder) as scene:
        assert codes(scene) == ["VISUAL_NOT_ANIMATED"]
    builder = GltfBuilder()
    node = builder.node("Grow", mesh=quad(builder))
    builder.animation("Grow", [(node, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]])])
    with loaded(builder) as scene:
        assert codes(scene) == ["VISUAL_NOT_ANIMATED"]


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
        assert sum(len(s.visual.mesh.points) for s in scene.world.shown) <= 2000


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
    with loaded(camera_scene(), gb.LoadOptions(visual_files=as_files)) as scene:
        assert list(own_temp.iterdir()) == []
        assert [mode for mode, _ in modes] == [0o700]
        picture = front_view(scene)
        assert_pixel(picture, 0.25, 0.25, RED)
        assert_pixel(picture, 0.75, 0.75, YELLOW)
        # Again in the same world: the texture is known, the file of the mesh is written anew.
        again = scene.asset.instantiate(
            scene.client_id, position=(0, 2, 0), up_axis="y", options=scene.options
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
