"""Python's garbage collector, out of the way of who makes many values that will stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage meanwhile.

    A robot's first load in a process was interrupted for 15 of its 30 ms, to look at everything
    that had been imported (measured); a big file is nothing but new containers, and looking at them
    takes two to three times as long as to decode it.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()
