"""Copies of an asset elsewhere: one plan, moved, and nothing of it but places."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.recent import recent_translation
from gltf_bullet.runtime.translation import translate_at
from tools.bench.assets import ASSETS, bodies_gltf, cart_pole_gltf, grid

PLACE = (3.5, -2.25, 7.0)


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("name", sorted(path.stem for path in ASSETS.glob("*.gltf")))
def test_a_copy_moves_as_the_one_at_the_origin_does(name: str, client: int) -> None:
    """Chaos aside: over few steps, to what numbers a few metres from the origin lose."""
    asset = gb.read_asset(ASSETS / f"{name}.gltf")
    poses = []
    for place in ((0.0, 0.0, 0.0), PLACE):
        scene = asset.instantiate(client, position=place)
        scene.step(10)
        poses.append(scene.node_matrices.copy())
        scene.remove()
    there = poses[1].copy()
    there[:, :3, 3] -= PLACE
    assert np.allclose(there, poses[0], atol=5e-5)


def test_the_second_copy_shares_the_plan_of_the_first() -> None:
    asset = gb.read_asset(cart_pole_gltf())
    options = gb.LoadOptions()
    one = recent_translation(asset, Placement.of((1.0, 0.0, 0.0)), options).plan
    other = recent_translation(asset, Placement.of(PLACE), options).plan
    assert one.memo is other.memo
    assert one.contacts is other.contacts
    rows = [plan.articulations.articulations[0].rows for plan in (one, other)]
    assert rows[0] is rows[1]
    moved = other.bodies.bodies[1].world_from_body.translation
    assert np.allclose(np.subtract(moved, one.bodies.bodies[1].world_from_body.translation),
                       np.subtract(PLACE, (1.0, 0.0, 0.0)))  # fmt: skip


def test_a_plan_made_elsewhere_equals_a_moved_one_to_the_bit() -> None:
    """Else a scene that was rebuilt would go another way than one that was not."""
    asset = gb.read_asset(cart_pole_gltf())
    placement, options = Placement.of(PLACE), gb.LoadOptions()
    moved = recent_translation(asset, placement, options).plan
    made = translate_at(asset, placement, options).plan
    assert made.frames.equals(moved.frames)
    assert made.bodies.bodies == moved.bodies.bodies
    assert made.articulations == moved.articulations


def test_a_place_out_of_reach_is_refused_though_the_plan_is_known(client: int) -> None:
    asset = gb.read_asset(bodies_gltf("box", grid(1, 1.0)))
    asset.instantiate(client)
    with pytest.raises(gb.InvalidAssetError, match="NODE_TOO_FAR"):
        asset.instantiate(client, position=(1e30, 0.0, 0.0))
    assert pybullet.getNumBodies(client) == 1


def test_the_base_of_what_hangs_on_the_world_stands_where_the_asset_does(client: int) -> None:
    scene = gb.load_gltf(cart_pole_gltf(), client, position=PLACE)
    body = scene.joints["Slide"].degrees_of_freedom[0].body_id
    position, _ = pybullet.getBasePositionAndOrientation(body, client)
    assert np.allclose(position, PLACE)
