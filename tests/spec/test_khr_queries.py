"""KHR_physics_rigid_bodies, "Interaction with KHR_interactivity": impulses and rays (000, 001)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.spec.files import KHR, Khr, loaded, node


def test_apply_impulse_is_linear_and_angular_in_global_space(khr: Khr) -> None:
    """The node is turned; the impulses are not."""
    motion = {"mass": 2, "inertiaDiagonal": [1, 1, 1]}
    turned = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    nodes = [node({KHR: {"motion": motion, "collider": khr.ball(0.5)}}, rotation=turned)]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        scene.apply_impulse(0, (4, 0, 0), (0, 3, 0))
        assert scene.bodies[0].linear_velocity == pytest.approx((2, 0, 0))
        assert scene.bodies[0].angular_velocity == pytest.approx((0, 3, 0))


def test_apply_point_impulse_turns_by_its_lever(khr: Khr) -> None:
    motion = {"mass": 2, "inertiaDiagonal": [1, 1, 1]}
    nodes = [node({KHR: {"motion": motion, "collider": khr.ball(0.5)}}, translation=[1, 0, 0])]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        scene.apply_point_impulse(0, (0, 4, 0), (2, 0, 0))
        assert scene.bodies[0].linear_velocity == pytest.approx((0, 2, 0))
        assert scene.bodies[0].angular_velocity == pytest.approx((0, 0, 4))


def test_the_node_may_be_a_descendent_of_the_one_with_motion(khr: Khr) -> None:
    nodes = [
        node({KHR: {"motion": {"mass": 2}}}, children=[1]),
        node({KHR: {"collider": khr.ball(0.5)}}),
    ]
    with loaded(khr.file(nodes), gravity=0.0) as scene:
        scene.apply_impulse(1, (4, 0, 0), (0, 0, 0))
        assert scene.bodies[0].linear_velocity[0] == pytest.approx(2.0)


def test_of_several_colliders_a_ray_finds_the_closest_to_its_start(khr: Khr) -> None:
    nodes = [node({KHR: {"collider": khr.box(1, 1, 1)}}, translation=[x, 0, 0]) for x in (6, 2, 4)]
    with loaded(khr.file(nodes)) as scene:
        hit = scene.ray_cast((0, 0, 0), (10, 0, 0))
        assert hit is not None
        assert (hit.node, hit.fraction) == (1, pytest.approx(0.15))
        assert hit.normal == pytest.approx((-1, 0, 0), abs=1e-6)
        assert scene.ray_cast((0, 3, 0), (10, 3, 0)) is None


def test_a_ray_takes_a_collision_filter_by_its_index(khr: Khr) -> None:
    filters = [
        {"collisionSystems": ["a"]},
        {"collideWithSystems": ["b"]},
        {"collideWithSystems": ["a"]},
    ]
    collider = {**khr.box(1, 1, 1), "collisionFilter": 0}
    with loaded(khr.file([node({KHR: {"collider": collider}})], collisionFilters=filters)) as scene:
        start, end = (0, 5, 0), (0, -5, 0)
        assert scene.ray_cast(start, end) is not None
        assert scene.ray_cast(start, end, collision_filter=1) is None
        assert scene.ray_cast(start, end, collision_filter=2) is not None


def test_a_ray_passes_triggers(khr: Khr) -> None:
    with loaded(khr.file([node({KHR: {"trigger": khr.box(1, 1, 1)}})])) as scene:
        assert scene.ray_cast((0, 5, 0), (0, -5, 0)) is None
