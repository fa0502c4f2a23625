"""The free bodies of many scenes, checked for fast ones together: most are slow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.fast_bodies import FastBodies
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["FastWatch"]


class FastWatch:
    """:meth:`FastBodies.are_slow` for many scenes at once, in arrays."""

    def __init__(self, client_id: int, watched: Sequence[FastBodies]) -> None:
        """Prepare for scenes of one world that have a few bodies each."""
        self.watched = list(watched)
        self._client_id = client_id
        self._ids = [body for bodies in watched for body in bodies.ids]
        ends = np.cumsum([len(bodies.ids) for bodies in watched]).tolist()
        self._spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self._number_of = np.repeat(np.arange(len(self.watched)), [len(b.ids) for b in watched])
        self._places: FloatArray = np.full((len(self._ids), 3), np.nan)
        """Positions of the bodies after the last step [m]; NaN if unknown."""
        self._reach: FloatArray = np.zeros(len(self._ids))
        self._known: list[Sequence[Vec3] | None] = [None] * len(self.watched)
        """Positions that each scene has stored; others mean that it was read elsewhere meanwhile.
        """

    def find_fast(self) -> list[int]:
        """Process a finished step; return the numbers of scenes with bodies that may be fast."""
        for number, bodies in enumerate(self.watched):
            if bodies.last is not self._known[number] or bodies.last is None:
                self._read_scene(number, bodies)
        read, client_id = pybullet.getBasePositionAndOrientation, self._client_id
        try:
            places = [read(body, client_id)[0] for body in self._ids]
        except pybullet.error:  # A body was removed; reading each scene shows whose.
            return list(range(len(self.watched)))
        now = np.fromiter(chain.from_iterable(places), float, 3 * len(places)).reshape(-1, 3)
        x, y, z = (now - self._places).T
        fast = np.flatnonzero(~(np.sqrt(x * x + y * y + z * z) <= self._reach))
        fast_scenes: set[int] = set(self._number_of[fast].tolist())
        self._places = now
        for number, (start, end) in enumerate(self._spans):
            if number in fast_scenes:
                self._known[number] = None
            else:
                self._known[number] = here = places[start:end]
                self.watched[number].note_slow(here)
        return sorted(fast_scenes)

    def _read_scene(self, number: int, bodies: FastBodies) -> None:
        start, end = self._spans[number]
        self._known[number] = known = bodies.last if bodies.has_few else None
        self._places[start:end] = np.nan if known is None else known
        self._reach[start:end] = bodies.reach
