"""The bodies of a world as nodes, and their physics as a :class:`PhysicsScene` over those nodes.

Links are nested like the multibody: a joint is a node of its parent link, under its name, and its
child link is below it, so that the local transform of the child *is* the joint's position. The
file is long since filters, materials and nodes of one link are written together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from gltf_bullet import model
from gltf_bullet.convert import description
from gltf_bullet.convert.issues import LINK_WITHOUT_MASS, NOT_IN_GLTF
from gltf_bullet.convert.joints import (
    describe_joint,
    joint_frame,
    joint_turn,
    note_rest,
    place_constraint,
    place_stated_joint,
    tidy,
)
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.dialects.joints import EXTRAS
from gltf_bullet.model import MeshShape as ModelMesh
from gltf_bullet.transforms import IDENTITY_POSE, Pose, rotation_to

# --- Collision filters of KHR_physics_rigid_bodies for the collisions of a world ------------------

_Where: TypeAlias = tuple[int, int, int]
"""Indices of a body, of one of its links and of a collider of that link."""


class _Class(NamedTuple):
    """Colliders that collide with the same others."""

    group: int
    mask: int
    apart: int
    """The body whose links do not collide with one another, or -1."""
    scene: int
    """Scene whose file decides collisions, or -1."""
    filter: model.CollisionFilter | None
    outward: model.CollisionFilter | None


def collision_filters(world: description.WorldDescription) -> dict[_Where, model.CollisionFilter]:
    """Filters by collider; colliders that need none have no entry.

    Bullet's default: a pair collides when either side's group is in the other's mask. That is no
    property of one side, so with bits other than the default ones every class names all partners.
    If all colliders belong to one scene, they have the filters of its file.
    """
    colliders = [
        ((number, k, c), link, collider)
        for number, body in enumerate(world.bodies)
        for k, link in enumerate(body.links)
        for c, collider in enumerate(link.colliders)
    ]
    scenes = {-1 if c.stated is None else c.stated.scene for _, _, c in colliders}
    if len(scenes) == 1 and -1 not in scenes:
        return {
            where: collider.stated.filter
            for where, _, collider in colliders
            if collider.stated is not None and collider.stated.filter is not None
        }
    classes: dict[_Where, _Class] = {}
    plain = True
    for where, link, collider in colliders:
        number, k, _ = where
        body = world.bodies[number]
        touching = sum(bool(other.colliders) for other in body.links)
        excludes_itself = not body.self_collision and touching > 1
        found = _class(link, collider.stated, number if excludes_itself else -1)
        if found.scene >= 0:
            # Bits also separate pair-specific surfaces, which are links of their own.
            plain = plain and found.filter is None
        else:
            moves = k > 0 or link.mass > 0.0
            plain = plain and (link.group, link.mask) == world.default_masks[moves]
        classes[where] = found
    if plain:
        return _self_exclusions(world, classes)
    names = {c: f"class {k}" for k, c in enumerate(dict.fromkeys(classes.values()))}
    filters = {
        own: model.CollisionFilter(
            systems=frozenset({name}),
            collide_with=frozenset(names[other] for other in names if _meets(own, other))
            or frozenset({"nothing"}),
        )
        for own, name in names.items()
    }
    return {where: filters[c] for where, c in classes.items()}


def _class(
    link: description.LinkDescription, stated: description.StatedSurface | None, apart: int
) -> _Class:
    if stated is None or stated.scene < 0:
        return _Class(link.group, link.mask, apart, -1, None, None)
    return _Class(link.group, link.mask, apart, stated.scene, stated.filter, stated.outward)


def _self_exclusions(
    world: description.WorldDescription, classes: dict[_Where, _Class]
) -> dict[_Where, model.CollisionFilter]:
    """One system per body that does not collide with itself; other bodies need no filter."""
    used: set[str] = set()
    by_body: dict[int, model.CollisionFilter] = {}
    for number in dict.fromkeys(c.apart for c in classes.values() if c.apart >= 0):
        name = world.bodies[number].name or f"body {number}"
        if name in used:
            name = f"{name} {number}"
        used.add(name)
        system = frozenset({name})
        by_body[number] = model.CollisionFilter(systems=system, not_collide_with=system)
    return {where: by_body[c.apart] for where, c in classes.items() if c.apart >= 0}


def _meets(a: _Class, b: _Class) -> bool:
    if a.apart >= 0 and a.apart == b.apart:
        return False
    if a.scene >= 0 and b.scene >= 0:
        if a.scene == b.scene:
            return model.may_collide(a.filter, b.filter)
        return model.may_collide(a.outward, b.outward)
    return bool(a.group & b.mask) or bool(b.group & a.mask)


# --- Surfaces of links as materials of glTF, and contact properties that materials lack -----------


def material_of(link: description.LinkDescription) -> model.PhysicsMaterial:
    """Friction and restitution, clamped to the ranges of glTF."""
    friction = max(0.0, link.friction)
    return model.PhysicsMaterial(
        static_friction=friction,
        dynamic_friction=friction,
        restitution=min(max(0.0, link.restitution), 1.0),
        # Bullet multiplies.
        friction_combine=model.CombineMode.MULTIPLY,
        restitution_combine=model.CombineMode.MULTIPLY,
    )


def lost_of(link: description.LinkDescription) -> Iterator[tuple[str, str]]:
    """Properties of a link's motion and contacts that glTF lacks, each with the consequence."""
    left_out = "they are left out"
    if any(link.damping):
        linear, angular = link.damping
        yield f"linear damping {linear:.3g} and angular damping {angular:.3g}", left_out
    if not link.colliders:
        return
    if any(c.stated is None or c.stated.material is None for c in link.colliders):
        material = material_of(link)
        for name, value, written in (
            ("friction", link.friction, material.dynamic_friction),
            ("restitution", link.restitution, material.restitution),
        ):
            if value != written:
                yield f"the {name} {value:.3g}", f"{written:g} is written for it"
    if link.rolling_friction or link.spinning_friction:
        yield (
            f"rolling friction {link.rolling_friction:.3g} and spinning friction "
            f"{link.spinning_friction:.3g}",
            left_out,
        )
    if link.contact_spring is not None:
        stiffness, damping = link.contact_spring
        yield (
            f"contact stiffness {stiffness:.3g} N/m and damping {damping:.3g} N s/m",
            left_out,
        )
    if link.anisotropic_friction is not None:
        x, y, z = link.anisotropic_friction
        yield f"the factors ({x:.3g}, {y:.3g}, {z:.3g}) of anisotropic friction", left_out
    if link.friction_anchor:
        yield "the friction anchor", "it is left out"


