"""KHR_physics_rigid_bodies, "Physics Materials" (000, 001)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.spec.files import KHR, G, Json, Khr, codes, loaded, node, slowing

MODES = ("average", "minimum", "maximum", "multiply")


def combined(a: float, b: float, first: str | None, second: str | None) -> float:
    """The text's rule: the strongest mode of the two, in its order."""
    modes = (first, second)
    mode = next((mode for mode in MODES if mode in modes), "average")
    return {"average": (a + b) / 2, "minimum": min(a, b), "maximum": max(a, b)}.get(mode, a * b)


def material(value: float, mode: str | None, key: str = "friction") -> Json:
    if key == "friction":
        values: Json = {"staticFriction": value, "dynamicFriction": value}
    else:
        values = {"restitution": value}
    return {**values, **({} if mode is None else {f"{key}Combine": mode})}


def sliding(khr: Khr, ground: Json | None, box: Json | None, speed: float = 6.0) -> bytes:
    """A flat box that slides along X on a slab."""
    materials = [each for each in (ground, box) if each is not None]

    def named(own: Json | None) -> Json:
        return {} if own is None else {"physicsMaterial": materials.index(own)}

    nodes = [
        node(
            {KHR: {"collider": {**khr.box(60, 1, 8), **named(ground)}}},
            translation=[25, -0.5, 0],
        ),
        node(
            {
                KHR: {
                    "motion": {"mass": 1, "linearVelocity": [speed, 0, 0]},
                    "collider": {**khr.box(0.6, 0.2, 0.6), **named(box)},
                }
            },
            translation=[0, 0.1, 0],
        ),
    ]
    return khr.file(nodes, **({"physicsMaterials": materials} if materials else {}))


@pytest.mark.parametrize("second", [*MODES, None])
@pytest.mark.parametrize("first", MODES)
def test_friction_is_combined_by_the_strongest_mode_of_the_two(
    first: str, second: str | None
) -> None:
    ground, box = material(0.3, first), material(0.8, second)
    with loaded(sliding(Khr("001"), ground, box)) as scene:
        wanted = combined(0.3, 0.8, first, second)
        assert slowing(scene, 1) == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize("second", [*MODES, None])
@pytest.mark.parametrize("first", MODES)
def test_restitution_is_combined_by_the_strongest_mode_of_the_two(
    first: str, second: str | None
) -> None:
    """A ball from 1 m above comes back to e^2 m."""
    khr = Khr("001")
    one, other = (material(v, m, "restitution") for v, m in ((0.5, first), (0.9, second)))
    nodes = [
        node(
            {KHR: {"collider": {**khr.box(9, 1, 9), "physicsMaterial": 0}}},
            translation=[0, -0.5, 0],
        ),
        node(
            {KHR: {"motion": {}, "collider": {**khr.ball(0.25), "physicsMaterial": 1}}},
            translation=[0, 1.25, 0],
        ),
    ]
    with loaded(khr.file(nodes, physicsMaterials=[one, other])) as scene:
        speeds = []
        for _ in range(240):
            scene.step()
            speeds.append(float(scene.bodies[1].linear_velocity[1]))
        bounce = max(speeds) / math.sqrt(2 * G)
        assert bounce == pytest.approx(combined(0.5, 0.9, first, second), abs=0.05)


def test_dynamic_friction_is_used_while_it_slides(khr: Khr) -> None:
    sticky = {"staticFriction": 0.9, "dynamicFriction": 0.3}
    with loaded(sliding(khr, sticky, sticky)) as scene:
        assert slowing(scene, 1) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(("push", "moves"), [(0.5, False), (0.7, True)])
def test_static_friction_is_used_when_the_velocity_is_close_to_zero(
    khr: Khr, push: float, moves: bool
) -> None:
    """0.6 at rest over 0.2 in motion: half its weight does not move it, 0.7 of it does."""
    sticky = {"staticFriction": 0.6, "dynamicFriction": 0.2}
    with loaded(sliding(khr, sticky, sticky, speed=0.0)) as scene:
        scene.step(60)
        start = scene.world_from_node(1)[0, 3]
        for _ in range(120):
            scene.bodies[1].apply_force((push * G, 0, 0))
            scene.step()
        assert (abs(scene.world_from_node(1)[0, 3] - start) > 0.05) == moves


def test_friction_is_coulombs(khr: Khr) -> None:
    """The braking does not depend on the mass: the same file with another one."""
    slowed = []
    for mass in (0.5, 8.0):
        same = material(0.4, None)
        with loaded(sliding(khr, same, same)) as scene:
            scene.set(f"/nodes/1/extensions/{KHR}/motion/mass", mass)
            slowed.append(slowing(scene, 1))
    assert slowed == pytest.approx([0.4, 0.4], abs=0.03)


def test_without_a_material_the_schemas_defaults_are_used(khr: Khr) -> None:
    with loaded(sliding(khr, None, None)) as scene:
        assert slowing(scene, 1) == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("mode", MODES)
def test_an_unstated_mode_has_no_opinion(mode: str) -> None:
    """The texts state no default; a published test pairs a bare material with these modes."""
    with loaded(sliding(Khr("001"), material(0.2, None), material(0.8, mode))) as scene:
        wanted = combined(0.2, 0.8, None, mode)
        assert slowing(scene, 1) == pytest.approx(wanted, abs=0.03)


def test_materials_are_shared_by_colliders(khr: Khr) -> None:
    same = material(0.5, None)
    content = sliding(khr, same, same)
    with loaded(content) as scene:
        scene.set(f"/extensions/{KHR}/physicsMaterials/0/dynamicFriction", 0.25)
        scene.set(f"/extensions/{KHR}/physicsMaterials/0/staticFriction", 0.25)
        assert slowing(scene, 1) == pytest.approx(0.25, abs=0.03)


def test_another_word_for_a_mode_is_named(khr: Khr) -> None:
    odd = {"staticFriction": 0.5, "frictionCombine": "sum"}
    assert "COMBINE_MODE_UNKNOWN" in codes(sliding(khr, odd, None))


def test_a_slope_holds_up_to_the_angle_of_static_friction(khr: Khr) -> None:
    """tan(25 degrees) = 0.466 < 0.5 holds, tan(30 degrees) = 0.577 slides."""
    for degrees, holds in ((25, True), (30, False)):
        half = math.radians(degrees) / 2
        turn = [0, 0, -math.sin(half), math.cos(half)]
        up = np.array([math.sin(2 * half), math.cos(2 * half), 0.0])
        nodes = [
            node(
                {KHR: {"collider": {**khr.box(20, 1, 4), "physicsMaterial": 0}}},
                translation=(-0.5 * up).tolist(), rotation=turn,
            ),
            node(
                {KHR: {
                    "motion": {"mass": 1},
                    "collider": {**khr.box(0.6, 0.2, 0.6), "physicsMaterial": 0},
                }},
                translation=(0.1 * up).tolist(), rotation=turn,
            ),
        ]  # fmt: skip
        same = {"staticFriction": 0.5, "dynamicFriction": 0.5}
        with loaded(khr.file(nodes, physicsMaterials=[same])) as scene:
            scene.step(240)
            gone = np.linalg.norm(scene.world_from_node(1)[:3, 3] - 0.1 * up)
            assert (gone < 0.05) == holds
