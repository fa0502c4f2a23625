"""Pages that play a rollout: what is in them is what was simulated."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pybullet
import pytest
import zstandard

import gltf_bullet as gb
from gltf_bullet.bullet.rendering.foreign_planes import foreign_planes
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.views.web_export import WebStage, web_server
from tests.physics.scenes import G, Scenery, bodies_in, world

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "examples" / "assets"


def recorded(page: Path) -> dict[str, Any]:
    """What a page plays, taken out of it."""
    match = re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page.read_text())
    assert match
    data = base64.b64decode(match.group(1))
    # Eight bytes of size before the compressed part, eight of length before its description.
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(data[8:])
    length = int.from_bytes(inner[:8], "little")
    found: dict[str, Any] = msgspec.msgpack.decode(inner[8 : 8 + length])
    return found


def places(page: dict[str, Any], name: str) -> dict[float, tuple[float, ...]]:
    return {
        time: tuple(message["position"])
        for time, message in page["messages"]
        if message["type"] == "SetPositionMessage" and message["name"] == f"/{name}"
    }


@pytest.mark.parametrize(("fps", "frames"), [(24, 25), (None, 61)])
def test_the_page_plays_the_fall(tmp_path: Path, fps: float | None, frames: int) -> None:
    """A page has no more frames than a screen shows, which is 60 a second."""
    scenery = Scenery()
    scenery.node("Ball", at=(0, 9, 0), shape=scenery.shape("sphere"), motion={"mass": 1})
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[4, 1, 4]))
    path = tmp_path / "fall.html"
    with world(scenery.bytes()) as scene:
        recording = gb.record(scene, fps=fps)
        scene.step(240)
        recording.export_html(path)
    page = recorded(path)
    assert page["durationSeconds"] == pytest.approx(1.0)
    found = places(page, "Ball")
    assert len(found) == frames
    for time, (x, y, z) in found.items():
        fallen = 0.5 * G * time * (time + 1 / 240)
        assert (x, y, z) == pytest.approx((0, 9 - fallen, 0), abs=1e-3)
    assert len(places(page, "Floor")) == 1
    meshes = [m for _, m in page["messages"] if m["type"] == "GlbMessage"]
    assert {m["name"] for m in meshes} == {"/Ball", "/Floor"}


def test_meshes_stand_where_the_nodes_are_also_under_scale(tmp_path: Path) -> None:
    """Render meshes, an animated carrier, bodies: all of the file's kinds of owners."""
    path = tmp_path / "toys.html"
    unseen = gb.LoadOptions(visuals="none")
    with world(str(ASSETS / "toy_blocks.gltf"), options=unseen) as scene:
        recording = gb.record(scene, fps=30)
        scene.step(60)
        recording.export_html(path)
        ends = {node.name: node.world_matrix[:3, 3] for node in scene.nodes}
    page = recorded(path)
    checked = 0
    for body, end in ends.items():
        found = places(page, body)
        if len(found) > 1:
            assert np.allclose(found[max(found)], end, atol=1e-4), body
            checked += 1
    assert checked >= 3


def test_only_pages_are_written(tmp_path: Path) -> None:
    with world(str(ASSETS / "falling_box.gltf")) as scene:
        recording = gb.record(scene)
        with pytest.raises(ValueError, match=r"\.html"):
            recording.export_html(tmp_path / "a.glb")
    assert list(tmp_path.iterdir()) == []


def test_without_viser_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with world(str(ASSETS / "falling_box.gltf")) as scene:
        with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[web\]'"):
            gb.record(scene).export_html(tmp_path / "a.html")
        with pytest.raises(ImportError, match=r"pip install 'gltf_bullet\[web\]'"):
            gb.viewer.WebView(scene)
        assert "gltf_bullet[web]" in gb.record(scene)._repr_html_()


def test_nothing_of_the_web_is_imported_without_being_asked_for() -> None:
    code = "import sys, gltf_bullet.cli, gltf_bullet.runtime.scene; print('viser' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


def grounds_of(client: int, name: str) -> list[tuple[float, float]]:
    """Height and opacity of what lies below a scene in a page."""
    scene = gb.load_gltf(ASSETS / f"{name}.gltf", client)
    with web_server() as server:
        stage = WebStage(server, scene.core)
        found = [(float(g.position[2]), float(g.plane_opacity)) for g in stage.ground]
        stage.remove()
        assert stage.ground == []
    return found


def test_lines_lie_below_all_there_is_where_there_is_no_plane() -> None:
    with headless_world() as client:
        # The field is 0.1 m thick, and its upper side at height 0: lines 1 cm below that.
        scene = gb.load_gltf(ASSETS / "goal_line.gltf", client)
        low = min(pybullet.getAABB(body, -1, client)[0][2] for body in bodies_in(client))
        scene.remove()
        assert grounds_of(client, "goal_line") == [(pytest.approx(low - 0.01, abs=2e-3), 0.0)]
        assert grounds_of(client, "shape_zoo") == []  # it has a plane of its own


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.6, 0.8)])
def test_the_floor_of_others_is_shown_instead(turn: tuple[float, ...]) -> None:
    with headless_world() as client:
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
        floor = pybullet.createMultiBody(0.0, plane, -1, [1, 2, -0.5], turn, physicsClientId=client)
        planes = foreign_planes(client, ())
        assert planes.keys() == {floor}
        assert planes[floor][:3, 1] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)  # its normal
        assert planes[floor][:3, 3] == pytest.approx([1.0, 2.0, -0.5])
        assert foreign_planes(client, {floor}) == {}
        [(height, opacity)] = grounds_of(client, "cart_pole")
        assert height == pytest.approx(-0.5)
        assert opacity > 0.5
