"""Whoever follows the bodies of a scene: nodes and animations, made when somebody looks.

Many scenes are only stepped. Of 300 boxes in one world, nodes and animations that nobody asked for
were a quarter of what it took to load them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TypeAlias

from gltf_bullet.bullet.world.engine_world import EngineWorld
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
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["Followers", "Jump"]

_Standing: TypeAlias = tuple[AnimatorState, FloatArray]
"""Animations and local transforms; world_from_node of all nodes."""


class Jump(enum.Enum):
    """What happens between two steps to those who watch the nodes over time."""

    BEGINS = enum.auto()
    """A node is about to be put elsewhere."""
    ENDS = enum.auto()
    """It is there."""
    OTHER_RUN = enum.auto()
    """The scene has gone back to a state."""


_HAS_WORK: MemoKey[bool] = MemoKey("something moves or changes that is no body")
_LOCAL_MATRICES: MemoKey[FloatArray] = MemoKey("local transforms of all nodes, as authored")


class Followers:
    """Of one scene; the bodies may be made anew."""

    def __init__(
        self,
        asset: AssetContent,
        placement: Placement,
        options: LoadOptions,
        guard: Callable[[], None],
    ) -> None:
        """Know file, place and choices; ``guard`` raises where the scene is gone."""
        self._asset, self._placement, self._options = asset, placement, options
        self._guard = guard
        self.has_moved = False
        """Whether the bodies have moved since :attr:`nodes` was asked for."""
        self._jump_listeners: list[Callable[[Jump], object]] = []

    def on_jump(self, callback: Callable[[Jump], object]) -> Callable[[], None]:
        """Call ``callback`` with every :class:`Jump`; returns what ends it."""
        self._jump_listeners.append(callback)

        def end() -> None:
            with suppress(ValueError):
                self._jump_listeners.remove(callback)

        return end

    def tell(self, jump: Jump) -> None:
        """Let the watchers know."""
        for listener in tuple(self._jump_listeners):
            listener(jump)

    def follow(self, world: EngineWorld, physics: Callable[[], PhysicsScene]) -> None:
        """Follow these bodies, made of a model that can be asked for, from now on."""
        self._world, self._physics = world, physics
        self.has_moved = False
        for made in ("_nodes", "driver", "watch"):
            self.__dict__.pop(made, None)
        self.are_busy = world.plan.memo.get(_HAS_WORK, self._find_work)
        """Whether anything moves or changes that is no body."""
        if self.are_busy:
            self.driver, self.watch  # noqa: B018  # they note how everything begins

    def _find_work(self) -> bool:
        return bool(self.driver.has_work or not self.watch.is_idle)

    @cached_property
    def animations(self) -> Animations:
        """See ``Scene.animations``."""
        play = self._options.play_animations
        return Animations(self._asset.animations, play=play, guard=self._guard)

    @cached_property
    def animator(self) -> Animator:
        """Local transforms as the animations say."""
        acted = (self._asset.acted or ()) if self._options.behavior else ()
        return Animator(self._asset.tree, self.animations, self._placement.matrix, acted)

    @cached_property
    def driver(self) -> AnimationDriver:
        """Moves what the animations move."""
        world, animator = self._world, self.animator
        deforming = DeformingColliders(self._asset, self._physics(), animator, world, self._options)
        return AnimationDriver(animator, world, self._asset.tree, world.plan.frames, deforming)

    @cached_property
    def watch(self) -> ShapeWatch:
        """Notices colliders that no longer have their shapes."""
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
        """Where the nodes stand; ask again after a step."""
        nodes = self._nodes
        nodes.is_stale |= self.has_moved
        self.has_moved = False
        return nodes

    def look(self, node: int | None = None) -> FloatArray:
        """:meth:`place` for users, who may have put bodies elsewhere with PyBullet's own calls.

        ``node``: all that is looked at; a free body that carries it is asked for alone.
        """
        if node is None or self._may_have_moved(node):
            self.has_moved = True
        return self.place()

    def matrix_of(self, node: int) -> FloatArray:
        """world_from_node of one node now, for users, a copy, shape [4, 4].

        The link of a jointed body is asked for alone: all of them cost seven times as much as the
        step of a cart-pole (measured).
        """
        owner = int(self._world.plan.motion_node_of[node])
        found = None if self.are_busy else self._world.world_from_body(owner)
        if found is None:
            matrix: FloatArray = self.look(node)[node].copy()
            return matrix
        return self._nodes.carried(node, owner, found.matrix())

    @property
    def edits(self) -> int:
        """Number of times that nodes were placed in their parents; makes :meth:`spot_of` old."""
        return self.animator.edits

    def spot_of(self, node: int) -> tuple[int, Vec3]:
        """Find where a node stands on the body that carries it, while nothing is animated.

        Returns:
            The motion node of that body and the place in its inertial frame [m]; -1 and the place
            in the world where no body carries the node.
        """
        owner = int(self._world.plan.motion_node_of[node])
        if owner < 0:
            x, y, z = self._nodes.carried(node, owner, self._placement.matrix)[:3, 3].tolist()
            return -1, (x, y, z)
        inertial = self._world.plan.bodies.bodies[owner].body_from_inertial.inverse().matrix()
        x, y, z = self._nodes.carried(node, owner, inertial)[:3, 3].tolist()
        return owner, (x, y, z)

    def _may_have_moved(self, node: int) -> bool:
        owner, world = int(self._world.plan.motion_node_of[node]), self._world
        if owner in world.free.id_of_node:
            return world.free.is_elsewhere(owner)
        return owner in world.articulations.link_of

    def place(self) -> FloatArray:
        """world_from_node of all nodes now, shape [node_count, 4, 4]."""
        return self.nodes.world_from_node

    def settle(self) -> None:
        """Bring along what a body carries that was put elsewhere."""
        if self.are_busy:
            self.driver.settle(self.place())

    def standing(self) -> _Standing:
        """How everything stands; not to be changed."""
        if self.has_moved or self.__dict__.keys() & {"_nodes", "animator"}:
            return self.animator.state(), self.place().copy()
        plan = self._world.plan
        local = plan.memo.get(_LOCAL_MATRICES, self._asset.tree.local_matrices)
        return AnimatorState(local=local), plan.frames.world_from_node

    def take(self, matrices: FloatArray) -> None:
        """Stand as a :meth:`standing` says, whose first part the animator has already."""
        self.driver.restart()
        self.has_moved = False
        self._nodes.stand(matrices)
        self.tell(Jump.OTHER_RUN)
