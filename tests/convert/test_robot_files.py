"""Files that robots name: found, or left out with what needs them and named."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.convert.description import MeshShape
from gltf_bullet.convert.issues import (
    ROBOT_FILE_MISSING,
    ROBOT_FILE_REFUSED,
    ROBOT_FILE_UNREADABLE,
    ROBOT_MESH_CONVERTED,
)
from gltf_bullet.convert.mesh_files import read_mesh_file
from gltf_bullet.convert.mjcf.files import read_mjcf_text
from gltf_bullet.convert.robot_files import read_robot_text
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import ContainerError
from tests.cli.conftest import Run, run
from tools.gltf_builder import GltfBuilder
from tools.stored_png import stored_png

__all__ = ["run"]

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INERTIA = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
GEOMETRY = '<geometry><mesh filename="{}"/></geometry>'
URDF = f"""<robot name="r"><link name="a">{INERTIA}
<visual>{GEOMETRY}</visual>
<collision>{GEOMETRY}</collision>
<collision><geometry><sphere radius=".1"/></geometry></collision></link></robot>"""
SDF_GEOMETRY = "<geometry><mesh><uri>{}</uri></mesh></geometry>"
SDF = f"""<sdf version="1.6"><model name="m"><link name="a">
<visual name="v">{SDF_GEOMETRY}</visual>
<collision name="c">{SDF_GEOMETRY}</collision>
<collision name="d"><geometry><sphere><radius>.1</radius></sphere></geometry></collision>
</link></model></sdf>"""
ROBOTS = {"urdf": URDF, "sdf": SDF}
LEFT_OUT = {
    "urdf": ("link 'a'", "lines 2, 3", "visual and collision"),
    "sdf": ("link 'a'", "lines 2, 3", "visual and collision"),
}


@pytest.mark.parametrize("suffix", ROBOTS)
def test_what_needs_a_missing_file_is_left_out_and_named(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{suffix}"
    name = "package://nowhere/shape.obj"
    path.write_text(ROBOTS[suffix].replace("{}", name))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert len(body.links[0].colliders) == 1  # the ball
    issue = diagnostics.take(ROBOT_FILE_MISSING)
    owner, where, what = LEFT_OUT[suffix]
    assert issue.message.startswith(f"{owner} names the file '{name}' ({where})")
    assert issue.message.endswith(f"left out: its {what}")
    assert not diagnostics.has_errors


@pytest.mark.parametrize("suffix", ROBOTS)
@pytest.mark.parametrize("name", ["meshes/a&b.obj", "two words.obj"])
def test_names_are_read_as_xml_writes_them(suffix: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / name).write_text(TETRAHEDRON)
    path = tmp_path / f"robot.{suffix}"
    path.write_text(ROBOTS[suffix].replace("{}", name.replace("&", "&amp;")))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert not diagnostics.has_errors
    shapes = [c.shape for c in body.links[0].colliders]
    assert [isinstance(shape, MeshShape) for shape in shapes] == [True, False]


def test_files_that_pybullet_does_not_ask_for_are_not_missed(tmp_path: Path) -> None:
    """Textures of URDF and what stands in elements of other programs."""
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="a">{INERTIA}<visual><geometry><sphere radius=".1"/>'
        '</geometry><material name="m"><color rgba="1 0 0 1"/><texture filename="no.png"/>'
        f"</material></visual></link><gazebo><visual>{GEOMETRY}</visual></gazebo></robot>"
    )
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    codes = [issue.code for issue in diagnostics if issue.code != "ROBOT_INERTIA_FROM_FILE"]
    assert codes == ["ROBOT_ELEMENT_IGNORED"] * 2
    assert body.links[0].visuals[0].surface.color == (1.0, 0.0, 0.0, 1.0)


VISUAL_OF_GLB = f"""<robot name="r"><link name="a">{INERTIA}
<visual>{GEOMETRY}</visual>
<collision><geometry><sphere radius=".1"/></geometry></collision></link></robot>"""


def glb(path: Path) -> None:
    """A box of 0.2 x 0.4 x 0.6 m, 1 m along X of its file by a node, with a texture of one blue."""
    texture = stored_png(np.full((2, 2, 3), (0, 0, 255), dtype=np.uint8))
    builder = GltfBuilder()
    points = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)]
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    material = builder.textured(builder.texture(builder.image(texture)))
    uvs = np.full((len(points), 2), 0.25, dtype=np.float32)
    mesh = builder.mesh(points, faces, material=material, attributes={"TEXCOORD_0": uvs})
    builder.node("Box", mesh=mesh, translation=(1, 0, 0))
    builder.write(path)


@pytest.mark.parametrize("suffix", ["urdf", "sdf"])
def test_a_glb_mesh_is_read_for_pybullet(suffix: str, tmp_path: Path) -> None:
    """PyBullet refuses the whole robot for one mesh of a kind that it does not read."""
    glb(tmp_path / "box.glb")
    path = tmp_path / f"robot.{suffix}"
    path.write_text(ROBOTS[suffix].replace("{}", "box.glb"))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    issue = diagnostics.take(ROBOT_MESH_CONVERTED)
    assert issue.message.startswith("link 'a' names the file 'box.glb' (lines 2, 3)")
    (visual,) = body.links[0].visuals
    assert isinstance(visual.shape, MeshShape)
    points = visual.shape.geometry.points
    assert points.min(axis=0) == pytest.approx((0.9, -0.2, -0.3))
    assert points.max(axis=0) == pytest.approx((1.1, 0.2, 0.3))
    assert visual.surface.texture is not None
    assert any(isinstance(c.shape, MeshShape) for c in body.links[0].colliders)


def test_one_glb_visual_is_the_only_finding(tmp_path: Path) -> None:
    glb(tmp_path / "box.glb")
    path = tmp_path / "robot.urdf"
    path.write_text(VISUAL_OF_GLB.replace("{}", "box.glb"))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert len(body.links[0].visuals) == 1
    assert diagnostics.take(ROBOT_MESH_CONVERTED)
    assert not diagnostics.issues


def test_a_mesh_that_nobody_can_read_is_left_out_alone(tmp_path: Path) -> None:
    (tmp_path / "box.glb").write_bytes(b"no glb")
    path = tmp_path / "robot.urdf"
    path.write_text(VISUAL_OF_GLB.replace("{}", "box.glb"))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert len(body.links[0].colliders) == 1
    issue = diagnostics.take(ROBOT_FILE_UNREADABLE)
    assert issue.message.endswith("left out: its visual")
    assert not diagnostics.issues


def leads_outside(suffix: str, folder: Path) -> dict[str, str]:
    """Names that lead to ``outside/secret.obj`` beside the robot's folder, by what they are."""
    secret = folder.parent / "outside" / "secret.obj"
    secret.parent.mkdir()
    secret.write_text(TETRAHEDRON)
    (folder / "link.obj").symlink_to(secret)
    (folder / "linked").symlink_to(secret.parent)
    return {
        "parent": "../outside/secret.obj",
        "absolute": str(secret),
        "file": f"file://{secret}",
        "file of nobody": f"file:///..{secret}",
        "link": "link.obj",
        "linked folder": "linked/secret.obj",
        "package": "package://outside/secret.obj",
        "package of dots": "package://../outside/secret.obj",
        "package of the folder above": f"package://{folder.parent.name}/outside/secret.obj",
        "model": "model://../outside/secret.obj",
    }


