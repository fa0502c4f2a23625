"""Skinned, morphed and scaled colliders, at load and while they change; animated properties."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, Scenery, world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
CUBE = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip


def falling_ball(builder: GltfBuilder, height: float) -> None:
    builder.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "sphere", "sphere": {"radius": 0.25}}]}
    )
    builder.node(
        "Ball",
        translation=(0, height, 0),
        extensions={KHR: {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}},
    )


def hull_of_node(node: int) -> dict[str, object]:
    return {KHR: {"collider": {"geometry": {"node": node, "convexHull": True}}}}


def morphing_block(*, weights: list[float] | None, animate: bool) -> bytes:
    """A cube whose only morph target lifts its top by 1 m."""
    builder = GltfBuilder()
    lift = [(0, 1.0 if y > 0 else 0.0, 0) for _, y, _ in CUBE]
    mesh = builder.mesh(CUBE, FACES, targets=[lift])
    block = builder.node("Block", mesh=mesh, weights=weights, extensions=hull_of_node(0))
    falling_ball(builder, 4.0)
    if animate:
        builder.animation("Grow", [(block, "weights", [0.0, 1.0], [0.0, 1.0], "LINEAR")])
    return builder.glb()


def test_authored_morph_weights_shape_the_collider_at_load() -> None:
    with world(morphing_block(weights=[0.5], animate=False)) as scene:
        scene.step(390)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(0.5 + 0.5 + 0.25, abs=0.02)


def test_animated_morph_weights_lift_what_rests_on_the_collider() -> None:
    with world(morphing_block(weights=None, animate=True)) as scene:
        scene.animations[0].loop = False
        scene.step(480)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(0.5 + 1.0 + 0.25, abs=0.05)


def test_weights_by_pointer_reshape_the_collider() -> None:
    with world(morphing_block(weights=[0.0], animate=False)) as scene:
        scene.set("/nodes/0/weights", [1.0])
        assert np.allclose(scene.get("/nodes/0/weights"), [1.0])
        scene.step(360)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(1.75, abs=0.02)


def test_an_animated_scale_makes_the_collider_grow() -> None:
    builder = GltfBuilder()
    falling_ball(builder, 3.0)
    table = builder.node("Table", extensions={KHR: {"collider": {"geometry": {"shape": 0}}}})
    builder.animation("Grow", [(table, "scale", [0.0, 1.0], [(1, 1, 1), (4, 4, 4)], "LINEAR")])
    with world(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(250)
        assert scene.ray_cast((0.9, 0.1, 5), (0.9, 0.1, -5)).node == table
        assert scene.ray_cast((1.1, 0.1, 5), (1.1, 0.1, -5)) is None


def balls_and_boxes(boxes: int) -> bytes:
    """A ball of 0.25 m that falls beside boxes of 0.2 m, which turn as they do, on a floor."""
    scenery = Scenery()
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[100, 1, 100]))
    ball = scenery.shape("sphere", radius=0.25)
    scenery.node("Ball", at=(0, 2, 0), shape=ball, motion={"mass": 1})
    box = scenery.shape("box", size=[0.2, 0.2, 0.2])
    for k in range(boxes):
        motion = {"mass": 1, "angularVelocity": [1.0, 2.0, 3.0]}
        scenery.node(f"Box{k}", at=(1 + 0.5 * k, 1, 0), shape=box, motion=motion)
    return scenery.bytes()


RADIUS = "/extensions/KHR_implicit_shapes/shapes/1/sphere/radius"


@pytest.mark.parametrize("boxes", [3, 80])
def test_a_change_of_one_shape_makes_no_other_body_anew(
    boxes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 are made in a batch, 3 one by one; what goes on moves as in a scene without the change."""
    names = [f"Box{k}" for k in range(boxes)]
    with (
        world(balls_and_boxes(boxes)) as scene,
        world(balls_and_boxes(boxes)) as other,
    ):
        scene.step(60)
        other.step(60)
        create, made = pybullet.createMultiBody, list[object]()
        monkeypatch.setattr(
            pybullet,
            "createMultiBody",
            lambda *a, **named: made.append(named) or create(*a, **named),
        )
        for change in range(3):
            scene.set(RADIUS, 0.3 + 0.1 * change)
        assert len(made) == 3
        scene.step(30)  # they fall for 0.43 s
        other.step(30)
        for name in names:
            wanted = other.world_from_node(name)
            assert scene.world_from_node(name) == pytest.approx(wanted, abs=1e-12)
        scene.step(390)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(0.5, abs=5e-3)


