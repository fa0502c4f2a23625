"""Khronos' and Needle's own tests of KHR_interactivity, as far as they are handed out."""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gltf_bullet.behavior.json_host import JsonHost
from gltf_bullet.behavior.reading import read_graphs
from gltf_bullet.behavior.running import Behavior
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.animations import read_animations
from gltf_bullet.gltf.document import read_document

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
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("khronos")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(place, filter="data")
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


@pytest.mark.parametrize("name", list(names()))
def test_every_sub_test_comes_out(folder: Path, name: str) -> None:
    found = Diagnostics()
    document = read_document(folder / f"{name}.glb", found)
    graph = read_graphs(document.json, found)
    assert graph is not None, list(found)
    spans = [
        (min(track.times[0] for track in a.tracks), a.duration) if a.tracks else None
        for a in read_animations(document, found)
    ]
    behavior = Behavior(graph, JsonHost(document.json, spans), document.count("nodes"))
    sent: dict[str | None, Any] = {}
    for number, event in enumerate(graph.events):
        behavior.on(number, lambda values, event=event: sent.setdefault(event.id, values))
    behavior.tick(0.0)
    duration = float(sent["test/onStart"]["expectedDuration"])
    for step in range(1, int(60 * (duration + 1.0))):
        behavior.tick(step / 60)
        behavior.catch_up(step / 60)
    assert not len(behavior.found)
    described = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    failed = set()
    for test in described["tests"]:
        for part in test["subTests"]:
            value = behavior.values[part["resultVarId"]]
            numbers = list(value) if isinstance(value, tuple) else [value]
            passed = len(numbers) == len(part["expectedResultValue"]) and all(
                map(agrees, numbers, part["expectedResultValue"])
            )
            if part["successResultVarId"] >= 0:
                passed = behavior.values[part["successResultVarId"]] is True
            if not passed:
                failed.add((test["name"], part["name"]))
    named = {test["name"] for test in described["tests"]}
    assert failed == {case for case in CONTRADICTED if case[0] in named}
    assert ("test/onSuccess" in sent) == (not failed)