@pytest.mark.parametrize("suffix", ROBOTS)
def test_files_outside_of_the_robots_folder_are_refused_by_name(
    suffix: str, tmp_path: Path
) -> None:
    """They were copied into the GLB."""
    folder = tmp_path / "robot"
    folder.mkdir()
    path = folder / f"robot.{suffix}"
    for kind, name in leads_outside(suffix, folder).items():
        path.write_text(ROBOTS[suffix].replace("{}", name))
        diagnostics = Diagnostics()
        (body,) = read_robot(path, diagnostics).bodies
        assert len(body.links[0].colliders) == 1, kind  # the ball
        issue = next(i for i in diagnostics if i.is_error)
        assert repr(name) in issue.message, kind
        # Packages that are not there are missing: nothing leads anywhere.
        assert issue.kind in (ROBOT_FILE_REFUSED, ROBOT_FILE_MISSING), kind
        if not kind.startswith("package"):
            assert issue.kind is ROBOT_FILE_REFUSED, kind


def test_what_is_refused_says_nothing_of_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    messages = []
    for name in ("/etc/passwd", "/etc/no_such"):
        path.write_text(URDF.replace("{}", name))
        diagnostics = Diagnostics()
        read_robot(path, diagnostics)
        messages.append(diagnostics.take(ROBOT_FILE_REFUSED).message.replace(name, "NAME"))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("suffix", ROBOTS)
