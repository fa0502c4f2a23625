"""The real program in PyBullet's real window, by keyboard and mouse, on a screen without a card."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

from gltf_bullet.viewer import COLORS
from tests.viewer.conftest import ROOT, Image, Program, Screen

pytestmark = pytest.mark.gui

ASSETS = ROOT / "examples" / "assets"
PICTURE = (slice(90, 670), slice(255, 1025))
"""Rows and columns between PyBullet's panels, in a window of 1280 x 800, below the words."""

# Where PyBullet 3.2 draws the panel of the door in such a window: three buttons, then sliders.
PLAY_BUTTON = (1150, 84)
DRIVE_HANDLE_Y = 216
SLIDER_X = (1046, 1246)


def strokes_of(picture: Image, color: str) -> int:
    """Pixels between the panels that have the very colour of a kind of stroke."""
    wanted = np.round(np.array(COLORS[color]) * 255.0)
    return int((np.abs(picture[PICTURE] - wanted).max(axis=2) <= 3).sum())


def keep(picture: Image, name: str) -> None:
    """Store a picture where the environment asks for it, to be looked at."""
    folder = os.environ.get("GLTF_BULLET_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        PillowImage.fromarray(picture).save(Path(folder) / f"{name}.png")


def test_the_window_shows_toggles_drives_and_closes(
    start: Callable[..., Program], screen: Screen
) -> None:
    program = start(ASSETS / "hinge_door.gltf", "HingeOnDoor", "")
    program.until(lambda s: s["time"] is not None and s["time"] > 0.0, "time runs")
    bare = program.pictures_until(
        lambda p: np.ptp(p[PICTURE].reshape(-1, 3), axis=0).max() > 100, "the door"
    )
    keep(bare, "door")
    assert strokes_of(bare, "dynamic") == 0

    # A key switches a layer on: hundreds of pixels get the colour of dynamic colliders.
    screen.do("mousemove", 640, 400)
    screen.key("c")
    program.until(lambda s: s["shown"] == ["colliders"] and s["lines"] >= 24, "colliders on")
    drawn = program.pictures_until(lambda p: strokes_of(p, "dynamic") > 200, "green wireframe")
    keep(drawn, "door_colliders")
    assert strokes_of(drawn, "static") > 100
    screen.key("c")
    program.until(lambda s: s["shown"] == [] and s["lines"] == 0, "colliders off")
    program.pictures_until(lambda p: strokes_of(p, "dynamic") == 0, "no wireframe")

    screen.key("j")
    program.until(lambda s: s["shown"] == ["joints"] and s["lines"] > 0, "joints on")
    program.pictures_until(lambda p: strokes_of(p, "limit") > 20, "the arc of the limit")

    # Dragging the slider of the only drive to its right end turns the door there.
    state = program.until(lambda s: "position" in s, "a joint")
    assert abs(state["target"]) < 1e-9
    middle, right = sum(SLIDER_X) // 2, SLIDER_X[1]
    screen.do(
        "mousemove", middle, DRIVE_HANDLE_Y, "sleep", 0.5, "mousedown", 1, "sleep", 0.5,
        "mousemove", middle + 40, DRIVE_HANDLE_Y, "sleep", 0.5,
        "mousemove", right, DRIVE_HANDLE_Y, "sleep", 0.5, "mouseup", 1,
    )  # fmt: skip
    state = program.until(lambda s: s["target"] > 1.2, "the target follows the slider")
    state = program.until(lambda s: abs(s["position"] - s["target"]) < 0.1, "the door follows")
    keep(screen.picture(), "door_opened")

    # Buttons and keys for time.
    screen.do("mousemove", *PLAY_BUTTON, "sleep", 0.3, "click", 1)
    program.until(lambda s: not s["playing"], "paused by the button")
    stopped = program.state["time"]
    screen.do("mousemove", 640, 400)
    screen.key("period")
    stepped = program.until(lambda s: s["time"] > stopped, "one step")["time"]
    # The step is PyBullet's own of 1/240 s.
    assert stepped - stopped == pytest.approx(1.0 / 240.0)
    screen.key("r")
    program.until(lambda s: s["time"] == 0.0, "reset")
    screen.key("space")
    program.until(lambda s: s["playing"] and s["time"] > 0.0, "played by the key")
    screen.key("h")
    program.until(lambda s: any("back to the start" in line for line in s["overlay"]), "the keys")
    keep(screen.picture(), "door_keys")

    screen.key("Escape")
    assert program.wait_closed() == 0
    assert "CLOSED" in program.lines
    assert not [line for line in program.lines if "Traceback" in line or "rror" in line]


def test_a_broken_edit_keeps_the_old_scene_and_a_good_one_is_loaded(
    start: Callable[..., Program], screen: Screen, tmp_path: Path
) -> None:
    path = tmp_path / "door.gltf"
    shutil.copy(ASSETS / "hinge_door.gltf", path)
    good = path.read_text(encoding="utf-8")
    program = start(path, "HingeOnDoor", "colliders")
    program.until(lambda s: s["loads"] == 1 and s["time"] > 0.05, "the first scene runs")

    path.write_text(good[: len(good) // 2], encoding="utf-8")
    state = program.until(lambda s: s["problem"], "the problem is shown")
    assert state["loads"] == 1
    assert any("does not work" in line for line in state["overlay"])
    before = state["time"]
    program.until(lambda s: s["time"] > before, "the old scene goes on")
    assert any(line.startswith("SAY") and "JSON" in line for line in program.lines)

    edited = json.loads(good)
    edited["nodes"].append({"name": "Extra"})
    edited["scenes"][0]["nodes"].append(len(edited["nodes"]) - 1)
    path.write_text(json.dumps(edited), encoding="utf-8")
    state = program.until(lambda s: s["loads"] == 2 and not s["problem"], "the new scene")
    assert state["shown"] == ["colliders"]
    screen.key("Escape")
    assert program.wait_closed() == 0


def test_the_mouse_drags_a_body(
    start: Callable[..., Program], screen: Screen, tmp_path: Path
) -> None:
    path = tmp_path / "still_door.gltf"
    document = json.loads((ASSETS / "hinge_door.gltf").read_text(encoding="utf-8"))
    for node in document["nodes"]:
        motion = node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}).get("motion", {})
        motion.pop("angularVelocity", None)
    path.write_text(json.dumps(document), encoding="utf-8")
    program = start(path, "HingeOnDoor", "")
    state = program.until(lambda s: s["time"] and s["time"] > 0.05, "time runs")
    assert abs(state["position"]) < 0.01
    picture = program.pictures_until(
        lambda p: np.ptp(p[PICTURE].reshape(-1, 3), axis=0).max() > 100, "the door"
    )
    row, column = middle_of_leaf(picture)
    screen.do("mousemove", column, row, "sleep", 0.5, "mousedown", 1, "sleep", 0.5)
    for part in range(1, 6):
        screen.do("mousemove", column + 40 * part, row + 12 * part, "sleep", 0.4)
    program.until(lambda s: abs(s["position"]) > 0.15, "the door follows the mouse")
    keep(screen.picture(), "door_dragged")
    screen.do("mouseup", 1)
    program.until(lambda s: abs(s["position"]) < 0.1, "its drive takes it back")
    screen.key("Escape")
    assert program.wait_closed() == 0


def middle_of_leaf(picture: Image) -> tuple[int, int]:
    """Row and column in the middle of what is orange: bodies that move, in collider visuals."""
    red, green, blue = (picture[PICTURE][..., k].astype(int) for k in range(3))
    rows, columns = np.nonzero((red - blue > 60) & (red > green))
    assert len(rows) > 200
    return (
        int(np.median(rows)) + PICTURE[0].start,
        int(np.median(columns)) + PICTURE[1].start,
    )


def test_a_script_draws_into_its_own_window(screen: Screen) -> None:
    program = """
import sys, time, numpy as np, pybullet
import gltf_bullet as gb
from PIL import ImageGrab
client = pybullet.connect(pybullet.GUI, options="--width=1000 --height=700")
other = pybullet.createMultiBody(0, pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1))
scene = gb.load_gltf(sys.argv[1], client)
pybullet.resetDebugVisualizerCamera(3, 40, -25, [0, 0, 0.8])
green = np.round(np.array(gb.viewer.COLORS["dynamic"]) * 255)
def count():
    picture = np.array(ImageGrab.grab(xdisplay=sys.argv[2]).convert("RGB"))[60:570, 255:745]
    return int((np.abs(picture - green).max(axis=2) <= 3).sum())
def wait(good):
    end = time.monotonic() + 150
    while time.monotonic() < end:
        found = count()
        if good(found):
            return found
        time.sleep(0.3)
    raise SystemExit(f"last seen: {found}")
draw = gb.viewer.DebugDraw(scene, show=("colliders",))
sent = draw.update(force=True)
while draw.update(force=True): pass
first = wait(lambda n: n > 100)
assert draw.update(force=True) == 0  # nothing moved, nothing is sent
if sys.argv[3] == "close":
    draw.close()
else:
    scene.remove()
wait(lambda n: n == 0)
assert pybullet.getBasePositionAndOrientation(other)
pybullet.disconnect(client)
assert sys.argv[3] != "close" or draw.update(force=True) == 0  # the window is gone: no error
print("DONE", sent, first)
"""
    for how in ("close", "remove"):
        result = subprocess.run(
            [sys.executable, "-c", program, str(ASSETS / "hinge_door.gltf"), screen.name, how],
            env=screen.environment,
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert result.returncode == 0, result.stdout[-1500:] + result.stderr[-1500:]
        assert "DONE" in result.stdout


def test_the_command_line_opens_a_window(screen: Screen) -> None:
    result = subprocess.run(
        [
            sys.executable, "-m", "gltf_bullet", "view",
            str(ASSETS / "goal_line.gltf"), "--seconds", "3", "--show", "all", "--up-axis", "y",
        ],
        env=screen.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    assert "goal_line.gltf: Scene(" in result.stdout
    assert "Traceback" not in result.stderr
