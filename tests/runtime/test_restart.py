"""Going back to a start with some values changed makes the bodies anew at most once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.model import PhysicsScene
from gltf_bullet.runtime.step_program import StepProgram
from tests.physics.scenes import Scenery, bodies_in

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
MOTION = "/nodes/{}/extensions/KHR_physics_rigid_bodies/motion/{}"
POLE_MASS, CART_MASS = MOTION.format(5, "mass"), MOTION.format(1, "mass")
MATERIAL = "/extensions/KHR_physics_rigid_bodies/physicsMaterials/{}/{}"
FRICTION = MATERIAL.format(0, "dynamicFriction")
DRIVE = "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0/{}"


pytestmark = pytest.mark.world(deterministic=True)


def made_anew(scene: gb.Scene, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Receives an entry whenever the scene makes its bodies anew."""
    found: list[object] = []
    make = scene.core._remake

    def noted(physics: object, *rest: object, **more: bool) -> None:
        found.append(physics)
        make(physics, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(scene.core, "_remake", noted)
    return found


def test_masses_cost_no_bodies(client: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    start = scene.save_state()
    found = made_anew(scene, monkeypatch)
    for number in range(1, 4):
        scene.step(30)
        force = {DRIVE.format("maxForce"): 10.0 * number}  # in place as well
        scene.restart(start, {POLE_MASS: 0.1 * number, CART_MASS: 1.0 + number, **force})
        assert scene.bodies["Pole"].mass == pytest.approx(0.1 * number)
        assert scene.bodies["Cart"].mass == pytest.approx(1.0 + number)
        assert scene.joints["Slide"].drives[0].max_force == pytest.approx(10.0 * number)
        assert scene.time == 0.0
        assert scene.world_from_node("Pole")[:3, 3] == pytest.approx([0, 0, 1.22])
    scene.restart(start, {})
    assert scene.bodies["Pole"].mass == pytest.approx(0.1)
    assert scene.bodies["Cart"].mass == pytest.approx(1.0)
    assert not found


def test_several_values_cost_one_set_of_bodies(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    start = scene.save_state()
    found = made_anew(scene, monkeypatch)
    for number in range(1, 4):
        scene.step(30)
        low = (0.0, -0.01 * number, 0.0)
        centers = {MOTION.format(node, "centerOfMass"): low for node in (1, 5)}
        scene.restart(start, {**centers, CART_MASS: 1.0 + number})
        assert len(found) == number
        assert scene.get(MOTION.format(5, "centerOfMass")) == pytest.approx(low)
        assert scene.bodies["Cart"].mass == pytest.approx(1.0 + number)
        assert scene.time == 0.0
        assert scene.world_from_node("Pole")[:3, 3] == pytest.approx([0, 0, 1.22])
    scene.restart(start, {})
    assert scene.get(MOTION.format(5, "centerOfMass")) == pytest.approx((0.0, 0.0, 0.0))
    assert scene.bodies["Cart"].mass == pytest.approx(1.0)


def test_values_that_are_set_in_place_cost_none(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gb.load_gltf(ASSETS / "walker.gltf", client)
    start = scene.save_state()
    found = made_anew(scene, monkeypatch)
    bodies = bodies_in(client)
    for value in (0.3, 0.9):  # values between ask for links that the file's own do not
        scene.step(10)
        scene.restart(start, {FRICTION: value, DRIVE.format("maxForce"): 10 * value})
        assert scene.get(FRICTION) == pytest.approx(value)
        assert scene.joints["FrontLeftHip"].drives[0].max_force == pytest.approx(10 * value)
    assert not found
    assert bodies_in(client) == bodies


def test_materials_may_need_other_links_than_those_of_the_state(client: int) -> None:
    """Tips on default materials: 0.45 is served by one factor each, 0.9 and 1.0 are not."""
    scene = gb.load_gltf(ASSETS / "walker.gltf", client)
    start = scene.save_state()
    links = []
    for value in (0.45, 0.9, 0.5, None):
        scene.step(10)
        scene.restart(start, {} if value is None else {FRICTION: value})
        assert scene.get(FRICTION) == pytest.approx(1.0 if value is None else value)
        assert scene.time == 0.0
        links.append(sum(pybullet.getNumJoints(body, client) for body in bodies_in(client)))
    assert links[0] == links[2] < links[1] == links[3]


def test_materials_are_those_of_the_state_and_the_values_whatever_came_before(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are set for all values together, and those of an earlier episode cost no bodies."""
    scene = gb.load_gltf(slope(), client)
    start = scene.save_state()

    def course(**values: float) -> bytes:
        named = {MATERIAL.format(name[-1], name[:-1]): value for name, value in values.items()}
        scene.restart(start, named)
        places = [str([pybullet.getDynamicsInfo(k, -1, client)[1] for k in range(3)]).encode()]
        for _ in range(30):
            scene.step()
            places.append(scene.node_matrices.tobytes())
        return b"".join(places)

    changes: list[object] = []
    change = scene.core.world.change_materials

    def noted(physics: PhysicsScene) -> bool:
        changes.append(physics)
        return change(physics)

    own = course()
    first = course(dynamicFriction0=0.2, staticFriction0=0.3, dynamicFriction1=0.9)
    monkeypatch.setattr(scene.core.world, "change_materials", noted)
    found = made_anew(scene, monkeypatch)
    assert course(dynamicFriction0=0.7, staticFriction1=0.8) != first
    assert course(dynamicFriction0=0.2, staticFriction0=0.3, dynamicFriction1=0.9) == first
    assert len(changes) == 2
    assert course(dynamicFriction0=0.2, staticFriction0=0.3, dynamicFriction1=0.9) == first
    assert course() == own
    assert not found


def slope() -> bytes:
    """Two boxes on a floor: one slides, one rests."""
    scenery = Scenery()
    materials = [
        scenery.material(staticFriction=0.5, dynamicFriction=0.4, frictionCombine="multiply")
        for _ in range(2)
    ]
    box, floor = scenery.shape("box", size=[1, 0.4, 1]), scenery.shape("box", size=[40, 1, 40])
    scenery.node(
        "Box", at=(0, 0.2, 0), shape=box, material=materials[0],
        motion={"linearVelocity": [3, 0, 0]},
    )  # fmt: skip
    scenery.node("Still", at=(9, 0.2, 0), shape=box, material=materials[0], motion={})
    scenery.node("Floor", at=(0, -0.5, 0), shape=floor, material=materials[1])
    return scenery.bytes()


def test_an_episode_begins_in_kernels_unless_bodies_overlap(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gb.load_gltf(ASSETS / "walker.gltf", client)
    scene.core.disable_reset()
    start = scene.save_state()
    scene.restart(start, {})
    scene.step()
    by_python: list[object] = []
    make_one = StepProgram._make_one

    def noted(program: StepProgram, *rest: Any) -> None:
        by_python.append(program)
        make_one(program, *rest)

    monkeypatch.setattr(StepProgram, "_make_one", noted)
    for friction in (0.9, 0.95):
        scene.restart(start, {FRICTION: friction})
        scene.step()
    assert not by_python
    torso = f"/nodes/{scene.node('Torso').index}/translation"
    scene.set(torso, scene.get(torso) - (0, 0.3, 0))
    scene.step()
    assert by_python


def test_a_free_body_starts_with_the_velocity_that_it_is_given(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    start = scene.save_state()
    found = made_anew(scene, monkeypatch)
    crate = scene.node("Crate").index
    for speed in (1.0, 2.0):
        scene.step(10)
        scene.restart(start, {MOTION.format(crate, "linearVelocity"): (speed, 0.0, 0.0)})
        # In the node's axes, which are turned.
        moving = np.linalg.norm(scene.bodies["Crate"].linear_velocity)
        assert moving == pytest.approx(speed, abs=1e-6)
    assert not found


def test_a_restart_is_a_new_scene_with_those_values_to_the_bit(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    start = scene.save_state()

    def course() -> bytes:
        scene.restart(start, {POLE_MASS: 0.3, DRIVE.format("velocityTarget"): 1.0})
        scene.apply_impulse("Pole", angular=(0.0, 0.01, 0.0))
        places = []
        for _ in range(60):
            scene.step()
            places.append(scene.node_matrices.tobytes())
        return b"".join(places)

    first = course()
    scene.restart(start, {CART_MASS: 5.0})
    scene.step(17)
    assert course() == first
    place = scene.world_from_node("Pole")[:3, 3]
    other = gb.load_gltf(ASSETS / "cart_pole.gltf", client, position=(0, 20, 0))
    other.set(POLE_MASS, 0.3)
    other.set(DRIVE.format("velocityTarget"), 1.0)
    other.apply_impulse("Pole", angular=(0.0, 0.01, 0.0))
    other.step(60)
    moved = other.world_from_node("Pole")[:3, 3] - (0, 20, 0)
    assert moved == pytest.approx(place, abs=1e-6)


def test_a_scaled_static_collider_is_as_before_again(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    start = scene.save_state()
    floor = scene.node("Floor").index
    scene.restart(start, {f"/nodes/{floor}/scale": (1.0, 3.0, 1.0)})
    top = scene.ray_cast((3, 3, 9), (3, 3, -9))
    scene.restart(start, {})
    again = scene.ray_cast((3, 3, 9), (3, 3, -9))
    assert top is not None
    assert again is not None
    # The floor is a box of 1 m whose node is at -0.5 m: three times as high it reaches up to 1 m.
    assert top.position[2] == pytest.approx(1.0, abs=1e-3)
    assert again.position[2] == pytest.approx(0.0, abs=1e-3)


def test_a_node_that_was_moved_on_its_body_is_back(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "walker.gltf", client)
    start = scene.save_state()
    nose = scene.node("Nose").index
    before = scene.node(nose).local_matrix
    scene.restart(start, {f"/nodes/{nose}/translation": (0.5, 0.0, 0.0)})
    scene.step()
    assert scene.node(nose).local_matrix[0, 3] == pytest.approx(0.5)
    scene.restart(start, {})
    scene.step()
    assert np.allclose(scene.node(nose).local_matrix, before, atol=1e-9)


@pytest.mark.parametrize(
    ("pointer", "value", "error"),
    [
        (POLE_MASS, -1.0, ValueError),
        (POLE_MASS, "heavy", TypeError),
        ("/nodes/99/translation", (0, 0, 0), KeyError),
        ("/nowhere", 1.0, KeyError),
    ],
)
def test_wrong_values_are_refused(
    client: int, pointer: str, value: object, error: type[Exception]
) -> None:
    scene = gb.load_gltf(ASSETS / "cart_pole.gltf", client)
    start = scene.save_state()
    with pytest.raises(error, match=pointer.replace("/", ".")):
        scene.restart(start, {pointer: value})
    scene.step()
