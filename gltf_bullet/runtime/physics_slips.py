"""Likely slips in the physics of a file: numbers that are allowed and that hardly anybody means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gltf_bullet import model
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, JsonPointer, note
from gltf_bullet.dialects.registry import PHYSICS_EXTENSIONS
from gltf_bullet.gltf.document import Document
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.suggestions import did_you_mean

ANGLE_IN_DEGREES = note(
    "ANGLE_IN_DEGREES",
    "{what} is {got:g} rad, more than a whole turn: degrees? {got:g} degrees are {meant:.6g} rad",
)
RESTITUTION_ABOVE_ONE = note(
    "RESTITUTION_ABOVE_ONE", "the restitution is {got:g}: each bounce is higher than the one before"
)
COLLIDER_NOT_MESH_SIZE = note(
    "COLLIDER_NOT_MESH_SIZE",
    "the {shape} is {ratio} as large as the mesh of its own node ({size} m for {mesh} m): {slip}?",
)
BODY_IN_NO_SCENE = note(
    "BODY_IN_NO_SCENE",
    "no scene of the file has the {what} (nodes {nodes}), which are neither shown nor simulated: a "
    "node is in a scene's nodes or in its parent's children",
)
SYSTEM_OF_NOBODY = note(
    "SYSTEM_OF_NOBODY",
    "collideWithSystems names {names}, and no collider is in such a system: what has the filter "
    "meets only what is in no system{suggestion}",
)
DRIVE_WITHOUT_FORCE = note("DRIVE_WITHOUT_FORCE", "maxForce is 0: the drive does nothing")
BODY_BELOW_ANIMATION = note(
    "BODY_BELOW_ANIMATION",
    "the animation of node {ancestor} does not carry the body, which is dynamic and goes its own "
    "way; a collider without a motion, or a motion that isKinematic, is carried{more}",
)
PHYSICS_IN_EXTRAS = note(
    "PHYSICS_IN_EXTRAS",
    "extras hold {names}, which is application data and is not simulated; physics stands in "
    "extensions",
)

_TURN: Final = 2.0 * math.pi
_ROUNDING: Final = 1e-5
"""Share by which an angle may exceed a whole turn, which 32-bit numbers do not hold exactly."""
_SIZE_TOLERANCE: Final = 0.02
"""Share by which a size may differ from exactly twice or half of the mesh's."""
_WORDS: Final = (
    "physics", "rigidbody", "rigid_body", "collider", "collision_shape", "collisionshape", "mass",
    "friction", "restitution",
)  # fmt: skip
"""Keys of extras, in lower case, under which exporters keep physics."""


def physics_slips(content: AssetContent) -> tuple[Issue, ...]:
    """Return notes about numbers and places that are probably not meant."""
    found = Diagnostics()
    for entry in _entries(content.physics):
        if isinstance(entry, model.PhysicsMaterial):
            if entry.restitution > 1.0:
                found.report(RESTITUTION_ABOVE_ONE, entry.pointer, got=entry.restitution)
        else:
            _note_angles(entry, found)
            for drive in entry.drives:
                if drive.max_force == 0.0:
                    found.report(DRIVE_WITHOUT_FORCE, drive.pointer)
    _note_sizes(content, found)
    _note_lost_nodes(content, found)
    _note_systems(content.physics, found)
    _note_carried_bodies(content, found)
    _note_extras(content.document, found)
    return found.issues


def _entries(
    physics: model.PhysicsScene,
) -> Iterator[model.PhysicsMaterial | model.JointDescription]:
    """The materials and joint descriptions that are used, each once."""
    materials = [c.material for c in physics.colliders.values() if c.material is not None]
    yield from dict.fromkeys(materials)
    yield from {id(j.description): j.description for j in physics.joints.values()}.values()


def _note_angles(description: model.JointDescription, found: Diagnostics) -> None:
    for limit in description.limits:
        for what, value in (("min", limit.minimum), ("max", limit.maximum)):
            if limit.kind is model.DofKind.ANGULAR:
                _note_angle(limit.pointer, what, value, found)
    for drive in description.drives:
        if drive.kind is model.DofKind.ANGULAR:
            _note_angle(drive.pointer, "positionTarget", drive.position_target, found)


def _note_angle(at: JsonPointer, what: str, value: float, found: Diagnostics) -> None:
    if _TURN * (1.0 + _ROUNDING) < abs(value) < math.inf:
        found.report(ANGLE_IN_DEGREES, at, what=what, got=value, meant=math.radians(value))


