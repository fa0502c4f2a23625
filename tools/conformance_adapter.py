"""The adapter that runs the conformance program of the shared folder against this library.

python3 ../shared/conformance/oracle.py --adapter tools.conformance_adapter:Adapter
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pybullet

import gltf_bullet as gb


class Adapter:
    """One asset in a world of its own, glTF axes kept."""

    def __init__(
        self, path: str, dt: float = 1 / 240, gravity: Sequence[float] = (0, -9.81, 0)
    ) -> None:
        self._client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*gravity, physicsClientId=self._client)
        pybullet.setTimeStep(dt, physicsClientId=self._client)
        self._events: list[tuple[str, int, int, int, float]] = []
        self._scene = gb.load_gltf(path, self._client, up_axis="y")
        self._scene.on_trigger(
            lambda e: self._events.append(
                (e.kind, e.trigger_node, e.collider_node, e.motion_node, e.time)
            )
        )

    def step(self, n: int = 1) -> None:
        for _ in range(n):
            self._scene.step()

    def world(self, node: int) -> np.ndarray:
        return self._scene.world_from_node(node)

    def body_of(self, node: int) -> Hashable | None:
        body = self._scene.body_of(node)
        return None if body is None else (body.body_id, body.link_index)

    def linear_velocity(self, node: int) -> np.ndarray:
        body = self._scene.body_of(node)
        return np.zeros(3) if body is None else body.linear_velocity

    def angular_velocity(self, node: int) -> np.ndarray:
        body = self._scene.body_of(node)
        return np.zeros(3) if body is None else body.angular_velocity

    def trigger_events(self) -> list[tuple[str, int, int, int, float]]:
        return list(self._events)

    def raycast(self, start: Sequence[float], end: Sequence[float]) -> Any:
        if not hasattr(self._scene, "ray_cast"):
            return None
        hit = self._scene.ray_cast(start, end)
        return None if hit is None else (hit.node, hit.fraction, hit.normal)

    @property
    def time(self) -> float:
        return self._scene.time
