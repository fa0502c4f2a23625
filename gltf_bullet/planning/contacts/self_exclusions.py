"""Filters that only keep a jointed body from meeting itself.

A robot's links are in a system that does not meet that system. What a file calls its systems holds
within the file: of two robots made of one file, each is to meet the other, as two of ``loadURDF``
do. So its links are kept apart as those that joints keep apart, and are plain to everybody else.
"""

from __future__ import annotations

from collections.abc import Mapping

from gltf_bullet.model import CollisionFilter, Joint
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.transforms import IntArray

__all__ = ["self_exclusions"]


def self_exclusions(
    bodies: BodyPlans, joints: Mapping[int, Joint], motion_node_of: IntArray
) -> dict[CollisionFilter, frozenset[int]]:
    """Filters that forbid nothing but meetings within one jointed body, and its motion nodes.

    The systems of such a filter are those that it does not collide with, and no other filter of
    the scene has them; all colliders of two bodies or more have it, and joints hold these together.
    """
    members = _bodies_by_filter(bodies)
    filters = [found for found in members if found is not None]
    own = {
        found: frozenset(members[found])
        for found in filters
        if found.systems
        and found.not_collide_with == found.systems
        and len(members[found] - {-1}) > 1
        and -1 not in members[found]
        and not any(found.systems & other.systems for other in filters if other != found)
        and all(
            group.filter == found for node in members[found] for group in bodies.bodies[node].groups
        )
    }
    if not own:
        return {}
    linked = _linked(joints, motion_node_of)
    return {f: nodes for f, nodes in own.items() if any(nodes <= group for group in linked)}


def _bodies_by_filter(bodies: BodyPlans) -> dict[CollisionFilter | None, set[int]]:
    """Motion nodes of the colliders that have a filter; -1 for static ones."""
    members: dict[CollisionFilter | None, set[int]] = {}
    for node, plan in bodies.bodies.items():
        for group in plan.groups:
            members.setdefault(group.filter, set()).add(node)
    for static in bodies.statics:
        members.setdefault(static.filter, set()).add(static.owner)
    return members


def _linked(joints: Mapping[int, Joint], motion_node_of: IntArray) -> list[set[int]]:
    """Motion nodes that joints hold together."""
    groups: list[set[int]] = []
    for joint in joints.values():
        if joint.connected_node is None:
            continue
        ends = {int(motion_node_of[joint.node]), int(motion_node_of[joint.connected_node])} - {-1}
        met = [group for group in groups if group & ends]
        groups = [group for group in groups if group not in met]
        groups.append(ends.union(*met))
    return groups