def test_allowed_folders_and_packages_may_be_named(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, other, ros, shared = (tmp_path / n for n in ("arm", "hand", "ros", "shared"))
    folder = package / "urdf"
    for made in (folder, package / "meshes", other, ros / "base", shared):
        made.mkdir(parents=True)
    for manifest in (package, other):
        (manifest / "package.xml").write_text("<package/>")
    for place in (package / "meshes", other, ros / "base", shared):
        (place / "a.obj").write_text(TETRAHEDRON)
    (ros / "linked").symlink_to(shared)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(ros))
    names = [
        "../meshes/a.obj",
        str(package / "meshes" / "a.obj"),
        "package://arm/meshes/a.obj",
        "package://hand/a.obj",
        "package://base/a.obj",
        "package://linked/a.obj",  # a workspace that links to its sources
        "package://shared/a.obj",
        "../../shared/a.obj",
        f"file://{shared}/a.obj",
    ]
    path = folder / f"robot.{suffix}"
    for number, name in enumerate(names):
        path.write_text(ROBOTS[suffix].replace("{}", name))
        for allowed in [(), (shared,)] if number >= 6 else [()]:
            diagnostics = Diagnostics()
            (body,) = read_robot(path, diagnostics, allowed=allowed).bodies
            found = len(body.links[0].colliders) == 2
            assert found == (number < 6 or bool(allowed)), name


def test_pictures_outside_of_the_robots_folder_are_not_taken_along(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    picture = io.BytesIO()
    Image.new("RGB", (2, 2), (255, 0, 0)).save(picture, "PNG")
    (tmp_path / "private.png").write_bytes(picture.getvalue())
    (folder / "own.png").write_bytes(picture.getvalue())
    (folder / "shape.obj").write_text(
        "mtllib shape.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\n"
        "f 1/1 3/2 2/3\nf 1/1 2/2 4/3\nf 1/1 4/2 3/3\nf 2/1 3/2 4/3\n"
    )
    (folder / "robot.urdf").write_text(URDF.replace("{}", "shape.obj"))
    for name, is_taken in (("own.png", True), ("../private.png", False)):
        (folder / "shape.mtl").write_text(f"newmtl m\nmap_Kd {name}\n")
        (body,) = read_robot(folder / "robot.urdf", Diagnostics()).bodies
        assert (body.links[0].visuals[0].surface.texture is not None) == is_taken


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
@pytest.mark.parametrize("suffix", ["urdf", "sdf"])
@pytest.mark.parametrize("how", ["library", "picture", "long line"])
def test_pybullet_opens_no_library_or_picture_that_a_mesh_names_outside(
    tmp_path: Path, suffix: str, how: str
) -> None:
    """It waited at a pipe for ever, before anybody was asked whether the robot may name it."""
    pipe, folder = tmp_path / "pipe", tmp_path / "robot"
    folder.mkdir()
    os.mkfifo(pipe)
    (folder / "own.mtl").write_text(f"newmtl m\nmap_Kd ../pipe\nmap_Kd {pipe}\n")
    library = "mtllib own.mtl" if how == "picture" else "mtllib ../pipe"
    if how == "long line":  # a comment for us, and a line of its own where PyBullet cuts
        library = "".join("#" + "x" * (1022 - k) + library + "\n" for k in range(20))
    (folder / "a.obj").write_text(f"{library}\nusemtl m\n{TETRAHEDRON}")
    path = folder / f"robot.{suffix}"
    path.write_text(ROBOTS[suffix].replace("{}", "a.obj"))
    diagnostics = Diagnostics()
    (body,) = read_robot(path, diagnostics).bodies
    assert len(body.links[0].colliders) == 2
    shown = [mesh.shape.geometry.name for mesh in body.links[0].visuals]  # type: ignore[union-attr]
    assert shown == ["a"]


def test_a_material_outside_that_exists_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "m.mtl").write_text("newmtl m\n")
    (folder / "a.obj").write_text(f"mtllib ../m.mtl\nmtllib missing.mtl\n{TETRAHEDRON}")
    (folder / "robot.urdf").write_text(URDF.replace("{}", "a.obj"))
    diagnostics = Diagnostics()
    read_robot(folder / "robot.urdf", diagnostics)
    assert "m.mtl" in diagnostics.take(ROBOT_FILE_REFUSED).message
    diagnostics = Diagnostics()
    read_robot(folder / "robot.urdf", diagnostics, allowed=[tmp_path])
    assert ROBOT_FILE_REFUSED not in {issue.kind for issue in diagnostics}


