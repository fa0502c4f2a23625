"""Reading the properties of physics objects: vectors, tables, entries of tables, unknown keys.

What every extension's schema has in common, on top of :mod:`gltf_bullet.gltf.fields`. Defaults are
never here: each dialect states its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, overload

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.fields import (
    JsonObject,
    missing,
    read_index,
    read_numbers,
    read_object,
    read_objects,
)
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import Vec3

__all__ = [
    "AS_ABSENT",
    "AS_EMPTY",
    "LIST_EMPTY",
    "UNKNOWN_PROPERTY",
    "known_keys",
    "read_block",
    "read_entry",
    "read_table",
    "read_vector",
    "report_unknown",
    "require",
]

UNKNOWN_PROPERTY = IssueKind(
    "UNKNOWN_PROPERTY",
    Severity.INFO,
    "{key} is not a property of {owner}; it is ignored{suggestion}",
)
LIST_EMPTY = IssueKind(
    "LIST_EMPTY", Severity.INFO, "{key} is {got}; must hold at least one item; nothing is read"
)

AS_ABSENT: Final = "it is taken as not given"
"""What becomes of a wrong member whose absence has a meaning."""
AS_EMPTY: Final = "it is taken as empty"
"""What becomes of a wrong list of objects, or of a wrong object in one."""

_COMMON: Final = frozenset({"extensions", "extras", "name"})
"""What every glTF object may have."""

T = TypeVar("T")
Parser = Callable[[JsonObject, JsonPointer, Diagnostics], T]


def known_keys(*keys: str) -> frozenset[str]:
    """The keys an object may have: its own and those of every glTF object."""
    return frozenset(keys) | _COMMON


def report_unknown(
    owner: JsonObject, known: frozenset[str], what: str, at: JsonPointer, diagnostics: Diagnostics
) -> None:
    """Report the members of ``owner`` that are not ``known``; ``what`` names the kind of object."""
    if owner.keys() <= known:
        return
    for key in owner:
        if key not in known:
            missing = (other for other in sorted(known - owner.keys()) if other not in _COMMON)
            suggestion = did_you_mean(key[:60], missing, similar=0.75)
            diagnostics.report(
                UNKNOWN_PROPERTY, at / key, key=key[:60], owner=what, suggestion=suggestion
            )


def require(
    owner: JsonObject,
    key: str,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str,
) -> bool:
    """Whether ``key`` is present; its absence is reported, with what is done ``instead``."""
    if key in owner:
        return True
    missing(key, allowed, at, diagnostics, instead)
    return False


@overload
def read_vector(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: Vec3
) -> Vec3: ...
@overload
def read_vector(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: None
) -> Vec3 | None: ...
def read_vector(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: Vec3 | None
) -> Vec3 | None:
    """Three finite numbers; ``default`` where absent, and with a warning where wrong."""
    if key not in owner:
        return default
    instead = AS_ABSENT if default is None else "({:g}, {:g}, {:g}) is used".format(*default)
    numbers = read_numbers(owner, key, at, diagnostics, count=3, instead=instead)
    if numbers is None:
        return default
    x, y, z = numbers
    return (x, y, z)


def read_block(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> JsonObject | None:
    """An object of an extension; ``None`` where absent, and with a warning where it is none."""
    return read_object(owner, key, at, diagnostics, instead=AS_ABSENT)


def read_table(
    root: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    parse: Parser[T],
    *,
    required: bool = False,
) -> tuple[T, ...]:
    """Parse a document-level list of objects; a list must not be empty (``minItems``: 1).

    ``required``: a root block without the list is as wrong as an empty list.
    """
    if key in root:
        if root[key] == []:
            diagnostics.report(LIST_EMPTY, at / key, key=key, got="empty")
    elif required and root:
        diagnostics.report(LIST_EMPTY, at, key=key, got="missing")
    return tuple(
        parse(entry, pointer, diagnostics)
        for _, pointer, entry in read_objects(root, key, at, diagnostics, instead=AS_EMPTY)
    )


def read_entry(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    table: Sequence[T],
    *,
    instead: str = AS_ABSENT,
) -> T | None:
    """The entry of ``table`` that ``key`` names by index.

    ``None`` where the index is absent or wrong, or where the entry itself could not be used (which
    was reported at the entry). Some exporters write -1 for none.
    """
    value = owner.get(key)
    # The common case without a pointer and two calls: a third of the time of a file of colliders.
    if type(value) is int and 0 <= value < len(table):
        return table[value]
    index = read_index(owner, key, at, diagnostics, count=len(table), instead=instead, refers=True)
    return None if index is None else table[index]
