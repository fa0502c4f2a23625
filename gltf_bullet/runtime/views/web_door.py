"""Access control of web pages: a secret in the address, and the page's own origin.

A browser lets every page of the internet open a WebSocket to this machine, and other users of the
machine reach its ports as well. So the path of the address begins with a secret that is made for
each server, and the origin that a browser states (``Origin``) must be the server's own. viser has
no access control; its server is made by ``websockets``, which calls a function for each request.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.records import replace

TOKEN_BYTES = 18
"""Length of a secret: 144 bits, 24 characters."""
_patching = threading.Lock()


def is_loopback(host: str) -> bool:
    """Return True if an address is that of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name, as 127.evil.example
        return False


class Door(Struct):
    """Access control of one server by a secret."""

    host: str
    """Host that the server is bound to."""
    token: str = msgspec_field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    is_in_place: bool = False
    """True if a server was made that checks its requests here."""

    def url(self, port: int) -> str:
        """Return the whole address."""
        everywhere = self.host in ("", "0.0.0.0", "::")  # noqa: S104  # it is compared
        host = "localhost" if everywhere or is_loopback(self.host) else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self.token}/"

    @contextlib.contextmanager
    def before(self) -> Iterator[None]:
        """Make the server that viser creates in the following block check its requests here."""
        from websockets.asyncio import server

        with _patching:
            serve = server.serve

            def guarded(handler: Any, host: Any = None, at: Any = None, **options: Any) -> Any:
                # Other code of this process may create servers of its own meanwhile.
                answer = options.get("process_request")
                if host == self.host and getattr(answer, "__module__", "").startswith("viser."):
                    options["process_request"] = self._asking(answer)
                    self.is_in_place = True
                return serve(handler, host, at, **options)

            server.serve = guarded  # type: ignore[assignment,misc]
            try:
                yield
            finally:
                server.serve = serve  # type: ignore[misc]

    def _asking(self, answer: Any) -> Callable[[Any, Any], Any]:
        def ask(connection: Any, request: Any) -> Any:
            why = self.refusal(
                request.path, request.headers.get_all("Host"), request.headers.get_all("Origin")
            )
            if why:
                return connection.respond(403, f"{why}\n")
            rest = request.path[len(self.token) + 1 :]
            return answer(
                connection, replace(request, path=rest if rest[:1] == "/" else f"/{rest}")
            )

        return ask

    def refusal(self, path: str, hosts: list[str], origins: list[str]) -> str:
        """Return the reason to refuse a request; empty to accept it.

        Args:
            path: Path of the request, with the query.
            hosts: Values of its ``Host`` header.
            origins: Values of ``Origin``, the page that asks; none for a page itself.
        """
        first = path.partition("?")[0].strip("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return "This is not the whole address: open the one that was printed."
        if len(hosts) != 1:
            return "The request does not say whom it asks."
        try:
            asked = urlsplit(f"//{hosts[0]}").hostname or ""
            pages = [urlsplit(origin) for origin in origins]
        except ValueError:  # as of "http://["
            return "The request is malformed."
        if is_loopback(self.host) and not is_loopback(asked):
            return f"This server is not {hosts[0]}."
        for origin, parts in zip(origins, pages, strict=True):
            if parts.scheme not in ("http", "https") or parts.netloc != hosts[0]:
                return f"A page of {origin} may not come here."
        return ""
