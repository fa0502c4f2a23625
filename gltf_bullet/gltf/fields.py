"""Reading single members of JSON objects: type, range and default checked, findings located.

Each reader takes ``(owner, key, at, diagnostics)`` where ``at`` points to ``owner``. A missing or
wrong member gives the default, so that reading continues and finds everything in one pass.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar, overload

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.number_ranges import carried, range_of

__all__ = [
    "INDEX_OUT_OF_RANGE",
    "NOT_UNIT_LENGTH",
    "NUMBER_AS_UNLIMITED",
    "NUMBER_LIMITED",
    "REQUIRED_MISSING",
    "VALUE_NOT_ALLOWED",
    "VALUE_OUT_OF_RANGE",
    "WRONG_TYPE",
    "JsonObject",
    "has_required",
    "read_bool",
    "read_choice",
    "read_index",
    "read_indices",
    "read_number",
    "read_numbers",
    "read_object",
    "read_objects",
    "read_optional_number",
    "read_quaternion",
    "read_size",
    "read_string",
    "read_strings",
    "take_number",
]

JsonObject: TypeAlias = Mapping[str, object]

WRONG_TYPE = IssueKind("WRONG_TYPE", Severity.ERROR, "{key} is {got}; must be {allowed}")
VALUE_OUT_OF_RANGE = IssueKind(
    "VALUE_OUT_OF_RANGE", Severity.ERROR, "{key} is {got}; must be {allowed}"
)
VALUE_NOT_ALLOWED = IssueKind(
    "VALUE_NOT_ALLOWED", Severity.ERROR, "{key} is {got}; must be one of {allowed}"
)
INDEX_OUT_OF_RANGE = IssueKind(
    "INDEX_OUT_OF_RANGE", Severity.ERROR, "{key} is {got}; must be an index below {count}"
)
NUMBER_LIMITED = IssueKind(
    "NUMBER_LIMITED",
    Severity.WARNING,
    "{key} is {got}; the engine carries {allowed}; {used:g} is used",
)
NUMBER_AS_UNLIMITED = IssueKind(
    "NUMBER_AS_UNLIMITED",
    Severity.INFO,
    "{key} is {got}; more than {allowed:g} counts as unlimited",
)
REQUIRED_MISSING = IssueKind(
    "REQUIRED_MISSING", Severity.ERROR, "{key} is missing; must be {allowed}"
)
NOT_UNIT_LENGTH = IssueKind(
    "NOT_UNIT_LENGTH",
    Severity.WARNING,
    "{key} has length {got}; must be 1; it is normalized",
)

T = TypeVar("T")


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def _shown(value: object) -> str:
    # Content may be megabytes long, nested past the recursion limit, or an integer too long for
    # str(); reprlib looks at its beginning only.
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _wrong(
    key: str, value: object, allowed: str, at: JsonPointer, diagnostics: Diagnostics
) -> None:
    diagnostics.report(WRONG_TYPE, at, key=key, got=_shown(value), allowed=allowed)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def has_required(
    owner: JsonObject, key: str, allowed: str, at: JsonPointer, diagnostics: Diagnostics
) -> bool:
    """Whether the member is there; its absence is reported, ``allowed`` says what it must be."""
    if key in owner:
        return True
    diagnostics.report(REQUIRED_MISSING, at / key, key=key, allowed=allowed)
    return False


@overload
def read_number(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics,
    *, default: float, at_least: float | None = ..., above: float | None = ...,
    at_most: float | None = ...,
) -> float: ...  # fmt: skip
@overload
def read_number(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics,
    *, default: None, at_least: float | None = ..., above: float | None = ...,
    at_most: float | None = ...,
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
) -> float | None:
    """A finite number inside a range; ``default`` where absent or wrong."""
    value = owner.get(key)
    if value is None and key not in owner:
        return default
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _wrong(key, value, "a number", at / key, diagnostics)
        return default
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        _range(key, value, "finite", at / key, diagnostics)
        return default
    if at_least is not None and number < at_least:
        _range(key, value, f">= {at_least:g}", at / key, diagnostics)
        return default
    if above is not None and number <= above:
        _range(key, value, f"> {above:g}", at / key, diagnostics)
        return default
    if at_most is not None and number > at_most:
        _range(key, value, f"<= {at_most:g}", at / key, diagnostics)
        return default
    taken = take_number(key, number, at / key, diagnostics)
    if taken == 0.0 and above == 0.0:
        _range(key, value, "> 0", at / key, diagnostics)
        return default
    return default if taken is None else taken


def take_number(key: str, value: float, at: JsonPointer, diagnostics: Diagnostics) -> float | None:
    """``value`` as the engine can carry it (``number_ranges.py``); ``None`` where it is refused."""
    taken = carried(key, value)
    if taken == value:
        return value
    allowed = range_of(key)
    if taken is None:
        _range(key, value, f"at most {allowed.largest:g} in magnitude", at, diagnostics)
    elif math.isinf(taken):
        got = _shown(value)
        diagnostics.report(NUMBER_AS_UNLIMITED, at, key=key, got=got, allowed=allowed.largest)
    elif allowed.beyond == "limited" and (taken != 0.0 or abs(value) > allowed.smallest):
        shown = f"{allowed.smallest:g} to {allowed.largest:g} in magnitude"
        diagnostics.report(
            NUMBER_LIMITED, at, key=key, got=_shown(value), allowed=shown, used=taken
        )
    return taken


def _range(
    key: str, value: object, allowed: str, at: JsonPointer, diagnostics: Diagnostics
) -> None:
    diagnostics.report(VALUE_OUT_OF_RANGE, at, key=key, got=_shown(value), allowed=allowed)


def read_optional_number(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> float | None:
    """A finite number, or ``None`` where absent or wrong."""
    return read_number(owner, key, at, diagnostics, default=None)


def read_numbers(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    count: int | None = None,
    at_least: float | None = None,
    above: float | None = None,
) -> tuple[float, ...] | None:
    """A list of finite numbers (exactly ``count`` of them), or ``None`` where absent or wrong."""
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
        _wrong(key, value, what, at / key, diagnostics)
        return None
    wrong = False
    taken: list[float] = []
    for position, number in enumerate(value):
        if not abs(number) <= 1.7976931348623157e308:
            _range(key, number, "finite", at / key / position, diagnostics)
        elif at_least is not None and number < at_least:
            _range(key, number, f">= {at_least:g}", at / key / position, diagnostics)
        elif above is not None and number <= above:
            _range(key, number, f"> {above:g}", at / key / position, diagnostics)
        else:
            one = take_number(key, float(number), at / key / position, diagnostics)
            if one == 0.0 and above == 0.0:
                _range(key, number, "> 0", at / key / position, diagnostics)
            elif one is not None:
                taken.append(one)
                continue
        wrong = True
    return None if wrong else tuple(taken)


def read_quaternion(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[float, float, float, float] | None:
    """A unit quaternion (xyzw), normalized with a finding where needed; ``None`` where absent."""
    value = read_numbers(owner, key, at, diagnostics, count=4)
    if value is None:
        return None
    length = math.hypot(*value)
    if not 1e-6 <= length < math.inf:
        _range(key, list(value), "of length 1", at / key, diagnostics)
        return None
    # Exporters write float32 with about seven digits; a percent is the house's tolerance.
    if abs(length - 1.0) > 1e-2:
        diagnostics.report(NOT_UNIT_LENGTH, at / key, key=key, got=round(length, 6))
    x, y, z, w = (component / length for component in value)
    return (x, y, z, w)


def read_bool(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: bool
) -> bool:
    """A boolean; ``default`` where absent or wrong."""
    value = owner.get(key, default)
    if not isinstance(value, bool):
        _wrong(key, value, "true or false", at / key, diagnostics)
        return default
    return value


def read_string(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> str | None:
    """A string, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, str):
        _wrong(key, value, "a string", at / key, diagnostics)
        return None
    return value


