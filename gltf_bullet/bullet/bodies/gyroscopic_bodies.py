"""Free bodies that the engine alone would tumble wrongly: see ``solver.engine.gyroscopic``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pybullet

from gltf_bullet.numba_aot import IntTable
from gltf_bullet.solver.engine.gyroscopic import (
    ENERGY_DRIFT,
    HEADER,
    SPINNING,
    find_torque,
    steady_spins,
)
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["GyroscopicBodies"]


class GyroscopicBodies:
    """Bodies whose principal moments differ."""

    def __init__(
        self, client_id: int, ids: Sequence[int], rows: IntArray, moments: FloatArray
    ) -> None:
        """Watch some bodies.

        Args:
            client_id: The PyBullet world.
            ids: Of all free bodies.
            rows: Which of them to watch.
            moments: Principal moments of all free bodies [n, 3], kg m^2.
        """
        self._client_id = client_id
        self._ids = ids
        self._rows: list[int] = rows.tolist()
        self.find_row: Callable[[], IntTable | None] = lambda: None
        """Finds the row of the world's engine for kernels; ``None``: only Python calls it."""
        self._row: IntTable | None = None
        self._is_asked = False
        self.weigh(moments)

    def weigh(self, moments: FloatArray) -> None:
        """Take other moments, as of the constructor."""
        self._moments = moments
        self._values: FloatArray = np.zeros(HEADER + SPINNING.size * len(self._rows))
        self._values[0] = math.inf
        if not self._rows:
            return
        watched = moments[self._rows]
        least, span = watched.min(axis=1), np.ptp(watched, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The torque is at most span w^2, along each axis; the energy least w^2 / 2.
            slow = np.sqrt(ENERGY_DRIFT / 3.0) * least / span
        table = self._values[HEADER:].reshape(-1, SPINNING.size)
        table[:, SPINNING.body_id] = [self._ids[row] for row in self._rows]
        table[:, SPINNING.slow] = slow**2
        table[:, SPINNING.moments : SPINNING.moments + 3] = watched

    @property
    def are_any(self) -> bool:
        """True if any body is watched."""
        return bool(self._rows)

    @property
    def count(self) -> int:
        """How many are watched."""
        return len(self._rows)

    @property
    def fastest(self) -> float:
        """Speed of the fastest of them [m/s], as the coming step begins."""
        return math.sqrt(self._values[0])

    def forget(self, row: int) -> None:
        """Ask no more about a body that was removed."""
        if row in self._rows:
            self._rows.remove(row)
            self.weigh(self._moments)

    def steady(self, time_step: float) -> None:
        """Apply the torques that keep angular momentum through the coming engine step [s]."""
        if not self._is_asked:
            self._row, self._is_asked = self.find_row(), True
        if self._row is None or steady_spins(self._row, self._values, time_step) < 0:
            self._steady_by_python(time_step)

    def _steady_by_python(self, time_step: float) -> None:
        values, client_id, fastest = self._values, self._client_id, 0.0
        for k in range(len(self._rows)):
            at = HEADER + SPINNING.size * k
            body = int(values[at + SPINNING.body_id])
            position, rotation = pybullet.getBasePositionAndOrientation(body, client_id)
            velocity, spin = pybullet.getBaseVelocity(body, client_id)
            start = at + SPINNING.position
            values[start : at + SPINNING.torque] = (*position, *rotation, *velocity, *spin)
            fastest = max(fastest, sum(v * v for v in velocity))
            if find_torque(values, at, time_step):
                torque = values[at + SPINNING.torque : at + SPINNING.torque + 3].tolist()
                pybullet.applyExternalTorque(
                    body, -1, torque, pybullet.WORLD_FRAME, physicsClientId=client_id
                )
        values[0] = fastest
