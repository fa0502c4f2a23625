"""Friction and bounce of all pairs of materials of a scene against the rule that combines them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.model import CombineMode, combine
from tests.physics.scenes import G, Scenery, world

COEFFICIENTS = (0.0, 0.1, 0.25, 0.5, 0.8, 1.0)
ANY = (*CombineMode, None)
MULTIPLY = (CombineMode.MULTIPLY,)

HEIGHT = 2.0
"""[m] from which balls fall."""
SPEED = 6.0
"""[m/s] at which boxes slide."""

Pairs = dict[str, float]
"""A coefficient per body, towards the ground below it."""


@dataclass(frozen=True)
class Surface:
    """One coefficient, of friction or restitution, and its mode."""

    value: float
    mode: CombineMode | None = None

    def against(self, other: Surface) -> float:
        return combine(self.value, other.value, self.mode, other.mode)


Surfaces = Sequence[Surface]


def found_in(scene: gb.Scene) -> set[str]:
    """Codes of what is wrong; that nothing bounces below 0.2 m/s is no matter here."""
    return {issue.code for issue in scene.issues} - {"SLOW_BOUNCE", "STEP_DIVIDED"}


def some(seed: int, modes: Sequence[CombineMode | None]) -> tuple[Surfaces, Surfaces]:
    """One to three grounds and two to four bodies."""
    rng = np.random.default_rng(seed)

    def one() -> Surface:
        return Surface(float(rng.choice(COEFFICIENTS)), modes[rng.integers(len(modes))])

    grounds = [one() for _ in range(rng.integers(1, 4))]
    bodies = [one() for _ in range(rng.integers(2, 5))]
    return grounds, bodies


def balls(grounds: Surfaces, bodies: Surfaces) -> tuple[bytes, Pairs]:
    """A ball of each kind above a patch of each ground."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.5)
    motion: dict[str, object] = {"mass": 1.0}
    wanted = _field(scenery, "restitution", grounds, bodies, (ball, 0.5 + HEIGHT, motion))
    return scenery.bytes(), wanted


