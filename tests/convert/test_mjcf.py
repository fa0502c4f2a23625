"""What single elements of MJCF become; expected values are MuJoCo's own or formulas."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.issues import (
    MJCF_APPROXIMATED,
    MJCF_NEEDS_MUJOCO,
    NOT_IN_GLTF,
    ROBOT_FILE_MISSING,
    ROBOT_FILE_REFUSED,
    ROBOT_INVALID,
    ROBOT_REFUSED,
)
from gltf_bullet.convert.mjcf import compiling
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.model import (
    Box,
    Capsule,
    CombineMode,
    Cylinder,
    DofKind,
    Joint,
    MeshShape,
    Plane,
    Sphere,
    may_collide,
)
from gltf_bullet.runtime.world_export import robot_file
from tests.convert.mjcf_models import tensor

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ARM = """<mujoco model="m"><compiler autolimits="true"/><worldbody>
<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" {joint}/><geom name="g" size=".1" {geom}/>
</body></worldbody>{rest}</mujoco>"""


def convert(
    tmp_path: Path, text: str, *, keyframe: str | None = None, allowed: tuple[Path, ...] = ()
) -> tuple[gb.Asset, Diagnostics]:
    path = tmp_path / "robot.xml"
    path.write_text(text)
    diagnostics = Diagnostics()
    return robot_file(path, diagnostics, keyframe=keyframe, allowed=allowed)[1], diagnostics


def arm(tmp_path: Path, joint: str = "", geom: str = "", rest: str = "") -> gb.Asset:
    return convert(tmp_path, ARM.format(joint=joint, geom=geom, rest=rest))[0]


def the_joint(asset: gb.Asset, name: str = "j") -> Joint:
    names = asset.document.tree.names
    (joint,) = (j for node, j in asset.physics.joints.items() if names[node] == name)
    return joint


def node_of(asset: gb.Asset, name: str) -> int:
    return asset.document.tree.names.index(name)


def test_degrees_are_the_unit_and_ref_is_the_position_at_which_the_file_stands(
    tmp_path: Path,
) -> None:
    asset = arm(tmp_path, 'range="-30 60" ref="20"')
    (limit,) = (m for m in the_joint(asset).description.limits if m.minimum != m.maximum)
    assert (limit.minimum, limit.maximum) == pytest.approx((math.radians(-30), math.radians(60)))
    with headless_world() as client:
        scene = asset.instantiate(client)
        (dof,) = scene.joints[the_joint(asset).node].degrees_of_freedom
        assert dof.position == pytest.approx(math.radians(20))
        world = scene.world_from_node(node_of(asset, "a"))
    assert world == pytest.approx(
        np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    )


def test_springs_dampers_and_friction_loss_are_drives(tmp_path: Path) -> None:
    asset = arm(tmp_path, 'stiffness="3" springref="45" damping="0.5" frictionloss="0.2"')
    spring, friction = the_joint(asset).description.drives
    assert (spring.stiffness, spring.damping) == (3.0, 0.5)
    assert spring.position_target == pytest.approx(math.radians(45))
    assert (friction.max_force, friction.damping, friction.stiffness) == (0.2, 200.0, 0.0)


@pytest.mark.parametrize(
    ("actuator", "stiffness", "damping", "position", "speed", "force"),
    [
        ('<position joint="j" kp="5" kv="2" gear="3" ctrlrange="1 2"/>', 45, 18, 1 / 3, 0,
         math.inf),
        ('<position joint="j" kp="5" forcerange="-4 4" gear="3"/>', 45, 0, 0, 0, 12),
        ('<velocity joint="j" kv="2" ctrlrange="1 2"/>', 0, 2, 0, 1, math.inf),
        ('<motor joint="j" gear="3" ctrlrange="-2 2"/>', 0, 0, 0, 0, 6),
        ('<general joint="j" biastype="affine" gainprm="4" biasprm="1 -2 -3"/>', 2, 3, 0.5, 0,
         math.inf),
    ],
)  # fmt: skip
def test_actuators_are_drives_with_gear_gains_and_bounds(
    tmp_path: Path, actuator: str, stiffness: float, damping: float, position: float,
    speed: float, force: float,
) -> None:  # fmt: skip
    """Control is the nearest to 0 that its range has, as in MuJoCo."""
    (drive,) = the_joint(arm(tmp_path, rest=f"<actuator>{actuator}</actuator>")).description.drives
    assert (drive.stiffness, drive.damping) == pytest.approx((stiffness, damping))
    assert (drive.position_target, drive.velocity_target) == pytest.approx((position, speed))
    assert drive.max_force == force


@pytest.mark.parametrize(
    ("joint", "rest", "said"),
    [
        ('type="slide" armature="0.5"', "", "armature of 0.5 kg, along a slide,"),
        ("", '<actuator><muscle joint="j" lengthrange="0 1"/></actuator>', "muscle with"),
        ("", '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>', "tendon of t"),
        ("", '<sensor><jointpos name="s" joint="j"/></sensor>', "sensor of s"),
        ("", '<option density="1.2"/>', "density 1.2 of the medium"),
    ],
)
def test_what_gltf_cannot_say_is_named_with_its_size(
    tmp_path: Path, joint: str, rest: str, said: str
) -> None:
    _, diagnostics = convert(tmp_path, ARM.format(joint=joint, geom="", rest=rest))
    assert any(issue.kind is NOT_IN_GLTF and said in issue.message for issue in diagnostics)


def test_what_is_lost_is_in_extras(tmp_path: Path) -> None:
    asset = arm(tmp_path, 'armature="0.5"', rest='<actuator><motor name="m" joint="j"/></actuator>')
    entry = asset.document.objects("nodes")[the_joint(asset).node]["extras"]["gltf_bullet"]
    assert entry["armature"] == 0.5
    assert entry["actuators"] == [{"name": "m", "gear": 1.0, "gain": 1.0}]


def test_an_approximation_says_how_far_it_is_off(tmp_path: Path) -> None:
    rest = '<actuator><general joint="j" dyntype="filter" dynprm="0.3"/></actuator>'
    _, diagnostics = convert(tmp_path, ARM.format(joint="", geom="", rest=rest))
    message = diagnostics.take(MJCF_APPROXIMATED).message
    assert "a drive without delay; off by 0.3 s of delay" in message


@pytest.mark.parametrize(
    ("geom", "kind"),
    [
        ('type="capsule" fromto="0 0 0 .3 0 .4"', Capsule),
        ('type="cylinder" size=".1 .2"', Cylinder),
        ('type="box" size=".1 .2 .3"', Box),
        ('type="ellipsoid" size=".1 .2 .3"', Sphere),
        ('type="sphere" size=".1"', Sphere),
    ],
)
def test_geoms_are_shapes_that_hold_their_mass(tmp_path: Path, geom: str, kind: type) -> None:
    text = ARM.format(joint="", geom=geom, rest="")
    text = text.replace('size=".1" type="', 'type="') if "size" in geom else text
    asset, _ = convert(tmp_path, text)
    (collider,) = asset.physics.colliders.values()
    assert isinstance(collider.shape, kind)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    (motion,) = asset.physics.motions.values()
    assert motion.mass == pytest.approx(model.body_mass[1], rel=1e-6)


def test_planes_and_height_fields_of_the_world_are_static(tmp_path: Path) -> None:
    asset, _ = convert(
        tmp_path,
        '<mujoco><asset><hfield name="h" nrow="2" ncol="3" size="1 2 .5 .1" '
        'elevation="0 1 0 0 1 2"/></asset><worldbody><geom type="plane" size="1 1 1"/>'
        '<geom type="hfield" hfield="h"/></worldbody></mujoco>',
    )
    kinds = {type(collider.shape) for collider in asset.physics.colliders.values()}
    assert kinds == {Plane, MeshShape}
    assert not asset.physics.motions
    mesh = asset.document.json["accessors"][0]
    assert mesh["min"] == pytest.approx([-1.0, -2.0, -0.1])
    assert mesh["max"] == pytest.approx([1.0, 2.0, 0.5])


def test_who_meets_whom_is_as_in_mujoco(tmp_path: Path) -> None:
    """Bits, parents, excludes; a body of two hinges is the child of what it hangs on as well."""
    asset, _ = convert(
        tmp_path,
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>'
        '<body name="a"><freejoint/><geom name="a" size=".1"/>'
        '<body name="b"><joint axis="1 0 0"/><joint axis="0 1 0"/><geom name="b" size=".1"/></body>'
        '<body name="c"><joint/><geom name="c" size=".1"/>'
        '<body name="d"><joint/><geom name="d" size=".1" contype="2" conaffinity="2"/></body>'
        "</body></body></worldbody>"
        '<contact><exclude body1="b" body2="c"/></contact></mujoco>',
    )
    names, colliders = asset.document.tree.names, asset.physics.colliders
    at = {"floor": next(n for n, c in colliders.items() if isinstance(c.shape, Plane))}
    at |= {name: node for name in "abcd" for node in colliders if names[node] == name}
    jointed = {frozenset("ac"), frozenset("cd")}
    expected = {
        frozenset(("floor", "a")), frozenset(("floor", "b")), frozenset(("floor", "c")),
    }  # fmt: skip
    pairs = [frozenset((p, q)) for p in at for q in at if p < q]
    found = {
        pair for pair in pairs
        if pair not in jointed and may_collide(*(colliders[at[name]].filter for name in pair))
    }  # fmt: skip
    assert found == expected


def test_the_larger_friction_of_a_pair_counts(tmp_path: Path) -> None:
    (collider,) = arm(tmp_path, geom='friction="0.3"').physics.colliders.values()
    assert collider.material is not None
    assert collider.material.dynamic_friction == 0.3
    assert collider.material.friction_combine is CombineMode.MAXIMUM


def test_equalities_are_joints_and_mimic_rules(tmp_path: Path) -> None:
    body = '<body name="{0}" pos="{1} 0 0"><joint name="{0}" axis="0 1 0"/><geom size=".1"/></body>'
    asset, _ = convert(
        tmp_path,
        f"<mujoco><worldbody>{body.format('p', 1)}{body.format('q', 2)}"
        '<body name="free" pos="3 0 0"><freejoint/><geom size=".1"/></body></worldbody><equality>'
        '<joint joint1="p" joint2="q" polycoef="0.1 2"/>'
        '<connect body1="q" body2="free" anchor=".5 0 0"/></equality></mujoco>',
    )
    coupling = the_joint(asset, "p").coupling
    assert coupling is not None
    assert (coupling.leader, coupling.multiplier, coupling.offset) == pytest.approx(
        (the_joint(asset, "q").node, 2.0, 0.1)
    )
    with headless_world() as client:
        scene = asset.instantiate(client)
        joints = {asset.document.tree.names[n]: j for n, j in asset.physics.joints.items()}
        point = next(j for name, j in joints.items() if name.startswith("constraint"))
        ends = [scene.world_from_node(n)[:3, 3] for n in (point.node, point.connected_node)]
    assert ends[0] == pytest.approx((2.5, 0.0, 0.0))
    assert ends[1] == pytest.approx(ends[0])


TWO = "".join(
    f'<body name="{name}" pos="{k} 0 0"><joint name="{name}" type="{kind}" axis="0 1 0"/>'
    '<geom size=".1"/></body>'
    for k, (name, kind) in enumerate([("p", "hinge"), ("q", "hinge"), ("r", "hinge")])
)
TENDONS = (
    '<tendon><fixed name="t"><joint joint="p" coef="0.5"/><joint joint="q" coef="2"/></fixed>'
    '<fixed name="u"><joint joint="p" coef="1"/><joint joint="q" coef="3"/></fixed>'
    '<fixed name="v"><joint joint="q" coef="1"/><joint joint="r" coef="1"/></fixed></tendon>'
)
HELD = '<equality><tendon name="e" tendon1="t" polycoef="0.25 0 0 0 0"/></equality>'


def test_a_tendon_over_two_joints_that_is_held_is_a_gear(tmp_path: Path) -> None:
    """0.5 p + 2 q = 0.25, so that q is 0.125 - p / 4."""
    text = f"<mujoco><worldbody>{TWO}</worldbody>{TENDONS}{HELD}</mujoco>"
    asset, diagnostics = convert(tmp_path, text)
    coupling = the_joint(asset, "q").coupling
    assert coupling is not None
    assert (coupling.leader, coupling.multiplier, coupling.offset) == pytest.approx(
        (the_joint(asset, "p").node, -0.25, 0.125)
    )
    assert any("2 x tendon of u, v;" in issue.message for issue in diagnostics)
    with headless_world() as client:
        scene = asset.instantiate(client)
        scene.joints["p"].position = 0.4
        scene.step(120)
        p, q = (float(scene.joints[name].position) for name in "pq")
    assert q == pytest.approx(0.125 - p / 4.0, abs=1e-3)


def test_an_actuator_of_a_tendon_whose_joints_are_coupled_drives_their_leader(
    tmp_path: Path,
) -> None:
    """u is p + 3 q = p + 3 (0.125 - p / 4) = p / 4 + 0.375: a gear of 2 x 1/4, and MuJoCo's force.

    The force 4 c - 5 (2 u) of the actuator is 4 c - 3.75 - 2.5 p; half of it acts on p.
    """
    actuator = (
        '<general name="a" tendon="u" gear="2" biastype="affine" gainprm="4" biasprm="0 -5 0" '
        'forcerange="-8 8"/>'
    )
    rest = f"{TENDONS}{HELD}<actuator>{actuator}</actuator>"
    text = f"<mujoco><worldbody>{TWO}</worldbody>{rest}</mujoco>"
    asset, diagnostics = convert(tmp_path, text)
    (drive,) = the_joint(asset, "p").description.drives
    assert (drive.stiffness, drive.max_force) == pytest.approx((1.25, 4.0))
    assert drive.stiffness * drive.position_target == pytest.approx(0.5 * -3.75)
    assert not the_joint(asset, "q").description.drives
    assert any("tendon of v;" in issue.message for issue in diagnostics)


def test_an_actuator_of_a_tendon_over_uncoupled_joints_drives_each_of_them(tmp_path: Path) -> None:
    """The length 0.5 p + 2 q with the servo 20 (c - 3 (0.5 p + 2 q)), geared by 3.

    Where both joints move alike, p = q = x, MuJoCo's torques are 3 r (20 c - 20 * 7.5 x), r = 0.5
    and 2; the stiffness of each drive is 20 * 3^2 * r * 2.5, and both have their target at
    x = c / 7.5, where the length is c.
    """
    servo = (
        '<general name="a" tendon="t" gear="3" biastype="affine" gainprm="20" biasprm="0 -20 -2" '
        'forcerange="-8 8"/>'
    )
    key = '<keyframe><key name="k" qpos="0 0 0" ctrl="0.6"/></keyframe>'
    text = (
        f"<mujoco><worldbody>{TWO}</worldbody>{TENDONS}<actuator>{servo}</actuator>{key}</mujoco>"
    )
    asset, diagnostics = convert(tmp_path, text, keyframe="k")
    for name, ratio in (("p", 0.5), ("q", 2.0)):
        (drive,) = the_joint(asset, name).description.drives
        assert drive.stiffness == pytest.approx(20.0 * 9.0 * ratio * 2.5)
        assert drive.damping == pytest.approx(2.0 * 9.0 * ratio * 2.5)
        assert drive.position_target == pytest.approx(0.6 / 7.5)
        assert drive.max_force == pytest.approx(8.0 * 3.0 * ratio)
    assert not the_joint(asset, "r").description.drives
    (issue,) = (i for i in diagnostics if i.kind is MJCF_APPROXIMATED)
    assert "over joints that are not coupled (a)" in issue.message
    assert "up to 900 N m/rad (N/m) against" in issue.message  # of q
    assert any("2 x tendon of u, v;" in issue.message for issue in diagnostics)


def test_a_spring_of_a_tendon_is_one_of_each_joint(tmp_path: Path) -> None:
    """k (L0 - 0.5 p - 2 q), k = 6: stiffness k r 2.5, and a target of L0 / 2.5 where they agree."""
    spring = 'stiffness="6" damping="3" springlength="{}"'
    text = f"<mujoco><worldbody>{TWO}</worldbody>{TENDONS}</mujoco>"
    own = text.replace('name="t"', f'name="t" {spring.format(0.5)}')
    asset, diagnostics = convert(tmp_path, own)
    for name, ratio in (("p", 0.5), ("q", 2.0)):
        (drive,) = the_joint(asset, name).description.drives
        assert (drive.stiffness, drive.damping) == pytest.approx((15.0 * ratio, 7.5 * ratio))
        assert drive.position_target == pytest.approx(0.5 / 2.5)
    assert any("coupled (t)" in i.message and "up to 30 N" in i.message for i in diagnostics)
    assert any("2 x tendon of u, v;" in issue.message for issue in diagnostics)
    slack = text.replace('name="t"', f'name="t" {spring.format("0.1 0.5")}')
    asset, diagnostics = convert(tmp_path, slack)
    assert not the_joint(asset, "p").description.drives
    assert any("3 x tendon of t, u, v;" in issue.message for issue in diagnostics)


def test_a_motor_of_a_tendon_is_exact_on_every_joint(tmp_path: Path) -> None:
    motor = '<motor name="a" tendon="t" gear="3" ctrllimited="true" ctrlrange="-2 2"/>'
    text = f"<mujoco><worldbody>{TWO}</worldbody>{TENDONS}<actuator>{motor}</actuator></mujoco>"
    asset, diagnostics = convert(tmp_path, text)
    for name, ratio in (("p", 0.5), ("q", 2.0)):
        (drive,) = the_joint(asset, name).description.drives
        assert (drive.stiffness, drive.damping) == (0.0, 0.0)
        assert drive.max_force == pytest.approx(3.0 * 2.0 * ratio)
    assert not any(issue.kind is MJCF_APPROXIMATED for issue in diagnostics)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ('<equality><tendon name="e" tendon1="t" tendon2="v"/></equality>', "over 3 joint(s) of e"),
        ('<equality><tendon name="e" tendon1="t"/><tendon name="f" tendon1="u"/></equality>',
         "second equality of a joint of f"),
    ],
)  # fmt: skip
def test_what_no_gear_says_of_tendons_is_named(tmp_path: Path, rest: str, said: str) -> None:
    text = f"<mujoco><worldbody>{TWO}</worldbody>{TENDONS}{rest}</mujoco>"
    _, diagnostics = convert(tmp_path, text)
    assert any(issue.kind is NOT_IN_GLTF and said in issue.message for issue in diagnostics)


def test_a_weld_holds_frames_together(tmp_path: Path) -> None:
    asset, _ = convert(
        tmp_path,
        '<mujoco><worldbody><body name="a" euler="0 0 30"><freejoint/><geom size=".1"/></body>'
        '<body name="b" pos="1 0 0" euler="40 0 0"><freejoint/><geom size=".1"/></body></worldbody>'
        '<equality><weld body1="a" body2="b" anchor=".2 .1 0"/></equality></mujoco>',
    )
    (joint,) = asset.physics.joints.values()
    assert joint.connected_node is not None
    with headless_world() as client:
        scene = asset.instantiate(client)
        one, other = (scene.world_from_node(n) for n in (joint.node, joint.connected_node))
    assert one == pytest.approx(other, abs=1e-9)


def test_keyframes_are_starts_and_kept_in_extras(tmp_path: Path) -> None:
    text = ARM.format(joint="", geom="", rest='<keyframe><key name="k" qpos="0.5"/></keyframe>')
    for name, expected in (("k", 0.5), ("0", 0.5), (None, 0.0)):
        asset, _ = convert(tmp_path, text, keyframe=name)
        with headless_world() as client:
            scene = asset.instantiate(client)
            (dof,) = scene.joints[the_joint(asset).node].degrees_of_freedom
            assert dof.position == pytest.approx(expected)
        notes = asset.document.objects("nodes")[0]["extras"]["gltf_bullet"]
        assert notes["keyframes"] == [{"name": "k", "positions": {"j": 0.5}}]
    with pytest.raises(ValueError, match="keyframe is 'z'; the model has k"):
        convert(tmp_path, text, keyframe="z")


def test_sites_and_cameras_are_nodes(tmp_path: Path) -> None:
    asset, _ = convert(
        tmp_path,
        '<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/>'
        '<site name="s" pos="1 2 3"/>'
        '<camera name="c" pos="0 1 0" fovy="60"/></body></worldbody></mujoco>',
    )
    nodes = asset.document.objects("nodes")
    assert nodes[node_of(asset, "s")]["translation"] == [1.0, 2.0, 3.0]
    (camera,) = asset.document.json["cameras"]
    assert camera["perspective"]["yfov"] == pytest.approx(math.radians(60))
    assert nodes[node_of(asset, "c")]["camera"] == 0


@pytest.mark.parametrize(("flag", "gravity"), [("", 9.81), ('gravity="disable"', 0.0)])
def test_gravity_is_that_of_the_file(tmp_path: Path, flag: str, gravity: float) -> None:
    asset = arm(tmp_path, rest=f"<option><flag {flag}/></option>")
    assert asset.document.json["extensions"]["OMI_physics_gravity"]["gravity"] == pytest.approx(
        gravity
    )


def test_flags_switch_limits_off(tmp_path: Path) -> None:
    asset = arm(tmp_path, 'range="-1 1"', rest='<option><flag limit="disable"/></option>')
    assert all(m.minimum == m.maximum == 0.0 for m in the_joint(asset).description.limits)


# --- files ------------------------------------------------------------------------------------

MESH = """<mujoco model="m">{head}<asset><mesh name="shape" file="{name}"/></asset><worldbody>
<body name="a"><freejoint/><geom type="mesh" mesh="shape"/><geom size=".1"/></body></worldbody>
</mujoco>"""


def test_meshes_are_found_where_the_compiler_says_and_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "a b&c.obj").write_text(TETRAHEDRON)
    for head, name in (
        ('<compiler meshdir="shapes"/>', "a b&amp;c.obj"),
        ("", "shapes/a b&amp;c.obj"),
        ('<compiler meshdir="shapes" strippath="true"/>', "other/a b&amp;c.obj"),
    ):
        asset, diagnostics = convert(tmp_path, MESH.format(head=head, name=name))
        assert not diagnostics.has_errors
        shapes = [collider.shape for collider in asset.physics.colliders.values()]
        (mesh,) = (shape for shape in shapes if isinstance(shape, MeshShape))
        assert mesh.convex_hull


@pytest.mark.parametrize("name", ["../secret.obj", "/etc/passwd", "meshes/../../secret.obj"])
def test_files_outside_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "robot"
    inside.mkdir()
    (tmp_path / "secret.obj").write_text(TETRAHEDRON)
    asset, diagnostics = convert(inside, MESH.format(head="", name=name))
    assert diagnostics.take(ROBOT_FILE_REFUSED).values["what"] == "mesh"
    assert len(asset.physics.colliders) == 1  # the ball
    if name == "../secret.obj":
        asset, diagnostics = convert(inside, MESH.format(head="", name=name), allowed=(tmp_path,))
        assert not diagnostics.has_errors
        assert len(asset.physics.colliders) == 2


def test_no_attribute_lets_mujoco_open_another_file(tmp_path: Path) -> None:
    """Every attribute of MuJoCo's schema that names a file is one that is replaced."""
    from gltf_bullet.convert.mjcf import files

    words = set(mujoco.mj_printSchema(False, False).split())  # no names for them
    named = {word for word in words if "file" in word or word.endswith("dir")} - {"dir"}
    assert named <= {*files._FILES, "meshdir", "texturedir", "assetdir"}
    link = tmp_path / "robot"
    link.mkdir()
    (tmp_path / "secret.obj").write_text(TETRAHEDRON)
    os.symlink(tmp_path / "secret.obj", link / "shape.obj")
    _, diagnostics = convert(link, MESH.format(head="", name="shape.obj"))
    assert diagnostics.take(ROBOT_FILE_REFUSED)


