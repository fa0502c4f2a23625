"""Copies of a robot in one world: alike to the bit, and each one its user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.bodies.multibody_text import JointFacts, MultibodyNames
from gltf_bullet.bullet.bodies.named_multibody import (
    create_named_multibody,
    describe_multibody,
)
from gltf_bullet.bullet.rendering.visuals import shown_mesh
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3
from tests.convert.robots import body_of, converted

Pixels = npt.NDArray[np.uint8]


def picture(client: int, place: Vec3) -> Pixels:
    """Of a place, seen from 3 m away."""
    x, y, z = place
    view = pybullet.computeViewMatrix([x + 2.0, y - 2.0, z + 1.0], place, [0.0, 0.0, 1.0])
    projection = pybullet.computeProjectionMatrixFOV(40.0, 1.0, 0.1, 6.0)
    pixels = pybullet.getCameraImage(
        64, 64, view, projection, renderer=pybullet.ER_TINY_RENDERER, physicsClientId=client
    )[2]
    return np.reshape(pixels, (64, 64, 4)).astype(np.uint8)


@pytest.mark.parametrize("robot", ["cartpole.urdf", "r2d2.urdf"])
def test_what_a_user_paints_on_one_copy_stays_on_it(robot: str, client: int) -> None:
    asset = converted(robot)
    places = [(0.0, 10.0 * k, 0.0) for k in range(3)]
    bodies = [body_of(asset.instantiate(client, position=place)) for place in places]
    before = [picture(client, place) for place in places]
    for link in range(-1, pybullet.getNumJoints(bodies[1], client)):
        pybullet.changeVisualShape(
            bodies[1], link, rgbaColor=(1.0, 0.0, 1.0, 1.0), physicsClientId=client
        )
    after = [picture(client, place) for place in places]
    assert np.array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])
    assert np.array_equal(before[2], after[2])
    # One that is made afterwards has the colours of the file.
    pybullet.removeBody(bodies[0], client)
    asset.instantiate(client, position=places[0])
    assert np.array_equal(picture(client, places[0]), before[0])


@pytest.mark.parametrize("robot", ["racecar/racecar.urdf", "quadruped/minitaur.urdf"])
def test_links_without_colliders_need_no_rules(
    robot: str, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two links of these robots may meet: the engine sees to that without a rule per pair."""
    written: list[object] = []
    monkeypatch.setattr(pybullet, "setCollisionFilterPair", lambda *pair, **_: written.append(pair))
    scene = converted(robot, fixed_base=False).instantiate(client)
    assert written == []
    # No contact with itself, and one with the floor that somebody else has put there.
    pybullet.createMultiBody(
        0.0, pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client),
        basePosition=(0.0, 0.0, -0.3), physicsClientId=client,
    )  # fmt: skip
    scene.step(240)
    contacts = pybullet.getContactPoints(body_of(scene), physicsClientId=client)
    assert contacts
    assert not [point for point in contacts if point[1] == point[2]]


MOMENTS = [(0.1, 0.2, 0.25), (0.1, 0.2, 0.3), (0.0, 0.2, 0.2), (1e-9, 2e-9, 2e-9), (0.1, 0.2, 0.9)]
"""The last one is that of no body: one side of a triangle longer than the two others."""


@pytest.mark.parametrize("base", MOMENTS)
@pytest.mark.parametrize("child", MOMENTS)
def test_moments_reach_the_engine_to_the_bit_by_text_or_afterwards(
    base: Vec3, child: Vec3, client: int, tmp_path: Path
) -> None:
    inertial = Pose((0.5, 0.5, 0.5, 0.5), (0.1, 0.2, 0.3))
    link = LinkSpec(
        parent=-1, joint=LinkJoint.REVOLUTE, parent_from_link=IDENTITY_POSE, mass=3.0,
        inertia_diagonal=child, link_from_inertial=inertial,
    )  # fmt: skip
    spec = MultibodySpec(
        mass=2.0, inertia_diagonal=base, base_from_inertial=inertial, links=(link,)
    )
    names = MultibodyNames(
        body="body", base="base", links=("link",), joints=(JointFacts(name="hinge"),)
    )
    described = describe_multibody(spec, names, [(), ()], {}, {}, tmp_path)
    body = create_named_multibody(client, spec, described, IDENTITY_POSE)
    for index, moments in ((-1, base), (0, child)):
        told = pybullet.getDynamicsInfo(body, index, physicsClientId=client)
        assert told[2] == moments
        assert told[3] == inertial.translation
        assert abs(np.dot(told[4], inertial.rotation_xyzw)) == pytest.approx(1.0, abs=1e-12)


def test_copies_stand_where_they_were_put_and_move_alike(client: int) -> None:
    """Bodies of a copy are moved when they are asked for: by whom does not matter."""
    asset = converted("laikago/laikago_toes.urdf", fixed_base=False)
    first = asset.instantiate(client)
    second = asset.instantiate(client, position=(20.0, 0.0, 0.0))
    plans = first.core.world.plan.bodies.bodies, second.core.world.plan.bodies.bodies
    assert list(plans[0]) == list(plans[1])
    assert len(plans[0]) > 10
    for node in plans[0]:
        offset = np.subtract(
            plans[1][node].world_from_body.translation, plans[0][node].world_from_body.translation
        )
        np.testing.assert_allclose(offset, (20.0, 0.0, 0.0), atol=1e-12)
    for _ in range(20):
        first.before_step()
        second.before_step()
        pybullet.stepSimulation(client)
        first.after_step()
        second.after_step()
    apart = second.node_matrices - first.node_matrices
    np.testing.assert_allclose(
        apart[:, :3, 3], np.tile((20.0, 0.0, 0.0), (len(apart), 1)), atol=1e-9
    )


def test_a_scene_that_goes_takes_no_mesh_from_whoever_has_its_ids_now(client: int) -> None:
    """PyBullet gives ids out again: what a link shows is its present scene's to say."""
    asset = converted("r2d2.urdf")
    robbed = asset.instantiate(client)
    body = body_of(robbed)
    shown = [link for link in range(-1, 20) if shown_mesh(client, body, link) is not None]
    assert len(shown) > 5
    pybullet.removeBody(body, client)
    heir = asset.instantiate(client)
    assert body_of(heir) == body
    robbed.remove()
    assert [link for link in range(-1, 20) if shown_mesh(client, body, link)] == shown
    heir.remove()
    assert not [link for link in range(-1, 20) if shown_mesh(client, body, link)]


def _remember_files() -> None:
    with headless_world() as client:
        pybullet.setPhysicsEngineParameter(enableFileCaching=1, physicsClientId=client)


def test_a_copy_is_made_where_somebody_has_tidied_up_since(
    client: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The text of a robot is not looked for by each copy; one that is gone is written again."""
    asset, options = converted("cartpole.urdf"), gb.LoadOptions(cache_folder=tmp_path)
    # PyBullet would remember the text, for all clients of the process.
    pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
    request.addfinalizer(_remember_files)
    first = asset.instantiate(client, options=options)
    (text,) = tmp_path.glob("*.urdf")
    text.unlink()
    second = asset.instantiate(client, position=(0.0, 3.0, 0.0), options=options)
    names = [
        [pybullet.getJointInfo(body_of(scene), k, physicsClientId=client)[1] for k in range(2)]
        for scene in (first, second)
    ]
    assert names[0] == names[1]
    assert text.exists()
