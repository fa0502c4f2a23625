"""A multibody as URDF text for ``loadURDF``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from gltf_bullet.bullet.bodies.multibody import mass_at_first
from gltf_bullet.bullet.kept_files import kept_file
from gltf_bullet.bullet.rendering.visuals import NOTHING, LinkLook
from gltf_bullet.bullet.shapes.engine_shapes import OBJ_SCALE, hulls_of, parts_obj
from gltf_bullet.digests import digest_of
from gltf_bullet.planning.body_plans import ENGINE_FRICTION
from gltf_bullet.planning.joints.multibody_spec import LinkJoint, LinkSpec, MultibodySpec
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

# --- Prisms that PyBullet makes of cylinders, common in robots read from URDF ---------------------

_SIDES = 32
_STEPS = 10216
"""Share of a hull's extent that Bullet rounds corners to (``btConvexHullComputer``), as its
inverse.
"""


def prism_points(radius: float, height: float) -> FloatArray:
    """Return the corners of ``loadURDF``'s default prism for a cylinder, shape [64, 3]."""
    angles = 2.0 * np.pi / _SIDES * np.arange(_SIDES)
    ring = radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    half = np.full((_SIDES, 1), 0.5 * height)
    return np.concatenate([np.hstack([ring, half]), np.hstack([ring, -half])])


def prism_size(points: FloatArray) -> tuple[float, float] | None:
    """Return radius and height [m] of the cylinder whose prism has these corners, in any order.

    The match is as exact as Bullet's rounding of corners. Reading a mesh and making a hull of it
    takes Bullet twice as long, again for every copy (measured: 55 us).
    """
    if len(points) != 2 * _SIDES:
        return None
    _, y, z = np.abs(points).max(axis=0)
    # The values as they were written, before they were rounded to single precision.
    radius, height = float(str(np.float32(y))), 2.0 * float(str(np.float32(z)))
    sides = np.round(np.arctan2(points[:, 0], points[:, 1]) * _SIDES / (2.0 * np.pi)).astype(int)
    rows = sides % _SIDES + np.where(points[:, 2] > 0.0, 0, _SIDES)
    expected = prism_points(radius, height)
    if len(set(rows.tolist())) != len(points):
        return None
    is_same = bool((np.abs(expected[rows] - points) <= np.ptp(points, axis=0) / _STEPS).all())
    return (radius, height) if is_same else None


class JointFacts(Struct, frozen=True, kw_only=True):
    """Properties of a link's joint that ``getJointInfo`` reports."""

    name: str
    lower: float = -math.inf
    """Lower limit of the position [rad, m]."""
    upper: float = math.inf
    max_force: float = 0.0
    """Largest force [N m, N]; 0 if not stated."""
    max_velocity: float = 0.0
    """Largest velocity [rad/s, m/s]; 0 if not stated."""
    damping: float = 0.0
    """Viscous damping [N m s/rad, N s/m]."""
    friction: float = 0.0
    """Coulomb friction [N m, N]."""


class MultibodyNames(Struct, frozen=True, kw_only=True):
    """Names of a multibody, its links and its joints."""

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
_UPRIGHT = IDENTITY_POSE.rotation_xyzw
_MESH_FILE = re.compile('<mesh filename="([^"]*)"')


def has_urdf_shapes(shapes: Sequence[Sequence[PlacedShape]]) -> bool:
    """Return True if URDF has an element for every shape."""
    return not any(
        isinstance(placed.shape, (BvhPlan, InfinitePlanePlan)) for link in shapes for placed in link
    )


def is_valid_inertia(moments: Vec3) -> bool:
    """Return True if ``loadURDF`` keeps the moments; it replaces others by zeros (measured)."""
    x, y, z = moments
    return x <= y + z and y <= z + x and z <= x + y


def mesh_files(text: str) -> list[str]:
    """Return the paths of the mesh files that a text names."""
    return _MESH_FILE.findall(text)


def multibody_text(
    spec: MultibodySpec,
    names: MultibodyNames,
    shapes: Sequence[Sequence[PlacedShape]],
    looks: Mapping[int, LinkLook],
    frictions: Mapping[int, float],
    folder: Path,
) -> str:
    """Return the URDF text; its meshes are kept files.

    Args:
        spec: Its shape and visual ids are not used, nor its pose in the world.
        names: Names of the body.
        shapes: Shapes per link in link frames, the base first.
        looks: Visuals by link index, -1 for the base; links without one show nothing.
        frictions: Friction by link index; others have the engine's default.
        folder: Folder of the meshes.
    """
    lines = [f"<robot name={_quoted(names.body)}>"]
    places = [_geometries(link, folder, may_be_prisms=not has_cylinders(shapes)) for link in shapes]
    mass, inertial = mass_at_first(spec), spec.base_from_inertial
    moments = spec.inertia_diagonal if spec.mass else (mass, mass, mass)
    lines += _link(
        names.base, _body(mass, moments, inertial), frictions.get(-1), places[0], looks.get(-1)
    )
    for k, link in enumerate(spec.links):
        body = _body(link.mass, link.inertia_diagonal, link.link_from_inertial)
        lines += _link(
            names.links[k], body, frictions.get(k), places[k + 1], looks.get(k), link.link_from_body
        )
        parent = names.base if link.parent < 0 else names.links[link.parent]
        lines += _joint(link, names.joints[k], parent, names.links[k])
    lines.append("</robot>")
    return "\n".join(lines)


