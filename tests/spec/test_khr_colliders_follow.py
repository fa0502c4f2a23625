"""KHR_physics_rigid_bodies, "Colliders" and "Geometry": what moves and scales nodes reaches them.

"Collider transforms are kept in sync with node transforms"; a geometry's node is "the mesh
properties on the referenced node, including any child nodes" (000, 001).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gltf_bullet as gb
from tests.physics.scenes import bodies_in
from tests.spec.files import Json, codes, loaded
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
QUAD = [(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)]
FACES = [(0, 2, 1), (0, 3, 2)]
GROWS = ([0.0, 1.0, 2.0], [(1, 1, 1), (2, 2, 2), (2, 2, 2)], "LINEAR")
QUICKLY = ([0.0, 0.5, 1.0], GROWS[1], "LINEAR")
MOTIONS: dict[str, Json | None] = {
    "static": None,
    "kinematic": {"isKinematic": True},
    "dynamic": {"mass": 1, "gravityFactor": 0},
}


def top(scene: gb.Scene, x: float = 0.0) -> float | None:
    """Of what a ray from above meets [m]."""
    hit = scene.ray_cast((x, 50, 0.1), (x, -50, 0.1))
    return None if hit is None else float(hit.position[1])


def builder_of(motion: Json | None, *, role: str = "collider") -> tuple[GltfBuilder, Json]:
    builder = GltfBuilder()
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "box"}]})
    members: Json = {role: {"geometry": {"shape": 0}}}
    if motion is not None:
        members["motion"] = motion
    return builder, {KHR: members}


@contextmanager
def playing(builder: GltfBuilder) -> Iterator[gb.Scene]:
    with loaded(builder.glb(), gravity=0.0) as scene:
        for animation in scene.animations:
            animation.loop = False
        yield scene


# --- animated scale -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["node", "pointer"])
@pytest.mark.parametrize("kind", MOTIONS)
def test_the_own_scale_of_a_node_is_animated(kind: str, target: str) -> None:
    builder, extension = builder_of(MOTIONS[kind])
    node = builder.node("Body", extensions=extension)
    where = (node, "scale") if target == "node" else (f"/nodes/{node}/scale", "pointer")
    builder.animation("Grow", [(*where, *QUICKLY)])
    with playing(builder) as scene:
        scene.step(150)
        assert scene.nodes[node].scale == pytest.approx((2, 2, 2), abs=1e-6)
        assert scene.get(f"/nodes/{node}/scale") == pytest.approx((2, 2, 2), abs=1e-6)
        assert top(scene) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("kind", MOTIONS)
def test_a_scale_above_a_node_is_animated(kind: str) -> None:
    """A dynamic body stays where physics has it and grows; what only follows is carried away."""
    builder, extension = builder_of(MOTIONS[kind])
    node = builder.node("Body", translation=(0, 3, 0), extensions=extension)
    above = builder.node("Above", children=[node])
    builder.animation("Grow", [(above, "scale", *QUICKLY)])
    with playing(builder) as scene:
        scene.step(150)
        height = 3.0 if kind == "dynamic" else 6.0
        assert scene.world_from_node(node)[1, 3] == pytest.approx(height, abs=1e-6)
        assert scene.world_from_node(node)[1, 1] == pytest.approx(2.0, abs=1e-6)
        assert top(scene) == pytest.approx(height + 1.0, abs=0.02)


@pytest.mark.parametrize("kind", MOTIONS)
def test_translation_and_scale_are_animated_together(kind: str) -> None:
    builder, extension = builder_of(MOTIONS[kind])
    node = builder.node("Body", extensions=extension)
    builder.animation(
        "Both",
        [
            (node, "scale", *QUICKLY),
            (node, "translation", [0.0, 0.5, 1.0], [(0, 0, 0), (0, 1, 0), (0, 1, 0)], "LINEAR"),
        ],
    )
    with playing(builder) as scene:
        scene.step(150)
        assert scene.world_from_node(node)[:3, 3] == pytest.approx((0, 1, 0), abs=1e-3)
        assert top(scene) == pytest.approx(2.0, abs=0.02)


def test_a_kinematic_body_keeps_its_velocity_while_it_is_scaled() -> None:
    builder, extension = builder_of({"isKinematic": True, "linearVelocity": [0, 1, 0]})
    node = builder.node("Body", extensions=extension)
    builder.animation("Grow", [(node, "scale", *GROWS)])
    with playing(builder) as scene:
        scene.step(360)
        assert scene.world_from_node(node)[1, 3] == pytest.approx(1.5, abs=0.01)
        assert top(scene) == pytest.approx(2.5, abs=0.03)


def test_a_trigger_is_scaled() -> None:
    builder, extension = builder_of(None, role="trigger")
    node = builder.node("Trigger", extensions=extension)
    _, solid = builder_of(MOTIONS["dynamic"])
    ball = builder.node("Box", translation=(0, 1.2, 0), extensions=solid)
    builder.animation("Grow", [(node, "scale", *GROWS)])
    with playing(builder) as scene:
        found = []
        for _ in range(360):
            scene.step()
            found += [(event.kind, event.collider_node) for event in scene.events]
        assert found == [("entered", ball)]


def test_a_box_on_a_growing_body_is_lifted() -> None:
    builder, extension = builder_of(MOTIONS["static"])
    node = builder.node("Ground", extensions=extension)
    _, falls = builder_of({"mass": 1})
    box = builder.node("Box", translation=(0, 1.0, 0), extensions=falls)
    builder.animation("Grow", [(node, "scale", [0.0, 4.0], [(1, 1, 1), (2, 2, 2)], "LINEAR")])
    with loaded(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(1200)
        assert scene.world_from_node(box)[1, 3] == pytest.approx(1.5, abs=0.03)


def test_what_physics_owns_of_a_scaled_body_is_said() -> None:
    for kind, wanted in (("dynamic", {"ANIMATED_SIZE"}), ("kinematic", set()), ("static", set())):
        builder, extension = builder_of(MOTIONS[kind])
        node = builder.node("Body", extensions=extension)
        builder.animation("Grow", [(node, "scale", *GROWS)])
        assert codes(builder.glb()) == wanted


def test_a_snapshot_has_the_scale_of_its_moment() -> None:
    builder, extension = builder_of(MOTIONS["dynamic"])
    node = builder.node("Body", extensions=extension)
    builder.animation("Grow", [(node, "scale", *GROWS)])
    with playing(builder) as scene:
        scene.step(120)
        state, then = scene.save_state(), top(scene)
        scene.step(240)
        scene.restore_state(state)
        assert top(scene) == pytest.approx(then, abs=1e-6)
        assert scene.nodes[node].scale == pytest.approx((1.5, 1.5, 1.5), abs=0.02)


def test_a_recording_has_the_scale_of_a_body(tmp_path: Path) -> None:
    builder, extension = builder_of({"isKinematic": True, "linearVelocity": [0, 1, 0]})
    node = builder.node("Body", extensions=extension)
    builder.animation("Grow", [(node, "scale", *GROWS)])
    with playing(builder) as scene:
        recording = gb.record(scene)
        scene.step(240)
        recording.export_glb(tmp_path / "rollout.glb")
    with loaded((tmp_path / "rollout.glb").read_bytes(), gravity=0.0) as scene:
        scene.animations[0].loop = False
        scene.step(120)
        assert scene.nodes[node].scale == pytest.approx((1.5, 1.5, 1.5), abs=0.01)
        assert scene.world_from_node(node)[1, 3] == pytest.approx(0.5, abs=0.01)


# --- geometry.node --------------------------------------------------------------------------------


def subtree(*, elsewhere: bool, animated: str | None) -> GltfBuilder:
    """A floor (0) whose geometry is a node with the mesh on its child."""
    builder = GltfBuilder()
    mesh = builder.mesh(QUAD, FACES)
    reference = 1 if elsewhere else 0
    extension = {KHR: {"collider": {"geometry": {"node": reference}}}}
    if elsewhere:
        builder.node("Floor", extensions=extension)
        builder.node("Reference", translation=(50, 0, 0), children=[2])
        child = builder.node("Child", mesh=mesh)
    else:
        builder.node("Floor", extensions=extension, children=[1])
        child = builder.node("Child", mesh=mesh)
    if animated is not None:
        moves = ([0.0, 1.0, 2.0], [(0, 0, 0), (0, 1, 0), (0, 1, 0)], "LINEAR")
        where = (child, "translation")
        if animated == "pointer":
            where = (f"/nodes/{child}/translation", "pointer")
        builder.animation("Lift", [(*where, *moves)])
    return builder


@pytest.mark.parametrize("animated", ["node", "pointer"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_child_of_the_geometrys_node_is_animated(elsewhere: bool, animated: str) -> None:
    with playing(subtree(elsewhere=elsewhere, animated=animated)) as scene:
        assert top(scene) == pytest.approx(0.0, abs=1e-6)
        scene.step(120)
        assert top(scene) == pytest.approx(0.5, abs=0.02)
        scene.step(240)
        assert top(scene) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_child_of_the_geometrys_node_is_set(elsewhere: bool) -> None:
    with playing(subtree(elsewhere=elsewhere, animated=None)) as scene:
        child = 2 if elsewhere else 1
        scene.set(f"/nodes/{child}/translation", (0, 1, 0))
        assert top(scene) == pytest.approx(1.0, abs=1e-4)
        scene.set(f"/nodes/{child}/scale", (0.05, 1, 0.05))
        assert top(scene, 0.5) is None


def test_a_set_child_does_not_move_the_same_mesh_elsewhere() -> None:
    """Two colliders of two nodes that are alike but for one child, which is set."""
    builder = GltfBuilder()
    mesh = builder.mesh(QUAD, FACES)
    for x, name in ((0, "One"), (10, "Other")):
        child = builder.node(f"{name}Child", mesh=mesh)
        index = child + 1
        collider = {KHR: {"collider": {"geometry": {"node": index}}}}
        builder.node(name, translation=(x, 0, 0), children=[child], extensions=collider)
    with playing(builder) as scene:
        scene.set("/nodes/0/translation", (0, 1, 0))
        assert top(scene) == pytest.approx(1.0, abs=1e-4)
        assert top(scene, 10.0) == pytest.approx(0.0, abs=1e-4)


def test_a_ball_rides_on_an_animated_child() -> None:
    builder = subtree(elsewhere=False, animated="node")
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "sphere"}]})
    ball = builder.node(
        "Ball",
        translation=(0, 0.5, 0),
        extensions={KHR: {"motion": {}, "collider": {"geometry": {"shape": 0}}}},
    )
    with loaded(builder.glb()) as scene:
        scene.animations[0].loop = False
        scene.step(720)
        assert scene.world_from_node(ball)[1, 3] == pytest.approx(1.5, abs=0.05)


def test_a_child_that_is_a_body_stays_in_the_geometry_as_authored() -> None:
    builder = GltfBuilder()
    mesh = builder.mesh(QUAD, FACES)
    child = builder.node("Child", mesh=mesh, extensions={KHR: {"motion": {"mass": 1}}})
    floor = child + 1
    collider = {KHR: {"collider": {"geometry": {"node": floor}}}}
    builder.node("Floor", children=[child], extensions=collider)
    with loaded(builder.glb()) as scene:
        scene.step(240)
        assert scene.world_from_node(child)[1, 3] < -1.0
        assert top(scene) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["kinematic", "dynamic"])
def test_a_child_of_a_bodys_geometry_is_animated(kind: str) -> None:
    """A box whose mesh stands on a child, which rises by 1 m within the body."""
    builder = GltfBuilder()
    points = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    mesh = builder.mesh(points, faces)
    collider = {"geometry": {"node": 1, "convexHull": True}}
    builder.node(
        "Body", children=[1], extensions={KHR: {"motion": MOTIONS[kind], "collider": collider}}
    )
    builder.node("Geometry", children=[2])
    builder.node("Child", mesh=mesh)
    moves = ([0.0, 1.0, 2.0], [(0, 0, 0), (0, 1, 0), (0, 1, 0)], "LINEAR")
    builder.animation("Lift", [(2, "translation", *moves)])
    with playing(builder) as scene:
        scene.step(360)
        assert top(scene) == pytest.approx(1.5, abs=0.03)
        assert scene.world_from_node(0)[1, 3] == pytest.approx(0.0, abs=1e-6)


def test_a_child_of_a_triggers_geometry_is_animated() -> None:
    builder = GltfBuilder()
    points = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    mesh = builder.mesh(points, faces)
    trigger = {"geometry": {"node": 0, "convexHull": True}}
    builder.node("Trigger", children=[1], extensions={KHR: {"trigger": trigger}})
    builder.node("Child", mesh=mesh)
    builder.root_extension("KHR_implicit_shapes", {"shapes": [{"type": "box"}]})
    body = {"motion": {"gravityFactor": 0}, "collider": {"geometry": {"shape": 0}}}
    builder.node("Box", translation=(0, 1.5, 0), extensions={KHR: body})
    moves = ([0.0, 1.0, 2.0], [(0, 0, 0), (0, 1, 0), (0, 1, 0)], "LINEAR")
    builder.animation("Lift", [(1, "translation", *moves)])
    with playing(builder) as scene:
        found = []
        for _ in range(360):
            scene.step()
            found += [(event.kind, event.collider_node) for event in scene.events]
        assert found == [("entered", 2)]


@pytest.mark.parametrize("kind", MOTIONS)
def test_a_collider_has_its_exact_size_when_its_scale_comes_to_rest(kind: str) -> None:
    builder, extension = builder_of(MOTIONS[kind])
    node = builder.node("Body", extensions=extension)
    keys = ([0.0, 1.003, 2.0], [(1, 1, 1), (1.777, 1.777, 1.777), (1.777, 1.777, 1.777)], "LINEAR")
    builder.animation("Grow", [(node, "scale", *keys)])
    with playing(builder) as scene:
        scene.step(300)
        assert top(scene) == pytest.approx(1.777 / 2, abs=1e-5)
        body_ids = bodies_in(scene.client_id)
        scene.step(300)
        assert bodies_in(scene.client_id) == body_ids
