"""Readers of single members of JSON objects: type, range and default checked, findings located.

Each reader takes ``(owner, key, at, diagnostics)`` where ``at`` points to ``owner``. A missing or
wrong member gives the default, so that reading continues and finds all errors in one pass. If the
caller can replace a wrong member, by a default or as the words for ``instead`` tell, the finding is
a warning that says so; else it is an error. The file is long since all readers share these rules.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar, overload

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, error, note, warning
from gltf_bullet.number_ranges import NumberRange, carried, range_of

# --- Findings about wrong members: an error, or a warning if the caller can replace the member ----
#
# A caller that can replace a wrong member tells how in ``instead``, the end of the message:
# ``"0.6 is used"``, ``"it is left out"``. A file that is broken but readable is not refused.

WRONG_TYPE = error("WRONG_TYPE", "{key} is {got}; must be {allowed}")
TYPE_MENDED = warning("TYPE_MENDED", "{key} is {got}; must be {allowed}; {instead}")
VALUE_OUT_OF_RANGE = error("VALUE_OUT_OF_RANGE", "{key} is {got}; must be {allowed}")
RANGE_MENDED = warning("RANGE_MENDED", "{key} is {got}; must be {allowed}; {instead}")
VALUE_NOT_ALLOWED = error("VALUE_NOT_ALLOWED", "{key} is {got}; must be one of {allowed}")
WORD_MENDED = warning("WORD_MENDED", "{key} is {got}; must be one of {allowed}; {instead}")
INDEX_OUT_OF_RANGE = error("INDEX_OUT_OF_RANGE", "{key} is {got}; must be an index below {count}")
INDEX_MENDED = warning("INDEX_MENDED", "{key} is {got}; must be an index below {count}; {instead}")
REFERENCE_MISSING = error(
    "REFERENCE_MISSING",
    "{key} is {got}, which does not exist: there are {count}, counted from 0; {instead}",
    loads=True,
)
INDEX_MEANS_NONE = warning(
    "INDEX_MEANS_NONE", "{key} is -1; must be left out to mean none; {instead}"
)
REQUIRED_MISSING = error("REQUIRED_MISSING", "{key} is missing; must be {allowed}")
ABSENCE_MENDED = warning("ABSENCE_MENDED", "{key} is missing; must be {allowed}; {instead}")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: object) -> str:
    """A value of the file, short enough for a message."""
    # Content may be megabytes long, nested past the recursion limit, or an integer too long for
    # str(); reprlib looks at its beginning only.
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def wrong_type(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """Report that the member at ``at`` is of another JSON type."""
    kinds = WRONG_TYPE, TYPE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def out_of_range(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """Report that the number at ``at`` is outside of its range."""
    kinds = VALUE_OUT_OF_RANGE, RANGE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def not_allowed(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """Report that the word at ``at`` is none of the ``allowed`` ones."""
    kinds = VALUE_NOT_ALLOWED, WORD_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def wrong_index(
    key: str,
    value: int,
    count: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
    *,
    refers: bool = False,
) -> None:
    """Report that the index at ``at`` does not exist; exporters write -1 for none.

    If it ``refers`` to a part of the physics, that part is lost, which is an error.
    """
    if value == -1 and instead is not None:
        diagnostics.report(INDEX_MEANS_NONE, at, key=key, instead=instead)
        return
    kinds = INDEX_OUT_OF_RANGE, REFERENCE_MISSING if refers else INDEX_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), count=count)


def missing(
    key: str, allowed: str, at: JsonPointer, diagnostics: Diagnostics, instead: str | None
) -> None:
    """Report that the required member ``key`` is missing."""
    kinds = REQUIRED_MISSING, ABSENCE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, allowed=allowed)


def _report(
    kinds: tuple[IssueKind, IssueKind],
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
    **values: object,
) -> None:
    """Report the first of two kinds, an error, or the second, a warning that tells ``instead``."""
    error, warning = kinds
    if instead is None:
        diagnostics.report(error, at, **values)
    else:
        diagnostics.report(warning, at, **values, instead=instead)


# --- Objects, words, booleans and indices: type and range checked ---------------------------------

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
    """Return True if the member exists; else report it, with ``allowed`` as its content."""
    if key in owner:
        return True
    missing(key, allowed, at / key, diagnostics, instead)
    return False


def read_bool(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: bool
) -> bool:
    """A boolean; ``default`` if it is absent, or wrong with a warning.

    Exporters without booleans write 1 and 0, which are read as such, with a warning.
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
    """A string, or ``None`` if it is absent or wrong."""
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
    """The value of ``choices`` for a string, or ``None`` if it is absent or wrong."""
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
    """A list of strings, or ``None`` if absent or wrong; with ``instead`` also a single one."""
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
    """An index below ``count``, or ``None`` if it is absent or wrong.

    ``refers``: it refers to a part of the physics, whose absence is an error.
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
    """A list of indices below ``count`` without wrong ones; ``None`` if absent or no list.

    With ``instead``, which is the replacement of an item, a single index is a list of one.
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
    """A JSON object, or ``None`` if it is absent or wrong."""
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

    ``instead`` is the replacement of the list and of an item alike.
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


# --- Numbers, lists of them and quaternions: type, range and default checked ----------------------
#
# A number that is not finite, or a place or size that exceeds the engine's range, is always an
# error: no other number can be meant by it.

NUMBER_LIMITED = warning(
    "NUMBER_LIMITED", "{key} is {got}; the engine carries {allowed}; {used:g} is used"
)
NUMBER_AS_UNLIMITED = note(
    "NUMBER_AS_UNLIMITED", "{key} is {got}; more than {allowed:g} counts as unlimited"
)
NOT_UNIT_LENGTH = warning("NOT_UNIT_LENGTH", "{key} has length {got}; must be 1; it is normalized")


