"""README.md and the reference pages: short, linked, and every Python snippet runs.

A page's blocks marked ``python`` are one program, in order, run beside the examples. A block that
needs a window or files of the reader is marked ``py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
import gltf_bullet.solver  # says whose kernels these are
from tools.list_issues import PACKAGE, REFERENCE, ROOT

README = ROOT / "README.md"
PAGES = [README, *sorted(REFERENCE.glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


WITH_SNIPPETS = [page for page in PAGES if blocks(page, "python")]


def test_the_readme_is_short_and_leads_to_every_page() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 230
    for page in PAGES[1:]:
        assert f"](gltf_bullet/reference/{page.name})" in text


def test_the_readme_promises_two_commands() -> None:
    run, test = blocks(README, "sh")[:2]
    for command in (run, test):
        assert command.count("\n") == 1
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_links_to_exists(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if target.startswith("https://"):
            continue
        other = (page.parent / file) if file else page
        assert other.exists(), target
        assert not anchor or f"# {anchor}" in other.read_text("utf-8").lower().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_one_title_and_no_long_prose_lines(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    prose = [line for line in lines if not line.startswith(("|", ">", "- **", "python3 "))]
    assert max(map(len, prose)) <= 120


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem == "pictures"))
        for page in WITH_SNIPPETS
    ],
)
def test_the_snippets_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for file in blocks(page, "json"):  # the one that authoring.md writes
        (tmp_path / "door.gltf").write_text(file, encoding="utf-8")
    program = tmp_path / "snippets.py"
    program.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program.name],
        cwd=tmp_path,
        env={**os.environ, "DISPLAY": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_the_file_written_by_hand_does_what_its_page_says(tmp_path: Path) -> None:
    (text,) = blocks(REFERENCE / "authoring.md", "json")
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
        scene = gb.load_gltf(text.encode(), client)
        assert [issue.code for issue in scene.issues] == ["SLOW_BOUNCE"]
        events: list[gb.TriggerEvent] = []
        scene.on_trigger(events.append)
        hinge = scene.joints["HingeOnFloor"].degrees_of_freedom[0]
        turned = []
        for _ in range(480):
            scene.step()
            turned.append(float(np.asarray(hinge.position)))
        assert [event.kind for event in events] == ["entered", "exited"]
        assert {event.motion_node for event in events} == {scene.node("Ball").index}
        # The ball opened it: a push along +X beyond the hinge in +Z turns about +Y, as on the page.
        assert max(turned) > 1.0
        assert scene.world_from_node("Ball")[0, 3] > 1.5
    finally:
        pybullet.disconnect(client)


def test_the_architecture_page_names_every_room() -> None:
    text = (REFERENCE / "architecture.md").read_text(encoding="utf-8")
    entries = [*PACKAGE.glob("*.py"), *(path.parent for path in PACKAGE.glob("*/__init__.py"))]
    rooms = {path.stem for path in entries if not path.stem.startswith("__")}
    assert rooms == {room for room in rooms if f"`{room}`" in text}
