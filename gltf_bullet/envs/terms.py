"""Ready terms for rewards and ends of episodes; all are picklable values.

Each is a :data:`~gltf_bullet.envs.config.Term`: its value counts as reward, and ends the episode
if it is not zero. Points and heights are in the Bullet world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gltf_bullet.envs.config import NodeKey, StepContext
from gltf_bullet.envs.sight import Sight, SightTerm
from gltf_bullet.errors import UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive(SightTerm):
    """A constant reward for every step."""

    weight: float = 1.0
    """Reward per step."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight."""
        return self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance(SightTerm):
    """The distance between two nodes, such as a body and a trigger."""

    node: NodeKey
    """Node with the one origin."""
    target: NodeKey
    """Node with the other origin."""
    weight: float = -1.0
    """Reward per metre."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The distance between the origins of both nodes, weighted."""
        return self.weight * math.dist(sight.place(self.node), sight.place(self.target))


@dataclass(frozen=True, slots=True, kw_only=True)
class Height(SightTerm):
    """The height of a node."""

    node: NodeKey
    """Node whose origin is measured."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""
    weight: float = 1.0
    """Reward per metre."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The height above the copy's origin, weighted."""
        height = sight.place(self.node)[self.axis] - context.origin[self.axis]
        return self.weight * height


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed(SightTerm):
    """The velocity of a body along a world axis."""

    body: NodeKey
    """Motion node of the body."""
    axis: int = 0
    """Axis of the Bullet world: 0, 1, 2 for X, Y, Z."""
    weight: float = 1.0
    """Reward per metre per second."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The velocity of its centre of mass along the axis, weighted."""
        return self.weight * sight.velocity(self.body)[self.axis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Below(SightTerm):
    """A node has sunk below a height: an end."""

    node: NodeKey
    """Node whose origin is measured."""
    height: float
    """Height above the copy's origin [m]."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""

    def seen(self, sight: Sight, context: StepContext) -> bool:
        """True if it is below."""
        return sight.place(self.node)[self.axis] - context.origin[self.axis] < self.height


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOutside(SightTerm):
    """A joint's coordinate has left a range: an end."""

    joint: NodeKey
    """The joint node."""
    low: float
    """Lower end of the range [m] or [rad]."""
    high: float
    """Upper end of the range [m] or [rad]."""
    dof: int = 0
    """Index of the joint's degree of freedom."""

    def seen(self, sight: Sight, context: StepContext) -> bool:
        """True if the coordinate is outside."""
        return not self.low <= sight.joint(self.joint, self.dof) <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCost(SightTerm):
    """A cost of large actions."""

    weight: float = -0.01
    """Reward per squared unit of normalised action."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The sum of the squares, weighted."""
        return self.weight * float(context.action @ context.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEntered(SightTerm):
    """Something came into a trigger in this step, even if it has left it since."""

    trigger: NodeKey
    """The trigger's node."""
    body: NodeKey | None = None
    """The only body that counts; ``None`` for all."""
    weight: float = 1.0
    """Reward per step in which something came in."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight if something entered, else 0."""
        if not context.events:
            return 0.0
        trigger = sight.scene.triggers[self.trigger].node
        body = None if self.body is None else sight.scene.bodies[self.body].node
        entered = any(
            event.kind == "entered"
            and event.trigger_node == trigger
            and (body is None or event.motion_node == body)
            for event in context.events
        )
        return self.weight if entered else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(SightTerm):
    """A variable of the file's behavior graph: the file defines the reward or the end."""

    variable: int | str
    """Index or name of the variable, a number or a boolean."""
    weight: float = 1.0
    """Reward per unit."""
    growth: bool = False
    """True if its growth in this step counts, instead of its value."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The value, or its growth, weighted."""
        behavior = sight.scene.behavior
        if behavior is None:
            raise UnknownNameError(f"{sight.scene.asset.path} has no behavior graph that runs")
        index = behavior.variables.index_of(self.variable)
        value = float(behavior.variables[index])
        if self.growth:
            value -= float(context.variables_before[index])
        return self.weight * value


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSent(SightTerm):
    """The file's behavior graph has sent a custom event: a reward, or an end."""

    event: str
    """Id of the event."""
    weight: float = 1.0
    """Reward per event."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight times the number of such events in this step."""
        return self.weight * sum(sent.event == self.event for sent in context.sent)
