"""What there is to draw of real scenes, computed without a window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.model import CollisionFilter, MotionKind
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.records import replace
from gltf_bullet.transforms import IDENTITY_POSE
from gltf_bullet.viewer import COLORS, LAYERS, DebugDraw, Strokes
from gltf_bullet.viewer.layers import (
    VELOCITY_TIME,
    SceneLayers,
    _meets_nothing,
    equivalent_half_extents,
)
from tools.gltf_builder import GltfBuilder

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"


def of_color(strokes: Strokes, name: str) -> np.ndarray:
    """Segments of one colour."""
    return strokes.segments[(strokes.colors == COLORS[name]).all(axis=1)]


def test_wireframes_follow_their_bodies(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    layers = SceneLayers(scene)
    before = of_color(layers.strokes("colliders"), "dynamic")
    assert len(before) == 12
    start = scene.bodies["Crate"].center_of_mass
    scene.step(30)
    after = of_color(layers.strokes("colliders"), "dynamic")
    # A box falls without turning: every edge moves as its centre does.
    shift = scene.bodies["Crate"].center_of_mass - start
    assert shift[2] < -0.05
    np.testing.assert_allclose(after - before, np.broadcast_to(shift, before.shape), atol=1e-6)
    np.testing.assert_allclose(
        after.reshape(-1, 3).mean(axis=0), scene.bodies["Crate"].center_of_mass, atol=1e-6
    )


@pytest.mark.parametrize("up_axis", ["z", "y"])
def test_wireframes_carry_the_scale_of_the_asset(client: int, up_axis: str) -> None:
    sizes = []
    for scale in (1.0, 3.0):
        scene = gb.load_gltf(ASSETS / "falling_box.gltf", client, scale=scale, up_axis=up_axis)
        box = of_color(SceneLayers(scene).strokes("colliders"), "dynamic")
        sizes.append(np.ptp(box.reshape(-1, 3), axis=0))
        scene.remove()
    np.testing.assert_allclose(sizes[1], 3.0 * sizes[0], rtol=1e-6)


def test_colours_tell_kinds_apart(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "kinematic_platform.gltf", client)
    strokes = SceneLayers(scene).strokes("colliders")
    kinds = {body.kind for body in scene.bodies.values()}
    assert kinds == {MotionKind.KINEMATIC, MotionKind.DYNAMIC}
    for kind in kinds:
        assert len(of_color(strokes, kind.value))


def test_a_body_that_an_animation_moves_is_kinematic_meanwhile(client: int) -> None:
    builder = GltfBuilder()
    shapes = {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]}
    builder.root_extension("KHR_implicit_shapes", shapes)
    physics = {"motion": {"mass": 1.0}, "collider": {"geometry": {"shape": 0}}}
    node = builder.node("Moved", extensions={"KHR_physics_rigid_bodies": physics})
    builder.animation("Up", [(node, "translation", [0.0, 1.0], [[0, 0, 0], [0, 1, 0]])])
    scene = gb.load_gltf(builder.gltf(), client)
    layers = SceneLayers(scene)
    scene.step(3)
    assert len(of_color(layers.strokes("colliders"), "kinematic")) == 12
    scene.animations["Up"].stop()
    scene.step()
    assert len(of_color(layers.strokes("colliders"), "dynamic")) == 12


def test_a_collider_that_meets_nothing_is_grey() -> None:
    a = CollisionFilter(systems=frozenset("a"), collide_with=frozenset("b"))
    b = CollisionFilter(systems=frozenset("b"), collide_with=frozenset("a"))
    loner = CollisionFilter(systems=frozenset("c"), collide_with=frozenset("d"))
    rows = [(1, a, False), (2, b, False), (3, loner, False), (-1, a, True), (4, None, False)]
    # The one without a filter admits everybody, but the loner admits only systems of its list.
    assert _meets_nothing(rows) == [False] * 5  # everybody is admitted by the one without systems
    filtered = rows[:4]
    assert _meets_nothing(filtered) == [False, False, True, False]
    # Colliders of one body, and two that nothing moves, do not count as partners.
    assert _meets_nothing([(1, a, False), (1, b, False), (2, loner, False)]) == [True, True, True]
    assert _meets_nothing([(-1, a, True), (-1, b, True), (1, loner, False)]) == [True] * 3
    assert _meets_nothing([(1, loner, False)]) == [False]


def test_a_disabled_collider_keeps_its_wireframe(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "filter_gallery.gltf", client)
    before = SceneLayers(scene).strokes("colliders")
    physics = scene.core.model.now
    loner = CollisionFilter(systems=frozenset({"x"}), collide_with=frozenset({"y"}))
    everyone = CollisionFilter(systems=frozenset({"z"}))
    node = next(n for n, c in physics.colliders.items() if scene.nodes[n].name == "Ghost")
    colliders = {
        n: replace(c, filter=loner if n == node else everyone) for n, c in physics.colliders.items()
    }
    layers = SceneLayers(scene)
    scene.core.rebuild(replace(physics, colliders=colliders))
    after = layers.strokes("colliders")  # notices the rebuilt bodies by itself
    assert len(after) == len(before)
    assert len(of_color(after, "disabled")) == 12


def test_the_equivalent_box_of_a_box_is_the_box_itself() -> None:
    half, mass = np.array([0.1, 0.4, 0.9]), 7.0
    squares = half**2
    moments = mass / 3.0 * (squares.sum() - squares)
    plan = BodyPlan(
        node=0,
        kind=MotionKind.DYNAMIC,
        world_from_body=IDENTITY_POSE,
        mass=mass,
        inertia_diagonal=tuple(moments),
    )
    np.testing.assert_allclose(equivalent_half_extents(plan), half)


def test_axes_of_inertia_stand_at_the_centre_of_mass(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    scene.step(20)
    axes = SceneLayers(scene).strokes("inertia").segments[-3:]
    center = scene.bodies["Crate"].center_of_mass
    np.testing.assert_allclose(axes.mean(axis=1), [center] * 3, atol=1e-6)
    # A uniform box is its own equivalent box: the axes are as long as its edges.
    edges = of_color(SceneLayers(scene).strokes("colliders"), "dynamic")
    lengths, expected = (np.linalg.norm(s[:, 1] - s[:, 0], axis=1) for s in (axes, edges))
    np.testing.assert_allclose(np.sort(lengths), np.sort(expected)[::4], rtol=1e-5)


def test_velocity_arrows_end_where_the_body_would_be(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    layers = SceneLayers(scene)
    assert not len(of_color(layers.strokes("velocities"), "spin"))
    scene.step(30)
    shaft = of_color(layers.strokes("velocities"), "velocity")[0]
    body = scene.bodies["Crate"]
    np.testing.assert_allclose(shaft[0], body.center_of_mass, atol=1e-6)
    np.testing.assert_allclose(shaft[1] - shaft[0], VELOCITY_TIME * body.linear_velocity, atol=1e-9)


def test_contacts_show_normals_and_the_weight(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    scene.step(480)
    layers = SceneLayers(scene)
    strokes = layers.strokes("contacts")
    normals = of_color(strokes, "contact normal")
    count = len(scene.contacts())
    assert count == len(normals) >= 3
    directions = normals[:, 1] - normals[:, 0]
    np.testing.assert_allclose(np.abs(directions[:, 2]), 0.3 * layers.size, rtol=1e-3)
    forces = of_color(strokes, "contact force")[: len(of_color(strokes, "contact force")) // 3]
    total = np.abs((forces[:, 1] - forces[:, 0]).sum(axis=0))
    # The crate is the only body: its weight is drawn as long as the mark size.
    assert total[2] == pytest.approx(layers.size, rel=0.05)


def test_triggers_light_up_and_count(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "goal_line.gltf", client)
    layers = SceneLayers(scene)
    assert len(of_color(layers.strokes("triggers"), "trigger")) >= 12
    assert not len(layers.labels("triggers"))
    seen = 0
    for _ in range(480):
        scene.step()
        inside = len(scene.triggers["Goal"].overlapping)
        if inside and not seen:
            seen = inside
            assert layers.labels("triggers").texts == (f"{inside} inside",)
            assert len(of_color(layers.strokes("triggers"), "occupied")) >= 12
            assert not len(of_color(layers.strokes("triggers"), "trigger"))
    assert seen


def test_names_stand_at_their_nodes(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    scene.step(10)
    labels = SceneLayers(scene).labels("names")
    named = [node for node in scene.nodes if node.name]
    assert labels.texts == tuple(node.name for node in named)
    np.testing.assert_allclose(labels.positions, [node.world_matrix[:3, 3] for node in named])


def test_joints_show_limits_targets_and_where_they_stand(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    layers = SceneLayers(scene)
    joint = scene.joints["HingeOnDoor"]
    low, high = next((c.minimum, c.maximum) for c in joint.limits if c.axes == (1,))
    still = layers.strokes("joints")
    arc = of_color(still, "limit")
    origin = scene.world_from_node(joint.node)[:3, 3]
    rim = arc[np.linalg.norm(arc[:, 0] - origin, axis=1) > 1e-6]
    # The arc is as long as its chords: n of 2 r sin(step / 2).
    pieces = len(rim)
    step = (high - low) / pieces
    chords = np.linalg.norm(rim[:, 1] - rim[:, 0], axis=1)
    np.testing.assert_allclose(chords, 2.0 * layers.size * np.sin(step / 2.0), rtol=1e-6)

    scene.set_drive_targets([0.8])
    scene.step(480)
    position = joint.degrees_of_freedom[0].position
    assert low < position < high
    moved = layers.strokes("joints")
    (pointer,) = of_color(moved, "pointer")
    (target,) = of_color(moved, "drive")
    first = of_color(moved, "limit")[0, 0]  # on the rim, at the lower limit
    vectors = [end - origin for end in (pointer[1], target[1], first)]
    pointer_to, target_to, lower_to = (v / np.linalg.norm(v) for v in vectors)
    assert np.arccos(pointer_to @ target_to) == pytest.approx(abs(position - 0.8), abs=1e-3)
    assert np.cos(position - low) == pytest.approx(pointer_to @ lower_to, abs=1e-4)


def test_soft_limits_have_their_own_colour(client: int, tmp_path: Path) -> None:
    scene = gb.load_gltf(ASSETS / "vehicle.gltf", client)
    soft = [c for j in scene.joints.values() for c in j.limits if np.isfinite(c.stiffness)]
    strokes = SceneLayers(scene).strokes("joints")
    assert bool(soft) == bool(len(of_color(strokes, "soft limit")))


def test_a_file_without_physics_has_nothing_to_draw(client: int) -> None:
    builder = GltfBuilder()
    builder.node("Alone", translation=(1, 2, 3))
    scene = gb.load_gltf(builder.gltf(), client)
    layers = SceneLayers(scene)
    assert [len(layers.strokes(layer)) for layer in LAYERS] == [0] * len(LAYERS)
    assert layers.labels("names").texts == ("Alone",)


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.gltf")), ids=lambda path: path.stem)
def test_every_example_has_finite_strokes_in_every_layer(client: int, path: Path) -> None:
    scene = gb.load_gltf(path, client)
    draw = DebugDraw(scene, show=LAYERS)
    scene.step(5)
    for layer in LAYERS:
        strokes = draw.strokes(layer)
        assert np.isfinite(strokes.segments).all()
        assert strokes.colors.shape == (len(strokes), 3)
    assert len(draw.strokes("colliders"))
    assert bool(len(draw.strokes("joints"))) == bool(len(scene.joints))
    assert draw.update() == 0  # no window: nothing is sent, nothing fails


def test_unknown_layers_and_rates_are_refused(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
    with pytest.raises(ValueError, match="'bones' is no layer; there are colliders"):
        DebugDraw(scene, show=("bones",))
    with pytest.raises(ValueError, match="rate is 0"):
        DebugDraw(scene, rate=0)
    draw = DebugDraw(scene, show=())
    assert draw.toggle("contacts")
    assert draw.shown == ("contacts",)
    assert not draw.toggle("contacts")
    with pytest.raises(ValueError, match="no layer"):
        draw.toggle("bones")
    scene.remove()
    with pytest.raises(gb.SceneRemovedError):
        draw.update()


def test_a_cap_says_what_it_leaves_out(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "shape_zoo.gltf", client)
    draw = DebugDraw(scene, show=("colliders", "names"), max_lines=100, max_texts=2)
    total = len(draw.strokes("colliders"))
    names = len(draw.labels("names"))
    assert total > 100
    with pytest.warns(RuntimeWarning, match=f"colliders: 100 of {total} lines"):
        strokes, labels = draw.picture()
    assert (len(strokes), len(labels)) == (100, 2)
    assert draw.notices[1] == f"names: 2 of {names} texts (max_texts)"
    draw.picture()  # warned once, still said
    assert len(draw.notices) == 2
    draw.max_lines, draw.max_texts = total, names
    assert len(draw.picture()[0]) == total
    assert draw.notices == ()


def test_limits_below_a_mirroring_scale_are_drawn_as_they_act(client: int) -> None:
    khr = "KHR_physics_rigid_bodies"
    limits = [
        {"linearAxes": [0], "min": -0.2, "max": 1.2},
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
    ]
    builder = GltfBuilder()
    builder.root_extension(khr, {"physicsJoints": [{"limits": limits}]})
    builder.node("Joint", extensions={khr: {"joint": {"connectedNode": 2, "joint": 0}}})
    builder.node("Mirror", scale=(-1, 1, 1), children=[0])
    motion = {"mass": 1, "inertiaDiagonal": [1, 1, 1]}
    builder.node("Body", extensions={khr: {"motion": motion}})
    scene = gb.load_gltf(builder.glb(), client, up_axis="y")
    drawn = of_color(SceneLayers(scene).strokes("joints"), "limit")
    assert drawn[:, :, 0].min() == pytest.approx(-1.2)
    assert drawn[:, :, 0].max() == pytest.approx(0.2)


def test_nodes_in_one_place_have_one_label() -> None:
    builder = GltfBuilder()
    for name, place in (("A", 0.0), ("B", 0.0), ("", 0.0), ("C", 1.0)):
        builder.node(name, translation=(place, 0, 0))
    with headless_world() as client:
        scene = gb.load_gltf(builder.glb(), client)
        labels = SceneLayers(scene).labels("names")
    assert labels.texts == ("A, B", "C")
    assert labels.positions == pytest.approx(np.array([[0.0, 0, 0], [1.0, 0, 0]]), abs=1e-9)
