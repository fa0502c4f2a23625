"""Which functions are kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ENTRIES", "KERNELS", "PRIMITIVES", "argument_kinds", "entry_name"]

KERNELS: set[Callable[..., Any]] = set()
"""What was declared as one."""
ENTRIES: list[Callable[..., Any]] = []
"""Those of them that Python calls."""
PRIMITIVES: set[Callable[..., Any]] = set()
"""What compiled code has in a form of its own: ``primitives`` has them by the same names."""


def argument_kinds(function: Callable[..., Any]) -> tuple[str, ...]:
    """The annotations of a kernel's arguments, in their order."""
    return tuple(kind for name, kind in function.__annotations__.items() if name != "return")


def entry_name(function: Callable[..., Any]) -> str:
    """An entry's name among all that a process may load."""
    return f"{function.__module__}.{function.__name__}"
