"""Writing jointed bodies: a builder that knows places, and limits and drives in one call each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tools.make_examples import PhysicsBuilder, physics, turn

__all__ = ["BALL", "WORLD", "JointBuilder", "Place", "hinge", "lock", "motor", "servo", "span"]

WORLD: Final = -1

Place: TypeAlias = Sequence[float]
"""A point of the asset [m]."""


class JointBuilder(PhysicsBuilder):
    """Adds bodies at places in the asset and joints between them, at places in the asset.

    A joint node is a child of the first body, the node that it connects a child of the second:
    positive coordinates move the second against the first along the joint node's axes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, Place] = {WORLD: (0.0, 0.0, 0.0)}

    def body(
        self,
        name: str,
        at: Place,
        shape: int,
        mass: float = 0.0,
        *,
        collision_filter: int | None = None,
        material: int | None = None,
        mesh: int | None = None,
        **motion: Any,
    ) -> int:
        """Add a body; static without a mass."""
        extensions = physics(
            {"mass": mass, **motion} if mass else None,
            shape,
            material=material,
            collision_filter=collision_filter,
        )
        index = self.node(name, translation=_rounded(at), mesh=mesh, extensions=extensions)
        self._places[index] = at
        return index

    def bar(
        self, name: str, start: Place, end: Place, mass: float, *, thickness: float = 0.03
    ) -> int:
        """Add a rod between two places of one upright plane (the same z)."""
        centre = [0.5 * (s + e) for s, e in zip(start, end, strict=True)]
        index = self.node(name, translation=_rounded(centre), extensions=physics({"mass": mass}))
        self._places[index] = centre
        size = _rounded([math.dist(start, end), thickness, thickness])
        angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
        self.node(f"{name}Rod", parent=index, rotation=turn((0, 0, 1), angle),
                  extensions=physics(shape=self.shape("box", size=size)))  # fmt: skip
        return index

    def connect(
        self, name: str, first: int, second: int, at: Place, joint: int, *, collide: bool = False
    ) -> int:
        """Join two bodies at a place; without ``collide`` they pass through each other."""
        end = self.frame(f"{name}End", second, at)
        entry: dict[str, Any] = {"connectedNode": end, "joint": joint}
        if collide:
            entry["enableCollision"] = True
        return self.frame(name, first, at, physics(joint=entry))

    def frame(
        self, name: str, body: int, at: Place, extensions: dict[str, Any] | None = None
    ) -> int:
        """Add a node at a place of the asset that a body, or the world, carries."""
        offset = [a - b for a, b in zip(at, self._places[body], strict=True)]
        parent = None if body == WORLD else body
        return self.node(
            name, parent=parent, translation=_rounded(offset), extensions=extensions or None
        )


def _rounded(values: Place) -> list[float]:
    return [round(float(value), 6) + 0.0 for value in values]


def lock(kind: str, *axes: int) -> dict[str, Any]:
    """A limit that leaves nothing of some axes; ``kind`` is linear or angular."""
    return {f"{kind}Axes": list(axes), "min": 0, "max": 0}


def span(kind: str, axes: Sequence[int], low: float | None, high: float | None) -> dict[str, Any]:
    """A limit to a range [m, rad]."""
    ends = {"min": low, "max": high}
    return {f"{kind}Axes": list(axes)} | {k: v for k, v in ends.items() if v is not None}


def servo(
    kind: str, axis: int, stiffness: float, damping: float, target: float = 0.0, **more: float
) -> dict[str, Any]:
    """A drive to a position."""
    return {"type": kind, "mode": "force", "axis": axis, "positionTarget": target,
            "stiffness": stiffness, "velocityTarget": 0, "damping": damping, **more}  # fmt: skip


def motor(kind: str, axis: int, speed: float, damping: float, **more: float) -> dict[str, Any]:
    """A drive to a velocity."""
    return {"type": kind, "mode": "force", "axis": axis, "velocityTarget": speed,
            "damping": damping, **more}  # fmt: skip


BALL: Final = (lock("linear", 0, 1, 2),)


def hinge(axis: int, low: float | None = None, high: float | None = None) -> list[dict[str, Any]]:
    """The limits of a hinge, with a range in radians or without one."""
    others = [k for k in range(3) if k != axis]
    limits = [lock("linear", 0, 1, 2), lock("angular", *others)]
    return limits if low is None else [*limits, span("angular", [axis], low, high)]
