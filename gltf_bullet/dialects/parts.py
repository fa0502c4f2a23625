"""The values that the dialects contribute, before references between nodes are resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet import model
from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.dialects.reading import AS_ABSENT, report_unknown
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader

MemberReader: TypeAlias = Callable[[Reader, int], None]
"""Reads one object of a node's extension: the object and the node."""


class PhysicsParts(Struct, kw_only=True):
    """The values of all dialects by node index; filled in by one dialect after the other.

    Indices into tables are resolved, node indices exist; whether the named nodes are what they must
    be (a trigger, a body) is only known when all dialects have been read.
    """

    motions: dict[int, model.Motion] = msgspec_field(default_factory=dict)
    colliders: dict[int, model.Collider] = msgspec_field(default_factory=dict)
    triggers: dict[int, model.Trigger] = msgspec_field(default_factory=dict)
    joints: dict[int, model.Joint] = msgspec_field(default_factory=dict)
    empty_triggers: dict[int, JsonPointer] = msgspec_field(default_factory=dict)
    """Triggers that name neither a shape nor parts (OMI_physics_body allows it)."""
    world_gravity: model.WorldGravity | None = None
    gravity_volumes: dict[int, model.GravityVolume] = msgspec_field(default_factory=dict)
    collision_filters: tuple[model.CollisionFilter, ...] = ()
    """The table of the newest dialect that has one, for queries by index."""
    tables: list[model.PhysicsMaterial | model.Shape | model.JointDescription] = msgspec_field(
        default_factory=list
    )
    """The entries of all tables, for pointers to what nothing uses."""

    def note_tables(self, *tables: Sequence[object]) -> None:
        """Take note of tables; meshes have no properties that change."""
        self.tables += (
            entry
            for table in tables
            for entry in table
            if isinstance(entry, (model.PhysicsMaterial, model.JointDescription, model.Shape))
            and not isinstance(entry, model.MeshShape)
        )

    def add_collider(
        self,
        node: int,
        shape: model.Shape | None,
        owner: Reader,
        material: model.PhysicsMaterial | None = None,
        collision_filter: model.CollisionFilter | None = None,
    ) -> None:
        """Take a collider, if it has a shape: why it has none was reported."""
        if shape is not None:
            self.colliders[node] = model.Collider(
                node=node, shape=shape, material=material, filter=collision_filter, pointer=owner.at
            )

    def add_trigger(
        self,
        node: int,
        shape: model.Shape | None,
        owner: Reader,
        collision_filter: model.CollisionFilter | None = None,
    ) -> None:
        """Take a trigger of one shape, if it has one."""
        if shape is not None:
            self.triggers[node] = model.Trigger(
                node=node, shape=shape, filter=collision_filter, pointer=owner.at
            )

    def add_compound_trigger(self, node: int, part_nodes: tuple[int, ...], owner: Reader) -> None:
        """Take a trigger that lists other nodes, if any of them can be used."""
        if part_nodes:
            self.triggers[node] = model.Trigger(node=node, part_nodes=part_nodes, pointer=owner.at)

    def add_joint(self, joint: model.Joint | None) -> None:
        """Take a joint, if its references lead somewhere."""
        if joint is not None:
            self.joints[joint.node] = joint


def read_node_members(
    document: Document,
    nodes: Sequence[int],
    extension: str,
    known: frozenset[str],
    readers: Mapping[str, MemberReader],
    diagnostics: Diagnostics,
) -> None:
    """Hand every object of a nodes' extension to its reader, in the order of ``readers``."""
    for node in nodes:
        found = document.node_reader(node, extension, diagnostics)
        report_unknown(found, known, extension)
        for key, read in readers.items():
            if (member := found.member(key, instead=AS_ABSENT)) is not None:
                read(member, node)


def node_extension_pointer(node: int, extension: str) -> JsonPointer:
    """The place of an extension object on a node."""
    return JsonPointer(f"/nodes/{node}/extensions/{extension}")
