"""Two joints between the same two things, the usual door: they allow what one of them allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from tools.make_examples import PhysicsBuilder, physics


def _limit(kind: str, axes: list[int], least: float = 0.0, most: float = 0.0) -> dict[str, Any]:
    return {f"{kind}Axes": axes, "min": least, "max": most}


POINT = _limit("linear", [0, 1, 2])
HINGE = [POINT, _limit("angular", [0, 1])]
KINDS = {
    "hinge": HINGE,
    "hinge with an end": [*HINGE, _limit("angular", [2], -1.0, 1.0)],
    "slide": [_limit("linear", [0, 2]), _limit("angular", [0, 1, 2])],
    "cylinder": [_limit("linear", [0, 1]), _limit("angular", [0, 1])],
    "plane": [_limit("linear", [2]), _limit("angular", [0, 1])],
    "weld": [POINT, _limit("angular", [0, 1, 2])],
}
"""About or along z where there is one axis; z is level, y points up."""


def swing(joints: list[list[dict[str, Any]]], rate: float) -> list[np.ndarray]:
    """A door of 1 kg whose middle is 1 m from its hinges, held by the scene's fixed frame."""
    builder = PhysicsBuilder()
    box = builder.shape("box", size=[0.2, 0.2, 0.2])
    frame = builder.node("Frame")
    door = builder.node(
        "Door",
        translation=[1.0, 0.0, 0.0],
        extensions=physics({"mass": 1.0, "inertiaDiagonal": [0.1] * 3}, box),
    )
    for k, limits in enumerate(joints):
        at = builder.node("Joint", parent=frame, translation=[0.0, 0.0, float(k)])
        other = builder.node("Fitting", parent=door, translation=[-1.0, 0.0, float(k)])
        link = {"connectedNode": other, "joint": builder.joint(*limits)}
        builder._lists["nodes"][at]["extensions"] = physics(joint=link)
    builder.finish()
    with headless_world() as client:
        pybullet.setGravity(0, -9.81, 0, physicsClientId=client)
        pybullet.setTimeStep(1.0 / rate, physicsClientId=client)
        # Loops get finer steps: here both have the same.
        options = gb.LoadOptions(substeps=1)
        scene = gb.load_gltf(builder.gltf(), client, up_axis="y", options=options)
        found = []
        for _ in range(10):
            scene.step(round(0.1 * rate))
            found.append(scene.node(door).world_matrix)
        return found


@pytest.mark.parametrize("rate", [60.0, 240.0])
@pytest.mark.parametrize("kind", list(KINDS))
def test_two_equal_joints_allow_what_one_allows(kind: str, rate: float) -> None:
    one, two = (swing([KINDS[kind]] * count, rate) for count in (1, 2))
    moved = max(np.abs(pose - one[0]).max() for pose in one)
    assert (moved < 1e-3) == (kind == "weld")
    for mine, other in zip(two, one, strict=True):
        assert mine == pytest.approx(other, abs=2e-3)


def test_guides_that_leave_one_axis_together_let_it_move() -> None:
    """Kept from moving along x by one joint and along z by another: it falls."""
    pose = swing([[_limit("linear", [0])], [_limit("linear", [2])]], 240.0)[-1]
    # Of the point at the door's edge both are kept; it swings as it falls.
    hinges = pose @ np.array([-1.0, 0.0, 0.0, 1.0])
    assert hinges[[0, 2]] == pytest.approx([0.0, 0.0], abs=2e-3)
    assert hinges[1] < -0.5
