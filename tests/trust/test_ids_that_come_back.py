"""A body that others removed, whose id another one has: its scene says so, nobody suffers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
CALLS = {
    "node_matrices": lambda scene, _: scene.node_matrices,
    "step": lambda scene, _: scene.step(3),
    "before_step": lambda scene, _: scene.before_step(),
    "impulse": lambda _, body: body.apply_impulse([0.0, 0.0, 500.0]),
    "force": lambda _, body: body.apply_force([0.0, 0.0, 500.0]),
    "velocity": lambda _, body: body.linear_velocity,
    "save_state": lambda scene, _: scene.save_state(),
    "reset": lambda scene, _: scene.reset(),
}


def load(name: str, client: int) -> gb.Scene:
    return gb.load_gltf(ASSETS / f"{name}.gltf", client)


def taken(client: int, lost: gb.Scene, by: str) -> gb.Scene | None:
    """Remove every body of a scene behind its back, and give their ids to others."""
    ids = set(lost.core.world.body_ids)
    for body in sorted(ids, reverse=True):
        pybullet.removeBody(body, physicsClientId=client)
    if by != "others":
        return load(by, client)
    shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.5, physicsClientId=client)
    made = {pybullet.createMultiBody(1.0, shape, physicsClientId=client) for _ in ids}
    assert made & ids
    return None


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("by", ["others", "falling_box", "vehicle"])
@pytest.mark.parametrize("name", ["falling_box", "vehicle", "ragdoll"])
def test_a_scene_whose_ids_others_have_says_so(client: int, name: str, by: str, call: str) -> None:
    """It was a segmentation fault, a bare ``pybullet.error``, or moved the other scene's bodies."""
    scene = load(name, client)
    scene.step(2)
    body = next(b for b in scene.bodies.values() if b.kind.value == "dynamic")
    other = taken(client, scene, by)
    before = None if other is None else np.array(other.node_matrices)
    with pytest.raises(gb.WorldChangedError, match="was removed"):
        CALLS[call](scene, body)
    if other is not None:
        assert np.array_equal(other.node_matrices, before)
        for mover in other.bodies.values():
            assert abs(np.asarray(mover.linear_velocity)).max() < 50.0


@pytest.mark.parametrize("by", ["falling_box", "vehicle"])
def test_removing_what_is_left_of_a_scene_leaves_the_others(client: int, by: str) -> None:
    scene = load("falling_box", client)
    other = taken(client, scene, by)
    assert other is not None
    count = pybullet.getNumBodies(client)
    scene.remove()
    assert pybullet.getNumBodies(client) == count
    other.step(5)
    assert np.isfinite(other.node_matrices).all()


@pytest.mark.parametrize("name", ["falling_box", "vehicle", "ragdoll"])
@pytest.mark.parametrize("lost", ["falling_box", "vehicle", "ragdoll"])
def test_the_scene_that_has_the_ids_now_works(client: int, lost: str, name: str) -> None:
    kept = load(lost, client)
    taken(client, kept, "falling_box")
    scene = load(name, client)
    scene.step(3)
    state = scene.save_state()
    next(iter(scene.bodies.values())).apply_impulse([0.0, 0.0, 1.0])
    scene.step()
    scene.restore_state(state)
    scene.reset()
    assert np.isfinite(scene.node_matrices).all()


def test_no_mark_says_what_another_said(client: int) -> None:
    seen = set()
    for _ in range(5):
        scene = load("falling_box", client)
        body = scene.core.world.body_ids[-1]
        seen.add(scene.core.session.mark(body)[1])  # type: ignore[index]
        pybullet.removeBody(body, physicsClientId=client)
    assert len(seen) == 5
