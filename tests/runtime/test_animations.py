"""Players and animated properties: what they start from, and that states hold all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from tests.physics.scenes import G, world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
MOTION = f"/nodes/0/extensions/{KHR}/motion/"
MASS = MOTION + "mass"
STOPPED = gb.LoadOptions(play_animations=False)


def ball(field: str, times: Sequence[float], values: Any, interpolation: str = "LINEAR") -> bytes:
    """A ball with an animated property of its motion."""
    builder = GltfBuilder()
    shapes = [{"type": "sphere", "sphere": {"radius": 0.5}}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    physics = {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}
    builder.node("Ball", extensions={KHR: physics})
    builder.animation("Change", [(MOTION + field, "pointer", times, values, interpolation)])
    return builder.glb()


def doors() -> bytes:
    """A static collider, a trigger, a plain node and a kinematic body; all rise by 1 m in 1 s."""
    builder = GltfBuilder()
    shapes = [{"type": "box", "box": {"size": [1, 0.2, 1]}}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    solid = {"geometry": {"shape": 0}}
    kinds: dict[str, dict[str, object]] = {
        "Static": {"collider": solid},
        "Trigger": {"trigger": solid},
        "Plain": {},
        "Lift": {"motion": {"isKinematic": True}, "collider": solid},
    }
    channels = []
    for x, (name, physics) in enumerate(kinds.items()):
        node = builder.node(
            name, translation=(3.0 * x, 0, 0), extensions={KHR: physics} if physics else {}
        )
        channels.append((node, "translation", [0, 1], [(3.0 * x, 0, 0), (3.0 * x, 1, 0)]))
    builder.animation("Open", channels)
    return builder.glb()


def turntable(*, turns: float, lift: float) -> bytes:
    """A kinematic body that makes ``turns`` in a second, and a lift that has risen by then."""
    builder = GltfBuilder()
    shapes = [{"type": "box", "box": {"size": [1, 0.2, 1]}}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    physics = {"motion": {"isKinematic": True}, "collider": {"geometry": {"shape": 0}}}
    table = builder.node("Table", extensions={KHR: physics})
    platform = builder.node("Lift", translation=(5, 0, 0), extensions={KHR: physics})
    times = np.linspace(0.0, 1.0, 9)
    halves = np.pi * turns * times
    rotations = [(0.0, np.sin(half), 0.0, np.cos(half)) for half in halves]
    rise = [(5.0, lift * time, 0.0) for time in times]
    channels = [(table, "rotation", times, rotations), (platform, "translation", times, rise)]
    builder.animation("Spin", channels)
    return builder.glb()


def heights(scene: gb.Scene) -> list[float]:
    return [float(scene.world_from_node(node)[1, 3]) for node in range(4)]


def test_an_animated_value_acts_again_after_a_reset_a_restore_and_a_second_play() -> None:
    with world(ball("mass", [0, 1], [5, 5]), options=STOPPED) as scene:
        player, state = scene.animations["Change"], scene.save_state()
        player.play()
        scene.step()
        assert scene.get(MASS) == 5.0
        for back in (scene.reset, lambda: scene.restore_state(state)):
            back()
            assert scene.get(MASS) == 1.0
            player.play()
            scene.step()
            assert scene.get(MASS) == 5.0
        player.stop()
        scene.set(MASS, 2.0)
        scene.step()
        assert scene.get(MASS) == 2.0
        player.play()
        scene.step()
        assert scene.get(MASS) == 5.0


def test_animated_values_are_of_the_end_of_the_step() -> None:
    with world(ball("mass", [0, 1], [1, 3])) as scene:
        scene.step(60)
        assert scene.get(MASS) == pytest.approx(1.0 + 2.0 * scene.time, rel=1e-9)


def test_a_stopped_animation_overwrites_neither_what_was_set_nor_what_was_restored() -> None:
    with world(ball("mass", [0, 1], [1, 3]), options=STOPPED) as scene:
        player, state = scene.animations["Change"], scene.save_state()
        player.play()
        scene.step(60)
        player.stop()
        scene.set(MASS, 10.0)
        scene.step()
        assert scene.get(MASS) == 10.0
        player.play()
        scene.step(60)
        scene.restore_state(state)
        scene.step()
        assert scene.get(MASS) == 1.0


def test_a_restored_value_that_was_set_already_is_not_set_again() -> None:
    """A velocity is set once, and then the body slows down; a replay does not push it anew."""
    push = ball("linearVelocity", [0, 9], [(0, 4, 0), (0, 4, 0)], "STEP")
    with world(push) as scene:
        scene.step(24)
        state = scene.save_state()
        scene.step(24)
        expected = scene.node_matrices.copy()
        scene.restore_state(state)
        scene.step(24)
        assert np.array_equal(scene.node_matrices, expected)
        speed = scene.bodies["Ball"].linear_velocity[1]
        assert speed == pytest.approx(4 - G * 48 / 240, rel=0.01)


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_nodes_stand_where_they_stood_when_their_animation_is_over(how: str) -> None:
    with world(doors(), options=STOPPED) as scene, world(doors(), options=STOPPED) as fresh:
        player = scene.animations["Open"]
        player.loop = False
        player.play()
        scene.step(120 if how == "stopped" else 300)
        player.stop()
        scene.step()
        height = 0.5 if how == "stopped" else 1.0
        state = scene.save_state()
        player.seek(0.0)
        player.play()
        scene.step(60)
        for restored in (scene, fresh):
            restored.restore_state(state)
            assert heights(restored) == pytest.approx([height] * 4, abs=1e-9)
            restored.step(2)
            assert heights(restored) == pytest.approx([height] * 4, abs=1e-9)
            client = restored.client_id
            bodies = [pybullet.getBodyUniqueId(k, client) for k in range(2)]
            for body in bodies:
                at, _ = pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
                assert at[1] == pytest.approx(height, abs=1e-9)


@pytest.mark.parametrize("how", ["seek", "play"])
def test_a_jump_that_is_still_to_come_is_part_of_a_state(how: str) -> None:
    """The lift is put to 0.8 m in the next step without a velocity of (0.8 m / step)."""
    with world(doors(), options=STOPPED) as scene:
        player = scene.animations["Open"]
        if how == "seek":
            player.play()
            scene.step()
        player.seek(0.8)
        if how == "play":
            scene.step()
            player.play()
        state = scene.save_state()
        for _ in range(2):
            scene.step()
            assert heights(scene) == pytest.approx([0.8 + 1 / 240] * 4, abs=1e-9)
            assert not scene.bodies["Lift"].linear_velocity.any()
            scene.restore_state(state)


def test_a_reset_goes_to_the_start_also_where_an_animated_property_made_bodies_anew() -> None:
    moving = ball("centerOfMass", [0, 1], [(0, 0, 0), (0.2, 0, 0)])
    with world(moving) as scene:
        scene.step(24)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(-G * 0.1**2 / 2, rel=0.1)
        scene.reset()
        assert scene.time == 0.0
        assert scene.world_from_node("Ball")[:3, 3].tolist() == [0.0, 0.0, 0.0]
        scene.step(24)
        scene.set(MOTION + "centerOfMass", (0.0, 0.1, 0.0))
        scene.step(24)
        scene.reset()
        assert scene.time == pytest.approx(0.1)


def test_a_door_that_has_opened_closes_backwards() -> None:
    with world(doors(), options=STOPPED) as scene:
        player = scene.animations["Open"]
        player.loop = False
        player.play()
        scene.step(300)
        assert heights(scene) == pytest.approx([1.0] * 4, abs=1e-9)
        player.speed = -1.0
        player.play()
        scene.step(120)
        assert heights(scene) == pytest.approx([0.5] * 4, abs=1e-9)
        assert scene.bodies["Lift"].linear_velocity == pytest.approx([0.0, -1.0, 0.0], abs=1e-6)


@pytest.mark.parametrize(("speed", "first"), [(1.0, 0.0), (-1.0, 1.0)])
def test_play_begins_at_the_end_that_its_direction_comes_from(speed: float, first: float) -> None:
    with world(doors(), options=STOPPED) as scene:
        player = scene.animations["Open"]
        player.loop, player.speed = False, speed
        for _ in range(2):
            player.play()
            scene.step(60)
            assert player.time == pytest.approx(first + speed * 0.25)
            scene.step(240)
            assert not player.is_active
            assert player.time == 1.0 - first


@pytest.mark.parametrize("rate", [60.0, 77.0])
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_turntable_keeps_its_velocity_through_its_loops(rate: float, speed: float) -> None:
    """One turn: the last quaternion is minus the first."""
    with world(turntable(turns=1.0, lift=0.0), rate=rate) as scene:
        scene.animations["Spin"].speed = speed
        for _ in range(150):
            scene.step()
            spin = scene.bodies["Table"].angular_velocity
            assert spin == pytest.approx([0.0, 2 * np.pi * speed, 0.0], abs=1e-3)


def test_only_what_does_not_end_as_it_begins_jumps_back() -> None:
    with world(turntable(turns=1.0, lift=2.0), rate=60.0) as scene:
        rises = []
        for _ in range(90):
            scene.step()
            assert scene.bodies["Table"].angular_velocity[1] == pytest.approx(2 * np.pi, abs=1e-3)
            rises.append(scene.bodies["Lift"].linear_velocity[1])
        jumps = [rise for rise in rises if rise != pytest.approx(2.0, abs=1e-3)]
        assert jumps == [0.0]
    with world(turntable(turns=0.5, lift=0.0), rate=60.0) as scene:
        spins = []
        for _ in range(90):
            scene.step()
            spins.append(scene.bodies["Table"].angular_velocity[1])
        assert [spin for spin in spins if spin != pytest.approx(np.pi, abs=1e-3)] == [0.0]


def test_a_body_keeps_its_filter_when_its_animation_ends() -> None:
    """It goes on through what refuses it, while its like without a filter lands."""
    builder = GltfBuilder()
    sizes = [20, 1, 20], [1, 1, 1]
    shapes = [{"type": "box", "box": {"size": size}} for size in sizes]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    alone = {"collisionSystems": ["a"], "notCollideWithSystems": ["a"]}
    builder.root_extension(KHR, {"collisionFilters": [alone]})
    floor = {"geometry": {"shape": 0}, "collisionFilter": 0}
    builder.node("Floor", translation=(0, -0.5, 0), extensions={KHR: {"collider": floor}})
    channels = []
    for x, name, rule in ((0.0, "Loner", {"collisionFilter": 0}), (3.0, "Other", {})):
        solid = {"geometry": {"shape": 1}, **rule}
        node = builder.node(
            name, translation=(x, 2, 0), extensions={KHR: {"motion": {}, "collider": solid}}
        )
        channels.append((node, "translation", [0, 1], [(x, 2, 0), (x, 2, 0)]))
    builder.animation("Hang", channels)
    with world(builder.glb()) as scene:
        scene.step()
        scene.animations["Hang"].stop()
        scene.step(240)
        loner, other = (scene.world_from_node(name)[1, 3] for name in ("Loner", "Other"))
        assert loner == pytest.approx(2.0 - G / 2.0, abs=0.05)
        assert other == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("loop", [True, False])
@pytest.mark.parametrize("rate", [60, 240, 1000])
def test_an_animation_that_fills_the_time_shows_its_last_key(loop: bool, rate: int) -> None:
    options = gb.LoadOptions(loop_animations=loop)
    with world(doors(), options=options, rate=float(rate)) as scene:
        scene.step(rate)
        assert heights(scene) == pytest.approx([1.0] * 4, abs=1e-6)
        assert scene.animations[0].is_playing
        scene.step()
        ahead = 1.0 / rate if loop else 1.0
        assert heights(scene) == pytest.approx([ahead] * 4, abs=1e-6)
        assert scene.animations[0].is_playing is loop
