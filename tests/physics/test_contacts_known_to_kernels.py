"""Contacts are followed by kernels, whatever touches; the outcome is the same to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver
from gltf_bullet.solver.contact_following import BODY
from tools.bench.assets import lift_gltf

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[JointSolver]:
    """The scenes whose contacts were followed in Python, once each time."""
    found: list[JointSolver] = []
    find = JointSolver.find_contacts

    def noted(self: JointSolver, *arguments: object) -> object:
        found.append(self)
        return find(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(JointSolver, "find_contacts", noted)
    return found


def fall(scene: gb.Scene, steps: int) -> bytes:
    """Step; the poses of all nodes after each step, to the bit."""
    poses = []
    for _ in range(steps):
        scene.step()
        poses.append(np.array([scene.world_from_node(k) for k in range(len(scene.asset.tree))]))
    return np.array(poses).tobytes()


@pytest.mark.parametrize("rate", [60, 240])
def test_limbs_that_come_down_one_after_the_other_need_no_python(
    client: int, followed: list[JointSolver], rate: int
) -> None:
    pybullet.setTimeStep(1.0 / rate, client)
    scene = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    first = fall(scene, rate)
    assert 0 < len(followed) < 10  # where there were more contacts than room for them
    scene.reset()
    followed.clear()
    assert fall(scene, rate) == first
    assert len(followed) <= 1  # the step after a reset is made by Python in any case


def test_a_body_that_is_fixed_and_released_is_seen_by_kernels(
    client: int, followed: list[JointSolver]
) -> None:
    # A box on a ragdoll's floor: contacts are followed through it once it has mass.
    scene = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.5, 0.5, 0.05], physicsClientId=client
    )
    box = pybullet.createMultiBody(0.0, shape, basePosition=[0, 0, 0.3], physicsClientId=client)
    scene.step(240)
    followed.clear()
    scene.step(20)
    assert not followed
    pybullet.changeDynamics(box, -1, mass=1.0, physicsClientId=client)
    scene.step(20)
    table = scene.core.world.articulations.contacts.arrays
    assert table.bodies.moves[table.bodies.bodies[box, BODY.unit]] == 1
    assert len(followed) <= 2  # one more body that moves needs room


def test_boxes_that_were_made_in_a_batch_weigh_on_a_lift(
    client: int, followed: list[JointSolver]
) -> None:
    """PyBullet's client does not list the bodies of a batch; their contacts are followed."""
    scene = gb.load_gltf(lift_gltf(200), client)
    scene.step(30)
    followed.clear()
    scene.step(30)
    assert not followed
    found = scene.core.world.articulations.contacts.arrays.found
    assert found.used == len(pybullet.getContactPoints(physicsClientId=client)) > 200
    assert found.free_used == 200
