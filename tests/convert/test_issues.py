"""What PyBullet does not tell, or glTF cannot say, is named; nothing else is in such worlds."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.robot_files import read_robot_text
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from gltf_bullet.runtime.world_export import robot_file
from tests.convert.robots import DATA
from tests.physics.scenes import Scenery

MASS = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
BALL = {"shapeType": pybullet.GEOM_SPHERE, "radius": 0.1}


def ball(client: int, mass: float = 1.0) -> int:
    shape = pybullet.createCollisionShape(**BALL, physicsClientId=client)
    return int(pybullet.createMultiBody(mass, shape, physicsClientId=client))


def lever(client: int, mass: float = 1.0, joint: int = pybullet.JOINT_REVOLUTE) -> int:
    return int(
        pybullet.createMultiBody(
            0.0, linkMasses=[mass], linkCollisionShapeIndices=[-1], linkVisualShapeIndices=[-1],
            linkPositions=[[0, 0, 0]], linkOrientations=[[0, 0, 0, 1]],
            linkInertialFramePositions=[[0.5, 0, 0]],
            linkInertialFrameOrientations=[[0, 0, 0, 1]], linkParentIndices=[0],
            linkJointTypes=[joint], linkJointAxis=[[0, 1, 0]],
            physicsClientId=client,
        )
    )  # fmt: skip


def terrain(client: int) -> None:
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_HEIGHTFIELD, meshScale=[1, 1, 1], heightfieldData=[0.0] * 9,
        numHeightfieldRows=3, numHeightfieldColumns=3, physicsClientId=client,
    )  # fmt: skip
    pybullet.createMultiBody(0, shape, physicsClientId=client)


def mesh_from_memory(client: int) -> None:
    look = pybullet.createVisualShape(
        pybullet.GEOM_MESH, vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], indices=[0, 1, 2],
        normals=[[0, 0, 1]] * 3, physicsClientId=client,
    )  # fmt: skip
    pybullet.createMultiBody(1, -1, look, physicsClientId=client)


def painted(client: int) -> None:
    """A picture that PyBullet loads, on a mesh that says nowhere what part of it to show."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(DATA / "checker_blue.png", folder / "picture.png")
    (folder / "mesh.mtl").write_text("newmtl painted\nmap_Kd picture.png\n")
    mesh = folder / "mesh.obj"
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    mesh.write_text(f"mtllib mesh.mtl\nusemtl painted\n{points}f 1 2 3\n")
    look = pybullet.createVisualShape(
        pybullet.GEOM_MESH, fileName=str(mesh), physicsClientId=client
    )
    pybullet.createMultiBody(1, -1, look, physicsClientId=client)


def driven(client: int) -> None:
    body = lever(client)
    pybullet.changeDynamics(body, 0, localInertiaDiagonal=[0.1] * 3, physicsClientId=client)
    pybullet.setJointMotorControl2(
        body, 0, pybullet.POSITION_CONTROL, 0.5, force=50.0, physicsClientId=client
    )
    pybullet.stepSimulation(client)


def geared(client: int) -> None:
    pybullet.createConstraint(
        ball(client), -1, ball(client), -1, pybullet.JOINT_GEAR, [0, 0, 1], [0, 0, 0], [0, 0, 0],
        physicsClientId=client,
    )  # fmt: skip


def cloth(client: int) -> None:
    pybullet.resetSimulation(pybullet.RESET_USE_DEFORMABLE_WORLD, physicsClientId=client)
    pybullet.loadSoftBody(
        str(DATA / "cloth_z_up.obj"), mass=1.0, useNeoHookean=0, useMassSpring=1,
        physicsClientId=client,
    )  # fmt: skip


def rolling(client: int) -> None:
    pybullet.changeDynamics(ball(client), -1, rollingFriction=0.1, physicsClientId=client)


def springy(client: int) -> None:
    pybullet.changeDynamics(
        ball(client), -1, contactStiffness=500, contactDamping=20, physicsClientId=client
    )


def anisotropic(client: int) -> None:
    pybullet.changeDynamics(
        ball(client), -1, anisotropicFriction=[1.0, 0.5, 0.0], physicsClientId=client
    )


def anchored(client: int) -> None:
    pybullet.changeDynamics(ball(client), -1, frictionAnchor=1, physicsClientId=client)


def bouncing(client: int) -> None:
    pybullet.changeDynamics(ball(client), -1, restitution=1.5, physicsClientId=client)


def damped(client: int) -> None:
    """Only of bodies in maximal coordinates anything tells it."""
    shape = pybullet.createCollisionShape(**BALL, physicsClientId=client)
    body = pybullet.createMultiBody(1.0, shape, useMaximalCoordinates=True, physicsClientId=client)
    pybullet.changeDynamics(body, -1, linearDamping=0.25, physicsClientId=client)
    pybullet.changeDynamics(body, -1, angularDamping=0.125, physicsClientId=client)