def _body(mass: float, moments: Vec3, inertial: Pose) -> str:
    # Moments that any body can have, where the true ones are set afterwards.
    ixx, iyy, izz = moments if mass and is_valid_inertia(moments) else (mass, mass, mass)
    return (
        f'<inertial>{_origin(inertial)}<mass value="{mass!r}"/>'
        f'<inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )


def _link(
    name: str,
    body: str,
    friction: float | None,
    geometries: Sequence[str],
    look: LinkLook | None,
    link_from_body: Pose = IDENTITY_POSE,
) -> list[str]:
    look = look or NOTHING
    lines = [f"<link name={_quoted(name)}>{body}"]
    if friction is not None and friction != ENGINE_FRICTION:
        lines.append(f'<contact><lateral_friction value="{friction!r}"/></contact>')
    for geometry in geometries:
        lines.append(f"<collision>{geometry}</collision>")
        if look.as_colliders:
            lines.append(f"<visual>{geometry}{_material(look)}</visual>")
    if look.file:
        mesh = f"<geometry><mesh filename={_quoted(look.file)}/></geometry>"
        lines.append(f"<visual>{_origin(link_from_body)}{mesh}{_material(look)}</visual>")
    elif look.box:
        (x, y, z), edges = look.box
        origin = _origin(link_from_body @ Pose(_UPRIGHT, (x, y, z)))
        lines.append(f"<visual>{origin}{_box(edges)}{_material(look)}</visual>")
    elif geometries and not look.as_colliders:
        # PyBullet draws the collision shapes of a link without a visual.
        hidden = _material(LinkLook(color=(0.0, 0.0, 0.0, 0.0)))
        lines.append(f"<visual>{_box((0.001, 0.001, 0.001))}{hidden}</visual>")
    return [*lines, "</link>"]


def _material(look: LinkLook) -> str:
    color = " ".join(f"{value:g}" if value in (0.0, 1.0) else repr(value) for value in look.color)
    name = digest_of(color.encode()).hex()
    return f'<material name="{name}"><color rgba="{color}"/></material>'


def has_cylinders(shapes: Sequence[Sequence[PlacedShape]]) -> bool:
    """Return True if ``loadURDF`` needs the flag that keeps all its cylinders round."""
    return any(isinstance(placed.shape, CylinderPlan) for link in shapes for placed in link)


def _geometries(shapes: Sequence[PlacedShape], folder: Path, *, may_be_prisms: bool) -> list[str]:
    found = []
    prisms = {k: size for k, placed in enumerate(shapes) if (size := _prism_size(placed))}
    if not may_be_prisms:
        prisms = {}
    # One hull mesh per frame: Bullet's grid for corners follows the axes.
    hulls: dict[Pose, list[FloatArray]] = {}
    for k, placed in enumerate(shapes):
        if k not in prisms and (corners := hulls_of(placed.shape)):
            hulls.setdefault(placed.body_from_shape, []).extend(corners)
    for pose, parts in hulls.items():
        found.append(f"{_origin(pose)}<geometry>{_hull_mesh(parts, folder)}</geometry>")
    for k, placed in enumerate(shapes):
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
            case HullPlan() if k in prisms:
                shape = _round("cylinder", *prisms[k])
            case HullPlan() | ConvexPartsPlan():
                continue
            case _:
                raise ValueError(f"{placed.shape} has no word in URDF")
        found.append(f"{_origin(engine_pose(placed))}{shape}")
    return found


def _hull_mesh(parts: Sequence[FloatArray], folder: Path) -> str:
    content = parts_obj(parts).encode()
    digest = digest_of(content)
    path = kept_file(folder, digest, ".obj", lambda: content)
    scale = f"{OBJ_SCALE!r} {OBJ_SCALE!r} {OBJ_SCALE!r}"
    return f'<mesh filename={_quoted(path)} scale="{scale}"/>'


def _prism_size(placed: PlacedShape) -> tuple[float, float] | None:
    shape = placed.shape
    return prism_size(shape.vertices.points) if isinstance(shape, HullPlan) else None


def _box(edges: Vec3) -> str:
    x, y, z = edges
    return f'<geometry><box size="{x!r} {y!r} {z!r}"/></geometry>'


def _round(kind: str, radius: float, height: float) -> str:
    return f'<geometry><{kind} radius="{radius!r}" length="{height!r}"/></geometry>'


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
    # Attributes that say nothing are left out: PyBullet reads the text again for every copy, and a
    # cart-pole takes 149 us instead of 169 (measured).
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
    """Return the angles; at a pitch of 90 degrees, where only a sum is defined, yaw is zero."""
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
    """Quote the value of an XML attribute."""
    return f'"{text.translate(_ESCAPES)}"'
