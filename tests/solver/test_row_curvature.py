"""How far metrics bend in a step: value and rate now, and the bend, make the value after it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from gltf_bullet.model import JointLimit
from tests.physics.joint_bench import ANGULAR, BALL, LINEAR, Bench, span

LIMITS: dict[str, tuple[JointLimit, ...]] = {
    "one axis": (span(LINEAR, 0, -100.0, 100.0),),
    "radius": (span(LINEAR, (0, 1), 0.0, 100.0),),
    "distance": (span(LINEAR, (0, 1, 2), 0.0, 100.0),),
    "cone": (*BALL, span(ANGULAR, (1, 2), 0.0, 3.0)),
    "angle": (*BALL, span(ANGULAR, (0, 1, 2), 0.0, 3.0)),
}


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
def test_value_rate_and_bend_make_the_value_after_the_step(kind: str, on_body: bool) -> None:
    bench = Bench(dt=1.0 / 60.0, gravity=(0.0, 0.0, 0.0))
    at = (0.0, 0.0, 0.0) if kind in ("cone", "angle") else (0.7, 0.2, 0.1)
    body = bench.body(at, velocity=(1.0, -2.0, 0.5), spin=(2.0, 3.0, -4.0))
    near = at if kind in ("cone", "angle") else (0.4, 0.4, 0.4)
    owners = (body, -1) if on_body else (-1, body)
    ends = (near, (0.0, 0.0, 0.0)) if on_body else ((0.0, 0.0, 0.0), near)
    bench.connect(*owners, ends[0], LIMITS[kind], position_b=ends[1])
    bench.start()
    tables = ("row_value", "row_rate", "row_curvature")
    told = []
    for k in range(16):
        if k == 4 and kind == "angle":
            # What turns from 0 about one axis bends nothing: it is kicked across.
            bench.art.apply_impulse(body, (0.0, 0.0, 0.0), (0.5, -0.3, 0.2))
        bench.step()
        arena = bench.art.arena
        told.append([float(arena.view(arena.records[0], name)[0]) for name in tables])
    bench.close()
    bends = [bend for _, _, bend in told]
    assert np.abs(bends).max() > 1e-4
    for (value, rate, bend), (after, _, _) in pairwise(told[2:]):
        assert after == pytest.approx(value + rate * bench.dt + bend, abs=2e-8)
