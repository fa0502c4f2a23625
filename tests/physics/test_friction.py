"""Coulomb friction of every pair of materials against formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gltf_bullet.bullet.exchange.library import SWITCH
from gltf_bullet.model import CombineMode, combine
from tests.physics.scenes import G, Scenery, world

MODES = [mode.value for mode in CombineMode]


def sliding_box(mu: dict[str, object], ground: dict[str, object], speed: float) -> bytes:
    scenery = Scenery()
    slab = scenery.shape("box", size=[60, 1, 10])
    box = scenery.shape("box", size=[1, 0.5, 1])
    scenery.node("Ground", at=(20, -0.5, 0), shape=slab, material=scenery.material(**ground))
    scenery.node(
        "Box",
        at=(0, 0.25, 0),
        shape=box,
        material=scenery.material(**mu),
        motion={"mass": 2.0, "linearVelocity": [speed, 0, 0]},
    )
    return scenery.bytes()


@pytest.mark.parametrize(("own", "other"), list(itertools.product(MODES, MODES)))
def test_stopping_distance_follows_the_combined_coefficient(own: str, other: str) -> None:
    a, b, speed = 0.3, 0.7, 3.0
    mu = combine(a, b, CombineMode(own), CombineMode(other))
    scene_bytes = sliding_box(
        {"staticFriction": a, "dynamicFriction": a, "frictionCombine": own},
        {"staticFriction": b, "dynamicFriction": b, "frictionCombine": other},
        speed,
    )
    with world(scene_bytes) as scene:
        scene.step(2)
        start, v = scene.world_from_node("Box")[0, 3], scene.bodies["Box"].linear_velocity[0]
        scene.step(int(240 * (speed / (mu * G) + 0.5)))
        travelled = scene.world_from_node("Box")[0, 3] - start
    assert travelled == pytest.approx(v * v / (2.0 * mu * G), rel=0.02)


def ramp(angle: float, static: float, dynamic: float) -> bytes:
    scenery = Scenery()
    half = 0.5 * angle
    turn = [0, 0, math.sin(half), math.cos(half)]
    slab = scenery.shape("box", size=[40, 1, 10])
    box = scenery.shape("box", size=[1, 0.4, 1])
    mu = scenery.material(staticFriction=static, dynamicFriction=dynamic)
    up = np.array([-math.sin(angle), math.cos(angle), 0.0])
    scenery.node("Ramp", at=(-0.5 * up).tolist(), rotation=turn, shape=slab, material=mu)
    scenery.node(
        "Box", at=(0.2 * up).tolist(), rotation=turn, shape=box, material=mu, motion={"mass": 1.0}
    )
    return scenery.bytes()


@pytest.mark.parametrize("mu", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("rate", [120.0, 240.0])
def test_a_box_sticks_below_and_slides_above_the_friction_angle(mu: float, rate: float) -> None:
    for factor, slides in ((0.98, False), (1.02, True)):
        with world(ramp(math.atan(mu * factor), mu, mu), rate=rate) as scene:
            scene.step(int(2 * rate))
            moved = np.linalg.norm(scene.world_from_node("Box")[:3, 3] - _start(mu * factor))
            a = G * (math.sin(math.atan(mu * factor)) - mu * math.cos(math.atan(mu * factor)))
            assert moved == pytest.approx(0.5 * a * 4.0 if slides else 0.0, abs=0.02)


def _start(slope: float) -> np.ndarray:
    angle = math.atan(slope)
    return 0.2 * np.array([-math.sin(angle), math.cos(angle), 0.0])


@pytest.mark.parametrize("rate", [120.0, 240.0, 480.0])
def test_static_friction_holds_where_dynamic_friction_would_not(rate: float) -> None:
    static, dynamic = 0.8, 0.3
    with world(ramp(math.atan(static * 0.98), static, dynamic), rate=rate) as scene:
        scene.step(int(2 * rate))
        moved = np.linalg.norm(scene.world_from_node("Box")[:3, 3] - _start(static * 0.98))
        assert moved < 0.02
    angle = math.atan(static * 1.02)
    with world(ramp(angle, static, dynamic), rate=rate) as scene:
        scene.step(int(2 * rate))
        velocity = scene.bodies["Box"].linear_velocity.copy()
        scene.step(int(0.2 * rate))
        gained = np.linalg.norm(scene.bodies["Box"].linear_velocity - velocity)
        acceleration = G * (math.sin(angle) - dynamic * math.cos(angle))
        assert gained == pytest.approx(0.2 * acceleration, rel=0.02)


def test_a_sliding_box_feels_dynamic_friction_until_it_stops() -> None:
    rough = {"staticFriction": 0.8, "dynamicFriction": 0.3}
    with world(sliding_box(rough, rough, 4.0)) as scene:
        scene.step(2)
        start, v = scene.world_from_node("Box")[0, 3], scene.bodies["Box"].linear_velocity[0]
        scene.step(480)
        travelled = scene.world_from_node("Box")[0, 3] - start
    assert travelled == pytest.approx(v * v / (2 * 0.3 * G), rel=0.02)


def test_a_rolling_sphere_keeps_five_sevenths_of_its_speed() -> None:
    """A sliding sphere ends rolling at 5/7 v whatever the coefficient."""
    scenery = Scenery()
    rough = scenery.material(staticFriction=0.9, dynamicFriction=0.4)
    slab = scenery.shape("box", size=[80, 1, 10])
    ball = scenery.shape("sphere", radius=0.5)
    scenery.node("Ground", at=(20, -0.5, 0), shape=slab, material=rough)
    scenery.node(
        "Ball", at=(0, 0.5, 0), shape=ball, material=rough,
        motion={"mass": 1.0, "linearVelocity": [3.5, 0, 0]},
    )  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(480)
        assert scene.bodies["Ball"].linear_velocity[0] == pytest.approx(2.5, rel=0.01)


def test_three_contradictory_materials_are_right_at_the_same_time() -> None:
    """Averages of three coefficients are no products: each pair must still be right."""
    mus = {"Ice": 0.1, "Wood": 0.5, "Rubber": 0.9}
    scenery = Scenery()
    slab = scenery.shape("box", size=[80, 1, 2])
    box = scenery.shape("box", size=[1, 0.5, 1])
    materials = {
        name: scenery.material(staticFriction=mu, dynamicFriction=mu) for name, mu in mus.items()
    }
    speed, pairs = 3.0, list(itertools.product(mus, mus))
    for lane, (ground, mover) in enumerate(pairs):
        z = 4.0 * lane
        scenery.node(
            f"{ground}Lane{lane}", at=(20, -0.5, z), shape=slab, material=materials[ground]
        )
        scenery.node(
            f"Mover{lane}", at=(0, 0.25, z), shape=box, material=materials[mover],
            motion={"mass": 1.0, "linearVelocity": [speed, 0, 0]},
        )  # fmt: skip
    with world(scenery.bytes()) as scene:
        scene.step(2)
        start = [scene.world_from_node(f"Mover{k}")[0, 3] for k in range(len(pairs))]
        v = [scene.bodies[f"Mover{k}"].linear_velocity[0] for k in range(len(pairs))]
        scene.step(int(240 * (speed / (0.1 * G) + 0.5)))
        for k, (ground, mover) in enumerate(pairs):
            mu = 0.5 * (mus[ground] + mus[mover])
            travelled = scene.world_from_node(f"Mover{k}")[0, 3] - start[k]
            assert travelled == pytest.approx(v[k] ** 2 / (2 * mu * G), rel=0.02), (ground, mover)


STEADY, SLIPPERY = 0.8, 0.1
GROUNDS = {
    "box": ("box", {"size": [40, 2, 40]}, 1.0),
    "plane": ("plane", {}, 0.0),
    "triangles": ("plane", {"sizeX": 40, "sizeZ": 40, "doubleSided": True}, 0.0),
    "cylinder": ("cylinder", {"height": 2, "radiusTop": 20, "radiusBottom": 20}, 1.0),
}


def cube_on(ground: str, angle: float = 0.0, gap: float = 0.0) -> bytes:
    """A cube of 2 kg, ``gap`` [m] above a ground that slopes down along +X by ``angle`` [rad]."""
    kind, sizes, half = GROUNDS[ground]
    scenery = Scenery()
    mu = scenery.material(staticFriction=STEADY, dynamicFriction=SLIPPERY)
    turn = [0, 0, -math.sin(0.5 * angle), math.cos(0.5 * angle)]
    up = np.array([math.sin(angle), math.cos(angle), 0.0])
    slab, cube = scenery.shape(kind, **sizes), scenery.shape("box", size=[1, 1, 1])
    scenery.node("Ground", at=(-half * up).tolist(), rotation=turn, shape=slab, material=mu)
    scenery.node(
        "Cube", at=((0.5 + gap) * up).tolist(), rotation=turn, shape=cube, material=mu,
        motion={"mass": 2.0},
    )  # fmt: skip
    return scenery.bytes()


@pytest.mark.parametrize("ground", GROUNDS)
def test_static_friction_holds_what_lies_on_any_ground(ground: str) -> None:
    """At a slope of 0.3 a cube slides by (sin - mu cos) g t^2 / 2 = 3.8 m in 2 s if mu is 0.1."""
    with world(cube_on(ground, math.atan(0.3)), rate=240.0) as scene:
        start = scene.world_from_node("Cube")[:3, 3].copy()
        scene.step(480)
        assert np.linalg.norm(scene.world_from_node("Cube")[:3, 3] - start) < 0.02


@pytest.mark.parametrize("ground", GROUNDS)
def test_static_friction_holds_what_has_landed(ground: str) -> None:
    """A push of 0.5 m g slides it by (0.5 - 0.1) g t^2 / 2 = 0.49 m in 0.5 s if mu is 0.1."""
    with world(cube_on(ground, gap=0.2), rate=240.0) as scene:
        scene.step(360)
        start = scene.world_from_node("Cube")[:3, 3].copy()
        for _ in range(120):
            scene.bodies["Cube"].apply_force((0.5 * 2.0 * G, 0.0, 0.0))
            scene.step()
        assert np.linalg.norm(scene.world_from_node("Cube")[:3, 3] - start) < 0.02


def test_what_has_rested_and_is_thrown_lands_sliding() -> None:
    """Thrown up at 3 m/s it is pressed by m (g t - 3) in all until t: mu of that it slows down."""
    with world(cube_on("box"), rate=240.0) as scene:
        scene.step(120)
        scene.bodies["Cube"].apply_impulse((2.0 * 3.5, 2.0 * 3.0, 0.0))
        scene.step(240)
        speed = scene.bodies["Cube"].linear_velocity[0]
    assert speed == pytest.approx(3.5 - SLIPPERY * (G - 3.0), rel=0.05)


SLOPE_COS = math.cos(math.pi / 6)
BLOCK = {"sizeX": 40, "sizeZ": 40}
"""A finite plane that is solid on one side: the engine's is a closed triangle mesh."""


