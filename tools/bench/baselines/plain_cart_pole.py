"""One cart-pole as a newcomer's environment steps it: nothing general, nothing saved up.

It knows its one body and its two joints by number, writes Python floats and makes one array.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pybullet

from tools.bench.baselines.cart_pole import BareCartPoles

__all__ = ["PlainCartPole"]


class PlainCartPole:
    """The cart-pole of :class:`BareCartPoles`, alone in a world."""

    def __init__(self, client_id: int) -> None:
        (self._body,) = BareCartPoles(client_id, 1).body_ids
        self._client_id = client_id

    def reset(self) -> npt.NDArray[np.float32]:
        """The cart in the middle, the pole upright."""
        pybullet.resetJointState(self._body, 0, 0.0, 0.0, self._client_id)
        pybullet.resetJointState(self._body, 1, 0.0, 0.0, self._client_id)
        return self._observe()

    def step(self, action: npt.NDArray[np.float32], frame_skip: int) -> npt.NDArray[np.float32]:
        """Push with 10 N times the action, shape [1], for some engine steps.

        Returns:
            Way [m], angle [rad] and their velocities, shape [4].
        """
        client, body = self._client_id, self._body
        force = 10.0 * float(action[0])
        for _ in range(frame_skip):
            pybullet.setJointMotorControl2(
                body, 0, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client
            )
            pybullet.stepSimulation(client)
        return self._observe()

    def _observe(self) -> npt.NDArray[np.float32]:
        (x, v, _, _), (angle, rate, _, _) = pybullet.getJointStates(
            self._body, (0, 1), self._client_id
        )
        return np.array((x, angle, v, rate), dtype=np.float32)
