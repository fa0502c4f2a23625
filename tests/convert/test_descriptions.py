"""A described world as glTF, without any engine: nodes, frames, limits and filters by formula."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.convert.description import (
    BallShape,
    BodyDescription,
    BoxShape,
    ColliderDescription,
    JointKind,
    LinkDescription,
    LinkJointDescription,
    MeshGeometry,
    MeshShape,
    RoundShape,
    Surface,
    VisualDescription,
    WorldDescription,
)
from gltf_bullet.convert.physics import collision_filters, place_world
from gltf_bullet.convert.writer import build_world, shown_geometry
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import may_collide
from gltf_bullet.model.joints import DofKind
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3, rotation_to

BALL = ColliderDescription(BallShape(0.1), IDENTITY_POSE)


def lever(joint: LinkJointDescription, angle: float = 0.0) -> WorldDescription:
    """A base, and a link on a joint at (1, 0, 0), turned by ``angle`` about its axis."""
    x, y, z = joint.axis
    sine = math.sin(0.5 * angle)
    turn = Pose((sine * x, sine * y, sine * z, math.cos(0.5 * angle)), (0.0, 0.0, 0.0))
    pivot = Pose.from_translation((1.0, 0.0, 0.0))
    base = LinkDescription(name="base", colliders=(BALL,))
    arm = LinkDescription(
        name="arm", parent=0, joint=joint, mass=1.0, inertia_diagonal=(1.0, 1.0, 1.0),
        parent_from_link=pivot, world_from_link=pivot @ turn, colliders=(BALL,),
    )  # fmt: skip
    return WorldDescription(bodies=(BodyDescription(name="robot", links=(base, arm)),))


AXES = st.tuples(*(st.floats(-1.0, 1.0) for _ in range(3))).filter(
    lambda v: math.sqrt(sum(x * x for x in v)) > 0.1
)


def unit(v: Vec3) -> Vec3:
    length = math.sqrt(sum(x * x for x in v))
    return (v[0] / length, v[1] / length, v[2] / length)


@given(AXES, st.floats(-3.0, 3.0))
def test_the_joint_coordinate_of_the_file_is_the_robots(axis: Vec3, angle: float) -> None:
    """KHR: of the connected node relative to the joint node, about one axis of its frame."""
    joint = LinkJointDescription(
        kind=JointKind.REVOLUTE, name="hinge", axis=unit(axis), lower=-2.0, upper=2.5, max_force=7.0
    )
    file = build_world(lever(joint, angle), Diagnostics())
    (described,) = file.root["extensions"]["KHR_physics_rigid_bodies"]["physicsJoints"]
    (limit,) = (x for x in described["limits"] if x.get("max") == 2.5)
    assert limit["min"] == -2.0
    (k,) = limit["angularAxes"]
    assert described["drives"] == [{"type": "angular", "mode": "force", "axis": k, "maxForce": 7.0}]
    nodes = file.root["nodes"]
    children = {c: n for n, node in enumerate(nodes) for c in node.get("children", ())}

    def world(node: int) -> Pose:
        entry = nodes[node]
        local = Pose(tuple(entry.get("rotation", (0, 0, 0, 1))),
                     tuple(entry.get("translation", (0, 0, 0))))  # fmt: skip
        return world(children[node]) @ local if node in children else local

    names = [node.get("name") for node in nodes]
    own = names.index("hinge")
    connected = nodes[own]["extensions"]["KHR_physics_rigid_bodies"]["joint"]["connectedNode"]
    relative = world(own).inverse() @ world(connected)
    assert relative.translation == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    vector = np.array(relative.rotation_xyzw[:3])
    sign = 1.0 if relative.rotation_xyzw[3] >= 0.0 else -1.0
    assert 2.0 * math.asin(float(np.clip(sign * vector[k], -1, 1))) == pytest.approx(
        angle, abs=1e-6
    )


@pytest.mark.parametrize(
    ("kind", "free"),
    [
        (JointKind.FIXED, {"linear": 0, "angular": 0}),
        (JointKind.REVOLUTE, {"linear": 0, "angular": 1}),
        (JointKind.PRISMATIC, {"linear": 1, "angular": 0}),
        (JointKind.SPHERICAL, {"linear": 0, "angular": 3}),
        (JointKind.PLANAR, {"linear": 2, "angular": 1}),
    ],
)
def test_what_is_not_free_is_locked(kind: JointKind, free: dict[str, int]) -> None:
    placed = place_world(lever(LinkJointDescription(kind=kind, name="j")), Diagnostics())
    (joint,) = placed.joints.values()
    locked = {dof.value: 0 for dof in DofKind}
    for limit in joint.description.limits:
        assert (limit.minimum, limit.maximum) == (0.0, 0.0)
        locked[limit.kind.value] += len(limit.axes)
    assert {key: 3 - count for key, count in locked.items()} == free


BITS = st.tuples(st.sampled_from([1, 2, 4, 8]), st.sampled_from([-1, -3, 0, 2, 4, 12]))


@given(st.lists(st.tuples(BITS, st.booleans()), min_size=1, max_size=5))
def test_filters_admit_whom_bullets_bits_admit(
    bodies: list[tuple[tuple[int, int], bool]],
) -> None:
    """Bullet's default mode: a pair meets when one side's group is in the other's mask."""
    world = WorldDescription(
        bodies=tuple(
            BodyDescription(
                name=f"b{k}",
                self_collision=meets_itself,
                links=tuple(
                    LinkDescription(
                        name=f"l{i}", mass=1.0, group=group, mask=mask, colliders=(BALL,)
                    )
                    for i in range(2)
                ),
            )
            for k, ((group, mask), meets_itself) in enumerate(bodies)
        )
    )
    filters = collision_filters(world)
    links = [(k, i) for k in range(len(bodies)) for i in range(2)]
    for a, b in itertools.combinations(links, 2):
        (group_a, mask_a), itself = bodies[a[0]]
        (group_b, mask_b), _ = bodies[b[0]]
        wanted = bool(group_a & mask_b) or bool(group_b & mask_a)
        if a[0] == b[0]:
            wanted = wanted and itself
        assert may_collide(filters.get((*a, 0)), filters.get((*b, 0))) == wanted


