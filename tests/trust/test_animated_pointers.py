"""Animations of properties that are not there, or with values that cannot be, end no step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
MOTION = f"/nodes/0/extensions/{KHR}/motion"
RADIUS = "/extensions/KHR_implicit_shapes/shapes/{}/sphere/radius"


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


def ball(pointer: str, values: Any) -> bytes:
    builder = GltfBuilder()
    physics = {"motion": {"mass": 1}, "collider": {"geometry": {"shape": 0}}}
    builder.node("ball", extensions={KHR: physics})
    shapes = [{"type": "sphere", "sphere": {"radius": 0.5}}]
    builder.root_extension("KHR_implicit_shapes", {"shapes": shapes})
    builder.animation("changes", [(pointer, "pointer", [0, 0.02, 0.04], values)])
    return builder.glb()


@pytest.mark.parametrize(
    ("pointer", "values", "code"),
    [
        (f"/nodes/0/extensions/{KHR}/joint/enableCollision", [1, 0, 1], "ANIMATION_WITHOUT_EFFECT"),
        (f"{MOTION}/nothing", [1, 2, 3], "ANIMATION_WITHOUT_EFFECT"),
        (RADIUS.format(9), [1, 2, 3], "ANIMATION_WITHOUT_EFFECT"),
        (f"{MOTION}/mass", [1, 2, -3], "ANIMATION_VALUE_REFUSED"),
        (f"{MOTION}/mass", [1, 2, 1e30], "ANIMATION_VALUE_REFUSED"),
        (f"{MOTION}/linearVelocity", [1, 2, 3], "ANIMATION_VALUE_REFUSED"),
        (RADIUS.format(0), [0.5, 0.0, -1.0], "ANIMATION_VALUE_REFUSED"),
        (f"{MOTION}/mass", [1, 2, 3], None),
    ],
)
def test_what_cannot_be_set_is_named_at_load_and_passed_over(
    pointer: str, values: Any, code: str | None, client: int
) -> None:
    data = ball(pointer, values)
    expected = [] if code is None else [code]
    assert [issue.code for issue in gb.check(data).issues] == expected
    scene = gb.load_gltf(data, client)
    assert [issue.code for issue in scene.issues] == expected
    scene.step(20)
    assert np.isfinite(scene.node_matrices).all()
    if code is None:
        assert scene.get(pointer) == pytest.approx(1.0 + (scene.time % 0.04) / 0.02, rel=1e-5)
