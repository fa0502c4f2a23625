"""Who is let into a page of ours: nobody without the secret, no page of another site."""

from __future__ import annotations

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import viser
from websockets.asyncio import server
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.views.web_door import Door, is_loopback
from gltf_bullet.runtime.views.web_export import open_server

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


@pytest.fixture(scope="module")
def view() -> Iterator[gb.viewer.WebView]:
    with headless_world() as client:
        scene = gb.load_gltf(str(ASSETS / "hinge_door.gltf"), client)
        with gb.viewer.WebView(scene, play=False) as opened:
            yield opened


def socket_opens(address: str, origin: str | None) -> bool:
    """Whether a WebSocket gets in; ``origin`` is what a browser says of the page that asks."""

    async def attempt() -> bool:
        protocol: list = [f"viser-v{viser.__version__}"]
        try:
            async with connect(address, origin=origin, subprotocols=protocol) as socket:  # type: ignore[arg-type]
                return len(await asyncio.wait_for(socket.recv(), 30)) > 0
        except InvalidStatus as error:
            if error.response.status_code != 403:
                raise
            return False

    return asyncio.run(attempt())


@pytest.mark.parametrize(
    ("origin", "comes_in"),
    [
        (None, True),  # no browser
        ("http://localhost:{port}", True),
        ("http://evil.example", False),
        ("null", False),
        ("http://localhost:1", False),
        ("http://localhost:{port}.evil.example", False),
        ("file://", False),
    ],
)
def test_pages_of_other_sites_get_no_socket(
    view: gb.viewer.WebView, origin: str | None, comes_in: bool
) -> None:
    origin = origin and origin.format(port=urlsplit(view.url).port)
    assert socket_opens(view.url.replace("http", "ws").rstrip("/"), origin) is comes_in


def test_without_the_secret_there_is_neither_page_nor_socket(view: gb.viewer.WebView) -> None:
    parts = urlsplit(view.url)
    bare = f"{parts.hostname}:{parts.port}"
    token = parts.path.strip("/")
    assert len(token) >= 22  # 128 bits and more
    for path in ("", "/", "/index.html", f"/{token[:-1]}", f"/x{token}", f"/?{token}", "/../"):
        assert not socket_opens(f"ws://{bare}{path}", f"http://{bare}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{bare}{path}", timeout=30)
        assert refused.value.code == 403
        refused.value.close()  # the server waits for open ones when it closes
    with urllib.request.urlopen(view.url, timeout=30) as page:  # noqa: S310
        assert b"<html" in page.read()


def test_a_name_of_another_site_for_this_machine_is_refused(view: gb.viewer.WebView) -> None:
    # What a site does whose name resolves to 127.0.0.1 by now: host and origin agree.
    parts = urlsplit(view.url)
    headers = {"Host": f"evil.example:{parts.port}"}
    request = urllib.request.Request(view.url, headers=headers)  # noqa: S310
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)  # noqa: S310
    assert refused.value.code == 403
    refused.value.close()


def test_each_server_has_a_secret_of_its_own() -> None:
    assert len({Door("127.0.0.1").token for _ in range(100)}) == 100


def test_a_viser_that_asks_nobody_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, made = server.serve, list[viser.ViserServer]()

    class Other(viser.ViserServer):
        """Makes its server in a way that is not known."""

        def __init__(self, **options: object) -> None:
            monkeypatch.setattr(server, "serve", plain)
            super().__init__(**options)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(gb.EngineError, match=re.escape(viser.__version__)):
        open_server("127.0.0.1", 0)
    assert len(made) == 1
    assert not made[0]._websock_server._server_thread.is_alive()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("host", "begins"),
    [
        ("127.0.0.1", "http://localhost:80/"),
        ("0.0.0.0", "http://localhost:80/"),  # noqa: S104
        ("192.168.0.7", "http://192.168.0.7:80/"),
        ("::1", "http://localhost:80/"),
    ],
)
def test_addresses(host: str, begins: str) -> None:
    door = Door(host)
    assert door.url(80) == f"{begins}{door.token}/"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
        ("127.evil.example", False), ("127.0.0.1.evil.example", False), ("10.0.0.1", False),
    ],
)  # fmt: skip
def test_loopback_is_an_address_and_no_prefix(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(("host", "origin"), [("[", ""), ("localhost", "http://[")])
def test_malformed_hosts_and_origins_are_refused(host: str, origin: str) -> None:
    door = Door("127.0.0.1")
    refusal = door.refusal(f"/{door.token}/", [host], [origin] if origin else [])
    assert refusal == "The request is malformed."
