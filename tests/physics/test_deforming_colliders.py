"""Static colliders that morph targets and skins deform carry what lies on them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
CUBE = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip
SPEED, WAIT, END = 0.5, 0.25, 1.5
SIZE = 0.4
"""[m] of the box that is carried."""


def box(builder: GltfBuilder, at: Sequence[float]) -> None:
    shape = {"type": "box", "box": {"size": [SIZE] * 3}}
    builder.root_extension("KHR_implicit_shapes", {"shapes": [shape]})
    physics = {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}
    builder.node("Box", translation=tuple(at), extensions={KHR: physics})


def collider(node: int, *, hull: bool) -> dict[str, object]:
    return {KHR: {"collider": {"geometry": {"node": node, "convexHull": hull}}}}


def morphing(*, hull: bool, lift: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> bytes:
    """A cube whose top moves by ``lift`` a second times ``SPEED``; its bottom stays."""
    builder = GltfBuilder()
    target = [lift if y > 0 else (0.0, 0.0, 0.0) for _, y, _ in CUBE]
    mesh = builder.mesh(CUBE, FACES, targets=[target])
    block = builder.node("Block", mesh=mesh, weights=[0.0], extensions=collider(0, hull=hull))
    weights = [0.0, 0.0, SPEED * (END - WAIT)]
    builder.animation("Rise", [(block, "weights", [0.0, WAIT, END], weights, "LINEAR")])
    box(builder, (0.1, 0.5 + SIZE / 2, 0.1))
    return builder.glb()


def skinned(*, hull: bool) -> bytes:
    """A cube whose bottom hangs on one joint and whose top on another, which rises."""
    builder = GltfBuilder()
    joints = np.array([[int(y > 0), 0, 0, 0] for _, y, _ in CUBE], np.uint8)
    attributes = {
        "JOINTS_0": joints,
        "WEIGHTS_0": np.tile(np.array([1, 0, 0, 0], np.float32), (8, 1)),
    }
    mesh = builder.mesh(CUBE, FACES, attributes=attributes)
    foot, head = builder.node("Foot"), builder.node("Head")
    skin = builder.skin([foot, head])
    builder.node("Block", mesh=mesh, skin=skin, extensions=collider(2, hull=hull))
    places = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, SPEED * (END - WAIT), 0.0)]
    builder.animation("Rise", [(head, "translation", [0.0, WAIT, END], places, "LINEAR")])
    box(builder, (0.1, 0.5 + SIZE / 2, 0.1))
    return builder.glb()


@pytest.mark.parametrize(
    ("rate", "within"),
    [(60, 0.010), (120, 0.005), pytest.param(240, 0.002, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("hull", [True, False])
@pytest.mark.parametrize("make", [morphing, skinned])
def test_a_rising_collider_carries_a_box(
    make: object, hull: bool, rate: int, within: float
) -> None:
    """The box stands on the surface at every step, in its place, and its body stays the same."""
    with world(make(hull=hull), rate=rate) as scene:  # type: ignore[operator]
        body = scene.bodies["Box"].body_id
        scene.animations[0].loop = False
        for step in range(1, int(END * rate) - 1):
            scene.step()
            top = 0.5 + SPEED * max(0.0, step / rate - WAIT)
            assert scene.world_from_node("Box")[1, 3] - SIZE / 2 == pytest.approx(top, abs=within)
        x, _, z = scene.world_from_node("Box")[:3, 3]
        assert (x, z) == pytest.approx((0.1, 0.1), abs=5e-3)
        assert scene.bodies["Box"].body_id == body
        assert scene.body_of("Box").body_id == body


def test_a_sheared_top_takes_a_box_along() -> None:
    """A surface that moves along itself carries by friction: a belt without wheels."""
    with world(morphing(hull=True, lift=(1.0, 0.0, 0.0)), rate=240) as scene:
        scene.animations[0].loop = False
        scene.step(int(END * 240) - 1)
        # Friction 1 speeds the box up to SPEED within SPEED / G seconds.
        late = 0.5 * SPEED * SPEED / G
        way = SPEED * (END - WAIT) - late
        assert scene.world_from_node("Box")[0, 3] - 0.1 == pytest.approx(way, rel=0.02)


def test_a_replay_across_changes_of_the_shape_is_the_same_to_the_bit() -> None:
    with world(morphing(hull=True), rate=240) as scene:
        scene.step(150)
        state = pickle.loads(pickle.dumps(scene.save_state()))  # noqa: S301  # our own
        found = []
        for _ in range(2):
            scene.restore_state(state)
            scene.step(100)
            found.append(scene.world_from_node("Box"))
            scene.step(60)
        assert (found[0] == found[1]).all()
        scene.reset()
        assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.5 + SIZE / 2)
        scene.step(30)
        assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.5 + SIZE / 2, abs=2e-3)


@pytest.mark.slow
def test_two_scenes_with_deforming_colliders_stand_side_by_side() -> None:
    """Bodies are made anew by turns; rays and contacts find the right one all the time."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0.0, 0.0, -G, physicsClientId=client)
        places = (0.0, 3.0)
        scenes = [
            gb.load_gltf(morphing(hull=True), client, position=(place, 0.0, 0.0))
            for place in places
        ]
        for _ in range(300):
            for scene in scenes:
                scene.before_step()
            pybullet.stepSimulation(physicsClientId=client)
            for scene in scenes:
                scene.after_step()
        top = 0.5 + SPEED * (300 / 240 - WAIT)
        for place, scene in zip(places, scenes, strict=True):
            hit = scene.ray_cast((place - 0.4, 0.4, 5.0), (place - 0.4, 0.4, -5.0))
            assert hit is not None
            assert hit.node == 0
            assert hit.position[2] == pytest.approx(top, abs=0.01)
            assert scene.world_from_node("Box")[2, 3] == pytest.approx(top + SIZE / 2, abs=2e-3)
        bodies = pybullet.getNumBodies(physicsClientId=client)
        scenes[0].remove()
        assert pybullet.getNumBodies(physicsClientId=client) == bodies // 2
    finally:
        pybullet.disconnect(client)


