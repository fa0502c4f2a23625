"""``functools.cached_property`` as it is from Python 3.12 on: without a lock for all instances.

That lock is held while the value is made. A thread that waits in there for a world would keep off
the thread that has it, and a process that is forked meanwhile would find it locked for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801  # named as what it stands for
    """A property whose value is made once; two threads at a time may both make it."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        vars(self)["lock"] = nullcontext()
