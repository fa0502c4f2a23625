"""Writes the example assets with graphs: ``python -m tools.make_behavior_examples``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tools.graph_builder import GraphBuilder, Out
from tools.joint_builder import WORLD, JointBuilder, hinge, servo
from tools.make_examples import BODIES, FOLDER, PhysicsBuilder

__all__ = ["BEHAVIOR_EXAMPLES", "write_behavior_examples"]

BALLS: Final = 5
_CROSSING: Final = {"colliderNodeIndex": "int", "motionNodeIndex": "int"}


def sorting_gate() -> PhysicsBuilder:
    """Balls roll at a flap; a sensor counts them, and the graph turns the flap for each."""
    b = JointBuilder()
    floor, ball = b.shape("box", size=[24, 1, 8]), b.shape("sphere", radius=0.1)
    blade = b.shape("box", size=[0.8, 0.3, 0.04])
    b.body("Floor", (-4, -0.5, 0), floor)
    flap = b.body("Flap", (0.4, 0.2, 0), blade, 0.5)
    turn = b.joint(*hinge(1, -0.6, 0.6), drives=[servo("angular", 1, 10.0, 2.0)])
    b.connect("Hinge", flap, WORLD, (0.8, 0.2, 0), turn)
    for k in range(BALLS):
        b.body(f"Ball{k + 1}", (-2 - 2.4 * k, 0.1, 0), ball, 0.2, linearVelocity=[1.5, 0, 0])
    sensor = _volume(b, "Sensor", (-1.2, 0.2, 0), [0.1, 0.4, 0.6])
    bins = [
        _volume(b, name, (1.8, 0.2, z), [4.0, 0.4, 1.2])
        for name, z in (("Left", -1.2), ("Right", 1.2))
    ]
    b.root_extension("KHR_interactivity", _sorting(sensor, bins).extension())
    return b


def _volume(b: PhysicsBuilder, name: str, at: tuple[float, ...], size: list[float]) -> int:
    trigger = {"trigger": {"geometry": {"shape": b.shape("box", size=size)}}}
    return b.node(name, translation=list(at), extensions={BODIES: trigger})


def _sorting(sensor: int, bins: list[int]) -> GraphBuilder:
    g = GraphBuilder()
    side = g.variable(0.5, "side")
    counts = [g.variable(0, "left"), g.variable(0, "right")]
    told = g.event("sorted", left=0, right=0)
    # Each ball that comes: the other side, and there the flap.
    arrives = _entered(g, sensor)
    now = g.add("variable/get", variable=side)
    other = g.add("math/neg", {"a": Out(now)})
    g.chain(
        arrives,
        g.add("variable/set", {str(side): Out(other)}, variables=[side]),
        g.add(
            "pointer/set", {"value": Out(now)},
            pointer=f"/extensions/{BODIES}/physicsJoints/0/drives/0/positionTarget",
            type=g.type("float"),
        ),
    )  # fmt: skip
    # Each ball in a bin: one more, and the world outside is told.
    for trigger, count in zip(bins, counts, strict=True):
        arrives = _entered(g, trigger)
        before = g.add("variable/get", variable=count)
        more = g.add("math/add", {"a": Out(before), "b": 1})
        values: dict[str, Any] = {
            name: Out(g.add("variable/get", variable=counts[k]))
            for k, name in enumerate(("left", "right"))
        }
        g.chain(
            arrives,
            g.add("variable/set", {str(count): Out(more)}, variables=[count]),
            g.add("event/send", values, event=told),
            g.add("debug/log", values, severity=0, message="{left} left, {right} right"),
        )
    return g


def _entered(g: GraphBuilder, trigger: int) -> int:
    return g.add(
        "event/rigid_body_triggerEntered", extension=BODIES, outputs=_CROSSING, nodeIndex=trigger
    )


BEHAVIOR_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {"sorting_gate": sorting_gate}


def write_behavior_examples(folder: Path) -> list[Path]:
    """Write the assets into ``folder``."""
    written = []
    for name, make in BEHAVIOR_EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_behavior_examples(FOLDER):
        sys.stdout.write(f"{file}\n")
