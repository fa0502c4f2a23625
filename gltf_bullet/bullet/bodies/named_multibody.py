"""Multibodies whose joints and links have names, limits and efforts for all PyBullet code to find.

``createMultiBody`` calls them ``joint1`` and ``link1`` and knows no limits; ``loadURDF`` keeps what
its text says. Measured: motion equals that of the other way to 1e-14 over 600 steps, at about
``loadURDF``'s own cost. Shapes are not shared between such bodies.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.multibody import self_collision_flags, settle_multibody
from gltf_bullet.bullet.headless import is_headless
from gltf_bullet.bullet.kept_files import KEPT_FILES
from gltf_bullet.bullet.rendering.link_looks import NOTHING, LinkLook
from gltf_bullet.bullet.shapes.engine_shapes import (
    HULL_MARGIN,
    has_hulls,
    hulls_of,
    parts_obj,
)
from gltf_bullet.errors import EngineError
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
from gltf_bullet.planning.scene_plan import Derive
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
    engine_pose,
)
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, Vec3, matrices_from_quats

__all__ = ["JointFacts", "LinkLook", "MultibodyNames", "create_named_multibody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFacts:
    """What ``getJointInfo`` is to say of a link's joint, in rad or m, N m or N, and s."""

    name: str
    lower: float = -math.inf
    """Of its position [rad, m]."""
    upper: float = math.inf
    max_force: float = 0.0
    """[N m, N]"""
    max_velocity: float = 0.0
    """[rad/s, m/s]"""
    damping: float = 0.0
    """[N m s/rad, N s/m]"""
    friction: float = 0.0
    """[N m, N]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultibodyNames:
    """What a multibody is called."""

    body: str
    base: str
    links: tuple[str, ...]
    joints: tuple[JointFacts, ...]


_TYPE = {
    LinkJoint.FIXED: "fixed",
    LinkJoint.REVOLUTE: "revolute",
    LinkJoint.PRISMATIC: "prismatic",
    LinkJoint.SPHERICAL: "spherical",
}

_NOWHERE, _UPRIGHT = IDENTITY_POSE.translation, IDENTITY_POSE.rotation_xyzw


def can_be_named(shapes: Sequence[Sequence[PlacedShape]]) -> bool:
    """Whether every shape has a word in URDF that means the same."""
    return not any(
        isinstance(placed.shape, (BvhPlan, InfinitePlanePlan)) for link in shapes for placed in link
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDescription:
    """A multibody in words, wherever it stands."""

    names: MultibodyNames
    text: str
    """URDF; its meshes are among the kept files."""
    digest: bytes
    """Of the text."""
    flags: int
    """For ``loadURDF``."""
    is_centred: bool
    """Whether the base's frame is that of its mass."""
    inertias: tuple[tuple[int, Vec3], ...]
    """Principal moments [kg m^2] by link that the text has no words for."""
    changes: tuple[tuple[int, dict[str, float]], ...]
    """Links, and what ``changeDynamics`` is to tell of them: what the text has no words for."""


def describe_multibody(
    spec: MultibodySpec,
    names: MultibodyNames,
    shapes: Sequence[Sequence[PlacedShape]],
    looks: Mapping[int, LinkLook],
) -> NamedDescription:
    """Put a multibody into words.

    Args:
        spec: Its shape and visual ids are not used, nor where its base stands.
        names: Of the body.
        shapes: Per link, the base first, in link frames.
        looks: By link index, -1 for the base; links without one show nothing.
    """
    text = _urdf(spec, names, shapes, looks)
    # By itself loadURDF makes prisms of cylinders: a car lost 7 % of its thrust (measured).
    flags = pybullet.URDF_USE_INERTIA_FROM_FILE | pybullet.URDF_USE_IMPLICIT_CYLINDER
    if any(shapes[1:]):
        flags |= self_collision_flags(spec)
    return NamedDescription(
        names=names,
        text=text,
        digest=hashlib.blake2b(text.encode(), digest_size=16).digest(),
        flags=flags,
        is_centred=spec.base_from_inertial == IDENTITY_POSE,
        inertias=tuple(entry for entry in spec.inertias if not _is_sayable(entry[1])),
        changes=tuple(_changes(names, shapes)),
    )


def _is_sayable(moments: Vec3) -> bool:
    """Whether ``loadURDF`` keeps moments; of others it makes zeros (measured)."""
    x, y, z = moments
    return x <= y + z and y <= z + x and z <= x + y


def _changes(
    names: MultibodyNames, shapes: Sequence[Sequence[PlacedShape]]
) -> Iterator[tuple[int, dict[str, float]]]:
    for link, joint in enumerate(names.joints):
        # The solve does both; getJointInfo goes on showing the authored values (measured).
        if joint.lower <= joint.upper and joint.lower > -math.inf:
            yield link, {"jointLowerLimit": -1e30, "jointUpperLimit": 1e30}
        if joint.damping:
            yield link, {"jointDamping": 0.0}
    for index, link_shapes in enumerate(shapes):
        if has_hulls(tuple(link_shapes)):
            yield index - 1, {"collisionMargin": HULL_MARGIN}


