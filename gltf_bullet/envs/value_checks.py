"""Checks of the numbers in configs and of what functions of the user give."""

from __future__ import annotations

import math
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Final

_KINDS: Final[dict[str, tuple[Any, str]]] = {
    "float": (Real, "a number"),
    "int": (Integral, "a whole number"),
}
_LEAST: Final = {"angle": 0, "distance": 0, "frame_skip": 1, "max_episode_steps": 1, "reach": 0}
"""Smallest value by the name of a field."""
_AXES: Final = ("axis", "up")
_FINITE: Final = ("weight", "threshold", "time_step")


def require_numbers(record: Any) -> None:
    """Check all fields of a dataclass that are declared as a number, by their declaration.

    Raises:
        TypeError: A field has a value of another type.
        ValueError: It is NaN or out of range.
    """
    for entry in fields(record):
        declared, _, rest = str(entry.type).partition(" | ")
        value: Any = getattr(record, entry.name)
        if declared not in _KINDS or rest not in ("", "None") or (rest and value is None):
            continue
        wanted, words = _KINDS[declared]
        told = f"{type(record).__name__}.{entry.name} is {value!r}; must be"
        if not isinstance(value, wanted):
            raise TypeError(f"{told} {words}{' or None' if rest else ''}")
        if math.isnan(value):
            raise ValueError(f"{told} {words}")
        if entry.name in _FINITE and math.isinf(value):
            raise ValueError(f"{told} finite")
        if entry.name in _AXES and value not in (0, 1, 2):
            raise ValueError(f"{told} 0, 1 or 2")
        if value < _LEAST.get(entry.name, -math.inf):
            raise ValueError(f"{told} >= {_LEAST[entry.name]}")


def require_term(term: Any, where: str) -> None:
    """Refuse what is no term.

    Raises:
        TypeError: It is a class, or nothing that can be called.
    """
    if isinstance(term, type):
        raise TypeError(f"{where} is the class {term.__name__}; write {term.__name__}(...)")
    if not callable(term):
        raise TypeError(
            f"{where} is {term!r}; must be a term of gltf_bullet.envs.terms, or a function of a "
            "scene and a StepContext"
        )


def number_of(term: Any, value: Any) -> float:
    """Return what a function of the user has given as a number.

    Raises:
        TypeError: It is no number.
        ValueError: It is not finite.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{_name(term)} gave {value!r}; must be a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{_name(term)} gave {number}; must be finite")
    return number


def _name(term: Any) -> str:
    return f"the term {getattr(term, '__name__', type(term).__name__)}"
