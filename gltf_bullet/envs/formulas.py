"""Formulas of observations, rewards and ends: written once, computed by kernels in one pass.

A formula is an ordinary Python function of an :class:`Eyes`. With numbers it computes a value; with
:class:`Symbol` it is written down as operations of :mod:`gltf_bullet.solver.formulas`, which
kernels repeat for each copy and step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from gltf_bullet.solver import formulas as kernels
from gltf_bullet.transforms import FloatArray, IntArray

NodeKey: TypeAlias = "int | str"
"""A glTF node by index or name."""
Number: TypeAlias = Any
"""A float, or a :class:`Symbol` for one."""
Point: TypeAlias = tuple[Number, Number, Number]


class Eyes(Protocol):
    """The subjects of formulas: the state of a copy after a step."""

    @property
    def action(self) -> Sequence[Number]:
        """The action, within [-1, 1]."""

    @property
    def action_before(self) -> Sequence[Number]:
        """The action of the last step; zeros in the first step of an episode."""

    @property
    def duration(self) -> float:
        """Simulated time of a step [s]."""

    def joint(self, joint: NodeKey, dof: int = 0) -> Number:
        """Position [m] or [rad] of a joint's degree of freedom; for a ball, its first number."""

    def place(self, node: NodeKey) -> Point:
        """Position of a node's origin, relative to that of the copy [m], world axes."""

    def velocity(self, body: NodeKey) -> Point:
        """Velocity of a body's centre of mass [m/s], world axes."""

    def spin(self, body: NodeKey) -> Point:
        """Angular velocity of a body [rad/s], world axes."""

    def orientation(self, node: NodeKey) -> tuple[Number, Number, Number, Number]:
        """Rotation xyzw from a node's axes to those of the world."""

    def drives(self, joints: Sequence[NodeKey] | None) -> Sequence[tuple[Number, Number]]:
        """Force [N] or torque [N m] of each drive, and the speed of its axis.

        ``joints``: those whose drives count; ``None``: all.
        """

    def touches(self, body: NodeKey) -> Number:
        """True if a body touched something in the last engine step; false at a reset."""

    def air_time(self, body: NodeKey) -> Number:
        """Time [s] for which a body has not touched anything; 0 while it does."""

    def landed_after(self, body: NodeKey) -> Number:
        """Air time [s] that has ended in this step; else 0."""

    def clearance(self, node: NodeKey, axis: int, reach: float) -> Number:
        """Distance [m] straight down from a node to what other bodies are there, or ``reach``."""

    def entered(self, trigger: NodeKey, body: NodeKey | None) -> Number:
        """True if something, or just ``body``, came into a trigger in this step."""

    def variable(self, variable: int | str) -> Number:
        """A variable of the file's behavior graph."""

    def variable_before(self, variable: int | str) -> Number:
        """The same at the start of the step."""

    def sent(self, event: str) -> Number:
        """Number of times that the file's behavior graph has sent an event in this step."""


# --- operations besides + - * ----------------------------------------------------------------


def less(first: Number, second: Number) -> Number:
    """Tell whether a number is less than another one."""
    maker = _maker(first, second)
    return first < second if maker is None else maker.operate(kernels.LESS, first, second)


def at_most(first: Number, second: Number) -> Number:
    """Tell whether a number is less than another one or equal to it."""
    maker = _maker(first, second)
    return first <= second if maker is None else maker.operate(kernels.AT_MOST, first, second)


def either(first: Number, second: Number) -> Number:
    """Tell whether one of two numbers is not zero."""
    maker = _maker(first, second)
    is_any = maker is None and bool(first or second)
    return is_any if maker is None else maker.operate(kernels.EITHER, first, second)


def smaller(first: Number, second: Number) -> Number:
    """The smaller one of two numbers."""
    maker = _maker(first, second)
    return min(first, second) if maker is None else maker.operate(kernels.SMALLER, first, second)


def larger(first: Number, second: Number) -> Number:
    """The larger one of two numbers."""
    maker = _maker(first, second)
    return max(first, second) if maker is None else maker.operate(kernels.LARGER, first, second)


