"""Links that touch as in an earlier step need no Python, and the outcome is the same to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange import contact_memory
from gltf_bullet.bullet.exchange.contact_memory import TouchMemories
from gltf_bullet.bullet.joints.solving.joint_solver import JointSolver

ASSETS = Path(__file__).parents[2] / "examples" / "assets"


@pytest.fixture
def client() -> Iterator[int]:
    """A world with gravity along -Z."""
    client_id = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0.0, 0.0, -9.81, client_id)
    yield client_id
    pybullet.disconnect(client_id)


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
def test_the_second_fall_of_a_ragdoll_is_the_first_without_python(
    client: int, followed: list[JointSolver], rate: int
) -> None:
    pybullet.setTimeStep(1.0 / rate, client)
    scene = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    first = fall(scene, rate)
    many = len(followed)
    assert many > 5  # limbs that come down one after the other
    scene.reset()
    followed.clear()
    assert fall(scene, rate) == first
    assert len(followed) <= 1  # the step after a reset is made by Python in any case


def test_only_so_many_tables_are_kept_and_equal_links_have_one(
    client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    add = TouchMemories.add

    def noted(self: TouchMemories, *arguments: object) -> None:
        add(self, *arguments)  # type: ignore[arg-type]
        seen.append((int(self.numbers[0]), len(self._kept)))

    monkeypatch.setattr(TouchMemories, "add", noted)
    monkeypatch.setattr(contact_memory, "MOST_TABLES", 4)
    scene = gb.load_gltf(ASSETS / "ragdoll.gltf", client)
    for k in range(4):
        scene.reset()
        pybullet.resetBaseVelocity(
            scene.bodies["Chest"].body_id, [0.3 * k, 0.0, 0.0], [0.0, 0.5 * k, 0.0], client
        )
        scene.step(120)
    counts = [count for count, _ in seen]
    assert all(count == kept for count, kept in seen)
    assert max(counts) == 4
