"""The viewer in the browser without a browser: the server, its layers, what it says of nodes."""

from __future__ import annotations

import socket
import urllib.request
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.web.page import NOBODY, WebPage, node_properties

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def test_the_page_is_there_until_it_is_closed(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "hinge_door.gltf"), client)
    with gb.viewer.WebView(scene) as view:
        assert b"<html" in urllib.request.urlopen(view.url, timeout=30).read()  # noqa: S310
        port = urlsplit(view.url).port or 0
        with pytest.raises(gb.EngineError, match="port 0"):
            gb.viewer.WebView(scene, port=port)
        view.update(force=True)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    view.update()  # nothing happens any more


def test_it_is_bound_to_this_machine_alone(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "hinge_door.gltf"), client)
    with gb.viewer.WebView(scene) as view:
        port = urlsplit(view.url).port or 0
        with socket.socket() as other:
            # Free on every other address of this machine.
            other.bind(("127.0.0.2", port))


def test_it_plays_and_stands_with_the_clock(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "falling_box.gltf"), client)
    with gb.viewer.WebView(scene, play=False) as view:
        view.run(0.2)
        assert (scene.time, view.playing) == (0.0, False)
    with gb.viewer.WebView(scene) as view:
        view.run(0.3)
        assert 0.0 < scene.time < 2.0


def test_wrong_arguments_open_nothing(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "falling_box.gltf"), client)
    with pytest.raises(ValueError, match="bones"):
        gb.viewer.WebView(scene, show=("bones",))
    with pytest.raises(ValueError, match="rate"):
        gb.viewer.WebView(scene, rate=0.0)
    scene.remove()
    with pytest.raises(gb.SceneRemovedError):
        gb.viewer.WebView(scene)


def test_removing_the_scene_closes_the_page(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "falling_box.gltf"), client)
    view = gb.viewer.WebView(scene)
    scene.remove()
    with pytest.raises(gb.SceneRemovedError):
        view.update()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", urlsplit(view.url).port or 0)) != 0


def test_what_is_done_in_the_panel_is_done_by_the_next_turn(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "hinge_door.gltf"), client)
    page = WebPage(
        Playback(scene, client), show=(), visuals="auto", host="127.0.0.1", port=0, rate=30.0
    )
    try:
        # As viser's threads do.
        page._put("drive 0", 0.7)
        page._put("layer colliders", True)
        page._put("speed", 2.0)
        page._put("play", None)
        page._put("node", next(label for label in page._labels if "Door" in label))
        assert scene.joint_controls.drive_targets()[0][0] == 0.0
        page.turn(force=True)
        assert scene.joint_controls.drive_targets()[0][0] == pytest.approx(0.7)
        assert (page.playback.speed, page.playback.playing) == (2.0, False)
        assert len(page._lines["colliders"]._sent) > 0
        assert page._panel is not None
        assert "mass" in page._panel._words[1]
        page._put("layer colliders", False)
        page.turn(force=True)
        assert len(page._lines["colliders"]._sent) == 0
    finally:
        page.close()


def test_a_rebuilt_scene_is_shown_anew(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "falling_box.gltf"), client)
    page = WebPage(
        Playback(scene, client), show=(), visuals="collider", host="127.0.0.1", port=0, rate=30.0
    )
    try:
        before = page._stage
        crate = scene.bodies["Crate"].node
        scene.set(
            f"/nodes/{crate}/extensions/KHR_physics_rigid_bodies/motion/centerOfMass",
            [0.0, 0.1, 0.0],
        )
        page.turn(force=True)
        assert page._stage is not before
    finally:
        page.close()


def test_properties_of_a_node_are_those_of_the_scene(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "hinge_door.gltf"), client)
    scene.set_drive_targets([1.0])
    scene.step(60)
    joint = scene.joints["HingeOnDoor"]
    rows = dict(node_properties(scene, joint.node))
    assert float(rows["mass"].split()[0]) == pytest.approx(scene.bodies["Door"].mass, rel=1e-5)
    position = joint.degrees_of_freedom[0].position
    assert float(rows["joint angular y"].split()[0]) == pytest.approx(position, abs=1e-3)
    assert abs(position) > 0.01
    spin = [float(v) for v in rows["spin"].split()[:3]]
    assert spin == pytest.approx(scene.bodies["Door"].angular_velocity.tolist(), abs=1e-3)
    post = dict(node_properties(scene, scene.node("Post").index))
    assert post["body"].endswith("static")


def test_properties_say_who_is_in_a_trigger(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "goal_line.gltf"), client)
    goal = scene.triggers["Goal"].node
    inside = set()
    for _ in range(480):
        scene.step()
        inside.add(dict(node_properties(scene, goal))["trigger: inside now"])
    assert "nobody" in inside
    assert len(inside) > 1


def test_properties_name_the_issues_of_the_node(client: int) -> None:
    scene = gb.load_gltf(str(ASSETS / "shape_zoo.gltf"), client)
    cone = scene.node("Cone").index
    rows = dict(node_properties(scene, cone))
    assert "issue ROUND_SHAPE_APPROXIMATED" in rows
    box = dict(node_properties(scene, scene.node("Box").index))
    assert not [name for name in box if name.startswith("issue")]
    assert np.isfinite([float(v) for v in rows["position"].split()[:3]]).all()


def test_a_click_selects_and_the_panel_shows_variables_and_log(client: int) -> None:
    from tests.runtime.test_behavior import acting
    from tests.runtime.trigger_scenes import ball
    from tools.graph_builder import GraphBuilder, Out

    g = GraphBuilder()
    g.variable((0.0, 0.0, 0.0), "touched")
    select = g.add(
        "event/onSelect", extension="KHR_node_selectability",
        outputs={"selectionPoint": "float3"}, nodeIndex=0,
    )  # fmt: skip
    point = {"0": Out(select, "selectionPoint")}
    keep = g.add("variable/set", point, variables=[0])
    log = g.add("debug/log", {"p": point["0"]}, severity=0, message="at {p}")
    g.chain(select, keep, log)
    g.variable(0, "over")
    for way, number in (("In", 1), ("Out", 2)):
        hover = g.add(f"event/onHover{way}", extension="KHR_node_hoverability", nodeIndex=0)
        g.flow(hover, g.add("variable/set", {"1": number}, variables=[1]))
    scene = gb.load_gltf(acting(g, ball((0, 1, 0))), client, up_axis="y")
    page = WebPage(
        Playback(scene, client, play=False), show=(), visuals="auto", host="127.0.0.1", port=0,
        rate=30.0,
    )  # fmt: skip
    page._select(0, np.array([0.0, 5.0, 0.0]), np.array([0.0, -1.0, 0.0]))
    scene.step()
    page.turn(force=True)
    assert scene.behavior is not None
    assert scene.behavior.variables["touched"] == pytest.approx((0.0, 1.1, 0.0), abs=1e-3)
    assert page._panel is not None
    shown = page._panel._behavior.content
    # What comes of the file is shown as text: punctuation as entities.
    assert "touched = (0, 1.1, 0)" in unescape(shown)
    assert "s at (" in unescape(shown)
    # Who is clicked or chosen is pointed at, until nobody is.
    for label, expected in (("0", 1), (NOBODY, 2)):
        page._choose(label)
        scene.step()
        assert scene.behavior.variables["over"] == expected
    page.close()
