"""Which functions are kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["KERNELS", "PRIMITIVES", "argument_kinds"]

KERNELS: set[Callable[..., Any]] = set()
"""What was declared as one."""
PRIMITIVES: set[Callable[..., Any]] = set()
"""What compiled code has in a form of its own: ``primitives`` has them by the same names."""


def argument_kinds(function: Callable[..., Any]) -> tuple[str, ...]:
    """The annotations of a kernel's arguments, in their order."""
    return tuple(kind for name, kind in function.__annotations__.items() if name != "return")
