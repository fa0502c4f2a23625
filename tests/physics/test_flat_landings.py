"""What lands flat bounces as it should, or an issue at load says how much may be missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.transforms import FloatArray
from tests.physics.scenes import G, Scenery, world
from tools.bench.baselines.contact_scenes import ContactScene, flat_grid

HALF = 0.5
"""[m] of every mover's height, and of its width."""
MOVERS = ("sphere", "capsule", "box", "hull", "cylinder")
GROUNDS = ("box", "plane", "hull", "prism", "cylinder", "mesh")
DROPS = [(0.4, 0.3, 0.2), (1.1, -2.13, 1.71), (2.7, 1.37, -0.49)]
"""Height, x and z [m]."""


def prism(sides: int) -> FloatArray:
    turns = np.linspace(0.0, 2.0 * math.pi, sides + 1)[:-1]
    ring = [(HALF * math.cos(turn), HALF * math.sin(turn)) for turn in turns]
    return np.array([(x, y, z) for x, z in ring for y in (-HALF, HALF)])


def mover(scene: ContactScene, kind: str) -> dict[str, Any]:
    match kind:
        case "sphere":
            return scene.shape("sphere", radius=HALF)
        case "capsule":
            return scene.shape("capsule", radiusTop=0.25, radiusBottom=0.25, height=0.5)
        case "box":
            return scene.shape("box", size=[1, 1, 1])
        case "cylinder":
            return scene.shape("cylinder", radiusTop=HALF, radiusBottom=HALF, height=1.0)
        case _:
            return scene.mesh(prism(6), [(0, 1, 2)], hull=True)


def put_ground(scene: ContactScene, kind: str, material: int) -> None:
    match kind:
        case "box":
            shape = scene.shape("box", size=[20, 1, 20])
            scene.node(shape, at=(0, -0.5, 0), material=material)
        case "plane":
            scene.node(scene.shape("plane"), material=material)
        case "hull":
            corners = [(x, y, z) for x in (-10, 10) for y in (-1, 0) for z in (-10, 10)]
            block = scene.mesh(np.array(corners), [(0, 1, 2)], hull=True)
            scene.node(block, material=material)
        case "prism":
            stump = scene.mesh(20.0 * prism(6), [(0, 1, 2)], hull=True)
            scene.node(stump, at=(0, -10, 0), material=material)
        case "cylinder":
            disc = scene.shape("cylinder", radiusTop=10.0, radiusBottom=10.0, height=1.0)
            scene.node(disc, at=(0, -0.5, 0), material=material)
        case _:
            scene.node(scene.mesh(*flat_grid(20, 10.0)), material=material)


def bounce(
    kind: str, ground: str, restitution: float, drop: tuple[float, float, float]
) -> tuple[float, list[Any]]:
    """Fastest rise over fastest fall, and the issue that load reports, if any."""
    height, x, z = drop
    scene = ContactScene()
    rubber = scene.material(0.5, restitution)
    shape = mover(scene, kind)
    put_ground(scene, ground, rubber)
    node = scene.node(shape, at=(x, HALF + height, z), material=rubber, motion={"mass": 1.0})
    fall = rise = 0.0
    with world(scene.bytes(), rate=240) as loaded:
        for _ in range(int(math.sqrt(2.0 * height / G) * 240) + 8):
            loaded.step()
            speed = float(loaded.bodies[node].linear_velocity[1])
            fall, rise = min(fall, speed), max(rise, speed)
        found = [issue for issue in loaded.issues if issue.code == "FLAT_LANDING"]
    return rise / -fall, found


@pytest.mark.parametrize("restitution", [0.5, 1.0])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("kind", MOVERS)
def test_what_is_lost_is_named(kind: str, ground: str, restitution: float) -> None:
    """A pair without an issue bounces within 0.04; one with an issue loses no more than it says."""
    for drop in DROPS:
        found, issues = bounce(kind, ground, restitution, drop)
        allowed = float(str(issues[0].values["loss"])) if issues else 0.0
        assert restitution - allowed - 0.04 <= found <= restitution + 0.04


def test_the_issue_names_the_pair_and_grows_with_the_restitution() -> None:
    _, (issue,) = bounce("cylinder", "box", 0.5, DROPS[0])
    assert issue.pointer == "/nodes/1"
    assert (issue.values["mover"], issue.values["ground"]) == ("cylinder", "box")
    _, (stronger,) = bounce("cylinder", "box", 1.0, DROPS[0])
    assert stronger.values["loss"] == pytest.approx(2.0 * float(str(issue.values["loss"])))


@pytest.mark.parametrize("apart", [False, True])
def test_a_body_does_not_land_on_itself(apart: bool) -> None:
    """Its parts were named as a pair that never collides."""
    scene = Scenery()
    rubber = scene.material(restitution=1.0)
    box = scene.shape("box", size=[1.0, 1.0, 1.0])
    cylinder = scene.shape("cylinder", radiusTop=0.4, radiusBottom=0.4, height=1.0)
    ball = scene.shape("sphere", radius=0.4)
    motion: dict[str, object] = {"mass": 1.0}
    own = motion if apart else None
    part = scene.node("Part", at=(0, 3, 0), shape=cylinder, material=rubber, motion=own)
    below = () if apart else (part,)
    scene.node("Box", at=(0, 0, 0), shape=box, material=rubber, motion=motion, children=below)
    scene.node("Ball", at=(3, 2, 0), shape=ball, material=rubber, motion=motion)
    codes = [issue.code for issue in gb.check(scene.bytes()).issues]
    assert ("FLAT_LANDING" in codes) == apart


def test_without_restitution_nothing_is_lost() -> None:
    _, issues = bounce("cylinder", "box", 0.0, DROPS[0])
    assert not issues


@pytest.mark.parametrize("kind", ["cylinder", "capsule", "lying capsule", "prism"])
def test_what_lands_flat_without_restitution_stays(kind: str) -> None:
    """PyBullet's compounds threw them up by 80 mm, and over: they stand on their shape's axes."""
    scene = ContactScene()
    low = {"cylinder": 0.2, "capsule": 0.3, "lying capsule": 0.1, "prism": 0.2}[kind]
    turned = (0.0, 0.0, 0.0, 1.0)
    if kind == "cylinder":
        shape = scene.shape("cylinder", radiusTop=0.2, radiusBottom=0.2, height=0.4)
    elif kind == "prism":
        # Its origin is not its middle.
        shape = scene.mesh(0.4 * prism(6) + (0.0, 0.1, 0.0), [(0, 1, 2)], hull=True)
        low = 0.1
    else:
        shape = scene.shape("capsule", radiusTop=0.1, radiusBottom=0.1, height=0.4)
        if kind == "lying capsule":
            turned = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
    put_ground(scene, "box", scene.material(0.6, 0.0))
    node = scene.node(shape, at=(0.1, low + 1.5, 0.3), turned=turned, motion={})
    with world(scene.bytes(), rate=240) as loaded:
        upright = loaded.node(node).world_matrix[:3, :3]
        loaded.step(round(math.sqrt(2.0 * 1.5 / G) * 240) + 12)
        highest = steepest = 0.0
        for _ in range(240):
            loaded.step()
            pose = loaded.node(node).world_matrix
            turn = upright.T @ pose[:3, :3]
            highest = max(highest, float(pose[1, 3]) - low)
            steepest = max(steepest, math.acos(min(1.0, max(-1.0, 0.5 * (np.trace(turn) - 1.0)))))
    if kind != "capsule":  # which falls over
        assert steepest < math.radians(8.0)
    assert highest < 0.02
