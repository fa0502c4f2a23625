"""Writes the example assets with graphs: ``python -m tools.make_behavior_examples``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tools.graph_builder import GraphBuilder, Out
from tools.joint_builder import WORLD, JointBuilder, hinge, servo
from tools.make_examples import BODIES, FOLDER, PhysicsBuilder
from tools.make_training_assets import cart_pole

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


def cart_pole_task() -> PhysicsBuilder:
    """The cart-pole with its task: a push at the start, a score, and an end."""
    b = cart_pole()
    b.root_extension("KHR_interactivity", _balancing(cart=1, pole=5).extension())
    return b


def _balancing(cart: int, pole: int) -> GraphBuilder:
    g = GraphBuilder()
    score, fallen = g.variable(0.0, "score"), g.event("fallen")
    # The start: a push to one side, drawn anew in each episode.
    start, chance = g.add("event/onStart"), g.add("math/random")
    middle = g.add("math/sub", {"a": Out(chance), "b": 0.5})
    spin = g.add("math/mul", {"a": Out(middle), "b": 0.04})
    push = g.add(
        "rigid_body/applyImpulse",
        {
            "nodeIndex": pole,
            "angularImpulse": Out(g.add("math/combine3", {"a": 0.0, "b": 0.0, "c": Out(spin)})),
        },
        extension=BODIES,
        inputs={"nodeIndex": "int", "angularImpulse": "float3"},
    )
    g.flow(start, push)
    # Each tick: how upright the pole is, and how far the cart has come.
    tick = g.add("event/onTick")
    rotation = g.add("pointer/get", pointer=f"/nodes/{pole}/rotation", type=g.type("float4"))
    up = g.add("math/rotate3D", {"a": (0.0, 1.0, 0.0), "rotation": Out(rotation)})
    upright = g.add("math/dot", {"a": Out(up), "b": (0.0, 1.0, 0.0)})
    place = g.add("pointer/get", pointer=f"/nodes/{cart}/translation", type=g.type("float3"))
    along = g.add("math/dot", {"a": Out(place), "b": (1.0, 0.0, 0.0)})
    leans = g.add("math/lt", {"a": Out(upright), "b": 0.98})
    gone = g.add("math/gt", {"a": Out(g.add("math/abs", {"a": Out(along)})), "b": 2.4})
    over = g.add(
        "flow/branch", {"condition": Out(g.add("math/or", {"a": Out(leans), "b": Out(gone)}))}
    )
    g.flow(tick, over)
    g.flow(over, "true", g.add("event/send", event=fallen))
    now = g.add("variable/get", variable=score)
    more = g.add("math/add", {"a": Out(now), "b": 0.25})
    g.flow(over, "false", g.add("variable/set", {str(score): Out(more)}, variables=[score]))
    return g


BEHAVIOR_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {
    "cart_pole_task": cart_pole_task,
    "sorting_gate": sorting_gate,
}


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
