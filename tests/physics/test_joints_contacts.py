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

from gltf_bullet.bullet.joints.articulation_creation import create_articulations
from gltf_bullet.bullet.joints.joint_steps import JointSteps
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


at_60_hz = pytest.mark.parametrize(
    "bench",
    [pytest.param(1 / 240, id="240Hz", marks=pytest.mark.slow), pytest.param(1 / 60, id="60Hz")],
    indirect=True,
)


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


@pytest.mark.parametrize("stiffness", [1e4, 1e6])
def test_drives_of_two_scenes_in_one_world_press_on_each_other(
    bench: Bench, stiffness: float
) -> None:
    """As above, but each body belongs to articulations of its own."""
    bench.gravity = WEIGHTLESS
    other = Bench(dt=bench.dt, gravity=WEIGHTLESS)
    bodies = []
    for one, start, sign, k in ((bench, -0.15, 1, 2 * stiffness), (other, 0.15, -1, stiffness)):
        body = one.body((start, 0, 0), mass=2, half=(0.1, 0.1, 0.1))
        spring = drive(LINEAR, 0, stiffness=k, damping=k / 50, position_target=sign * 0.2)
        one.connect(-1, body, (start, 0, 0), slider(0), [spring])
        bodies.append(body)
    bench.start()
    other.client = bench.client
    other.art = create_articulations(bench.client, other.plan(), other.bodies, other.shape_id)
    other.art.contacts.register(bench.art.contacts.owners, {})
    for _ in range(round(3.0 / bench.dt)):
        for one in (bench, other):
            JointSteps([one.art]).before_step(bench.dt, WEIGHTLESS)
        pybullet.stepSimulation(physicsClientId=bench.client)
        for one in (bench, other):
            one.art.after_step()
    assert bench.position(bodies[0])[0] + 0.1 == pytest.approx(0.05, abs=1e-3)
    assert other.position(bodies[1])[0] - 0.1 == pytest.approx(0.05, abs=1e-3)


@at_60_hz
def test_a_row_of_lifts_with_planks_between_them_sinks_by_its_load(bench: Bench) -> None:
    """More contacts than one island takes: where islands meet, no force is given twice."""
    count, stiffness, mass, plank = 24, 1e4, 5.0, 2.0
    joints = []
    for k in range(count):
        lift = bench.body((k, 0, 0), mass=mass, half=(0.3, 0.3, 0.05))
        spring = drive(LINEAR, 2, stiffness=stiffness, damping=500.0)
        joints.append(bench.connect(-1, lift, (k, 0, 0), slider(2), [spring]))
    bench.start()
    for k in range(count - 1):
        bench.box((k + 0.5, 0, 0.071), (0.45, 0.05, 0.02), plank)
    bench.run(3.0)
    handles = [bench.art.controls.dofs(joint)[0] for joint in joints]
    carried = []
    for _ in range(round(0.5 / bench.dt)):
        bench.step()
        states = [bench.art.controls.dof_state(handle) for handle in handles]
        carried.append(-stiffness * sum(state.position[0] for state in states))
    load = count * mass + (count - 1) * plank
    # Where islands meet, each foresees the other's share only roughly; twice would be 1.5 or more.
    assert np.mean(carried) == pytest.approx(load * G, rel=0.06)


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


@at_60_hz
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
    """Ten links of 0.2 m over 1.6 m, swinging; the second anchor is a loop constraint."""
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
from gltf_bullet.runtime.inspect.joints import describe_joints
from tests.physics.joint_bench import BALL, Bench

bench, above, joints = Bench(), -1, []
for k in range(200):
    body = bench.body((0, 0, -0.05 * k - 0.025), mass=0.05, inertia=(5e-5, 5e-5, 5e-5))
    joints.append(bench.connect(above, body, (0, 0, -0.05 * k), BALL))
    above = body
bench.start()
bench.run(1.0)
gaps = [float(np.linalg.norm(bench.relative(joint).translation)) for joint in joints]
described = describe_joints(bench.art.plans, [f"node {k}" for k in range(len(bench.poses))])
print(json.dumps({"gaps": gaps, "tip": bench.position(above).tolist(),
                  "bodies": len(bench.art.body_ids),
                  "joints": list(bench.art.controls.joint_nodes),
                  "described": sorted(row["node"] for row in described),
                  "expected": sorted(joints)}), flush=True)
