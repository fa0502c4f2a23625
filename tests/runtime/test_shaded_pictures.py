"""Shadows fall where the light says, planes have a line a metre, framing keeps to what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.rendering.pictures import AMBIENT, DIFFUSE, LIGHT_FROM
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.rendering.camera import ESCAPED, course_boxes, framed_box
from gltf_bullet.rendering.shading import FLOOR, LINE_PIXELS, LINES
from gltf_bullet.rendering.solids import STATIC_COLOR
from gltf_bullet.runtime.views.shown_meshes import shown_meshes
from tests.physics.scenes import Jointed, Scenery, world
from tools.gltf_builder import GltfBuilder

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
PIXELS = 400
HALF = 4.0
"""[m] That a picture from above shows to each side."""


def from_above(half: float = HALF) -> gb.Camera:
    """Looks down on the floor of a Z-up world; +y of the world is up in the picture."""
    matrix = np.eye(4)
    matrix[2, 3] = 20.0
    lens = gb.OrthographicLens(half_width=half, half_height=half, far=60.0)
    return gb.Camera(world_from_camera=matrix, lens=lens)


def floating_ball(height: float) -> bytes:
    """A ball that far above a floor of eight metres."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.5)
    scenery.node("Ball", at=(0, height, 0), shape=ball, motion={"mass": 1, "gravityFactor": 0})
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[8, 1, 8]))
    return scenery.bytes()


@pytest.mark.parametrize("height", [1.0, 2.0])
def test_a_shadow_falls_where_the_light_goes_on(height: float) -> None:
    options = gb.LoadOptions(visuals="collider")
    with world(floating_ball(height), up_axis="z", options=options) as scene:
        lit, shaded = (
            scene.render(from_above(), (PIXELS, PIXELS), shadows=on).rgb.astype(float)
            for on in (False, True)
        )
    light = np.array(LIGHT_FROM) / np.linalg.norm(LIGHT_FROM)
    # The ball's own dark side is above the middle; what is left is on the floor.
    ratio = shaded.sum(axis=2) / lit.sum(axis=2)
    rows, columns = np.nonzero(ratio < 0.85)
    pixel = 2.0 * HALF / PIXELS
    x, y = (columns + 0.5) * pixel - HALF, HALF - (rows + 0.5) * pixel
    outside = np.hypot(x, y) > 0.52
    # The middle of the shadow; a sphere's is an ellipse around it, a part of it under the ball.
    middle = -height * light[:2] / light[2]
    along = np.stack([x, y], axis=1)[outside] @ (middle / np.linalg.norm(middle))
    # Its far end: half the long axis, radius over the sine of the light's elevation, beyond.
    assert along.max() == pytest.approx(np.linalg.norm(middle) + 0.5 / light[2], abs=0.06)
    across = np.stack([x, y], axis=1)[outside] @ np.array([-middle[1], middle[0]])
    assert np.abs(across).max() / np.linalg.norm(middle) == pytest.approx(0.5, abs=0.06)
    inside = ratio[outside_of(middle)]
    assert inside == pytest.approx(AMBIENT / (AMBIENT + DIFFUSE * light[2]), abs=0.03)


def outside_of(middle: np.ndarray) -> tuple[int, int]:
    """Row and column of a place on the floor."""
    pixel = 2.0 * HALF / PIXELS
    return int((HALF - middle[1]) / pixel), int((middle[0] + HALF) / pixel)


def test_without_anything_in_between_there_is_no_shadow() -> None:
    """A floor alone, seen at a flat angle, does not shade itself."""
    scenery = Scenery()
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[8, 1, 8]))
    with world(scenery.bytes(), up_axis="z", options=gb.LoadOptions(visuals="collider")) as scene:
        camera = gb.Camera.looking((0, -8, 1.0), (0, 0, 0))
        lit, shaded = (
            scene.render(camera, (300, 200), shadows=on).rgb.astype(float) for on in (False, True)
        )
    assert (np.abs(lit - shaded).max(axis=2) > 8).mean() < 0.02


