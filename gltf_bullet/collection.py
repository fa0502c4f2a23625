"""Python's garbage collector, out of the way of who makes many values that will stay."""

from __future__ import annotations

import gc

__all__ = ["no_collection"]


class no_collection:  # noqa: N801  # used as a function
    """Collect no garbage meanwhile.

    A robot's first load in a process was interrupted for 15 of its 30 ms, to look at everything
    that had been imported (measured); a big file is nothing but new containers, and looking at them
    takes two to three times as long as to decode it. No generator: the exception that ends one
    would be what sets the collection off, before the caller goes on.
    """

    __slots__ = ("_is_collecting",)

    def __enter__(self) -> None:
        """Begin."""
        self._is_collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        """Go on as before."""
        if self._is_collecting:
            gc.enable()
