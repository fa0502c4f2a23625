"""The longest engine step that a scene allows, from numbers that its file states.

Pure. A step is made of several of the engine's where it is longer; how many follows from the file
and the time step alone, never from what moves: steps of changing length take energy from whatever
swings (semi-implicit Euler keeps ``H + dt / 2 force . velocity``), stiffen PyBullet's motors, whose
gains are per step, and make copies depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from gltf_bullet.cached_properties import cached_property
from gltf_bullet.diagnostics import Diagnostics, JsonPointer, note, warning
from gltf_bullet.model import DofKind, DriveMode, MotionKind, may_collide
from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.body_sizes import body_sizes
from gltf_bullet.planning.joints.articulation_plan import JointPlan, LoopConstraintKind
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.plan_memo import MemoKey
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import FloatArray

STEP_DIVIDED = note(
    "STEP_DIVIDED",
    "each step of {time_step:.3g} s is made of {steps} engine steps, since {reason}; forces that "
    "PyBullet's own calls give to bodies of no scene act in the first of them",
)
STEP_TOO_LONG = warning(
    "STEP_TOO_LONG",
    "each step of {time_step:.3g} s would have to be made of {needed} engine steps, since "
    "{reason}; {steps} are made: what swings loses or gains energy, or is pressed through what it "
    "rests on; time steps of {enough:.2g} s are short enough",
)

SHORTEST = 1.0 / 7680.0
"""[s] The shortest engine step."""
FREE_BODIES, JOINTS = 1.0 / 120.0, 1.0 / 240.0
"""[s] Longest engine steps of scenes without and with joints (measured: at 60 Hz a tower of ten
boxes falls, and a box creeps on a turntable and down a mesh; at 120 Hz they stay. Limits across
several axes, grips and dolls that land want 240)."""

_LONG_CHAIN = 6
"""Joints of a chain that swings freely, beyond which more joints ask for no finer steps. Open
chains that are longer are ropes: they lose energy, which nobody misses. Loops gain it (measured: of
20 rings of thin bars that fall 8 are thrown in steps of 1/240 s)."""
_LOOP_JOINTS = 3
"""Joints that a loop takes the freedom of: a four-bar linkage has one degree of freedom."""
_SWING = 0.04
"""Engine step of a chain of ``k`` free joints, in multiples of ``sqrt(length / g) / (k - 1)``
(measured, energy after 20 s of 2 to 6 bars, on hinges and balls, from 101 to 170 degrees: within
2 %; with twice the step chains of four and more lose a fifth to nine tenths)."""
_RESOLVED = 0.18
"""[rad] Of an undamped spring's swing within an engine step (measured, chains of four bodies on
springs of up to 100 kN/m far from their centres of mass: at most 1.8 times their energy; with twice
the step up to 3 times)."""
_UNDAMPED = 0.1
"""Share of critical damping below which a spring is to keep its energy."""
_TURN = 0.5
"""[rad] That a drive turns a body within an engine step."""
_HEAVY = 200.0
"""Ratio of masses that rest on each other in steps of 1/240 s: a box of 0.4 m under one of 200
times its mass is pressed in by 9 mm (measured; as the ratio and the square of the step)."""
_INFINITE = 1e6
"""Ratio of masses from which on the larger one stands for an infinite one."""
_SMALL = 0.35
"""Fall within an engine step, in multiples of the half thickness of the smallest body (measured:
stacks of four cubes of 2 mm sink into each other at 120 Hz, of 4 mm not; nor do those of 1 mm at
240)."""
_FINEST_CONTACTS = 1.0 / 960.0
"""[s] Shortest engine step for masses and sizes: what touches what is not known beforehand."""
_G = 9.81
"""[m/s^2] Gravity for which sizes are compared: that of the world may be set later."""

_BOUNDS: MemoKey[tuple[StepBound, ...]] = MemoKey("longest engine steps")


class StepBound(Struct, frozen=True):
    """A longest engine step, and what asks for it."""

    seconds: float
    node: int
    reason: str


def step_bounds(plan: ScenePlan) -> tuple[StepBound, ...]:
    """Return the longest engine step by each rule that the scene is subject to, shortest first."""
    return plan.memo.get(_BOUNDS, lambda: tuple(sorted(_bounds(plan), key=lambda b: b.seconds)))


def engine_steps(bounds: Sequence[StepBound], time_step: float) -> int:
    """Return the number of engine steps in a step of ``time_step`` [s], none below SHORTEST."""
    return _parts(max(bounds[0].seconds, SHORTEST), time_step) if bounds else 1


def report_division(
    bounds: Sequence[StepBound], time_step: float, diagnostics: Diagnostics
) -> None:
    """Report that steps of ``time_step`` [s] are divided, by which number of which node."""
    steps = engine_steps(bounds, time_step)
    if steps == 1:
        return
    needed = _parts(bounds[0].seconds, time_step)
    at, reason = JsonPointer(f"/nodes/{bounds[0].node}"), bounds[0].reason
    if needed > steps:
        diagnostics.report(
            STEP_TOO_LONG, at, time_step=time_step, steps=steps, needed=needed, reason=reason,
            enough=steps * bounds[0].seconds,
        )  # fmt: skip
    else:
        diagnostics.report(STEP_DIVIDED, at, time_step=time_step, steps=steps, reason=reason)


def _parts(longest: float, time_step: float) -> int:
    # A step that is the longest itself, but for rounding, is not divided.
    return max(math.ceil(time_step / longest - 1e-6), 1)


def _bounds(plan: ScenePlan) -> Iterator[StepBound]:
    trees = plan.articulations.articulations
    ends = [[_Ends(plan, joint) for joint in tree.joints] for tree in trees]
    cuts = [cut.planned for cut in plan.articulations.cut_constraints if cut.planned]
    joints = [end for tree in ends for end in tree] + [_Ends(plan, cut) for cut in cuts]
    moving = [body for body in plan.bodies.bodies.values() if body.kind is MotionKind.DYNAMIC]
    if not moving:
        return
    if joints:
        yield StepBound(JOINTS, joints[0].joint.node, "joints are solved in steps of 1/240 s")
    else:
        yield StepBound(FREE_BODIES, moving[0].node, "contacts hold in steps of 1/120 s")
    for tree, own in zip(trees, ends, strict=True):
        loops = [c for c in tree.loop_constraints if c.kind is not LoopConstraintKind.ELEMENT]
        yield from _of_chains(own, len(loops))
    for end in joints:
        yield from _of_springs(end)
        yield from _of_drives(end)
    yield from _of_contacts([body for body in moving if body.groups])


# --- joints ---------------------------------------------------------------------------------------


class _Ends:
    """A joint, and the dynamic bodies at its ends."""

    def __init__(self, plan: ScenePlan, planned: JointPlan) -> None:
        """Store the joint; of most, bodies and places are never asked for."""
        self.joint, self._layout, self._plan = planned.joint, planned.layout, plan

    @cached_property
    def bodies(self) -> list[BodyPlan | None]:
        """The dynamic bodies at both ends; ``None`` where there is none."""
        first, second = self.joint.node, self.joint.connected_node
        known, owner_of = self._plan.bodies.bodies, self._plan.motion_node_of
        owners = [int(owner_of[first]), -1 if second is None else int(owner_of[second])]
        bodies = [known.get(owner) for owner in owners]
        return [
            b if b is not None and b.mass > 0.0 and b.kind is MotionKind.DYNAMIC else None
            for b in bodies
        ]

    @cached_property
    def axes(self) -> FloatArray:
        """The joint's axes as columns, world axes."""
        axes = self._plan.frames.world_from_node[self.joint.node][:3, :3]
        unit: FloatArray = axes / np.linalg.norm(axes, axis=0)
        return unit

    @cached_property
    def free(self) -> dict[DofKind, set[int]]:
        """Axes along and about which the joint moves."""
        free: dict[DofKind, set[int]] = {kind: set() for kind in DofKind}
        for dof in self._layout.dofs:
            free[dof.kind] |= {0, 1, 2} if dof.axis == BALL else {dof.axis}
        return free

    @property
    def swings_freely(self) -> bool:
        """True if nothing but gravity acts about axes without limits, which is all that moves."""
        description, layout = self.joint.description, self._layout
        return (
            not description.drives
            and not layout.rows
            and self.joint.coupling is None
            and bool(self.free[DofKind.ANGULAR])
            and not self.free[DofKind.LINEAR]
            and all(d.lower == -math.inf and d.upper == math.inf for d in layout.dofs)
            and not any(limit.damping for limit in description.limits)
        )

    def lever(self, side: int, body: BodyPlan) -> FloatArray:
        """From the centre of mass of the body of a side to the joint [m], world axes."""
        ends = self.joint.node, self.joint.connected_node
        node = self.joint.node if ends[side] is None else ends[side]
        lever: FloatArray = self._plan.frames.world_from_node[node][:3, 3] - _center(body)
        return lever

    def compliance(self, kind: DofKind, axes: Iterable[int]) -> float:
        """Inverse of the least mass, or moment of inertia, that moves along some axes.

        That of the two bodies alone, which the joint's locked axes hold together: whatever else
        hangs on them makes it heavier.
        """
        locked = [
            self._row(other, axis)
            for other in DofKind
            for axis in range(3)
            if axis not in self.free[other]
        ]
        return max((self._along(self._row(kind, axis), locked) for axis in axes), default=0.0)

    def _row(self, kind: DofKind, axis: int) -> FloatArray:
        """Velocity along or about an axis of the joint, by those of both bodies and their roots.

        Shape [12]: of each body its velocity and spin, each times the root of the inverse mass.
        """
        row, direction = np.zeros((2, 6)), self.axes[:, axis]
        for side, body in enumerate(self.bodies):
            if body is None:
                continue
            spin = direction
            if kind is DofKind.LINEAR:
                row[side, :3] = direction / math.sqrt(body.mass)
                spin = np.cross(self.lever(side, body), direction)
            root = np.linalg.cholesky(np.linalg.inv(_inertia(body)))
            row[side, 3:] = root.T @ spin
        return (row * [[-1.0], [1.0]]).ravel()

    @staticmethod
    def _along(row: FloatArray, locked: Sequence[FloatArray]) -> float:
        if locked:
            held = np.array(locked).T
            row = row - held @ np.linalg.lstsq(held, row, rcond=1e-9)[0]
        return float(row @ row)


