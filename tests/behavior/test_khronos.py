"""Khronos' and Needle's own tests of KHR_interactivity, as far as they are handed out."""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import gltf_bullet as gb
from gltf_bullet.behavior.reading import read_graphs
from gltf_bullet.behavior.running import Behavior
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.animations import read_animations
from gltf_bullet.gltf.document import read_document
from tests.behavior.json_host import JsonHost

ARCHIVE = Path(__file__).parents[3] / "shared" / "interactivity" / "khronos-tests-dev.tar.xz"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not ARCHIVE.exists(), reason="the tests of Khronos are not here"),
]

# What the files expect against the text, or against what they hold themselves.
CONTRADICTED = {
    # Material 2 of the file does not say doubleSided.
    ("pointer/CoreReadOnlyPointers_GetTests", "/materials/{}/doubleSided"),
    # Its scene has one root, and 302 nodes below it.
    ("pointer/CoreReadOnlyPointers_GetTests", "/scenes/0/nodes.length"),
    # It expects rows; inputs and inline values of the text are in column-major order.
    ("math/combine4x4", "combine4x4"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("khronos")
    with tarfile.open(ARCHIVE) as archive:
        # 3.11.2, which Debian has, knows no filters.
        options: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(place, **options)  # noqa: S202  # our own collection
    return place


def names() -> Iterator[str]:
    if ARCHIVE.exists():
        with tarfile.open(ARCHIVE) as archive:
            for name in sorted(archive.getnames()):
                if name.endswith(".glb"):
                    yield name.removesuffix(".glb").removeprefix("./")


def agrees(got: Any, expected: Any) -> bool:
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    if isinstance(expected, str):
        expected = float(expected.replace("Infinity", "inf"))
    if math.isnan(expected):
        return math.isnan(got)
    return got == expected or abs(got - expected) <= 0.01 * max(1.0, abs(expected))


class Told:
    """Variables and sent events of a graph that has run."""

    def __init__(self, values: Sequence[Any], sent: Mapping[str, Any]) -> None:
        self.values, self.sent = values, sent


def told_by_the_file(path: Path) -> Told:
    """The graph over the JSON alone."""
    found = Diagnostics()
    document = read_document(path, found)
    graph = read_graphs(document.json, found)
    assert graph is not None, list(found)
    spans = [
        (min(track.times[0] for track in a.tracks), a.duration) if a.tracks else None
        for a in read_animations(document, found)
    ]
    behavior = Behavior(graph, JsonHost(document.json, spans), document.count("nodes"))
    sent: dict[str, Any] = {}
    for number, event in enumerate(graph.events):
        name = str(event.id)
        behavior.on(number, lambda values, name=name: sent.setdefault(name, values))
    behavior.tick(0.0)
    for step in range(1, steps_of(sent)):
        behavior.tick(step / 60)
        behavior.catch_up(step / 60)
    assert not len(behavior.found)
    return Told(behavior.values, sent)


def told_by_a_scene(path: Path) -> Told:
    """The graph in a world of PyBullet."""
    with headless_world(time_step=1 / 60) as client:
        scene = gb.load_gltf(path, client, options=gb.LoadOptions(visuals="none"))
        assert scene.behavior is not None
        sent: dict[str, Any] = {}
        for name in scene.behavior.events:
            scene.behavior.on(name, lambda values, name=name: sent.setdefault(name, values))
        scene.step()
        scene.step(steps_of(sent))
        codes = {issue.code for issue in scene.issues}
        assert not codes & {"BEHAVIOR_ENDLESS", "BEHAVIOR_VALUE_REFUSED", "BEHAVIOR_INVALID"}
        return Told(scene.behavior.variables.snapshot(), sent)


def steps_of(sent: Mapping[str, Any]) -> int:
    return int(60 * (float(sent["test/onStart"]["expectedDuration"]) + 1.0))


@pytest.mark.parametrize("told", [told_by_the_file, told_by_a_scene])
@pytest.mark.parametrize("name", list(names()))
def test_every_sub_test_comes_out(folder: Path, name: str, told: Callable[[Path], Told]) -> None:
    run = told(folder / f"{name}.glb")
    described = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    failed = set()
    for test in described["tests"]:
        for part in test["subTests"]:
            value = run.values[part["resultVarId"]]
            numbers = list(value) if isinstance(value, tuple) else [value]
            passed = len(numbers) == len(part["expectedResultValue"]) and all(
                map(agrees, numbers, part["expectedResultValue"])
            )
            if part["successResultVarId"] >= 0:
                passed = run.values[part["successResultVarId"]] is True
            if not passed:
                failed.add((test["name"], part["name"]))
    named = {test["name"] for test in described["tests"]}
    assert failed == {case for case in CONTRADICTED if case[0] in named}
    assert ("test/onSuccess" in run.sent) == (not failed)
