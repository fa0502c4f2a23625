"""Replacing the physics of a document by current KHR JSON, everything else untouched.

Nodes are only ever appended: data nodes outside all scenes for meshes that no node gives, as the
published samples do, and anchors for joints to the fixed world, which KHR cannot say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from gltf_bullet import model
from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, warning
from gltf_bullet.dialects.khr import physics_rigid_bodies as khr_physics_rigid_bodies
from gltf_bullet.dialects.khr.moved_pointers import (
    MovedPointers,
    Places,
    pointers_in,
    with_moved_pointers,
)
from gltf_bullet.dialects.khr.scene import JsonOut, physics_to_khr
from gltf_bullet.dialects.mesh_geometry import mesh_of_node
from gltf_bullet.dialects.registry import PHYSICS_EXTENSIONS
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.records import replace

__all__ = ["ANIMATION_POINTER_STALE", "physics_to_khr", "write_physics"]

ANIMATION_POINTER_STALE = warning(
    "ANIMATION_POINTER_STALE",
    "the animation points to {got}, which has no place of its own in the written file; must be "
    "pointed anew",
)

BEHAVIOR_POINTER_STALE = warning(
    "BEHAVIOR_POINTER_STALE",
    "the behavior graph points to {got}, which has no place of its own in the written file; "
    "must be pointed anew",
)

_INTERACTIVITY: Final = "KHR_interactivity"
_BODIES: Final = khr_physics_rigid_bodies.EXTENSION
_GRAVITY: Final = "OMI_physics_gravity"
_OMI_SHAPES: Final = "OMI_physics_shape"


def write_physics(
    document: Document, scene: model.PhysicsScene, diagnostics: Diagnostics
) -> dict[str, Any]:
    """The document's JSON with ``scene`` as its physics; the document itself is not changed.

    All physics extensions are replaced, except OMI_physics_gravity, for which KHR has no
    counterpart (and the shapes that its fields use).
    """
    root: dict[str, Any] = dict(document.json)
    root.pop("shapes", None)  # the core's of glTF 2.1, which are written into the extension
    nodes = root.get("nodes")
    new_nodes = [dict(node) if isinstance(node, dict) else node for node in nodes or ()]
    replaced = _replaced_extensions(scene)
    was_required = _strip(root, new_nodes, replaced, document)
    scene = _with_anchors(scene, document, new_nodes, root)
    places = _places(document)
    roots, extension_of_node = physics_to_khr(
        scene,
        diagnostics,
        node_of_parts=_nodes_of_meshes(scene, document, new_nodes),
        kept_static_nodes=_kept_static_nodes(scene, document),
        places=places,
    )
    for node, extension in extension_of_node.items():
        _put_extension(new_nodes[node], _BODIES, extension)
    for name, extension in roots.items():
        _put_extension(root, name, extension)
    if new_nodes:
        root["nodes"] = new_nodes
    written = set(roots) | ({_BODIES} if extension_of_node else set())
    _declare(root, replaced, was_required, written)
    return _with_pointers(root, scene, places, replaced, diagnostics)


def _replaced_extensions(scene: model.PhysicsScene) -> frozenset[str]:
    kept = {_GRAVITY}
    if any(v.source.kind is model.GravityFieldKind.SHAPED for v in scene.gravity_volumes.values()):
        kept.add(_OMI_SHAPES)
    return frozenset(PHYSICS_EXTENSIONS) - kept


def _strip(
    root: dict[str, Any], nodes: list[Any], replaced: frozenset[str], document: Document
) -> bool:
    """Remove the replaced extensions; true if one of them was required."""
    for owner in (root, *nodes):
        extensions = owner.get("extensions") if isinstance(owner, dict) else None
        if not isinstance(extensions, dict) or replaced.isdisjoint(extensions):
            continue
        left = {name: value for name, value in extensions.items() if name not in replaced}
        if left:
            owner["extensions"] = left
        else:
            del owner["extensions"]
    return not replaced.isdisjoint(document.extensions_required)


def _put_extension(owner: dict[str, Any], name: str, extension: JsonOut) -> None:
    extensions = owner.get("extensions")
    owner["extensions"] = {**(extensions if isinstance(extensions, dict) else {}), name: extension}


def _declare(
    root: dict[str, Any], replaced: frozenset[str], is_required: bool, written: Iterable[str]
) -> None:
    names = sorted(written)
    for key, added in (
        ("extensionsUsed", names),
        ("extensionsRequired", names if is_required else []),
    ):
        listed = root.get(key)
        kept = [
            name
            for name in (listed if isinstance(listed, list) else ())
            if name not in replaced and name not in added
        ]
        root.pop(key, None)
        if kept or added:
            root[key] = [*kept, *added]


def _kept_static_nodes(scene: model.PhysicsScene, document: Document) -> frozenset[int]:
    """Static motions that mean more than fixed colliders.

    Below a moving body they must not move with it; with a joint on them all their colliders are
    the jointed body, which by default collides with none of the other's.
    """
    tree = document.tree
    moving = {n for n, m in scene.motions.items() if m.kind is not model.MotionKind.STATIC}
    owner = scene.motion_node_of(tree)
    ends = [end for j in scene.joints.values() for end in (j.node, j.connected_node)]
    # Anchors that were appended for joints to the world stand outside the tree.
    jointed = {int(owner[end]) for end in ends if end is not None and end < len(tree)}
    return frozenset(
        node
        for node, motion in scene.motions.items()
        if motion.kind is model.MotionKind.STATIC
        and (node in jointed or not moving.isdisjoint(tree.ancestors(node)))
    )


def _with_anchors(
    scene: model.PhysicsScene, document: Document, nodes: list[Any], root: dict[str, Any]
) -> model.PhysicsScene:
    """Joints to the fixed world get a node that stands where the joint node stands at load."""
    loose = [joint for joint in scene.joints.values() if joint.connected_node is None]
    if not loose:
        return scene
    tree = document.tree
    world_from_node = tree.compose(tree.local_matrices(), np.eye(4))
    rotations = tree.compose_rotations(tree.rotations_xyzw, np.array([0.0, 0.0, 0.0, 1.0]))
    joints: dict[int, model.Joint] = dict(scene.joints)
    anchors: dict[int, list[int]] = {}
    for joint in loose:
        ancestors = tree.ancestors(joint.node)
        scene_root = ancestors[-1] if ancestors else joint.node
        anchors.setdefault(scene_root, []).append(len(nodes))
        joints[joint.node] = replace(joint, connected_node=len(nodes))
        nodes.append(
            {
                "name": f"physicsAnchor {joint.node}",
                "translation": world_from_node[joint.node, :3, 3].tolist(),
                "rotation": rotations[joint.node].tolist(),
            }
        )
    scenes = root.get("scenes")
    if isinstance(scenes, list):
        root["scenes"] = [_scene_with(entry, anchors) for entry in scenes]
    return replace(scene, joints=joints)


def _scene_with(entry: Any, anchors: dict[int, list[int]]) -> Any:
    roots = entry.get("nodes") if isinstance(entry, dict) else None
    if not isinstance(roots, list):
        return entry
    added = [anchor for node in roots for anchor in anchors.get(node, ())]
    return {**entry, "nodes": [*roots, *added]}


def _nodes_of_meshes(
    scene: model.PhysicsScene, document: Document, nodes: list[Any]
) -> dict[tuple[model.MeshPart, ...], int]:
    """Per mesh geometry of the scene a node that gives it, appended where there is none."""
    shapes = [collider.shape for collider in scene.colliders.values()]
    shapes += [trigger.shape for trigger in scene.triggers.values() if trigger.shape is not None]
    wanted = dict.fromkeys(shape.parts for shape in shapes if isinstance(shape, model.MeshShape))
    result: dict[tuple[model.MeshPart, ...], int] = {}
    for parts in wanted:
        found = _find_node(parts, document)
        if found is None:
            found = _append_data_node(parts, nodes)
        if found is not None:
            result[parts] = found
    return result


def _find_node(parts: tuple[model.MeshPart, ...], document: Document) -> int | None:
    """The first node whose geometry is ``parts``, among those with the first mesh and above."""
    tree = document.tree
    candidates: set[int] = set()
    nowhere = Reader({}, ROOT, Diagnostics())
    for node, mesh in enumerate(tree.mesh_of):
        if mesh == parts[0].mesh:
            candidates.update((node, *tree.ancestors(node)))
    for node in sorted(candidates):
        shape = mesh_of_node(node, nowhere, document, convex_hull=False)
        if shape is not None and shape.parts == parts:
            return node
    return None


def _append_data_node(parts: tuple[model.MeshPart, ...], nodes: list[Any]) -> int | None:
    """A node outside all scenes that gives ``parts``; ``None`` where a skin or a node matters."""
    if any(part.skin is not None or part.weights_node is not None for part in parts):
        return None
    meshes: list[dict[str, Any]] = []
    for part in parts:
        node: dict[str, Any] = {"name": "physicsMeshData", "mesh": part.mesh}
        if part.weights is not None:
            node["weights"] = list(part.weights)
        if part.shape_from_part is not None:
            # glTF writes matrices column by column.
            node["matrix"] = np.array(part.shape_from_part).reshape(4, 4).T.ravel().tolist()
        meshes.append(node)
    first = len(nodes)
    nodes.extend(meshes)
    if len(parts) == 1 and parts[0].shape_from_part is None:
        return first
    children = list(range(first, len(nodes)))
    nodes.append({"name": "physicsMeshData", "children": children})
    return len(nodes) - 1


def _with_pointers(
    root: dict[str, Any],
    scene: model.PhysicsScene,
    places: Places | None,
    replaced: frozenset[str],
    diagnostics: Diagnostics,
) -> dict[str, Any]:
    """Let animations and behavior graphs point to where physics stands now."""
    if places is None:
        return root
    moved = MovedPointers(scene, places)

    def move(text: str) -> str | None:
        return moved(text) if _is_physics(text, replaced) else text

    def lost(at: JsonPointer, text: str) -> None:
        if text.startswith("/nodes/") and f"/{_BODIES}/" in text:
            # Nodes keep their indices, and KHR objects on them their names.
            return
        is_animation = at.startswith("/animations/")
        kind = ANIMATION_POINTER_STALE if is_animation else BEHAVIOR_POINTER_STALE
        diagnostics.report(kind, at, got=text[:100])

    return with_moved_pointers(root, move, lost)


def _is_physics(pointer: str, replaced: frozenset[str]) -> bool:
    """True if a pointer leads into physics, the core shapes of glTF 2.1 included."""
    return pointer.startswith("/shapes") or not replaced.isdisjoint(pointer.split("/"))


def _places(document: Document) -> Places | None:
    """A record of new places; ``None`` for a file without pointers.

    Graphs name collision filters by their bare index, too.
    """
    has_graph = bool(document.root_extension(_INTERACTIVITY))
    return Places() if has_graph or any(pointers_in(document.json)) else None
