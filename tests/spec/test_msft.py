"""MSFT_RigidBodies and MSFT_CollisionPrimitives (004), and their later spelling (schemas)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.spec.files import G, Json, codes, file, loaded, node

CAMEL, CAMEL_SHAPES = "MSFT_RigidBodies", "MSFT_CollisionPrimitives"
LATER, LATER_SHAPES = "MSFT_rigid_bodies", "MSFT_collision_primitives"
SPELLINGS = ("camel", "later")


def written(
    spelling: str, nodes: list[Json], shapes: list[Json], materials: list[Json], **tables: object
) -> bytes:
    """Nodes as (motion, shape, material, joint), in one of the two spellings."""
    made = []
    for each in nodes:
        members = {k: v for k, v in each.items() if k in ("translation", "rotation", "children")}
        motion, shape, material = each.get("motion"), each.get("shape"), each.get("material")
        extensions: Json = {}
        body: Json = {}
        if spelling == "camel":
            if motion is not None:
                body["rigidBody"] = motion
            if shape is not None:
                extensions[CAMEL_SHAPES] = {"collider": shape}
                if material is not None:
                    body["physicsMaterial"] = material
        else:
            if motion is not None:
                body["motion"] = motion
            if shape is not None and material is None:
                body["trigger"] = {"collider": shape}
            elif shape is not None:
                body["collider"] = {"collider": shape, "physicsMaterial": material}
        if "joint" in each:
            body["joint"] = each["joint"]
        if body:
            extensions[CAMEL if spelling == "camel" else LATER] = body
        made.append(node(extensions, **members))
    root = CAMEL if spelling == "camel" else LATER
    entries = [
        {kind: values} if spelling == "camel" else {"type": kind, kind: values}
        for shape in shapes
        for kind, values in shape.items()
    ]
    content: Json = {root: {**({"physicsMaterials": materials} if materials else {}), **tables}}
    if entries:
        content[CAMEL_SHAPES if spelling == "camel" else LATER_SHAPES] = {"colliders": entries}
    return file(made, {k: v for k, v in content.items() if v})


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_rigid_body_falls(spelling: str) -> None:
    content = written(spelling, [{"motion": {"mass": 1}, "shape": 0, "material": 0}],
                      [{"box": {"size": [1, 1, 1]}}], [{}])  # fmt: skip
    with loaded(content) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[1, 3] == pytest.approx(-0.5 * G, rel=0.01)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_is_kinematic_goes_on_at_its_velocity(spelling: str) -> None:
    motion = {"isKinematic": True, "linearVelocity": [1, 0, 0]}
    content = written(spelling, [{"motion": motion, "shape": 0, "material": 0}],
                      [{"sphere": {"radius": 0.5}}], [{}])  # fmt: skip
    with loaded(content) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((1, 0, 0), abs=1e-5)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_inertia_that_is_not_given_is_the_shapes_about_the_default_center(spelling: str) -> None:
    """The centre of mass is the node's origin by default; the box stands 1 m along X."""
    nodes: list[Json] = [
        {"motion": {"mass": 3}, "children": [1]},
        {"shape": 0, "material": 0, "translation": [1, 0, 0]},
    ]
    content = written(spelling, nodes, [{"box": {"size": [1, 1, 1]}}], [{}])
    with loaded(content, gravity=0.0) as scene:
        scene.apply_impulse(0, (0, 0, 0), (0, 3, 0))
        assert scene.bodies[0].angular_velocity[1] == pytest.approx(1 / (1 / 6 + 1), rel=1e-4)


