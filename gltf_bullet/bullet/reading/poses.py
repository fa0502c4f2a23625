"""Where the links of plain PyBullet bodies are, quickly: what a recording reads again and again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.errors import EngineError
from gltf_bullet.transforms import FloatArray

__all__ = ["InertialPoses"]


class InertialPoses:
    """Reads the inertial frames of all links of some bodies, body by body, the base first."""

    def __init__(self, client_id: int, body_ids: Sequence[int]) -> None:
        self._client = client_id
        self._links = [
            (body, list(range(pybullet.getNumJoints(body, physicsClientId=client_id))))
            for body in body_ids
        ]

    def read(self) -> FloatArray:
        """Positions and rotations xyzw in the world, shape [link_count, 7].

        Raises:
            EngineError: A body is gone.
        """
        rows: list[float] = []
        client = self._client
        try:
            for body, links in self._links:
                for part in pybullet.getBasePositionAndOrientation(body, client):
                    rows += part
                if links:
                    for state in pybullet.getLinkStates(
                        body, links, computeForwardKinematics=1, physicsClientId=client
                    ):
                        rows += (*state[0], *state[1])
        except pybullet.error as error:
            raise EngineError(f"a recorded body is gone: {error}") from error
        return np.array(rows).reshape(-1, 7)

    def time_step(self) -> float:
        """[s] of one ``stepSimulation``."""
        values = pybullet.getPhysicsEngineParameters(physicsClientId=self._client)
        return float(values["fixedTimeStep"])

    def advance(self) -> None:
        """One ``stepSimulation``."""
        pybullet.stepSimulation(physicsClientId=self._client)
