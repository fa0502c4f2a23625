"""KHR_physics_rigid_bodies, "Collision Filtering" (000, 001); the same in OMI and MSFT.

The text says "subset", the published samples need "any system in common": those are followed.
"""

from __future__ import annotations

import pytest

from tests.spec.files import Json, codes, file, loaded, node

KHR = "KHR_physics_rigid_bodies"


def content(ground: Json | None, ball: Json | None) -> bytes:
    """A ball that falls onto a slab; each with a filter or none."""
    filters = [each for each in (ground, ball) if each is not None]

    def collider(shape: int, own: Json | None) -> Json:
        named = {} if own is None else {"collisionFilter": filters.index(own)}
        return {"geometry": {"shape": shape}, **named}

    tables = {
        "KHR_implicit_shapes": {
            "shapes": [
                {"type": "box", "box": {"size": [4, 1, 4]}},
                {"type": "sphere", "sphere": {"radius": 0.25}},
            ]
        },
        **({KHR: {"collisionFilters": filters}} if filters else {}),
    }
    nodes = [
        node({KHR: {"collider": collider(0, ground)}}, translation=[0, -0.5, 0]),
        node({KHR: {"motion": {}, "collider": collider(1, ball)}}, translation=[0, 0.5, 0]),
    ]
    return file(nodes, tables)


def meet(ground: Json | None, ball: Json | None) -> bool:
    with loaded(content(ground, ball)) as scene:
        scene.step(240)
        return bool(scene.world_from_node(1)[1, 3] > 0.0)


A: Json = {"collisionSystems": ["a"]}
TABLE = [
    # Without a filter everything meets.
    (None, None, True),
    (None, {"collideWithSystems": ["x"]}, True),
    # One list of one side.
    (A, {"collisionSystems": ["b"], "collideWithSystems": ["a"]}, True),
    (A, {"collisionSystems": ["b"], "collideWithSystems": ["c"]}, False),
    (A, {"collisionSystems": ["b"], "collideWithSystems": []}, False),
    (A, {"collisionSystems": ["b"], "notCollideWithSystems": ["a"]}, False),
    (A, {"collisionSystems": ["b"], "notCollideWithSystems": ["c"]}, True),
    (A, {"collisionSystems": ["b"], "notCollideWithSystems": []}, True),
    # Both sides must admit.
    (
        {"collisionSystems": ["a"], "collideWithSystems": ["b"]},
        {"collisionSystems": ["b"], "collideWithSystems": ["a"]},
        True,
    ),
    (
        {"collisionSystems": ["a"], "collideWithSystems": ["c"]},
        {"collisionSystems": ["b"], "collideWithSystems": ["a"]},
        False,
    ),
    # Several systems: any in common admits, all in the list refuse.
    ({"collisionSystems": ["a", "b"]}, {"collideWithSystems": ["b"]}, True),
    ({"collisionSystems": ["a", "b"]}, {"notCollideWithSystems": ["b"]}, True),
    ({"collisionSystems": ["a", "b"]}, {"notCollideWithSystems": ["a", "b"]}, False),
]


@pytest.mark.parametrize(("ground", "ball", "wanted"), TABLE)
def test_two_colliders_meet_if_both_sides_admit_the_other(
    ground: Json | None, ball: Json | None, wanted: bool
) -> None:
    assert meet(ground, ball) is wanted
    assert meet(ball, ground) is wanted


@pytest.mark.parametrize("systems", [{}, {"collisionSystems": []}])
@pytest.mark.parametrize("list_", ["collideWithSystems", "notCollideWithSystems"])
def test_a_collider_in_no_system_is_admitted_by_all(systems: Json, list_: str) -> None:
    assert meet(systems, {"collisionSystems": ["b"], list_: ["a"]})


def test_both_lists_in_one_filter_are_named() -> None:
    both = {"collideWithSystems": ["a"], "notCollideWithSystems": ["b"]}
    assert "FILTER_BOTH_LISTS" in codes(content(A, both))
