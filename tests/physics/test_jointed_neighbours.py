"""Which links of one articulation touch: those without a joint, and those whose joint lets them."""

from __future__ import annotations

from typing import Any

import pytest

import gltf_bullet as gb
from tests.physics.scenes import KHR, Jointed, world
from tools.make_examples import PhysicsBuilder, physics

FREE_TO_TURN = {"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]}
FIRST, SECOND, THIRD = 0, 1, 2


def overlapping_chain(*, second_and_third_meet: bool) -> bytes:
    """Three boxes, each inside of both others; ball joints hold the first to the second and that
    to the third."""
    scenery = Jointed()
    cube = scenery.shape("box", size=[1, 1, 1])
    for k in range(3):
        motion = {"mass": 1.0, "gravityFactor": 0.0}
        scenery.node(f"Box{k}", at=(0.3 * k, 0, 0), shape=cube, motion=motion)
    for k, meet in ((FIRST, False), (SECOND, second_and_third_meet)):
        ends = [
            scenery.attachment(body, (0.15 * side, 0, 0)) for body, side in ((k, 1), (k + 1, -1))
        ]
        scenery.join(ends[0], ends[1], enable_collision=meet, **FREE_TO_TURN)
    return scenery.bytes()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("meet", [True, False])
def test_neighbours_touch_only_where_their_joint_lets_them(named: bool, meet: bool) -> None:
    source = overlapping_chain(second_and_third_meet=meet)
    touching: set[frozenset[int]] = set()
    with world(source, options=gb.LoadOptions(link_names=named)) as scene:
        for _ in range(3):
            scene.step()
            found = scene.contacts()
            touching |= {
                frozenset(pair)
                for pair in zip(found.node_a.tolist(), found.node_b.tolist(), strict=True)
            }
    expected = {frozenset((FIRST, THIRD))} | ({frozenset((SECOND, THIRD))} if meet else set())
    assert touching == expected


@pytest.mark.parametrize("holder", ["none", "group", "root"])
def test_a_node_that_holds_everything_is_nobodys_base(holder: str) -> None:
    """A slider 3 m above a floor lets its box down to it, whatever an exporter puts them under."""
    builder = PhysicsBuilder()
    root = builder.node("Root") if holder == "root" else None
    floor = builder.shape("box", size=[10, 1, 10])
    builder.node("Floor", parent=root, translation=[0, -0.5, 0], extensions=physics(None, floor))
    box = physics({"mass": 1.0}, builder.shape("box", size=[1, 1, 1]))
    body = builder.node("Box", parent=root, translation=[0, 3, 0], extensions=box)
    slide = builder.joint(
        {"linearAxes": [0, 2], "min": 0, "max": 0}, {"angularAxes": [0, 1, 2], "min": 0, "max": 0}
    )
    group = builder.node("Group") if holder == "group" else root
    joint = builder.node("Joint", parent=group, translation=[0, 3, 0])
    fitting = builder.node("Fitting", parent=body)
    link = physics(joint={"connectedNode": fitting, "joint": slide})
    builder._lists["nodes"][joint].setdefault("extensions", {}).update(link)
    builder.finish()
    with world(builder.gltf()) as scene:
        scene.step(480)
        height = scene.node(body).world_matrix[1, 3]
    assert height == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("joint", [{}, FREE_TO_TURN], ids=["holds nothing", "ball"])
@pytest.mark.parametrize("meet", [True, False])
def test_jointed_bodies_meet_as_is_set(joint: dict[str, Any], meet: bool) -> None:
    """Also those of a joint without limits, which does nothing else."""
    scenery = Jointed()
    cube = scenery.shape("box", size=[1, 1, 1])
    for k in range(2):
        motion = {"mass": 1.0, "gravityFactor": 0.0}
        scenery.node(f"Box{k}", at=(0.3 * k, 0, 0), shape=cube, motion=motion)
    ends = [scenery.attachment(k, (0.15 * (1 - 2 * k), 0, 0)) for k in range(2)]
    scenery.join(ends[0], ends[1], enable_collision=not meet, **joint)
    with world(scenery.bytes()) as scene:
        scene.set(f"/nodes/{ends[0]}/extensions/{KHR}/joint/enableCollision", meet)
        scene.step()
        assert bool(len(scene.contacts())) == meet