def create_named_multibody(
    client_id: int,
    spec: MultibodySpec,
    description: NamedDescription,
    world_from_base: Pose,
    derive: Derive = lambda _, make: make(),
) -> int:
    """Create the body and return its id, as ``create_multibody`` does.

    Args:
        client_id: The world.
        spec: That was described.
        description: Of it.
        world_from_base: Where it is to stand; the spec's own place is not used.
        derive: Keeps what is the same for all copies of the plan; see ``ScenePlan.derive``.

    Raises:
        EngineError: The engine refused, or numbered the links otherwise.
    """
    names, flags = description.names, description.flags
    if is_headless(client_id):
        # Meshes for a window that is not there are made once only: a fifth of a robot's price. In
        # a window, bodies that share them would also share what changeVisualShape gives to one.
        flags |= pybullet.URDF_ENABLE_CACHED_GRAPHICS_SHAPES
    path = KEPT_FILES.file(description.digest, ".urdf", description.text.encode)
    is_centred = description.is_centred
    place = world_from_base if is_centred else world_from_base @ spec.base_from_inertial
    # What loadURDF is told of a turn it makes a matrix of, and not to the last bit (measured).
    is_turned = not is_centred or place.rotation_xyzw != _UPRIGHT
    try:
        body = int(
            pybullet.loadURDF(
                path,
                _NOWHERE if is_turned else place.translation,
                useFixedBase=spec.mass == 0.0,
                flags=flags,
                physicsClientId=client_id,
            )
        )
    except pybullet.error as error:
        raise EngineError(f"loadURDF of a jointed body: {error}") from error
    try:
        found = derive((NamedDescription, description.digest), partial(_links, client_id, body))
        if found != list(names.links):
            raise EngineError(f"the engine numbered links {found}; must be {list(names.links)}")
        settle_multibody(client_id, body, spec, description.inertias)
        if is_turned:
            pybullet.resetBasePositionAndOrientation(
                body, place.translation, place.rotation_xyzw, physicsClientId=client_id
            )
        for link, values in description.changes:
            pybullet.changeDynamics(body, link, **values, physicsClientId=client_id)
    except (pybullet.error, EngineError) as error:
        pybullet.removeBody(body, physicsClientId=client_id)
        raise EngineError(f"loadURDF of a jointed body: {error}") from error
    return body


def _links(client_id: int, body: int) -> list[str]:
    """Names in the engine's order: equal texts are numbered alike."""
    return [
        pybullet.getJointInfo(body, k, physicsClientId=client_id)[12].decode()
        for k in range(pybullet.getNumJoints(body, physicsClientId=client_id))
    ]


# --- the text -------------------------------------------------------------------------------------


def _urdf(
    spec: MultibodySpec,
    names: MultibodyNames,
    shapes: Sequence[Sequence[PlacedShape]],
    looks: Mapping[int, LinkLook],
) -> str:
    lines = [f"<robot name={_quoted(names.body)}>"]
    moments = spec.inertia_diagonal
    inertial = spec.base_from_inertial
    lines += _link(names.base, spec.mass, moments, inertial, shapes[0], looks.get(-1, NOTHING))
    for k, link in enumerate(spec.links):
        moments, inertial = link.inertia_diagonal, link.link_from_inertial
        look = looks.get(k, NOTHING)
        lines += _link(names.links[k], link.mass, moments, inertial, shapes[k + 1], look)
        parent = names.base if link.parent < 0 else names.links[link.parent]
        lines += _joint(link, names.joints[k], parent, names.links[k])
    lines.append("</robot>")
    return "\n".join(lines)