def ball_motor(client: int) -> None:
    """Held at rest against its weight."""
    pybullet.setGravity(0, 0, -10, physicsClientId=client)
    body = lever(client, joint=pybullet.JOINT_SPHERICAL)
    pybullet.changeDynamics(body, 0, localInertiaDiagonal=[0.1] * 3, physicsClientId=client)
    for _ in range(2):
        pybullet.setJointMotorControlMultiDof(
            body, 0, pybullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1], force=[100] * 3,
            physicsClientId=client,
        )  # fmt: skip
        pybullet.stepSimulation(client)


def massless(client: int) -> None:
    lever(client, mass=0.0)


def maximal(client: int) -> None:
    """Drawn otherwise than it collides, so that nothing tells the frame of what is drawn."""
    shape = pybullet.createCollisionShape(**BALL, physicsClientId=client)
    look = pybullet.createVisualShape(
        pybullet.GEOM_BOX, halfExtents=[0.1] * 3, physicsClientId=client
    )
    pybullet.createMultiBody(1.0, shape, look, useMaximalCoordinates=True, physicsClientId=client)


def maximal_robot(client: int) -> None:
    folder = tempfile.mkdtemp()
    path = Path(folder) / "pair.urdf"
    solid = '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    path.write_text(
        f'<robot name="pair"><link name="a">{MASS}{solid}<link name="b">{MASS}</link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    pybullet.loadURDF(str(path), useMaximalCoordinates=True, physicsClientId=client)
    shutil.rmtree(folder)


def batch(client: int) -> None:
    shape = pybullet.createCollisionShape(**BALL, physicsClientId=client)
    pybullet.createMultiBody(
        1.0, shape, batchPositions=[[k, 0, 0] for k in range(5)], physicsClientId=client
    )


CASES: tuple[tuple[Callable[[int], object], str], ...] = (
    (terrain, "COLLIDER_UNREADABLE"),
    (mesh_from_memory, "VISUAL_UNREADABLE"),
    (painted, "TEXTURE_UNREADABLE"),
    (driven, "MOTOR_UNREADABLE"),
    (geared, "CONSTRAINT_NOT_IN_GLTF"),
    (cloth, "SOFT_BODY_NOT_IN_GLTF"),
    (rolling, "NOT_IN_GLTF"),
    (springy, "NOT_IN_GLTF"),
    (anisotropic, "NOT_IN_GLTF"),
    (anchored, "NOT_IN_GLTF"),
    (bouncing, "NOT_IN_GLTF"),
    (damped, "NOT_IN_GLTF"),
    (ball_motor, "MOTOR_UNREADABLE"),
    (massless, "LINK_WITHOUT_MASS"),
    (batch, "BODIES_UNLISTED"),
    (maximal, "MAXIMAL_BODY_UNREADABLE"),
    (maximal_robot, "LINKS_UNREADABLE"),
)


@pytest.mark.parametrize(("build", "code"), CASES, ids=[build.__name__ for build, _ in CASES])
def test_what_is_lost_is_named(build: Callable[[int], object], code: str, tmp_path: Path) -> None:
    with headless_world(gravity=(0.0, 0.0, 0.0)) as client:
        build(client)
        issues = gb.export_world(tmp_path / "world.glb", client)
    assert {issue.code for issue in issues} == {code}
    assert gb.check(tmp_path / "world.glb").is_usable


def test_the_checkerboard_of_planes_is_no_texture_of_anybody(tmp_path: Path) -> None:
    with headless_world() as client:
        shape = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
        pybullet.createMultiBody(0, shape, physicsClientId=client)
        pybullet.loadMJCF(str(DATA / "mjcf" / "ground_plane.xml"), physicsClientId=client)
        assert gb.export_world(tmp_path / "world.glb", client) == ()


def test_lost_contact_springs_are_named_with_their_numbers(tmp_path: Path) -> None:
    with headless_world() as client:
        springy(client)
        ball(client)
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
    assert "contact stiffness 500 N/m and damping 20 N s/m" in issue.message


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (anisotropic, "the factors (1, 0.5, 0) of anisotropic friction"),
        (anchored, "the friction anchor"),
        (bouncing, "the restitution 1.5 of link 'link0'; 1 is written for it"),
        (damped, "linear damping 0.25 and angular damping 0.125"),
        # 1 kg, half a metre off the axis, at 10 m/s^2.
        (ball_motor, "acted with 5 N m last"),
    ],
    ids=["anisotropic", "anchored", "bouncing", "damped", "ball_motor"],
)
def test_what_is_lost_is_named_with_its_numbers(
    build: Callable[[int], object], what: str, tmp_path: Path
) -> None:
    with headless_world(gravity=(0.0, 0.0, 0.0)) as client:
        build(client)
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
    assert what in issue.message


def test_a_constraint_to_a_body_that_is_not_written_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        inner, outer, stranger = (ball(client) for _ in range(3))
        for one, other in ((inner, outer), (outer, inner), (outer, stranger)):
            pybullet.createConstraint(
                one, -1, other, -1, pybullet.JOINT_POINT2POINT, [0, 0, 0], [0, 0, 0], [0, 0, 0],
                physicsClientId=client,
            )  # fmt: skip
        issues = gb.export_world(tmp_path / "world.glb", client, bodies=[inner])
    assert [issue.message for issue in issues] == [
        f"constraint {k} is to body {outer}, which is not written; it is left out" for k in (1, 2)
    ]


