"""Numbers, lists of them and quaternions: type, range and default checked.

What is no finite number, or more than the engine carries where that is a place or a size, is always
an error: no other number is meant by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.gltf.fields.findings import missing, out_of_range, shown, wrong_type
from gltf_bullet.gltf.fields.objects import JsonObject
from gltf_bullet.number_ranges import NumberRange, carried, range_of

__all__ = [
    "NOT_UNIT_LENGTH",
    "NUMBER_AS_UNLIMITED",
    "NUMBER_LIMITED",
    "read_number",
    "read_numbers",
    "read_optional_number",
    "read_quaternion",
    "read_size",
]

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
NOT_UNIT_LENGTH = IssueKind(
    "NOT_UNIT_LENGTH",
    Severity.WARNING,
    "{key} has length {got}; must be 1; it is normalized",
)


def _used(value: float) -> str:
    """What a message says of a number that stands in for a wrong one."""
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
    """A finite number inside a range; ``default`` where absent or wrong.

    A default stands in for what is wrong, with a warning; without one, and without ``instead``, it
    is an error. ``allowed`` is what the engine carries of it, by default of that name in glTF.
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
    """``value`` as the engine can carry it (``number_ranges.py``); ``None`` where it is refused."""
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
    """A finite number, or ``None`` where absent or wrong."""
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
    """A unit quaternion (xyzw), normalized with a finding where needed; ``None`` where absent.

    One of length 0 is none at all, with a warning: exporters write zeros for what they do not have.
    """
    value = read_numbers(owner, key, at, diagnostics, count=4, instead=instead)
    if value is None:
        return None
    length = math.hypot(*value)
    if length < 1e-6:
        out_of_range(key, list(value), "of length 1", at / key, diagnostics, "no rotation is used")
        return (0.0, 0.0, 0.0, 1.0)
    # Exporters write float32 with about seven digits; a percent is the house's tolerance.
    if abs(length - 1.0) > 1e-2:
        diagnostics.report(NOT_UNIT_LENGTH, at / key, key=key, got=round(length, 6))
    x, y, z, w = (component / length for component in value)
    return (x, y, z, w)


def read_size(
    owner: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics, *, default: int | None
) -> int | None:
    """A whole number >= 0; ``None`` where wrong, or absent and required (without ``default``)."""
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
