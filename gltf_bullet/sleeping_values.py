"""Values of a pickle that are made when somebody asks for a field of one.

What was planned of a robot is hundreds of values, and the load that follows looks at a fifth of
them (measured). The others stand there as objects of their class that are still empty; asking one
of them for anything fills them all, and from then on they are what they would have been.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import cache
from threading import RLock
from typing import Any

__all__ = ["Sleepers", "content_of", "is_asleep", "may_sleep", "slot_setters"]

_SLEEPERS = "_sleepers"
"""Where a value without slots has those that it sleeps among."""
_lock = RLock()
"""Threads may ask at the same time."""
_half_awake: list[Sleepers] = []
"""Those that are being filled; one that stays was interrupted, as by ctrl-C."""

if hasattr(os, "register_at_fork"):  # a child has no other thread that would go on waking
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class Sleepers:
    """The sleeping values of one pickle."""

    def __init__(self, contents: Callable[[], list[Any]]) -> None:
        """``contents`` makes what :func:`content_of` was of each of them, in order.

        It is called again if it does not come to its end.
        """
        self._read: Callable[[], list[Any]] | None = contents
        self._contents: list[Any] | None = None
        self._values: list[Any] = []
        self._kinds: list[type] = []

    def value(self, name: type | int) -> Any:
        """A further one of a class, or again the one that has a number."""
        if isinstance(name, int):
            return self._values[name]
        empty, hide = _sleeping(name)
        value: Any = object.__new__(empty)
        hide(value, self)
        self._values.append(value)
        self._kinds.append(name)
        return value

    def values(self) -> Sequence[Any]:
        """All of them in order, as long as they sleep."""
        return self._values

    def wake(self) -> None:
        """Fill all of them; goes on where it was interrupted."""
        if self._read is not None:
            if self._contents is None:
                self._contents = self._read()
            _half_awake[:] = [self]
            for value, kind, content in zip(self._values, self._kinds, self._contents, strict=True):
                if type(value) is not kind:
                    _fill(value, slot_setters(kind), content)
                    object.__setattr__(value, "__class__", kind)
            self._read = None
        self._contents, self._values, self._kinds = None, [], []
        _half_awake.clear()


def may_sleep(*kinds: type) -> frozenset[type]:
    """Some dataclasses whose values can sleep; to be called at import: it takes 10 us of each.

    None of their values may be a key of a dictionary, or in a set, where their content counts.

    Raises:
        TypeError: One is no dataclass.
    """
    for kind in kinds:
        _sleeping(kind)
    return frozenset(kinds)


def is_asleep(value: object) -> bool:
    """Whether nobody has asked for anything of it."""
    return "_wakes" in vars(type(value))


def content_of(value: Any) -> object:
    """What a dataclass holds."""
    kind: Any = value.__class__
    if slot_setters(kind):
        return tuple(getattr(value, name) for name in kind.__slots__)
    return value.__dict__


@cache
def slot_setters(kind: Any) -> tuple[Callable[[object, object], None], ...]:
    """What sets the fields of a dataclass with slots of its own; empty for other types."""
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__bases__ == (object,)):
        return ()
    members = vars(kind)
    return tuple(members[name].__set__ for name in members.get("__slots__", ()))


def _fill(value: Any, setters: Sequence[Callable[[object, object], None]], content: Any) -> None:
    if not setters:
        state = object.__getattribute__(value, "__dict__")
        state.update(content)
        state.pop(_SLEEPERS, None)
        return
    for put, part in zip(setters, content, strict=True):
        put(value, part)


@cache
def _sleeping(kind: type) -> tuple[type, Callable[[object, Sleepers], None]]:
    """The class of a value of ``kind`` while it sleeps, and what tells such a value among whom.

    Whatever is asked of such a value wakes it.
    """
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} cannot sleep")
    slots, names = slot_setters(kind), vars(kind).get("__slots__", ())

    def sleepers_of(value: object) -> Any:
        if slots:  # the first one holds them
            return vars(kind)[names[0]].__get__(value)
        return object.__getattribute__(value, "__dict__")[_SLEEPERS]

    def hide(value: object, sleepers: Sleepers) -> None:
        object.__getattribute__(value, "__dict__")[_SLEEPERS] = sleepers

    def wake(value: object) -> None:
        with _lock:
            for interrupted in tuple(_half_awake):
                interrupted.wake()
            if type(value) is empty:  # else another thread was first
                sleepers_of(value).wake()

    def get(value: Any, name: str) -> Any:
        wake(value)
        return getattr(value, name)

    def put(value: Any, name: str, content: object) -> None:
        wake(value)
        setattr(value, name, content)

    members = {"__slots__": (), "__module__": kind.__module__, "_wakes": True}
    empty = type(kind.__name__, (kind,), members | {"__getattribute__": get, "__setattr__": put})
    return empty, slots[0] if slots else hide