def boxes(grounds: Surfaces, bodies: Surfaces) -> tuple[bytes, Pairs]:
    """A sliding box of each kind on a patch of each ground."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 0.2, 1])
    motion: dict[str, object] = {"mass": 1.0, "linearVelocity": [SPEED, 0, 0]}
    wanted = _field(scenery, "friction", grounds, bodies, (box, 0.1, motion))
    return scenery.bytes(), wanted


def _field(
    scenery: Scenery,
    quantity: str,
    grounds: Surfaces,
    bodies: Surfaces,
    mover: tuple[int, float, dict[str, object]],
) -> Pairs:
    shape, above, motion = mover
    patch = scenery.shape("box", size=[20, 1, 3])
    ground_materials = [_material(scenery, quantity, ground) for ground in grounds]
    body_materials = [_material(scenery, quantity, body) for body in bodies]
    wanted: Pairs = {}
    for i, ground in enumerate(grounds):
        for j, body in enumerate(bodies):
            name, z = f"Mover{i}{j}", 4.0 * (i * len(bodies) + j)
            under = {"shape": patch, "material": ground_materials[i]}
            scenery.node(f"Patch{i}{j}", at=(8, -0.5, z), **under)
            scenery.node(
                name, at=(0, above, z), shape=shape, material=body_materials[j], motion=motion
            )
            wanted[name] = ground.against(body)
    return wanted


def _material(scenery: Scenery, quantity: str, surface: Surface) -> int:
    keys = ["restitution"]
    if quantity == "friction":
        keys = ["staticFriction", "dynamicFriction"]
    values: dict[str, object] = dict.fromkeys(keys, surface.value)
    if surface.mode is not None:
        values[f"{quantity}Combine"] = surface.mode.value
    return scenery.material(**values)


def bounces(scene: gb.Scene, names: Iterable[str], rate: float) -> Pairs:
    """Fastest rise of every body as it was at the ground, over the speed of its fall.

    Semi-implicit Euler of steps ``h`` keeps ``v^2 + 2 g y - g h v`` of what flies: the speed at the
    ground follows from that of any step.
    """
    bodies = {name: scene.bodies[name] for name in names}
    rise, fall = dict.fromkeys(bodies, 0.0), math.sqrt(2.0 * G * HEIGHT)
    lost = G / rate / scene.core.engine_steps(scene.core.session.settings())
    scene.step(int((math.sqrt(2.0 * HEIGHT / G) - scene.time) * rate) - 2)
    for _ in range(8):
        scene.step()
        for name, body in bodies.items():
            speed, above = float(body.linear_velocity[1]), float(body.center_of_mass[1]) - 0.5
            if speed > 0.0 and above > 0.0:
                kept = max(speed**2 + 2.0 * G * above - lost * speed, 0.0)
                speed = 0.5 * (math.sqrt(lost**2 + 4.0 * kept) + lost)
            rise[name] = max(rise[name], speed)
    return {name: speed / fall for name, speed in rise.items()}


def check_bounces(found: Pairs, wanted: Pairs) -> None:
    for name, restitution in wanted.items():
        # Where nothing bounces the ground pushes out as bare PyBullet does (measured 0.10).
        tolerance = 0.05 if restitution > 0.0 else 0.11
        assert found[name] == pytest.approx(restitution, abs=tolerance), (name, found, wanted)


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("modes", [ANY, MULTIPLY], ids=["any", "multiply"])
@pytest.mark.parametrize("seed", range(20))
def test_balls_of_random_materials_bounce_as_combined(
    seed: int, modes: Sequence[CombineMode | None], rate: float
) -> None:
    source, wanted = balls(*some(seed, modes))
    with world(source, rate=rate) as scene:
        assert not found_in(scene)
        check_bounces(bounces(scene, wanted, rate), wanted)


@pytest.mark.parametrize("ground", [0.0, pytest.param(0.5, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize("mode", ANY)
def test_more_materials_than_collision_classes_bounce_on_one_ground_as_combined(
    mode: CombineMode | None, ground: float
) -> None:
    """One ground leaves a factor free for each ball; what balls do to each other gives way."""
    kinds = [Surface(0.25 * k, own) for k in range(5) for own in ANY]
    source, wanted = balls([Surface(ground, mode)], kinds)
    with world(source) as scene:
        assert found_in(scene) == {"MATERIALS_APPROXIMATED"}
        check_bounces(bounces(scene, wanted, 240.0), wanted)


def test_balls_bounce_on_many_fixed_colliders_as_on_few() -> None:
    """From 65 on they are bodies of a kind whose restitution PyBullet does not tell."""
    grounds = [Surface(0.1 * k, CombineMode.MAXIMUM) for k in range(9)]
    kinds = [Surface(0.05 + 0.1 * k, CombineMode.MAXIMUM) for k in range(9)]
    source, wanted = balls(grounds, kinds)
    with world(source) as scene:
        assert not found_in(scene)
        check_bounces(bounces(scene, wanted, 240.0), wanted)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_random_materials_rub_as_combined(seed: int) -> None:
    check_friction(*boxes(*some(seed, ANY)))


def check_friction(source: bytes, wanted: Pairs) -> None:
    with world(source) as scene:
        assert not found_in(scene)
        bodies = {name: scene.bodies[name] for name in wanted}
        scene.step(24)
        before = {name: float(body.linear_velocity[0]) for name, body in bodies.items()}
        scene.step(48)
        for name, body in bodies.items():
            found = (before[name] - float(body.linear_velocity[0])) / (0.2 * G)
            assert found == pytest.approx(wanted[name], rel=0.02, abs=0.001), (name, wanted)


def test_ice_that_some_boxes_stick_to() -> None:
    """No product gives 0 for one box and 0.5 for the other while both rub elsewhere."""
    grounds = [Surface(0.0, CombineMode.MINIMUM), Surface(0.25, CombineMode.MULTIPLY)]
    check_friction(
        *boxes(grounds, [Surface(1.0, CombineMode.MULTIPLY), Surface(1.0, CombineMode.AVERAGE)])
    )


@pytest.mark.parametrize(
    ("grounds", "bodies"),
    [
        ((1.0,), (1.0, 0.5, 0.1)),
        ((1.0, 0.25), (1.0, 0.25)),
        ((1.0, 0.5, 0.1), (1.0, 0.5, 0.1)),
    ],
)
@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0, 240.0])
def test_products_bounce_as_such_and_never_higher_than_they_fell(
    grounds: tuple[float, ...], bodies: tuple[float, ...], rate: float
) -> None:
    """The engine is told less than the products, and what it is told are no products."""
    source, wanted = balls(
        *([Surface(e, CombineMode.MULTIPLY) for e in values] for values in (grounds, bodies))
    )
    with world(source, rate=rate) as scene:
        found = bounces(scene, wanted, rate)
    check_bounces(found, wanted)
    # What recovery from penetration adds depends on where within a step a ball lands: 0.02.
    assert max(found.values()) < 1.02


def test_products_follow_a_change_of_the_time_step() -> None:
    source, wanted = balls(*([Surface(e, CombineMode.MULTIPLY) for e in (1.0, 0.25)] for _ in "ab"))
    with world(source, rate=240.0) as scene:
        scene.step(1)
        pybullet.setTimeStep(1 / 60, physicsClientId=scene.client_id)
        scene.step(1)
        check_bounces(bounces(scene, wanted, 60.0), wanted)


def test_a_ground_without_bounce_beside_pairs_that_bounce_on_it() -> None:
    """No product gives 0 for one ball and 0.5 for the other while both balls bounce elsewhere."""
    grounds = [Surface(0.0), Surface(0.5)]
    source, wanted = balls(grounds, [Surface(1.0, CombineMode.MINIMUM), Surface(1.0)])
    with world(source) as scene:
        check_bounces(bounces(scene, wanted, 240.0), wanted)


def test_boxes_at_rest_stay_on_a_ground_without_bounce_that_others_bounce_on() -> None:
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 0.2, 1])
    bodies = [Surface(1.0, CombineMode.MINIMUM), Surface(1.0)]
    wanted = _field(
        scenery, "restitution", [Surface(0.0), Surface(0.5)], bodies, (box, 0.1, {"mass": 1.0})
    )
    with world(scenery.bytes()) as scene:
        before = {name: scene.world_from_node(name)[:3, 3].copy() for name in wanted}
        scene.step(480)
        for name, start in before.items():
            assert scene.world_from_node(name)[:3, 3] == pytest.approx(start, abs=1e-3), name


def test_a_ball_aimed_at_dull_boxes_does_not_fly_off_equal_boxes_of_another_scene() -> None:
    """The first scene's ball has a factor of some thousands, for boxes of next to none."""
    one, two = _ball_beside_dull_boxes(), _dull_box_among_lively_ones()
    with world(one) as first:
        second = gb.load_gltf(two, first.client_id, up_axis="y")
        fall = math.sqrt(2.0 * G * HEIGHT)
        highest = 0.0
        for _ in range(240):
            first.before_step()
            second.before_step()
            pybullet.stepSimulation(physicsClientId=first.client_id)
            first.after_step()
            second.after_step()
            highest = max(highest, float(first.bodies["Ball"].linear_velocity[1]))
    assert 0.0 < highest < fall


