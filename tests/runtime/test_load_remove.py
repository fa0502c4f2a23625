"""Loading and removing leaves a world as it was: bodies, constraints, and memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.bullet.world import created_world
from gltf_bullet.planning import scene_plan
from tests.physics.scenes import Scenery, world
from tools.bench.assets import bodies_gltf, grid
from tools.bench.memory import can_measure_growth, measure_growth

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.gltf")), ids=lambda path: path.stem)
def test_a_removed_scene_leaves_no_body_and_no_constraint(client: int, path: Path) -> None:
    own = pybullet.createMultiBody(1.0, physicsClientId=client)
    scene = gb.load_gltf(path, client)
    scene.step(3)
    assert pybullet.getNumBodies(client) > 1
    scene.remove()
    assert pybullet.getNumBodies(client) == 1
    assert pybullet.getNumConstraints(client) == 0
    assert pybullet.getBodyUniqueId(0, client) == own


def test_a_removed_scene_says_so(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    crate = scene.bodies["Crate"]
    scene.remove()
    scene.remove()
    for use in (
        scene.step,
        scene.render,
        lambda: crate.linear_velocity,
        lambda: crate.center_of_mass,
        lambda: scene.apply_impulse("Crate", (1, 0, 0)),
        lambda: scene.ray_cast((0, 0, 0), (0, 0, 1)),
    ):
        with pytest.raises(gb.SceneRemovedError, match="was removed"):
            use()


def test_scenes_are_removed_one_by_one(client: int) -> None:
    asset = gb.read_asset(ASSETS / "compound.gltf")
    scenes = [asset.instantiate(client, position=(2.0 * k, 0, 0)) for k in range(3)]
    alone = pybullet.getNumBodies(client) // 3
    scenes[1].remove()
    assert pybullet.getNumBodies(client) == 2 * alone
    scenes[0].before_step()
    scenes[2].before_step()
    pybullet.stepSimulation(client)
    scenes[0].after_step()
    scenes[2].after_step()
    again = asset.instantiate(client)
    assert pybullet.getNumBodies(client) == 3 * alone
    for scene in (scenes[0], scenes[2], again):
        scene.remove()
    assert pybullet.getNumBodies(client) == 0


def test_bodies_created_in_a_batch_are_removed_too(client: int) -> None:
    scene = gb.load_gltf(bodies_gltf("box", grid(100, 1.0)), client)
    body_ids = [body.body_id for body in scene.bodies.values()]
    scene.remove()
    for body_id in body_ids:
        with pytest.raises(pybullet.error):
            pybullet.getBasePositionAndOrientation(body_id, client)


def test_removing_after_a_reset_or_a_disconnection_is_harmless() -> None:
    with headless_world() as client:
        first = gb.load_gltf(ASSETS / "pendulum.gltf", client)
        pybullet.resetSimulation(client)
        first.remove()
        second = gb.load_gltf(ASSETS / "shape_zoo.gltf", client)
        second.step(10)
    second.remove()


@pytest.mark.slow
@pytest.mark.skipif(not can_measure_growth(), reason="asks glibc 2.33 or later")
def test_200_cycles_of_a_mesh_scene_cost_no_more_memory_than_bare_pybullet() -> None:
    """Bullet itself keeps about 0.87 KB per created and removed body (measured), we nothing."""
    cycles = 200
    own, bare = measure_growth(6, cycles)
    assert own.bodies_and_constraints == (0, 0)
    assert own.heap_kb <= bare.heap_kb + 0.1 * cycles
    assert own.python_blocks <= bare.python_blocks + 2 * cycles


def test_a_second_scene_makes_no_body_of_a_moment(client: int) -> None:
    """Body ids are given in sequence: a body between would be seen."""
    asset = gb.read_asset(ASSETS / "falling_box.gltf")
    first, second = asset.instantiate(client), asset.instantiate(client)
    ids = sorted(pybullet.getBodyUniqueId(k, client) for k in range(pybullet.getNumBodies(client)))
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    first.remove()
    second.step(3)
    second.remove()
    assert pybullet.getNumBodies(client) == 0


def test_a_scene_of_before_a_reset_removes_nobody_elses_bodies() -> None:
    """Body ids are used again after resetSimulation."""
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.5)
    for k in range(3):
        scenery.node(f"Ball{k}", at=(2 * k, 0, 0), shape=ball, motion={"mass": 1})
    with world(scenery.bytes()) as old:
        client = old.client_id
        pybullet.resetSimulation(physicsClientId=client)
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client
        )
        for k in range(3):
            pybullet.createMultiBody(1.0, shape, basePosition=[3 * k, 0, 0], physicsClientId=client)
        old.remove()
        assert pybullet.getNumBodies(physicsClientId=client) == 3
        new = gb.load_gltf(scenery.bytes(), client)
        new.remove()
        assert pybullet.getNumBodies(physicsClientId=client) == 3


@pytest.mark.parametrize("center", [[0, 0, 0], [0.03, 0.02, -0.01]])
def test_a_batch_has_its_own_bodies_where_ids_come_back_in_any_order(
    client: int, center: list[float]
) -> None:
    shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    strangers = [
        pybullet.createMultiBody(1.0, shape, basePosition=[k, -50, 0], physicsClientId=client)
        for k in range(40)
    ]
    for k in (3, 17, 8, 30, 21):
        pybullet.removeBody(strangers.pop(k), physicsClientId=client)
    kept = [
        pybullet.getBasePositionAndOrientation(body, physicsClientId=client) for body in strangers
    ]
    root = json.loads(bodies_gltf("box", grid(100, 1.0)))
    for node in root["nodes"]:
        motion = node["extensions"]["KHR_physics_rigid_bodies"].get("motion")
        if motion:
            motion["centerOfMass"] = center
    for _ in range(3):
        scene = gb.load_gltf(json.dumps(root).encode(), client, up_axis="y")
        found = [scene.world_from_node(f"Body{k}")[:3, 3] for k in range(100)]
        np.testing.assert_allclose(found, grid(100, 1.0), atol=1e-9)
        scene.remove()
    assert kept == [
        pybullet.getBasePositionAndOrientation(body, physicsClientId=client) for body in strangers
    ]


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.gltf")), ids=lambda path: path.stem)
def test_the_calls_around_a_step_may_come_twice_or_not_at_all(client: int, path: Path) -> None:
    scene = gb.load_gltf(path, client)
    scene.after_step()
    scene.step(2)
    scene.after_step()
    scene.after_step()
    scene.before_step()
    scene.before_step()
    pybullet.stepSimulation(client)
    pybullet.stepSimulation(client)
    scene.after_step()
    scene.step(2)
    assert np.isfinite(scene.node_matrices).all()


def test_a_file_without_nodes_makes_an_empty_scene(client: int) -> None:
    scene = gb.load_gltf(b'{"asset": {"version": "2.0"}}', client, position=(1.0, 2.0, 3.0))
    scene.step()
    assert not len(scene.bodies)
    assert not len(scene.nodes)


@pytest.mark.parametrize("orientation", [None, 5, [[0, 0], [0, 1]], (0, 0, 0, 0), (1, 0, 0), "up"])
def test_what_is_no_rotation_is_said(client: int, orientation: object) -> None:
    with pytest.raises(ValueError, match=r"orientation|could not convert"):
        gb.load_gltf(
            b'{"asset": {"version": "2.0"}}', client,
            orientation=orientation,  # type: ignore[arg-type]
        )  # fmt: skip


def test_options_are_load_options_or_none() -> None:
    """An empty dictionary was taken for the defaults."""
    data = b'{"asset": {"version": "2.0"}}'
    with headless_world() as client:
        for call in (
            lambda: gb.load_gltf(data, client, options={}),  # type: ignore[arg-type]
            lambda: gb.read_asset(data).instantiate(client, options={}),  # type: ignore[arg-type]
            lambda: gb.check(data, options={}),  # type: ignore[arg-type]
        ):
            with pytest.raises(TypeError, match="options is a dict; must be LoadOptions"):
                call()


def test_a_scene_that_only_plain_python_solves_says_so(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(created_world, "package_library", lambda: None)
    monkeypatch.setattr(created_world, "can_compile", lambda: False)
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    assert "SOLVER_NOT_COMPILED" in {issue.code for issue in scene.issues}


def test_more_bodies_than_are_allowed_are_refused_before_any_is_made(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene_plan, "WORLD_BODIES", 3)
    with pytest.raises(gb.GltfBulletError, match="4"):
        gb.load_gltf(bodies_gltf("box", grid(4, 1.0)), client)
    assert pybullet.getNumBodies(client) == 0
