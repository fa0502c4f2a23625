"""The same file gives the same variables in Babylon.js, which runs graphs without a screen.

Khronos' own engine is not to be had (npm has no ``@khronosgroup/gltf-interactivity-engine``), and
Babylon refuses Khronos' test files, which have spellings of earlier drafts; so these are our own.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gltf_bullet.behavior.operations.catalogue import OPERATIONS
from gltf_bullet.behavior.running import Behavior
from tests.behavior.graphs import outputs, read, run
from tests.behavior.test_operations import FLOATS, VECTORS
from tools.graph_builder import GraphBuilder, Out, Typed

NPM, NODE = shutil.which("npm"), shutil.which("node")
RUNNER = Path(__file__).with_name("babylon.mjs")
RATE, SECONDS = 60, 2

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (NPM and NODE), reason="needs node and npm"),
]

BY_THE_TEXT = {
    # "If any input value component is positive or negative infinity, the output value is positive
    # infinity", "matches the hypot operation", and floatN has a float in it.
    ("math/length", "((inf, nan),)"),
    ("math/length", "((3e+200, 4e+200),)"),
    ("math/length", "(-3.0,)"),
    ("math/normalize", "(-2.0,)"),
    # "NaN and infinity values are propagated accordingly": 0 / 0; acos of 4.
    ("math/smoothStep", "(1.0, 1.0, 1.0)"),
    ("math/quatAngleBetween", "((0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 2.0))"),
}
"""Where Babylon.js 9.35 gives something else than the text says."""


@pytest.fixture(scope="module")
def babylon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Babylon.js and the program that runs graphs in it."""
    folder = tmp_path_factory.mktemp("babylon")
    shutil.copy(RUNNER, folder)
    packages = ("@babylonjs/core@9", "@babylonjs/loaders@9")
    command = [str(NPM), "install", "--prefix", str(folder), "--no-audit", "--no-fund", *packages]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder


def elsewhere(folder: Path, graph: GraphBuilder) -> list[Any]:
    """The variables of a graph after it ran in Babylon.js, by index."""
    file = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_interactivity"],
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "Root"}],
        "extensions": {"KHR_interactivity": graph.extension()},
    }
    path, jobs, out = (folder / name for name in ("graph.gltf", "jobs.json", "out.json"))
    path.write_text(json.dumps(file, allow_nan=False), encoding="utf-8")
    jobs.write_text(json.dumps([[str(path), SECONDS]]), encoding="utf-8")
    command = [str(NODE), RUNNER.name, str(jobs), str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=300, cwd=folder)
    (told,) = json.loads(out.read_text(encoding="utf-8")).values()
    assert told["said"] == []
    found = {int(name.rpartition("_")[2]): value for name, value in told["variables"]}
    return [found[k] for k in range(len(found))]


def here(graph: GraphBuilder) -> Behavior:
    behavior = run(graph)
    behavior.tick(0.0)
    for step in range(1, SECONDS * RATE):
        behavior.tick(step / RATE)
        behavior.catch_up(step / RATE)
    return behavior


def source(graph: GraphBuilder, value: Any) -> Any:
    """A value, by operations where JSON has no number for it."""
    if isinstance(value, tuple):
        if all(map(math.isfinite, value)):
            return value
        parts = dict(zip("abcd", [source(graph, item) for item in value], strict=False))
        return Out(graph.add(f"math/combine{len(value)}", parts))
    if not isinstance(value, float) or (math.isfinite(value) and str(value) != "-0.0"):
        return value
    if math.isnan(value):
        return Out(graph.add("math/NaN"))
    size = 0.0 if value == 0.0 else Out(graph.add("math/Inf"))
    return size if str(value) == "inf" else Out(graph.add("math/neg", {"a": size}))


def agrees(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, tuple):
        return (
            isinstance(theirs, list) and len(ours) == len(theirs) and all(map(agrees, ours, theirs))
        )
    if isinstance(ours, bool) or isinstance(theirs, (bool, list)) or theirs is None:
        return ours is theirs
    other = float(theirs)  # also of "NaN", "-Infinity" and "-0"
    if math.isnan(ours):
        return math.isnan(other)
    # Matrices have 32 bits there.
    return ours == other or math.isclose(ours, other, rel_tol=1e-6, abs_tol=1e-6)


