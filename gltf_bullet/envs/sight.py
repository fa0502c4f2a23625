"""Reading of a scene for observations, rewards and ends: each value at most once per step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from gltf_bullet.bullet.joints.dof_reader import DofReader
from gltf_bullet.bullet.state import LinkState, link_state
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.envs.contact_times import ContactTimes, Stand
from gltf_bullet.envs.formulas import Eyes, NodeKey, Number, turned
from gltf_bullet.envs.value_checks import require_numbers
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.runtime.views.ray_casts import cast_filtered_rays
from gltf_bullet.transforms import FloatArray, Quat, Vec3, decompose_trs

if TYPE_CHECKING:
    from gltf_bullet.runtime.acting.behavior_view import BehaviorView

_Spot: TypeAlias = tuple[int, Vec3]
"""A motion node and a point in the inertial frame of its body [m]; -1: a point in the world."""


class Seen(Protocol):
    """States of bodies that were read already."""

    def state(self, motion_node: int) -> LinkState | None:
        """Inertial frame and velocities of a body, if they were read."""

    def place(self, node: int) -> Vec3 | None:
        """Position of a node [m], if it was found."""


class Sight:
    """The current state of a scene, read lazily. Call :meth:`invalidate` after anything has moved.

    All keys are nodes, by index or name, and are looked up once for each set of bodies.
    """

    def __init__(self, scene: Scene, joint_nodes: tuple[int, ...] = ()) -> None:
        """Connect to a scene.

        Args:
            scene: The scene.
            joint_nodes: Joints whose coordinates :meth:`coordinates` gives, in this order.
        """
        self.scene = scene
        self.seen: Seen | None = None
        """States that were read for formulas after the last step; ``None``: none were."""
        self.contact_times = ContactTimes(scene)
        """Contacts of bodies over the steps of an episode."""
        self._client_id = scene.client_id
        self._observed = joint_nodes
        self._joint_nodes = joint_nodes
        """The observed joints, and after them others that were read."""
        self._world: EngineWorld | None = None
        self._local_edits = -1
        self._coordinates: tuple[list[float], list[float]] | None = None
        self._states: dict[int, LinkState] = {}
        self._places: dict[int, Vec3] = {}
        self._index_of: dict[NodeKey, int] = {}
        self._number_of_dof: dict[tuple[NodeKey, int], int] = {}
        self._node_of_body: dict[NodeKey, int] = {}
        self._spot_of: dict[int, _Spot] = {}

    def invalidate(self) -> None:
        """Forget the values read, since something has moved or was made anew."""
        self._coordinates = None
        if self._states:
            self._states = {}
        if self._places:
            self._places = {}
        core = self.scene.core
        if core.world is not self._world:
            self._look_up()
        if core.followers.edits != self._local_edits:
            self._local_edits, self._spot_of = core.followers.edits, {}

    def _look_up(self) -> None:
        """Look everything up again for new bodies."""
        self._world = world = self.scene.core.world
        controls = world.articulations.controls
        self._reader = DofReader(world.client_id, controls, self._joint_nodes)
        dofs = [handle for node in self._observed for handle in controls.dofs(node)]
        self._observed_count = sum(3 if handle.axis == BALL else 1 for handle in dofs)
        self._number_of_dof, self._spot_of = {}, {}

    # --- joints -------------------------------------------------------------------------------

    def coordinates(self) -> tuple[list[float], list[float]]:
        """Positions [m, rad] and velocities of the observed joints.

        A ball has three numbers, as a rotation vector; other degrees of freedom have one.
        """
        positions, velocities = self._all_coordinates()
        if len(positions) > self._observed_count:
            return positions[: self._observed_count], velocities[: self._observed_count]
        return positions, velocities

    def _all_coordinates(self) -> tuple[list[float], list[float]]:
        if self._coordinates is None:
            if self.scene.core.world is not self._world:
                self._look_up()
            self._coordinates = self._reader.read()
        return self._coordinates

    def joint(self, joint: NodeKey, dof: int = 0) -> float:
        """Position [m] or [rad] of a joint's degree of freedom; for a ball, its first number.

        Raises:
            KeyError: There is no such joint.
            IndexError: It has fewer degrees of freedom.
        """
        found = self._coordinates or self._all_coordinates()
        number = self._number_of_dof.get((joint, dof))
        if number is None:
            number = self._find_dof(joint, dof)
            found = self._all_coordinates()
        return found[0][number]

    def _find_dof(self, joint: NodeKey, dof: int) -> int:
        node = self.scene.joints[joint].node
        if node not in self._joint_nodes:
            self._joint_nodes += (node,)
            self._coordinates = None
            self._look_up()
        controls = self.scene.core.joint_controls
        count = len(controls.dofs(node))
        if not -count <= dof < count:
            raise IndexError(f"degree of freedom {dof}; joint {joint!r} has {count}")
        before = self._joint_nodes[: self._joint_nodes.index(node)]
        handles = [handle for other in before for handle in controls.dofs(other)]
        handles += controls.dofs(node)[: dof % count]
        number = sum(3 if handle.axis == BALL else 1 for handle in handles)
        self._number_of_dof[joint, dof] = number
        return number

    # --- bodies and places ----------------------------------------------------------------------

    def state_of(self, motion_node: int) -> LinkState:
        """Inertial frame and velocities of a motion node's body, world axes."""
        state = self._states.get(motion_node)
        if state is None and self.seen is not None:
            state = self.seen.state(motion_node)
        if state is None:
            link = self.scene.core.world.link_of(motion_node)
            state = link_state(self._client_id, *link)
        self._states[motion_node] = state
        return state

    def velocity(self, body: NodeKey) -> Vec3:
        """Velocity of a body's centre of mass [m/s], world axes.

        Raises:
            KeyError: There is no such body.
        """
        node = self._node_of_body.get(body)
        if node is None:
            node = self._node_of_body[body] = self.scene.bodies[body].node
        return self.state_of(node)[2]

    def spin(self, body: NodeKey) -> Vec3:
        """Angular velocity of a body [rad/s], world axes.

        Raises:
            KeyError: There is no such body.
        """
        return self.state_of(self.scene.bodies[body].node)[3]

    def orientation(self, node: NodeKey) -> Quat:
        """Rotation xyzw from a node's axes to those of the world, with w >= 0.

        Raises:
            KeyError: There is no such node.
        """
        return rotation_of(self.scene.world_from_node(node))

    def stand(self, body: NodeKey) -> Stand:
        """Contact of a body, and how long it has been in the air in this episode.

        Raises:
            KeyError: There is no such body.
        """
        return self.contact_times.of(self.scene.bodies[body].node)

    def clearance(self, node: NodeKey, axis: int = 2, reach: float = 100.0) -> float:
        """Distance [m] straight down from a node's origin to what is there; ``reach`` if nothing.

        Colliders of the body that carries the node do not count, nor others of its multibody.

        Args:
            node: The node.
            axis: Axis of the world that is up: 0, 1, 2 for X, Y, Z.
            reach: Largest distance that is looked at [m].

        Raises:
            KeyError: There is no such node.
        """
        world = self.scene.core.world
        owner_of, start = world.plan.motion_node_of, list(self.place(node))
        end = list(start)
        end[axis] -= reach
        owner = int(owner_of[self.scene.node(node).index])
        own = None if owner < 0 else world.link_of(owner)[0]
        [hit] = cast_filtered_rays(
            self.scene.core,
            [start],
            [end],
            but=lambda other: (
                own is not None
                and owner_of[other] >= 0
                and world.link_of(int(owner_of[other]))[0] == own
            ),
        )
        return reach if hit is None else reach * hit.fraction

    def drives(self, joints: Sequence[NodeKey] | None = None) -> list[tuple[float, float]]:
        """Force [N] or torque [N m] of each drive in the last engine step, and its axis' speed.

        Args:
            joints: Those whose drives count; ``None``: all.

        Raises:
            KeyError: There is no such joint.
        """
        controls = self.scene.core.joint_controls
        _, speeds, forces = controls.drive_states()
        of = None if joints is None else {self.scene.joints[joint].node for joint in joints}
        return [
            (force, speed)
            for handle, force, speed in zip(
                controls.drives, forces.tolist(), speeds.tolist(), strict=True
            )
            if of is None or handle.joint_node in of
        ]

    def place(self, node: NodeKey) -> Vec3:
        """Position of a node's origin in the world [m].

        Raises:
            KeyError: There is no such node.
        """
        index = self._index_of.get(node)
        if index is None:
            index = self._index_of[node] = self.scene.node(node).index
        place = self._places.get(index)
        if place is None and self.seen is not None:
            place = self.seen.place(index)
        if place is None:
            place = self._find_place(index)
        self._places[index] = place
        return place

    def _find_place(self, node: int) -> Vec3:
        followers = self.scene.core.followers
        if followers.are_busy:
            x, y, z = self.scene.world_from_node(node)[:3, 3].tolist()
            return x, y, z
        spot = self._spot_of.get(node)
        if spot is None:
            spot = self._spot_of[node] = followers.spot_of(node)
        owner, offset = spot
        if owner < 0:
            return offset
        (x, y, z), rotation, _, _ = self.state_of(owner)
        a, b, c = turned(rotation, offset)
        return x + a, y + b, z + c


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvent:
    """A custom event that the file's behavior graph has sent."""

    event: str
    """Id of the event."""
    values: Mapping[str, Any]
    """Values of the event by name."""