def test_a_collider_that_deforms_keeps_its_restitution() -> None:
    """A ball lands on a top that has risen and stands still: it bounces by ``e^2`` of its fall."""
    restitution, radius, top, fall = 0.9, 0.2, 1.1, 1.4
    rest = top + radius
    builder = GltfBuilder()
    shape = {"type": "sphere", "sphere": {"radius": radius}}
    builder.root_extension("KHR_implicit_shapes", {"shapes": [shape]})
    builder.root_extension(KHR, {"physicsMaterials": [{"restitution": restitution}]})
    target = [(0.0, float(y > 0), 0.0) for _, y, _ in CUBE]
    mesh = builder.mesh(CUBE, FACES, targets=[target])
    hull = {"geometry": {"node": 0, "convexHull": True}, "physicsMaterial": 0}
    block = builder.node("Block", mesh=mesh, weights=[0.0], extensions={KHR: {"collider": hull}})
    # The fall takes 0.53 s.
    rise = (block, "weights", [0.0, 0.1, 0.3, 9.0], [0.0, 0.0, top - 0.5, top - 0.5], "LINEAR")
    builder.animation("Rise", [rise])
    collider = {"geometry": {"shape": 0}, "physicsMaterial": 0}
    physics = {"motion": {"mass": 1}, "collider": collider}
    builder.node("Ball", translation=(0.0, rest + fall, 0.0), extensions={KHR: physics})
    with world(builder.glb()) as scene:
        heights = []
        for _ in range(300):
            scene.step()
            heights.append(scene.world_from_node("Ball")[1, 3] - rest)
    landed = int(np.argmin(heights[:180]))
    # It sinks in by what it falls in a step or two.
    assert heights[landed] == pytest.approx(0.0, abs=2.0 * np.sqrt(2.0 * G * fall) / 240.0)
    assert np.sqrt(max(heights[landed:]) / fall) == pytest.approx(restitution, abs=0.02)


@pytest.mark.parametrize("hull", [True, False])
def test_a_restored_block_has_its_shape_when_its_animation_does_not_play(hull: bool) -> None:
    """The box lies on the block of 1 m before it has risen, and stays."""
    stopped = gb.LoadOptions(play_animations=False)
    with world(morphing(hull=hull), options=stopped) as scene:
        player, state = scene.animations[0], scene.save_state()
        player.loop = False
        player.play()
        scene.step(300)
        assert scene.get("/nodes/0/weights") == pytest.approx([SPEED * (300 / 240 - WAIT)])
        scene.restore_state(state)
        assert scene.get("/nodes/0/weights") == [0.0]
        scene.step(60)
        assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.5 + SIZE / 2, abs=2e-3)