def test_the_inertia_tensor_is_a_matrix() -> None:
    tensor = np.array([[2.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
    motion = {"mass": 1, "inertiaTensor": tensor.ravel().tolist()}
    content = written("camel", [{"motion": motion, "shape": 0, "material": 0}],
                      [{"sphere": {"radius": 0.5}}], [{}])  # fmt: skip
    for axis in range(3):
        with loaded(content, gravity=0.0) as scene:
            scene.apply_impulse(0, (0, 0, 0), np.eye(3)[axis])
            wanted = np.linalg.solve(tensor, np.eye(3)[axis])
            assert scene.bodies[0].angular_velocity == pytest.approx(wanted, rel=1e-4, abs=1e-6)


SIZES = [
    ("box", {"size": [1, 2, 3]}, (1, 2, 3)),
    ("sphere", {"radius": 0.5}, (1, 1, 1)),
    ("sphere", {}, (1, 1, 1)),
    ("cylinder", {"height": 2, "radius": 0.5}, (1, 2, 1)),
    ("cylinder", {}, (0.5, 0.5, 0.5)),
    ("capsule", {"height": 1, "radius": 0.5}, (1, 2, 1)),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("kind", "values", "size"), SIZES)
def test_shapes_have_their_sizes(
    spelling: str, kind: str, values: Json, size: tuple[float, ...]
) -> None:
    if spelling == "later" and kind in ("cylinder", "capsule") and "radius" in values:
        radius = values["radius"]
        values = {"height": values["height"], "radiusBottom": radius, "radiusTop": radius}
    content = written(spelling, [{"shape": 0, "material": 0}], [{kind: values}], [{}])
    with loaded(content) as scene:
        for axis in range(3):
            far = 50.0 * np.eye(3)[axis]
            ahead, back = scene.ray_cast(far, -far), scene.ray_cast(-far, far)
            assert ahead is not None
            assert back is not None
            long = ahead.position[axis] - back.position[axis]
            assert long == pytest.approx(size[axis], abs=2e-3)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_without_a_material_a_collider_is_a_trigger(spelling: str) -> None:
    """004 says so; the later spelling has an object of its own for it."""
    nodes: list[Json] = [
        {"shape": 0},
        {"motion": {"mass": 1}, "shape": 1, "material": 0, "translation": [0, 2, 0]},
    ]
    shapes = [{"box": {"size": [1, 1, 1]}}, {"sphere": {"radius": 0.25}}]
    with loaded(written(spelling, nodes, shapes, [{}])) as scene:
        kinds = []
        for _ in range(240):
            scene.step()
            kinds += [event.kind for event in scene.events]
        assert kinds == ["entered", "exited"]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("mode", "wanted"), [("AVERAGE", 0.55), ("MINIMUM", 0.3),
                                              ("MAXIMUM", 0.8), ("MULTIPLY", 0.24)])  # fmt: skip
def test_combine_modes_are_in_capitals(spelling: str, mode: str, wanted: float) -> None:
    materials = [
        {"staticFriction": value, "dynamicFriction": value, "frictionCombine": mode}
        for value in (0.3, 0.8)
    ]
    nodes: list[Json] = [
        {"shape": 0, "material": 0, "translation": [25, -0.5, 0]},
        {"motion": {"mass": 1, "linearVelocity": [6, 0, 0]}, "shape": 1, "material": 1,
         "translation": [0, 0.1, 0]},
    ]  # fmt: skip
    shapes = [{"box": {"size": [60, 1, 8]}}, {"box": {"size": [0.6, 0.2, 0.6]}}]
    with loaded(written(spelling, nodes, shapes, materials)) as scene:
        scene.step(12)
        before = float(scene.bodies[1].linear_velocity[0])
        scene.step(60)
        slowed = before - float(scene.bodies[1].linear_velocity[0])
        assert slowed / (G * 0.25) == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_constraints_without_a_range_are_locked(spelling: str) -> None:
    """Free along X alone, and softly held there."""
    limits = [
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [0], "min": -0.2, "max": 0.2, "springConstant": 50, "springDamping": 10},
    ]
    key = "constraints" if spelling == "camel" else "limits"
    joint = {"connectedNode": 1, "jointLimits": 0}
    motion = {"mass": 1, "inertiaTensor": [1, 0, 0, 0, 1, 0, 0, 0, 1]}
    if spelling == "later":
        motion = {"mass": 1, "inertiaDiagonal": [1, 1, 1]}
    nodes: list[Json] = [{"joint": joint}, {"motion": motion}]
    content = written(spelling, nodes, [], [], physicsJointLimits=[{key: limits}])
    with loaded(content) as scene:
        for _ in range(960):
            scene.bodies[1].apply_force((5, 0, 0))
            scene.step()
        assert scene.world_from_node(1)[:3, 3] == pytest.approx((0.2 + 5 / 50, 0, 0), abs=2e-3)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_without_a_connected_node_a_joint_holds_on_to_a_fixed_point(spelling: str) -> None:
    limits = [{"linearAxes": [0, 1, 2]}, {"angularAxes": [0, 1, 2]}]
    key = "constraints" if spelling == "camel" else "limits"
    motion: Json = {"mass": 1}
    nodes: list[Json] = [{"motion": motion, "shape": 0, "material": 0, "joint": {"jointLimits": 0}}]
    content = written(spelling, nodes, [{"sphere": {"radius": 0.5}}], [{}],
                      physicsJointLimits=[{key: limits}])  # fmt: skip
    with loaded(content) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((0, 0, 0), abs=1e-3)
    assert "LIMIT_WITHOUT_RANGE_LOCKED" in codes(content)


# --- bodies and joints, as 004 has them -----------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_descendant_with_properties_of_its_own_is_independent(spelling: str) -> None:
    shapes = [{"sphere": {"radius": 0.25}}]
    nodes: list[Json] = [
        {"motion": {"mass": 1, "linearVelocity": [1, 0, 0]}, "shape": 0, "material": 0,
         "children": [1]},
        {"motion": {"mass": 1}, "shape": 0, "material": 0, "translation": [0, 3, 0]},
    ]  # fmt: skip
    with loaded(written(spelling, nodes, shapes, [{}]), gravity=0.0) as scene:
        scene.step(240)
        assert scene.world_from_node(0)[:3, 3] == pytest.approx((1, 0, 0), abs=1e-5)
        assert scene.world_from_node(1)[:3, 3] == pytest.approx((0, 3, 0), abs=1e-9)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_collider_without_a_body_is_static(spelling: str) -> None:
    shapes = [{"box": {"size": [4, 1, 4]}}, {"sphere": {"radius": 0.5}}]
    nodes: list[Json] = [
        {"shape": 0, "material": 0},
        {"motion": {"mass": 50}, "shape": 1, "material": 0, "translation": [0, 2, 0]},
    ]
    with loaded(written(spelling, nodes, shapes, [{}])) as scene:
        scene.step(360)
        assert scene.world_from_node(0)[:3, 3].tolist() == [0, 0, 0]
        assert scene.world_from_node(1)[1, 3] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("axes", [[0], [0, 1], [0, 1, 2]])
def test_constraints_keep_a_distance_from_a_plane_a_line_or_a_point(
    spelling: str, axes: list[int]
) -> None:
    limits = [
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": axes, "min": 0, "max": 0.2},
    ]
    key = "constraints" if spelling == "camel" else "limits"
    motion: Json = {"mass": 1}
    nodes: list[Json] = [
        {"joint": {"connectedNode": 1, "jointLimits": 0}},
        {"motion": motion, "shape": 0, "material": 0},
    ]
    content = written(spelling, nodes, [{"sphere": {"radius": 0.25}}], [{}],
                      physicsJointLimits=[{key: limits}])  # fmt: skip
    with loaded(content, gravity=0.0) as scene:
        for _ in range(480):
            body = scene.bodies[1]
            body.apply_force(np.array((3.0, 3.0, 3.0)) - 2.0 * np.array(body.linear_velocity))
            scene.step()
        at = scene.world_from_node(1)[:3, 3]
        assert np.linalg.norm(at[axes]) == pytest.approx(0.2, abs=1e-3)
        free = [k for k in range(3) if k not in axes]
        assert not free or at[free].min() > 0.5


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_of_the_nodes_should_have_a_body(spelling: str) -> None:
    key = "constraints" if spelling == "camel" else "limits"
    limit = {"linearAxes": [0], "min": 0, "max": 0}
    nodes: list[Json] = [{"joint": {"connectedNode": 1, "jointLimits": 0}}, {}]
    content = written(spelling, nodes, [], [], physicsJointLimits=[{key: [limit]}])
    assert codes(content) == {"JOINT_MOVES_NOTHING"}


def test_a_limit_with_neither_word_for_its_softness_is_hard() -> None:
    limits = [
        {"linearAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [1], "min": -0.3, "max": 0.3},
    ]
    nodes: list[Json] = [
        {"joint": {"connectedNode": 1, "jointLimits": 0}},
        {"motion": {"mass": 1}, "shape": 0, "material": 0},
    ]
    content = written("camel", nodes, [{"sphere": {"radius": 0.25}}], [{}],
                      physicsJointLimits=[{"constraints": limits}])  # fmt: skip
    with loaded(content) as scene:
        scene.step(480)
        assert scene.world_from_node(1)[1, 3] == pytest.approx(-0.3, abs=1e-3)