def _center(body: BodyPlan) -> FloatArray:
    return np.array(body.world_from_body.apply(body.body_from_inertial.translation))


def _inertia(body: BodyPlan) -> FloatArray:
    """Inertia about the centre of mass [kg m^2], world axes."""
    turn = (body.world_from_body @ body.body_from_inertial).matrix()[:3, :3]
    inertia: FloatArray = turn @ np.diag(body.inertia_diagonal) @ turn.T
    return inertia


def _of_chains(ends: Sequence[_Ends], loops: int) -> Iterator[StepBound]:
    """The longest chain of joints that swing freely, by the shortest of its links.

    ``loops``: number of the loops that the joints close, with all others of their bodies.
    """
    free = [end for end in ends if end.swings_freely]
    at: dict[int, list[_Ends]] = {}
    for end in free:
        for body in end.bodies:
            if body is not None:
                at.setdefault(body.node, []).append(end)
    seen: set[int] = set()
    for first in free:
        if id(first) in seen:
            continue
        chain, todo = list[_Ends](), [first]
        while todo:
            end = todo.pop()
            if id(end) in seen:
                continue
            seen.add(id(end))
            chain.append(end)
            todo += [n for b in end.bodies if b is not None for n in at[b.node]]
        count = _longest_path(chain, at)
        if loops:
            count = min(len(chain) - _LOOP_JOINTS * loops, _LONG_CHAIN)
        lengths = [
            2.0 * float(np.linalg.norm(end.lever(side, body)))
            for end in chain
            for side, body in enumerate(end.bodies)
            if body is not None
        ]
        lengths = [length for length in lengths if length > 1e-6]
        if not (1 < count <= _LONG_CHAIN and lengths):
            continue
        seconds = _SWING * math.sqrt(min(lengths) / _G) / (count - 1)
        reason = f"{count} joints in a row swing freely about links of {min(lengths):.3g} m"
        yield StepBound(seconds, chain[0].joint.node, reason)