def test_planes_have_a_line_every_metre() -> None:
    scenery = Scenery()
    scenery.node("Ground", shape=scenery.shape("plane"))
    with world(scenery.bytes(), up_axis="z", options=gb.LoadOptions(visuals="collider")) as scene:
        rgb = scene.render(from_above(), (PIXELS, PIXELS), shadows=False).rgb.astype(float)
    darkness = 1.0 - rgb[:, PIXELS // 2 + PIXELS // 16].mean(axis=1) / FLOOR.mean()
    (_, (_, metre), (_, ten)) = LINES
    # At 50 pixels a metre the lines of ten centimetres are too near each other to be drawn.
    lines = np.flatnonzero((darkness[1:-1] > 0.5 * metre) & (darkness[1:-1] >= darkness[2:]) &
                           (darkness[1:-1] > darkness[:-2])) + 1  # fmt: skip
    places = HALF - (lines + 0.5) * 2.0 * HALF / PIXELS
    assert len(lines) == 2 * HALF - 1
    assert np.abs(places - np.round(places)).max() < 0.02
    # A line between two rows of pixels covers its share of both.
    assert darkness.max() == pytest.approx(ten * (1.5 - 1.0 / LINE_PIXELS), abs=0.02)


def boxes(*centers: tuple[float, float, float]) -> np.ndarray:
    middle = np.array(centers, dtype=float)
    return np.stack([middle - 0.5, middle + 0.5], axis=1)


def test_a_body_that_was_flung_away_does_not_shrink_the_picture() -> None:
    near = boxes((0, 0, 0), (2, 0, 0), (4, 1, 0), (1, 3, 0))
    away = boxes((500, 0, -300))
    for found, wanted in zip(
        framed_box(np.concatenate([near, away]), near[:0]), framed_box(near, near[:0]), strict=True
    ):
        assert np.allclose(found, wanted)
    # Two are no company: either might be the one that matters.
    assert np.allclose(framed_box(boxes((0, 0, 0), (90, 0, 0)), near[:0])[1], [90.5, 0.5, 0.5])


def test_a_film_frames_what_stays() -> None:
    start = boxes((0, 0, 0), (2, 0, 0))
    reach = ESCAPED * 3.0
    gone = boxes((1 + 0.9 * reach, 0, 0), (1 + 1.1 * reach, 0, 0))
    course = course_boxes([start, gone], start[:0])
    assert len(course) == 3
    assert course[:, 1, 0].max() == pytest.approx(1.5 + 0.9 * reach)


def test_files_are_shown_by_what_shows_all_that_moves() -> None:
    for name, wanted in (
        ("toy_blocks", "mesh"), ("bouncing_balls", "auto"), ("ragdoll", "collider"),
    ):  # fmt: skip
        asset = gb.read_asset(str(ASSETS / f"{name}.gltf"))
        assert asset.automatic_visuals == wanted, name


def test_a_film_frames_a_marble_for_as_long_as_it_is_on_its_way() -> None:
    """A marble of 10 cm that rolls 4 m along a ramp: 40 times its size, but always at the ramp."""
    frames = [np.array([[[x, 0, 0], [x + 0.1, 0.1, 0.1]]]) for x in np.linspace(0.0, 4.0, 9)]
    ramp = np.array([[[0.0, -1.0, -0.5], [4.0, 1.0, 0.0]]])
    assert len(course_boxes(frames, ramp)) == 9
    assert len(course_boxes(frames, ramp[:0])) == 1


def test_neither_floors_nor_anchors_of_joints_count_as_moving() -> None:
    scenery = Jointed()
    floor = scenery.node("Floor", shape=scenery.shape("box", size=[40, 0.1, 40]))
    door = scenery.node(
        "Door", at=(0, 1.1, 0), shape=scenery.shape("box", size=[1, 2, 0.05]), motion={"mass": 10}
    )
    hinge = [
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0}, {"angularAxes": [0, 2], "min": 0, "max": 0}
    ]  # fmt: skip
    scenery.join(
        scenery.attachment(floor, (-0.5, 1.1, 0)), scenery.attachment(door, (-0.5, 0, 0)),
        limits=hinge,
    )  # fmt: skip
    with world(scenery.bytes(), options=gb.LoadOptions(visuals="collider")) as scene:
        moving, resting = scene.pictures.boxes()
        assert np.ptp(moving, axis=1) == pytest.approx(np.array([[1.0, 2.0, 0.05]]), abs=0.01)
        assert np.ptp(resting, axis=1).max() == pytest.approx(40.0, abs=0.1)
        picture = scene.render(size=(160, 100))
    assert (picture.segmentation == door).mean() > 0.08


