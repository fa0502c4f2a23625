"""What environments read of a scene is what the scene's own views say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.state import LinkState
from gltf_bullet.envs import StepContext, terms
from gltf_bullet.envs.sight import Sight
from tests.envs.assets import CART_POLE, FOLDER, REACHER, WALKER


@pytest.mark.parametrize("name", ["cart_pole", "reacher", "walker", "goal_line", "ragdoll"])
def test_places_and_velocities_are_those_of_nodes_and_bodies(client: int, name: str) -> None:
    scene = gb.load_gltf(
        FOLDER / f"{name}.gltf", physics_client=client, position=(1.0, -2.0, 0.5), scale=1.5
    )
    sight = Sight(scene)
    for _ in range(3):
        scene.step(20)
        sight.invalidate()
        for node in range(len(scene.nodes)):
            world_from_node = scene.world_from_node(node)
            assert sight.place(node) == pytest.approx(world_from_node[:3, 3], abs=1e-9)
            columns = world_from_node[:3, :3]
            axes = columns / np.linalg.norm(columns, axis=0)
            turn = sight.orientation(node)
            assert np.array(pybullet.getMatrixFromQuaternion(turn)) == pytest.approx(
                axes.ravel(), abs=1e-9
            )
            assert turn[3] >= 0.0
        for node, body in scene.bodies.items():
            assert sight.velocity(node) == pytest.approx(body.linear_velocity, abs=1e-9)
            assert sight.spin(node) == pytest.approx(body.angular_velocity, abs=1e-9)


def test_joints_are_read_in_the_order_that_was_asked_for(client: int) -> None:
    scene = gb.load_gltf(WALKER, physics_client=client)
    knee, hip = (scene.joints[name].node for name in ("FrontLeftKnee", "BackRightHip"))
    sight = Sight(scene, (knee, hip))
    scene.step(30)
    sight.invalidate()

    def state(joint: int | str) -> tuple[float, float]:
        (dof,) = scene.joints[joint].degrees_of_freedom
        return dof.state.position[0], dof.state.velocity[0]

    positions, velocities = sight.coordinates()
    assert (positions, velocities) == tuple(map(list, zip(state(knee), state(hip), strict=True)))
    # Another one that nobody observes.
    assert sight.joint("FrontRightHip") == state("FrontRightHip")[0]
    assert sight.joint("FrontRightHip", -1) == state("FrontRightHip")[0]
    assert sight.coordinates() == (positions, velocities)
    with pytest.raises(IndexError, match="degree of freedom 1"):
        sight.joint("FrontRightHip", 1)
    with pytest.raises(KeyError, match="Elbow"):
        sight.joint("Elbow")


def test_a_node_that_is_put_elsewhere_is_seen_there(client: int) -> None:
    scene = gb.load_gltf(REACHER, physics_client=client)
    sight = Sight(scene)
    assert sight.place("Goal") == pytest.approx((0.4, 0.5, 0.325), abs=1e-6)
    scene.set(f"/nodes/{scene.node('Goal').index}/translation", (0.2, 0.325, 0.1))
    sight.invalidate()
    # glTF's Y is Bullet's Z.
    assert sight.place("Goal") == pytest.approx((0.2, -0.1, 0.325), abs=1e-6)


def test_bodies_that_were_made_anew_are_seen(client: int) -> None:
    scene = gb.load_gltf(CART_POLE, physics_client=client)
    sight = Sight(scene, (scene.joints["Slide"].node,))
    before = sight.coordinates()
    scene.set("/extensions/KHR_implicit_shapes/shapes/2/box/size", (0.1, 1.0, 0.1))
    scene.step(10)
    sight.invalidate()
    assert sight.coordinates() != before or sight.coordinates()[0] == [0.0]
    assert sight.place("Pole") == pytest.approx(scene.world_from_node("Pole")[:3, 3], abs=1e-9)


def test_each_thing_is_read_once(client: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = gb.load_gltf(REACHER, physics_client=client)
    sight = Sight(scene)
    reads: list[int] = []

    def read(client_id: int, body: int, link: int) -> LinkState:
        reads.append(link)
        place = (0.0, 0.0, 0.0)
        return place, (0.0, 0.0, 0.0, 1.0), place, place

    monkeypatch.setattr("gltf_bullet.envs.sight.link_state", read)
    for _ in range(2):
        sight.invalidate()
        for _ in range(3):
            sight.place("Tip")
            sight.velocity("Forearm")
    assert len(reads) == 2


def test_terms_say_the_same_of_a_scene_and_of_what_is_seen(client: int) -> None:
    scene = gb.load_gltf(WALKER, physics_client=client)
    scene.apply_impulse("Torso", linear=(2.0, 0.0, 1.0))
    sight = Sight(scene)
    context = StepContext(
        action=np.array([0.5, -1.0]), events=(), step=1, duration=1 / 30, sight=sight,
        origin=(0.0, 0.0, 0.1),
    )  # fmt: skip
    heights = []
    for _ in range(3):
        scene.step(8)
        sight.invalidate()
        for term in (
            terms.Alive(weight=2.0),
            terms.ControlCost(weight=-2.0),
            terms.Height(node="Torso"),
            terms.Speed(body="Torso"),
            terms.Distance(node="Torso", target="Nose"),
            terms.Below(node="Torso", height=10.0),
            terms.JointOutside(joint="FrontLeftHip", low=1.0, high=2.0),
        ):
            assert term(scene, context) == pytest.approx(term.seen(sight, context))
        heights.append(terms.Height(node="Torso")(scene, context))
        assert heights[-1] == pytest.approx(scene.world_from_node("Torso")[2, 3] - 0.1)
        assert terms.Distance(node="Torso", target="Nose")(scene, context) == pytest.approx(-0.18)
        assert terms.ControlCost(weight=-2.0)(scene, context) == pytest.approx(-2.0 * 1.25)
    assert all(a != b for a, b in pairwise(heights))
