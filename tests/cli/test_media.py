"""Pictures, films, filmstrips and plots of ``gltf-bullet simulate``, read back."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest
from PIL import Image

import gltf_bullet as gb
from gltf_bullet.bullet.rendering.egl import egl_works
from gltf_bullet.bullet.rendering.pictures import SKY
from gltf_bullet.cli.outputs.film import Film
from gltf_bullet.rendering.film_files import SHEET_GAP, SMALLEST_LABEL, filmstrip
from gltf_bullet.runtime.telemetry import Telemetry
from tests.cli.conftest import Run
from tests.physics.scenes import G, Scenery, world
from tools.gltf_builder import GltfBuilder

SMALL = ("--size", "120x80")


def orange_row(pixels: np.ndarray) -> float:
    """The mean row, 0 at the top, of what is orange: dynamic collision shapes."""
    red, green, blue = pixels.astype(int)[..., :3].transpose(2, 0, 1)
    rows, _ = np.nonzero((red > 1.4 * green) & (green > 1.3 * blue))
    assert len(rows) > 3
    return float(rows.mean())


@pytest.fixture
def falling(tmp_path: Path) -> Path:
    """A ball that falls 3 m onto a floor."""
    scenery = Scenery()
    scenery.node(
        "Ball", at=(0, 4, 0), shape=scenery.shape("sphere", radius=0.5), motion={"mass": 2}
    )
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[4, 1, 4]))
    path = tmp_path / "falling.gltf"
    path.write_bytes(scenery.bytes())
    return path


def test_films_show_the_fall_from_one_place(run: Run, falling: Path, tmp_path: Path) -> None:
    mp4, gif, strip = (tmp_path / "out" / f"fall.{end}" for end in ("mp4", "gif", "png"))
    outcome = run(
        "simulate", falling, "--seconds", "0.75", "--mp4", mp4, "--gif", gif,
        "--filmstrip", strip, "--frames", "4", *SMALL,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    # 30 frames per second from 0 to 0.75 s: at 0, 8, ... 176 of 180 steps.
    frames = [np.asarray(frame) for frame in imageio.get_reader(mp4)]
    assert [frame.shape for frame in frames] == [(80, 120, 3)] * 23
    rows = [orange_row(frame) for frame in frames]
    # The way fallen grows as t^2; the picture's perspective bends that a little.
    assert rows[-1] > rows[0] + 15
    share = (rows[10] - rows[0]) / (rows[-1] - rows[0])
    assert share == pytest.approx((10 / 22) ** 2, abs=0.07)
    # What stands still stays at its place in the picture: the sky in the corner.
    assert all(np.abs(frame[2, 2].astype(int) - SKY).max() < 12 for frame in frames)
    with Image.open(gif) as animation:
        assert animation.n_frames == 23
        durations = []
        for number in range(animation.n_frames):
            animation.seek(number)
            durations.append(animation.info["duration"])
    assert sum(durations) == pytest.approx(23 * 1000 / 30, abs=10)
    sheet = np.asarray(Image.open(strip).convert("RGB"))
    assert sheet.shape == (2 * (80 + SMALLEST_LABEL), 2 * 120 + SHEET_GAP, 3)
    parts = [
        sheet[row * (80 + SMALLEST_LABEL) :, column * (120 + SHEET_GAP) :][:80, :120]
        for row in range(2)
        for column in range(2)
    ]
    found = [orange_row(part) for part in parts]
    assert found == sorted(found)
    assert np.abs(parts[0].astype(int) - frames[0]).mean() < 6


@pytest.fixture
def overlapping(tmp_path: Path) -> Path:
    """Two boxes that overlap at load by 5 cm, where a second run is another one."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.5, 0.5, 0.5])
    scenery.node("A", at=(0, 1.0, 0), shape=box, motion={"mass": 1})
    scenery.node("B", at=(0.45, 1.1, 0.03), shape=box, motion={"mass": 1})
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[8, 1, 8]))
    path = tmp_path / "overlapping.gltf"
    path.write_bytes(scenery.bytes())
    return path


