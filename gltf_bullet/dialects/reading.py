"""Reading the objects of physics: properties of the tables, lists, entries of lists, unknown keys.

The types of values that every dialect has, on top of :mod:`gltf_bullet.gltf.fields`. Names, ranges
and defaults come from :mod:`gltf_bullet.model.properties`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import ABSENCE_MENDED, Reader
from gltf_bullet.model import MotionKind, properties
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import Vec3

UNKNOWN_PROPERTY = note(
    "UNKNOWN_PROPERTY", "{key} is not a property of {owner}; it is ignored{suggestion}"
)
LIST_EMPTY = note("LIST_EMPTY", "{key} is {got}; must hold at least one item; nothing is read")

NEGATIVE_AS_UNLIMITED = warning(
    "NEGATIVE_AS_UNLIMITED", "{key} is {got:g}; must be >= 0; it is taken as unlimited"
)

AS_ABSENT: Final = "it is taken as not given"
"""The end of a message about a wrong member whose absence has a meaning."""
AS_EMPTY: Final = "it is taken as empty"
"""The end of a message about a wrong list of objects, or a wrong object in one."""

_HINTS: Final = (
    ("halfExtents", "size", "did you mean 'size', the whole edges?"),
    ("bounce", "restitution", "did you mean 'restitution'?"),
    ("bounciness", "restitution", "did you mean 'restitution'?"),
    ("collider", "isKinematic", "it stands beside 'motion', not in it"),
    ("type", "isKinematic", "without 'motion' it is static, with isKinematic kinematic"),
    ("isStatic", "isKinematic", "without 'motion' it is static"),
    ("isTrigger", "geometry", "a trigger is 'trigger' in the place of 'collider'"),
    ("mass", "motion", "it stands in 'motion'"),
    ("size", "box", "it stands in 'box'"),
    ("radius", "sphere", "it stands in 'sphere'"),
)
"""Words of other engines, and words in a wrong place: the word, a property that tells what object
it is in, and the end of the message.
"""

_COMMON: Final = frozenset({"extensions", "extras", "name"})
"""The members that every glTF object may have."""

T = TypeVar("T")
Parser = Callable[[Reader], T]
PropertyReader: TypeAlias = Callable[[Reader, properties.Property, properties.Dialect], Any]
"""Reads the model's value of a property that an object may have."""


def known_keys(*keys: str) -> frozenset[str]:
    """The keys an object may have: its own and those of every glTF object."""
    return frozenset(keys) | _COMMON


@cache
def keys_of(table: properties.Properties, dialect: properties.Dialect) -> frozenset[str]:
    """The keys an object may have in a dialect, by its table."""
    return known_keys(*table.names(dialect))


def report_unknown(owner: Reader, known: frozenset[str], what: str) -> None:
    """Report the members of ``owner`` that are not ``known``; ``what`` names the kind of object."""
    keys = owner.json.keys()
    if keys <= known:
        return
    for key in keys:
        if key not in known:
            suggestion = ""
            if owner.diagnostics.has_room(UNKNOWN_PROPERTY):
                missing = (other for other in sorted(known - keys) if other not in _COMMON)
                suggestion = did_you_mean(key[:60], missing, similar=0.75)
            for word, needed, hint in _HINTS:
                if key == word and needed in known:
                    suggestion = f"; {hint}"
            owner.report(UNKNOWN_PROPERTY, key, key=key[:60], owner=what, suggestion=suggestion)


def require(owner: Reader, key: str, allowed: str, *, instead: str) -> bool:
    """True if ``key`` is present; its absence is reported, with what is done ``instead``."""
    if key not in owner:
        owner.report(ABSENCE_MENDED, key=key, allowed=allowed, instead=instead)
    return key in owner


