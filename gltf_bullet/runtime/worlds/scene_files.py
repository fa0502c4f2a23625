"""What a scene's file says of its bodies and joints, as they stand now."""

from __future__ import annotations

import math

from gltf_bullet.bullet.engine_link import EngineLink
from gltf_bullet.convert.description import StatedSurface
from gltf_bullet.convert.stated_scenes import JointOfFile, PartOfFile, SceneOfFile
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan
from gltf_bullet.runtime.scene_core import SceneCore

__all__ = ["scene_of_file"]


def scene_of_file(core: SceneCore, number: int) -> SceneOfFile:
    """The bodies and joints of a scene that is alive; ``number`` tells it from others."""
    world, tree, frames = core.world, core.asset.tree, core.nodes.frames_now()
    contacts = world.link_contacts
    contents = dict(world.solid_links())

    def surface_of(link: EngineLink) -> StatedSurface | None:
        content: ColliderGroup | StaticPlan | None = contents.get(link)
        if content is None or content.surface.only_against is not None:
            return None
        return StatedSurface(
            scene=number,
            material=content.material if contacts.is_untouched(link) else None,
            filter=content.filter,
            outward=content.surface.contact_class.filter,
        )

    def part(node: int, links: list[EngineLink], gravity_factor: float = 1.0) -> PartOfFile:
        motion = core.model.now.motions.get(node)
        return PartOfFile(
            name=tree.names[node],
            world_from_part=frames.pose(node),
            surfaces={link: surface_of(link) for link in links},
            bits={link: contacts.bits_of(link) for link in links if link in contents},
            gravity_factor=gravity_factor,
            is_kinematic=motion is not None and motion.kind is MotionKind.KINEMATIC,
            is_infinite=motion is not None and motion.mass == math.inf,
        )

    parts: list[PartOfFile] = []
    part_of: dict[int, int] = {}
    for node, body in world.static_ids.items():
        part_of[node] = len(parts)
        parts.append(part(node, [(body, -1)]))
    part_of_motion: dict[int, int] = {}
    for node, plan in world.plan.bodies.anywhere.items():
        part_of_motion[node] = len(parts)
        parts.append(part(node, world.links_of(node), plan.gravity_factor))

    def end_of(node: int | None) -> int:
        """The part that a node belongs to; -1: the world."""
        if node is None:
            return -1
        owner = int(world.plan.motion_node_of[node])
        if owner >= 0:
            return part_of_motion[owner]
        return next((part_of[n] for n in (node, *tree.ancestors(node)) if n in part_of), -1)

    joints = []
    for joint in core.model_now().joints.values():
        other = joint.connected_node
        # Without another node a joint holds on to where its own was when it was made.
        there = world.plan.frames.pose(joint.node) if other is None else frames.pose(other)
        joints.append(
            JointOfFile(
                name=tree.names[joint.node],
                joint=joint,
                ends=(end_of(joint.node), end_of(other)),
                world_from_ends=(frames.pose(joint.node), there),
                leader="" if joint.coupling is None else tree.names[joint.coupling.leader],
            )
        )
    shown = {link.body_id for link in world.shown_links.scenery}
    return SceneOfFile(
        parts=tuple(parts), joints=tuple(joints), body_ids=frozenset(world.body_ids) - shown
    )