def test_bodies_of_a_batch_are_written_once_pybullet_lists_them(tmp_path: Path) -> None:
    with headless_world() as client:
        batch(client)
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
        listed = pybullet.getNumBodies(client)
        assert issue.values["count"] == 5 - listed
        pybullet.syncBodyInfo(client)
        assert gb.export_world(tmp_path / "world.glb", client) == ()
    assert len(gb.read_asset(tmp_path / "world.glb").physics.motions) == 5


def test_a_body_is_written_once_however_often_it_is_named(tmp_path: Path) -> None:
    with headless_world() as client:
        ball(client)
        gb.export_world(tmp_path / "world.glb", client, bodies=[0, 0])
    assert len(gb.read_asset(tmp_path / "world.glb").physics.motions) == 1


def test_a_self_collision_of_nobody_is_refused(tmp_path: Path) -> None:
    with headless_world() as client:
        ball(client)
        with pytest.raises(gb.EngineError, match=r"no body 99 in .* which self_collision names"):
            gb.export_world(tmp_path / "world.glb", client, bodies=[0], self_collision=[99])
    assert not (tmp_path / "world.glb").exists()


URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link></robot>"""


@pytest.mark.parametrize("text", ["<html></html>", "no markup"])
def test_what_is_no_robot_is_refused(text: str, tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(text)
    with pytest.raises(ContainerError, match="must be a robot"):
        robot_file(robot, Diagnostics())


def test_package_paths_are_found_as_ros_finds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the file, under the package's own name, and in ROS_PACKAGE_PATH."""
    box = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    mesh = (
        '<collision><geometry><mesh filename="package://bot/meshes/a.obj"/></geometry></collision>'
    )
    for place, robot in (("src/bot", "src/bot/urdf"), ("elsewhere/bot", "apart")):
        (tmp_path / place / "meshes").mkdir(parents=True)
        (tmp_path / place / "meshes" / "a.obj").write_text(box)
        (tmp_path / robot).mkdir(parents=True, exist_ok=True)
        (tmp_path / robot / "r.urdf").write_text(URDF.format(shape=mesh))
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'elsewhere'}")
    for robot in ("src/bot/urdf", "apart"):
        diagnostics = Diagnostics()
        world = read_robot(tmp_path / robot / "r.urdf", diagnostics)
        assert not len(diagnostics)
        (collider,) = world.bodies[0].links[0].colliders
        assert len(collider.shape.geometry.points) == 4  # type: ignore[union-attr]


def test_mimic_rules_are_read_and_kept(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    text = read_robot_text(DATA / "franka_panda" / "panda.urdf", diagnostics)
    assert text.mimic["panda_finger_joint2"].joint == "panda_finger_joint1"
    file, _ = robot_file(DATA / "franka_panda" / "panda.urdf", diagnostics)
    (node,) = (n for n in file.root["nodes"] if n.get("name") == "panda_finger_joint2")
    assert node["extras"]["gltf_bullet"]["mimic"] == {
        "joint": "panda_finger_joint1", "multiplier": 1.0, "offset": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        {"joint": "nobody"}, {"joint": "follower"}, {"multiplier": 2}, "finger",
        {"joint": "leader", "offset": "x"},
    ],
)  # fmt: skip
def test_a_mimic_rule_that_means_nothing_is_ignored_and_named(rule: object) -> None:
    scenery = Scenery()
    hinge = scenery.entry(
        "physicsJoints",
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
            {"angularAxes": [1, 2], "min": 0, "max": 0},
        ],
    )
    arms = [scenery.node(f"arm {k}", motion={"mass": 1.0}) for k in range(2)]
    for name, arm in zip(("leader", "follower"), arms, strict=True):
        scenery.node(name, joint={"connectedNode": arm, "joint": hinge})
    root = json.loads(scenery.bytes())
    (follower,) = (node for node in root["nodes"] if node["name"] == "follower")
    follower["extras"] = {"gltf_bullet": {"mimic": rule}}
    asset = gb.read_asset(json.dumps(root).encode())
    assert [issue.code for issue in asset.issues] == ["JOINT_MIMIC_UNUSABLE"]


def test_a_mesh_from_memory_is_called_that(tmp_path: Path) -> None:
    """Also where no visual was given: PyBullet draws the collider then, and tells the same."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with headless_world() as client:
        hull = pybullet.createCollisionShape(
            pybullet.GEOM_MESH, vertices=points, physicsClientId=client
        )
        pybullet.createMultiBody(1.0, hull, physicsClientId=client)
        (issue,) = gb.export_world(tmp_path / "world.glb", client)
    assert issue.code == "VISUAL_UNREADABLE"
    assert issue.message.startswith("the mesh from memory of link 'link0' of body 0 cannot be read")
    assert "Errno" not in issue.message