def _ball_beside_dull_boxes() -> bytes:
    scenery = Scenery()
    slab, ball = scenery.shape("box", size=[4, 1, 4]), scenery.shape("sphere", radius=0.5)
    lively = scenery.material(restitution=0.8)
    above = (0, 1.5 + HEIGHT, 0)
    scenery.node("Ball", at=above, shape=ball, material=lively, motion={"mass": 1.0})
    # The pairs of these with the ground and with each other are 0.
    for k in range(2):
        scenery.node(f"Dull{k}", at=(20, 0.5, 5 * k), shape=slab, motion={"mass": 1.0})
    scenery.node("Ground", at=(20, -0.5, 0), shape=scenery.shape("box", size=[9, 1, 20]))
    return scenery.bytes()


def _dull_box_among_lively_ones() -> bytes:
    scenery = Scenery()
    slab = scenery.shape("box", size=[4, 1, 4])
    scenery.node("Dull", at=(0, 0.5, 0), shape=slab, motion={"mass": 50.0})
    for k, friction in enumerate((0.1, 0.9)):
        # Averages of the frictions are no products: the box gets a class of its own.
        material = scenery.material(
            staticFriction=friction, dynamicFriction=friction, restitution=1.0
        )
        scenery.node(f"Ground{k}", at=(10 * k, -0.5, 0), shape=slab, material=material)
        scenery.node(
            f"Other{k}", at=(40 + 9 * k, 9, 0), shape=slab, material=material, motion={"mass": 1.0}
        )
    return scenery.bytes()


def test_ice_that_some_boxes_stick_to_does_not_hold_the_others_at_rest() -> None:
    """Friction at rest is a multiple of friction that slides, and of 0 there is none."""
    scenery = Scenery()
    slab, box = scenery.shape("box", size=[20, 1, 3]), scenery.shape("box", size=[1, 0.2, 1])
    # The ice is aimed at, as in the scene above: the second mover has 0.5 on it.
    grounds = [
        {"staticFriction": 0.4, "dynamicFriction": 0.0, "frictionCombine": "minimum"},
        {"staticFriction": 0.25, "dynamicFriction": 0.25, "frictionCombine": "multiply"},
    ]
    rough = {"staticFriction": 1.0, "dynamicFriction": 1.0}
    movers = [rough | {"frictionCombine": mode} for mode in ("multiply", "average")]
    slow = 0.02
    motion = {"mass": 1.0, "linearVelocity": [slow, 0, 0]}
    for i, ground in enumerate(grounds):
        scenery.node(
            f"Ground{i}", at=(0, -0.5, 9 * i), shape=slab, material=scenery.material(**ground)
        )
    for j, mover in enumerate(movers):
        material = scenery.material(**mover)
        for i in range(len(grounds)):
            at = (4.0 * j, 0.1, 9.0 * i)
            scenery.node(f"Mover{i}{j}", at=at, shape=box, material=material, motion=motion)
    with world(scenery.bytes()) as scene:
        scene.step(240)
        speed = {k: float(scene.bodies[f"Mover{k}"].linear_velocity[0]) for k in ("00", "01")}
    assert speed["00"] == pytest.approx(slow, rel=0.1)
    assert speed["01"] == pytest.approx(0.0, abs=1e-3)
