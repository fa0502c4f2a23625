"""A context without Python's garbage collector, for code that makes many lasting values."""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager


def no_collection() -> AbstractContextManager[None]:
    """Collect no garbage in this context.

    A robot's first load in a process was interrupted for 15 of its 30 ms, to examine everything
    that had been imported (measured); a big file consists of new containers, and examining them
    takes two to three times as long as to decode it.
    """
    return _NoCollection()


class _NoCollection(AbstractContextManager[None]):
    """No generator: the exception that ends one would start the collection before it returns."""

    __slots__ = ("_is_collecting",)

    def __enter__(self) -> None:
        self._is_collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._is_collecting:
            gc.enable()
