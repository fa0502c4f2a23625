"""The second pass: every reference between nodes is checked, then the scene is built.

Index ranges were checked while reading; here the named nodes must be what the texts ask for
(KHR_physics_rigid_bodies, "Triggers" and "Joints"; OMI_physics_gravity).
"""

from __future__ import annotations

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import Joint, MeshPart, MeshShape, MotionKind, PhysicsScene, Shape, Trigger
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeTree

TRIGGER_NODE_NOT_BELOW = warning(
    "TRIGGER_NODE_NOT_BELOW",
    "nodes names node {got}; must be a node below node {node}; it is left out",
)
TRIGGER_NODE_WITHOUT_TRIGGER = warning(
    "TRIGGER_NODE_WITHOUT_TRIGGER",
    "nodes names node {got}, which has no trigger; must have one; it is left out",
)
TRIGGER_ADOPTS_DESCENDANTS = warning(
    "TRIGGER_ADOPTS_DESCENDANTS",
    "the trigger has neither shape nor nodes; should have one of them; "
    "it is taken as the compound of the triggers below it: {nodes}",
)
TRIGGER_EMPTY = warning(
    "TRIGGER_EMPTY",
    "the trigger has neither shape nor nodes, nor triggers below it; should have one of them; "
    "it is left out",
)
JOINT_WITHIN_BODY = warning(
    "JOINT_WITHIN_BODY",
    "nodes {node} and {connected} belong to the same body, that of node {body}; should belong to "
    "different ones; the joint has no effect",
)
JOINT_MOVES_NOTHING = warning(
    "JOINT_MOVES_NOTHING",
    "neither node {node} nor node {connected} is part of a dynamic body; one of them should be; "
    "the joint has no effect",
)
GRAVITY_WITHOUT_TRIGGER = warning(
    "GRAVITY_WITHOUT_TRIGGER",
    "node {node} has no trigger; should have one to bound its gravity; the field acts nowhere",
)
GRAVITY_ON_BODY = warning(
    "GRAVITY_ON_BODY",
    "node {node} has a {got} beside its gravity; must not have one; both are read, and the field "
    "moves with the node",
)


def resolve_references(
    parts: PhysicsParts, document: Document, diagnostics: Diagnostics
) -> PhysicsScene:
    """The scene of all dialects, with consistent references."""
    tree = document.tree
    if parts.motions:
        _hold_simulated_parts(parts, tree)
    triggers = _resolve_compounds(parts, tree, diagnostics)
    scene = PhysicsScene(
        motions=parts.motions,
        colliders=parts.colliders,
        triggers=triggers,
        joints=parts.joints,
        world_gravity=parts.world_gravity,
        gravity_volumes=parts.gravity_volumes,
        collision_filters=parts.collision_filters,
        tables=tuple(parts.tables),
    )
    _check_joints(scene, tree, diagnostics)
    for node, volume in scene.gravity_volumes.items():
        if node not in triggers:
            diagnostics.report(GRAVITY_WITHOUT_TRIGGER, volume.pointer, node=node)
        for what, owners in (("motion", scene.motions), ("collider", scene.colliders)):
            if node in owners:
                diagnostics.report(GRAVITY_ON_BODY, volume.pointer, node=node, got=what)
    return scene


def _hold_simulated_parts(parts: PhysicsParts, tree: NodeTree) -> None:
    """Let meshes below a collider's geometry stay where the file has them if physics moves them.

    The text has "any child nodes" in a geometry; those that are bodies would make it anew in every
    step.
    """

    def held(shape: Shape | None) -> Shape | None:
        if not isinstance(shape, MeshShape) or all(part.node is None for part in shape.parts):
            return shape
        return replace(shape, parts=tuple(map(held_part, shape.parts)))

    def held_part(part: MeshPart) -> MeshPart:
        node = part.node
        while node is not None and node != part.frame_node:
            if node in parts.motions:
                return replace(part, node=None, frame_node=None, is_animated=False)
            node = int(tree.parents[node])
        return part

    for node, collider in parts.colliders.items():
        if (shape := held(collider.shape)) is not None and shape is not collider.shape:
            parts.colliders[node] = replace(collider, shape=shape)
    for node, trigger in parts.triggers.items():
        if (shape := held(trigger.shape)) is not trigger.shape:
            parts.triggers[node] = replace(trigger, shape=shape)


def _resolve_compounds(
    parts: PhysicsParts, tree: NodeTree, diagnostics: Diagnostics
) -> dict[int, Trigger]:
    triggers = dict(parts.triggers)
    for node, trigger in parts.triggers.items():
        if not trigger.part_nodes:
            continue
        kept = _usable_parts(trigger, parts, tree, diagnostics)
        if kept:
            triggers[node] = replace(trigger, part_nodes=kept)
        else:
            del triggers[node]
    taken = {part for trigger in triggers.values() for part in trigger.part_nodes}
    for node, at in parts.empty_triggers.items():
        # A node without a shape that holds triggers (OMI "complex/two_boxes"): Godot's Area3D.
        adopted = tuple(
            below
            for below in tree.descendants(node)
            if below in triggers and below not in taken and triggers[below].shape is not None
        )
        if adopted:
            diagnostics.report(TRIGGER_ADOPTS_DESCENDANTS, at, nodes=list(adopted))
            triggers[node] = Trigger(node=node, part_nodes=adopted, pointer=at)
            taken.update(adopted)
        else:
            diagnostics.report(TRIGGER_EMPTY, at)
    return {node: triggers[node] for node in sorted(triggers)}


def _usable_parts(
    trigger: Trigger, parts: PhysicsParts, tree: NodeTree, diagnostics: Diagnostics
) -> tuple[int, ...]:
    below = set(tree.descendants(trigger.node))
    at = trigger.pointer / "nodes"
    kept: list[int] = []
    for part in trigger.part_nodes:
        if part not in below:
            diagnostics.report(TRIGGER_NODE_NOT_BELOW, at, got=part, node=trigger.node)
        elif part not in parts.triggers:
            diagnostics.report(TRIGGER_NODE_WITHOUT_TRIGGER, at, got=part)
        else:
            kept.append(part)
    return tuple(kept)


def _check_joints(scene: PhysicsScene, tree: NodeTree, diagnostics: Diagnostics) -> None:
    if not scene.joints:
        return
    body_of = scene.motion_node_of(tree)
    for joint in scene.joints.values():
        body, connected_body = (
            -1 if node is None else int(body_of[node])
            for node in (joint.node, joint.connected_node)
        )
        if body == connected_body != -1:
            diagnostics.report(
                JOINT_WITHIN_BODY,
                joint.pointer,
                node=joint.node,
                connected=joint.connected_node,
                body=body,
            )
        elif not (_is_dynamic(body, scene) or _is_dynamic(connected_body, scene)):
            _report_idle(joint, diagnostics)


def _is_dynamic(body: int, scene: PhysicsScene) -> bool:
    return body != -1 and scene.motions[body].kind is MotionKind.DYNAMIC


def _report_idle(joint: Joint, diagnostics: Diagnostics) -> None:
    diagnostics.report(
        JOINT_MOVES_NOTHING,
        joint.pointer,
        node=joint.node,
        connected="none" if joint.connected_node is None else joint.connected_node,
    )
