"""Cameras, distances, glTF nodes per pixel, and what follows what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest
from PIL import Image

import gltf_bullet as gb
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
    camera_scene,
    codes,
    front_view,
    loaded,
    quad,
)
from tools.gltf_builder import GltfBuilder

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"

HEAVY = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1]}}}
FLOATING = {KHR: {"motion": {"mass": 1, "inertiaDiagonal": [1, 1, 1], "gravityFactor": 0}}}


def two_meshes(builder: GltfBuilder) -> tuple[int, int]:
    """A red and a green quad."""
    red, green = builder.material(color=(1, 0, 0, 1)), builder.material(color=(0, 1, 0, 1))
    return quad(builder, red, None), quad(builder, green, None)


# --- cameras ----------------------------------------------------------------------------------


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
        framed = scene.pictures.rgb(size=(64, 48))
        assert np.array_equal(
            scene.pictures.rgb(size=(64, 48), box=scene.pictures.framed_box()), framed
        )
        low, high = scene.pictures.framed_box()
        wider = scene.pictures.rgb(size=(64, 48), box=(low - 5.0, high + 5.0))
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
        scene.set(f"/nodes/{body}/translation", (0, 1, 0))
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
        colliders = set(scene.core.model.now.colliders)
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
        scene.set("/nodes/1/rotation", (0, 0, 0.5**0.5, 0.5**0.5))
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
            scene.set(f"/nodes/{right}/translation", (0, 2, 0))
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


def test_a_picture_is_saved_where_its_folder_is_made(tmp_path: Path) -> None:
    rgb = np.zeros((4, 6, 3), dtype=np.uint8)
    rgb[:, 3:] = (10, 200, 30)
    empty = np.zeros((0, 0))
    picture = gb.Picture(
        rgb=rgb, depth=empty.astype(np.float32), segmentation=empty.astype(np.int32)
    )
    target = tmp_path / "new" / "deeper" / "seen.png"
    picture.save(target)
    assert (np.asarray(Image.open(target)) == rgb).all()
    with pytest.raises(ValueError, match=r"must end in .png"):
        picture.save(tmp_path / "seen.doc")


@pytest.mark.parametrize("name", ["ragdoll", "shape_zoo", "goal_line"])
def test_a_picture_shows_colliders_of_what_has_no_mesh(name: str) -> None:
    """As ``visuals="auto"`` has it, but without other bodies for it."""
    path = str(ASSETS / f"{name}.gltf")
    pictures = []
    for visuals in ("mesh", gb.read_asset(path).automatic_visuals):
        with loaded(path, gb.LoadOptions(visuals=visuals), "z") as scene:
            scene.step(30)
            count = pybullet.getNumBodies(scene.client_id)
            pictures.append(scene.render(size=(240, 180)))
            assert pybullet.getNumBodies(scene.client_id) == count
    ours, theirs = pictures
    differs = np.abs(ours.rgb.astype(int) - theirs.rgb).max(axis=2) > 24
    assert differs.mean() < 0.02  # edges
    # A plane without an end goes on a little further for the engine.
    assert (ours.segmentation != theirs.segmentation).mean() < 0.03
    near = np.isfinite(ours.depth) & np.isfinite(theirs.depth) & ~differs
    assert np.abs(ours.depth[near] - theirs.depth[near]).max() < 0.05


def test_triggers_lie_over_the_colours_alone() -> None:
    with loaded(str(ASSETS / "sorting_gate.gltf"), gb.LoadOptions(), "z") as scene:
        plain = scene.render(size=(240, 180), shadows=False)
        veiled = scene.render(size=(240, 180), shadows=False, triggers=True)
    changed = (plain.rgb != veiled.rgb).any(axis=2)
    assert 0.003 < changed.mean() < 0.5
    more = veiled.rgb.astype(int) - plain.rgb
    assert (more[changed][:, 0] > more[changed][:, 1]).mean() > 0.95  # towards magenta
    assert (plain.depth == veiled.depth).all()
    assert (plain.segmentation == veiled.segmentation).all()


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("shadows", [False, True])
def test_pictures_of_one_row_or_column(size: tuple[int, int], shadows: bool) -> None:
    with loaded(camera_scene()) as scene:
        picture = scene.render("Front", size=size, shadows=shadows, triggers=True)
        width, height = size
        assert picture.rgb.shape == picture.points().shape == (height, width, 3)
        # The middle of a large picture is the middle of a small one.
        large = scene.render("Front", size=(51, 51), shadows=shadows)
        assert picture.depth[height // 2, width // 2] == pytest.approx(large.depth[25, 25], rel=0.1)