def test_the_command_names_what_it_refuses(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    path, out = folder / "robot.urdf", tmp_path / "out.glb"
    path.write_text(URDF.replace("{}", leads_outside("urdf", folder)["parent"]))
    refused = run("convert", path, out)
    assert refused.code == 1
    assert "ROBOT_FILE_REFUSED" in refused.out
    allowed = run("convert", path, out, "--allow", tmp_path / "outside")
    assert (allowed.code, "ROBOT_FILE" in allowed.out) == (0, False)


# --- What engines are given is what was read ------------------------------------------------------

HIDDEN = "<!--> <![CDATA[ --> {} <!-- ]]> -->"
"""A comment for who looks for its end from its third character on; none for tinyxml2."""


def test_a_mesh_outside_of_the_folder_is_found_behind_a_comment_that_is_none(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret.obj"
    secret.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    robot = tmp_path / "robot" / "robot.urdf"
    robot.parent.mkdir()
    mesh = f"<visual><geometry><mesh filename='{secret}'/></geometry></visual>"
    robot.write_text(f"<robot name='r'><link name='a'>{HIDDEN.format(mesh)}</link></robot>")
    diagnostics = Diagnostics()
    read = read_robot_text(robot, diagnostics)
    assert "secret" not in read.text
    assert "ROBOT_FILE_REFUSED" in {issue.code for issue in diagnostics.issues}


def test_an_include_outside_of_the_folder_likewise(tmp_path: Path) -> None:
    (tmp_path / "inc.xml").write_text("<mujoco><custom><text name='secret'/></custom></mujoco>")
    model = tmp_path / "robot" / "model.xml"
    model.parent.mkdir()
    include = HIDDEN.format(f"<include file='{tmp_path / 'inc.xml'}'/>")
    model.write_text(f"<mujoco>{include}</mujoco>")
    diagnostics = Diagnostics()
    text = read_mjcf_text(model, diagnostics, RobotFolders(model))
    assert "secret" not in text.text
    assert "include" not in text.text
    assert {issue.code for issue in diagnostics.issues} == {"ROBOT_FILE_REFUSED"}


@pytest.mark.skipif(sys.platform == "win32", reason="sparse files")
@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".sdf"])
def test_a_robot_of_many_gigabytes_is_refused_before_it_is_read(
    suffix: str, tmp_path: Path
) -> None:
    robot = tmp_path / f"robot{suffix}"
    with robot.open("wb") as file:
        file.truncate(20 << 30)
    with pytest.raises(ContainerError, match="21474836480 bytes"):
        read_robot_text(robot, Diagnostics())


@pytest.mark.skipif(sys.platform == "win32", reason="sparse files")
def test_a_mesh_of_many_gigabytes_is_left_out(tmp_path: Path) -> None:
    with (tmp_path / "big.obj").open("wb") as file:
        file.truncate(20 << 30)
    robot = tmp_path / "robot.urdf"
    mesh = "<visual><geometry><mesh filename='big.obj'/></geometry></visual>"
    robot.write_text(f"<robot name='r'><link name='a'>{mesh}</link></robot>")
    diagnostics = Diagnostics()
    assert "big.obj" not in read_robot_text(robot, diagnostics).text
    assert "ROBOT_FILE_UNREADABLE" in {issue.code for issue in diagnostics.issues}


def test_a_gltf_mesh_cannot_name_other_files_by_escaped_keys(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(36))
    mesh = tmp_path / "robot" / "mesh.gltf"
    mesh.parent.mkdir()
    mesh.write_text(
        '{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],'
        ' "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],'
        ' "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],'
        ' "bufferViews": [{"buffer": 0, "byteLength": 36}],'
        r' "buffers": [{"\u0075ri": "../secret.bin", "byteLength": 36}]}'
    )
    with pytest.raises(ValueError, match="not permitted"):
        read_mesh_file(str(mesh), RobotFolders(mesh).holds)


def test_files_that_lead_outside_are_one_finding_with_what_would_admit_them(
    tmp_path: Path,
) -> None:
    """A robot with 19 refused meshes had 19 messages, none of which said what to allow."""
    folder, meshes = tmp_path / "robot", tmp_path / "shared" / "meshes"
    for made in (folder, meshes / "arm"):
        made.mkdir(parents=True)
    names = ["../shared/meshes/base.obj", "../shared/meshes/arm/upper.obj", "gone.obj"]
    for name in names[:2]:
        (folder / name).write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    visuals = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names
    )
    text = URDF.replace("</link>", f"{visuals}</link>").replace("{}", "gone.obj")
    path = folder / "robot.urdf"
    path.write_text(text)
    diagnostics = Diagnostics()
    read_robot(path, diagnostics)
    refused = [issue for issue in diagnostics if issue.kind is ROBOT_FILE_REFUSED]
    assert len(refused) == 1
    assert "as do 1 others" in refused[0].message
    assert f"--allow {meshes} lets" in refused[0].message
    assert refused[0].values["what"] == "visual"
    diagnostics = Diagnostics()
    read_robot(path, diagnostics, allowed=(meshes,))
    assert ROBOT_FILE_REFUSED not in [issue.kind for issue in diagnostics]
