"""Output files of one run, each of which may fail on its own."""

from __future__ import annotations

from collections.abc import Callable

import typer

from gltf_bullet.cli.output import say

__all__ = ["Attempts"]


class Attempts:
    """Does what an output needs, unless that output has failed before; remembers what failed."""

    def __init__(self) -> None:
        self._failures: dict[str, Exception] = {}

    def has_failed(self, option: str) -> bool:
        """Whether something that ``option`` needs did not work."""
        return option in self._failures

    def do(self, option: str, act: Callable[[], object]) -> None:
        """Call ``act`` for the output of ``option``; what it raises is kept for :meth:`report`."""
        if option in self._failures:
            return
        try:
            act()
        except typer.Exit:
            raise
        except Exception as error:
            self._failures[option] = error

    def report(self) -> None:
        """Name what failed; ends the program where there is anything.

        Raises:
            typer.Exit: With 2 where only files could not be written, else with 1.
        """
        for option, error in self._failures.items():
            what = str(error) or type(error).__name__
            say(f"error: nothing was written for {option}: {what}", err=True)
        if self._failures:
            files_only = all(isinstance(error, OSError) for error in self._failures.values())
            raise typer.Exit(2 if files_only else 1)
