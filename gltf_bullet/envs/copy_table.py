"""The table of one copy: what its action sets, what is read of it, and what it shows.

Kernels go through the tables of all copies in one call; see :mod:`gltf_bullet.solver.formulas`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from gltf_bullet.bullet.exchange.body_reads import BodyReads, engine_numbers
from gltf_bullet.bullet.joints.joint_controls import DofHandle
from gltf_bullet.bullet.state import LinkState
from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.envs.formulas import (
    FormulaMaker,
    NodeKey,
    Number,
    Point,
    Symbol,
    choose,
    either,
    less,
    turned,
)
from gltf_bullet.envs.sight import (
    SentEvent,
    Sight,
    SightTerm,
    graph_of,
    have_entered,
    rotation_of,
)
from gltf_bullet.numba_aot import IntTable, addresses
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.solver.formulas import COPY
from gltf_bullet.transforms import FloatArray, IntArray, Pose, Vec3

State: TypeAlias = tuple[Number, ...]
"""Position [3] of an inertial frame, rotation xyzw, velocity [3] and spin [3], world axes."""

_AT_REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6)


class Happened(Protocol):
    """Events of a step, for numbers that Python fills in."""

    events: tuple[TriggerEvent, ...]
    sent: list[SentEvent]
    variables_before: tuple[Any, ...]
    sight: Sight

    @property
    def has_stepped(self) -> bool:
        """True after the first step of an episode."""

    def ask(self, term: Callable[..., Any]) -> float | bool:
        """Return the value of a function of the user's."""


Fill: TypeAlias = Callable[[Happened], Sequence[float] | FloatArray]
"""Computes numbers that only Python knows."""


