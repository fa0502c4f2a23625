"""Ready parts of rewards and ends of episodes; all are picklable values.

Each is a :data:`~gltf_bullet.envs.config.Term`: what it gives counts as reward, and as an end of
the episode where it is not zero. Points and heights are in the Bullet world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gltf_bullet.envs.config import NodeKey, StepContext
from gltf_bullet.envs.sight import Sight, SightTerm
from gltf_bullet.errors import UnknownNameError

__all__ = [
    "Alive",
    "Below",
    "ControlCost",
    "Distance",
    "EventSent",
    "Height",
    "JointOutside",
    "Speed",
    "TriggerEntered",
    "Variable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive(SightTerm):
    """The same reward for every step."""

    weight: float = 1.0
    """Per step."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight."""
        return self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance(SightTerm):
    """How far a node is from another one: of a body, a trigger, or any other."""

    node: NodeKey
    """From whose origin."""
    target: NodeKey
    """To whose origin."""
    weight: float = -1.0
    """Per metre."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The distance between the origins of both nodes, weighted."""
        return self.weight * math.dist(sight.place(self.node), sight.place(self.target))


@dataclass(frozen=True, slots=True, kw_only=True)
class Height(SightTerm):
    """How high a node is."""

    node: NodeKey
    """Whose origin."""
    axis: int = 2
    """Which world axis is up."""
    weight: float = 1.0
    """Per metre."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The height above the copy's origin, weighted."""
        height = sight.place(self.node)[self.axis] - context.origin[self.axis]
        return self.weight * height


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed(SightTerm):
    """How fast a body moves along a world axis."""

    body: NodeKey
    """Its motion node."""
    axis: int = 0
    """0, 1, 2: X, Y, Z of the Bullet world."""
    weight: float = 1.0
    """Per metre per second."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The velocity of its centre of mass, weighted."""
        return self.weight * sight.velocity(self.body)[self.axis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Below(SightTerm):
    """A node has sunk below a height: an end."""

    node: NodeKey
    """Whose origin."""
    height: float
    """[m]"""
    axis: int = 2
    """Which world axis is up."""

    def seen(self, sight: Sight, context: StepContext) -> bool:
        """Whether it is below."""
        return sight.place(self.node)[self.axis] - context.origin[self.axis] < self.height


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOutside(SightTerm):
    """A joint's coordinate has left a range: an end."""

    joint: NodeKey
    """The joint node."""
    low: float
    """[m] or [rad]"""
    high: float
    """[m] or [rad]"""
    dof: int = 0
    """Which of the joint's degrees of freedom."""

    def seen(self, sight: Sight, context: StepContext) -> bool:
        """Whether it is outside."""
        return not self.low <= sight.joint(self.joint, self.dof) <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCost(SightTerm):
    """What large actions cost."""

    weight: float = -0.01
    """Per squared unit of normalised action."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The sum of the squares, weighted."""
        return self.weight * float(context.action @ context.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEntered(SightTerm):
    """Something came into a trigger in this step, also where it has left it since."""

    trigger: NodeKey
    """The trigger's node."""
    body: NodeKey | None = None
    """Count only this body; ``None``: whatever it was."""
    weight: float = 1.0
    """Per step in which something came in."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight where something entered, else 0."""
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
    """A variable of the file's behavior graph: the reward, or the end, is in the file."""

    variable: int | str
    """By index or name; a number or a boolean."""
    weight: float = 1.0
    """Per unit."""
    growth: bool = False
    """By how much it has grown in this step, instead of what it is."""

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
    """Its id."""
    weight: float = 1.0
    """Each time."""

    def seen(self, sight: Sight, context: StepContext) -> float:
        """The weight, as often as it was sent in this step."""
        return self.weight * sum(sent.event == self.event for sent in context.sent)
