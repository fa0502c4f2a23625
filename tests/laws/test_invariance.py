"""A scene moves the same wherever it stands, however it is turned, mirrored, or written down.

Physics knows no place, no direction, no hand and no order of a list. What the engine's arithmetic
makes of them is measured here.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

from tests.figures import Figure
from tests.laws.closed_systems import doll
from tests.physics.scenes import G, Scenery, world

Floats = npt.NDArray[np.float64]

RATES = (60.0, 120.0, 240.0)
DURATION = 0.5
"""[s]: longer, and dolls at their limits tell a rounding error from none."""


def mirrored(source: bytes) -> bytes:
    """The same scene in a mirror across the plane x = 0 of every frame."""
    root = json.loads(source)
    for node in root["nodes"]:
        if "translation" in node:
            node["translation"][0] *= -1.0
        if "rotation" in node:
            x, y, z, w = node["rotation"]
            node["rotation"] = [x, -y, -z, w]
        motion = node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}).get("motion", {})
        if "linearVelocity" in motion:
            motion["linearVelocity"][0] *= -1.0
        if "angularVelocity" in motion:
            x, y, z = motion["angularVelocity"]
            motion["angularVelocity"] = [x, -y, -z]
    return json.dumps(root).encode()


def reordered(source: bytes, seed: int) -> bytes:
    """The same scene, with its nodes in another order, and so its bodies and joints."""
    root = json.loads(source)
    order = np.random.default_rng(seed).permutation(len(root["nodes"])).tolist()
    place = {old: new for new, old in enumerate(order)}
    root["nodes"] = [copy.deepcopy(root["nodes"][old]) for old in order]
    for node in root["nodes"]:
        if "children" in node:
            node["children"] = sorted(place[child] for child in node["children"])
        joint = node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}).get("joint")
        if joint is not None:
            joint["connectedNode"] = place[joint["connectedNode"]]
    for scene in root["scenes"]:
        scene["nodes"] = sorted(place[node] for node in scene["nodes"])
    return json.dumps(root).encode()


def course(source: bytes, rate: float, *, gravity: float = 0.0, **placement: Any) -> Floats:
    """Where the bodies called Body0, Body1 ... come by [m], shape [bodies, 3], scene axes."""
    with world(source, rate=rate, gravity=gravity, **placement) as scene:
        scene.step(round(DURATION * rate))
        at = {body.name: scene.world_from_node(body.node)[:3, 3] for body in scene.bodies.values()}
    return np.array([at[name] for name in sorted(at)])


def _shifted(source: bytes, rate: float, **how: float) -> Floats:
    offset = np.array([100.0, -50.0, 20.0])
    return course(source, rate, position=tuple(offset), **how) - offset


def _turned(source: bytes, rate: float, **how: float) -> Floats:
    turn = Rotation.from_rotvec([0.7, -1.1, 0.4])
    return turn.inv().apply(course(source, rate, orientation=tuple(turn.as_quat().tolist()), **how))


def _mirrored(source: bytes, rate: float, **how: float) -> Floats:
    # glTF's x is the world's, whatever axis is up.
    return course(mirrored(source), rate, **how) * (-1.0, 1.0, 1.0)


def _reordered(source: bytes, rate: float, **how: float) -> Floats:
    return course(reordered(source, 1), rate, **how)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 8), marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("change", [_shifted, _turned, _mirrored, _reordered])
def test_jointed_bodies_move_the_same(
    change: Callable[..., Floats], rate: float, seeds: range, figure: Figure
) -> None:
    """Turned ones were 17 mm apart: how fine a step is was asked of components of velocities."""
    worst = 0.0
    for seed in seeds:
        source = doll(seed, solid=False)
        apart = np.linalg.norm(change(source, rate) - course(source, rate), axis=1).max()
        worst = max(worst, float(apart))
    figure(f"{change.__name__} dolls at {rate:g} Hz", worst, most=1e-7, unit="m apart")


def landing(seed: int) -> bytes:
    """One body of some shape, turned anyhow, that falls on a floor by 0.2 m, and slides."""
    rng = np.random.default_rng(seed)
    scenery = Scenery()
    shapes = (
        scenery.shape("sphere", radius=0.2),
        scenery.shape("box", size=[0.3, 0.4, 0.5]),
        scenery.shape("capsule", radiusBottom=0.1, radiusTop=0.1, height=0.4),
        scenery.shape("cylinder", radiusBottom=0.2, radiusTop=0.1, height=0.3),
    )
    scenery.node("Floor", at=(0, -0.5, 0), shape=scenery.shape("box", size=[40, 1, 40]))
    scenery.node(
        "Body0", at=(0, 0.5, 0), rotation=Rotation.random(random_state=rng).as_quat().tolist(),
        shape=shapes[seed % 4],
        motion={
            "mass": 1.0, "linearVelocity": rng.uniform(-1, 1, 3).tolist(),
            "angularVelocity": rng.uniform(-2, 2, 3).tolist(),
        },
    )  # fmt: skip
    return scenery.bytes()


def _turned_about_the_vertical(source: bytes, rate: float, **how: float) -> Floats:
    turn = Rotation.from_rotvec([0.0, 0.7, 0.0])
    return turn.inv().apply(course(source, rate, orientation=tuple(turn.as_quat().tolist()), **how))


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 12), marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("change", "most"),
    [
        (_shifted, 1e-9), (_mirrored, 1e-3), (_reordered, 1e-9),
        # The engine makes the two directions of friction from the world's axes (measured).
        (_turned_about_the_vertical, 0.03),
    ],
)  # fmt: skip
def test_what_lands_moves_the_same(
    change: Callable[..., Floats], most: float, rate: float, seeds: range, figure: Figure
) -> None:
    worst = 0.0
    for seed in seeds:
        source = landing(seed)
        there, here = change(source, rate, gravity=G), course(source, rate, gravity=G)
        worst = max(worst, float(np.linalg.norm(there - here)))
    figure(f"{change.__name__} landings at {rate:g} Hz", worst, most=most, unit="m apart")
