"""What a notebook shows of our objects, executed by Jupyter's own client."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image

import gltf_bullet as gb
from tests.physics.scenes import world

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"

CELLS = (
    f"""import pybullet, gltf_bullet as gb
client = pybullet.connect(pybullet.DIRECT)
scene = gb.load_gltf({str(ASSETS / "toy_blocks.gltf")!r}, client)
recording = gb.record(scene)
scene.step(60)""",
    "scene",
    "scene.render(size=(64, 48))",
    f"gb.check({str(ASSETS / 'shape_zoo.gltf')!r})",
    "recording",
    "scene.remove(); scene",
)


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, str]]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    found = []
    for cell in notebook.cells[1:]:
        (result,) = [out for out in cell.outputs if out.output_type == "execute_result"]
        found.append(dict(result.data))
    return found


def test_a_scene_is_a_picture_and_a_table(outputs: list[dict[str, str]]) -> None:
    page = outputs[0]["text/html"]
    match = re.search(r"base64,([^\"]+)", page)
    assert match
    with Image.open(io.BytesIO(base64.b64decode(match.group(1)))) as picture:
        colors = np.unique(np.asarray(picture).reshape(-1, 3) // 16, axis=0)
    assert len(colors) > 20
    with world(str(ASSETS / "toy_blocks.gltf")) as scene:
        for body in scene.bodies.values():
            assert f"<td>{body.name}</td>" in page
    assert "at 0.250 s" in page


def test_a_picture_is_a_png(outputs: list[dict[str, str]]) -> None:
    with Image.open(io.BytesIO(base64.b64decode(outputs[1]["image/png"]))) as picture:
        assert picture.size == (64, 48)


def test_a_report_is_a_table(outputs: list[dict[str, str]]) -> None:
    page = outputs[2]["text/html"]
    issues = gb.check(str(ASSETS / "shape_zoo.gltf")).issues
    assert page.count("<tr>") == 1 + len(issues) > 1
    assert "ROUND_SHAPE_APPROXIMATED" in page


def test_a_recording_is_a_player(outputs: list[dict[str, str]]) -> None:
    page = outputs[3]["text/html"]
    assert page.startswith("<iframe srcdoc=")
    assert "__VISER_EMBED_DATA__" in page


def test_a_removed_scene_says_so(outputs: list[dict[str, str]]) -> None:
    page = outputs[4]["text/html"]
    assert "removed" in page
    assert "<table>" not in page
