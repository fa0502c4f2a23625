"""Compound triggers: the list of nodes that make one up, and the rules it must keep.

KHR_physics_rigid_bodies, "Triggers"; OMI_physics_body has the same list.
"""

from __future__ import annotations

from gltf_bullet.diagnostics import warning
from gltf_bullet.dialects.reading import LIST_EMPTY
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader

TRIGGER_SHAPE_AND_NODES = warning(
    "TRIGGER_SHAPE_AND_NODES",
    "the trigger has {key} and nodes; must have exactly one of them; its nodes are used",
)
TRIGGER_WITHOUT_SHAPE = warning(
    "TRIGGER_WITHOUT_SHAPE",
    "the trigger has neither {key} nor nodes; must have exactly one of them; it is left out",
)
TRIGGER_FILTER_UNUSED = warning(
    "TRIGGER_FILTER_UNUSED",
    "the compound trigger has a collisionFilter; must leave it to its parts; it is ignored",
)
TRIGGER_NODE_REPEATED = warning(
    "TRIGGER_NODE_REPEATED",
    "nodes names node {got} more than once; must name each once; it counts once",
)


def is_compound(trigger: Reader) -> bool:
    """True if a trigger lists nodes; an empty list, which is reported, names none."""
    if trigger.get("nodes") == []:
        trigger.report(LIST_EMPTY, "nodes", key="nodes", got="empty")
        return False
    return "nodes" in trigger


def read_part_nodes(trigger: Reader, document: Document) -> tuple[int, ...]:
    """The nodes of a compound trigger in authored order, each once; wrong indices left out."""
    nodes = trigger.indices(
        "nodes", count=len(document.tree), instead="it is left out", refers=True
    )
    distinct = tuple(dict.fromkeys(nodes or ()))
    if nodes and len(distinct) != len(nodes):
        repeated = next(node for node in nodes if nodes.count(node) > 1)
        trigger.report(TRIGGER_NODE_REPEATED, "nodes", got=repeated)
    if "collisionFilter" in trigger:
        trigger.report(TRIGGER_FILTER_UNUSED, "collisionFilter")
    return distinct
