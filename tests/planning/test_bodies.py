"""Body plans: ownership, mass properties, collider groups; without an engine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import Box, Collider, Motion, PhysicsMaterial, PhysicsScene, Sphere
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import BodyPlans, plan_bodies
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP
from gltf_bullet.planning.mass_planner import (
    INERTIA_UNDEFINED,
    INFINITE_AS_LARGE,
    MASS_UNDEFINED,
    VELOCITY_LIMITED,
)
from gltf_bullet.planning.shapes.planner import ShapePlanner
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import matrices_from_quats

CUBE = Box(size=(1.0, 1.0, 1.0))


def plan(
    physics: PhysicsScene,
    diagnostics: Diagnostics,
    *,
    parents: list[int],
    translations: list[tuple[float, float, float]] | None = None,
    scales: list[tuple[float, float, float]] | None = None,
) -> BodyPlans:
    count = len(parents)
    tree = NodeTree.from_parents(
        names=[""] * count,
        parents=parents,
        translations=translations or [(0.0, 0.0, 0.0)] * count,
        rotations_xyzw=[(0.0, 0.0, 0.0, 1.0)] * count,
        scales=scales or [(1.0, 1.0, 1.0)] * count,
    )
    options = LoadOptions()
    return plan_bodies(
        physics,
        motion_node_of=physics.motion_node_of(tree),
        frames=NodeFrames.at_load(tree, np.eye(4), np.array([0.0, 0.0, 0.0, 1.0])),
        shapes=ShapePlanner(lambda _: None, options, diagnostics),
        density=options.density,
        diagnostics=diagnostics,
    )


def collider(node: int, shape: object = CUBE, material: PhysicsMaterial | None = None) -> Collider:
    return Collider(node=node, shape=shape, material=material)  # type: ignore[arg-type]


def test_mass_and_inertia_come_from_the_volume_at_1000_kg_per_cubic_metre(
    diagnostics: Diagnostics,
) -> None:
    physics = PhysicsScene(motions={0: Motion()}, colliders={0: collider(0)})
    found = plan(physics, diagnostics, parents=[-1], scales=[(1, 2, 3)]).bodies[0]
    assert found.mass == pytest.approx(6000.0)
    expected = [6000 / 12 * (4 + 9), 6000 / 12 * (1 + 9), 6000 / 12 * (1 + 4)]
    assert np.allclose(found.inertia_diagonal, expected)


def test_a_compound_has_the_centre_and_inertia_of_its_parts(diagnostics: Diagnostics) -> None:
    """Two unit cubes 2 m apart, by the parallel axis theorem."""
    physics = PhysicsScene(
        motions={0: Motion(mass=2.0)}, colliders={1: collider(1), 2: collider(2)}
    )
    found = plan(
        physics, diagnostics, parents=[-1, 0, 0], translations=[(0, 0, 0), (1, 0, 0), (3, 0, 0)]
    ).bodies[0]
    assert found.body_from_inertial.translation == pytest.approx((2.0, 0.0, 0.0))
    own = 1 / 6
    moments = sorted(found.inertia_diagonal)
    assert np.allclose(moments, sorted([2 * own, 2 * own + 2, 2 * own + 2]))


def test_a_stated_centre_is_scaled_by_the_node(diagnostics: Diagnostics) -> None:
    physics = PhysicsScene(motions={0: Motion(mass=1.0, center_of_mass=(1, 1, 1))})
    found = plan(physics, diagnostics, parents=[-1], scales=[(1, 2, 3)]).bodies[0]
    assert found.body_from_inertial.translation == pytest.approx((1.0, 2.0, 3.0))
    diagnostics.take(INERTIA_UNDEFINED)


def test_inertia_orientation_turns_the_inertial_frame(diagnostics: Diagnostics) -> None:
    turn = (0.0, 0.0, math.sin(0.3), math.cos(0.3))
    motion = Motion(mass=1.0, inertia_diagonal=(1, 2, 3), inertia_orientation_xyzw=turn)
    found = plan(PhysicsScene(motions={0: motion}), diagnostics, parents=[-1]).bodies[0]
    frame = matrices_from_quats(np.array(found.body_from_inertial.rotation_xyzw))
    tensor = frame @ np.diag(found.inertia_diagonal) @ frame.T
    rotation = matrices_from_quats(np.array(turn))
    assert np.allclose(tensor, rotation @ np.diag([1, 2, 3]) @ rotation.T)


def test_the_nearest_motion_owns_a_collider(diagnostics: Diagnostics) -> None:
    physics = PhysicsScene(
        motions={0: Motion(mass=1.0), 2: Motion(mass=1.0)},
        colliders={1: collider(1), 3: collider(3), 4: collider(4)},
    )
    found = plan(physics, diagnostics, parents=[-1, 0, 0, 2, -1])
    assert found.bodies[0].groups[0].collider_nodes == (1,)
    assert found.bodies[2].groups[0].collider_nodes == (3,)
    assert [static.node for static in found.statics] == [4]


def test_colliders_that_differ_in_material_get_links_of_their_own(
    diagnostics: Diagnostics,
) -> None:
    ice = PhysicsMaterial(dynamic_friction=0.1)
    physics = PhysicsScene(
        motions={0: Motion(mass=1.0)},
        colliders={1: collider(1), 2: collider(2, material=ice), 3: collider(3)},
    )
    groups = plan(physics, diagnostics, parents=[-1, 0, 0, 0]).bodies[0].groups
    assert sorted(group.collider_nodes for group in groups) == [(1, 3), (2,)]


def test_no_compound_has_more_than_sixteen_children(diagnostics: Diagnostics) -> None:
    """Bullet drops the seventeenth without a word."""
    nodes = range(1, 41)
    physics = PhysicsScene(
        motions={0: Motion(mass=1.0)},
        colliders={k: collider(k, Sphere(radius=0.1)) for k in nodes},
    )
    groups = plan(physics, diagnostics, parents=[-1] + [0] * 40).bodies[0].groups
    assert sorted(len(group.shapes) for group in groups) == [8, 16, 16]
    assert sorted(node for group in groups for node in group.collider_nodes) == list(nodes)


def test_a_body_without_mass_and_shapes_gets_one_kilogram_and_a_ball_of_half_a_metre(
    diagnostics: Diagnostics,
) -> None:
    found = plan(PhysicsScene(motions={0: Motion()}), diagnostics, parents=[-1]).bodies[0]
    assert found.mass == 1.0
    assert found.inertia_diagonal == pytest.approx((0.1, 0.1, 0.1))
    diagnostics.take(MASS_UNDEFINED)
    diagnostics.take(INERTIA_UNDEFINED)


def test_a_given_inertia_needs_no_mass(diagnostics: Diagnostics) -> None:
    motion = Motion(inertia_diagonal=(1.0, 2.0, 2.0))
    assert plan(PhysicsScene(motions={0: motion}), diagnostics, parents=[-1]).bodies[0].mass == 1.0
    diagnostics.take(MASS_UNDEFINED)


@pytest.mark.parametrize("stated", [1e10, 1e300])
def test_speeds_that_the_engine_does_not_keep_are_limited(
    stated: float, diagnostics: Diagnostics
) -> None:
    motion = Motion(
        mass=1.0, inertia_diagonal=(1, 1, 1), linear_velocity=(3 * stated, 0.0, -4 * stated)
    )
    found = plan(PhysicsScene(motions={0: motion}), diagnostics, parents=[-1]).bodies[0]
    assert found.linear_velocity == pytest.approx(
        (0.6 * VELOCITY_CLAMP, 0.0, -0.8 * VELOCITY_CLAMP)
    )
    assert diagnostics.take(VELOCITY_LIMITED).values["got"] == pytest.approx(5 * stated)


def test_infinite_components_are_a_billion_times_the_largest_finite_one(
    diagnostics: Diagnostics,
) -> None:
    motion = Motion(mass=4.0, inertia_diagonal=(2.0, math.inf, 3.0))
    found = plan(PhysicsScene(motions={0: motion}), diagnostics, parents=[-1]).bodies[0]
    assert found.inertia_diagonal == (2.0, 3.0e9, 3.0)
    diagnostics.take(INFINITE_AS_LARGE)
    balls = (1.0, 1.0, 1.0)
    heavy = PhysicsScene(
        motions={
            0: Motion(mass=math.inf, inertia_diagonal=balls),
            1: Motion(mass=7.0, inertia_diagonal=balls),
        }
    )
    assert plan(heavy, diagnostics, parents=[-1, -1]).bodies[0].mass == 7.0e9
    diagnostics.take(INFINITE_AS_LARGE)