def square(builder: GltfBuilder, half: float) -> int:
    corners = [(-half, 0, -half), (-half, 0, half), (half, 0, half), (half, 0, -half)]
    return builder.mesh(corners, [(0, 1, 2), (0, 2, 3)])


@pytest.mark.parametrize("visuals", ["mesh", "auto"])
def test_a_table_without_a_mesh_is_drawn_and_a_floor_with_one_is_not_drawn_twice(
    visuals: str,
) -> None:
    builder = GltfBuilder()
    shapes = [
        {"type": "box", "box": {"size": [1, 0.5, 1]}}, {"type": "box", "box": {"size": [8, 0.2, 8]}}
    ]  # fmt: skip
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})

    def collider(shape: int) -> dict[str, object]:
        return {"KHR_physics_rigid_bodies": {"collider": {"geometry": {"shape": shape}}}}

    table = builder.node("Table", translation=(0, 0.25, 0), extensions=collider(0))
    builder.node("FloorCollider", translation=(0, -0.1, 0), extensions=collider(1))
    floor = builder.node("Floor", mesh=square(builder, 4.0))
    asset = gb.read_asset(builder.glb())
    assert asset.bare_colliders == {table}
    assert asset.automatic_visuals == "auto"
    with headless_world() as client:
        scene = asset.instantiate(client, options=gb.LoadOptions(visuals=visuals))
        camera = gb.Camera.looking((0, 0, 9), (0, 0, 0), up=(0, 1, 0))
        picture = scene.render(camera, (120, 120))
        seen = picture.segmentation
        labels = [mesh.label for mesh in shown_meshes(scene.core, "auto")]
    assert seen[60, 60] == table
    assert seen[20, 60] == floor
    assert sorted(labels) == ["Floor", "Table"]
    # Grey as static colliders are, and not white.
    assert picture.rgb[60, 60] == pytest.approx(255.0 * np.array(STATIC_COLOR[:3]), abs=12.0)


def test_the_picture_is_filled_by_what_moves() -> None:
    """A ragdoll on a floor that is twenty times as large."""
    with world(
        str(ASSETS / "ragdoll.gltf"), up_axis="z", options=gb.LoadOptions(visuals="collider")
    ) as scene:
        picture = scene.render(size=(320, 200))
        carried = [index for index, node in enumerate(scene.nodes) if node.body is not None]
        covered = np.isin(picture.segmentation, carried)
    rows = np.flatnonzero(covered.any(axis=1))
    assert np.ptp(rows) > 0.5 * 200


def test_a_body_without_a_mesh_shows_its_collider_and_all_others_their_meshes() -> None:
    """A player's capsule is seen among crates, and round: its outline is that of its formula."""
    builder = GltfBuilder()
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    capsule = {"height": 1.0, "radiusBottom": 0.4, "radiusTop": 0.4}
    shapes = [{"type": "box"}, {"type": "capsule", "capsule": capsule}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    green = builder.material(color=(0.0, 1.0, 0.0, 1.0))
    for name, place, shape in (("Crate", -2.0, 0), ("Player", 0.0, 1)):
        physics = {"motion": {}, "collider": {"geometry": {"shape": shape}}}
        mesh = {"mesh": builder.mesh(corners, faces, material=green)} if shape == 0 else {}
        extensions = {"KHR_physics_rigid_bodies": physics}
        builder.node(name, translation=(place, 0, 0), extensions=extensions, **mesh)
    asset = gb.read_asset(builder.glb())
    assert asset.automatic_visuals == "auto"
    with headless_world() as client:
        options = gb.LoadOptions(visuals="auto")
        scene = asset.instantiate(client, up_axis="y", options=options)
        matrix = np.eye(4)
        matrix[2, 3] = 10.0
        lens = gb.OrthographicLens(half_width=3.0, half_height=2.0, far=20.0)
        picture = scene.render(gb.Camera(world_from_camera=matrix, lens=lens), size=(600, 400))
    red, green_part = picture.rgb[..., 0].astype(int), picture.rgb[..., 1].astype(int)
    crate, player = green_part > red + 40, red > green_part + 40
    assert crate.sum() / 100**2 == pytest.approx(1.0, abs=0.03)
    area = np.pi * 0.4**2 + 0.8 * 1.0
    assert player.sum() / 100**2 == pytest.approx(area, rel=0.02)
