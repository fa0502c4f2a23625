"""One lock per PyBullet world, held by everything that touches it: PyBullet is not thread-safe.

Kernels step a world without the interpreter's lock, and bodies are made and removed by many calls:
another thread would meet half of a world, or end the process.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

WorldLock: TypeAlias = Any
"""``threading.RLock`` is a function before Python 3.13, and no type."""

_LOCKS: dict[int, WorldLock] = {}
"""By client: it outlives ``resetSimulation``, after which old scenes still ask for their bodies."""

C = TypeVar("C", bound=type)


def world_lock(client_id: int) -> WorldLock:
    """Return the lock of a client's world; a thread that holds it may take it again."""
    known = _LOCKS.get(client_id)
    return known if known is not None else _LOCKS.setdefault(client_id, threading.RLock())


def _free_in_child() -> None:
    """Free the locks that other threads held when the process was forked: they are not here."""
    for lock in _LOCKS.values():
        if not lock._is_owned():  # noqa: SLF001  # as ``threading`` does
            lock._at_fork_reinit()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)


def holds_world_lock(lock: str, *, apart: frozenset[str] = frozenset()) -> Callable[[C], C]:
    """Make all public methods and properties of a class hold the lock of their world.

    Args:
        lock: Path of attributes from an instance to its lock.
        apart: Names of methods that take the lock themselves.
    """
    lock_of = attrgetter(lock)

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            with lock_of(self):
                return method(self, *arguments, **named)

        return call

    def kept_once(name: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(make)
        def once(self: Any) -> Any:
            # Another thread may have made it while this one waited for the lock.
            return vars(self)[name] if name in vars(self) else make(self)

        return guarded(once)

    def guard(cls: C) -> C:
        for name, member in list(vars(cls).items()):
            is_shown = not name.startswith("_") or name in _SPECIAL
            if name in apart or not is_shown:
                continue
            if isinstance(member, property):
                get, put = (way and guarded(way) for way in (member.fget, member.fset))
                setattr(cls, name, property(get, put, doc=member.__doc__))
            elif isinstance(member, functools.cached_property):
                member.func = kept_once(name, member.func)
                # Before Python 3.12 it takes a lock of its own first, one for all instances: a
                # thread that has the world's would wait for it, and its owner for the world's.
                vars(member)["lock"] = contextlib.nullcontext()
            elif callable(member) and not isinstance(member, type):
                setattr(cls, name, guarded(member))
        return cls

    return guard


_SPECIAL = frozenset(
    ("__call__", "__contains__", "__getitem__", "__repr__", "__setitem__", "_repr_html_")
)
"""Methods without a public name that read or change a world."""
