"""Random graphs: none raises, none hangs, all replay; ``GLTF_BULLET_GRAPHS`` says how many."""

from __future__ import annotations

import os
from random import Random

import pytest

from gltf_bullet.behavior.reading import read_graph
from gltf_bullet.behavior.running import Behavior
from gltf_bullet.diagnostics import ROOT, Diagnostics
from tests.behavior.json_host import JsonHost
from tools.fuzzing.random_graphs import FILE, damaged, random_graph

COUNT = int(os.environ.get("GLTF_BULLET_GRAPHS", "400"))
BUDGET = 500


def lived(behavior: Behavior, times: range) -> None:
    for k in times:
        behavior.tick(k / 10)
        behavior.catch_up(k / 10 + 0.05, [("Entered", 2, 1, 0)])
        if k == 3:
            behavior.select(2, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
            behavior.hover(2)


@pytest.mark.parametrize("part", range(4))
def test_random_graphs_run_and_replay(part: int) -> None:
    read = 0
    for number in range(COUNT // 4):
        random = Random(f"{part} {number}")  # noqa: S311
        graph = random_graph(random, random.choice((5, 20, 60)))
        if number % 3 == 0:
            graph = damaged(graph, random)
        made = read_graph(graph, FILE, ROOT, Diagnostics())
        if made is None:
            assert number % 3 == 0, f"{part} {number}"
            continue
        read += 1
        one, two = (
            Behavior(made, JsonHost(FILE, [(0.0, 1.0), None]), 4, seed=number, budget=BUDGET)
            for _ in range(2)
        )
        lived(one, range(4))
        two.restore(one.state())
        two.host.values.update(one.host.values)  # type: ignore[attr-defined]
        lived(one, range(4, 7))
        lived(two, range(4, 7))
        assert repr(one.state()) == repr(two.state()), f"{part} {number}"
        assert one.clock.spent < BUDGET + 10_000
    assert read > COUNT // 8
