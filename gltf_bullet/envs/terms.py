"""Ready terms for rewards, ends of episodes and observations; all are picklable values.

Each is a :data:`~gltf_bullet.envs.config.Term`: its value counts as reward, ends the episode if it
is not zero, or is observed. Points and heights are in the Bullet world. Each states a formula, that
is written down when an environment is made, so that a step runs no Python for it, except for what
only Python finds: contacts, forces of drives, rays, and what graphs do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gltf_bullet.envs.config import NodeKey, Term
from gltf_bullet.envs.formulas import (
    Eyes,
    Number,
    Point,
    angle,
    at_most,
    choose,
    less,
    root,
    size,
    squares,
    turned,
    turned_back,
)
from gltf_bullet.envs.sight import SightTerm, StepContext
from gltf_bullet.envs.value_checks import require_numbers, require_term
from gltf_bullet.transforms import Vec3

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

_AXES = ("x", "y", "z")


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

    def __post_init__(self) -> None:
        """Refuse a range that everything is outside of."""
        require_numbers(self)
        if not self.low < self.high:
            raise ValueError(f"low is {self.low} and high {self.high}; low must be below high")

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
    """The file's behavior graph has sent a custom event: a reward, or an end.

    As an end it ends the step as well: no engine step follows the one in which it is sent.
    """

    event: str
    """Id of the event."""
    weight: float = 1.0
    """Reward per event."""

    def formula(self, eyes: Eyes) -> Number:
        """The weight times the number of such events in this step."""
        return self.weight * eyes.sent(self.event)


# --- distances and directions ---------------------------------------------------------------------


class _VectorTerm(SightTerm):
    """A term of three numbers, or of the one along its ``axis``."""

    __slots__ = ()
    axis: int | None

    def vector(self, eyes: Eyes) -> Point:
        """Return all three numbers."""
        raise NotImplementedError

    def formula(self, eyes: Eyes) -> Number:
        """All three numbers, or the one along the axis."""
        vector = self.vector(eyes)
        return vector if self.axis is None else vector[self.axis]

    def components(self, action_count: int) -> tuple[str, ...]:
        """Return the names of its numbers."""
        del action_count
        return _AXES if self.axis is None else (_AXES[self.axis],)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset(_VectorTerm):
    """The way from a node to another one, such as from a hand to its goal."""

    node: NodeKey
    """Node where it begins."""
    target: NodeKey
    """Node where it ends."""
    frame: NodeKey | None = None
    """Node whose axes it is given in; ``None``: the world's."""
    axis: int | None = None
    """The only component that counts: 0, 1, 2 for X, Y, Z; ``None``: all, to be observed."""
    weight: float = 1.0
    """Value per metre."""

    def vector(self, eyes: Eyes) -> Point:
        """The way between both origins, weighted."""
        begin, end = eyes.place(self.node), eyes.place(self.target)
        x, y, z = (self.weight * (b - a) for a, b in zip(begin, end, strict=True))
        if self.frame is None:
            return x, y, z
        return turned_back(eyes.orientation(self.frame), (x, y, z))