def test_a_shape_that_the_engine_refuses_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old body had to go before the new one was refused: it is there again."""
    with world(balls_and_boxes(3)) as scene:
        scene.step(60)
        places = [scene.world_from_node(name).copy() for name in ("Ball", "Box0")]
        create, refusals = pybullet.createMultiBody, iter([True])

        def refuse(*arguments: object, **named: object) -> int:
            if next(refusals, False):
                raise pybullet.error("createMultiBody failed")
            return int(create(*arguments, **named))

        monkeypatch.setattr(pybullet, "createMultiBody", refuse)
        with pytest.raises(gb.EngineError):
            scene.set(RADIUS, 0.4)
        assert scene.get(RADIUS) == pytest.approx(0.25)
        for name, place in zip(("Ball", "Box0"), places, strict=True):
            assert scene.world_from_node(name) == pytest.approx(place, abs=1e-9)
        scene.step(420)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(0.25, abs=5e-3)


def test_a_saved_state_of_before_a_change_restores_who_went_on() -> None:
    """The model goes back with the state: the ball is of 0.25 m again, boxes move the same."""
    with world(balls_and_boxes(3)) as scene:
        scene.step(30)
        state = scene.save_state()
        scene.step(120)
        wanted = scene.world_from_node("Box1").copy()
        scene.set(RADIUS, 0.5)
        scene.step(10)
        scene.restore_state(state)
        assert scene.get(RADIUS) == pytest.approx(0.25)
        scene.step(120)
        assert scene.world_from_node("Box1") == pytest.approx(wanted, abs=1e-6)


def skinned_block(joint_height: float, *, animate: bool) -> bytes:
    """A cube wholly bound to one joint node, ``joint_height`` above its bind pose."""
    builder = GltfBuilder()
    attributes = {
        "JOINTS_0": np.zeros((8, 4), np.uint8),
        "WEIGHTS_0": np.tile(np.array([1, 0, 0, 0], np.float32), (8, 1)),
    }
    mesh = builder.mesh(CUBE, FACES, attributes=attributes)
    bone = builder.node("Bone", translation=(0, joint_height, 0))
    builder.node("Block", mesh=mesh, skin=builder.skin([bone]), extensions=hull_of_node(1))
    falling_ball(builder, 4.0)
    if animate:
        builder.animation(
            "Rise",
            [(bone, "translation", [0.0, 1.0], [(0, joint_height, 0), (0, joint_height + 1, 0)])],
        )
    return builder.glb()


def test_skin_joints_place_the_collider_at_load() -> None:
    with world(skinned_block(1.0, animate=False)) as scene:
        scene.step(360)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(1.0 + 0.5 + 0.25, abs=0.02)


def test_an_animated_skin_joint_lifts_the_collider() -> None:
    with world(skinned_block(0.0, animate=True)) as scene:
        scene.animations[0].loop = False
        scene.step(480)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(1.0 + 0.75, abs=0.05)


def test_an_animated_pointer_turns_gravity_off() -> None:
    """KHR_animation_pointer drives a physics property from the file."""
    builder = GltfBuilder()
    falling_ball(builder, 4.0)
    pointer = f"/nodes/0/extensions/{KHR}/motion/gravityFactor"
    builder.animation("Float", [(pointer, "pointer", [0.0, 0.5, 10.0], [1.0, 0.0, 0.0], "STEP")])
    with world(builder.glb()) as scene:
        scene.step(240)
        speed = scene.bodies["Ball"].linear_velocity[1]
        assert speed == pytest.approx(-G * 0.5, rel=0.02)
