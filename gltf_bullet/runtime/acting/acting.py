"""Running of a behavior graph in a scene: before each step, and on the step's events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.behavior.graph import Graph
from gltf_bullet.behavior.host import Property
from gltf_bullet.behavior.reading import read_graphs
from gltf_bullet.behavior.running import Behavior, BehaviorState
from gltf_bullet.behavior.values import Value
from gltf_bullet.diagnostics import Diagnostics, Issue
from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.acting.scene_host import SceneHost
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.trigger_reports import TriggerEvent


class ActingState(Struct, frozen=True, eq=False, kw_only=True):
    """All state of a graph in a scene; picklable."""

    behavior: BehaviorState
    kept: Mapping[str, Value] = msgspec_field(default_factory=dict)
    """Values of properties that the simulation does not use."""
    lag: float = 0.0
    """Time by which the graph is behind the scene [s]."""


class Acting:
    """The running graph of one scene."""

    def __init__(self, core: SceneCore, graph: Graph) -> None:
        self._core = core
        self.host = SceneHost(core)
        budget = core.options.behavior_budget
        self.behavior = Behavior(graph, self.host, len(core.asset.tree), budget=budget)
        self._lag = 0.0
        self._paused_at: float | None = None
        self._carrying: tuple[object, frozenset[int]] = (None, frozenset())

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Issues found while running."""
        return (*self.behavior.found, *self.host.found)

    @property
    def is_idle(self) -> bool:
        """True if the next step needs nothing of the graph."""
        return self.behavior.is_idle

    def find(self, pointer: str) -> Property | None:
        """Return the object model's property at a pointer, for the graph and for users."""
        return self.behavior.find(pointer)

    def keeps(self, pointer: str) -> bool:
        """Return True if a property that the simulation does not use was set at a pointer."""
        return pointer in self.host.kept

    def moves_freely(self, node: int) -> bool:
        """Record that a node is moved; return True if that needs no new bodies.

        A node without simulated parts is just set; static colliders and kinematic bodies go there
        in the coming step: with the velocity that it takes, if the graph interpolates.
        """
        if node in self._carrying_nodes():
            self._core.followers.animator.acted[node] = not self.host.is_gliding
            return True
        return node in self._free_nodes

    def _carrying_nodes(self) -> frozenset[int]:
        """Return nodes above colliders, but not above dynamic bodies or joints."""
        core = self._core
        if self._carrying[0] is not core.world:
            physics, tree = core.model.now, core.asset.tree
            held = {n for n, m in physics.motions.items() if m.kind is MotionKind.DYNAMIC}
            for joint in physics.joints.values():
                held.add(joint.node)
                if joint.connected_node is not None:
                    held.add(joint.connected_node)
            solid = physics.colliders.keys() | physics.motions.keys()
            owner_of = core.world.plan.motion_node_of
            self._carrying = (
                core.world,
                frozenset(
                    node
                    for node in core.asset.acted or ()
                    if owner_of[node] in (-1, node)
                    and held.isdisjoint(below := (node, *tree.descendants(node)))
                    and not solid.isdisjoint(below)
                ),
            )
        return self._carrying[1]

    @cached_property
    def _free_nodes(self) -> frozenset[int]:
        physics, tree = self._core.model.now, self._core.asset.tree
        held = physics.motions.keys() | physics.colliders.keys() | physics.triggers.keys()
        held |= physics.joints.keys()
        held |= {j.connected_node for j in physics.joints.values() if j.connected_node is not None}
        return frozenset(
            node
            for node in self._core.asset.acted or ()
            if held.isdisjoint((node, *tree.descendants(node)))
        )

    def before_step(self, time_step: float) -> None:
        """Run the graph for the coming step of this length [s]."""
        behavior = self.behavior
        if behavior.is_idle:
            return
        now = self._core.time - self._lag
        behavior.tick(now)
        if behavior.playing.tracks:
            players = self._core.followers.animations
            for animation, time, is_last in behavior.playing.ahead(now + time_step):
                track = behavior.playing.tracks[animation]
                players[animation].lead(
                    time,
                    begins=track.since == now,
                    is_backwards=track.end < track.start,
                    is_last=is_last,
                )

    def after_step(self, events: Sequence[TriggerEvent]) -> None:
        """Run the graph on the events and the time of the step."""
        behavior = self.behavior
        if events:
            crossings = [
                (e.kind.capitalize(), e.trigger_node, e.collider_node, e.motion_node)
                for e in events
            ]
            behavior.catch_up(self._core.time - self._lag, crossings)
        elif not behavior.is_idle:
            behavior.catch_up(self._core.time - self._lag)

    def pause(self) -> None:
        """Pause the graph; its time stops."""
        if not self.behavior.is_paused:
            self.behavior.is_paused = True
        if self._paused_at is None:
            self._paused_at = self._core.time

    def resume(self) -> None:
        """Resume the graph, also after it was stopped as endless."""
        if self._paused_at is not None:
            self._lag += self._core.time - self._paused_at
            self._paused_at = None
        self.behavior.is_paused = False

    def state(self) -> ActingState:
        """Return all state."""
        lag = self._lag
        if self._paused_at is not None:
            lag += self._core.time - self._paused_at
        return ActingState(behavior=self.behavior.state(), kept=dict(self.host.kept), lag=lag)

    def restore(self, state: ActingState | None, time: float) -> None:
        """Restore a :meth:`state` of the scene's ``time`` [s]."""
        if state is None:
            return
        self.behavior.restore(state.behavior)
        self.host.kept.clear()
        self.host.kept.update(state.kept)
        self._lag = state.lag
        self._paused_at = time if state.behavior.is_paused else None


def graph_of(asset: AssetContent) -> Graph | None:
    """Return the graph of a file, read once; ``None`` without one that can be run."""
    if Graph not in asset.derived:
        asset.derived[Graph] = read_graphs(asset.document.json, Diagnostics())
    graph: Graph | None = asset.derived[Graph]
    return graph


def acting_of(core: SceneCore) -> Acting | None:
    """Create the running graph of a scene; ``None`` without one."""
    graph = graph_of(core.asset)
    return None if graph is None else Acting(core, graph)