def test_includes_are_written_out_and_may_not_lead_elsewhere(tmp_path: Path) -> None:
    inside = tmp_path / "robot"
    (inside / "parts").mkdir(parents=True)
    (inside / "parts" / "b.xml").write_text(
        '<mujoco><body name="b" pos="0 0 1"><include file="c.xml"/><geom size=".1"/></body>'
        "</mujoco>"
    )
    (inside / "parts" / "c.xml").write_text('<mujoco><joint name="j"/></mujoco>')
    (tmp_path / "d.xml").write_text('<mujoco><body name="d"/></mujoco>')
    text = '<mujoco><worldbody><include file="parts/b.xml"/>{}</worldbody></mujoco>'
    asset, diagnostics = convert(inside, text.format(""))
    assert not diagnostics.has_errors
    assert the_joint(asset)
    _, diagnostics = convert(inside, text.format('<include file="../d.xml"/>'))
    assert diagnostics.take(ROBOT_FILE_REFUSED).values["what"] == "include"
    _, diagnostics = convert(inside, text.format('<include file="none.xml"/>'))
    assert diagnostics.take(ROBOT_FILE_MISSING)
    with pytest.raises(ContainerError) as caught:
        convert(inside, text.format('<include file="parts/b.xml"/>'))
    assert any(issue.kind is ROBOT_INVALID for issue in caught.value.issues)


