"""Values that follow from a plan alone, computed once for all scenes that are made of it.

Of 300 copies of a robot the first works out which links touch, where they begin and what the solve
needs; the others take it over. Whoever computes a value declares a key for it, which has its type::

    LINK_PLACES: MemoKey[LinkPlaces] = MemoKey("where links are in the multibodies")
    places = plan.memo.get(LINK_PLACES, lambda: LinkPlaces.of(plans, body_plans))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class MemoKey(Generic[T]):
    """Names one value, or one value for each of some numbers; keys are compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"MemoKey({self.name!r})"


class PlanMemo:
    """The values of one plan. They hold wherever the plan is moved to."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}

    def get(self, key: MemoKey[T], make: Callable[[], T], *numbers: object) -> T:
        """Return the value of ``key``, computed by ``make`` the first time.

        ``numbers``: which one of several values of the key.
        """
        place: object = (key, *numbers) if numbers else key
        if place in self._values:
            known: T = self._values[place]
            return known
        made = self._values[place] = make()
        return made