def _longest_path(chain: Sequence[_Ends], at: dict[int, list[_Ends]]) -> int:
    """Joints on the longest way through a tree of them."""

    def farthest(start: _Ends) -> tuple[int, _Ends]:
        depth, last = {id(start): 1}, start
        todo = [start]
        for end in todo:
            last = end
            for body in end.bodies:
                for other in at[body.node] if body is not None else ():
                    if id(other) not in depth:
                        depth[id(other)] = depth[id(end)] + 1
                        todo.append(other)
        return depth[id(last)], last

    return farthest(farthest(chain[0])[1])[0]


def _of_springs(ends: _Ends) -> Iterator[StepBound]:
    """Springs that nothing damps, by the least mass that they move."""
    description = ends.joint.description
    springs = [
        (limit.kind, limit.axes, limit.stiffness, limit.damping, False)
        for limit in description.limits
        if 0.0 < limit.stiffness < math.inf
    ]
    springs += [
        (
            drive.kind, (drive.axis,), drive.stiffness, drive.damping,
            drive.mode is DriveMode.ACCELERATION,
        )
        for drive in description.drives
        if drive.stiffness > 0.0
    ]  # fmt: skip
    for kind, axes, stiffness, damping, is_per_mass in springs:
        compliance = 1.0 if is_per_mass else ends.compliance(kind, axes)
        frequency = math.sqrt(stiffness * compliance)
        if frequency > 0.0 and damping * compliance < 2.0 * _UNDAMPED * frequency:
            reason = f"an undamped spring swings with {frequency:.3g} rad/s"
            yield StepBound(_RESOLVED / frequency, ends.joint.node, reason)


