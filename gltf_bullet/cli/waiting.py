"""Progress of a command on standard error, for waits of more than a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from gltf_bullet.cli.output import console
from gltf_bullet.printable import printable

PATIENCE = 1.0
"""[s] Longest wait that is not shown."""
REFRESH = 0.1
"""[s] Interval of updating a bar: to update it at every step costs more than a small scene's
step."""

Show: TypeAlias = Callable[[str, float], None]
"""Shows the current work and its finished share, 0..1; negative if unknown."""


@contextmanager
def waiting(what: str) -> Iterator[Show]:
    """Show a bar on a terminal, removed at the end, or one line per kind of work elsewhere.

    Args:
        what: Text until the work reports its own.
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
