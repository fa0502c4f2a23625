"""OMI_physics_gravity: of the world, and in volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.omi.physics_gravity import (
    GRAVITY_BLOCK_MISSING,
    LINE_POINTS,
    PRIORITY_NOT_WHOLE,
)
from gltf_bullet.dialects.references import (
    GRAVITY_WITHOUT_TRIGGER,
)
from gltf_bullet.gltf.fields import (
    ABSENCE_MENDED,
    NOT_UNIT_LENGTH,
    RANGE_MENDED,
    WORD_MENDED,
)
from gltf_bullet.model import (
    Box,
    GravityField,
    GravityFieldKind,
    GravityVolume,
    PhysicsScene,
    WorldGravity,
)

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]

BOX = {"OMI_physics_shape": {"shapes": [{"type": "box", "box": {}}]}}


def gravity_node(**gravity: Any) -> Json:
    return {
        "extensions": {
            "OMI_physics_body": {"trigger": {"shape": 0}},
            "OMI_physics_gravity": gravity,
        }
    }


def test_the_world_has_a_gravity(read: Read) -> None:
    scene = read([{}], {"OMI_physics_gravity": {"gravity": -3, "direction": [0, 0, 1]}})
    assert scene.world_gravity == WorldGravity(gravity=-3.0, direction=(0.0, 0.0, 1.0))
    scene = read([{}], {"OMI_physics_gravity": {"gravity": 0}})
    assert scene.world_gravity == WorldGravity(gravity=0.0, direction=(0.0, -1.0, 0.0))


FIELDS = [
    ({"directional": {"direction": [1, 0, 0]}}, {"direction": (1.0, 0.0, 0.0)}),
    ({"point": {"unitDistance": 2}}, {"unit_distance": 2.0}),
    ({"disc": {}}, {"radius": 1.0}),
    ({"torus": {"radius": 3, "unitDistance": 2}}, {"radius": 3.0, "unit_distance": 2.0}),
    ({"line": {"points": [0, 0, 0, 1, 2, 3]}}, {"points": ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0))}),
    ({"shaped": {"shape": 0}}, {"shape": Box(size=(1.0, 1.0, 1.0))}),
]


@pytest.mark.parametrize(("block", "expected"), FIELDS)
def test_every_kind_of_field_is_read(read: Read, block: Json, expected: Json) -> None:
    kind = next(iter(block))
    scene = read([gravity_node(type=kind, gravity=9.8, **block)], BOX)
    assert scene.gravity_volumes[0] == GravityVolume(
        node=0, source=GravityField(kind=GravityFieldKind(kind), gravity=9.8, **expected)
    )


def test_volumes_have_an_order(read: Read) -> None:
    node = gravity_node(type="point", gravity=1, point={}, priority=5, replace=True, stop=True)
    volume = read([node], BOX).gravity_volumes[0]
    assert (volume.priority, volume.replace, volume.stop) == (5, True, True)


@pytest.mark.parametrize(
    ("gravity", "kind", "place"),
    [
        ({"type": "point", "point": {}}, ABSENCE_MENDED, ""),
        ({"gravity": 1}, ABSENCE_MENDED, ""),
        ({"type": "cone", "gravity": 1}, WORD_MENDED, "/type"),
        ({"type": "line", "gravity": 1, "line": {}}, ABSENCE_MENDED, "/line"),
        (
            {"type": "line", "gravity": 1, "line": {"points": [0, 0, 0]}},
            LINE_POINTS,
            "/line/points",
        ),
        ({"type": "line", "gravity": 1, "line": {"points": [0] * 7}}, LINE_POINTS, "/line/points"),
        ({"type": "shaped", "gravity": 1, "shaped": {}}, ABSENCE_MENDED, "/shaped"),
    ],
)
def test_a_volume_that_cannot_be_used_is_left_out(
    read: Read, diagnostics: Diagnostics, gravity: Json, kind: IssueKind, place: str
) -> None:
    assert not read([gravity_node(**gravity)], BOX).gravity_volumes
    assert diagnostics.take(kind).pointer == "/nodes/0/extensions/OMI_physics_gravity" + place


@pytest.mark.parametrize(
    ("gravity", "kind"),
    [
        ({"type": "point", "gravity": 1}, GRAVITY_BLOCK_MISSING),
        ({"type": "point", "gravity": 1, "point": {}, "priority": 1.5}, PRIORITY_NOT_WHOLE),
        ({"type": "disc", "gravity": 1, "disc": {"radius": -1}}, RANGE_MENDED),
        (
            {"type": "directional", "gravity": 1, "directional": {"direction": [0, 2, 0]}},
            NOT_UNIT_LENGTH,
        ),
        (
            {"type": "directional", "gravity": 1, "directional": {"direction": [0, 0, 0]}},
            RANGE_MENDED,
        ),
    ],
)
def test_a_doubtful_volume_is_reported_and_kept(
    read: Read, diagnostics: Diagnostics, gravity: Json, kind: IssueKind
) -> None:
    assert read([gravity_node(**gravity)], BOX).gravity_volumes
    assert diagnostics.take(kind)


def test_a_volume_needs_a_trigger(read: Read, diagnostics: Diagnostics) -> None:
    gravity = {"type": "point", "gravity": 1, "point": {}}
    read([{"extensions": {"OMI_physics_gravity": gravity}}])
    assert diagnostics.take(GRAVITY_WITHOUT_TRIGGER)