def test_a_texture_that_is_missing_leaves_the_colour(tmp_path: Path) -> None:
    asset, diagnostics = convert(
        tmp_path,
        '<mujoco><asset><texture name="t" type="2d" file="no.png"/>'
        '<material name="m" texture="t" rgba="1 0 0 1"/></asset><worldbody>'
        '<geom type="plane" size="1 1 1" material="m"/></worldbody></mujoco>',
    )
    assert diagnostics.take(ROBOT_FILE_MISSING).values["what"] == "texture"
    (material,) = asset.document.json["materials"]
    assert material["pbrMetallicRoughness"]["baseColorFactor"][:3] == [1.0, 0.0, 0.0]


# --- what is wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",  # no mass
        '<mujoco><worldbody><geom size="big"/></worldbody></mujoco>',
        "<mujoco><nonsense/></mujoco>",
        '<mujoco><worldbody><geom type="mesh" mesh="none"/></worldbody></mujoco>',
        '<mujoco><worldbody><replicate count="2000000000"><geom size="1"/></replicate></worldbody>'
        "</mujoco>",
        "<mujoco>" + '<default><default class="a">' * 3000 + "</default></default>" * 3000
        + "</mujoco>",
    ],
    ids=["massless", "no number", "unknown", "no mesh", "replicated", "deep"],
)  # fmt: skip
def test_bad_models_are_one_message(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_SECONDS", 2)
    with pytest.raises(ContainerError) as caught:
        convert(tmp_path, text)
    assert [issue.kind for issue in caught.value.issues] == [ROBOT_REFUSED]


def test_the_process_that_compiles_may_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(compiling.program, "__file__", str(program))
    with pytest.raises(ContainerError, match="its process ends"):
        arm(tmp_path)


def test_without_mujoco_the_line_to_install_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ContainerError) as caught:
        arm(tmp_path)
    (issue,) = caught.value.issues
    assert issue.kind is MJCF_NEEDS_MUJOCO
    assert "pip install 'gltf_bullet[mjcf]'" in issue.message


