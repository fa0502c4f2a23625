"""One of several scenes in a world goes back while the others go on."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.test_carried_colliders import Stage

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def advance(client: int, scenes: list[gb.Scene], steps: int) -> None:
    for _ in range(steps):
        for scene in scenes:
            scene.before_step()
        pybullet.stepSimulation(physicsClientId=client)
        for scene in scenes:
            scene.after_step()


@pytest.mark.parametrize("name", ["pendulum", "hinge_door", "ragdoll", "goal_line"])
def test_a_scene_goes_back_on_its_own_and_takes_the_same_way_again(name: str, client: int) -> None:
    asset = gb.read_asset(ASSETS / f"{name}.gltf")
    scenes = [asset.instantiate(client, position=(0.0, place, 0.0)) for place in (0.0, 20.0)]
    first, second = scenes
    start = first.save_state(own_bodies_only=True)
    before = first.node_matrices.copy()
    advance(client, scenes, 15)
    way, neighbour = first.node_matrices.copy(), second.node_matrices.copy()
    assert not np.allclose(way, before, atol=1e-3)

    first.restore_state(pickle.loads(pickle.dumps(start)))  # noqa: S301  # our own bytes
    assert np.allclose(first.node_matrices, before, atol=1e-12)
    assert (second.node_matrices == neighbour).all()
    assert first.time == 0.0
    advance(client, scenes, 15)
    # Contacts start cold, so resting bodies settle again.
    assert np.allclose(first.node_matrices, way, atol=1e-4)
    assert not np.allclose(second.node_matrices, neighbour, atol=1e-3)


def test_a_scene_goes_back_although_its_bodies_have_been_made_anew(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    start = scene.save_state(own_bodies_only=True)
    scene.apply_impulse("Cart", (1.0, 0.0, 0.0))
    scene.step(10)
    scene.set("/nodes/5/extensions/KHR_physics_rigid_bodies/motion/mass", 2.0)
    assert scene.bodies["Pole"].mass == 2.0
    scene.restore_state(start)
    assert scene.bodies["Pole"].mass == 0.1
    state = scene.joints["Slide"].degrees_of_freedom[0].state
    assert (state.position, state.velocity) == ((0.0,), (0.0,))


def test_a_scene_without_a_kept_start_says_so(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    scene.core.disable_reset()
    scene.step()
    with pytest.raises(RuntimeError, match="disabled"):
        scene.reset()


def growing_body() -> tuple[bytes, int]:
    """A body 1 m above the floor, one of whose colliders an animation moves away from it."""
    stage = Stage()
    arm = stage.node("Arm", translation=(0.6, 0, 0), collider=stage.box(0.3, 0.3, 0.3))
    body = stage.node(
        "Body", translation=(0, 1, 0), children=[arm], collider=stage.box(0.5, 0.5, 0.5),
        motion={"mass": 2.0},
    )  # fmt: skip
    stage.node("Floor", translation=(0, -0.5, 0), collider=stage.box(2, 1, 2))
    stage.moves(arm, "translation", [0, 2], [(0.6, 0, 0), (2.0, 0, 0)])
    return stage.glb(), body


def test_reset_goes_to_the_start_of_a_body_that_an_animation_makes_anew(client: int) -> None:
    content, body = growing_body()
    scene = gb.load_gltf(content, client)
    start = scene.node_matrices.copy()
    for _ in range(2):
        scene.step(60)
        assert scene.world_from_node(body)[2, 3] < 0.9
        scene.reset()
        assert scene.time == 0.0
        # The file's numbers are of single precision.
        assert scene.node_matrices == pytest.approx(start, abs=1e-6)


def test_reset_brings_no_body_to_the_place_of_another_one(client: int) -> None:
    """Making bodies anew changes their order in the engine, by which its snapshots know them."""
    content, body = growing_body()
    asset = gb.read_asset(content)
    places = (0.0, 10.0)
    growing = [asset.instantiate(client, position=(0.0, place, 0.0)) for place in places]
    other = gb.load_gltf(ASSETS / "ragdoll.gltf", client, position=(10.0, 0.0, 0.0))
    before = other.node_matrices.copy()
    for _ in range(2):
        advance(client, [growing[0], other, growing[1]], 50)
        for scene, place in zip(growing, places, strict=True):
            scene.reset()
            assert scene.time == 0.0
            assert scene.world_from_node(body)[:3, 3] == pytest.approx([0.0, place, 1.0], abs=1e-6)
        other.reset()
        assert other.node_matrices == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize("is_pickled", [False, True])
def test_a_world_goes_back_although_bodies_of_several_scenes_were_made_anew(
    client: int, is_pickled: bool
) -> None:
    """Those of the one that goes back, those of another one, and those that stayed."""
    asset = gb.read_asset(ASSETS / "falling_box.gltf")
    scenes = [asset.instantiate(client, position=(10.0 * k, 0.0, 0.0)) for k in range(3)]
    advance(client, scenes, 5)
    state = scenes[0].save_state()
    state = pickle.loads(pickle.dumps(state)) if is_pickled else state  # noqa: S301
    before = [world_of(scene) for scene in scenes]
    (node,) = scenes[0].core.world.plan.bodies.bodies
    for scene in scenes[:2]:
        scene.set(f"/nodes/{node}/scale", [1.2, 1.2, 1.2])
    advance(client, scenes, 10)
    scenes[0].restore_state(state)
    for scene, then in zip(scenes, before, strict=True):
        assert world_of(scene) == pytest.approx(then, abs=1e-6)


def world_of(scene: gb.Scene) -> list[float]:
    """Place of the scene's moving body [m]."""
    (node,) = scene.core.world.plan.bodies.bodies
    scene.core.refresh()
    return scene.world_from_node(node)[:3, 3].tolist()
