"""Ready terms for rewards and ends of episodes; all are picklable values.

Each is a :data:`~gltf_bullet.envs.config.Term`: its value counts as reward, and ends the episode
if it is not zero. Points and heights are in the Bullet world. Each states a formula, which is
written down when an environment is made, so that a step runs no Python for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gltf_bullet.envs.config import NodeKey
from gltf_bullet.envs.formulas import Eyes, Number, at_most, choose, less, root, squares
from gltf_bullet.envs.sight import SightTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive(SightTerm):
    """A constant reward for every step."""

    weight: float = 1.0
    """Reward per step."""

    def formula(self, eyes: Eyes) -> Number:
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

    def formula(self, eyes: Eyes) -> Number:
        """The distance between the origins of both nodes, weighted."""
        apart = [b - a for a, b in zip(eyes.place(self.node), eyes.place(self.target), strict=True)]
        return self.weight * root(squares(apart))


@dataclass(frozen=True, slots=True, kw_only=True)
class Height(SightTerm):
    """The height of a node."""

    node: NodeKey
    """Node whose origin is measured."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""
    weight: float = 1.0
    """Reward per metre."""

    def formula(self, eyes: Eyes) -> Number:
        """The height above the copy's origin, weighted."""
        return self.weight * eyes.place(self.node)[self.axis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed(SightTerm):
    """The velocity of a body along a world axis."""

    body: NodeKey
    """Motion node of the body."""
    axis: int = 0
    """Axis of the Bullet world: 0, 1, 2 for X, Y, Z."""
    weight: float = 1.0
    """Reward per metre per second."""

    def formula(self, eyes: Eyes) -> Number:
        """The velocity of its centre of mass along the axis, weighted."""
        return self.weight * eyes.velocity(self.body)[self.axis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Below(SightTerm):
    """A node has sunk below a height: an end."""

    node: NodeKey
    """Node whose origin is measured."""
    height: float
    """Height above the copy's origin [m]."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""

    def formula(self, eyes: Eyes) -> Number:
        """True if it is below."""
        return less(eyes.place(self.node)[self.axis], self.height)


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

    def formula(self, eyes: Eyes) -> Number:
        """True if the coordinate is outside."""
        position = eyes.joint(self.joint, self.dof)
        # What is no number is outside.
        is_inside = choose(at_most(self.low, position), at_most(position, self.high), 0.0)
        return choose(is_inside, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlCost(SightTerm):
    """A cost of large actions."""

    weight: float = -0.01
    """Reward per squared unit of normalised action."""

    def formula(self, eyes: Eyes) -> Number:
        """The sum of the squares, weighted."""
        return self.weight * squares(eyes.action)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerEntered(SightTerm):
    """Something came into a trigger in this step, even if it has left it since."""

    trigger: NodeKey
    """The trigger's node."""
    body: NodeKey | None = None
    """The only body that counts; ``None`` for all."""
    weight: float = 1.0
    """Reward per step in which something came in."""

    def formula(self, eyes: Eyes) -> Number:
        """The weight if something entered, else 0."""
        return choose(eyes.entered(self.trigger, self.body), self.weight, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(SightTerm):
    """A variable of the file's behavior graph: the file defines the reward or the end."""

    variable: int | str
    """Index or name of the variable, a number or a boolean."""
    weight: float = 1.0
    """Reward per unit."""
    growth: bool = False
    """True if its growth in this step counts, instead of its value."""

    def formula(self, eyes: Eyes) -> Number:
        """The value, or its growth, weighted."""
        value = eyes.variable(self.variable)
        if self.growth:
            value = value - eyes.variable_before(self.variable)
        return self.weight * value


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSent(SightTerm):
    """The file's behavior graph has sent a custom event: a reward, or an end."""

    event: str
    """Id of the event."""
    weight: float = 1.0
    """Reward per event."""

    def formula(self, eyes: Eyes) -> Number:
        """The weight times the number of such events in this step."""
        return self.weight * eyes.sent(self.event)
