"""Values that are changed in the browser's panel act at once, can be taken back, and are saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.web.page import WebPage

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[WebPage]:
    with headless_world() as client:
        scene = gb.load_gltf(str(ASSETS / "six_axis_arm.gltf"), client)
        page = WebPage(
            Playback(scene, client), show=(), visuals="auto", host="127.0.0.1", port=0, rate=30.0
        )
        page.folder = tmp_path
        try:
            yield page
        finally:
            page.close()


def scene_of(page: WebPage) -> gb.Scene:
    assert page.playback.scene is not None
    return page.playback.scene


def choose(page: WebPage, name: str) -> None:
    page._put("node", next(label for label in page._labels if label.endswith(f" {name}")))
    page.turn(force=True)


def put(page: WebPage, label: str, value: float) -> None:
    """As a user who types into a field."""
    number = next(k for k, field in enumerate(page._fields) if field.label == label)
    page._put(f"field {number}", value)
    page.turn(force=True)


def told(page: WebPage) -> str:
    assert page._panel is not None
    return str(page._panel._kept.content).replace("\\", "")


def test_a_mass_acts_at_once_and_is_taken_back(page: WebPage) -> None:
    scene = scene_of(page)
    before = scene.bodies["Hand"].mass
    choose(page, "Hand")
    put(page, "body: mass", 7.5)
    assert scene.bodies["Hand"].mass == pytest.approx(7.5)
    page._put("undo", None)
    page.turn(force=True)
    assert scene.bodies["Hand"].mass == pytest.approx(before)
    page._put("undo", None)
    page.turn(force=True)
    assert "nothing to take back" in told(page)


def test_limits_and_drives_of_a_joint_are_fields(page: WebPage) -> None:
    scene = scene_of(page)
    choose(page, "ElbowAxis")
    labels = {field.label.partition(": ")[2] for field in page._fields}
    assert {"min", "max", "stiffness", "damping", "maxForce", "positionTarget"} <= labels
    kind = next(f.label for f in page._fields if f.label.endswith("positionTarget"))
    put(page, kind, 0.25)
    assert scene.joints["ElbowAxis"].drives[0].position_target == 0.25
    put(page, kind.replace("positionTarget", "stiffness"), -1.0)
    assert "0 or more" in told(page)


def test_what_was_tuned_is_saved_and_loads(page: WebPage, tmp_path: Path) -> None:
    choose(page, "Hand")
    put(page, "body: mass", 7.5)
    page._put("save", "mine.glb")
    page.turn(force=True)
    assert "written" in told(page)
    with headless_world() as other:
        assert gb.load_gltf(tmp_path / "mine.glb", other).bodies["Hand"].mass == 7.5
    page._put("save", "mine.glb")  # its own may be written again
    page.turn(force=True)
    assert "written" in told(page)


@pytest.mark.parametrize(
    "name",
    ["../up.glb", "/abs.glb", "a/b.glb", "..\\up.glb", ".hidden.glb", "x.py", "there.glb", ""],
)
def test_visitors_write_no_other_file(page: WebPage, tmp_path: Path, name: str) -> None:
    (tmp_path / "there.glb").write_text("mine")
    page._put("save", name)
    page.turn(force=True)
    assert "written" not in told(page)
    assert [path.name for path in tmp_path.iterdir()] == ["there.glb"]
    assert (tmp_path / "there.glb").read_text() == "mine"


def test_the_chosen_node_stays_chosen_when_bodies_are_made_anew(page: WebPage) -> None:
    scene = scene_of(page)
    choose(page, "Hand")
    motion = f"/nodes/{scene.node('Hand').index}/extensions/KHR_physics_rigid_bodies/motion"
    scene.set(f"{motion}/centerOfMass", [0.0, 0.01, 0.0])
    page.turn(force=True)
    assert any(field.label == "body: mass" for field in page._fields)