def _used(value: float) -> str:
    """Words of a message for a number that replaces a wrong one."""
    return f"{value:g} is used" if math.isfinite(value) else "it is taken as unlimited"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@overload
def read_number(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics,
    *, default: float, at_least: float | None = ..., above: float | None = ...,
    at_most: float | None = ..., instead: str | None = ..., allowed: NumberRange | None = ...,
) -> float: ...  # fmt: skip
@overload
def read_number(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics,
    *, default: None, at_least: float | None = ..., above: float | None = ...,
    at_most: float | None = ..., instead: str | None = ..., allowed: NumberRange | None = ...,
) -> float | None: ...  # fmt: skip
def read_number(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    default: float | None,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    instead: str | None = None,
    allowed: NumberRange | None = None,
) -> float | None:
    """A finite number inside a range; ``default`` if it is absent or wrong.

    A default replaces a wrong number, with a warning; without one, and without ``instead``, it
    is an error. ``allowed`` is the range that the engine carries, by default that of the name in
    glTF.
    """
    value = owner.get(key)
    if value is None and key not in owner:
        return default
    if instead is None and default is not None:
        instead = _used(default)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        wrong_type(key, value, "a number", at / key, diagnostics, instead)
        return default
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        out_of_range(key, value, "finite", at / key, diagnostics, None)
        return default
    if at_least is not None and number < at_least:
        out_of_range(key, value, f">= {at_least:g}", at / key, diagnostics, instead)
        return default
    if above is not None and number <= above:
        out_of_range(key, value, f"> {above:g}", at / key, diagnostics, instead)
        return default
    if at_most is not None and number > at_most:
        out_of_range(key, value, f"<= {at_most:g}", at / key, diagnostics, instead)
        return default
    taken = _taken(key, number, allowed, at / key, diagnostics)
    if taken == 0.0 and above == 0.0:
        out_of_range(key, value, "> 0", at / key, diagnostics, instead)
        return default
    return default if taken is None else taken


def _taken(
    key: str,
    value: float,
    allowed: NumberRange | None,
    at: JsonPointer,
    diagnostics: Diagnostics,
) -> float | None:
    """``value`` limited to the engine's range (``number_ranges.py``); ``None`` if it is refused."""
    if allowed is None:
        allowed = range_of(key)
    taken = carried(allowed, value)
    if taken == value:
        return value
    if taken is None:
        out_of_range(key, value, f"at most {allowed.largest:g} in magnitude", at, diagnostics, None)
    elif math.isinf(taken):
        got = shown(value)
        diagnostics.report(NUMBER_AS_UNLIMITED, at, key=key, got=got, allowed=allowed.largest)
    elif allowed.beyond == "limited" and (taken != 0.0 or abs(value) > allowed.smallest):
        most = f"{allowed.smallest:g} to {allowed.largest:g} in magnitude"
        diagnostics.report(NUMBER_LIMITED, at, key=key, got=shown(value), allowed=most, used=taken)
    return taken


def read_optional_number(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
    allowed: NumberRange | None = None,
) -> float | None:
    """A finite number, or ``None`` if it is absent or wrong."""
    return read_number(owner, key, at, diagnostics, default=None, instead=instead, allowed=allowed)


def read_numbers(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    count: int | None = None,
    at_least: float | None = None,
    instead: str | None = None,
    allowed: NumberRange | None = None,
) -> tuple[float, ...] | None:
    """A list of finite numbers (exactly ``count`` of them), or ``None`` if absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    what = f"a list of {count} numbers" if count is not None else "a list of numbers"
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or (count is not None and len(value) != count)
        or not all(map(_is_number, value))
    ):
        wrong_type(key, value, what, at / key, diagnostics, instead)
        return None
    wrong = False
    taken: list[float] = []
    for position, number in enumerate(value):
        if not abs(number) <= 1.7976931348623157e308:
            out_of_range(key, number, "finite", at / key / position, diagnostics, None)
        elif at_least is not None and number < at_least:
            least = f">= {at_least:g}"
            out_of_range(key, number, least, at / key / position, diagnostics, instead)
        else:
            one = _taken(key, float(number), allowed, at / key / position, diagnostics)
            if one is not None:
                taken.append(one)
                continue
        wrong = True
    return None if wrong else tuple(taken)


def read_quaternion(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    instead: str | None = None,
) -> tuple[float, float, float, float] | None:
    """A unit quaternion (xyzw), normalized with a finding if necessary; ``None`` if absent.

    One of length 0 counts as absent, with a warning: exporters write zeros for missing ones.
    """
    value = read_numbers(owner, key, at, diagnostics, count=4, instead=instead)
    if value is None:
        return None
    length = math.hypot(*value)
    if length < 1e-6:
        out_of_range(key, list(value), "of length 1", at / key, diagnostics, "no rotation is used")
        return (0.0, 0.0, 0.0, 1.0)
    # Exporters write float32 with about seven digits; the tolerance is a percent.
    if abs(length - 1.0) > 1e-2:
        diagnostics.report(NOT_UNIT_LENGTH, at / key, key=key, got=round(length, 6))
    x, y, z, w = (component / length for component in value)
    return (x, y, z, w)


def read_size(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: int | None
) -> int | None:
    """A whole number >= 0; ``None`` if wrong, or absent and required (without ``default``)."""
    if key not in owner:
        if default is None:
            missing(key, "a whole number", at / key, diagnostics, None)
        return default
    value = owner[key]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        wrong_type(key, value, "a whole number", at / key, diagnostics, None)
        return None
    # No file is larger than that, and the int64 arithmetic of numpy holds it.
    if not 0 <= value < 2**53:
        out_of_range(key, value, "in 0 .. 2^53", at / key, diagnostics, None)
        return None
    return value
