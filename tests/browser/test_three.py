"""A baked file in three.js: the bodies are where the simulation put them."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tests.browser.conftest import CHROMIUM, pixels_of, until
from tests.figures import Figure
from tests.physics.scenes import world
from tools.gltf_builder import GltfBuilder

NPM = shutil.which("npm")
KHR = "KHR_physics_rigid_bodies"
TIMES = (0.0, 0.5, 1.0, 1.5, 2.0)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and NPM), reason="needs chromium and npm"),
]


def tumbling_boxes() -> bytes:
    """Coloured boxes with offset centres that fall on a slab and tumble."""
    builder = GltfBuilder()
    corners = [(x, y, z) for x in (-0.3, 0.3) for y in (-0.2, 0.2) for z in (-0.4, 0.4)]
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    builder.root_extension(
        "KHR_implicit_shapes",
        {
            "shapes": [
                {"type": "box", "box": {"size": [0.6, 0.4, 0.8]}},
                {"type": "box", "box": {"size": [8, 0.2, 8]}},
            ]
        },
    )
    slab = [(4 * np.sign(x), 0.1 * np.sign(y), 4 * np.sign(z)) for x, y, z in corners]
    builder.node(
        "Ground",
        translation=(0, -0.1, 0),
        mesh=builder.mesh(slab, faces, material=builder.material(color=(0.5, 0.5, 0.5, 1))),
        extensions={KHR: {"collider": {"geometry": {"shape": 1}}}},
    )
    for k, color in enumerate([(0.9, 0.2, 0.1, 1), (0.1, 0.5, 0.9, 1), (0.2, 0.7, 0.2, 1)]):
        builder.node(
            f"Box{k}",
            translation=(0.4 * k - 0.4, 1.5 + 0.8 * k, 0),
            rotation=(0, 0, 0.38, 0.925),
            mesh=builder.mesh(corners, faces, material=builder.material(color=color)),
            extensions={
                KHR: {
                    "motion": {
                        "mass": 1,
                        "centerOfMass": [0.1, 0, 0.1],
                        "angularVelocity": [3, 1, -2],
                    },
                    "collider": {"geometry": {"shape": 0}},
                }
            },
        )
    return builder.glb()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with three.js and the viewer, and its address."""
    tmp_path = tmp_path_factory.mktemp("three")
    (tmp_path / "package.json").write_text("{}")
    subprocess.run(
        [str(NPM), "install", "--silent", "--no-audit", "--no-fund", "three@0.170.0"],
        cwd=tmp_path,
        check=True,
        timeout=300,
    )
    shutil.copy(Path(__file__).with_name("viewer.html"), tmp_path / "index.html")
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def shown_poses(browser: Any, address: str, times: tuple[float, ...]) -> tuple[Any, Any]:
    """The page once it has drawn, and each node's matrix (column major) at each time."""
    page = browser.new_page(viewport={"width": 640, "height": 400})
    page.goto(address + "?times=" + ",".join(map(str, times)))
    until(lambda: page.title(), "the picture, or why there is none", page)
    return page, json.loads(page.inner_text("#poses"))


def test_three_js_shows_the_bodies_where_the_simulation_put_them(
    served: tuple[Path, str], browser: Any, figure: Figure
) -> None:
    folder, address = served
    expected: dict[float, dict[str, np.ndarray]] = {}
    with world(tumbling_boxes()) as scene:
        recording = gb.record(scene, fps=240)
        for time in TIMES:
            scene.step(round((time - scene.time) * 240))
            expected[time] = {n.name: n.world_matrix for n in scene.nodes}
        recording.export_glb(folder / "scene.glb")
    page, shown = shown_poses(browser, address, TIMES)
    apart, turned = [], []
    for time, poses in zip(TIMES, shown, strict=True):
        for name, elements in poses.items():
            if name not in expected[time]:
                continue
            found = np.array(elements).reshape(4, 4).T
            wanted = expected[time][name]
            apart.append(np.linalg.norm(found[:3, 3] - wanted[:3, 3]))
            turn = found[:3, :3] @ wanted[:3, :3].T
            cosine = np.clip((np.trace(turn) - 1.0) / 2.0, -1.0, 1.0)
            turned.append(np.degrees(np.arccos(cosine)))
    figure("bodies and times", len(apart), least=4 * len(TIMES))
    figure("positions", np.max(apart), most=1e-3, unit="m")
    figure("orientations", np.max(turned), most=0.1, unit="deg")
    # GLTF_BULLET_PICTURES keeps the picture for somebody to look at.
    picture = Path(os.environ.get("GLTF_BULLET_PICTURES", folder)) / "three_view.png"
    page.screenshot(path=picture)
    colors = pixels_of(page).reshape(-1, 3)
    assert len(np.unique(colors // 16, axis=0)) > 20