def _link(
    name: str,
    mass: float,
    moments: Vec3,
    inertial: Pose,
    shapes: Sequence[PlacedShape],
    look: LinkLook,
) -> list[str]:
    # Any that a body can have, where the true ones are set afterwards.
    ixx, iyy, izz = moments if mass and _is_sayable(moments) else (mass, mass, mass)
    lines = [
        f'<link name={_quoted(name)}><inertial>{_origin(inertial)}<mass value="{mass!r}"/>'
        f'<inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    ]
    geometries = _geometries(shapes)
    for geometry in geometries:
        lines.append(f"<collision>{geometry}</collision>")
        if look.as_colliders:
            lines.append(f"<visual>{geometry}{_material(look)}</visual>")
    if look.file:
        mesh = f"<geometry><mesh filename={_quoted(look.file)}/></geometry>"
        lines.append(f"<visual>{mesh}{_material(look)}</visual>")
    elif look.box:
        (x, y, z), edges = look.box
        origin = _origin(Pose(_UPRIGHT, (x, y, z)))
        lines.append(f"<visual>{origin}{_box(edges)}{_material(look)}</visual>")
    elif geometries and not look.as_colliders:
        # Of a link without a visual PyBullet draws the collision shapes.
        unseen = _box((0.001, 0.001, 0.001))
        lines.append(f"<visual>{unseen}{_material(LinkLook(color=(0.0, 0.0, 0.0, 0.0)))}</visual>")
    return [*lines, "</link>"]


def _material(look: LinkLook) -> str:
    color = " ".join(f"{value:g}" if value in (0.0, 1.0) else repr(value) for value in look.color)
    name = hashlib.blake2b(color.encode(), digest_size=4).hexdigest()
    return f'<material name="{name}"><color rgba="{color}"/></material>'


def _geometries(shapes: Sequence[PlacedShape]) -> list[str]:
    found = []
    hulls = [points for placed in shapes for points in hulls_of(placed)]
    if hulls:
        path = KEPT_FILES.file(_digest_of(hulls), ".obj", lambda: parts_obj(hulls).encode())
        found.append(f"<geometry><mesh filename={_quoted(path)}/></geometry>")
    for placed in shapes:
        match placed.shape:
            case BoxPlan(half_extents=half):
                x, y, z = (2.0 * value for value in half)
                shape = _box((x, y, z))
            case SpherePlan(radius=radius):
                shape = f'<geometry><sphere radius="{radius!r}"/></geometry>'
            case CapsulePlan(radius=radius, mid_height=height):
                shape = _round("capsule", radius, height)
            case CylinderPlan(radius=radius, height=height):
                shape = _round("cylinder", radius, height)
            case HullPlan() | ConvexPartsPlan():
                continue
            case _:
                raise ValueError(f"{placed.shape} has no word in URDF")
        found.append(f"{_origin(engine_pose(placed))}{shape}")
    return found


def _box(edges: Vec3) -> str:
    x, y, z = edges
    return f'<geometry><box size="{x!r} {y!r} {z!r}"/></geometry>'


def _round(kind: str, radius: float, height: float) -> str:
    return f'<geometry><{kind} radius="{radius!r}" length="{height!r}"/></geometry>'


def _digest_of(hulls: Sequence[FloatArray]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for points in hulls:
        digest.update(points.tobytes() + b"|")
    return digest.digest()


def _joint(link: LinkSpec, facts: JointFacts, parent: str, child: str) -> list[str]:
    kind = _TYPE[link.joint]
    has_limits = facts.lower <= facts.upper and facts.lower > -math.inf and facts.upper < math.inf
    if kind == "revolute" and not has_limits:
        kind = "continuous"
    lower, upper = (facts.lower, facts.upper) if has_limits else (0.0, -1.0)
    parts = [
        f'<joint name={_quoted(facts.name)} type="{kind}">{_origin(link.parent_from_link)}'
        f"<parent link={_quoted(parent)}/><child link={_quoted(child)}/>"
    ]
    # What says nothing is left out: PyBullet reads the text again for every copy, and a cart-pole
    # takes 149 us instead of 169 (measured).
    if kind != "fixed":
        x, y, z = link.axis
        parts.append(f'<axis xyz="{x!r} {y!r} {z!r}"/>')
    if kind in ("revolute", "prismatic") or facts.max_force or facts.max_velocity:
        parts.append(
            f'<limit lower="{lower!r}" upper="{upper!r}" effort="{facts.max_force!r}" '
            f'velocity="{facts.max_velocity!r}"/>'
        )
    if facts.damping or facts.friction:
        parts.append(f'<dynamics damping="{facts.damping!r}" friction="{facts.friction!r}"/>')
    return ["".join([*parts, "</joint>"])]


def _origin(pose: Pose) -> str:
    if pose == IDENTITY_POSE:
        return ""
    x, y, z = pose.translation
    if pose.rotation_xyzw == _UPRIGHT:
        return f'<origin xyz="{x!r} {y!r} {z!r}"/>'
    roll, pitch, yaw = _roll_pitch_yaw(pose)
    return f'<origin xyz="{x!r} {y!r} {z!r}" rpy="{roll!r} {pitch!r} {yaw!r}"/>'


def _roll_pitch_yaw(pose: Pose) -> Vec3:
    """Exact also near a pitch of a quarter turn, where only the sum of the others is defined."""
    m = matrices_from_quats(np.array(pose.rotation_xyzw)).tolist()
    yaw = math.atan2(m[1][0], m[0][0]) if math.hypot(m[0][0], m[1][0]) > 1e-6 else 0.0
    sine, cosine = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-m[2][0], cosine * m[0][0] + sine * m[1][0])
    roll = math.atan2(sine * m[0][2] - cosine * m[1][2], cosine * m[1][1] - sine * m[0][1])
    return roll, pitch, yaw


# As ``xml.sax.saxutils.quoteattr`` does, which imports all of HTTP and SSL: 25 ms of a new process.
_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\r": "&#13;",
        "\t": "&#9;",
    }
)


def _quoted(text: str) -> str:
    """An attribute's value."""
    return f'"{text.translate(_ESCAPES)}"'
