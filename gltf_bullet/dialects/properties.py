"""Reading the properties of physics objects: vectors, tables, entries of tables, unknown keys.

What every extension's schema has in common, on top of :mod:`gltf_bullet.gltf.fields`. Defaults are
never here: each dialect states its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.fields import (
    REQUIRED_MISSING,
    JsonObject,
    read_index,
    read_numbers,
    read_objects,
)
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import Vec3

__all__ = [
    "LIST_EMPTY",
    "UNKNOWN_PROPERTY",
    "known_keys",
    "read_entry",
    "read_entry_or_none",
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
INDEX_MEANS_NONE = IssueKind(
    "INDEX_MEANS_NONE", Severity.INFO, "{key} is -1; should be left out to mean none; it is read so"
)
LIST_EMPTY = IssueKind(
    "LIST_EMPTY", Severity.INFO, "{key} is {got}; must hold at least one item; nothing is read"
)

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
    owner: JsonObject, key: str, allowed: str, at: JsonPointer, diagnostics: Diagnostics
) -> bool:
    """Whether ``key`` is present; its absence is reported."""
    if key in owner:
        return True
    diagnostics.report(REQUIRED_MISSING, at, key=key, allowed=allowed)
    return False


def read_vector(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    at_least: float | None = None,
    above: float | None = None,
) -> Vec3 | None:
    """Three finite numbers, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    numbers = read_numbers(owner, key, at, diagnostics, count=3, at_least=at_least, above=above)
    if numbers is None:
        return None
    x, y, z = numbers
    return (x, y, z)


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
        for _, pointer, entry in read_objects(root, key, at, diagnostics)
    )


def read_entry_or_none(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, table: Sequence[T]
) -> T | None:
    """:func:`read_entry` of a key that may be absent, for which some exporters write -1."""
    if type(owner.get(key)) is int and owner[key] == -1:
        diagnostics.report(INDEX_MEANS_NONE, at / key, key=key)
        return None
    return read_entry(owner, key, at, diagnostics, table)


def read_entry(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    table: Sequence[T],
) -> T | None:
    """The entry of ``table`` that ``key`` names by index.

    ``None`` where the index is absent or wrong, or where the entry itself could not be used (which
    was reported at the entry).
    """
    value = owner.get(key)
    # The common case without a pointer and two calls: a third of the time of a file of colliders.
    if type(value) is int and 0 <= value < len(table):
        return table[value]
    index = read_index(owner, key, at, diagnostics, count=len(table))
    return None if index is None else table[index]
