"""Jointed bodies that touch, and large articulations, in the engine; at 240 and at 60 Hz."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pybullet
import pytest

from tests.physics.joint_bench import ANGULAR, BALL, LINEAR, Bench, drive, hinge, lock, slider, span

WEIGHTLESS = (0.0, 0.0, 0.0)
G = 9.81
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[1 / 240, 1 / 60], ids=["240Hz", "60Hz"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(dt=request.param)
    yield made
    if hasattr(made, "client"):
        made.close()


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5, 1e6])
def test_two_drives_that_press_on_each_other_settle_where_their_springs_balance(
    bench: Bench, stiffness: float
) -> None:
    """Faces meet at s: 2 k (0.15 - s) = k (s + 0.15), so s = 0.05 and the force is 0.2 k."""
    bench.gravity = WEIGHTLESS
    joints, bodies = [], []
    for start, sign, k in ((-0.15, 1, 2 * stiffness), (0.15, -1, stiffness)):
        body = bench.body((start, 0, 0), mass=2, half=(0.1, 0.1, 0.1))
        spring = drive(LINEAR, 0, stiffness=k, damping=k / 50, position_target=sign * 0.2)
        joints.append(bench.connect(-1, body, (start, 0, 0), slider(0), [spring]))
        bodies.append(body)
    bench.start()
    bench.run(3.0)
    left, right = (bench.position(body)[0] for body in bodies)
    assert left + 0.1 == pytest.approx(0.05, abs=1e-3)
    assert right - 0.1 == pytest.approx(0.05, abs=1e-3)
    contacts = pybullet.getContactPoints(
        bench.art.body_ids[0], bench.art.body_ids[1], physicsClientId=bench.client
    )
    assert sum(contact[9] for contact in contacts) == pytest.approx(0.2 * stiffness, rel=0.02)
    before = bench.position(bodies[0])[0]
    bench.run(0.5)
    assert bench.position(bodies[0])[0] == pytest.approx(before, abs=1e-4), "no jitter"


@pytest.mark.parametrize("enable_collision", [True, False])
def test_jointed_bodies_collide_only_with_enable_collision(
    bench: Bench, enable_collision: bool
) -> None:
    """A box on an upright slide falls on the box that carries the slide, or through it."""
    lower = bench.body((0, 0, 0), mass=5, half=(0.1, 0.1, 0.1))
    bench.connect(-1, lower, (0, 0, 0), [lock(LINEAR, 0, 1, 2), lock(ANGULAR, 0, 1, 2)])
    upper = bench.body((0, 0, 0.5), half=(0.1, 0.1, 0.1))
    limits = [lock(LINEAR, 0, 1), lock(ANGULAR, 0, 1, 2), span(LINEAR, 2, -1.0, 0.5)]
    bench.connect(lower, upper, (0, 0, 0.5), limits, enable_collision=enable_collision)
    bench.start()
    bench.run(2.0)
    height = bench.position(upper)[2] - bench.position(lower)[2]
    assert height == pytest.approx(0.2 if enable_collision else -0.5, abs=2e-3)


def test_a_ring_of_twelve_links_hangs_together(bench: Bench) -> None:
    """A regular polygon of ball joints, one corner fixed, collapses into a double strand."""
    count, side = 12, 0.2
    radius = side / (2 * math.sin(math.pi / count))
    corners = [
        (radius * math.sin(math.tau * k / count), 0, radius * math.cos(math.tau * k / count))
        for k in range(count + 1)
    ]
    links = []
    for start, end in itertools.pairwise(corners):
        centre = 0.5 * (np.array(start) + end)
        links.append(bench.body(centre, mass=0.2, inertia=(1e-3, 1e-3, 1e-3)))
    joints = [bench.connect(-1, links[0], corners[0], BALL)]
    joints += [
        bench.connect(links[k], links[(k + 1) % count], corners[k + 1], BALL) for k in range(count)
    ]
    bench.start()
    start = bench.energy()
    worst = 0.0
    for _ in range(round(5.0 / bench.dt)):
        bench.step()
        gaps = [np.linalg.norm(bench.relative(joint).translation) for joint in joints]
        worst = max(worst, *gaps)
    # The collapse ends in a whip; what a step of it tears open, the next ones close.
    assert worst < (0.008 if bench.dt < 1 / 200 else 0.15)
    assert max(gaps) < (0.002 if bench.dt < 1 / 200 else 0.05)
    assert bench.energy() < start


def test_a_driven_four_bar_linkage_stays_closed_at_every_step(bench: Bench) -> None:
    """A step at speed w on a radius r adds (w dt)^2 r / 2 to the gap; 0.2 + 0.6 of it are taken."""
    crank = bench.body((0, 0, 0.1), mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    coupler = bench.body((0.25, 0, 0.3), mass=0.5, inertia=(1e-2, 1e-2, 1e-2))
    rocker = bench.body((0.55, 0, 0.2), mass=0.4, inertia=(5e-3, 5e-3, 5e-3))
    motor = drive(ANGULAR, 1, damping=20.0, velocity_target=4.0)
    joints = [
        bench.connect(-1, crank, (0, 0, 0), hinge(1), [motor]),
        bench.connect(crank, coupler, (0, 0, 0.2), hinge(1)),
        bench.connect(coupler, rocker, (0.5, 0, 0.4), hinge(1)),
        bench.connect(rocker, -1, (0.6, 0, 0), hinge(1)),
    ]
    bench.start()
    worst = 0.0
    for _ in range(round(10.0 / bench.dt)):
        bench.step()
        gaps = [np.linalg.norm(bench.relative(joint).translation) for joint in joints]
        worst = max(worst, *gaps)
    assert worst < 1e-4 * (bench.dt * 240) ** 2


def test_a_chain_between_two_anchors_stays_on_both(bench: Bench) -> None:
    """Ten links of 0.2 m over 1.6 m, swinging; the second anchor is a closure."""
    count, side, width = 10, 0.2, 1.6
    # A V of two straight halves fits at load: its depth follows from Pythagoras.
    depth = math.sqrt((count * side / 2) ** 2 - (width / 2) ** 2)
    ends = [
        (width * k / count, 0.0, -depth * (1 - abs(2 * k / count - 1))) for k in range(count + 1)
    ]
    above, joints = -1, []
    for k in range(count):
        centre = 0.5 * (np.array(ends[k]) + ends[k + 1])
        link = bench.body(centre, mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
        joints.append(bench.connect(above, link, ends[k], BALL))
        above = link
    joints.append(bench.connect(above, -1, ends[-1], BALL))
    bench.start()
    for _ in range(round(5.0 / bench.dt)):
        bench.step()
    gaps = [np.linalg.norm(bench.relative(joint).translation) for joint in joints]
    assert max(gaps) < (2e-4 if bench.dt < 1 / 200 else 3e-3)


ROPE = """
import json
import numpy as np
from tests.physics.joint_bench import BALL, Bench