# --- Nodes of bodies, with their motions, colliders and joints ------------------------------------

MASSLESS = 1e-6
"""Mass of a link without mass, as share of the lightest link's: KHR takes 0 for infinite."""
_LEAST_MASS = 1e-9
"""[kg] The smallest mass that the engine carries."""
GYRATION = 1e-3
"""[m] Radius of gyration of such a link."""

_Y_UP_FROM_Z_UP = Pose((-(0.5**0.5), 0.0, 0.0, 0.5**0.5), (0.0, 0.0, 0.0))


def place_world(world: description.WorldDescription, diagnostics: Diagnostics) -> WorldNodes:
    """Lay out the nodes of ``world``, and its physics on them."""
    result = WorldNodes()
    upright = _Y_UP_FROM_Z_UP if world.up_axis == "z" else IDENTITY_POSE
    result.world_node = result.nodes.add("world", -1, upright)
    if world.notes:
        result.nodes.entries[result.world_node]["extras"] = {EXTRAS: dict(world.notes)}
    filters = collision_filters(world)
    for number, body in enumerate(world.bodies):
        _Placer(result, world, number, filters, diagnostics).place(body)
    for constraint in world.constraints:
        place_constraint(result, constraint, diagnostics)
    for joint in world.joints:
        place_stated_joint(result, joint, diagnostics)
    return result


