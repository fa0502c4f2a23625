"""Bodies that touch articulations and that no scene solves, as tables for the solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from gltf_bullet.bullet.bodies.foreign_bodies import is_immovable, read_free_body
from gltf_bullet.bullet.engine_link import EngineLink
from gltf_bullet.solver.contact_following import ENDS, PASSES_ON
from gltf_bullet.solver.islands import FREE

__all__ = ["FreeSide", "FreeSides", "Load"]

Load: TypeAlias = Callable[[int, int, Sequence[float]], Sequence[float] | None]
"""What drives a link (body, link, its FREE.size numbers) that moves, as gains [6], if known."""

_WORLD = (*(0.0,) * 6, 1.0, *(0.0,) * (FREE.size - 7))
"""A free body that nothing moves."""
_PADDING = (0.0,) * (FREE.size - FREE.inertia)
_NO_SPIN = (0.0,) * 3


class FreeSide(NamedTuple):
    """A body that no scene solves, or a link of one."""

    number: int
    """In the order in which they are taken in."""
    state: int
    """Whether contacts are followed through it: PASSES_ON or ENDS."""
    friction: float


class FreeSides:
    """Those of one step, each read once."""

    def __init__(self, client_id: int, gain: Sequence[float], load: Load) -> None:
        """``gain`` is what gravity adds to a velocity within the step [m/s], shape [3]."""
        self._client_id, self._gain, self._load = client_id, gain, load
        self.values: list[float] = []
        """FREE.size numbers each."""
        self.by_link: dict[EngineLink, FreeSide] = {}
        """By body, and by link where links of a body move apart."""

    def add(self, body: int, link: int, gravity_factor: float | None) -> FreeSide:
        """Take in a body of a scene, by its gravity factor, or somebody else's body or link.

        Body -1 is the world, which constraints may hold on to.
        """
        known = self.by_link.get((body, link))
        if known is None:
            known = self.by_link[body, link] = self._read(body, link, gravity_factor)
        return known

    def _read(self, body: int, link: int, gravity_factor: float | None) -> FreeSide:
        number = len(self.by_link)
        if body < 0:
            self.values += _WORLD
            return FreeSide(number, ENDS, 0.0)
        x, y, z = self._gain
        factor = 1.0 if gravity_factor is None else gravity_factor
        gain = (factor * x, factor * y, factor * z)
        is_ours = gravity_factor is not None
        values, friction = read_free_body(self._client_id, body, link, gain, is_rigid=is_ours)
        moves = not is_immovable(values)
        gains: Sequence[float] = (*gain, *_NO_SPIN)
        if moves and link >= 0:
            gains = self._load(body, link, values) or gains
        self.values += (*values[: FREE.gain], *gains, *_PADDING)
        return FreeSide(number, PASSES_ON if moves else ENDS, friction)