bench, above, joints = Bench(), -1, []
for k in range(200):
    body = bench.body((0, 0, -0.05 * k - 0.025), mass=0.05, inertia=(5e-5, 5e-5, 5e-5))
    joints.append(bench.connect(above, body, (0, 0, -0.05 * k), BALL))
    above = body
bench.start()
bench.run(1.0)
gaps = [float(np.linalg.norm(bench.relative(joint).translation)) for joint in joints]
print(json.dumps({"gaps": gaps, "tip": bench.position(above).tolist(),
                  "bodies": len(bench.art.body_ids)}), flush=True)
"""


def test_a_rope_of_two_hundred_segments_hangs_together_and_the_engine_says_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ROPE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *warnings, result = done.stdout.splitlines()
    assert warnings == []
    said = [line for line in done.stderr.splitlines() if "build time" not in line]
    assert said == []
    found = json.loads(result)
    assert found["bodies"] > 1, "more than the engine's 127 links"
    assert max(found["gaps"]) < 1e-3
    assert found["tip"] == pytest.approx([0, 0, -199.5 * 0.05], abs=5e-3)


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_stop_holds_what_rests_on_the_arm(load: float) -> None:
    """An arm of 1 kg at its stop carries a box; the joint solve does not know of the contact."""
    bench = Bench(dt=1 / 240)
    arm = bench.body((0.5, 0, 0), mass=1, inertia=(0.01, 0.1, 0.1), half=(0.5, 0.1, 0.05))
    joint = bench.connect(-1, arm, (0, 0, 0), [*BALL, lock(ANGULAR, 0, 2), span(ANGULAR, 1, -1, 0)])
    bench.start()
    try:
        box = bench.box((0.5, 0, 0.16), (0.1, 0.1, 0.1), load)
        bench.run(2.0)
        handle = bench.art.controls.freedoms(joint)[0]
        assert math.degrees(bench.art.controls.freedom_state(handle).position[0]) < 0.2
        # Gone, the arm is not thrown up: what the stop carried acts for no more than one step,
        # m g l dt / I with I = 0.1 + 1 * 0.5^2.
        pybullet.resetBasePositionAndOrientation(
            box, (5, 5, 5), (0, 0, 0, 1), physicsClientId=bench.client
        )
        bench.step(2)
        velocity = bench.art.controls.freedom_state(handle).velocity[0]
        assert abs(velocity) < 1.1 * load * G * 0.5 * bench.dt / 0.35
    finally:
        bench.close()
