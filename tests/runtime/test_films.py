"""Films of recordings: what is drawn, how much of it, and into which files."""

from __future__ import annotations

from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pybullet
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.records import replace
from gltf_bullet.rendering.camera import framed_box, framing_camera
from gltf_bullet.rendering.film_files import SHEET_GAP, SHEET_WIDTH, filmstrip
from gltf_bullet.rendering.shading import FLOOR
from gltf_bullet.runtime.views.film_export import FilmLook, film_frames

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def height_of(pixels: np.ndarray, more: int = 0, than: int = 2) -> float:
    """Mean row, from above, of what is stronger in one channel than in another."""
    values = pixels.astype(int)
    rows, _ = np.nonzero(values[..., more] > values[..., than] + 40)
    assert len(rows)
    return float(rows.mean())


def fallen(client: int, seconds: float) -> gb.Recording:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    recording = gb.record(scene)
    scene.step(round(240 * seconds))
    return recording


def test_a_movie_and_a_gif_have_the_frames_of_their_rate(client: int, tmp_path: Path) -> None:
    recording = fallen(client, 0.5)
    movie, gif = tmp_path / "made" / "a.mp4", tmp_path / "made" / "a.gif"
    recording.export_film(movie, size=(96, 64), fps=20)
    recording.export_film(gif, size=(96, 64), fps=20)
    frames = [np.asarray(frame) for frame in imageio.get_reader(movie)]
    assert [frame.shape for frame in frames] == [(64, 96, 3)] * 11  # 0, 0.05, ... 0.5 s
    assert height_of(frames[-1]) > height_of(frames[0]) + 3
    with Image.open(gif) as animation:
        assert animation.n_frames == 11


def test_a_sheet_has_rows_and_the_first_and_last_moment(client: int, tmp_path: Path) -> None:
    recording = fallen(client, 0.5)
    recording.export_film(tmp_path / "a.png", size=(160, 100), frames=6)
    sheet = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    label = (sheet.shape[0] - 2 * 100) // 2
    assert sheet.shape == (2 * (100 + label), 3 * 160 + 2 * SHEET_GAP, 3)
    first, last = sheet[:100, :160], sheet[100 + label : 200 + label, -160:]
    assert height_of(last) > height_of(first) + 5
    assert (sheet[100 : 100 + label].min(axis=2) < 100).any(), "the times"


@pytest.mark.parametrize(
    ("count", "size", "shape"),
    # columns and rows whose aspect is nearest to 1.8 with nothing left empty
    [
        (6, (960, 600), (3, 2)),
        (4, (100, 100), (2, 2)),
        (8, (100, 200), (4, 2)),
        (2, (90, 90), (2, 1)),
    ],
)
def test_sheets_are_no_wider_than_a_screen(
    count: int, size: tuple[int, int], shape: tuple[int, int]
) -> None:
    sheet = filmstrip([(0.1 * k, np.zeros((*size[::-1], 3), np.uint8)) for k in range(count)])
    columns, rows = shape
    assert sheet.shape[1] <= SHEET_WIDTH
    width = min(size[0], (SHEET_WIDTH - (columns - 1) * SHEET_GAP) // columns)
    assert sheet.shape[1] == columns * (width + SHEET_GAP) - SHEET_GAP
    height = round(size[1] * width / size[0])
    assert rows * height < sheet.shape[0] < rows * (height + max(23, 0.1 * height))


def test_a_film_of_a_world_shows_robots_beside_scenes(client: int, tmp_path: Path) -> None:
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.3, physicsClientId=client)
    green = pybullet.createVisualShape(
        pybullet.GEOM_SPHERE, radius=0.3, rgbaColor=[0.1, 0.9, 0.1, 1], physicsClientId=client
    )
    pybullet.createMultiBody(1.0, ball, green, [2.0, 0.0, 2.0], physicsClientId=client)
    gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    recording = gb.record_world(client)
    recording.step(96)
    recording.export_film(tmp_path / "a.png", size=(160, 100), frames=2)
    sheet = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    first, last = sheet[:100, :160], sheet[:100, -160:]
    assert height_of(last, 1, 0) > height_of(first, 1, 0) + 5  # it falls 0.78 m
    height_of(first)  # the door is there


def test_a_recorded_world_steps_its_scenes(client: int) -> None:
    arm = gb.load_gltf(ASSETS / "six_axis_arm.gltf", client)
    arm.set_drive_targets(np.full(6, 0.4))
    gb.record_world(client).step(480)
    held = arm.joint_controls.drive_states()[0]
    assert held == pytest.approx(np.full(6, 0.4), abs=0.05)
    assert not [issue for issue in arm.issues if issue.code == "STEPPED_WITHOUT_SCENE"]


