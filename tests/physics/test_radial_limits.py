"""Limits of two and three axes together on bodies that turn, with the joint node on either side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import gltf_bullet as gb
from gltf_bullet.model import JointLimit
from tests.physics.joint_bench import ANGULAR, BALL, LINEAR, Bench, span
from tests.physics.scenes import Jointed, world

Benches = Callable[..., Bench]
WEIGHTLESS = (0.0, 0.0, 0.0)


@pytest.fixture
def benches() -> Iterator[Benches]:
    made: list[Bench] = []

    def make(**settings: object) -> Bench:
        made.append(Bench(**settings))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


def hang(
    bench: Bench,
    body: int,
    limits: Sequence[JointLimit],
    *,
    on_body: bool,
    anchor: Sequence[float] = (0.0, 0.0, 0.0),
    at: Sequence[float],
) -> int:
    """A joint between the world's ``anchor`` and a point of the body, its node on either."""
    if on_body:
        return bench.connect(body, -1, at, limits, position_b=anchor)
    return bench.connect(-1, body, anchor, limits, position_b=at)


@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
@pytest.mark.parametrize("limits", [
    (*BALL, span(ANGULAR, (0, 1), 0.0, 1.0)),
    (*BALL, span(ANGULAR, (0, 1, 2), 0.0, 1.0)),
    (span(LINEAR, (0, 1), 0.0, 1.0),),
    (span(LINEAR, (0, 1, 2), 0.0, 1.0),),
], ids=["cone", "angle", "tube", "rope"])  # fmt: skip
def test_a_smallest_distance_of_nothing_holds_nothing(
    benches: Benches, limits: Sequence[JointLimit], on_body: bool
) -> None:
    """Distances are never below 0: the body goes on as it was, from the middle in any direction."""
    for way in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)):
        bench = benches(gravity=WEIGHTLESS)
        velocity = way if limits[0].maximum else (0.0, 0.0, 0.0)
        body = bench.body((0.0, 0.0, 0.0), velocity=velocity, spin=way)
        hang(bench, body, limits, on_body=on_body, at=(0.0, 0.0, 0.0))
        bench.start()
        bench.run(0.25)
        travelled = bench.pose(body)
        assert travelled.translation == pytest.approx(0.25 * np.array(velocity), abs=1e-9)
        turned = 2.0 * np.arcsin(np.array(travelled.rotation_xyzw[:3]))
        assert np.abs(turned) == pytest.approx(np.abs(0.25 * np.array(way)), abs=1e-6)


@pytest.mark.parametrize("rate", [60.0, 240.0, 1000.0])
@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
def test_a_limit_out_of_reach_leaves_the_flight_straight(
    benches: Benches, rate: float, on_body: bool
) -> None:
    """``x + v t``, and ``w t`` about the axis of the spin."""
    bench = benches(dt=1.0 / rate, gravity=WEIGHTLESS)
    limits = [span(LINEAR, 1, -100.0, 100.0), span(LINEAR, (0, 1, 2), 0.0, 100.0)]
    body = bench.body((1.5, 0.5, 0.5), velocity=(1.0, 0.0, 0.0), spin=(0.0, 0.0, 3.0))
    other = bench.body((5.0, 0.0, 2.0), velocity=(0.0, 0.5, 0.0), spin=(2.0, 0.0, 0.0))
    for limit in limits:
        hang(bench, body, [limit], on_body=on_body, at=(1.0, 0.0, 0.0))
    bench.connect(*((body, other) if on_body else (other, body)), (3.0, 0.0, 1.0), limits)
    bench.start()
    bench.run(3.0)
    assert bench.position(body) == pytest.approx([4.5, 0.5, 0.5], abs=1e-6)
    assert bench.position(other) == pytest.approx([5.0, 1.5, 2.0], abs=1e-6)
    z, w = bench.pose(body).rotation_xyzw[2:]
    assert np.arctan2(z, w) % np.pi == pytest.approx(0.5 * 3.0 * 3.0 % np.pi, abs=1e-6)


def energies(bench: Bench, body: int, seconds: float) -> Iterator[float]:
    """Kinetic and potential energy [J] after each step of a body whose inertia is a sphere's.

    The engine's velocities belong to the middle between two steps: their mean to the step between.
    """
    plan = bench.bodies[body]
    before: tuple[np.ndarray, np.ndarray, float] | None = None
    for _ in range(round(seconds / bench.dt)):
        bench.step()
        for articulation in bench.art.articulations:
            if body not in articulation.record.frames.node:
                continue
            state = articulation.read()
            k = articulation.record.frames.node.index(body)
            v, w = state.linear_velocity[k].copy(), state.angular_velocity[k].copy()
            potential = -plan.mass * float(np.dot(bench.gravity, state.com[k]))
        if before is not None:
            u, s = 0.5 * (before[0] + v), 0.5 * (before[1] + w)
            yield 0.5 * plan.mass * u @ u + 0.5 * plan.inertia_diagonal[0] * s @ s + before[2]
        before = v, w, potential


