"""The magnitudes of numbers, in files and of steps, that the engine can carry.

JSON holds numbers up to 1e308 and beyond; the engine squares lengths, multiplies them by masses and
divides by what comes out. Each quantity below has the largest magnitude that is carried, and what
becomes of a larger one: refused where that is a place or a size (another one would be another
scene), limited and named where it is a strength (more of it would make no difference that the
engine can show). ``model/properties.py`` says which quantity a property of the physics is; the
names of glTF itself are here.
"""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Final, Literal

from msgspec import Struct

SINGLE_PRECISION_LARGEST: Final = 3.4028234663852886e38
SINGLE_PRECISION_SMALLEST: Final = 1.1754943508222875e-38
"""Range of glTF's own arrays, whose products stay below 1e308. Magnitudes below the second count as
0: their square is 0 anyway."""


class NumberRange(Struct, frozen=True):
    """The magnitudes that a property may have; 0 is always one of them."""

    largest: float
    beyond: Literal["refused", "limited", "unlimited"] = "refused"
    """The treatment of a larger number: an error, ``largest`` in its place, or infinity."""
    smallest: float = SINGLE_PRECISION_SMALLEST
    """Smallest magnitude above 0: less is raised to it where more is ``limited``, else it is 0."""


GENERAL: Final = NumberRange(SINGLE_PRECISION_LARGEST)
"""The range of every number without one of its own."""

PLACE: Final = 1e9
"""Distance [m], 2.5 times the way to the moon; doubles resolve 1e-7 m there. Scales may be as
large: the shapes that result have limits of their own (``planning/shapes``)."""
WORLD: Final = 3e10
"""Distance [m] of a node in the world, transforms of its parents and of the caller included. No
power of ten, so that rounding in one placement and another does not decide about a file."""
SIZE: Final = 1e8
"""Size [m] of a shape, eight times the Earth: volumes are 1e24 and inertias 1e40 at most."""
PLACED_SIZE: Final = 1.2 * SIZE
"""Size [m] of a shape with the scale of its node; no power of ten either."""

LONGEST_STEP: Final = 10.0
"""Duration [s] of one step. A body that falls from rest is 500 m further after one."""

# Places and sizes [m].
POSITION: Final = NumberRange(PLACE)
EXTENT: Final = NumberRange(SIZE)
ENDLESS_EXTENT: Final = NumberRange(SIZE, "unlimited")
MORPH_WEIGHT: Final = NumberRange(1e6)
# Masses [kg] and inertias [kg m^2]: a grain of dust to a mountain. What joins bodies of both
# ends of it has a ratio of 1e21, still five digits away from losing the lighter one.
MASS: Final = NumberRange(1e12, "limited", 1e-9)
MOMENT: Final = NumberRange(1e18, "limited", 1e-15)
INERTIA_TENSOR: Final = NumberRange(1e18)
# Strengths. A step of 1/60 s at 1e6 m/s^2 gives 1.7e4 m/s, below the engine's clamp on speeds.
GRAVITY: Final = NumberRange(1e6, "limited")
GRAVITY_FACTOR: Final = NumberRange(1e5, "limited")
FRICTION: Final = NumberRange(1e4, "limited")
# An impact multiplies speeds by it.
RESTITUTION: Final = NumberRange(10.0, "limited")
# Blender and Unity write the largest float for "no limit".
JOINT_BOUND: Final = NumberRange(1e9, "unlimited")
DRIVE_FORCE: Final = NumberRange(1e12, "unlimited")
# [N/m] and [N s/m]: 1 kg on it is at rest within one step of any rate long before.
STIFFNESS: Final = NumberRange(1e12, "limited")
DRIVE_POSITION: Final = NumberRange(1e6, "limited")
DRIVE_VELOCITY: Final = NumberRange(1e5, "limited")
PRIORITY: Final = NumberRange(1e9, "limited")

_OF_GLTF: Final = {
    "translation": POSITION,
    "scale": POSITION,
    "matrix": POSITION,
    "weights": MORPH_WEIGHT,
    # In accessors.
    "POSITION": POSITION,
    "inverseBindMatrices": POSITION,
    # Of animations [s].
    "input": NumberRange(1e9),
}


def range_of(name: str) -> NumberRange:
    """The range of a number of glTF itself, by its name in the file."""
    return _OF_GLTF.get(name, GENERAL)


def carried(allowed: NumberRange, value: float) -> float | None:
    """``value`` as it is taken: itself, limited, or infinite; ``None`` where it is refused."""
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
    """The reason why step [s] or gravity [m/s^2] of ``{client}`` cannot be used, or ``""``."""
    if not 0.0 < step <= LONGEST_STEP:
        allowed = f"above 0 and at most {LONGEST_STEP:g} s (pybullet.setTimeStep)"
        return f"the time step of {{client}} is {step:g} s; must be {allowed}"
    if not all(map(math.isfinite, gravity)):
        found = " ".join(f"{part:g}" for part in gravity)
        return f"the gravity of {{client}} is {found} m/s2; must be finite (pybullet.setGravity)"
    return ""


def step_count(count: object) -> int:
    """The number of steps that ``count`` means.

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


def finite_vector(
    name: str, values: object, most: float = GENERAL.largest
) -> tuple[float, float, float]:
    """Three finite numbers as a tuple.

    Args:
        name: Their name in a message.
        values: A sequence or an array.
        most: Their largest magnitude.

    Raises:
        TypeError: It is no sequence of numbers.
        ValueError: There are not three, or one is not finite or too large.
    """
    try:
        found = tuple(map(float, values))  # type: ignore[call-overload]
    except OverflowError:  # an integer of more than 308 digits
        found = (math.inf,)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {reprlib.repr(values)}; must be three numbers") from None
    if len(found) != 3 or not all(map(math.isfinite, found)):
        raise ValueError(f"{name} is {reprlib.repr(values)}; must be three finite numbers")
    if max(map(abs, found)) > most:
        raise ValueError(f"{name} is {reprlib.repr(values)}; must be at most {most:g}")
    return found
