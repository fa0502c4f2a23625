"""Masses set on a running scene act as those of a file that states them, and the bodies stay."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pybullet
import pytest

from tests.physics.scenes import KHR, G, Scenery, world
from tests.runtime.test_snapshots import deterministic, in_another_process, run

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
MOTION = f"/nodes/{{}}/extensions/{KHR}/motion/"
MASSES = {
    "falling_box": (1, 31.7),
    "compound": (1, 0.9),  # tumbles about axes of different moments
    "bouncing_balls": (5, 0.3),
    "toy_blocks": (3, 0.7),
    "cart_pole": (5, 0.23),
    "hinge_door": (2, 4.1),
    "swing_up": (2, 2.6),
    "walker": (21, 3.3),  # stands on a floor
    "vehicle": (1, 700.0),  # floats, its wheels on soft limits
}
"""Node and its mass [kg] by example."""


def example(name: str, **stated: object) -> bytes:
    """An example, with motion properties other than its own."""
    document = json.loads((ASSETS / f"{name}.gltf").read_text())
    motion = document["nodes"][MASSES[name][0]]["extensions"][KHR]["motion"]
    motion.update(stated)
    return json.dumps(document).encode()


def balls() -> bytes:
    """Light and heavy in their own gravity: a floating slender body (0), a ball on a floor (1)."""
    scenery = Scenery()
    box = scenery.shape("box", size=[0.2, 0.4, 0.8])
    ball = scenery.shape("sphere", radius=0.25)
    slab = scenery.shape("box", size=[20, 1, 20])
    scenery.node(
        "Slender", at=(0, 3, 0), shape=box,
        motion={"mass": 2.0, "gravityFactor": 0.25, "angularVelocity": [3, 5, 1]},
    )  # fmt: skip
    scenery.node("Ball", at=(3, 0.24, 0), shape=ball, motion={"gravityFactor": 1.5})
    scenery.node("Floor", at=(0, -0.5, 0), shape=slab)
    return scenery.bytes()


@pytest.mark.parametrize("name", MASSES)
def test_a_mass_acts_as_one_that_the_file_states_to_the_bit(name: str) -> None:
    node, mass = MASSES[name]
    with world(example(name, mass=mass)) as scene:
        expected = run(deterministic(scene), 240)
    with world(ASSETS / f"{name}.gltf") as scene:
        engine = scene.core.world
        scene.set(MOTION.format(node) + "mass", mass)
        assert scene.core.world is engine
        body = scene.bodies[node]
        assert scene.get(MOTION.format(node) + "mass") == body.mass == mass
        told = pybullet.getDynamicsInfo(body.body_id, body.link_index, scene.client_id)
        assert told[0] == mass
        assert run(deterministic(scene), 240) == expected


def test_moments_act_as_those_that_the_file_states_to_the_bit() -> None:
    moments = [0.03, 0.05, 0.06]
    with world(example("compound", inertiaDiagonal=moments)) as scene:
        expected = run(deterministic(scene), 240)
    with world(ASSETS / "compound.gltf") as scene:
        engine = scene.core.world
        scene.set(MOTION.format(1) + "inertiaDiagonal", moments)
        assert scene.core.world is engine
        assert run(deterministic(scene), 240) == expected


def test_gravity_factors_lift_the_new_mass() -> None:
    with world(balls()) as scene:
        engine = scene.core.world
        for _ in range(4):
            scene.set(MOTION.format(0) + "mass", 2.0 * scene.bodies["Slender"].mass)
            scene.step(30)
        assert scene.core.world is engine
        fall = 0.5 * 0.25 * G * (120 / 240) ** 2 * (1 + 1 / 120)
        assert scene.world_from_node("Slender")[1, 3] == pytest.approx(3.0 - fall, abs=1e-6)


def test_gravity_of_the_file_pulls_on_the_new_mass() -> None:
    scenery = Scenery()
    ball = scenery.shape("sphere", radius=0.25)
    scenery.node("Ball", at=(0, 9, 0), shape=ball, motion={"mass": 1.0})
    document = json.loads(scenery.bytes())
    document["extensionsUsed"].append("OMI_physics_gravity")
    document["extensions"]["OMI_physics_gravity"] = {"gravity": 3.0, "direction": [0, -1, 0]}
    with world(json.dumps(document).encode()) as scene:
        scene.set(MOTION.format(0) + "mass", 50.0)
        scene.step(120)
        fall = 0.5 * 3.0 * (120 / 240) ** 2 * (1 + 1 / 120)
        assert scene.world_from_node("Ball")[1, 3] == pytest.approx(9.0 - fall, abs=1e-6)


def test_an_impulse_moves_the_new_mass() -> None:
    with world(balls()) as scene:
        scene.set(MOTION.format(0) + "angularVelocity", (0, 0, 0))
        scene.set(MOTION.format(0) + "mass", 8.0)
        scene.apply_impulse("Slender", (4.0, 0, 0), (0, 0, 0.5))
        assert scene.bodies["Slender"].linear_velocity[0] == pytest.approx(0.5)
        # m (a a + b b) / 12 of a box of 0.2 and 0.4 m.
        moment = 8.0 * (0.2**2 + 0.4**2) / 12
        assert scene.bodies["Slender"].angular_velocity[2] == pytest.approx(0.5 / moment)


def test_a_body_that_becomes_lopsided_is_made_anew() -> None:
    """Which bodies tumble is part of what a state remembers."""
    with world(balls()) as scene:
        scene.step(5)
        engine, place = scene.core.world, scene.world_from_node("Ball")
        scene.set(MOTION.format(1) + "inertiaDiagonal", (1.0, 2.0, 2.5))
        assert scene.core.world is not engine
        assert np.allclose(scene.world_from_node("Ball"), place, atol=1e-9)
        scene.step(5)


def test_a_body_held_by_an_animation_is_made_anew() -> None:
    with world(balls()) as scene:
        scene.core.world.kinematic_targets.choose((), (0,))
        engine = scene.core.world
        scene.set(MOTION.format(0) + "mass", 3.0)
        assert scene.core.world is not engine
        assert scene.bodies["Slender"].mass == 3.0


def test_a_loop_is_made_anew() -> None:
    with world(ASSETS / "four_bar.gltf") as scene:
        engine = scene.core.world
        scene.set(MOTION.format(2) + "mass", 3.0)
        assert scene.core.world is not engine
        assert scene.bodies[2].mass == 3.0


def test_a_mass_that_no_robot_has_is_made_in_another_way() -> None:
    with world(ASSETS / "cart_pole.gltf") as scene:
        engine = scene.core.world
        scene.set(MOTION.format(1) + "mass", 1e10)
        assert scene.core.world is not engine
        scene.step(10)


def test_a_refused_mass_changes_nothing() -> None:
    with world(ASSETS / "cart_pole.gltf") as scene:
        before = scene.core.model.now
        with pytest.raises(ValueError, match="mass"):
            scene.set(MOTION.format(1) + "mass", -1.0)
        assert scene.core.model.now is before
        assert scene.bodies["Cart"].mass == 1.0


@pytest.mark.parametrize("name", ["cart_pole", "walker", "toy_blocks", "compound"])
def test_a_state_brings_its_masses_back_and_replays_to_the_bit(name: str) -> None:
    node, mass = MASSES[name]
    with world(ASSETS / f"{name}.gltf") as scene:
        deterministic(scene).step(40)
        scene.set(MOTION.format(node) + "mass", mass)
        scene.step(40)
        engine, state = scene.core.world, scene.save_state()
        expected = run(scene, 200)
        scene.set(MOTION.format(node) + "mass", 2.5 * mass)
        scene.step(17)
        scene.restore_state(state)
        assert scene.bodies[node].mass == mass
        assert run(scene, 200) == expected
        assert scene.core.world is engine


@pytest.mark.parametrize("name", ["cart_pole", "toy_blocks"])
def test_a_pickled_state_brings_its_masses_to_another_process(tmp_path: Path, name: str) -> None:
    asset, (node, mass) = ASSETS / f"{name}.gltf", MASSES[name]
    with world(asset) as scene:
        deterministic(scene).step(40)
        scene.set(MOTION.format(node) + "mass", mass)
        scene.step(10)
        (tmp_path / "state").write_bytes(pickle.dumps(scene.save_state()))
        expected = run(scene, 200)
    program = f"""
with world(pathlib.Path({str(asset)!r})) as scene:
    deterministic(scene).restore_state(pickle.loads((folder / "state").read_bytes()))
    (folder / "trace").write_bytes(run(scene, 200))
"""
    assert in_another_process(program, tmp_path) == expected


def test_reset_gives_the_masses_of_the_first_step_back() -> None:
    with world(ASSETS / "cart_pole.gltf") as scene:
        deterministic(scene)
        expected = run(scene, 60)
        scene.set(MOTION.format(5) + "mass", 0.31)
        scene.step(20)
        scene.reset()
        assert scene.bodies["Pole"].mass == pytest.approx(0.1)
        assert run(scene, 60) == expected


def test_a_mass_changed_in_motion_keeps_places_and_velocities() -> None:
    with world(ASSETS / "hinge_door.gltf") as scene:
        scene.step(50)
        body = scene.bodies[2]
        before = scene.node_matrices.tobytes(), body.angular_velocity.tobytes()
        scene.set(MOTION.format(2) + "mass", 5.0)
        body = scene.bodies[2]
        assert (scene.node_matrices.tobytes(), body.angular_velocity.tobytes()) == before
        assert np.linalg.norm(body.angular_velocity) > 0.1
