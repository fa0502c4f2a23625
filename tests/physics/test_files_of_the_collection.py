"""Contacts and a soft stop that went wrong where others tried them: the collection's own files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.transforms import FloatArray

FAULTS = Path(__file__).resolve().parents[3] / "shared" / "faults"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FAULTS.is_dir(), reason="the collection is not there"),
]


def after(client: int, name: str, seconds: float) -> tuple[FloatArray, FloatArray]:
    """Centres of the dynamic bodies [m] at the start and after some time at 60 Hz, [bodies, 3]."""
    pybullet.setTimeStep(1.0 / 60.0, client)
    scene = gb.load_gltf(FAULTS / "contacts" / name, client)
    bodies = [body.body_id for body in scene.bodies.values() if body.mass > 0.0]

    def centres() -> FloatArray:
        return np.array([pybullet.getBasePositionAndOrientation(b, client)[0] for b in bodies])

    start = centres()
    scene.step(round(60.0 * seconds))
    return start, centres()


def test_a_tower_of_ten_stands_for_20_s(client: int) -> None:
    start, end = after(client, "tower10_60Hz.gltf", 20.0)
    assert np.abs(end - start).max() < 0.05


def test_a_stack_of_centimetres_stands(client: int) -> None:
    start, end = after(client, "e_size_stack4_0.01m_moved_size.gltf", 5.0)
    assert np.abs(end - start).max() < 0.002


def test_a_body_on_one_a_thousand_times_lighter_stands_and_is_named(client: int) -> None:
    """It sank by 415 mm; now by 13 at most, at some moments of a slow walk."""
    name = "e_ratio_stack_1000_on_1.gltf"
    start, end = after(client, name, 5.0)
    assert np.abs(end - start)[:, 2].max() < 0.02
    issues = gb.check(FAULTS / "contacts" / name).issues
    assert [issue.code for issue in issues] == ["HEAVY_ON_LIGHT"]
    assert "1000 times less" in issues[0].message


def test_what_rests_on_a_slope_of_triangles_stays(client: int) -> None:
    start, end = after(client, "mesh_slope_60Hz.gltf", 6.0)
    assert np.abs(end - start).max() < 0.005


def test_a_box_rides_on_a_turntable_within_its_grip(client: int) -> None:
    """At 61 % of the grip, mu g = 1.64 w^2 r, it stays at its radius."""
    start, end = after(client, "turntable_w1.5_mu0.3.gltf", 3.0)
    radius = [np.hypot(*centres[:, :2].T).max() for centres in (start, end)]
    assert radius[1] == pytest.approx(radius[0], rel=0.05)


def test_a_soft_stop_without_damping_lets_the_hinge_come_back(client: int) -> None:
    pybullet.setTimeStep(1.0 / 60.0, client)
    scene = gb.load_gltf(FAULTS / "energy" / "b2_soft_hinge.gltf", client)
    (axis,) = [axis for joint in scene.joints.values() for axis in joint.degrees_of_freedom]
    scene.step(420)
    highest = -np.inf
    for _ in range(180):  # it swings in less than a second
        scene.step()
        highest = max(highest, axis.position)
    assert highest == pytest.approx(0.0, abs=0.01)