def test_equal_meshes_and_looks_are_written_once() -> None:
    mesh = MeshShape(MeshGeometry(np.eye(3), np.array([[0, 1, 2]])))
    red, blue = Surface((1, 0, 0, 1)), Surface((0, 0, 1, 1))
    looks = [red, red, blue]
    bodies = tuple(
        BodyDescription(
            name=f"b{k}",
            links=(
                LinkDescription(
                    name="l", visuals=(VisualDescription(mesh, IDENTITY_POSE, surface=look),)
                ),
            ),
        )
        for k, look in enumerate(looks)
    )
    root = build_world(WorldDescription(bodies=bodies), Diagnostics()).root
    assert (len(root["meshes"]), len(root["materials"]), len(root["accessors"])) == (2, 2, 2)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (BoxShape((0.2, 0.4, 0.6)), 0.2 * 0.4 * 0.6),
        (BallShape(0.5), 4.0 / 3.0 * math.pi * 0.5**3),
        (RoundShape(0.3, 0.8, is_capsule=False), math.pi * 0.3**2 * 0.8),
        (
            RoundShape(0.3, 0.8, is_capsule=True),
            math.pi * 0.3**2 * 0.8 + 4.0 / 3.0 * math.pi * 0.3**3,
        ),
    ],
)
def test_what_is_shown_encloses_the_shapes_volume(
    shape: BoxShape | BallShape | RoundShape, volume: float
) -> None:
    """By signed tetrahedra, so that triangles also face outwards; up to 4.1 percent are lost."""
    mesh = shown_geometry(shape)
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    found = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0
    assert 0.959 * volume < found <= volume * (1 + 1e-9)
    assert mesh.normals is not None
    outwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), mesh.normals[mesh.triangles[:, 0]])
    assert (outwards > 0.0).all()


@given(AXES, AXES)
def test_a_shortest_rotation_takes_one_vector_to_the_other(a: Vec3, b: Vec3) -> None:
    turn = Pose(rotation_to(unit(a), unit(b)), (0.0, 0.0, 0.0))
    assert turn.rotate(unit(a)) == pytest.approx(unit(b), abs=1e-6)


def test_opposite_vectors_are_half_a_turn_apart() -> None:
    for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        back = (-axis[0], -axis[1], -axis[2])
        assert Pose(rotation_to(axis, back), (0.0, 0.0, 0.0)).rotate(axis) == pytest.approx(back)


def test_the_tree_is_that_of_the_links() -> None:
    joint = LinkJointDescription(kind=JointKind.REVOLUTE, name="hinge")
    nodes = build_world(lever(joint), Diagnostics()).root["nodes"]
    names = [node["name"] for node in nodes]
    assert names == ["world", "robot", "base", "hinge", "arm"]
    assert [node.get("children") for node in nodes] == [[1], [2], [3], [4], None]