@pytest.mark.parametrize("rate", [60.0, 240.0, 1000.0])
@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
def test_a_rope_on_the_rim_of_a_cube_keeps_its_length_and_its_energy(
    benches: Benches, rate: float, on_body: bool
) -> None:
    """A cube of 1 m and 1 kg, let go level with its anchor: a rope does no work."""
    bench = benches(dt=1.0 / rate)
    body = bench.body((2.0, 0.0, -0.5), inertia=(1 / 6,) * 3)
    rope = [span(LINEAR, (0, 1, 2), 0.0, 2.0)]
    joint = hang(bench, body, rope, on_body=on_body, at=(2.0, 0.0, 0.0))
    bench.start()
    start, turned_over = -0.5 * 9.81, 2.5 * 9.81
    longest = 0.0
    for energy in energies(bench, body, 10.0 if rate < 500.0 else 2.0):
        assert energy == pytest.approx(start, abs=0.01 * turned_over)
        longest = max(longest, np.linalg.norm(bench.relative(joint).translation))
    assert longest == pytest.approx(2.0, abs=0.001)


@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
@pytest.mark.parametrize("least", [0.0, 1.0], ids=["tube", "shell"])
def test_a_tube_keeps_its_radius_while_its_body_swings(
    benches: Benches, least: float, on_body: bool
) -> None:
    """Radius 1 about a level axis: work of nothing but gravity, where nothing slackens."""
    bench = benches()
    body = bench.body((1.5, 0.5, -0.5), inertia=(1 / 6,) * 3)
    tube = [span(LINEAR, (0, 2), least, 1.0)]
    joint = hang(bench, body, tube, on_body=on_body, at=(1.0, 0.0, 0.0))
    bench.start()
    start = -0.5 * 9.81
    for energy in energies(bench, body, 1.0):
        x, _, z = bench.relative(joint).translation
        assert np.hypot(x, z) < 1.001
        assert energy < start + 0.01 * 2.0 * 9.81
        if least == 1.0:
            assert np.hypot(x, z) > 0.999
            assert energy == pytest.approx(start, abs=0.01 * 2.0 * 9.81)


@pytest.mark.parametrize("on_body", [False, True], ids=["node on the world", "node on the body"])
@pytest.mark.parametrize("rate", [60.0, 240.0])
def test_a_total_angle_holds_within_a_tenth_of_a_degree(
    benches: Benches, rate: float, on_body: bool
) -> None:
    bench = benches(dt=1.0 / rate)
    body = bench.body((0.3, 0.0, -0.5), velocity=(0.0, 1.0, 0.0), spin=(1.0, 2.0, 4.0))
    limits = [*BALL, span(ANGULAR, (0, 1, 2), 0.0, 0.5)]
    joint = hang(bench, body, limits, on_body=on_body, at=(0.0, 0.0, 0.0))
    bench.start()
    for _ in range(round(3.0 / bench.dt)):
        bench.step()
        half = min(1.0, abs(bench.relative(joint).rotation_xyzw[3]))
        assert 2.0 * np.arccos(half) < 0.5 + np.radians(0.1)


@pytest.mark.parametrize(("speed", "spin"), [(1.0, 3.0), (5.0, 3.0), (10.0, 3.0), (3.0, 8.0)])
def test_a_rope_on_an_anchor_that_drives_and_spins_goes_round_with_it(
    speed: float, spin: float
) -> None:
    """A ball on 1 m of rope, 1 m from the axis of a kinematic hub: it circles at ``w (a + l)``.

    In each step the engine turns the velocity of a body without mass by its spin.
    """
    arm = length = 1.0
    around = spin * (arm + length)
    scenery = Jointed()
    drives = {"isKinematic": True, "linearVelocity": [speed, 0, 0], "angularVelocity": [0, spin, 0]}
    hub = scenery.node("Hub", shape=scenery.shape("box", size=[0.1] * 3), motion=drives)
    ball = scenery.node(
        "Ball", at=(arm + length, 0.0, 0.0), shape=scenery.shape("sphere", radius=0.05),
        motion={"mass": 1.0, "linearVelocity": [speed, 0.0, -around]},
    )  # fmt: skip
    ends = scenery.attachment(hub, (arm, 0.0, 0.0)), scenery.attachment(ball, (0.0, 0.0, 0.0))
    scenery.join(*ends, limits=[{"linearAxes": [0, 1, 2], "max": length}])
    with world(scenery.bytes(), rate=60.0, gravity=0.0) as scene:
        for _ in range(240):
            scene.step()
            first, second = (scene.world_from_node(end)[:3, 3] for end in ends)
            assert math.dist(first, second) == pytest.approx(length, abs=1e-4)
            along = scene.bodies[ball].linear_velocity - (speed, 0.0, 0.0)
            assert along @ along == pytest.approx(around**2, rel=0.01)


