"""The viewer in a real browser: what is seen, what sliders and the mouse do, how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.model import MotionKind
from gltf_bullet.rendering.solids import COLOR_OF_KIND
from tests.browser.conftest import count_like, pixels_of, until

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "examples" / "assets"
ORANGE = COLOR_OF_KIND[MotionKind.DYNAMIC][:3]
DARK = 90.0
"""How far the hue of its shaded side may be off: three.js's film curve makes it redder."""


class Running:
    """A scene that is played in a thread of its own, and only touched when that has ended."""

    def __init__(self, name: str, client: int, **options: Any) -> None:
        self.scene = gb.load_gltf(
            str(ASSETS / name), client, options=gb.LoadOptions(visuals="none")
        )
        self.view = gb.viewer.WebView(self.scene, **options)
        self._thread = threading.Thread(target=self.view.run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.view.close()
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()


def opened(browser: Any, url: str) -> Any:
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(url)
    until(lambda: page.get_by_role("slider").count() > 1, "the panel", page)
    return page


def is_listening(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", parts.port or 0)) == 0


def greenish(page: Any) -> int:
    """Pixels of the colour of dynamic colliders, which is blended with what is behind."""
    red, green, blue = pixels_of(page).transpose(2, 0, 1)
    return int(((green > red + 25) & (green > blue + 25)).sum())


def slider_value(page: Any, number: int) -> float:
    return float(page.get_by_role("slider").nth(number).get_attribute("aria-valuenow"))


def test_sliders_turn_joints_and_layers_switch_in_every_tab(browser: Any, client: int) -> None:
    running = Running("hinge_door.gltf", client, show=())
    url = running.view.url
    assert url.startswith("http://localhost:")
    try:
        page = opened(browser, url)
        until(lambda: count_like(pixels_of(page), ORANGE, DARK) > 2000, "the door", page)
        # A layer: its switch; its lines have the colour of the door's kind by now.
        page.get_by_label("colliders").check()
        page.get_by_label("colliders").uncheck()
        # The drive, by its slider, from another tab; the first one follows.
        other = opened(browser, url)
        start = slider_value(page, 1)
        other.get_by_role("slider").nth(1).focus()
        for _ in range(5):
            other.keyboard.press("PageUp")
        for _ in range(40):
            other.keyboard.press("ArrowRight")
        target = slider_value(other, 1)
        assert target > start + 0.02
        until(lambda: slider_value(page, 1) == target, "the slider in the first tab", page)
        assert "playing" in page.inner_text("body")
        page.wait_for_timeout(6000)
        assert page.errors == other.errors == []
    finally:
        running.stop()
    assert not is_listening(url)
    assert running.scene.joint_controls.drive_targets()[0][0] == pytest.approx(target, abs=1e-6)
    hinge = running.scene.joints["HingeOnDoor"].degrees_of_freedom[0]
    assert hinge.position == pytest.approx(target, abs=0.02)


def test_the_mouse_chooses_and_pulls_bodies(browser: Any, client: int) -> None:
    running = Running("hinge_door.gltf", client, show=())
    hinge = running.scene.joints["HingeOnDoor"].degrees_of_freedom[0]
    try:
        page = opened(browser, running.view.url)
        until(lambda: count_like(pixels_of(page), ORANGE, DARK) > 2000, "the door", page)
        picture = pixels_of(page)
        reddish = (picture[..., 0] > 1.3 * picture[..., 2]) & (picture[..., 0] > 100)
        rows, columns = np.nonzero(reddish[:, :650])
        x, y = float(np.percentile(columns, 80)), float(np.median(rows))
        page.mouse.click(x, y)
        until(lambda: "principal moments" in page.inner_text("body"), "its properties", page)
        page.mouse.move(x, y)
        page.mouse.down()
        for k in range(1, 40):
            page.mouse.move(x - 4 * k, y + 2 * k)
            page.wait_for_timeout(50)
    finally:
        running.stop()
    assert abs(hinge.position) > 0.1, "the drive would hold it at 0"


def test_the_program_follows_its_file_and_ends_with_an_interrupt(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "door.gltf"
    text = (ASSETS / "hinge_door.gltf").read_text()
    path.write_text(text)
    command = [sys.executable, "-m", "gltf_bullet", "view", str(path), "--web", "--port", "0"]
    program = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert program.stdout is not None
        line = next(line for line in program.stdout if "http://" in line)
        url = "http" + line.split("http")[1].split()[0]
        page = opened(browser, url)
        assert "HingeOnDoor" in page.inner_text("body")
        path.write_text(text.replace("HingeOnDoor", "Renamed"))
        until(lambda: "Renamed" in page.inner_text("body"), "the edited file", page)
        until(lambda: count_like(pixels_of(page), ORANGE, DARK) > 2000, "the door again", page)
        path.write_text(text[:-40])
        until(lambda: "does not work" in page.inner_text("body"), "what is wrong", page)
        assert count_like(pixels_of(page), ORANGE, DARK) > 2000, "the last good scene stays"
    finally:
        # Shells start programs in the background deaf to SIGINT.
        is_deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        program.send_signal(signal.SIGTERM if is_deaf else signal.SIGINT)
        rest, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    assert "Traceback" not in rest
    assert not is_listening(url)
