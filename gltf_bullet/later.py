"""Values that are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Later"]

T = TypeVar("T")


class Later(Generic[T]):
    """Call it for the value: made at the first call, the same at all others."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    def __call__(self) -> T:
        """The value."""
        if self._make is not None:
            self._value = self._make()
            self._make = None  # and what it holds
        return self._value

    @classmethod
    def known(cls, value: T) -> Later[T]:
        """One that was made already."""
        made = cls(lambda: value)
        made()
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return (Later.known, (self(),))