class StepContext(NamedTuple):
    """The step, besides the scene, for reward and termination functions."""

    action: FloatArray
    """The action as given, within [-1, 1], shape [action_count]."""
    events: tuple[TriggerEvent, ...]
    """Trigger events of all engine steps of this step, in order."""
    step: int
    """Number of the step in the episode, from 1 on."""
    duration: float
    """Simulated time of this step [s]."""
    sight: Sight
    """Joints, positions and velocities, read once per step for all terms: a fraction of the cost of
    the scene's own views."""
    origin: Vec3 = (0.0, 0.0, 0.0)
    """Position of the copy in its world [m]; copies have worlds of their own, and stand there."""
    sent: tuple[SentEvent, ...] = ()
    """Events that the file's behavior graph has sent in this step, in order."""
    variables_before: tuple[Any, ...] = ()
    """Variables of the graph at the start of the step, in the order of the file."""
    action_before: tuple[float, ...] = ()
    """The action of the last step; empty in the first one of an episode."""
    terminated: bool = False
    """True if one of the terminations ends the episode in this step; known to rewards only."""


class Now:
    """The subjects of formulas as values: see :class:`~gltf_bullet.envs.formulas.Eyes`."""

    def __init__(self, sight: Sight, context: StepContext) -> None:
        self._sight = sight
        self._context = context

    @property
    def action(self) -> Sequence[float]:
        """The action, within [-1, 1]."""
        found: list[float] = self._context.action.tolist()
        return found

    @property
    def action_before(self) -> Sequence[float]:
        """The action of the last step; zeros in the first step of an episode."""
        return self._context.action_before or [0.0] * len(self._context.action)

    @property
    def duration(self) -> float:
        """Simulated time of a step [s]."""
        return self._context.duration

    def joint(self, joint: NodeKey, dof: int = 0) -> float:
        """Position [m] or [rad] of a joint's degree of freedom; for a ball, its first number."""
        return self._sight.joint(joint, dof)

    def place(self, node: NodeKey) -> Vec3:
        """Position of a node's origin, relative to that of the copy [m], world axes."""
        (x, y, z), (a, b, c) = self._sight.place(node), self._context.origin
        return x - a, y - b, z - c

    def velocity(self, body: NodeKey) -> Vec3:
        """Velocity of a body's centre of mass [m/s], world axes."""
        return self._sight.velocity(body)

    def spin(self, body: NodeKey) -> Vec3:
        """Angular velocity of a body [rad/s], world axes."""
        return self._sight.spin(body)

    def orientation(self, node: NodeKey) -> Quat:
        """Rotation xyzw from a node's axes to those of the world."""
        return self._sight.orientation(node)

    def drives(self, joints: Sequence[NodeKey] | None) -> list[tuple[float, float]]:
        """Force [N] or torque [N m] of each drive, and the speed of its axis."""
        return self._sight.drives(joints)

    def touches(self, body: NodeKey) -> bool:
        """True if a body touched something in the last engine step."""
        return self._sight.stand(body).touches

    def air_time(self, body: NodeKey) -> float:
        """Time [s] for which a body has not touched anything; 0 while it does."""
        return self._sight.stand(body).air_time

    def landed_after(self, body: NodeKey) -> float:
        """Air time [s] that has ended in this step; else 0."""
        return self._sight.stand(body).landed_after

    def clearance(self, node: NodeKey, axis: int, reach: float) -> float:
        """Distance [m] straight down from a node to what other bodies are there, or ``reach``."""
        return self._sight.clearance(node, axis, reach)

    def entered(self, trigger: NodeKey, body: NodeKey | None) -> bool:
        """True if something, or just ``body``, came into a trigger in this step."""
        scene = self._sight.scene
        only = None if body is None else scene.bodies[body].node
        return have_entered(self._context.events, scene.triggers[trigger].node, only)

    def variable(self, variable: int | str) -> float:
        """A variable of the file's behavior graph."""
        variables = graph_of(self._sight.scene).variables
        return float(variables[variables.index_of(variable)])

    def variable_before(self, variable: int | str) -> float:
        """The same at the start of the step."""
        index = graph_of(self._sight.scene).variables.index_of(variable)
        return float(self._context.variables_before[index])

    def sent(self, event: str) -> int:
        """Number of times that the file's behavior graph has sent an event in this step."""
        return sum(sent.event == event for sent in self._context.sent)