def choose(condition: Number, if_true: Number, if_false: Number) -> Number:
    """One of two numbers, both of which are computed."""
    maker = _maker(condition, if_true, if_false)
    if maker is None:
        return if_true if condition else if_false
    return maker.operate(kernels.CHOOSE, condition, if_true, if_false)


def root(number: Number) -> Number:
    """The square root; 0 of negative numbers."""
    maker = _maker(number)
    if maker is None:
        return math.sqrt(number) if number > 0.0 else 0.0
    return maker.operate(kernels.SQUARE_ROOT, number)


def angle(sine: Number, cosine: Number) -> Number:
    """The angle [rad] whose sine and cosine are proportional to two numbers."""
    maker = _maker(sine, cosine)
    return math.atan2(sine, cosine) if maker is None else maker.operate(kernels.ANGLE, sine, cosine)


def size(number: Number) -> Number:
    """A number without its sign."""
    return larger(number, -number)


def squares(numbers: Sequence[Number]) -> Number:
    """The sum of the squares of some numbers."""
    total: Number = 0.0
    for number in numbers:
        total = total + number * number
    return total


def turned(rotation_xyzw: Sequence[Number], vector: Sequence[Number]) -> Point:
    """A vector after a rotation; arrays take ten times as long."""
    x, y, z, w = rotation_xyzw
    u, v, t = vector
    a, b, c = 2.0 * (y * t - z * v), 2.0 * (z * u - x * t), 2.0 * (x * v - y * u)
    return u + w * a + y * c - z * b, v + w * b + z * a - x * c, t + w * c + x * b - y * a


def turned_back(rotation_xyzw: Sequence[Number], vector: Sequence[Number]) -> Point:
    """A vector of the world in the axes that a rotation has turned."""
    x, y, z, w = rotation_xyzw
    return turned((-x, -y, -z, w), vector)


# --- formulas that are written down -----------------------------------------------------------


class Symbol:
    """A number of a formula; operations with it are written down."""

    __slots__ = ("maker", "place")

    __array_ufunc__ = None
    """Numbers of numpy leave their operations to this."""

    def __init__(self, maker: FormulaMaker, place: int) -> None:
        self.maker = maker
        self.place = place
        """Its place in the numbers."""

    def __add__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.ADD, self, other)

    def __radd__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.ADD, other, self)

    def __sub__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.SUBTRACT, self, other)

    def __rsub__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.SUBTRACT, other, self)

    def __mul__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.MULTIPLY, self, other)

    def __rmul__(self, other: Number) -> Symbol:
        return self.maker.operate(kernels.MULTIPLY, other, self)

    def __neg__(self) -> Symbol:
        return self.maker.operate(kernels.MULTIPLY, self, -1.0)

    def __bool__(self) -> bool:
        raise TypeError("a formula has no value yet: write less(), either() or choose()")


def _maker(*numbers: Number) -> FormulaMaker | None:
    """Return who writes a formula of some numbers; ``None`` if all have values."""
    return next((number.maker for number in numbers if isinstance(number, Symbol)), None)


class FormulaMaker:
    """Writes formulas down."""

    def __init__(self) -> None:
        self._numbers: list[float] = []
        self._operations: list[int] = []
        self._constants: dict[str, Symbol] = {}

    def number(self, value: float = 0.0) -> Symbol:
        """Add a number that is read or filled in."""
        self._numbers.append(float(value))
        return Symbol(self, len(self._numbers) - 1)

    def several(self, count: int) -> tuple[Symbol, ...]:
        """Add numbers beside each other."""
        return tuple([self.number() for _ in range(count)])

    def place_of(self, number: Number) -> int:
        """Return the place of a number; floats are constants."""
        if isinstance(number, Symbol):
            return number.place
        text = float(number).hex()
        if text not in self._constants:
            self._constants[text] = self.number(number)
        return self._constants[text].place

    def operate(self, code: int, *operands: Number) -> Symbol:
        """Write an operation down; return its result."""
        places = [self.place_of(number) for number in operands]
        result = self.number()
        self._operations += (code, *places, *[0] * (3 - len(places)), result.place)
        return result

    def made(self) -> tuple[IntArray, FloatArray]:
        """Return all operations, in order, and all numbers."""
        return np.array(self._operations, dtype=np.int64), np.array(self._numbers)
