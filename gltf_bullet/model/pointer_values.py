"""Values of the object model as Python has them: what each may be, and how the model holds it."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

__all__ = [
    "Property",
    "above_zero",
    "as_boolean",
    "as_direction",
    "as_number",
    "as_numbers",
    "as_points",
    "as_quaternion",
    "as_whole",
    "at_least_zero",
    "infinite_from_zero",
    "plain_property",
    "vector_of",
    "zero_from_infinite",
]


@dataclass(frozen=True, slots=True)
class Property:
    """One JSON member of a model value."""

    field: str
    """Its field, in dots that of a value within it."""
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


def as_number(value: object) -> float:
    """A finite number."""
    # numpy's scalars are Real as well; its booleans are not.
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{_shown(value)} is no number")
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{_shown(value)} is not finite")
    return number


def _shown(value: object) -> str:
    return reprlib.repr(value)


def at_least_zero(value: object) -> float:
    """A finite number of 0 or more."""
    number = as_number(value)
    if number < 0.0:
        raise ValueError(f"{_shown(value)} must be >= 0")
    return number


def above_zero(value: object) -> float:
    """A finite number above 0."""
    number = as_number(value)
    if number <= 0.0:
        raise ValueError(f"{_shown(value)} must be > 0")
    return number


def as_boolean(value: object) -> bool:
    """True or false, and no number."""
    if not isinstance(value, bool):
        raise TypeError(f"{_shown(value)} is not true or false")
    return value


def vector_of(count: int, each: Callable[[object], float] = as_number) -> Callable[[Any], Any]:
    """Reads so many numbers; ``each`` says what they may be."""

    def write(value: Any) -> tuple[float, ...]:
        # Lists, tuples and arrays: a string, a dictionary or a number is no vector.
        plain = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(plain, (list, tuple)):
            raise TypeError(f"{_shown(value)} is no list of {count} numbers")
        items = tuple(plain)
        if len(items) != count:
            raise ValueError(f"{_shown(value)} must have {count} numbers")
        return tuple(each(item) for item in items)

    return write


def as_quaternion(value: Any) -> tuple[float, ...]:
    """A rotation, made of length 1."""
    x, y, z, w = vector_of(4)(value)
    length = math.hypot(x, y, z, w)
    if not 1e-6 < length < math.inf:
        raise ValueError(f"{_shown(value)} is no rotation")
    return (x / length, y / length, z / length, w / length)


def as_direction(value: Any) -> tuple[float, ...]:
    """Three numbers, made of length 1."""
    x, y, z = vector_of(3)(value)
    length = math.hypot(x, y, z)
    if not 1e-6 < length < math.inf:
        raise ValueError(f"{_shown(value)} is no direction")
    return (x / length, y / length, z / length)


def as_numbers(value: Any) -> tuple[float, ...]:
    """A list of numbers, however many."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        raise TypeError(f"{_shown(value)} is no list of numbers")
    return tuple(map(as_number, plain))


def as_whole(value: object) -> int:
    """A whole number."""
    number = as_number(value)
    if number != round(number):
        raise ValueError(f"{_shown(value)} is no whole number")
    return round(number)


def as_points(value: Any) -> tuple[tuple[float, ...], ...]:
    """The points of a polyline, from a flat list of their coordinates."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)) or len(plain) < 6 or len(plain) % 3:
        raise ValueError(f"{_shown(value)} must have at least 6 numbers, three a point")
    numbers = tuple(map(as_number, plain))
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def infinite_from_zero(value: object) -> float:
    """0 in the file means infinite."""
    return at_least_zero(value) or math.inf


def zero_from_infinite(value: float | None) -> float | None:
    """The other way round."""
    return 0.0 if value == math.inf else value


def _same(value: Any) -> Any:
    return value


def plain_property(field: str, write: Callable[[Any], Any]) -> Property:
    """A member that the model holds as the file has it."""
    return Property(field, _same, write)