def on_a_slope(size: list[float], gap: float, steady: float) -> bytes:
    """A box, ``gap`` [m] above a block of triangles that slopes down along +X by 30 degrees."""
    scenery = Scenery()
    turn = [0, 0, -math.sin(math.pi / 12), math.cos(math.pi / 12)]
    up, down = np.array([0.5, SLOPE_COS, 0.0]), np.array([SLOPE_COS, -0.5, 0.0])
    scenery.node(
        "Ground", rotation=turn, shape=scenery.shape("plane", **BLOCK),
        material=scenery.material(staticFriction=0.9, dynamicFriction=0.9),
    )  # fmt: skip
    smooth = scenery.material(
        staticFriction=steady, dynamicFriction=SLIPPERY, frictionCombine="minimum"
    )
    scenery.node(
        "Box", at=((0.5 * size[1] + gap) * up - 8.0 * down + [0, 0, 0.3]).tolist(), rotation=turn,
        shape=scenery.shape("box", size=size), material=smooth, motion={},
    )  # fmt: skip
    return scenery.bytes()


@pytest.mark.parametrize("gap", [0.5, 0.45, 0.3])
def test_a_box_that_lands_on_one_corner_goes_on_sliding(gap: float) -> None:
    """The corner stops for a moment, and static friction there threw the box over.

    Sliding, it can be tipped by no more than mu h / w = 0.14 of its weight; mu of 0.8 throws it.
    """
    with world(on_a_slope([0.7, 1.0, 1.3], gap, 0.8), rate=240.0) as scene:
        up = np.array([0.5, SLOPE_COS, 0.0])
        tilts = []
        for _ in range(350):
            scene.step()
            tilts.append(scene.world_from_node("Box")[:3, 1] @ up)
    assert math.degrees(math.acos(min(tilts))) < 7.0