"""


@pytest.mark.slow
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
    assert found["joints"] == found["described"] == found["expected"], "the cut ones as well"
    assert max(found["gaps"]) < 1e-3
    assert found["tip"] == pytest.approx([0, 0, -199.5 * 0.05], abs=5e-3)


@pytest.mark.parametrize("at", [0.5, 0.8])
@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_stop_holds_what_rests_on_the_arm(bench: Bench, load: float, at: float) -> None:
    """An arm of 1 kg at its stop carries a box that was dropped on it from 1 cm."""
    arm = bench.body((0.5, 0, 0), mass=1, inertia=(0.01, 0.1, 0.1), half=(0.5, 0.1, 0.05))
    joint = bench.connect(-1, arm, (0, 0, 0), [*BALL, lock(ANGULAR, 0, 2), span(ANGULAR, 1, -1, 0)])
    bench.start()
    box = bench.box((at, 0, 0.16), (0.1, 0.1, 0.1), load)
    bench.run(2.0)
    handle = bench.art.controls.dofs(joint)[0]
    for _ in range(10):
        bench.step()
        angle = bench.art.controls.dof_state(handle).position[0]
        assert abs(math.degrees(angle)) < 0.01
    weight, lever = load * G * at + 1.0 * G * 0.5, 0.1 + 1.0 * 0.5**2
    assert -bench.art.controls.dof_state(handle).applied_force[0] == pytest.approx(weight, rel=0.02)
    # Gone, the arm is not thrown up: what the stop carried acts for no more than one step.
    pybullet.resetBasePositionAndOrientation(
        box, (5, 5, 5), (0, 0, 0, 1), physicsClientId=bench.client
    )
    bench.step(2)
    velocity = bench.art.controls.dof_state(handle).velocity[0]
    assert abs(velocity) < 1.1 * load * G * at * bench.dt / lever


def test_a_load_on_a_load_weighs_on_the_drive(bench: Bench) -> None:
    """A lift of 1 kg with a soft drive carries two boxes: it sinks by all their weight / k."""
    stiffness, masses = 2e3, (1.0, 3.0, 2.0)
    lift = bench.body((0, 0, 0), mass=masses[0], half=(0.3, 0.3, 0.05))
    spring = drive(LINEAR, 2, stiffness=stiffness, damping=100.0)
    joint = bench.connect(-1, lift, (0, 0, 0), slider(2), [spring])
    bench.start()
    bench.box((0, 0, 0.15), (0.1, 0.1, 0.1), masses[1])
    bench.box((0, 0, 0.35), (0.1, 0.1, 0.1), masses[2])
    bench.run(3.0)
    handle = bench.art.controls.dofs(joint)[0]
    sag = sum(masses) * G / stiffness
    state = bench.art.controls.dof_state(handle)
    assert state.position[0] == pytest.approx(-sag, rel=1e-3)
    assert state.applied_force[0] == pytest.approx(sum(masses) * G, rel=1e-3)


def test_a_driven_slide_pushes_a_free_door_up_to_its_speed(bench: Bench) -> None:
    """The door asks nothing of the solve itself; the slide's contact draws it in."""
    bench.gravity = WEIGHTLESS
    door = bench.body((0, 0.5, 0), mass=5, inertia=(0.5, 0.5, 0.5), half=(0.05, 0.5, 0.2))
    bench.connect(-1, door, (0, 0, 0), hinge(2))
    slide = bench.body((-0.16, 0.8, 0), mass=1, half=(0.1, 0.05, 0.05))
    push = drive(LINEAR, 0, damping=1e5, velocity_target=0.2)
    joint = bench.connect(-1, slide, (-0.16, 0.8, 0), slider(0), [push])
    bench.start()
    bench.run(0.75)
    handle = bench.art.controls.dofs(joint)[0]
    assert bench.art.controls.dof_state(handle).velocity[0] == pytest.approx(0.2, rel=1e-3)
    # The slide has gone 0.15 m; its edge at x = -0.06 + 0.15 leans on the door's face.
    _, _, _, w = bench.pose(door).rotation_xyzw
    assert 2 * math.acos(w) == pytest.approx(math.atan(0.15 / 0.8), rel=0.1)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_driven_wheel_climbs_as_fast_as_its_drive_says(bench: Bench, slope: float) -> None:
    """Rolling, M = m g sin(slope) r = d (w_t - w): without friction in the solve a light wheel
    would be given what turns the rim alone."""
    mass, radius, damping, target = 10.0, 0.2, 50.0, 20.0
    bench.gravity = (-G * math.sin(slope), 0, -G * math.cos(slope))
    wheel = bench.body((0, 0, radius), mass=mass, inertia=(0.01, 0.01, 0.01), half=radius)
    motor = drive(ANGULAR, 1, damping=damping, velocity_target=target)
    bench.connect(-1, wheel, (0, 0, radius), [lock(LINEAR, 1), lock(ANGULAR, 0, 2)], [motor])
    bench.start()
    floor = bench.box((0, 0, -0.5), (500, 5, 0.5))
    for body in (floor, *bench.art.body_ids):
        for link in range(-1, pybullet.getNumJoints(body, physicsClientId=bench.client)):
            pybullet.changeDynamics(
                body, link, lateralFriction=1.0, linearDamping=0, angularDamping=0,
                physicsClientId=bench.client,
            )  # fmt: skip
    bench.run(5.0)
    before = bench.position(wheel)[0]
    bench.run(1.0)
    speed = radius * (target - mass * G * math.sin(slope) * radius / damping)
    assert bench.position(wheel)[0] - before == pytest.approx(speed, rel=1e-3)


def test_the_weight_of_somebody_elses_robot_counts_as_that_of_one_body() -> None:
    """A foreign articulation is one rigid body to the solve, its links at their places."""
    bench = Bench(dt=1 / 240)
    table = bench.body((0, 0, 0), mass=1, half=(0.3, 0.3, 0.05))
    joint = bench.connect(-1, table, (0, 0, 0), [*slider(2), span(LINEAR, 2, 0.0, 0.5)])
    bench.start()
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=(0.1, 0.1, 0.1), physicsClientId=bench.client
    )
    pybullet.createMultiBody(
        4.0, shape, basePosition=(0, 0, 0.16), linkMasses=[1.0], linkCollisionShapeIndices=[-1],
        linkVisualShapeIndices=[-1], linkPositions=[(0, 0, 0.1)],
        linkOrientations=[(0, 0, 0, 1)], linkInertialFramePositions=[(0, 0, 0)],
        linkInertialFrameOrientations=[(0, 0, 0, 1)], linkParentIndices=[0],
        linkJointTypes=[pybullet.JOINT_FIXED], linkJointAxis=[(0, 0, 1)],
        physicsClientId=bench.client,
    )  # fmt: skip
    try:
        bench.run(2.0)
        state = bench.art.controls.dof_state(bench.art.controls.dofs(joint)[0])
        assert state.position[0] == pytest.approx(0.0, abs=1e-4)
        assert state.applied_force[0] == pytest.approx((1.0 + 4.0 + 1.0) * G, rel=0.01)
    finally:
        bench.close()