def _of_drives(ends: _Ends) -> Iterator[StepBound]:
    """Speeds that drives state, against the thickness of what they move."""
    for drive in ends.joint.description.drives:
        speed = abs(drive.velocity_target)
        if speed == 0.0 or drive.damping == 0.0 or drive.max_force == 0.0:
            continue
        node = ends.joint.node
        if drive.kind is DofKind.ANGULAR:
            reason = f"a drive turns a body with {speed:.3g} rad/s"
            yield StepBound(_TURN / speed, node, reason)
            continue
        sizes = [s for s in body_sizes([b for b in ends.bodies if b is not None]) if s is not None]
        if sizes:
            half = min(size.half_thickness for size in sizes)
            reason = f"a drive moves a body {2.0 * half:.3g} m thick with {speed:.3g} m/s"
            yield StepBound(0.5 * half / speed, node, reason)


# --- contacts -------------------------------------------------------------------------------------


def _of_contacts(bodies: Sequence[BodyPlan]) -> Iterator[StepBound]:
    """Masses that may rest on each other, and the smallest body."""
    if not bodies:
        return
    light = min(bodies, key=_mass)
    heavy = max([body for body in bodies if body.mass <= _INFINITE * light.mass], key=_mass)
    ratio = heavy.mass / light.mass
    if ratio > 1.0 and any(
        may_collide(a.filter, b.filter) for a in light.groups for b in heavy.groups
    ):
        reason = f"the body of node {heavy.node} may rest on one of a mass {ratio:.3g} times less"
        seconds = JOINTS * math.sqrt(_HEAVY / ratio)
        yield StepBound(max(seconds, _FINEST_CONTACTS), light.node, reason)
    sizes = {b.node: s.half_thickness for b, s in zip(bodies, body_sizes(bodies), strict=True) if s}
    if sizes:
        node = min(sizes, key=lambda k: sizes[k])
        reason = f"it is {2.0 * sizes[node]:.3g} m thick"
        seconds = math.sqrt(_SMALL * max(sizes[node], 1e-12) / _G)
        yield StepBound(max(seconds, _FINEST_CONTACTS), node, reason)


def _mass(body: BodyPlan) -> float:
    return body.mass
