"""What triggers cost: ``python -m tools.bench_triggers``.

100 box triggers over 1000 resting boxes, with and without the triggers in turn, so that both see
the same machine. The goal is 0.35 of the engine's own step.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass

import pybullet

import gltf_bullet as gb

__all__ = ["TriggerCost", "measure_triggers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCost:
    """Medians of one run [s]."""

    engine_step: float
    """Bare ``stepSimulation``."""
    triggers: float
    """What triggers add to ``before_step`` and ``after_step``."""
    overlaps: int
    """Pairs inside at the end."""

    @property
    def ratio(self) -> float:
        """Triggers over engine."""
        return self.triggers / self.engine_step


def measure_triggers(
    trigger_count: int = 100, body_count: int = 1000, steps: int = 200
) -> TriggerCost:
    """Step the same world with and without triggers in turn."""
    clients = [pybullet.connect(pybullet.DIRECT) for _ in range(2)]
    try:
        scenes = []
        for client, count in zip(clients, (0, trigger_count), strict=True):
            pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
            options = gb.LoadOptions(visuals="none")
            scenes.append(gb.load_gltf(scene_bytes(count, body_count), client, options=options))
            scenes[-1].step(60)
        engine: list[float] = []
        around: list[list[float]] = [[], []]
        for _ in range(steps):
            for scene, samples in zip(scenes, around, strict=True):
                start = time.perf_counter()
                scene.before_step()
                before = time.perf_counter() - start
                start = time.perf_counter()
                pybullet.stepSimulation(scene.client_id)
                engine.append(time.perf_counter() - start)
                start = time.perf_counter()
                scene.after_step()
                samples.append(before + time.perf_counter() - start)
        return TriggerCost(
            engine_step=statistics.median(engine),
            triggers=statistics.median(around[1]) - statistics.median(around[0]),
            overlaps=sum(len(view.overlapping) for view in scenes[1].triggers.values()),
        )
    finally:
        for client in clients:
            pybullet.disconnect(client)


def scene_bytes(trigger_count: int, body_count: int) -> bytes:
    """Boxes on a floor in rows, and boxes of triggers over every tenth of them."""
    columns = max(1, round(body_count**0.5))
    shapes = [
        {"type": "box", "box": {"size": [0.2, 0.2, 0.2]}},
        {"type": "box", "box": {"size": [columns, 1.0, columns]}},
        {"type": "box", "box": {"size": [0.5, 0.5, 0.5]}},
    ]

    def place(k: int, height: float) -> list[float]:
        return [0.4 * (k % columns) - 0.2 * columns, height, 0.4 * (k // columns) - 0.2 * columns]

    def node(translation: list[float], **physics: object) -> dict[str, object]:
        return {"translation": translation, "extensions": {"KHR_physics_rigid_bodies": physics}}

    nodes = [node([0.0, -0.5, 0.0], collider={"geometry": {"shape": 1}})]
    nodes += [
        node(place(k, 0.1), motion={"mass": 1.0}, collider={"geometry": {"shape": 0}})
        for k in range(body_count)
    ]
    stride = max(1, body_count // max(trigger_count, 1))
    nodes += [
        node(place(stride * k, 0.2), trigger={"geometry": {"shape": 2}})
        for k in range(trigger_count)
    ]
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "extensionsUsed": ["KHR_physics_rigid_bodies", "KHR_implicit_shapes"],
            "extensions": {"KHR_implicit_shapes": {"shapes": shapes}},
            "scene": 0,
            "scenes": [{"nodes": list(range(len(nodes)))}],
            "nodes": nodes,
        }
    ).encode()


if __name__ == "__main__":
    cost = measure_triggers()
    print(
        f"engine step {1e3 * cost.engine_step:.2f} ms, 100 triggers {1e3 * cost.triggers:.2f} ms, "
        f"ratio {cost.ratio:.3f}, {cost.overlaps} pairs inside"
    )
