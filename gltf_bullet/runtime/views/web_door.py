"""Who may come to a page of ours: whoever has its address, from that page itself.

A browser lets every page of the internet open a WebSocket to this machine, and other users of the
machine reach its ports as well. So the path of the address begins with a secret that is made for
each server, and the page that asks, as a browser says it (``Origin``), must be the server's own.
viser asks nobody; its server is made by ``websockets``, which calls a function for each request.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Door", "is_loopback"]

TOKEN_BYTES = 18
"""Of a secret: 144 bits, 24 characters."""
_patching = threading.Lock()


def is_loopback(host: str) -> bool:
    """Whether an address is that of this machine alone."""
    return host in ("localhost", "::1") or host.startswith("127.")


@dataclass(slots=True)
class Door:
    """Lets in who knows the secret."""

    host: str
    """That the server is bound to."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES))
    is_in_place: bool = False
    """Whether a server was made that asks here."""

    def url(self, port: int) -> str:
        """The whole address."""
        everywhere = self.host in ("", "0.0.0.0", "::")  # noqa: S104  # it is compared
        host = "localhost" if everywhere or is_loopback(self.host) else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self.token}/"

    @contextlib.contextmanager
    def before(self) -> Iterator[None]:
        """The server that viser makes meanwhile asks here first."""
        from websockets.asyncio import server

        with _patching:
            serve = server.serve

            def guarded(handler: Any, host: Any = None, at: Any = None, **options: Any) -> Any:
                # Others of this process may make servers of their own meanwhile.
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
        """Why a request is refused; empty where it is not.

        Args:
            path: Of the request, with what follows a question mark.
            hosts: What it says whom it asks.
            origins: What a browser says whose page it is that asks; none for a page itself.
        """
        first = path.partition("?")[0].strip("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return "This is not the whole address: open the one that was printed."
        if len(hosts) != 1:
            return "The request does not say whom it asks."
        if is_loopback(self.host) and not is_loopback(urlsplit(f"//{hosts[0]}").hostname or ""):
            return f"This server is not {hosts[0]}."
        for origin in origins:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or parts.netloc != hosts[0]:
                return f"A page of {origin} may not come here."
        return ""