def rotation_of(matrix: FloatArray) -> Quat:
    """Return the rotation xyzw of a node's world matrix, with w >= 0."""
    x, y, z, w = decompose_trs(matrix)[1].tolist()
    return (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)


def have_entered(events: Iterable[TriggerEvent], trigger: int, body: int | None) -> bool:
    """Tell whether something entered a trigger, ``body`` if that is the only one that counts."""
    return any(
        event.kind == "entered"
        and event.trigger_node == trigger
        and (body is None or event.motion_node == body)
        for event in events
    )


def graph_of(scene: Scene) -> BehaviorView:
    """The view of the file's behavior graph.

    Raises:
        KeyError: The file has none, or it does not run.
    """
    if scene.behavior is None:
        raise UnknownNameError(f"{scene.asset.path} has no behavior graph that runs")
    return scene.behavior


class SightTerm:
    """A term that states a formula, which kernels compute together with all others."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Check the numbers of the term, which is a dataclass."""
        require_numbers(self)

    def formula(self, eyes: Eyes) -> Number:
        """Return the term's value from what ``eyes`` see, by the operations of ``formulas``."""
        raise NotImplementedError

    def components(self, action_count: int) -> tuple[str, ...]:
        """Return the names of the numbers that it gives, which is one unless it says otherwise."""
        del action_count
        return ("",)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return -math.inf, math.inf

    def seen(self, sight: Sight, context: StepContext) -> Any:
        """Compute the term from a scene that is read already: a number, or a tuple of some."""
        return self.formula(Now(sight, context))

    def __call__(self, scene: Scene, context: StepContext) -> Any:
        """Compute the term from the current state of a scene."""
        return self.seen(Sight(scene), context)
