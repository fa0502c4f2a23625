"""How far the links of an articulation went in a step, as kernels note it."""

from __future__ import annotations

import math
from typing import NamedTuple

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.solver import arena as slots
from gltf_bullet.solver.entries import prepare
from gltf_bullet.solver.island_layout import MOVES
from gltf_bullet.transforms import Vec3

__all__ = ["LinkMoves", "Motion"]


class Motion(NamedTuple):
    """Of a link in the step."""

    travel: Vec3
    """Of its centre of mass [m]."""
    turning: Vec3
    """About it, times half of its length [m]."""
    half_thickness: float
    """[m]"""
    turned: float
    """How far a turn may have brought any of its points [m]."""
    reach: float
    """How far any of its points may have gone [m]."""

    @staticmethod
    def of(travel: Vec3, turning: Vec3, half_thickness: float = 0.0) -> Motion:
        """With what follows of them."""
        turned = math.hypot(*turning)
        return Motion(travel, turning, half_thickness, turned, math.hypot(*travel) + turned)


class LinkMoves:
    """Of the frames of an articulation in the last step."""

    def __init__(self, articulation: Articulation, dt: float) -> None:
        """Read the engine after a step of ``dt`` seconds."""
        state: list[float] = []
        articulation.append_state(state)
        articulation.state[: len(state)] = state
        arena, record = articulation.arena, articulation.record
        prepare(arena.alone, MOVES, articulation.number, 0, dt, 0, 0, 0)
        size = slots.MOVES_HEAD + slots.MOVE_SIZE * len(record.frames.link)
        self._values: list[float] = arena.table(record, slots.MOVES, size).tolist()
        self.furthest = self._values[slots.MOVES_FURTHEST]
        """How far any point of a link that is to be looked after may have gone [m]; 0: none is."""
        self.spread = self._values[slots.MOVES_SPREAD]
        """How far any point of a link may have moved against the first link [m]."""
        self.thinnest = self._values[slots.MOVES_THINNEST]
        """Half thickness of the thinnest link that is to be looked after [m]."""

    def box(self, spare: float) -> tuple[list[float], list[float]]:
        """Around all links that are to be looked after, by ``spare`` [m] larger."""
        values, low, high = self._values, slots.MOVES_LOW, slots.MOVES_HIGH
        return (
            [x - spare for x in values[low : low + 3]],
            [x + spare for x in values[high : high + 3]],
        )

    def is_hurried(self, frame: int) -> bool:
        """Whether the link of a frame went further than it is thick, and not out of the world."""
        row = slots.MOVES_HEAD + slots.MOVE_SIZE * frame
        return bool(self._values[row + slots.MOVE_IS_HURRIED])

    def motion(self, frame: int) -> Motion:
        """Of the link of a frame."""
        row = slots.MOVES_HEAD + slots.MOVE_SIZE * frame
        x, y, z, a, b, c, half_thickness, _ = self._values[row : row + slots.MOVE_SIZE]
        return Motion.of((x, y, z), (a, b, c), half_thickness)