class Look:
    """Eyes of formulas that are written down: all that the formulas of one copy are about.

    The numbers hold for the bodies of one :class:`EngineWorld`.
    """

    def __init__(self, scene: Scene, action_count: int, duration: float) -> None:
        self.scene = scene
        self.duration = duration
        """Simulated time of a step [s]."""
        self.maker = maker = FormulaMaker()
        self.world: EngineWorld = scene.core.world
        self.action = maker.several(action_count)
        """The action, within [-1, 1]."""
        self.action_before = maker.several(action_count)
        """The action of the last step."""
        self.reads: dict[int, BodyReads] = {}
        """Reads of each body, by its id."""
        self.fills: list[tuple[slice, Fill]] = []
        """Numbers that Python fills in at each step."""
        self.counts: list[tuple[slice, Fill]] = []
        """Numbers that Python fills in, zero in steps without an event."""
        self.settled: list[tuple[slice, Callable[[], Sequence[float]]]] = []
        """Numbers that change only where a node is put elsewhere, or a body gets another mass."""
        self.states: dict[int, State] = {}
        self._dofs: dict[DofHandle, tuple[tuple[Number, ...], tuple[Number, ...]]] = {}
        self.places: dict[int, Point] = {}
        self.owners: dict[int, int] = {}
        """The motion nodes that carry the nodes, -1 where no body does."""

    def given(self, count: int, fill: Fill) -> tuple[Symbol, ...]:
        """Numbers that Python fills in at each step."""
        found = self.maker.several(count)
        self.fills.append((_places_of(found), fill))
        return found

    def counted(self, fill: Callable[[Happened], float]) -> Symbol:
        """A number that Python fills in, zero in steps without an event."""
        found = self.maker.number()
        self.counts.append((_places_of((found,)), lambda step: (fill(step),)))
        return found

    def known(self, count: int, compute: Callable[[], Sequence[float]]) -> tuple[Symbol, ...]:
        """Numbers that change only where a node is put elsewhere, or a body gets another mass."""
        found = self.maker.several(count)
        self.settled.append((_places_of(found), compute))
        return found

    # --- joints and bodies ----------------------------------------------------------------------

    def coordinates(self, handle: DofHandle) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
        """Position and velocity of a degree of freedom: three numbers for a ball, else one."""
        if handle in self._dofs:
            return self._dofs[handle]
        found: tuple[tuple[Number, ...], tuple[Number, ...]]
        if handle.axis == BALL:
            controls = self.scene.core.joint_controls

            def read(_: Happened) -> tuple[float, ...]:
                state = controls.dof_state(handle)
                return *state.position, *state.velocity

            numbers = self.given(6, read)
            found = numbers[:3], numbers[3:]
        else:
            position, velocity = self.maker.several(2)
            reads = self.reads.setdefault(handle.body_id, BodyReads())
            reads.joints[handle.link_index] = position.place, velocity.place
            found = (position,), (velocity,)
        self._dofs[handle] = found
        return found

    def joint(self, joint: NodeKey, dof: int = 0) -> Number:
        """Position [m] or [rad] of a joint's degree of freedom; for a ball, its first number."""
        handles = self.scene.core.joint_controls.dofs(self.scene.joints[joint].node)
        return self.coordinates(handles[dof])[0][0]

    def state(self, motion_node: int) -> State:
        """Inertial frame and velocities of a motion node's body; -1: the world's frame."""
        if motion_node < 0:
            return _AT_REST
        if motion_node not in self.states:
            body, link = self.world.link_of(motion_node)
            found = self.states[motion_node] = self.maker.several(13)
            self.reads.setdefault(body, BodyReads()).states[link] = found[0].place
        return self.states[motion_node]

    def velocity(self, body: NodeKey) -> Point:
        """Velocity of a body's centre of mass [m/s], world axes."""
        x, y, z = self.state(self.scene.bodies[body].node)[7:10]
        return x, y, z

    def spin(self, body: NodeKey) -> Point:
        """Angular velocity of a body [rad/s], world axes."""
        x, y, z = self.state(self.scene.bodies[body].node)[10:13]
        return x, y, z

    def orientation(self, node: NodeKey) -> tuple[Number, Number, Number, Number]:
        """Rotation xyzw from a node's axes to those of the world, with w >= 0."""
        scene, followers, index = self.scene, self.scene.core.followers, self.scene.node(node).index
        if followers.are_busy:
            x, y, z, w = self.given(4, lambda _: rotation_of(scene.world_from_node(index)))
            return x, y, z, w
        owner = self.owners[index] = followers.spot_of(index)[0]
        p, q, r, s = self.known(4, lambda: rotation_of(followers.matrix_within(index)))
        if owner < 0:
            return p, q, r, s
        i, j, k, w = self.state(owner)[3:7]
        x, y, z, w = (
            w * p + i * s + j * r - k * q,
            w * q - i * r + j * s + k * p,
            w * r + i * q - j * p + k * s,
            w * s - i * p - j * q - k * r,
        )
        sign = choose(less(w, 0.0), -1.0, 1.0)
        return sign * x, sign * y, sign * z, sign * w

    def place(self, node: NodeKey) -> Point:
        """Position of a node's origin [m], world axes."""
        index = self.scene.node(node).index
        if index not in self.places:
            self.places[index] = self._find_place(index)
        return self.places[index]

    def _find_place(self, node: int) -> Point:
        scene, followers = self.scene, self.scene.core.followers
        if followers.are_busy:
            found = self.given(3, lambda _: scene.world_from_node(node)[:3, 3].tolist())
            return found[0], found[1], found[2]
        owner = self.owners[node] = followers.spot_of(node)[0]
        u, v, w = self.known(3, lambda: followers.spot_of(node)[1])
        if owner < 0:
            return u, v, w
        x, y, z, *rest = self.state(owner)
        a, b, c = turned(rest[:4], (u, v, w))
        return x + a, y + b, z + c

    # --- what only Python finds ------------------------------------------------------------------

    def drives(self, joints: Sequence[NodeKey] | None) -> list[tuple[Number, Number]]:
        """Force [N] or torque [N m] of each drive, and the speed of its axis."""
        controls = self.scene.core.joint_controls
        of = None if joints is None else {self.scene.joints[joint].node for joint in joints}
        count = sum(of is None or handle.joint_node in of for handle in controls.drives)

        def read(step: Happened) -> list[float]:
            return [number for pair in step.sight.drives(joints) for number in pair]

        found = self.given(2 * count, read)
        return list(zip(found[::2], found[1::2], strict=True))

    def touches(self, body: NodeKey) -> Number:
        """True if a body touched something in the last engine step; false at a reset."""
        [found] = self.given(1, lambda step: [step.sight.stand(body).touches])
        return found

    def air_time(self, body: NodeKey) -> Number:
        """Time [s] for which a body has not touched anything; 0 while it does."""
        [found] = self.given(1, lambda step: [step.sight.stand(body).air_time])
        return found

    def landed_after(self, body: NodeKey) -> Number:
        """Air time [s] that has ended in this step; else 0."""
        [found] = self.given(1, lambda step: [step.sight.stand(body).landed_after])
        return found

    def clearance(self, node: NodeKey, axis: int, reach: float) -> Number:
        """Distance [m] straight down from a node to what other bodies are there, or ``reach``."""
        [found] = self.given(1, lambda step: [step.sight.clearance(node, axis, reach)])
        return found

    # --- triggers and graphs --------------------------------------------------------------------

    def entered(self, trigger: NodeKey, body: NodeKey | None) -> Number:
        """True if something, or just ``body``, came into a trigger in this step."""
        node = self.scene.triggers[trigger].node
        only = None if body is None else self.scene.bodies[body].node
        return self.counted(lambda step: have_entered(step.events, node, only))

    def variable(self, variable: int | str) -> Number:
        """A variable of the file's behavior graph."""
        variables = graph_of(self.scene).variables
        index = variables.index_of(variable)
        [found] = self.given(1, lambda _: [float(variables[index])])
        return found

    def variable_before(self, variable: int | str) -> Number:
        """The same at the start of the step."""
        index = graph_of(self.scene).variables.index_of(variable)

        def before(step: Happened) -> list[float]:
            # There are none yet at a reset.
            return [float(step.variables_before[index]) if step.variables_before else 0.0]

        [found] = self.given(1, before)
        return found

    def sent(self, event: str) -> Number:
        """Number of times that the file's behavior graph has sent an event in this step."""
        return self.counted(lambda step: sum(one.event == event for one in step.sent))