def read_choice(
    owner: JsonObject,
    key: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    *,
    choices: Mapping[str, T],
) -> T | None:
    """The value that ``choices`` gives to a string, or ``None`` where absent or wrong."""
    value = read_string(owner, key, at, diagnostics)
    if value is None:
        return None
    if value not in choices:
        diagnostics.report(
            VALUE_NOT_ALLOWED, at / key, key=key, got=_shown(value), allowed=", ".join(choices)
        )
        return None
    return choices[value]


def read_strings(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[str, ...] | None:
    """A list of strings, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _wrong(key, value, "a list of strings", at / key, diagnostics)
        return None
    return tuple(value)


def read_index(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, count: int
) -> int | None:
    """An index below ``count``, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    return _index(owner[key], key, at / key, diagnostics, count)


def _index(
    value: object, key: str, at: JsonPointer, diagnostics: Diagnostics, count: int
) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        _wrong(key, value, "an index", at, diagnostics)
        return None
    if not 0 <= value < count:
        diagnostics.report(INDEX_OUT_OF_RANGE, at, key=key, got=value, count=count)
        return None
    return value


def read_size(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: int | None
) -> int | None:
    """A whole number >= 0; ``None`` where wrong, or absent and required (without ``default``)."""
    if default is not None and key not in owner:
        return default
    if not has_required(owner, key, "a whole number", at, diagnostics):
        return None
    value = owner[key]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        _wrong(key, value, "a whole number", at / key, diagnostics)
        return None
    # No file is larger than that, and the int64 arithmetic of numpy holds it.
    if not 0 <= value < 2**53:
        _range(key, value, "in 0 .. 2^53", at / key, diagnostics)
        return None
    return value


def read_indices(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, count: int
) -> tuple[int, ...] | None:
    """A list of indices below ``count``, wrong ones left out; ``None`` where absent or no list."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, list):
        _wrong(key, value, "a list of indices", at / key, diagnostics)
        return None
    if all(type(item) is int and 0 <= item < count for item in value):
        return tuple(value)
    found = [
        _index(item, key, at / key / position, diagnostics, count)
        for position, item in enumerate(value)
    ]
    return tuple(index for index in found if index is not None)


def read_object(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> JsonObject | None:
    """A JSON object, or ``None`` where absent or wrong."""
    if key not in owner:
        return None
    value = owner[key]
    if not isinstance(value, dict):
        _wrong(key, value, "an object", at / key, diagnostics)
        return None
    return value


def read_objects(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> Iterator[tuple[int, JsonPointer, JsonObject]]:
    """Yield ``(position, pointer, object)`` of a list of objects; wrong items yield ``{}``."""
    value = owner.get(key, [])
    if not isinstance(value, list):
        _wrong(key, value, "a list of objects", at / key, diagnostics)
        return
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            _wrong(key, item, "an object", at / key / position, diagnostics)
            item = {}
        yield position, at / key / position, item
