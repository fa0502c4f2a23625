"""A file whose every name, key and extension is a script: it is read on pages, and never runs."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import gltf_bullet as gb
from tests.browser.conftest import until

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
FRAME = '<iframe srcdoc="<img src=x onerror=parent.document.title=1234>">'
IMAGE = "<img src=x onerror=document.title=1234><script>document.title=1234</script>"
MARKDOWN = "![x](x.png) [x](javascript:document.title=1234) {document.title=1234} `</code>` | a |"
TEXTS = (FRAME, IMAGE, MARKDOWN)
SHOWN = 60
"""Characters of a key that messages quote."""
ELEMENTS = "iframe, img[src='x'], img[src='x.png'], a[href^='javascript'], [onerror]"


def hostile(text: str) -> dict[str, Any]:
    """A door with a drive whose texts are all ``text``, with issues that quote each."""
    document = json.loads((ASSETS / "hinge_door.gltf").read_text())
    for kind in ("nodes", "meshes", "materials", "animations", "cameras", "scenes"):
        for entry in document.get(kind, []):
            entry["name"] = text
    document["asset"]["generator"] = text
    document["extensionsUsed"].append(text)
    for node in document["nodes"]:
        node.setdefault("extensions", {})[text] = {text: text}
        node["extras"] = {text: text}
        physics = node["extensions"].get("KHR_physics_rigid_bodies", {})
        for part in (physics, *(v for v in physics.values() if isinstance(v, dict))):
            part[text] = text
    document["animations"] = [{"name": text, "channels": [], "samplers": [], text: 1}]
    return document


def opened(browser: Any) -> Any:
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    return page


def require_inert(page: Any) -> None:
    page.wait_for_timeout(1500)
    assert "1234" not in page.title()
    assert page.evaluate(f"document.querySelectorAll(`{ELEMENTS}`).length") == 0


@pytest.mark.parametrize("text", TEXTS, ids=["frame", "image", "markdown"])
def test_the_live_view_shows_them_as_text(
    browser: Any, client: int, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "door.gltf"
    path.write_text(json.dumps(hostile(text)))
    scene = gb.load_gltf(path, client, options=gb.LoadOptions(visuals="none"))
    assert any(text[:SHOWN] in issue.message for issue in scene.issues)
    view = gb.viewer.WebView(scene, show=("names", "joints"))
    thread = threading.Thread(target=view.run, daemon=True)
    thread.start()
    try:
        page = opened(browser)
        page.goto(view.url)
        until(lambda: page.get_by_text("Issues (").count() > 0, "the panel", page)
        page.get_by_text("Issues (").first.click()
        chosen = next(iter(scene.joints))
        view._page._put("node", next(k for k, v in view._page._labels.items() if v == chosen))
        until(lambda: "rotation xyzw" in page.inner_text("body"), "the node", page)
        until(lambda: text[:SHOWN] in page.inner_text("body"), "the text itself", page)
        require_inert(page)
    finally:
        view.close()
        thread.join(timeout=30)


@pytest.mark.parametrize("text", TEXTS, ids=["frame", "image", "markdown"])
def test_pages_to_keep_and_notebooks_show_them_as_text(
    browser: Any, client: int, tmp_path: Path, text: str
) -> None:
    data = json.dumps(hostile(text)).encode()
    scene = gb.load_gltf(data, client)
    recording = gb.record(scene)
    scene.step(20)
    recording.export_html(tmp_path / "page.html")
    page = opened(browser)
    page.goto((tmp_path / "page.html").as_uri())
    until(lambda: page.get_by_role("textbox").count() > 0, "the time", page)
    require_inert(page)
    for shown in (gb.check(data), scene):
        (tmp_path / "cell.html").write_text(
            f"<html><head><meta charset=utf-8></head><body>{shown._repr_html_()}</body></html>"
        )
        page.goto((tmp_path / "cell.html").as_uri())
        assert text[:SHOWN] in page.inner_text("body")
        require_inert(page)
    (tmp_path / "player.html").write_text(f"<html><body>{recording._repr_html_()}</body></html>")
    page.goto((tmp_path / "player.html").as_uri())
    page.wait_for_timeout(3000)
    assert "1234" not in page.title()
    assert page.evaluate("document.querySelectorAll('iframe').length") == 1  # the player itself