def test_one_run_is_in_the_table_the_rows_and_the_pictures(
    run: Run, overlapping: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bodies stand in each picture as they stand in the row of that time, to the bit."""
    seen: list[tuple[float, dict[str, list[float]]]] = []

    def draw(film: Film, *_: object, **__: object) -> np.ndarray:
        scene = film._scene
        assert scene is not None
        places = {
            b.name: scene.world_from_node(b.node)[:3, 3].tolist() for b in scene.bodies.values()
        }
        seen.append((scene.time, places))
        return np.zeros((80, 120, 3), dtype=np.uint8)

    def pictures(film: Film, steps: list[int], scale: int = 1) -> Iterator[np.ndarray]:
        scene = film._scene
        assert scene is not None
        for moment in (film._moments[step] for step in steps):
            places = {
                b.name: moment.world_from_nodes[b.node][:3, 3].tolist()
                for b in scene.bodies.values()
            }
            seen.append((moment.time, places))
            yield np.zeros((80 * scale, 120 * scale, 3), dtype=np.uint8)

    monkeypatch.setattr(Film, "_draw", draw)
    monkeypatch.setattr(Film, "_pictures", pictures)
    rows, last = tmp_path / "rows.csv", tmp_path / "last.png"
    outcome = run(
        "simulate", overlapping, "--seconds", "1", "--csv", rows, "--fps", "240", "--png", last,
        "--gif", tmp_path / "film.gif", "--filmstrip", tmp_path / "strip.png", "--json", *SMALL,
        "--glb", tmp_path / "baked.glb",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    table = {
        (f"{float(row['time']):.6f}", row["name"]): [float(row[axis]) for axis in "xyz"]
        for row in csv.DictReader(rows.open())
    }
    assert len(seen) == 1 + 31 + 6  # the last, the film's, the strip's
    for time, places in seen:
        for name, place in places.items():
            assert table[f"{time:.6f}", name] == pytest.approx(place, rel=1e-8)
    end = {body["name"]: body["position"] for body in json.loads(outcome.out)["bodies"]}
    assert seen[0][1] == end
    assert seen[-1][1] == end
    # The baked file ends there, too: heights of the Y-up file are those of the Z-up world.
    for track in gb.read_asset(tmp_path / "baked.glb").animations[0].tracks:
        if track.target_path == "translation":
            last_key = track.values[-1] if track.values.ndim == 2 else track.values[-1, 1]
            name = "AB"[[0, 1].index(track.node)]
            assert last_key[1] == pytest.approx(end[name][2], abs=1e-3)


def test_a_body_that_falls_out_takes_neither_the_film_nor_the_picture_with_it(
    run: Run, tmp_path: Path
) -> None:
    """Two balls roll along a plank of 6 m, and one beside it falls for good."""
    scenery = Scenery()
    ball, plank = scenery.shape("sphere", radius=0.1), scenery.shape("box", size=[6, 0.1, 1])
    for name, z in (("A", -0.2), ("B", 0.2), ("Lost", 1.5)):
        motion = {"mass": 1, "linearVelocity": [2, 0, 0]}
        scenery.node(name, at=(-2.5, 0.15, z), shape=ball, motion=motion)
    scenery.node("Plank", shape=plank)
    file, strip, last = tmp_path / "run.gltf", tmp_path / "strip.png", tmp_path / "last.png"
    file.write_bytes(scenery.bytes())
    outcome = run("simulate", file, "--seconds", "2", "--filmstrip", strip, "--png", last, *SMALL)
    assert "FELL_OUT" in outcome.out
    sheet = np.asarray(Image.open(strip).convert("RGB"))
    for row in range(2):
        for column in range(3):
            orange_row(
                sheet[row * (80 + SMALLEST_LABEL) :, column * (120 + SHEET_GAP) :][:80, :120]
            )
    orange_row(np.asarray(Image.open(last).convert("RGB")))


def test_shadows_of_what_rests_are_the_same_in_all_frames(run: Run, tmp_path: Path) -> None:
    """A ball comes from 6 m above a shelf, whose shadow does not wait for it."""
    scenery = Scenery()
    scenery.node("Floor", at=(0, -0.05, 0), shape=scenery.shape("box", size=[6, 0.1, 6]))
    scenery.node("Shelf", at=(0, 1, 0), shape=scenery.shape("box", size=[2, 0.1, 2]))
    ball = scenery.shape("sphere", radius=0.1)
    scenery.node("Ball", at=(0, 6, 0), shape=ball, motion={"mass": 1})
    file, strip = tmp_path / "shelf.gltf", tmp_path / "strip.png"
    file.write_bytes(scenery.bytes())
    run("simulate", file, "--seconds", "1", "--filmstrip", strip, "--frames", "2", *SMALL)
    sheet = np.asarray(Image.open(strip).convert("RGB")).astype(int)
    first, last = sheet[:80, :120], sheet[:80, 120 + SHEET_GAP :]
    grey = (np.ptp(np.stack([first, last]), axis=-1) < 30).all(axis=0)  # neither ball nor sky
    assert grey.sum() > 500
    assert (np.abs(first - last).max(axis=-1)[grey] > 20).mean() < 0.02  # the ball's own shadow


def test_shapes_that_grow_are_as_large_in_a_film_as_they_were(run: Run, tmp_path: Path) -> None:
    """A ball grows to four times its radius within the second."""
    builder = GltfBuilder()
    shapes = [{"type": "sphere", "sphere": {"radius": 0.25}}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    collider = {"collider": {"geometry": {"shape": 0}}}
    ball = builder.node("Ball", extensions={"KHR_physics_rigid_bodies": collider})
    builder.animation("Grow", [(ball, "scale", [0.0, 1.0], [(1, 1, 1), (4, 4, 4)], "LINEAR")])
    file, strip = tmp_path / "grows.glb", tmp_path / "strip.png"
    file.write_bytes(builder.glb())
    run("simulate", file, "--seconds", "0.9", "--filmstrip", strip, "--frames", "2", *SMALL)
    sheet = np.asarray(Image.open(strip).convert("RGB")).astype(int)
    first, last = (
        (np.abs(part - SKY).max(axis=2) > 20).sum()
        for part in (sheet[:80, :120], sheet[:80, 120 + SHEET_GAP :])
    )
    assert 30 < 4 * first < last


def test_a_picture_through_a_camera_of_the_file(run: Run, assets: Path, tmp_path: Path) -> None:
    toys, found = assets / "toy_blocks.gltf", []
    for number, camera in enumerate(("Front", "FrontCamera", "8")):
        png = tmp_path / f"{number}.png"
        outcome = run(
            "simulate", toys, "--seconds", "0", "--png", png, "--camera", camera,
            "--size", "160x100",
        )  # fmt: skip
        assert outcome.code == 0, outcome.err
        found.append(np.asarray(Image.open(png)))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_an_unknown_camera_is_one_clear_line(run: Run, assets: Path, tmp_path: Path) -> None:
    outcome = run(
        "simulate", assets / "toy_blocks.gltf", "--png", tmp_path / "a.png", "--camera", "Sky"
    )
    assert outcome.code == 2
    assert "Front" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_camera_of_a_file_without_one_is_said_so(run: Run, falling: Path, tmp_path: Path) -> None:
    outcome = run("simulate", falling, "--camera", "Ball", "--png", tmp_path / "a.png")
    assert outcome.code == 2
    assert "there is no camera 'Ball': the file has none" in outcome.err


def test_a_plot_has_a_panel_per_kind_of_number(run: Run, assets: Path, tmp_path: Path) -> None:
    heights = []
    for name in ("falling_box", "vehicle"):
        path = tmp_path / f"{name}.png"
        outcome = run("simulate", assets / f"{name}.gltf", "--seconds", "0.5", "--plot", path)
        assert outcome.code == 0, outcome.err
        picture = np.asarray(Image.open(path).convert("RGB"))
        # Lines in matplotlib's colours are there.
        blue = np.abs(picture.astype(int) - (31, 119, 180)).max(axis=2) < 8
        assert blue.sum() > 200
        heights.append(picture.shape[0])
    # Three panels without joints, four with.
    assert heights == pytest.approx([720, 960], abs=1)  # matplotlib rounds as it likes


def test_telemetry_of_a_fall_keeps_its_energy() -> None:
    """Heights as of symplectic Euler; the sum of energies within its error."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.5)
    scenery.node("Ball", at=(0, 9, 0), shape=ball, motion={"mass": 2, "angularVelocity": [0, 3, 0]})
    with world(scenery.bytes()) as scene:
        telemetry = Telemetry(scene)
        telemetry.sample()
        for _ in range(10):
            scene.step(24)
            telemetry.sample()
    t = np.array(telemetry.times)
    assert np.allclose(t, np.arange(11) / 10)
    assert np.allclose(telemetry.heights["Ball"], 9 - 0.5 * G * t * (t + 1 / 240), atol=1e-4)
    assert np.allclose(telemetry.speeds["Ball"], G * t, atol=1e-3)
    turning = 0.5 * (0.4 * 2 * 0.5**2) * 3**2
    assert telemetry.kinetic[0] == pytest.approx(turning, rel=1e-3)
    assert telemetry.kinetic[-1] == pytest.approx(turning + 0.5 * 2 * G**2, rel=1e-3)
    assert telemetry.potential[0] == pytest.approx(2 * G * 9)
    total = np.add(telemetry.kinetic, telemetry.potential)
    assert np.abs(total - total[0]).max() < 2 * G * 0.5 * G * 1.0 / 240 * 1.01


def test_telemetry_follows_joints(assets: Path) -> None:
    with world(str(assets / "hinge_door.gltf")) as scene:
        telemetry = Telemetry(scene)
        scene.step(10)
        telemetry.sample()
        (name,) = telemetry.joints
        assert name == "HingeOnDoor angular y"
        dof = next(iter(scene.joints.values())).degrees_of_freedom[0]
        assert telemetry.joints[name] == [dof.position]


def test_a_filmstrip_names_the_times() -> None:
    frames = [(0.0, np.zeros((60, 60, 3), np.uint8)), (0.5, np.full((60, 60, 3), 9, np.uint8))]
    sheet = filmstrip(frames)
    assert (sheet[:60, :60] == 0).all()
    assert (sheet[:60, 60 + SHEET_GAP :] == 9).all()
    below = sheet[60:]
    assert (below.min(axis=2) < 128).any()


@pytest.mark.parametrize(
    ("option", "module"), [("--mp4", "imageio_ffmpeg"), ("--plot", "matplotlib")]
)
def test_a_missing_extra_is_named_before_anything_runs(
    run: Run,
    falling: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / ("a.mp4" if option == "--mp4" else "a.png")
    outcome = run("simulate", falling, option, path)
    assert outcome.code == 2
    assert "pip install 'gltf_bullet[media]'" in outcome.err
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("toy_blocks", "--camera", "Front"), ("shape_zoo",), ("ragdoll",)]
)
def test_egl_draws_what_the_software_renderer_draws(
    assets: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Up to light, filtering and shadows; standard output stays clean."""
    if not egl_works():
        pytest.skip("EGL does not start here")
    name, *camera = arguments
    pictures = []
    for renderer in ("tiny", "egl"):
        png = tmp_path / f"{renderer}.png"
        command = [sys.executable, "-m", "gltf_bullet", "simulate", str(assets / f"{name}.gltf")]
        # A process of its own: the plugin may end it.
        done = subprocess.run(
            [*command, *camera, "--seconds", "0.5", "--size", "320x200", "--json",
             "--png", str(png), "--renderer", renderer],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        json.loads(done.stdout)
        pictures.append(np.asarray(Image.open(png)).astype(int))
    sky = [(np.abs(picture - SKY).max(axis=2) == 0) for picture in pictures]
    assert (sky[0] != sky[1]).mean() < 0.1
    assert np.median(np.abs(pictures[0] - pictures[1])[~sky[0] & ~sky[1]]) < 60
