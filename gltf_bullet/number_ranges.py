"""Ranges of all numbers of a file, and of steps, that the engine can carry, in one table.

JSON holds numbers up to 1e308 and beyond; the engine squares lengths, multiplies them by masses and
divides by the results. Each property below has the largest magnitude that is carried, and the
treatment of a larger one: refused if it is a place or a size (another one would be another
scene), limited and reported if it is a strength (more of it would make no difference that the
engine can show). Names are the same in all dialects, so the table is by name.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Final, Literal

__all__ = [
    "GENERAL",
    "LONGEST_STEP",
    "PLACE",
    "PLACED_SIZE",
    "SIZE",
    "WORLD",
    "NumberRange",
    "carried",
    "finite_vector",
    "range_of",
    "step_count",
    "unusable_settings",
]

SINGLE_PRECISION_LARGEST: Final = 3.4028234663852886e38
SINGLE_PRECISION_SMALLEST: Final = 1.1754943508222875e-38
"""Range of glTF's own arrays, whose products stay below 1e308. Magnitudes below the second count as
0: their square is 0 anyway."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The magnitudes that a property may have; 0 is always one of them."""

    largest: float
    beyond: Literal["refused", "limited", "unlimited"] = "refused"
    """Treatment of a larger magnitude: an error, ``largest`` in its place, or infinity."""
    smallest: float = SINGLE_PRECISION_SMALLEST
    """Smallest magnitude except 0. A smaller one is raised to it if ``beyond`` is ``limited``, else
    0."""


GENERAL: Final = NumberRange(SINGLE_PRECISION_LARGEST)
"""Range of every property without an entry of its own."""

PLACE: Final = 1e9
"""Largest coordinate [m]: 2.5 times the distance of the moon; doubles resolve 1e-7 m there. Scales
may be as large: the shapes that result have limits of their own (``planning/shapes``)."""
WORLD: Final = 3e10
"""Largest coordinate [m] of a node in the world, with the transforms of its parents and of the
caller. No power of ten, so that rounding does not make a file valid in one placement and not in
another."""
SIZE: Final = 1e8
"""Largest size of a shape [m], eight times the Earth: volumes are up to 1e24, inertias to 1e40."""
PLACED_SIZE: Final = 1.2 * SIZE
"""Largest size of a shape [m] with the scale of its node; no power of ten either."""

LONGEST_STEP: Final = 10.0
"""Longest step [s]. An object that falls from rest is 500 m further after one."""

_BY_NAME: Final[dict[str, NumberRange]] = {
    # Places and sizes [m].
    "translation": NumberRange(PLACE),
    "scale": NumberRange(PLACE),
    "matrix": NumberRange(PLACE),
    "centerOfMass": NumberRange(SIZE),
    "points": NumberRange(PLACE),
    "size": NumberRange(SIZE),
    "radius": NumberRange(SIZE),
    "radiusBottom": NumberRange(SIZE),
    "radiusTop": NumberRange(SIZE),
    "height": NumberRange(SIZE),
    "sizeX": NumberRange(SIZE, "unlimited"),
    "sizeZ": NumberRange(SIZE, "unlimited"),
    "unitDistance": NumberRange(PLACE),
    "weights": NumberRange(1e6),
    # In accessors.
    "POSITION": NumberRange(PLACE),
    "inverseBindMatrices": NumberRange(PLACE),
    # In animations [s].
    "input": NumberRange(1e9),
    # Masses [kg] and inertias [kg m^2]: a grain of dust to a mountain. Joints between bodies of
    # both extremes have a ratio of 1e21, still five digits away from losing the lighter one.
    "mass": NumberRange(1e12, "limited", 1e-9),
    "inertiaDiagonal": NumberRange(1e18, "limited", 1e-15),
    "inertiaTensor": NumberRange(1e18),
    # Strengths. A step of 1/60 s at 1e6 m/s^2 gives 1.7e4 m/s, below the engine's clamp on speeds.
    "gravity": NumberRange(1e6, "limited"),
    "gravityFactor": NumberRange(1e5, "limited"),
    "staticFriction": NumberRange(1e4, "limited"),
    "dynamicFriction": NumberRange(1e4, "limited"),
    # An impact multiplies speeds by it.
    "restitution": NumberRange(10.0, "limited"),
    # Blender and Unity write the largest float for "no limit".
    "min": NumberRange(1e9, "unlimited"),
    "max": NumberRange(1e9, "unlimited"),
    "maxForce": NumberRange(1e12, "unlimited"),
    # [N/m] and [N s/m]: 1 kg on it is at rest within one step of any rate long before.
    "stiffness": NumberRange(1e12, "limited"),
    "damping": NumberRange(1e12, "limited"),
    "springConstant": NumberRange(1e12, "limited"),
    "springDamping": NumberRange(1e12, "limited"),
    "positionTarget": NumberRange(1e6, "limited"),
    "velocityTarget": NumberRange(1e5, "limited"),
    "priority": NumberRange(1e9, "limited"),
}


def range_of(name: str) -> NumberRange:
    """The range of a property, by its name in the file."""
    return _BY_NAME.get(name, GENERAL)


def carried(name: str, value: float) -> float | None:
    """``value`` as it is used: itself, limited, or infinite; ``None`` if it is refused."""
    allowed = range_of(name)
    size = abs(value)
    if size > allowed.largest or not math.isfinite(value):
        if allowed.beyond == "refused" or math.isnan(value):
            return None
        return math.copysign(allowed.largest if allowed.beyond == "limited" else math.inf, value)
    if 0.0 < size < allowed.smallest:
        # A tiny mass must not become 0, which means infinite.
        return math.copysign(allowed.smallest, value) if allowed.beyond == "limited" else 0.0
    return value


def unusable_settings(step: float, gravity: tuple[float, float, float]) -> str:
    """Reason why a step is impossible with these [s], [m/s^2], of ``{client}``; else empty."""
    if not 0.0 < step <= LONGEST_STEP:
        allowed = f"above 0 and at most {LONGEST_STEP:g} s (pybullet.setTimeStep)"
        return f"the time step of {{client}} is {step:g} s; must be {allowed}"
    if not all(map(math.isfinite, gravity)):
        found = " ".join(f"{part:g}" for part in gravity)
        return f"the gravity of {{client}} is {found} m/s2; must be finite (pybullet.setGravity)"
    return ""


def step_count(count: object) -> int:
    """A number of steps, checked.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is negative.
    """
    try:
        found = operator.index(count)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"count is {count!r}; must be a whole number of steps") from None
    if found < 0:
        raise ValueError(f"count is {found}; must be 0 or more steps")
    return found


def finite_vector(name: str, values: object) -> tuple[float, float, float]:
    """Three numbers, checked.

    Args:
        name: Their name, for a message.
        values: A sequence or an array.

    Raises:
        TypeError: It is no sequence of numbers.
        ValueError: There are not three, or one is not finite.
    """
    try:
        found = tuple(map(float, values))  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is {values!r}; must be three numbers") from None
    if len(found) != 3 or not all(map(math.isfinite, found)):
        raise ValueError(f"{name} is {values!r}; must be three finite numbers")
    return found