def test_slides_and_balls(tmp_path: Path) -> None:
    asset = arm(tmp_path, 'type="slide" range="-1 2"')
    (limit,) = (m for m in the_joint(asset).description.limits if m.minimum != m.maximum)
    assert (limit.kind, limit.minimum, limit.maximum) == (DofKind.LINEAR, -1.0, 2.0)
    asset = arm(tmp_path, 'type="ball" range="0 50"')
    *_, cone = the_joint(asset).description.limits
    assert (cone.kind, cone.axes) == (DofKind.ANGULAR, (0, 1, 2))
    assert cone.maximum == pytest.approx(math.radians(50))


@pytest.mark.parametrize("axis", ["0 1 0", "1 0 0", "0.6 0 0.8"])
def test_armature_is_inertia_of_the_link_about_its_axis(tmp_path: Path, axis: str) -> None:
    """The rotor's inertia was left out: 91 % of an axis of gymnasium's half_cheetah."""
    text = ARM.replace('axis="0 1 0"', f'axis="{axis}"').replace('size=".1"', 'size=".1 .2"')
    text = text.replace('name="g"', 'name="g" type="cylinder" euler="20 30 40"')
    tensors = []
    for joint in ('armature="0.5"', ""):
        asset, diagnostics = convert(tmp_path, text.format(joint=joint, geom="", rest=""))
        said = [issue.message for issue in diagnostics if issue.kind is MJCF_APPROXIMATED]
        assert any("armature of 0.5 kg m2, up to" in message for message in said) == bool(joint)
        motion = asset.physics.motions[node_of(asset, "a")]
        assert motion.inertia_diagonal is not None
        x, y, z, w = motion.inertia_orientation_xyzw
        tensors.append(tensor(motion.inertia_diagonal, (w, x, y, z)))
    along = np.array([float(part) for part in axis.split()])
    assert tensors[0] - tensors[1] == pytest.approx(0.5 * np.outer(along, along), abs=1e-9)
