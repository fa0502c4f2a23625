"""OMI_physics_gravity: the world's gravity, fields on nodes, object model (schemas and README)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.spec.files import Json, codes, file, loaded, node
from tools.gltf_builder import GltfBuilder

BODY = "OMI_physics_body"
SHAPE = "OMI_physics_shape"
GRAVITY = "OMI_physics_gravity"
AT = f"/nodes/0/extensions/{GRAVITY}"
WORLD = f"/extensions/{GRAVITY}"
SHAPES: Json = {
    SHAPE: {
        "shapes": [
            {"type": "box", "box": {"size": [20, 20, 20]}},
            {"type": "sphere", "sphere": {"radius": 0.25}},
        ]
    }
}
BALL: Json = {BODY: {"motion": {"type": "dynamic"}, "collider": {"shape": 1}}}


def field(kind: str, at: tuple[float, float, float], world: Json | None = None, **more: object):
    """A field of 3 m/s^2 in a box of 20 m, and a ball."""
    block = more.pop("block", {})
    gravity = {"type": kind, "gravity": 3, kind: block, **more}
    nodes = [
        node({BODY: {"trigger": {"shape": 0}}, GRAVITY: gravity}),
        node(BALL, translation=list(at)),
    ]
    return file(nodes, {**SHAPES, GRAVITY: world or {"gravity": 0}})


def pull(scene, steps: int = 1) -> np.ndarray:
    before = np.array(scene.bodies[1].linear_velocity)
    scene.step(steps)
    return (np.array(scene.bodies[1].linear_velocity) - before) * 240 / steps


FIELDS = {
    "directional": ({"direction": [1, 0, 0]}, (3, 0, 0)),
    "point": ({}, (0, -3, 0)),
    "disc": ({}, (0, -3, 0)),
    "line": ({"points": [-5, 0, 0, 5, 0, 0]}, (0, -3, 0)),
    "shaped": ({"shape": 1}, (0, -3, 0)),
    "torus": ({"radius": 1}, (-0.894427 * 3, -0.447214 * 3, 0)),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_each_type_pulls_towards_its_nearest_point(kind: str) -> None:
    """The ball is 2 m above the node; of the torus 3 m out and 1 m up."""
    block, wanted = FIELDS[kind]
    at = (3.0, 1.0, 0.0) if kind == "torus" else (0.0, 2.0, 0.0)
    with loaded(field(kind, at, block=block)) as scene:
        assert pull(scene) == pytest.approx(wanted, abs=1e-3)


# --- object model ---------------------------------------------------------------------------------

POINTERS = [
    ("point", f"{WORLD}/gravity", 0.0, 2.0, (0, -3 - 2, 0)),
    ("point", f"{WORLD}/direction", (0, -1, 0), (1, 0, 0), (0, -3, 0)),
    ("point", f"{AT}/gravity", 3.0, 5.0, (0, -5, 0)),
    ("point", f"{AT}/priority", 0, 2, (0, -3, 0)),
    ("point", f"{AT}/replace", False, True, (0, -3, 0)),
    ("point", f"{AT}/stop", False, True, (0, -3, 0)),
    ("directional", f"{AT}/directional/direction", (0, -1, 0), (0, 0, 1), (0, 0, 3)),
    ("point", f"{AT}/point/unitDistance", 0.0, 1.0, (0, -3 / 4, 0)),
    ("disc", f"{AT}/disc/radius", 1.0, 0.5, (0, -3, 0)),
    ("disc", f"{AT}/disc/unitDistance", 0.0, 1.0, (0, -3 / 4, 0)),
    ("line", f"{AT}/line/unitDistance", 0.0, 1.0, (0, -3 / 4, 0)),
    ("shaped", f"{AT}/shaped/unitDistance", 0.0, 1.0, (0, -3 / 1.75**2, 0)),
    ("torus", f"{AT}/torus/radius", 1.0, 1e-9, (0, -3, 0)),
    ("torus", f"{AT}/torus/unitDistance", 0.0, 1.0, (0, -3 * 2 / 5**1.5, 0)),
    (
        "line", f"{AT}/line/points", (-5, 0, 0, 5, 0, 0), (-5, 2, -1, 5, 2, -1), (0, 0, -3),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "pointer", "default", "value", "wanted"), POINTERS)
def test_a_pointer_reads_its_default_and_acts_at_once(
    kind: str, pointer: str, default: object, value: object, wanted: tuple[float, ...]
) -> None:
    block = {key: value for key, value in FIELDS[kind][0].items() if key in ("points", "shape")}
    with loaded(field(kind, (0.0, 2.0, 0.0), block=block)) as scene:
        assert scene.get(pointer) == pytest.approx(default)
        scene.step()
        ids = [body.body_id for body in scene.bodies.values()]
        scene.set(pointer, value)
        assert scene.get(pointer) == pytest.approx(value)
        got = pull(scene)
        if kind == "torus":  # on the axis every point of the rim is as near: the middle pulls
            assert got[1] < 0.0
        else:
            assert got == pytest.approx(wanted, abs=0.02)
        assert [body.body_id for body in scene.bodies.values()] == ids


def test_a_pointer_to_a_block_of_another_type_leads_nowhere() -> None:
    with loaded(field("point", (0, 2, 0))) as scene, pytest.raises(KeyError):
        scene.get(f"{AT}/disc/radius")


@pytest.mark.parametrize(
    ("pointer", "value", "error"),
    [
        (f"{AT}/priority", 0.5, ValueError),
        (f"{AT}/replace", 1, TypeError),
        (f"{WORLD}/direction", (0, 0, 0), ValueError),
        (f"{AT}/point/unitDistance", -1.0, ValueError),
    ],
)
def test_a_value_that_the_schema_forbids_is_refused(
    pointer: str, value: object, error: type[Exception]
) -> None:
    with loaded(field("point", (0, 2, 0))) as scene, pytest.raises(error):
        scene.set(pointer, value)


def test_replace_by_pointer_replaces_what_higher_priorities_gave() -> None:
    gravity = {"type": "directional", "gravity": 3, "directional": {"direction": [0, -1, 0]}}
    other = {"type": "directional", "gravity": 7, "priority": 1, "directional": {}}
    trigger = {"trigger": {"shape": 0}}
    nodes = [
        node({BODY: trigger, GRAVITY: gravity}), node(BALL),
        node({BODY: trigger, GRAVITY: other}),
    ]  # fmt: skip
    with loaded(file(nodes, {**SHAPES, GRAVITY: {"gravity": 0}})) as scene:
        assert pull(scene)[1] == pytest.approx(-10, abs=1e-3)
        scene.set(f"{AT}/replace", True)
        assert pull(scene)[1] == pytest.approx(-3, abs=1e-3)
        scene.set(f"{AT}/priority", 2)
        assert pull(scene)[1] == pytest.approx(-10, abs=1e-3)
        scene.set(f"{AT}/stop", True)
        assert pull(scene)[1] == pytest.approx(-3, abs=1e-3)


def test_a_snapshot_has_the_gravity_of_its_moment() -> None:
    with loaded(field("directional", (0, 0, 0), world={"gravity": 1})) as scene:
        state = scene.save_state()
        scene.set(f"{WORLD}/gravity", 4.0)
        scene.restore_state(state)
        assert scene.get(f"{WORLD}/gravity") == 1.0
        assert pull(scene)[1] == pytest.approx(-4.0, abs=1e-3)


@pytest.mark.parametrize(
    ("pointer", "values", "wanted"),
    [
        (f"{WORLD}/gravity", [0.0, 2.0], -3 - 1),
        (f"{AT}/gravity", [0.0, 8.0], -4),
        (f"{AT}/stop", [1.0, 1.0], -3),
        (f"{AT}/directional/direction", [(0, 1, 0), (0, 1, 0)], 3),
    ],
)
def test_a_pointer_is_animated(pointer: str, values: list[object], wanted: float) -> None:
    """Half way between two keys, without new bodies."""
    builder = GltfBuilder()
    for name, table in {**SHAPES, GRAVITY: {"gravity": 0}}.items():
        builder.root_extension(name, table)
    gravity = {"type": "directional", "gravity": 3, "directional": {}}
    builder.node("Field", extensions={BODY: {"trigger": {"shape": 0}}, GRAVITY: gravity})
    builder.node("Ball", extensions=BALL)
    how = "STEP" if pointer.endswith("stop") else "LINEAR"
    builder.animation("Change", [(pointer, "pointer", [0.0, 2.0], values, how)])
    assert codes(builder.glb()) == set()
    with loaded(builder.glb()) as scene:
        body_id = scene.bodies[1].body_id
        scene.step(240)
        assert pull(scene)[1] == pytest.approx(wanted, abs=0.05)
        assert scene.bodies[1].body_id == body_id


# --- rules for nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "members",
    [{"motion": {"type": "kinematic"}}, {"collider": {"shape": 1}}],
)
def test_a_node_with_gravity_must_have_neither_motion_nor_collider(members: Json) -> None:
    gravity = {"type": "directional", "gravity": 3, "directional": {}}
    content = file([node({BODY: {"trigger": {"shape": 0}, **members}, GRAVITY: gravity})], SHAPES)
    assert codes(content) == {"GRAVITY_ON_BODY"}


def test_a_type_without_its_block_is_worded_as_gravity() -> None:
    gravity = {"type": "point", "gravity": 3}
    content = file([node({BODY: {"trigger": {"shape": 0}}, GRAVITY: gravity})], SHAPES)
    assert codes(content) == {"GRAVITY_BLOCK_MISSING"}


def test_a_body_is_in_a_volume_when_its_centre_of_mass_is() -> None:
    for x, wanted in ((9.9, -3.0), (10.1, 0.0)):
        with loaded(field("directional", (x, 0, 0))) as scene:
            assert pull(scene)[1] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_unit_distance_is_a_length_of_the_node_and_scales_with_it(scale: float) -> None:
    gravity = {"type": "point", "gravity": 3, "point": {"unitDistance": 1}}
    nodes = [
        node({BODY: {"trigger": {"shape": 0}}, GRAVITY: gravity}, scale=[scale] * 3),
        node(BALL, translation=[0, 4, 0]),
    ]
    with loaded(file(nodes, {**SHAPES, GRAVITY: {"gravity": 0}})) as scene:
        assert pull(scene)[1] == pytest.approx(-3 * (scale / 4) ** 2, rel=0.01)


def test_unit_distance_below_an_uneven_scale_is_said() -> None:
    gravity = {"type": "point", "gravity": 3, "point": {"unitDistance": 1}}
    content = file(
        [node({BODY: {"trigger": {"shape": 0}}, GRAVITY: gravity}, scale=[1, 2, 1])], SHAPES
    )
    assert codes(content) == {"GRAVITY_SCALED_UNEVENLY"}
