"""Views of nodes for users, and mappings of values by node."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, overload

from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.bodies import Body
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import FloatArray

V = TypeVar("V")

MOST_LISTED = 12
"""Largest number of nodes in a message."""


class ByNode(Mapping[int, V]):
    """Values by glTF node index, in file order; a node's name works as a key as well."""

    def __init__(self, what: str, values: Mapping[int, V], names: Sequence[str]) -> None:
        """Store the values.

        Args:
            what: The plural noun for messages, e.g. ``"bodies"``.
            values: Values by node index.
            names: Names of all nodes of the file.
        """
        self._what = what
        self._values = dict(values)
        self._names = names

    def __getitem__(self, key: int | str) -> V:
        if isinstance(key, str):
            return self._values[self._node_named(key)]
        try:
            return self._values[operator.index(key)]
        except KeyError:
            raise UnknownNameError(
                f"node {key} has none; {self._what} are at {self._listed()}"
            ) from None

    def __contains__(self, key: object) -> bool:
        """Return True if ``self[key]`` gives a value: a name of several nodes does not."""
        if isinstance(key, str):
            return len(self._nodes_named(key)) == 1
        return key in self._values

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes in the order of the keys, empty if they have none."""
        return tuple([self._names[node] for node in self._values])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"

    def _nodes_named(self, name: str) -> list[int]:
        return [node for node in self._values if self._names[node] == name]

    def _node_named(self, name: str) -> int:
        found = self._nodes_named(name)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownNameError(
                f"{name!r} names {len(found)} {self._what}; use an index: {found}"
            )
        near = did_you_mean(name, [self._names[node] for node in self._values])
        raise UnknownNameError(
            f"{name!r} names none of the {self._what}; there are {self._listed()}{near}"
        )

    def _listed(self) -> str:
        """Return names and indices, as many as fit into a message."""
        shown = [f"{node} {self._names[node]!r}" for node in [*self._values][:MOST_LISTED]]
        more = len(self._values) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "") or "none"


@holds_world_lock("_core.session.lock")
class NodeView:
    """One glTF node of a scene, at present. Local values are relative to the parent node."""

    __slots__ = ("_core", "index")

    def __init__(self, core: SceneCore, index: int) -> None:
        self._core = core
        self.index = index
        """Index in the file's ``nodes``."""

    @property
    def name(self) -> str:
        """The authored name; empty if the file gives none."""
        return self._core.asset.tree.names[self.index]

    @property
    def parent(self) -> NodeView | None:
        """The node above, or ``None`` for a root."""
        parent = int(self._core.asset.tree.parents[self.index])
        return None if parent < 0 else NodeView(self._core, parent)

    @property
    def children(self) -> tuple[NodeView, ...]:
        """The nodes below, in file order."""
        return tuple(NodeView(self._core, k) for k in self._core.asset.tree.children[self.index])

    @property
    def world_matrix(self) -> FloatArray:
        """world_from_node in the Bullet world, scale included; a copy, shape [4, 4]."""
        self._core.require_alive()
        return self._core.followers.matrix_of(self.index)

    @property
    def local_matrix(self) -> FloatArray:
        """parent_from_node, shape [4, 4]; up to date with physics also below moving parents."""
        self._core.require_alive()
        self._core.followers.look(self.index)
        return self._core.nodes.local_matrix(self.index)

    @property
    def _local_parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        self._core.require_alive()
        return self._core.followers.local_parts(self.index)

    @property
    def translation(self) -> FloatArray:
        """Local translation [m], shape [3]."""
        return self._local_parts[0]

    @property
    def rotation(self) -> FloatArray:
        """Local rotation xyzw, shape [4]."""
        return self._local_parts[1]

    @property
    def scale(self) -> FloatArray:
        """Local scale, shape [3]."""
        return self._local_parts[2]

    @property
    def body(self) -> Body | None:
        """The body that carries the node (nearest motion at or above it), or ``None``."""
        owner = int(self._core.world.plan.motion_node_of[self.index])
        return None if owner < 0 else Body(self._core, owner)

    def __repr__(self) -> str:
        return f"NodeView({self.index}, {self.name!r})"


class Nodes(Sequence[NodeView]):
    """All nodes of a scene, in file order."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core

    @overload
    def __getitem__(self, index: int) -> NodeView: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NodeView]: ...
    def __getitem__(self, index: int | slice) -> NodeView | Sequence[NodeView]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [NodeView(self._core, number) for number in numbers]
        return NodeView(self._core, numbers)

    def __len__(self) -> int:
        return len(self._core.asset.tree)

    def index_of(self, key: int | str) -> int:
        """Return the index of a node that is given by index (any integer type) or by name.

        Exporters give a body, its joint and its collider one name. It means the only body among
        them, else the node that all others of that name are below.

        Raises:
            KeyError: No node, or more than one, has that name.
            IndexError: The file has no such node.
        """
        names = self._core.asset.tree.names
        if not isinstance(key, str):
            index = operator.index(key)
            if not -len(names) <= index < len(names):
                raise IndexError(f"node {index}; the file has {len(names)} nodes")
            return index % len(names)
        found = [index for index, name in enumerate(names) if name == key]
        if len(found) == 1:
            return found[0]
        if found and (meant := self._meant(found)) is not None:
            return meant
        if found:
            raise UnknownNameError(f"{key!r} names {len(found)} nodes; use an index: {found}")
        raise UnknownNameError(
            f"{key!r} names no node of {self._core.asset.path}{did_you_mean(key, names)}"
        )

    def _meant(self, found: list[int]) -> int | None:
        """The node that several of one name stand for; ``None`` if it is not clear."""
        bodies = [node for node in found if node in self._core.model.now.motions]
        if len(bodies) == 1:
            return bodies[0]
        above = [set(self._core.asset.tree.ancestors(node)) for node in found]
        tops = [
            node
            for node in found
            if all(node == other or node in up for other, up in zip(found, above, strict=True))
        ]
        return tops[0] if len(bodies) == 0 and tops else None
