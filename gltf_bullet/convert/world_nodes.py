"""The nodes of a world while it becomes a file, with motions, colliders, joints and visuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gltf_bullet.convert.description import FrameDescription, MeshGeometry, VisualDescription
from gltf_bullet.model import Collider, Joint, Motion, Trigger
from gltf_bullet.transforms import Pose


@dataclass(eq=False)
class NodeList:
    """Growing list of glTF nodes."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, parent: int, parent_from_node: Pose) -> int:
        """Append a node; ``parent`` -1 makes it a root."""
        entry: dict[str, Any] = {}
        if name:
            entry["name"] = name
        if any(parent_from_node.translation):
            entry["translation"] = list(parent_from_node.translation)
        if parent_from_node.rotation_xyzw != (0.0, 0.0, 0.0, 1.0):
            entry["rotation"] = list(parent_from_node.rotation_xyzw)
        index = len(self.entries)
        self.entries.append(entry)
        if parent >= 0:
            self.entries[parent].setdefault("children", []).append(index)
        return index


@dataclass(eq=False)
class WorldNodes:
    """The nodes of a world and their properties; mesh indices are into :attr:`collision_meshes`."""

    nodes: NodeList = field(default_factory=NodeList)
    motions: dict[int, Motion] = field(default_factory=dict)
    colliders: dict[int, Collider] = field(default_factory=dict)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    joints: dict[int, Joint] = field(default_factory=dict)
    visuals: list[tuple[int, VisualDescription]] = field(default_factory=list)
    """Visuals with their nodes."""
    cameras: list[tuple[int, FrameDescription]] = field(default_factory=list)
    """Cameras with their nodes."""
    collision_meshes: dict[MeshGeometry, int] = field(default_factory=dict)
    """Collision meshes and their indices, in ascending order."""
    link_nodes: dict[tuple[int, int], int] = field(default_factory=dict)
    """Nodes of links by body and link, the base being 0."""
    holders: dict[tuple[int, str], int] = field(default_factory=dict)
    """Nodes of robots that bodies are parts of, by number and name."""
    world_node: int = -1