def _places_of(numbers: Sequence[Symbol]) -> slice:
    return slice(numbers[0].place, numbers[0].place + len(numbers)) if numbers else slice(0)


class CopyTable:
    """A copy's row of the table that kernels go through, and all that it refers to."""

    def __init__(
        self,
        scene: Scene,
        write: Callable[[Look], list[Number]],
        drives: Callable[[Look], IntArray],
        action_count: int,
        duration: float,
        successes: Sequence[SightTerm],
        rewards: Sequence[SightTerm],
        ends: Sequence[SightTerm],
        row: IntTable,
    ) -> None:
        """Make the table of a copy.

        Args:
            scene: The scene of the copy.
            write: Writes down what is observed, in order.
            drives: Returns what the action sets, as ``DRIVE`` of ``solver.formulas`` has it.
            action_count: Count of the numbers of an action.
            duration: Simulated time of a step [s].
            successes: Terms that tell of success, if one is not zero.
            rewards: Terms of the reward.
            ends: Terms that end an episode.
            row: Its row in a table of copies, shape [1, COPY.size], which is filled in.
        """
        self._scene, self._core = scene, scene.core
        self._write = write
        self._find_drives = drives
        self._action_count, self._duration = action_count, duration
        self._successes = successes
        self._rewards = rewards
        self._ends = ends
        self.row = row
        self._world: EngineWorld | None = None
        self._plan: ScenePlan | None = None
        self._edits = -1
        self._frames: dict[int, Pose] = {}
        """Inertial frames in the bodies that are looked at."""
        self._had_events = False
        self.refresh()

    def refresh(self) -> None:
        """Adapt to bodies that were made anew, and to nodes that were put elsewhere."""
        core = self._core
        if core.world is not self._world:
            self._make()
        elif core.followers.edits != self._edits or core.world.plan is not self._plan:
            self._settle()

    def _make(self) -> None:
        core = self._core
        self._look = look = Look(self._scene, self._action_count, self._duration)
        observed = self._write(look)
        reward: Number = 0.0
        for term in self._rewards:
            reward = reward + term.formula(look)
        success, end = self._any(self._successes, look), self._any(self._ends, look)
        self._drives = self._find_drives(look)
        places = [look.maker.place_of(number) for number in (*observed, success, reward, end)]
        self._formula, self._numbers = look.maker.made()
        self._cells, self._had_events = self._numbers.data, True
        self._places: IntArray = np.array(places, dtype=np.int64)
        client = core.client_id
        reads = [number for body, r in look.reads.items() for number in r.numbers(client, body)]
        self._reads: IntArray = np.array(reads, dtype=np.int64)
        self._engine = engine_numbers(core.session)
        self.row[0, : COPY.is_read] = addresses(
            self._engine, self._reads, self._numbers, self._formula, self._places, self._drives
        )
        self._world, self._edits = core.world, -1
        self._settle()

    @staticmethod
    def _any(terms: Sequence[SightTerm], look: Look) -> Number:
        found: Number = 0.0
        for term in terms:
            found = either(found, term.formula(look))
        return found

    def restart(self) -> None:
        """Start an episode: there was no action yet."""
        count = 2 * self._action_count
        if count:  # both actions stand side by side
            first = self._look.action[0].place
            self._numbers[first : first + count] = 0.0

    def _settle(self) -> None:
        core, look = self._core, self._look
        bodies = core.world.plan.bodies.bodies
        nodes = bodies.keys() & {*look.owners.values(), *look.states}
        frames = {node: bodies[node].body_from_inertial for node in nodes}
        self._plan = core.world.plan
        if core.followers.edits == self._edits and frames == self._frames:
            return  # other materials, or masses about the same axes
        spot_of = core.followers.spot_of
        if any(spot_of(node)[0] != owner for node, owner in look.owners.items()):
            self._make()
            return
        for where, compute in look.settled:
            self._numbers[where] = compute()
        self._edits, self._frames = core.followers.edits, frames

    def needs_python(self, step: Happened) -> bool:
        """Return True if something of a step is known to Python only."""
        look = self._look
        if look.fills:
            return True
        return bool(look.counts and (step.events or step.sent or self._had_events))

    def fill(self, step: Happened) -> None:
        """Fill in what only Python knows."""
        look, numbers = self._look, self._numbers
        for where, compute in look.fills:
            numbers[where] = compute(step)
        if look.counts:
            has_events = bool(step.events or step.sent)
            if has_events or self._had_events:
                for where, compute in look.counts:
                    numbers[where] = compute(step)
            self._had_events = has_events

    def place(self, node: int) -> Vec3 | None:
        """Return a node's position [m] as kernels have found it; ``None`` if nobody asked them."""
        found = self._look.places.get(node)
        if found is None:
            return None
        cells, (x, y, z) = self._cells, found
        return cells[x.place], cells[y.place], cells[z.place]

    def state(self, motion_node: int) -> LinkState | None:
        """Return a body's inertial frame and velocities, likewise."""
        found = self._look.states.get(motion_node)
        if found is None:
            return None
        at, cells = found[0].place, self._cells
        x, y, z, i, j, k, w, *velocities = cells[at : at + 13].tolist()
        u, v, t, p, q, r = velocities
        return (x, y, z), (i, j, k, w), (u, v, t), (p, q, r)

    def read(self) -> None:
        """Read the engine by PyBullet's calls."""
        for body, reads in self._look.reads.items():
            reads.read(self._core.client_id, body, self._numbers)
