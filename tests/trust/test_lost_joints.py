"""What the engine makes infinite is put back and said, in the very step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange.library import SWITCH
from gltf_bullet.bullet.session import headless_world


def speck_on_springs(radius: float) -> bytes:
    """A spinning ball of 1 kg on soft limits that turn it within a step, as no step can follow."""
    soft = {"stiffness": 1, "min": 0, "max": 0}
    limits: list[dict[str, Any]] = [
        {"linearAxes": [0], "stiffness": 1, "damping": 0.5, "min": -1.75, "max": 0.25},
        {"linearAxes": [1, 2], "damping": 1, **soft},
        {"angularAxes": [0], **soft},
        {"angularAxes": [1, 2], "damping": 1, **soft},
    ]
    # What is driven has axes in the engine; what limits alone hold flies as a free body does.
    faint = {"type": "linear", "mode": "force", "axis": 0, "damping": 1e-6, "velocityTarget": 0}
    body, joint = "OMI_physics_body", "OMI_physics_joint"
    ball = {"type": "dynamic", "mass": 1, "linearVelocity": [1, 0, 0],
            "angularVelocity": [1e4, 2e4, 3e4]}  # fmt: skip
    nodes: list[dict[str, Any]] = [
        {"extensions": {body: {"motion": {"type": "static"}}}, "children": [1]},
        {"translation": [-0.75, 0, 0]},
        {"extensions": {joint: {"connectedNode": 1, "joint": 0}}},
        {"extensions": {body: {"motion": ball}}, "children": [2, 4], "translation": [-0.75, 0, 0]},
        {"extensions": {body: {"collider": {"shape": 0}}}},
    ]
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [body, joint, "OMI_physics_shape"],
        "extensions": {
            joint: {"physicsJoints": [{"limits": limits, "drives": [faint]}]},
            "OMI_physics_shape": {"shapes": [{"type": "sphere", "sphere": {"radius": radius}}]},
        },
        "nodes": nodes,
        "scenes": [{"nodes": [0, 3]}],
    }
    return json.dumps(document).encode()


def is_refused(step: Callable[[], object]) -> bool:
    """Whether a step names the joints that it would have lost."""
    try:
        step()
    except gb.EngineError as error:
        return "nodes [0, 3]" in str(error)
    else:
        return False


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("rate", [60, 240])
def test_a_step_beyond_all_numbers_is_refused_and_the_world_stays_finite(
    native: str, rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, native)
    with headless_world() as client:
        pybullet.setTimeStep(1 / rate, client)
        scene = gb.load_gltf(speck_on_springs(1e-6), client)
        raised = 0
        for _ in range(30):
            raised += is_refused(scene.step)
            assert np.isfinite(scene.node_matrices).all()
            for body in scene.bodies.values():
                assert np.isfinite([*body.linear_velocity, *body.angular_velocity]).all()
        assert raised > 0
        scene.remove()
        assert pybullet.getNumBodies(client) == 0
