"""Objects, words, booleans and indices: type and range checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.gltf.fields.findings import missing, not_allowed, wrong_index, wrong_type

__all__ = [
    "JsonObject",
    "has_required",
    "read_bool",
    "read_choice",
    "read_index",
    "read_indices",
    "read_object",
    "read_objects",
    "read_string",
    "read_strings",
]

JsonObject: TypeAlias = Mapping[str, object]

T = TypeVar("T")

_ONLY_ITEM = "it is taken as the only item"


def has_required(
    owner: JsonObject,
    key: str,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> bool:
    """Whether the member is there; its absence is reported, ``allowed`` says what it must be."""
    if key in owner:
        return True
    missing(key, allowed, at / key, diagnostics, instead)
    return False


def read_bool(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: bool
) -> bool:
    """A boolean; ``default`` where absent, and with a warning where wrong.

    Exporters that know no booleans write 1 and 0, which are read as they are meant, with a warning.
    """
    value = owner.get(key, default)
    if not isinstance(value, bool):
        if isinstance(value, (int, float)) and value in (0, 1):
            meant = bool(value)
            instead = f"{str(meant).lower()} is meant"
            wrong_type(key, value, "true or false", at / key, diagnostics, instead)
            return meant
        instead = f"{str(default).lower()} is used"
        wrong_type(key, value, "true or false", at / key, diagnostics, instead)
        return default
    return value


def read_string(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> str | None:
    """A string, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, str):
        wrong_type(key, value, "a string", at / key, diagnostics, instead)
        return None
    return value


def read_choice(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    choices: Mapping[str, T],
    instead: str | None = None,
) -> T | None:
    """The value that ``choices`` gives to a string, or ``None`` where absent or wrong."""
    value = read_string(owner, key, at, diagnostics, instead=instead)
    if value is None:
        return None
    if value not in choices:
        not_allowed(key, value, ", ".join(choices), at / key, diagnostics, instead)
        return None
    return choices[value]


def read_strings(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> tuple[str, ...] | None:
    """A list of strings, or ``None`` where absent or wrong; with ``instead`` also a single one."""
    if key not in owner:
        return None
    value = owner[key]
    if instead is not None and isinstance(value, str):
        wrong_type(key, value, "a list of strings", at / key, diagnostics, _ONLY_ITEM)
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        wrong_type(key, value, "a list of strings", at / key, diagnostics, instead)
        return None
    return tuple(value)


def read_index(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    count: int,
    instead: str | None = None,
    refers: bool = False,
) -> int | None:
    """An index below ``count``, or ``None`` where absent or wrong.

    ``refers``: to a part of the physics, which is an error where that part is not there.
    """
    if key not in owner:
        return None
    return _index(owner[key], key, at / key, diagnostics, count, instead, refers=refers)


def _index(
    value: object,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    count: int,
    instead: str | None,
    *,
    refers: bool,
) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        wrong_type(key, value, "an index", at, diagnostics, instead)
        return None
    if not 0 <= value < count:
        wrong_index(key, value, count, at, diagnostics, instead, refers=refers)
        return None
    return value


def read_indices(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    count: int,
    instead: str | None = None,
    refers: bool = False,
) -> tuple[int, ...] | None:
    """A list of indices below ``count``, wrong ones left out; ``None`` where absent or no list.

    With ``instead``, which says so of an item, a single index is a list of one.
    """
    if key not in owner:
        return None
    value = owner[key]
    if instead is not None and type(value) is int:
        wrong_type(key, value, "a list of indices", at / key, diagnostics, _ONLY_ITEM)
        value = [value]
    if not isinstance(value, list):
        wrong_type(key, value, "a list of indices", at / key, diagnostics, instead)
        return None
    if all(type(item) is int and 0 <= item < count for item in value):
        return tuple(value)
    found = [
        _index(item, key, at / key / position, diagnostics, count, instead, refers=refers)
        for position, item in enumerate(value)
    ]
    return tuple(index for index in found if index is not None)


def read_object(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> JsonObject | None:
    """A JSON object, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, dict):
        wrong_type(key, value, "an object", at / key, diagnostics, instead)
        return None
    return value


def read_objects(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> Iterator[tuple[int, JsonPointer, JsonObject]]:
    """Yield ``(position, pointer, object)`` of a list of objects; wrong items yield ``{}``.

    ``instead`` is said of the list and of an item alike.
    """
    value = owner.get(key, [])
    if not isinstance(value, list):
        wrong_type(key, value, "a list of objects", at / key, diagnostics, instead)
        return
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            wrong_type(key, item, "an object", at / key / position, diagnostics, instead)
            item = {}
        yield position, at / key / position, item
