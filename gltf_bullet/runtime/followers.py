"""Nodes and animations of a scene, synchronised with its bodies on first use.

Many scenes are only stepped. Of 300 boxes in one world, unused nodes and animations were a quarter
of the time to load them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.model import PhysicsScene
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.plan_memo import MemoKey
from gltf_bullet.runtime.animation.animator import Animator, AnimatorState
from gltf_bullet.runtime.animation.deforming_colliders import DeformingColliders
from gltf_bullet.runtime.animation.driver import AnimationDriver
from gltf_bullet.runtime.animation.players import Animations
from gltf_bullet.runtime.animation.shape_watch import ShapeWatch
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.node_sync import NodeSync
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.transforms import FloatArray, Parts, Vec3

_Standing: TypeAlias = tuple[AnimatorState, FloatArray]
"""State and local transforms of the animations; and world_from_node of all nodes."""


class Jump(enum.Enum):
    """Discontinuities between two steps, for observers of the nodes over time."""

    BEGINS = enum.auto()
    """A node will be put elsewhere."""
    ENDS = enum.auto()
    """The node has been put elsewhere."""
    OTHER_RUN = enum.auto()
    """The scene has gone back to a state."""


_HAS_WORK: MemoKey[bool] = MemoKey("something moves or changes that is no body")
_LOCAL_MATRICES: MemoKey[FloatArray] = MemoKey("local transforms of all nodes, as authored")


class Followers:
    """Nodes and animations of one scene; they stay when the bodies are rebuilt."""

    def __init__(
        self,
        asset: AssetContent,
        placement: Placement,
        options: LoadOptions,
        guard: Callable[[], None],
    ) -> None:
        """Store file, placement and options; ``guard`` raises an error if the scene is gone."""
        self._asset, self._placement, self._options = asset, placement, options
        self._guard = guard
        self.has_moved = False
        """True if the bodies have moved since :attr:`nodes` was last read."""
        self._jump_listeners: list[Callable[[Jump], object]] = []

    def on_jump(self, callback: Callable[[Jump], object]) -> Callable[[], None]:
        """Call ``callback`` with every :class:`Jump`; return a function that ends it."""
        self._jump_listeners.append(callback)

        def end() -> None:
            with suppress(ValueError):
                self._jump_listeners.remove(callback)

        return end

    def notify(self, jump: Jump) -> None:
        """Call all observers."""
        for listener in tuple(self._jump_listeners):
            listener(jump)

    def follow(self, world: EngineWorld, physics: Callable[[], PhysicsScene]) -> None:
        """Follow these bodies from now on; ``physics`` returns the model that they were made of."""
        self._world, self._physics = world, physics
        self.has_moved = False
        for made in ("_nodes", "driver", "watch"):
            self.__dict__.pop(made, None)
        self.are_busy = world.plan.memo.get(_HAS_WORK, self._find_work)
        """True if animations or changing shapes need work in each step."""
        if self.are_busy:
            self.driver, self.watch  # noqa: B018  # they store the state at the beginning

    def _find_work(self) -> bool:
        return bool(self.driver.moves_anything or not self.watch.is_idle)

    @cached_property
    def animations(self) -> Animations:
        """See ``Scene.animations``."""
        return Animations(
            self._asset.animations,
            play=self._options.play_animations,
            loop=self._options.loop_animations,
            guard=self._guard,
        )

    @cached_property
    def animator(self) -> Animator:
        """Local transforms as set by the animations."""
        acted = (self._asset.acted or ()) if self._options.behavior else ()
        return Animator(self._asset.tree, self.animations, self._placement.matrix, acted)

    @cached_property
    def driver(self) -> AnimationDriver:
        """Moves the nodes and bodies that animations drive."""
        world, animator = self._world, self.animator
        deforming = DeformingColliders(self._asset, self._physics(), animator, world, self._options)
        return AnimationDriver(animator, world, self._asset.tree, world.plan.frames, deforming)

    @cached_property
    def watch(self) -> ShapeWatch:
        """Detects colliders whose shapes have changed."""
        return ShapeWatch(self._asset, self._physics(), self.animator, self._world.plan)

    @cached_property
    def _nodes(self) -> NodeSync:
        world, animator = self._world, self.animator
        return NodeSync(
            self._asset.tree, world.plan.frames, world.body_nodes, animator.local,
            animator.animated, self._placement.matrix, world.world_from_bodies,
            animator.scaled, animator.linear_maps,
        )  # fmt: skip

    @property
    def nodes(self) -> NodeSync:
        """The nodes' present transforms; read it again after a step."""
        nodes = self._nodes
        nodes.is_stale |= self.has_moved
        self.has_moved = False
        return nodes

    def local_parts(self, node: int) -> Parts:
        """Return local translation, rotation xyzw and scale of a node, for users.

        What was stated is returned as it was; nothing is read for nodes that nothing moves.
        """
        if not self._nodes.is_body(node):
            return self.animator.parts_of(node)
        self.look(node)
        return self.nodes.local_parts(node)

    def state_parts(self, node: int, parts: Parts) -> None:
        """Note what the present local transform of a node was stated as."""
        if self._nodes.is_body(node):
            self.look(node)
            self.nodes.state_parts(node, parts)

    def look(self, node: int | None = None) -> FloatArray:
        """Do as :meth:`place` does, for users, who may have moved bodies by PyBullet's own calls.

        ``node``: the only node of interest; a free body that carries it is read alone.
        """
        if node is None or self._may_have_moved(node):
            self.has_moved = True
        return self.place()

    def matrix_of(self, node: int) -> FloatArray:
        """Return a copy of world_from_node of one node now, for users, shape [4, 4].

        The link of a jointed body is read alone: reading all costs seven times as much as the step
        of a cart-pole (measured).
        """
        owner = int(self._world.plan.motion_node_of[node])
        found = None if self.are_busy else self._world.world_from_body(owner)
        if found is None:
            matrix: FloatArray = self.look(node)[node].copy()
            return matrix
        return self._nodes.carried(node, owner, found.matrix())

    @property
    def edits(self) -> int:
        """Number of changes of local transforms so far; each makes :meth:`spot_of` invalid."""
        return self.animator.edits

    def spot_of(self, node: int) -> tuple[int, Vec3]:
        """Return the point of the body at which a node is, if nothing is animated.

        Returns:
            The motion node of the body that carries the node, and the position in its inertial
            frame [m]; -1 and the position in the world if no body carries the node.
        """
        x, y, z = self.matrix_within(node)[:3, 3].tolist()
        return max(int(self._world.plan.motion_node_of[node]), -1), (x, y, z)

    def matrix_within(self, node: int) -> FloatArray:
        """Return a node's matrix as :meth:`spot_of` returns its position, shape [4, 4]."""
        owner = int(self._world.plan.motion_node_of[node])
        if owner < 0:
            return self._nodes.carried(node, owner, self._placement.matrix)
        inertial = self._world.plan.bodies.bodies[owner].body_from_inertial.inverse().matrix()
        return self._nodes.carried(node, owner, inertial)

    def _may_have_moved(self, node: int) -> bool:
        owner, world = int(self._world.plan.motion_node_of[node]), self._world
        if owner in world.free.id_of_node:
            return world.free.is_elsewhere(owner)
        return owner in world.articulations.link_of

    def place(self) -> FloatArray:
        """Return world_from_node of all nodes now, shape [node_count, 4, 4]."""
        return self.nodes.world_from_node

    def settle(self) -> None:
        """Update animated colliders on a body that was put elsewhere."""
        if self.are_busy:
            self.driver.settle(self.place())

    def standing(self) -> _Standing:
        """Return animations and world_from_node of all nodes for a state; read-only."""
        if self.has_moved or self.__dict__.keys() & {"_nodes", "animator"}:
            return self.animator.state(), self.place().copy()
        plan = self._world.plan
        local = plan.memo.get(_LOCAL_MATRICES, self._asset.tree.local_matrices)
        return AnimatorState(local=local), plan.frames.world_from_node

    def take(self, matrices: FloatArray) -> None:
        """Restore :meth:`standing`, whose first part the animator has restored already."""
        self.driver.restart()
        self.has_moved = False
        self._nodes.stand(matrices)
        self.notify(Jump.OTHER_RUN)
