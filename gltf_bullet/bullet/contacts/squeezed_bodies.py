"""Free bodies that a kinematic body presses against a surface that yields as little.

The force of a kinematic body has no bound: what it presses into a corner goes deeper into the wall
with every step, and once the body's centre is behind a thin surface that surface pushes it out on
the wrong side (measured: a screw that turns in a tower of triangles, balls of 9 mm radius: one to
six of ten fell through the floor, at 60 to 960 Hz). So before that happens the two no longer
collide until they are apart, and the issue names both.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from operator import mul
from typing import TypeAlias

import pybullet

from gltf_bullet.bullet.bodies.free_table import FreeTable
from gltf_bullet.bullet.contacts.pair_rules import PairRules
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, warning
from gltf_bullet.solver.engine.kinematic_bodies import PRESSED, pressed_table

SQUEEZED = warning(
    "SQUEEZED",
    "the body is squeezed: node {other}, which nothing can push back, presses it {depth:.3g} m "
    "deep into what is behind it; they pass through each other until they are apart",
)

_DEEP = 1.0 / 3.0
"""Share of half a body's thickness that it may be pressed into something: once its centre is behind
a surface it is too late.
"""
_OPPOSED = -0.3
"""Cosine between two contact normals below which the body is squeezed between both."""

PassingPairs: TypeAlias = "tuple[tuple[EngineLink, EngineLink], ...]"
"""Pairs of links that do not collide for now; bodies by their place in the scene."""


class SqueezedBodies:
    """Finds squeezed bodies among the free bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        table: FreeTable,
        body_ids: Sequence[int],
        movers: Collection[int],
        pair_rules: PairRules,
    ) -> None:
        """Prepare for the free bodies.

        Args:
            client_id: The world.
            table: Their sizes and masses.
            body_ids: Their body ids, in the order of the table.
            movers: Those of the kinematic ones, whatever animations move besides.
            pair_rules: Pair rules of the scene.
        """
        self._client_id = client_id
        self._rules = pair_rules
        self._number_of = {
            body: k for k, body in enumerate(body_ids) if math.isfinite(table.half_thickness[k])
        }
        self.pressed = pressed_table(max((-1, *movers, *self._number_of)) + 1)
        """Table by which kernels find out that a mover presses some body deep."""
        self.pressed.reshape(-1, PRESSED.size)[list(movers), PRESSED.is_mover] = 1.0
        self.use_table(table)
        self._passing: list[tuple[EngineLink, EngineLink]] = []
        self._reported: set[tuple[int, int]] = set()
        self.issues: tuple[Issue, ...] = ()
        """Issues found so far, one per pair of bodies."""

    @property
    def are_any(self) -> bool:
        """True if some bodies pass through others at present."""
        return bool(self._passing)

    def use_table(self, table: FreeTable) -> None:
        """Take other sizes and masses of the same bodies."""
        self.table = table
        pressed = self.pressed.reshape(-1, PRESSED.size)  # in place: kernels have its address
        for body, number in self._number_of.items():
            pressed[body, PRESSED.depth] = _DEEP * table.half_thickness[number]
            pressed[body, PRESSED.mass] = table.masses[number]

    def after_step(self, movers: Mapping[int, int], time_step: float) -> None:
        """Let bodies pass that the last step has squeezed; let pairs collide that are apart again.

        Args:
            movers: Nodes of kinematic bodies and colliders, by body id.
            time_step: Length of the engine step that was made [s].
        """
        if self._passing:
            self._allow_separated()
        for mover, node in movers.items():
            points = pybullet.getContactPoints(mover, physicsClientId=self._client_id)
            for _, _, other, on_mover, on_other, _, _, normal, distance, force, *_ in points or ():
                number = self._number_of.get(other)
                if number is None or other in movers:
                    continue
                most = _DEEP * self.table.half_thickness[number]
                # Only a force that moves the body that far within a step can press it so deep.
                if max(-distance, force * time_step**2 / self.table.masses[number]) < most:
                    continue
                pair = (mover, on_mover), (other, on_other)
                if pair in self._passing:
                    continue
                # The normal points at the mover, which pushes the other way.
                push = (-normal[0], -normal[1], -normal[2])
                behind = self._behind(other, mover, push)
                if behind is not None and (depth := max(-distance, behind)) >= most:
                    self._passing.append(pair)
                    self._rules.forbid([pair])
                    self._report(number, node, depth)

    def _behind(self, body: int, mover: int, push: Sequence[float]) -> float | None:
        """Return the depth of a body in what supports it against a push [m]; ``None`` without."""
        points = pybullet.getContactPoints(body, physicsClientId=self._client_id)
        return max(
            (
                -point[8]
                for point in points or ()
                if point[9] > 0.0 and point[2] != mover and sum(map(mul, point[7], push)) < _OPPOSED
            ),
            default=None,
        )

    def _allow_separated(self) -> None:
        apart = [
            (one, other)
            for one, other in self._passing
            if not pybullet.getClosestPoints(
                one[0], other[0], 0.0, one[1], other[1], physicsClientId=self._client_id
            )
        ]
        if apart:
            self._passing = [pair for pair in self._passing if pair not in apart]
            self._rules.allow(apart)

    def _report(self, number: int, other: int, depth: float) -> None:
        node = int(self.table.nodes[number])
        if (node, other) in self._reported:
            return
        self._reported.add((node, other))
        found = Diagnostics()
        found.report(SQUEEZED, ROOT / "nodes" / node, other=other, depth=depth)
        self.issues += found.issues

    def state(self, body_ids: Sequence[int]) -> PassingPairs:
        """Return the passing pairs, which ``saveState`` omits; ``body_ids``: the scene's."""
        place = {body: k for k, body in enumerate(body_ids)}
        return tuple(
            ((place[mover], link), (place[other], part))
            for (mover, link), (other, part) in self._passing
        )

    def restore(self, state: PassingPairs, body_ids: Sequence[int]) -> None:
        """Restore a :meth:`state`."""
        self._rules.allow(self._passing)
        self._passing = [
            ((body_ids[mover], link), (body_ids[other], part))
            for (mover, link), (other, part) in state
        ]
        self._rules.forbid(self._passing)