class _Placer:
    """Adds one body to the file."""

    def __init__(
        self,
        result: WorldNodes,
        world: description.WorldDescription,
        number: int,
        filters: dict[tuple[int, int, int], model.CollisionFilter],
        diagnostics: Diagnostics,
    ) -> None:
        self._result = result
        self._nodes = result.nodes
        self._number = number
        self._filters = filters
        self._diagnostics = diagnostics
        masses = [link.mass for link in world.bodies[number].links if link.mass > 0.0]
        self._no_mass = max(MASSLESS * min(masses, default=1.0), _LEAST_MASS)
        self._weightless: list[str] = []
        self._pointlike: list[str] = []

    def place(self, body: description.BodyDescription) -> None:
        """Add nodes for the body's name, its links and joints."""
        parent = self._result.world_node
        base = body.links[0]
        if body.holder is not None:
            if body.holder not in self._result.holders:
                held = self._nodes.add(body.holder[1], parent, IDENTITY_POSE)
                self._result.holders[body.holder] = held
            parent = self._result.holders[body.holder]
        if body.name and (len(body.links) > 1 or body.name != base.name):
            parent = self._nodes.add(body.name, parent, IDENTITY_POSE)
        for index, link in enumerate(body.links):
            if index == 0:
                node = self._nodes.add(link.name, parent, link.world_from_link)
            else:
                node = self._place_jointed(body, link)
            self._result.link_nodes[self._number, index] = node
            self._place_motion(body, index, node)
            self._place_shapes(link, index, node)
        for what, names in (("mass", self._weightless), ("inertia", self._pointlike)):
            if names:
                self._diagnostics.report(
                    LINK_WITHOUT_MASS, ROOT, what=what, count=len(names),
                    owner=body.name or "a body",
                    names=", ".join(names[:3]) + (", ..." if len(names) > 3 else ""),
                    value=self._no_mass, gyration=GYRATION,
                )  # fmt: skip

    # --- joints -------------------------------------------------------------------------------

    def _place_jointed(
        self, body: description.BodyDescription, link: description.LinkDescription
    ) -> int:
        joint = link.joint
        parent_link = body.links[link.parent]
        parent = self._result.link_nodes[self._number, link.parent]
        if joint is None:
            if parent in self._result.motions:
                raise ValueError(f"link {link.name!r} has a parent that moves and no joint")
            return self._nodes.add(link.name, parent, tidy(link.parent_from_link))
        axis, turn = joint_turn(link)
        link_from_joint = Pose(turn, joint.anchor)
        parent_from_joint = joint_frame(link)
        joint_node = self._nodes.add(joint.name, parent, parent_from_joint)
        # Current pose of the link relative to the joint.
        joint_from_link = (
            parent_link.world_from_link @ parent_from_joint
        ).inverse() @ link.world_from_link
        node = self._nodes.add(link.name, joint_node, tidy(joint_from_link))
        connected = node
        if link_from_joint != IDENTITY_POSE:
            connected = self._nodes.add(f"{joint.name} frame", node, link_from_joint)
        self._result.joints[joint_node] = model.Joint(
            node=joint_node,
            connected_node=connected,
            description=describe_joint(joint, axis),
            enable_collision=joint.enable_collision,
        )
        rule = joint.mimic
        note_rest(
            self._result, joint_node, joint.name, self._diagnostics,
            max_velocity=joint.max_velocity,
            max_force=joint.max_force if joint.kind is description.JointKind.FIXED else 0.0,
            friction=joint.friction,
            mimic=None if rule is None else (rule.joint, rule.multiplier, rule.offset),
            on_fixed_base=link.parent == 0 and parent not in self._result.motions,
            notes=joint.notes,
        )  # fmt: skip
        return node

    # --- links --------------------------------------------------------------------------------

    def _place_motion(self, body: description.BodyDescription, index: int, node: int) -> None:
        link = body.links[index]
        is_base = index == 0
        if not is_base and link.joint is None:
            return  # fixed to its parent
        at_rest = not any(link.linear_velocity) and not any(link.angular_velocity)
        is_held = is_base and link.mass == 0.0 and not link.is_free
        if is_held and at_rest and not link.is_kinematic:
            return  # no motion: fixed to the world, together with its colliders
        linear, angular = (
            link.world_from_link.inverse().rotate(velocity)
            for velocity in (link.linear_velocity, link.angular_velocity)
        )
        if is_held:
            self._result.motions[node] = model.Motion(
                kind=model.MotionKind.KINEMATIC,
                center_of_mass=link.link_from_inertial.translation,  # the centre of its rotation
                linear_velocity=linear,
                angular_velocity=angular,
            )
            return
        mass, inertia = link.mass, link.inertia_diagonal
        if mass <= 0.0:
            mass = self._no_mass
            self._weightless.append(link.name)
        if (not is_base or link.is_free) and min(inertia) <= 0.0:
            # A base with mass 0 is infinite in Bullet as in KHR; a link has no mass (measured).
            least = mass * GYRATION**2
            inertia = (max(inertia[0], least), max(inertia[1], least), max(inertia[2], least))
            if link.mass > 0.0:
                self._pointlike.append(link.name)
        ix, iy, iz = (math.inf if moment <= 0.0 else moment for moment in inertia)
        self._result.motions[node] = model.Motion(
            mass=mass,
            center_of_mass=link.link_from_inertial.translation,
            inertia_diagonal=(ix, iy, iz),
            inertia_orientation_xyzw=link.link_from_inertial.rotation_xyzw,
            linear_velocity=linear,
            angular_velocity=angular,
            gravity_factor=link.gravity_factor,
        )

    def _place_shapes(self, link: description.LinkDescription, index: int, node: int) -> None:
        material = material_of(link)
        for what, done in lost_of(link):
            self._diagnostics.report(
                NOT_IN_GLTF, ROOT / "nodes" / node, what=what,
                owner=f"link {link.name!r}", done=done,
            )  # fmt: skip
        taken = False
        for k, collider in enumerate(link.colliders):
            stated = collider.stated
            shape, turn = self._shape(collider.shape)
            pose = tidy(collider.link_from_shape @ turn)
            where = node
            is_scaled = collider.scale != (1.0, 1.0, 1.0)
            if taken or pose != IDENTITY_POSE or is_scaled:
                where = self._nodes.add(f"{link.name} collider {k}".strip(), node, pose)
            if is_scaled:
                self._nodes.entries[where]["scale"] = list(collider.scale)
            taken = taken or where == node
            collision_filter = self._filters.get((self._number, index, k))
            if collider.is_trigger:
                self._result.triggers[where] = model.Trigger(
                    node=where, shape=shape, filter=collision_filter
                )
                continue
            self._result.colliders[where] = model.Collider(
                node=where,
                shape=shape,
                material=material if stated is None or stated.material is None else stated.material,
                filter=collision_filter,
            )
        taken = False
        for k, visual in enumerate(link.visuals):
            pose = tidy(visual.link_from_shape)
            where = node
            if taken or pose != IDENTITY_POSE or visual.scale != (1.0, 1.0, 1.0):
                where = self._nodes.add(f"{link.name} visual {k}".strip(), node, pose)
            if visual.scale != (1.0, 1.0, 1.0):
                self._nodes.entries[where]["scale"] = list(visual.scale)
            taken = taken or where == node
            self._result.visuals.append((where, visual))
        for frame in link.frames:
            where = self._nodes.add(frame.name, node, tidy(frame.link_from_frame))
            if frame.field_of_view > 0.0:
                self._result.cameras.append((where, frame))

    def _shape(self, shape: description.ShapeGeometry) -> tuple[model.Shape, Pose]:
        """A shape of the model, and its pose in the frame of Bullet's shape."""
        turned = _Y_UP_FROM_Z_UP.inverse()
        if isinstance(shape, description.BoxShape):
            return model.Box(size=shape.size), IDENTITY_POSE
        if isinstance(shape, description.BallShape):
            return model.Sphere(radius=shape.radius), IDENTITY_POSE
        if isinstance(shape, description.PlaneShape):
            plane = model.Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
            return plane, Pose(rotation_to((0.0, 1.0, 0.0), shape.normal), (0.0, 0.0, 0.0))
        if isinstance(shape, (description.RoundShape, description.TaperedShape)):
            r, height = shape.radius, shape.height
            top = shape.radius_top if isinstance(shape, description.TaperedShape) else r
            if shape.is_capsule:
                return model.Capsule(mid_height=height, radius_bottom=r, radius_top=top), turned
            return model.Cylinder(height=height, radius_bottom=r, radius_top=top), turned
        meshes = self._result.collision_meshes
        mesh = meshes.setdefault(shape.geometry, len(meshes))
        return ModelMesh(
            parts=(model.MeshPart(mesh=mesh),), convex_hull=shape.is_convex
        ), IDENTITY_POSE