def read_values(
    owner: Reader,
    table: properties.Properties,
    dialect: properties.Dialect,
    *,
    readers: Mapping[properties.ValueType, PropertyReader] | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The model's values of all properties of a table that a dialect has, by their fields.

    Args:
        owner: The object.
        table: Of its kind.
        dialect: Gives names and defaults.
        readers: Of types that have a rule of their own in this kind of object.
        given: Values by fields that the dialect writes otherwise, which are read already.
    """
    values = dict(given or {})
    for entry, key, default in table.entries(dialect):
        if entry.field in values:
            continue
        if key not in owner:
            values[entry.field] = default
            continue
        read = readers.get(entry.type, read_property) if readers else read_property
        values[entry.field] = read(owner, entry, dialect)
    return values


def read_property(owner: Reader, entry: properties.Property, dialect: properties.Dialect) -> Any:
    """The model's value of a property; its default where absent, and with a finding where wrong.

    Raises:
        NotImplementedError: Its type has no rule that holds for every kind of object.
    """
    key, kind = entry.key_in(dialect), entry.type
    default = entry.default_in(dialect)
    if key not in owner:
        return default
    if kind is properties.NUMBER:
        return owner.number(
            key,
            default=default,
            at_least=entry.range.at_least,
            above=entry.range.above,
            allowed=entry.carried,
        )
    if kind is properties.STRENGTH:
        return _read_strength(owner, entry, dialect)
    if kind is properties.VECTOR:
        return read_vector(owner, entry, dialect)
    if kind is properties.BOOLEAN:
        return owner.boolean(key, default=default)
    if kind is properties.KINEMATIC:
        is_kinematic = owner.boolean(key, default=False)
        return MotionKind.KINEMATIC if is_kinematic else default
    if kind is properties.QUATERNION:
        return owner.quaternion(key, instead=AS_ABSENT) or default
    if kind is properties.NAMES:
        names = owner.strings(key, instead=AS_ABSENT)
        return default if names is None else frozenset(names)
    raise NotImplementedError(entry.key)


def read_vector(
    owner: Reader, entry: properties.Property, dialect: properties.Dialect
) -> Vec3 | None:
    """Three finite numbers; the default where absent, and with a warning where wrong."""
    key, default = entry.key_in(dialect), entry.default_in(dialect)
    instead = AS_ABSENT if default is None else "({:g}, {:g}, {:g}) is used".format(*default)
    numbers = owner.numbers(key, count=3, instead=instead, allowed=entry.carried)
    if numbers is None:
        found: Vec3 | None = default
        return found
    x, y, z = numbers
    return (x, y, z)


def _read_strength(owner: Reader, entry: properties.Property, dialect: properties.Dialect) -> float:
    """A strength that is infinite where negative; only OMI says so itself."""
    key = entry.key_in(dialect)
    value = owner.number(key, default=math.inf, allowed=entry.carried)
    if value >= 0.0:
        return value
    if dialect is not properties.Dialect.OMI:
        owner.report(NEGATIVE_AS_UNLIMITED, key, key=key, got=value)
    return math.inf


def read_root(
    document: Document, extension: str, known: frozenset[str], diagnostics: Diagnostics
) -> Reader:
    """The root's object of an extension, with its unknown members reported; empty where absent."""
    root = document.root_reader(extension, diagnostics)
    report_unknown(root, known, extension)
    return root


def read_only_table(
    document: Document, extension: str, key: str, parse: Parser[T], diagnostics: Diagnostics
) -> tuple[T, ...]:
    """Parse the list that is all that the root's object of an extension holds."""
    root = read_root(document, extension, known_keys(key), diagnostics)
    return read_table(root, key, parse, required=True)


def read_table(
    root: Reader, key: str, parse: Parser[T], *, required: bool = False
) -> tuple[T, ...]:
    """Parse a document-level list of objects; a list must not be empty (``minItems``: 1).

    ``required``: a root block without the list is as wrong as an empty list.
    """
    if key in root:
        if root[key] == []:
            root.report(LIST_EMPTY, key, key=key, got="empty")
    elif required and root.json:
        root.report(LIST_EMPTY, key=key, got="missing")
    return tuple(map(parse, root.entries(key, instead=AS_EMPTY)))


def read_entry(
    owner: Reader, key: str, table: Sequence[T], *, instead: str = AS_ABSENT
) -> T | None:
    """The entry of ``table`` that ``key`` names by index.

    ``None`` where the index is absent or wrong, or where the entry itself could not be used (which
    was reported at the entry). Some exporters write -1 for none.
    """
    value = owner.get(key)
    # The common case without a pointer and two calls: a third of the time of a file of colliders.
    if type(value) is int and 0 <= value < len(table):
        return table[value]
    index = owner.index(key, count=len(table), instead=instead, refers=True)
    return None if index is None else table[index]
