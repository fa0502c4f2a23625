"""What robots state of joints, in the ``extras`` of their nodes."""

from __future__ import annotations

import json

import pytest

import gltf_bullet as gb
from tests.physics.scenes import Jointed

KEPT = ("maxVelocity", "maxForce", "friction")


def joint_with(stated: dict[str, object]) -> tuple[float, float, float]:
    scenery = Jointed()
    box = scenery.shape("box", size=[1, 1, 1])
    bodies = [
        scenery.node(f"Box{k}", at=(2 * k, 0, 0), shape=box, motion={"mass": 1.0}) for k in (0, 1)
    ]
    ends = [
        scenery.attachment(body, (side, 0, 0)) for body, side in zip(bodies, (1, -1), strict=True)
    ]
    axes = [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]
    scenery.join(ends[0], ends[1], limits=[*axes, {"angularAxes": [0, 1, 2], "min": 0, "max": 0}])
    root = json.loads(scenery.bytes())
    root["nodes"][ends[0]]["extras"] = {"gltf_bullet": stated}
    (joint,) = gb.read_asset(json.dumps(root).encode()).physics.joints.values()
    return joint.max_velocity, joint.max_force, joint.friction


def test_numbers_are_kept() -> None:
    assert joint_with({"maxVelocity": 2, "maxForce": 3.5, "friction": 0.25}) == (2.0, 3.5, 0.25)


@pytest.mark.parametrize("value", [10**400, -(10**400), True, "7", None, [1.0]])
def test_what_is_no_number_of_ours_states_nothing(value: object) -> None:
    """A whole number of 400 digits is JSON, and ended in an OverflowError."""
    assert joint_with(dict.fromkeys(KEPT, value)) == (0.0, 0.0, 0.0)