@pytest.mark.parametrize("gap", [-0.0005, 0.0, 0.0001, 0.0005, 0.001])
def test_static_friction_holds_what_a_mesh_pushes_into_place(gap: float) -> None:
    """At 30 degrees the tangent is 0.58: less than 0.8, more than 0.1."""
    with world(on_a_slope([1, 1, 1], gap, 0.8), rate=240.0) as scene:
        start = scene.world_from_node("Box")[:3, 3].copy()
        scene.step(480)
        assert np.linalg.norm(scene.world_from_node("Box")[:3, 3] - start) < 0.03


def test_many_bodies_slide_and_stop_as_a_single_one_does() -> None:
    """Contacts are asked for by body where there are few, and all at once where there are many.

    A box at 2 m/s stops after v^2 / (2 mu g): far apart, each as if it were alone.
    """
    ways = {}
    for count in (1, 8):
        scene = Scenery()
        floor, box = (
            scene.shape("box", size=[200, 1, 200]),
            scene.shape("box", size=[0.2, 0.2, 0.2]),
        )
        material = scene.material(staticFriction=0.8, dynamicFriction=0.4)
        scene.node("floor", at=(0, -0.5, 0), shape=floor, material=material)
        for k in range(count):
            scene.node(
                f"box{k}", at=(0, 0.1, 5.0 * k), shape=box, material=material,
                motion={"mass": 1.0, "linearVelocity": [2.0, 0.0, 0.0]},
            )  # fmt: skip
        with world(scene.bytes()) as running:
            running.step(240)
            ways[count] = [float(running.world_from_node(f"box{k}")[0, 3]) for k in range(count)]
    assert ways[1] == pytest.approx([2.0**2 / (2.0 * 0.4 * G)], rel=0.05)
    assert ways[8] == pytest.approx(8 * ways[1], abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_and_python_see_the_same_bodies_slide(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit: boxes and compounds that are thrown across a floor, stop, and hit each other."""
    rng = np.random.default_rng(seed)
    scenery = Scenery()
    mu = scenery.material(staticFriction=0.9, dynamicFriction=0.4)
    slab, ball = scenery.shape("box", size=[40, 1, 40]), scenery.shape("sphere", radius=0.1)
    scenery.node("Floor", at=(0, -0.5, 0), shape=slab, material=mu)
    for k in range(6):
        size = rng.uniform(0.2, 0.6, 3)
        parts = []
        if k % 3 == 2:  # a body of two colliders
            parts = [scenery.node(f"Knob{k}", at=(0, 0.5 * size[1], 0), shape=ball, material=mu)]
        scenery.node(
            f"Body{k}", at=(0.7 * k, 0.5 * size[1] + 0.3 * (k % 2), 0), children=parts,
            shape=scenery.shape("box", size=size.tolist()), material=mu,
            motion={"mass": 1.0, "linearVelocity": [float(rng.uniform(-3, 3)), 0, 0]},
        )  # fmt: skip
    ends = []
    for is_native in (1, 0):
        monkeypatch.setenv(SWITCH, str(is_native))
        with world(scenery.bytes()) as scene:
            scene.step(480)
            ends.append([scene.world_from_node(f"Body{k}").tolist() for k in range(6)])
    assert ends[0] == ends[1]
