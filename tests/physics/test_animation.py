"""Animated nodes carry bodies: platforms, walls, release, jumps, anchors, static colliders."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.physics.scenes import G, world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"


def platform(
    *, end: float, moves: str = "Platform", parent: bool = False, stepped: bool = False
) -> bytes:
    """A platform moving along x at 2 m/s for ``end`` seconds, and a box on it.

    ``stepped``: a STEP channel keeps its rotation.
    """
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes",
        {
            "shapes": [
                {"type": "box", "box": {"size": [4, 0.2, 2]}},
                {"type": "box", "box": {"size": [0.5, 0.5, 0.5]}},
            ]
        },
    )
    builder.root_extension(KHR, {"physicsMaterials": [{}]})
    body = {KHR: {"motion": {"mass": 100.0}, "collider": {"geometry": {"shape": 0}}}}
    static = {KHR: {"collider": {"geometry": {"shape": 0}}}}
    node = builder.node("Platform", extensions=static if moves == "Static" else body)
    target = node
    if parent:
        target = builder.node("Rig", children=[node])
    builder.node(
        "Box",
        translation=(0, 0.35, 0),
        extensions={
            KHR: {
                "motion": {"mass": 1.0, "linearVelocity": [2, 0, 0]},
                "collider": {"geometry": {"shape": 1}},
            }
        },
    )
    channels = [(target, "translation", [0.0, end], [(0, 0, 0), (2.0 * end, 0, 0)], "LINEAR")]
    if stepped:
        channels.append((target, "rotation", [0.0, end], [(0, 0, 0, 1)] * 2, "STEP"))
    builder.animation("Move", channels)
    return builder.glb()


@pytest.mark.parametrize("stepped", [False, True])
@pytest.mark.parametrize(
    ("moves", "parent"), [("Body", False), ("Static", False), ("Static", True)]
)
def test_a_box_rides_on_an_animated_platform_without_slip(
    moves: str, parent: bool, stepped: bool
) -> None:
    """Exporters write what stays as it is as STEP; the translation moves all the same."""
    with world(platform(end=2.0, moves=moves, parent=parent, stepped=stepped)) as scene:
        scene.step(240)
        assert scene.world_from_node("Platform")[0, 3] == pytest.approx(2.0, abs=1e-9)
        assert scene.world_from_node("Box")[0, 3] == pytest.approx(2.0, abs=5e-3)
        assert scene.world_from_node("Box")[1, 3] == pytest.approx(0.35, abs=5e-3)


def test_a_released_body_keeps_its_momentum_and_falls() -> None:
    with world(platform(end=1.0)) as scene:
        scene.animations[0].loop = False
        scene.step(240)
        height = scene.world_from_node("Platform")[1, 3]
        assert scene.bodies["Platform"].linear_velocity[0] == pytest.approx(2.0, rel=1e-6)
        steps = 120
        scene.step(steps)
        dt = 1 / 240
        fall = 0.5 * G * dt * dt * steps * (steps + 1)
        # One more step may pass before the end of the animation is noticed.
        dropped = height - scene.world_from_node("Platform")[1, 3]
        assert dropped == pytest.approx(fall, rel=0.02)
        assert scene.bodies["Platform"].linear_velocity[0] == pytest.approx(2.0, rel=1e-3)


def test_paused_and_sought_animations_hold_and_jump() -> None:
    with world(platform(end=2.0)) as scene:
        player = scene.animations["Move"]
        scene.step(24)
        player.pause()
        scene.step(24)
        held = scene.world_from_node("Platform")[0, 3]
        assert held == pytest.approx(2.0 * 24 / 240, abs=1e-9)
        player.seek(1.5)
        scene.step(1)
        assert scene.world_from_node("Platform")[0, 3] == pytest.approx(3.0, abs=1e-9)
        assert np.allclose(scene.bodies["Platform"].linear_velocity, 0.0)
        player.play()
        player.speed = 0.5
        scene.step(24)
        assert scene.world_from_node("Platform")[0, 3] == pytest.approx(3.1, abs=1e-9)


def test_an_animated_wall_pushes_a_stack() -> None:
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes",
        {
            "shapes": [
                {"type": "box", "box": {"size": [20, 1, 20]}},
                {"type": "box", "box": {"size": [0.2, 2, 2]}},
                {"type": "box", "box": {"size": [0.4, 0.4, 0.4]}},
            ]
        },
    )
    solid = {KHR: {"collider": {"geometry": {"shape": 0}}}}
    builder.node("Ground", translation=(0, -0.5, 0), extensions=solid)
    wall = builder.node(
        "Wall",
        translation=(-1, 1, 0),
        extensions={KHR: {"collider": {"geometry": {"shape": 1}}}},
    )
    for k in range(3):
        builder.node(
            f"Box{k}",
            translation=(0, 0.2 + 0.4 * k, 0),
            extensions={KHR: {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 2}}}},
        )
    builder.animation(
        "Push", [(wall, "translation", [0.0, 2.0], [(-1, 1, 0), (1, 1, 0)], "LINEAR")]
    )
    with world(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(480)
        face = 1.0 + 0.1
        for k in range(3):
            assert scene.world_from_node(f"Box{k}")[0, 3] > face + 0.19 - 0.02


def test_a_turning_platform_follows_its_track_exactly() -> None:
    """Rotation targets are reached through angular velocities, step by step without drift."""
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "box", "box": {"size": [2, 0.2, 2]}}]}
    )
    builder.root_extension(KHR, {"physicsMaterials": [{}]})
    node = builder.node(
        "Table",
        translation=(1, 2, 3),
        extensions={KHR: {"motion": {"isKinematic": True}, "collider": {"geometry": {"shape": 0}}}},
    )
    quarter = (0, math.sin(math.pi / 4), 0, math.cos(math.pi / 4))
    builder.animation("Turn", [(node, "rotation", [0.0, 1.0], [(0, 0, 0, 1), quarter], "LINEAR")])
    with world(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(120)
        angle = math.pi / 4
        expected = [
            [math.cos(angle), 0, math.sin(angle)],
            [0, 1, 0],
            [-math.sin(angle), 0, math.cos(angle)],
        ]
        assert np.allclose(scene.world_from_node("Table")[:3, :3], expected, atol=1e-6)
        assert np.allclose(scene.world_from_node("Table")[:3, 3], (1, 2, 3), atol=1e-9)
        spin = scene.bodies["Table"].angular_velocity
        assert np.allclose(spin, (0, math.pi / 2, 0), atol=1e-6)


def test_plain_nodes_follow_their_animation_without_physics() -> None:
    builder = GltfBuilder()
    child = builder.node("Child", translation=(1, 0, 0))
    node = builder.node("Spinner", children=[child])
    half = (0, 0, 1, 0)
    builder.animation("Spin", [(node, "rotation", [0.0, 1.0], [(0, 0, 0, 1), half], "LINEAR")])
    with world(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(120)
        assert np.allclose(scene.world_from_node("Child")[:3, 3], (0, 1, 0), atol=1e-6)


def test_plain_nodes_reach_the_last_key_when_the_animation_ends() -> None:
    builder = GltfBuilder()
    node = builder.node("Slider")
    builder.animation("Go", [(node, "translation", [0.0, 0.101], [(0, 0, 0), (1, 0, 0)], "LINEAR")])
    with world(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(60)
        assert scene.world_from_node("Slider")[0, 3] == pytest.approx(1.0, abs=1e-6)


def test_an_animated_body_with_a_joint_stays_kinematic_and_says_so() -> None:
    builder = GltfBuilder()
    builder.root_extension(
        KHR,
        {
            "physicsJoints": [
                {
                    "limits": [
                        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
                        {"angularAxes": [0, 1], "min": 0, "max": 0},
                    ]
                }
            ]
        },
    )
    body = {"motion": {"mass": 1.0, "inertiaDiagonal": [0.1, 0.1, 0.1]}}
    crank = builder.node("Crank", extensions={KHR: body})
    builder.node(
        "Bob",
        translation=(0, -1, 0),
        extensions={KHR: body},
        children=[
            builder.node(
                "Pin",
                translation=(0, 1, 0),
                extensions={KHR: {"joint": {"connectedNode": crank, "joint": 0}}},
            )
        ],
    )
    builder.animation(
        "Slide", [(crank, "translation", [0.0, 1.0], [(0, 0, 0), (2, 0, 0)], "LINEAR")]
    )
    with world(builder.glb()) as scene:
        assert {i.code for i in scene.issues} == {"ANIMATED_AND_JOINTED"}
        scene.animations[0].loop = False
        scene.step(120)
        assert scene.world_from_node("Crank")[0, 3] == pytest.approx(1.0, abs=1e-6)
        pin = scene.world_from_node("Pin")[:3, 3]
        assert np.allclose(pin, scene.world_from_node("Crank")[:3, 3], atol=2e-3)


@pytest.mark.parametrize("rig", [False, True])
@pytest.mark.parametrize("motion", [None, {"isKinematic": True}, {"mass": 1.0}])
def test_what_is_animated_begins_at_its_first_key_and_is_not_dragged_there(
    motion: dict[str, object] | None, rig: bool
) -> None:
    """The file shows it at rest beside a box, which a way of 3 m in one step would shoot off."""
    builder = GltfBuilder()
    builder.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]}
    )
    collider = {"collider": {"geometry": {"shape": 0}}}
    own = collider if motion is None else {**collider, "motion": motion}
    mover = builder.node("Mover", extensions={KHR: own})
    box = {**collider, "motion": {"mass": 1.0}}
    builder.node("Box", translation=(1, 0, 0), extensions={KHR: box})
    target = builder.node("Rig", children=[mover]) if rig else mover
    builder.animation(
        "Move", [(target, "translation", [0.0, 1.0], [(3, 0, 0), (3, 0, 1)], "LINEAR")]
    )
    is_led = not (rig and motion == {"mass": 1.0})  # below a rig it is let go where that begins
    with world(builder.glb(), gravity=0.0) as scene:
        assert np.allclose(scene.world_from_node("Mover")[:3, 3], (3, 0, 0))
        scene.step(24)
        assert np.allclose(scene.bodies["Box"].linear_velocity, 0.0, atol=1e-6)
        assert np.allclose(scene.world_from_node("Mover")[:3, 3], (3, 0, 0.1 * is_led), atol=1e-6)


@pytest.mark.parametrize("rate", [60.0, 240.0])
def test_a_led_body_keeps_up_with_the_free_one_above_it(rate: float) -> None:
    """A turret (0) that slides at 1 m/s on a body (1) that flies at 5 m/s and turns at 2 rad/s."""
    builder = GltfBuilder()
    turret = builder.node("Turret", extensions={KHR: {"motion": {"isKinematic": True}}})
    mount = builder.node("Mount", translation=(1, 0, 0), children=[turret])
    motion = {
        "mass": 10.0, "inertiaDiagonal": [1, 1, 1], "gravityFactor": 0.0,
        "linearVelocity": [5, 0, 0], "angularVelocity": [0, 2, 0],
    }  # fmt: skip
    builder.node("Body", children=[mount], extensions={KHR: {"motion": motion}})
    builder.root_extension(KHR, {})
    builder.animation("Slide", [(turret, "translation", [0.0, 1.0], [(0, 0, 0), (0, 1, 0)])])
    with world(builder.glb(), rate=rate) as scene:
        for step in range(1, int(rate / 2)):
            scene.step()
            np.testing.assert_allclose(
                scene.nodes[turret].translation, (0, step / rate, 0), atol=1e-6
            )