def _note_sizes(content: AssetContent, found: Diagnostics) -> None:
    for node, collider in content.physics.colliders.items():
        shape = collider.shape
        size: tuple[float, ...]
        if isinstance(shape, model.Box):
            size = tuple(shape.size)
        elif isinstance(shape, model.Sphere):
            size = (2.0 * shape.radius,) * 3
        else:
            continue
        mesh = _mesh_size(content.document, node)
        if mesh is None or not all(m > 0.0 for m in mesh):
            continue
        for ratio, text, slip in ((0.5, "half", "half extents"), (2.0, "twice", "doubled")):
            if all(
                abs(s / m / ratio - 1.0) <= _SIZE_TOLERANCE for s, m in zip(size, mesh, strict=True)
            ):
                found.report(
                    COLLIDER_NOT_MESH_SIZE,
                    collider.pointer,
                    shape=type(shape).__name__.lower(),
                    ratio=text,
                    size=" x ".join(f"{s:.4g}" for s in size),
                    mesh=" x ".join(f"{m:.4g}" for m in mesh),
                    slip=slip if isinstance(shape, model.Box) or ratio > 1.0 else "half the radius",
                )


def _mesh_size(document: Document, node: int) -> tuple[float, ...] | None:
    """Extents [m] of a node's own mesh, as its accessors state them; ``None``: unknown."""
    meshes: Any = document.objects("meshes")
    accessors: Any = document.objects("accessors")
    owner: Any = document.objects("nodes")[node]
    try:
        mesh = meshes[owner["mesh"]]
        places = [accessors[p["attributes"]["POSITION"]] for p in mesh["primitives"]]
        least = [min(float(a["min"][k]) for a in places) for k in range(3)]
        most = [max(float(a["max"][k]) for a in places) for k in range(3)]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return tuple(high - low for low, high in zip(least, most, strict=True))


def _note_lost_nodes(content: AssetContent, found: Diagnostics) -> None:
    document, tree, physics = content.document, content.tree, content.physics
    roots: set[int] = set()
    for scene in document.objects("scenes"):
        nodes = scene.get("nodes")
        roots.update(k for k in (nodes if isinstance(nodes, list) else ()) if isinstance(k, int))
    if not roots:
        return  # a library of nodes
    owners: dict[tuple[str, str], Mapping[int, object]] = {
        ("body", "bodies"): physics.motions, ("joint", "joints"): physics.joints,
        ("collider", "colliders"): physics.colliders, ("trigger", "triggers"): physics.triggers,
    }  # fmt: skip
    lost = {
        words: [node for node in table if not roots.intersection((node, *tree.ancestors(node)))]
        for words, table in owners.items()
    }
    if nodes := sorted(set().union(*lost.values())):
        shown = ", ".join(map(str, nodes[:5])) + (", ..." if len(nodes) > 5 else "")
        counts = ", ".join(f"{len(of)} {words[len(of) > 1]}" for words, of in lost.items() if of)
        found.report(BODY_IN_NO_SCENE, ROOT / "nodes" / nodes[0], what=counts, nodes=shown)


def _note_systems(physics: model.PhysicsScene, found: Diagnostics) -> None:
    owners: tuple[model.Collider | model.Trigger, ...] = (
        *physics.colliders.values(), *physics.triggers.values()
    )  # fmt: skip
    filters = {id(o.filter): o.filter for o in owners if o.filter is not None}.values()
    systems = {system for each in filters for system in each.systems}
    for each in filters:
        if each.collide_with and systems.isdisjoint(each.collide_with):
            names = sorted(each.collide_with)
            near = next(filter(None, (did_you_mean(name, systems) for name in names)), "")
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            found.report(SYSTEM_OF_NOBODY, each.pointer, names=shown, suggestion=near)


def _note_carried_bodies(content: AssetContent, found: Diagnostics) -> None:
    animated = {t.node for a in content.animations for t in a.tracks if t.node is not None}
    below: dict[int, list[int]] = {}
    for node, motion in content.physics.motions.items():
        above = [k for k in content.tree.ancestors(node) if k in animated]
        if above and motion.kind is model.MotionKind.DYNAMIC and node not in animated:
            below.setdefault(above[0], []).append(node)
    for ancestor, nodes in below.items():
        more = f" (nor {len(nodes) - 1} others below it)" if len(nodes) > 1 else ""
        at = ROOT / "nodes" / nodes[0]
        found.report(BODY_BELOW_ANIMATION, at, ancestor=ancestor, more=more)


def _note_extras(document: Document, found: Diagnostics) -> None:
    for collection in ("scenes", "nodes", "meshes"):
        for k, owner in enumerate(document.objects(collection)):
            extras: Any = owner.get("extras")
            keys = extras if isinstance(extras, dict) else {}
            names = [key for key in keys if key.lower() in _WORDS or key in PHYSICS_EXTENSIONS]
            if names:
                at = ROOT / collection / k / "extras"
                found.report(PHYSICS_IN_EXTRAS, at, names=", ".join(map(repr, names[:5]))[:120])
                return  # once: exporters write them on every node
