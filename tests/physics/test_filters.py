"""Collision filters in the engine: many classes, foreign bodies, both filter modes, clean exits."""

from __future__ import annotations

import itertools

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.model import may_collide
from tests.physics.scenes import Scenery, world


def columns(count: int) -> bytes:
    """Ball k above slab k and slab k+1: it lands on its own system's slab, the lower of the two."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.25)
    slab = scenery.shape("box", size=[1, 0.2, 1])
    slabs = [scenery.entry("collisionFilters", collisionSystems=[f"s{k}"]) for k in range(count)]
    balls = [
        scenery.entry("collisionFilters", collisionSystems=[f"b{k}"], collideWithSystems=[f"s{k}"])
        for k in range(count)
    ]
    for k in range(count):
        x = 2.0 * k
        other = (k + 1) % count
        scenery.node(f"Own{k}", at=(x, -0.1, 0), shape=slab, collision_filter=slabs[k])
        scenery.node(f"Other{k}", at=(x, 1.0, 0), shape=slab, collision_filter=slabs[other])
        scenery.node(
            f"Ball{k}", at=(x, 2.0, 0), shape=ball, collision_filter=balls[k],
            motion={"mass": 1.0},
        )  # fmt: skip
    return scenery.bytes()


@pytest.mark.parametrize("mode", [1, 0], ids=["or", "and"])
@pytest.mark.parametrize("count", [3, 20])
def test_each_ball_meets_only_its_own_system(count: int, mode: int) -> None:
    """20 columns are 40 filter classes, more than Bullet has bits."""
    with world(columns(count)) as scene:
        pybullet.setPhysicsEngineParameter(
            collisionFilterMode=mode, physicsClientId=scene.client_id
        )
        scene.step(480)
        for k in range(count):
            assert scene.world_from_node(f"Ball{k}")[1, 3] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    "values",
    [{}, {"collisionSystems": ["a"]}, {"collisionSystems": ["a"], "collideWithSystems": ["a"]}],
    ids=["empty", "system", "own system"],
)
def test_a_filter_that_refuses_nobody_changes_nothing(values: dict[str, list[str]]) -> None:
    """Nor after the first step, when friction and restitution have been told."""
    scenery = Scenery()
    box = scenery.shape("box", size=[1, 1, 1])
    shared = scenery.entry("collisionFilters", **values)
    scenery.node("Floor", at=(0, -0.5, 0), shape=box, collision_filter=shared)
    scenery.node("Box", at=(0, 0.5, 0), shape=box, collision_filter=shared, motion={"mass": 1.0})
    with world(scenery.bytes()) as scene:
        for _ in range(2):
            scene.step(120)
            assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.5, abs=2e-3)
            [hit] = pybullet.rayTest([3, -0.5, 0], [-3, -0.5, 0], physicsClientId=scene.client_id)
            assert hit[3][0] == pytest.approx(0.5, abs=1e-3)
            scene.save_state()  # writes all bits anew


def test_contacts_are_exactly_the_pairs_of_the_predicate() -> None:
    """Eight overlapping balls with every kind of filter, in pairs far from each other."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.5)
    filters = [
        scenery.entry("collisionFilters", **values)
        for values in (
            {"collisionSystems": ["a"]},
            {"collisionSystems": ["b"], "collideWithSystems": ["a"]},
            {"collisionSystems": ["a", "b"], "notCollideWithSystems": ["b"]},
            {"collisionSystems": ["c"], "collideWithSystems": ["b", "c"]},
            {"collideWithSystems": ["a"]},
            {"collisionSystems": ["c"], "notCollideWithSystems": ["a", "b"]},
        )
    ]
    pairs = list(itertools.combinations_with_replacement(range(len(filters)), 2))
    for k, (i, j) in enumerate(pairs):
        for side, which in enumerate((i, j)):
            scenery.node(
                f"P{k}{'ab'[side]}", at=(4.0 * k + 0.9 * side, 0, 0), shape=ball,
                collision_filter=filters[which], motion={"mass": 1.0, "gravityFactor": 0.0},
            )  # fmt: skip
    with world(scenery.bytes()) as scene:
        table = scene.core.model.now.collision_filters
        scene.step(2)
        for k, (i, j) in enumerate(pairs):
            a, b = scene.bodies[f"P{k}a"].body_id, scene.bodies[f"P{k}b"].body_id
            touching = bool(pybullet.getContactPoints(a, b, physicsClientId=scene.client_id))
            assert touching == may_collide(table[i], table[j]), (i, j)


def test_foreign_bodies_collide_with_filtered_colliders_and_settings_stay() -> None:
    with world(columns(3)) as scene:
        client = scene.client_id
        before = pybullet.getPhysicsEngineParameters(client)
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.25, physicsClientId=client
        )
        foreign = pybullet.createMultiBody(
            1.0, shape, basePosition=[0, 2.6, 0], physicsClientId=client
        )
        scene.step(480)
        height = pybullet.getBasePositionAndOrientation(foreign, client)[0][1]
        # It lands on the upper slab, whose filter our own ball may not touch.
        assert height == pytest.approx(1.1 + 0.25, abs=0.01)
        assert pybullet.getPhysicsEngineParameters(client) == before


def test_bodies_that_reuse_our_ids_collide_as_usual_after_remove() -> None:
    """Pair rules outlive their bodies in PyBullet, and body ids are used again."""
    with world(columns(20)) as scene:
        client = scene.client_id
        scene.step(1)
        scene.remove()
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client
        )
        bodies = [
            pybullet.createMultiBody(
                1.0, shape, basePosition=[0.9 * k, 0, 0], physicsClientId=client
            )
            for k in range(60)
        ]
        pybullet.setGravity(0, 0, 0, physicsClientId=client)
        pybullet.stepSimulation(client)
        for a, b in itertools.pairwise(bodies):
            assert pybullet.getContactPoints(a, b, physicsClientId=client)


def test_two_scenes_in_one_world_obey_each_others_filters() -> None:
    """Systems are names: a ball of one scene falls through the slab of another that it excludes."""

    def part(name: str, system: str, height: float, **extra: object) -> bytes:
        scenery = Scenery()
        shape = scenery.shape("box", size=[1, 0.2, 1])
        chosen = scenery.entry("collisionFilters", collisionSystems=[system], **extra)
        motion = {"mass": 1.0} if height > 0 else None
        scenery.node(name, at=(0, height, 0), shape=shape, collision_filter=chosen, motion=motion)
        return scenery.bytes()

    with world(part("Ground", "ground", 0.0)) as ground:
        client = ground.client_id
        passes = part("Ghost", "ghost", 1.0, notCollideWithSystems=["ground"])
        ghost = gb.load_gltf(passes, client, up_axis="y")
        solid = gb.load_gltf(part("Solid", "solid", 1.0), client, up_axis="y", position=(0, 1, 0))
        for _ in range(240):
            for scene in (ground, ghost, solid):
                scene.before_step()
            pybullet.stepSimulation(client)
            for scene in (ground, ghost, solid):
                scene.after_step()
        assert ghost.world_from_node("Ghost")[1, 3] < -1.0
        assert solid.world_from_node("Solid")[1, 3] == pytest.approx(0.2, abs=0.01)