def cases() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for operation, values, _ in (*FLOATS, *VECTORS):
        if operation != "ref/eq":  # Babylon takes no null references without a value
            yield operation, values


def test_every_pure_operation_gives_the_same_value(babylon: Path) -> None:
    graph = GraphBuilder()
    asked: list[tuple[str, str]] = []
    sets: list[Out] = []
    for operation, values in cases():
        sockets = OPERATIONS["", operation].variants[0].sockets.inputs
        named = dict(zip(sockets, values, strict=True))
        for socket in outputs(operation, named):
            inputs = {key: source(graph, value) for key, value in named.items()}
            sets.append(Out(graph.add(operation, inputs), socket))
            asked.append((operation, str(values)))
    kinds = [read(graph.graph()).nodes[out.node].outputs[out.socket] for out in sets]
    zeros = {"bool": False, "int": 0, "float": 0.5}
    for kind in kinds:
        size = {"2": 2, "3": 3, "4": 4}.get(kind[-1], 1) ** (2 if "x" in kind else 1)
        graph.variable(Typed(kind, zeros.get(kind, [0.5] * size)))
    start, sequence = graph.add("event/onStart"), graph.add("flow/sequence")
    graph.flow(start, sequence)
    for k, out in enumerate(sets):
        graph.flow(sequence, f"{k:04}", graph.add("variable/set", {str(k): out}, variables=[k]))
    theirs, ours = elsewhere(babylon, graph), here(graph).values
    assert len(theirs) == len(ours) > 200
    differ = {case for case, a, b in zip(asked, ours, theirs, strict=True) if not agrees(a, b)}
    assert differ == BY_THE_TEXT


def test_flows_variables_and_time_come_out_alike(babylon: Path) -> None:
    g = GraphBuilder()
    names = ("loops", "whiles", "thrice", "delayed", "ticks", "eased", "done")
    first = (0, 0, 0, 0, 0, 0.0, 0)
    number = {name: g.variable(value) for name, value in zip(names, first, strict=True)}

    def plus(name: str, more: Any = 1) -> int:
        now = g.add("variable/get", variable=number[name])
        total = g.add("math/add", {"a": Out(now), "b": more})
        return g.add("variable/set", {str(number[name]): Out(total)}, variables=[number[name]])

    start, sequence = g.add("event/onStart"), g.add("flow/sequence")
    g.flow(start, sequence)
    loop = g.add("flow/for", {"startIndex": 2, "endIndex": 7}, initialIndex=0)
    g.flow(sequence, "a", loop)
    g.flow(loop, "loopBody", plus("loops", Out(loop, "index")))
    asked = g.add("variable/get", variable=number["whiles"])
    below = g.add("math/lt", {"a": Out(asked), "b": 10})
    again = g.add("flow/while", {"condition": Out(below)})
    g.flow(sequence, "b", again)
    g.flow(again, "loopBody", plus("whiles", 3))
    delay = g.add("flow/setDelay", {"duration": 0.5})
    g.flow(sequence, "c", delay)
    g.flow(delay, "done", plus("delayed"))
    ease = g.add(
        "variable/interpolate",
        {"value": 4.0, "duration": 1.0, "p1": (0.25, 0.1), "p2": (0.25, 1.0)},
        variable=number["eased"],
        useSlerp=False,
    )
    g.flow(sequence, "d", ease)
    g.flow(ease, "done", plus("done"))
    # flow/switch is left out: Babylon 9.35 asks for the input "default", which math/switch has.
    tick = g.add("event/onTick")
    few = g.add("flow/doN", {"n": 3})
    g.flow(tick, few)
    g.flow(few, plus("thrice"))
    theirs, ours = elsewhere(babylon, g), here(g).values
    assert ours == [20, 12, 3, 1, 0, 4.0, 1]
    assert all(map(agrees, ours, theirs)), (ours, theirs)