def energy_as_read(bench: Bench, body: int) -> float:
    """Kinetic and potential energy [J] of what PyBullet tells after a step."""
    plan = bench.bodies[body]
    for articulation in bench.art.articulations:
        if body in articulation.record.frames.node:
            state = articulation.read()
            k = articulation.record.frames.node.index(body)
            v, w = state.linear_velocity[k], state.angular_velocity[k]
            moving = 0.5 * plan.mass * v @ v + 0.5 * plan.inertia_diagonal[0] * w @ w
            return float(moving - plan.mass * np.dot(bench.gravity, state.com[k]))
    raise AssertionError(body)


@pytest.mark.parametrize("rate", [60.0, 120.0, 240.0, 480.0, 1000.0])
@pytest.mark.parametrize("spin", [(0.0, 0.0, 0.0), (0.5, -0.2, 0.3)], ids=["still", "turning"])
def test_a_rope_that_goes_taut_on_a_long_lever_pays_no_energy(
    benches: Benches, rate: float, spin: Sequence[float]
) -> None:
    """A box of 0.5 m and 1 kg on 1.5 m of rope, tied to an arm of 1 m: it falls, and no more.

    At its turn the arm goes round by half a radian per step at 60 Hz: it is let pass, rather than
    thrown inwards (23 J more in a step; 4 J at 240 Hz).
    """
    bench = benches(dt=1.0 / rate)
    body = bench.body((1.0, 0.0, 0.0), velocity=(0.3, -0.2, 0.0), spin=spin, inertia=(1 / 24,) * 3)
    rope = [span(LINEAR, (0, 1, 2), 0.0, 1.5)]
    hang(bench, body, rope, on_body=False, at=(0.0, 0.0, 0.0))
    bench.start()
    start = before = energy_as_read(bench, body)
    deepest = 9.81 * 2.5
    for _ in range(round(3.0 / bench.dt)):
        bench.step()
        energy = energy_as_read(bench, body)
        assert energy < start + 0.01 * deepest
        assert energy < before + 0.03 * deepest
        before = energy


@pytest.mark.parametrize(("rate", "is_held"), [(1000.0, True), (240.0, False)])
def test_an_angle_that_is_left_is_named(rate: float, is_held: bool) -> None:
    """Four links on total angles of 0.5, let go level: at 240 Hz their stop throws one by 1.9 deg.

    Along the way that the links can take in 2 s, no joint may be further than its limit unnamed.
    """
    most = 0.5
    turn = Rotation.from_rotvec(np.radians(77.0) * np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0))
    axes = turn.as_quat().tolist()
    scenery = Jointed()
    end, ends = scenery.node("Anchor"), []
    for k in range(4):
        link = scenery.node(
            f"Link {k}", at=(0.25 + 0.5 * k, 0.0, 0.0),
            motion={"mass": 1.0, "inertiaDiagonal": [0.01] * 3},
        )  # fmt: skip
        first = scenery.attachment(end, (0.25 if k else 0.0, 0.0, 0.0), axes)
        second = scenery.attachment(link, (-0.25, 0.0, 0.0), axes)
        locked = {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0}
        scenery.join(first, second, limits=[
            locked, {"angularAxes": [0, 1, 2], "min": 0.0, "max": most},
        ])  # fmt: skip
        ends.append((first, second))
        end = link
    with world(scenery.bytes(), rate=rate) as scene:
        farthest = 0.0
        for _ in range(round(2.0 * rate)):
            scene.step()
            for first, second in ends:
                a, b = (scene.world_from_node(node)[:3, :3] for node in (first, second))
                angle = Rotation.from_matrix(a.T @ b).magnitude()
                farthest = max(farthest, angle - most)
        named = [issue.code for issue in scene.issues if issue.code == "JOINT_LIMIT_LEFT"]
        assert (farthest < 0.02) == is_held
        assert len(named) == (0 if is_held else 1)


@pytest.mark.parametrize(
    ("speed", "substeps", "is_held"), [(10.0, 1, True), (80.0, 1, False), (80.0, 8, True)]
)
def test_a_limit_that_is_left_is_named_once(speed: float, substeps: int, is_held: bool) -> None:
    """At 80 m/s and 240 Hz a body goes 1.2 radians round a radius of 0.28 m in a step."""
    radius = 0.28
    scenery = Jointed()
    body = scenery.node(
        "Body", at=(0.0, -radius, 0.0), shape=scenery.shape("sphere", radius=0.1),
        motion={"mass": 0.5, "linearVelocity": [speed, 0.0, 0.0]},
    )  # fmt: skip
    pivot = scenery.node("Pivot")
    end = scenery.attachment(body, (0.0, 0.0, 0.0))
    scenery.join(pivot, end, limits=[{"linearAxes": [0, 1], "min": 0.0, "max": radius}])
    options = gb.LoadOptions(substeps=substeps)
    with world(scenery.bytes(), gravity=0.0, options=options) as scene:
        farthest = 0.0
        for _ in range(240):
            scene.step()
            x, y, _ = scene.world_from_node(end)[:3, 3]
            farthest = max(farthest, math.hypot(x, y) - radius)
        named = [issue.code for issue in scene.issues if issue.code == "JOINT_LIMIT_LEFT"]
        assert (farthest < 1e-3) == is_held
        assert len(named) == (0 if is_held else 1)
