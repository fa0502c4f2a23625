"""Loading and removing leaves a world as it was: bodies, constraints, and memory."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.bare import BareBodies
from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.cli.bench_assets import bodies_gltf, grid, mesh_scene_gltf
from tests.physics.scenes import Scenery, world

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


@pytest.fixture
def client() -> Iterator[int]:
    with headless_world() as client_id:
        yield client_id


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


def resident_kb() -> float:
    return 4.0 * float(Path("/proc/self/statm").read_text().split()[1])


def own_growth(cycles: int, bodies: int) -> tuple[float, int, int]:
    """KB, bodies and constraints that are left after load/remove cycles; in a fresh process."""
    asset = gb.read_asset(mesh_scene_gltf(bodies - 1))
    with headless_world() as client:
        for _ in range(50):
            asset.instantiate(client).remove()
        gc.collect()
        before = resident_kb()
        for _ in range(cycles):
            asset.instantiate(client).remove()
        gc.collect()
        grown = resident_kb() - before
        return grown, pybullet.getNumBodies(client), pybullet.getNumConstraints(client)


def bare_growth(cycles: int, bodies: int) -> float:
    with headless_world() as client:
        bare = BareBodies(client)
        for _ in range(50):
            bare.cycle(bodies)
        gc.collect()
        before = resident_kb()
        for _ in range(cycles):
            bare.cycle(bodies)
        gc.collect()
        return resident_kb() - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_200_cycles_of_a_mesh_scene_cost_no_more_memory_than_bare_pybullet() -> None:
    """Bullet keeps about 0.85 KB per created and removed body itself (measured)."""
    cycles, bodies = 200, 6
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        grown, body_count, constraint_count = pool.submit(own_growth, cycles, bodies).result()
        # Checking whether the client is still the same world takes one body of a moment.
        bare = pool.submit(bare_growth, cycles, bodies + 1).result()
    assert (body_count, constraint_count) == (0, 0)
    assert grown <= bare + 1.0 * cycles + 500.0


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