@dataclass(frozen=True, slots=True, kw_only=True)
class Near(SightTerm):
    """A node has come near another one: an end, a success, or a reward per step."""

    node: NodeKey
    """Node with the one origin."""
    target: NodeKey
    """Node with the other origin."""
    distance: float
    """Largest distance that is near [m]."""
    weight: float = 1.0
    """Value while it is near."""

    def formula(self, eyes: Eyes) -> Number:
        """The weight if the origins are not farther apart, else 0."""
        apart = [b - a for a, b in zip(eyes.place(self.node), eyes.place(self.target), strict=True)]
        return choose(at_most(squares(apart), self.distance * self.distance), self.weight, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance(SightTerm):
    """The height of a node above the ground below it, such as a terrain or a table."""

    node: NodeKey
    """Node whose origin is measured."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""
    reach: float = 100.0
    """Largest height that is looked at [m], and the value where there is no ground."""
    weight: float = 1.0
    """Value per metre."""

    def formula(self, eyes: Eyes) -> Number:
        """The distance straight down to what other bodies are there, weighted."""
        return self.weight * eyes.clearance(self.node, self.axis, self.reach)


# --- posture --------------------------------------------------------------------------------------


def _tilt(eyes: Eyes, node: NodeKey, up: Vec3, axis: int) -> Number:
    """The angle between an axis of a node and one of the world [rad]."""
    x, y, z = turned(eyes.orientation(node), up)
    along = (x, y, z)[axis]
    return angle(root(squares((x, y, z)) - along * along), along)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilt(SightTerm):
    """The angle by which a node leans: 0 where it stands upright, pi on its head."""

    node: NodeKey
    """Node whose axes count."""
    up: Vec3 = (0.0, 1.0, 0.0)
    """Direction in the node's axes that is up where it stands; glTF's is Y."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""
    weight: float = -1.0
    """Reward per radian."""

    def formula(self, eyes: Eyes) -> Number:
        """The angle between ``up`` and the world's axis, weighted."""
        return self.weight * _tilt(eyes, self.node, self.up, self.axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tipped(SightTerm):
    """A node leans too far: an end."""

    node: NodeKey
    """Node whose axes count."""
    angle: float
    """Largest tilt that is none [rad]."""
    up: Vec3 = (0.0, 1.0, 0.0)
    """Direction in the node's axes that is up where it stands; glTF's is Y."""
    axis: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""

    def formula(self, eyes: Eyes) -> Number:
        """True if the tilt is larger."""
        return less(self.angle, _tilt(eyes, self.node, self.up, self.axis))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedGravity(_VectorTerm):
    """The direction of gravity in a node's axes, a unit vector: posture without heading."""

    node: NodeKey
    """Node whose axes count."""
    up: int = 2
    """Axis of the world that is up: 0, 1, 2 for X, Y, Z."""
    axis: int | None = None
    """The only component that counts, in the node's axes; ``None``: all, to be observed."""

    def vector(self, eyes: Eyes) -> Point:
        """The world's down in the node's axes."""
        down = [0.0, 0.0, 0.0]
        down[self.up] = -1.0
        return turned_back(eyes.orientation(self.node), down)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return -1.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyVelocity(_VectorTerm):
    """The velocity of a body in its own axes."""

    body: NodeKey
    """Motion node of the body."""
    axis: int | None = None
    """The only component that counts, in the node's axes; ``None``: all, to be observed."""
    weight: float = 1.0
    """Value per metre per second."""

    def vector(self, eyes: Eyes) -> Point:
        """The velocity of its centre of mass, in the node's axes, weighted."""
        x, y, z = (self.weight * part for part in eyes.velocity(self.body))
        return turned_back(eyes.orientation(self.body), (x, y, z))


@dataclass(frozen=True, slots=True, kw_only=True)
class BodySpin(_VectorTerm):
    """The angular velocity of a body in its own axes."""

    body: NodeKey
    """Motion node of the body."""
    axis: int | None = None
    """The only component that counts, in the node's axes; ``None``: all, to be observed."""
    weight: float = 1.0
    """Value per radian per second."""

    def vector(self, eyes: Eyes) -> Point:
        """The angular velocity in the node's axes, weighted."""
        x, y, z = (self.weight * part for part in eyes.spin(self.body))
        return turned_back(eyes.orientation(self.body), (x, y, z))


# --- effort ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAction(SightTerm):
    """The action that led here, to be observed; zeros at a reset."""

    def formula(self, eyes: Eyes) -> Number:
        """All numbers of the action."""
        return tuple(eyes.action)

    def components(self, action_count: int) -> tuple[str, ...]:
        """Return the names of its numbers."""
        return tuple(map(str, range(action_count)))

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return -1.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRate(SightTerm):
    """A cost of actions that change from step to step; before the first one they are zero."""

    weight: float = -0.01
    """Reward per squared unit of change of the normalised action."""

    def formula(self, eyes: Eyes) -> Number:
        """The sum of the squared changes, weighted."""
        changes = [b - a for a, b in zip(eyes.action_before, eyes.action, strict=True)]
        return self.weight * squares(changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueCost(SightTerm):
    """A cost of the forces and torques of drives."""

    joints: tuple[NodeKey, ...] | None = None
    """Joints whose drives count; ``None``: all."""
    weight: float = -1e-4
    """Reward per squared newton or newton metre."""

    def formula(self, eyes: Eyes) -> Number:
        """The sum of the squares in the last engine step, weighted."""
        return self.weight * squares([force for force, _ in eyes.drives(self.joints)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCost(SightTerm):
    """A cost of the mechanical power of drives, braking included."""

    joints: tuple[NodeKey, ...] | None = None
    """Joints whose drives count; ``None``: all."""
    weight: float = -1e-3
    """Reward per watt."""

    def formula(self, eyes: Eyes) -> Number:
        """The sum of force times speed, without signs, at the end of the step, weighted."""
        total: Number = 0.0
        for force, speed in eyes.drives(self.joints):
            total = total + size(force * speed)
        return self.weight * total


# --- contacts -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact(SightTerm):
    """A body touches something: a foot on the ground, or an end where it is the torso."""

    body: NodeKey
    """Motion node of the body."""
    weight: float = 1.0
    """Value while it touches."""

    def formula(self, eyes: Eyes) -> Number:
        """The weight if it touched something in the last engine step, else 0."""
        return choose(eyes.touches(self.body), self.weight, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AirTime(SightTerm):
    """A reward for long strides: paid when a foot lands, for the time that it was in the air."""

    body: NodeKey
    """Motion node of the foot."""
    threshold: float = 0.5
    """Time in the air that is worth nothing [s]; shorter times cost."""
    weight: float = 1.0
    """Reward per second."""

    def formula(self, eyes: Eyes) -> Number:
        """The air time that has ended in this step minus the threshold, weighted; else 0."""
        ended = eyes.landed_after(self.body)
        return choose(ended, self.weight * (ended - self.threshold), 0.0)


# --- ends -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A reward in the step that ends the episode, such as a price on a fall."""

    weight: float
    """Reward for the end."""
    when: Term | None = None
    """Term that must not be zero; ``None``: any end but that by the number of steps."""

    def __post_init__(self) -> None:
        """Refuse a weight that is no number, and a term that is none."""
        require_numbers(self)
        if self.when is not None:
            require_term(self.when, "Terminal.when")

    def __call__(self, scene: Scene, context: StepContext) -> float:
        """The weight if a termination ends the episode, else 0."""
        if not context.terminated:
            return 0.0
        when = self.when
        if isinstance(when, SightTerm):  # what is seen already
            is_so = bool(when.seen(context.sight, context))
        else:
            is_so = when is None or bool(when(scene, context))
        return self.weight if is_so else 0.0
