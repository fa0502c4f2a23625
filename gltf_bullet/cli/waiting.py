"""What a command is busy with, on standard error, for every wait of more than a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from gltf_bullet.cli.output import console
from gltf_bullet.printable import printable

__all__ = ["PATIENCE", "Show", "waiting"]

PATIENCE = 1.0
"""[s] Shorter waits are not worth a line."""
REFRESH = 0.1
"""[s] Between two looks at a bar: telling it of every step costs more than a small scene's step."""

Show: TypeAlias = Callable[[str, float], None]
"""Says what is being done and the share of it that is done, 0..1; negative where nobody knows."""


@contextmanager
def waiting(what: str) -> Iterator[Show]:
    """A bar on a terminal that goes away at the end; one line per kind of work elsewhere.

    Args:
        what: Said until the work itself says something else.
    """
    show = _bar if console(err=True).is_terminal else _lines
    with show(what) as shown:
        yield shown


@contextmanager
def _bar(what: str) -> Iterator[Show]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(err=True), transient=True) as bars:
        tasks = {what: bars.add_task(_sentence(what), total=None)}
        drawn = -REFRESH

        def show(text: str, share: float) -> None:
            nonlocal drawn
            now = time.monotonic()
            if now - drawn < REFRESH:
                return
            drawn = now
            if text not in tasks:
                tasks[text] = bars.add_task(_sentence(text), total=None)
            total = None if share < 0.0 else 1.0
            bars.update(tasks[text], completed=max(share, 0.0), total=total)

        yield show


@contextmanager
def _lines(what: str) -> Iterator[Show]:
    out = console(err=True)
    begin = time.monotonic()
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            out.print(f"{_sentence(text)} ...", markup=False, soft_wrap=True)

    def show(text: str, _share: float) -> None:
        if time.monotonic() - begin > PATIENCE:
            say(text)

    timer = threading.Timer(PATIENCE, say, (what,))
    timer.daemon = True
    timer.start()
    try:
        yield show
    finally:
        timer.cancel()


def _sentence(text: str) -> str:
    return printable(text[:1].upper() + text[1:])