def test_what_is_no_film_is_refused(client: int, tmp_path: Path) -> None:
    recording = fallen(client, 0.1)
    for name, arguments, message in (
        ("a.avi", {}, "must end in"),
        ("a.gif", {"fps": 0.0}, "fps"),
        ("a.gif", {"size": (0, 10)}, "size"),
        ("a.png", {"frames": 1}, "frames"),
        ("a.png", {"visuals": "none"}, "visuals"),
    ):
        with pytest.raises(ValueError, match=message):
            recording.export_film(tmp_path / name, **arguments)
    assert not list(tmp_path.iterdir())


SIZE = (160, 100)


@pytest.mark.parametrize("name", ["toy_blocks", "goal_line", "ragdoll"])
@pytest.mark.parametrize("travels", [False, True])
def test_the_layers_of_a_film_are_the_pictures_of_its_moments(
    client: int, name: str, travels: bool
) -> None:
    """Glass, triggers, textures, floors and shadows, before a camera that rests or travels."""
    asset = gb.read_asset(ASSETS / f"{name}.gltf")
    best = asset.automatic_visuals
    scene = asset.instantiate(client, options=gb.LoadOptions(visuals=best))
    moving, resting = scene.pictures.boxes()
    box = framed_box(moving, resting)
    still = framing_camera(moving, resting, scene.core.placement.up, SIZE[0] / SIZE[1])
    places, cameras, pictures = [], [], []
    for number in range(4):
        camera = still
        if travels:
            matrix = still.world_from_camera.copy()
            matrix[0, 3] += 0.05 * number
            camera = replace(still, world_from_camera=matrix)
        cameras.append(camera)
        places.append(scene.core.nodes.world_from_node.copy())
        pictures.append(scene.pictures.rgb(camera, SIZE, shadows=box, triggers=True))
        scene.step(60)
    look = FilmLook(size=SIZE, fps=30.0, frames=2, camera=None, visuals=best)
    drawn = list(film_frames(scene.core, places, look, cameras=cameras, shadows_of=box))
    assert np.abs(pictures[3].astype(int) - pictures[0]).max() > 50, "something moves"
    for frame, picture in zip(drawn, pictures, strict=True):
        differs = np.abs(frame.astype(int) - picture).max(axis=2)
        # Outlines, and the shade on what is at the edge of glass.
        assert (differs > 1).mean() < 0.0015
        assert differs.mean() < 0.04


def test_what_rests_is_drawn_once(client: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []
    draw = pybullet.getCameraImage

    def counted(width: int, height: int, *arguments: object, **named: object) -> object:
        sizes.append((width, height))
        return draw(width, height, *arguments, **named)

    monkeypatch.setattr(pybullet, "getCameraImage", counted)
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    start = scene.core.nodes.world_from_node.copy()
    scene.step(48)
    end = scene.core.nodes.world_from_node.copy()
    look = FilmLook(size=SIZE, fps=30.0, frames=2, camera=None, visuals="auto")
    frames = list(film_frames(scene.core, [start] * 5 + [end] * 5, look))
    # The floor, by light and by camera; then the box, by both, at two places.
    assert len(sizes) == 2 + 2 * 2
    assert sum(width * height for width, height in sizes[3::2]) < 0.3 * SIZE[0] * SIZE[1] * 2
    assert all(np.array_equal(frame, frames[0]) for frame in frames[:5])
    assert height_of(frames[-1]) > height_of(frames[0]) + 5


def test_a_film_shows_the_floors_of_others_and_its_progress(client: int, tmp_path: Path) -> None:
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
    pybullet.createMultiBody(0.0, plane, physicsClientId=client)
    shares: list[float] = []
    options = gb.LoadOptions(progress=lambda _, share: shares.append(share))
    scene = gb.load_gltf(ASSETS / "pendulum.gltf", client, options=options)
    recording = gb.record(scene)
    scene.step(24)
    shares.clear()
    camera = gb.Camera.looking((0, -4, 2), (0, 0, 0))
    recording.export_film(tmp_path / "a.png", size=SIZE, frames=4, camera=camera)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    sheet = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"))
    assert sheet[95, 5] == pytest.approx(FLOOR, abs=0.3 * FLOOR.max())
    assert np.ptp(sheet[60:100, :160].mean(axis=2)) > 10, "lines"
