"""What users hold: nodes and bodies of a scene by glTF index or name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np

from gltf_bullet.bullet.bodies import link_states
from gltf_bullet.model import MotionKind
from gltf_bullet.transforms import FloatArray, decompose_trs

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

__all__ = ["Body", "ByNode", "NodeView", "Nodes"]

V = TypeVar("V")


class ByNode(Mapping[int, V]):
    """Values by glTF node index, in file order; a node's name works as a key as well."""

    def __init__(self, values: Mapping[int, V], names: Sequence[str]) -> None:
        self._values = dict(values)
        self._names = names

    def __getitem__(self, key: int | str) -> V:
        if isinstance(key, str):
            found = [node for node in self._values if self._names[node] == key]
            if len(found) != 1:
                known = sorted({self._names[node] for node in self._values} - {""})
                what = f"names {len(found)} nodes" if found else "names no node here"
                raise KeyError(f"{key!r} {what}; names: {known}")
            key = found[0]
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(self._names[node] == key for node in self._values)
        return key in self._values

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"


class NodeView:
    """One glTF node of a scene, as it stands now. Local values are relative to the parent node."""

    __slots__ = ("_scene", "index")

    def __init__(self, scene: Scene, index: int) -> None:
        self._scene = scene
        self.index = index
        """Index in the file's ``nodes``."""

    @property
    def name(self) -> str:
        """As authored; empty where the file gives none."""
        return self._scene.asset.tree.names[self.index]

    @property
    def parent(self) -> NodeView | None:
        """The node above, or ``None`` for a root."""
        parent = int(self._scene.asset.tree.parents[self.index])
        return None if parent < 0 else NodeView(self._scene, parent)

    @property
    def children(self) -> tuple[NodeView, ...]:
        """The nodes below, in file order."""
        return tuple(NodeView(self._scene, k) for k in self._scene.asset.tree.children[self.index])

    @property
    def world_matrix(self) -> FloatArray:
        """world_from_node in the Bullet world, scale included, shape [4, 4]."""
        return self._scene.world_from_node(self.index)

    @property
    def local_matrix(self) -> FloatArray:
        """parent_from_node, shape [4, 4]; follows physics also below moving parents."""
        return self._scene.local_matrix(self.index)

    @property
    def translation(self) -> FloatArray:
        """Local translation [m], shape [3]."""
        return decompose_trs(self.local_matrix)[0]

    @property
    def rotation(self) -> FloatArray:
        """Local rotation xyzw, shape [4]."""
        return decompose_trs(self.local_matrix)[1]

    @property
    def scale(self) -> FloatArray:
        """Local scale, shape [3]."""
        return decompose_trs(self.local_matrix)[2]

    @property
    def body(self) -> Body | None:
        """The body that carries the node (nearest motion at or above it), or ``None``."""
        return self._scene.body_of(self.index)

    def __repr__(self) -> str:
        return f"NodeView({self.index}, {self.name!r})"


class Nodes(Sequence[NodeView]):
    """All nodes of a scene, in file order."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @overload
    def __getitem__(self, index: int) -> NodeView: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NodeView]: ...
    def __getitem__(self, index: int | slice) -> NodeView | Sequence[NodeView]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [NodeView(self._scene, number) for number in numbers]
        return NodeView(self._scene, numbers)

    def __len__(self) -> int:
        return len(self._scene.asset.tree)


class Body:
    """A rigid body of a scene: a node with motion.

    ``body_id`` and ``link_index`` are ordinary PyBullet ids: use them with any PyBullet call.
    Velocities and impulses are in world axes.
    """

    __slots__ = ("_scene", "node")

    def __init__(self, scene: Scene, node: int) -> None:
        self._scene = scene
        self.node = node
        """glTF index of the node with the motion."""

    @property
    def body_id(self) -> int:
        """The PyBullet body."""
        return self._scene.world.link_of(self.node)[0]

    @property
    def link_index(self) -> int:
        """-1 for a free body, else the link of an articulated multibody."""
        return self._scene.world.link_of(self.node)[1]

    @property
    def kind(self) -> MotionKind:
        """Who moves it; an animation may take a dynamic body over while it plays."""
        return self._scene.world.plan.bodies.bodies[self.node].kind

    @property
    def mass(self) -> float:
        """[kg] in the engine; 0 for kinematic and static bodies."""
        return self._scene.world.plan.bodies.bodies[self.node].mass

    @property
    def name(self) -> str:
        """The node's name."""
        return self._scene.asset.tree.names[self.node]

    @property
    def center_of_mass(self) -> FloatArray:
        """In the world [m], shape [3]."""
        self._scene.require_alive()
        return np.array(
            link_states.link_state(self._scene.client_id, self.body_id, self.link_index)[0]
        )

    @property
    def linear_velocity(self) -> FloatArray:
        """Of the centre of mass [m/s], shape [3]."""
        return self._scene.velocities_of(self.node)[0]

    @property
    def angular_velocity(self) -> FloatArray:
        """[rad/s], shape [3]."""
        return self._scene.velocities_of(self.node)[1]

    def apply_impulse(
        self,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        """Apply an impulse [N s] at the centre of mass and an angular impulse [N m s]."""
        self._scene.apply_impulse(self.node, linear, angular)

    def apply_point_impulse(self, impulse: Sequence[float], position: Sequence[float]) -> None:
        """Apply an impulse [N s] at a point of the world [m]."""
        self._scene.apply_point_impulse(self.node, impulse, position)

    def __repr__(self) -> str:
        return (
            f"Body(node={self.node}, name={self.name!r}, body_id={self.body_id}, "
            f"link_index={self.link_index}, kind={self.kind.value})"
        )
