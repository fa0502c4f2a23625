"""How hard contacts push bodies apart that overlap: the one owner of contact stiffness and damping.

The engine turns a share of a depth into speed, ``ERP depth / dt``, and the speed stays: a box of
0.4 m that begins 0.1 m deep in the ground leaves it at 1.9 m/s at 240 Hz (measured). What bodies
that move get into in a step is small, and pushed out so. But where they were put into each other,
by a file, ``set``, a reset or a new neighbour, the share is made so small, before the engine
solves, that nobody leaves faster than EXIT_SPEED, until they are out. The solve that follows knows
it: momentum is exact, whoever takes part.

What a link was once told cannot be untold. The engine combines the numbers of two links, springs in
series and dampers side by side; what was never told counts as 1e30 N/m without a damper. All that
is told here is on that scale, so that a share means the same against links that were told and
against those that were not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

import pybullet

from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.session import EngineLink, EngineSession, EngineSettings
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.transforms import Vec3

__all__ = ["ENGINE_ERP", "ContactSoftness", "SoftState", "fixed_softness"]

ENGINE_ERP = 0.08
"""Share of a depth per step that contacts push out in PyBullet by default (measured)."""
EXIT_SPEED = 0.1
"""[m/s] at most that an overlap gives."""
DEEP = 2e-3
"""[m] from which on bodies that were put somewhere overlap: meshes of others are 1 mm thicker
than they look."""
SHALLOW = 1e-3
"""[m] of depth from which on the engine lets out as it does."""
_ABSENT = 8
"""Steps after which bodies are out of each other that have no deep contact any more."""

_UNTOLD = 1e30
"""[N/m] Stiffness of links that were told nothing; their damping of 0.1 N s/m is nil beside it."""
_MOVING_RATIO = 3.0
"""Stiffness of a told link that moves over that. In series with an untold link that makes 3/4 of
it, with another told one 3/2, and two dampings: the share is the same in both cases."""
_HARDEST_RATIO = 1e3
"""The same of fixed links whose share against told links cannot be that against untold ones: there
it is at most a quarter."""
_CLOSE = 1.1
"""Factor by which a share may differ from what it should be before it is told anew."""
_NORMAL, _DISTANCE = 10, 19
"""Numbers of a contact's fields; bodies and links come first."""
_ROUNDS, _LEAST_STEP = 20, 1e-3
"""Rounds of the iteration that compares the ways out of a body."""
_LEAST_AGREEMENT = 0.1
"""What is between others on all sides leaves as if it had a way out of that much."""

_Pair: TypeAlias = tuple[EngineLink, EngineLink]
SoftState: TypeAlias = "tuple[tuple[tuple[_Pair, int], ...], tuple[tuple[EngineLink, float], ...]]"
"""Pairs that are let out, with the steps since each was deep; what links were told. Bodies by their
place among those of a scene, and by -1 less their id where they are others'."""


def _told(ratio: float, erp: float, time_step: float) -> dict[str, float]:
    """Numbers of a link of some stiffness, for that share against an untold one."""
    rigidity = ratio / (1.0 + ratio) * _UNTOLD * time_step
    return {"contactStiffness": ratio * _UNTOLD, "contactDamping": rigidity * (1.0 - erp) / erp}


def moving_softness(erp: float, time_step: float) -> dict[str, float]:
    """What to tell a moving link whose contacts push out a share of a depth per step [s]."""
    return _told(_MOVING_RATIO, erp, time_step)


def fixed_softness(erp: float, time_step: float) -> dict[str, float]:
    """The same of a fixed link, against moving ones that were told ENGINE_ERP or nothing.

    With R for its stiffness over that of untold links and s for (1 - erp) / erp, its damping is
    s R / (1 + R) in the unit of rigidity; against a told link the series 3 R / (3 + R) takes the
    place of R / (1 + R), and the damping of that one adds up: one equation for R.
    """
    m = _MOVING_RATIO
    added = m / (1.0 + m) * (1.0 - ENGINE_ERP) / ENGINE_ERP
    wanted = added * erp / (1.0 - erp)  # m R / (m + R) - R / (1 + R)
    # wanted (m + R) (1 + R) = (m - 1) R^2: the difference of both fractions, multiplied out.
    a, b, c = m - 1.0 - wanted, -wanted * (m + 1.0), -wanted * m
    ratio = (-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a) if a > 0.0 else _HARDEST_RATIO
    return _told(min(ratio, _HARDEST_RATIO), erp, time_step)


class ContactSoftness:
    """The contact softness of the moving links of all our scenes in one world."""

    def __init__(self, session: EngineSession) -> None:
        """Know nothing of a world yet; ``session.shared`` keeps the one that there is."""
        self._session = session
        self._links: set[EngineLink] = set()
        self._told: dict[EngineLink, float] = {}
        """Share of each moving link that is not as the engine makes it."""
        self._pairs: dict[_Pair, int] = {}
        """Who is let out of whom, and for how many steps they have had no deep contact."""
        self._time_step = 0.0
        self.is_unseen = True
        """Whether bodies were put somewhere since the engine looked for contacts."""
        self.is_idle = False
        """Whether :meth:`before_step` has nothing to do."""

    def join(self, links: Collection[EngineLink]) -> None:
        """Watch the moving links of a scene."""
        self._links.update(links)
        self.expect()

    def leave(self, links: Collection[EngineLink]) -> None:
        """Watch these links no longer: they are gone."""
        self._links.difference_update(links)
        for link in links if self._told else ():
            self._told.pop(link, None)
        if self._pairs:
            self._pairs = {
                pair: count
                for pair, count in self._pairs.items()
                if pair[0] not in links and pair[1] not in links
            }

    def expect(self) -> None:
        """Bodies were put somewhere: the engine looks for contacts before its next step."""
        self.is_unseen, self.is_idle = True, False

    def before_step(self, settings: EngineSettings) -> None:
        """Soften the contacts of who was put into others, and harden those of who has come out."""
        if self.is_idle:
            return
        time_step = settings.time_step / max(settings.substeps, 1)
        # The contacts that the coming step finds, not those of the last one.
        self._session.detect_collisions()
        rows = python_contacts(self._session.client_id).reshape(-1, ROW_SIZE)
        rows = rows[rows[:, _DISTANCE] < -SHALLOW]
        depths: dict[EngineLink, float] = {}
        ways: dict[int, list[Vec3]] = {}
        begins, self.is_unseen = self.is_unseen, False
        fields = [0, 1, 2, 3, *range(_NORMAL, _NORMAL + 3), _DISTANCE]
        seen: set[_Pair] = set()
        for body, other, on_body, on_other, x, y, z, distance in rows[:, fields].tolist():
            one, two = (int(body), int(on_body)), (int(other), int(on_other))
            pair = (one, two) if one < two else (two, one)
            if pair not in self._pairs and not (begins and distance < -DEEP):
                continue
            seen.add(pair)
            for link, way in ((one, (x, y, z)), (two, (-x, -y, -z))):
                if link in self._links:
                    depths[link] = max(depths.get(link, 0.0), -distance)
                    ways.setdefault(link[0], []).append(way)
        self._pairs = {
            pair: count + 1
            for pair, count in self._pairs.items()
            if pair not in seen and count < _ABSENT
        } | dict.fromkeys(seen, 0)
        speeds = {body: EXIT_SPEED * _agreement(normals) for body, normals in ways.items()}
        kept = {link for pair in self._pairs for link in pair}
        for link in [*depths, *(link for link in self._told if link not in depths)]:
            if link in depths:
                erp = min(ENGINE_ERP, speeds[link[0]] * time_step / depths[link])
            elif link in kept:
                continue
            else:
                erp = ENGINE_ERP
            known = self._told.get(link)
            if known is None or not known / _CLOSE < erp < known * _CLOSE:
                self._tell(link, erp, time_step)
        if time_step != self._time_step:
            self._time_step = time_step
            for link, erp in self._told.items():
                self._tell(link, erp, time_step)
        self.is_idle = not self._pairs

    def state(self, body_ids: Sequence[int]) -> SoftState:
        """What the next step of some bodies remembers of the last ones, by their places there."""
        place = {body: k for k, body in enumerate(body_ids)}

        def named(link: EngineLink) -> EngineLink:
            return place.get(link[0], -1 - link[0]), link[1]

        pairs = [
            ((named(one), named(two)), count)
            for (one, two), count in self._pairs.items()
            if one[0] in place or two[0] in place
        ]
        told = [(named(link), erp) for link, erp in self._told.items() if link[0] in place]
        return tuple(pairs), tuple(told)

    def restore(self, state: SoftState, body_ids: Sequence[int]) -> None:
        """Take back a :meth:`state`, of the same bodies or of copies of them."""
        if not (any(state) or self._pairs or self._told):
            return

        def link_of(named: EngineLink) -> EngineLink:
            place, link = named
            return (body_ids[place] if place >= 0 else -1 - place), link

        own, (pairs, told) = set(body_ids), state
        self._pairs = {
            pair: count
            for pair, count in self._pairs.items()
            if own.isdisjoint((pair[0][0], pair[1][0]))
        }
        for (one, two), count in pairs:
            first, second = sorted((link_of(one), link_of(two)))
            self._pairs[first, second] = count
        wanted = {link_of(named): erp for named, erp in told}
        for link in [link for link in self._told if link[0] in own]:
            wanted.setdefault(link, ENGINE_ERP)
        for link, erp in wanted.items():
            if link in self._links and self._told.get(link) != erp:
                self._told[link] = erp
                if self._time_step > 0.0:
                    self._tell(link, erp, self._time_step)
        self.is_idle = not (self._pairs or self.is_unseen)

    def _tell(self, link: EngineLink, erp: float, time_step: float) -> None:
        self._told[link] = erp
        pybullet.changeDynamics(
            *link, **moving_softness(erp, time_step), physicsClientId=self._session.client_id
        )


def _agreement(ways: list[Vec3]) -> float:
    """Speed along all the ways out of a body that a speed of 1 can have: 1 where they are one.

    A body between two others leaves like a pip between two fingers, the faster the more they oppose
    each other. Bodies on joints are one here: of a doll whose limbs began in each other, and were
    let out at full speed, joints made seven times its energy. This is the distance of the origin
    from the hull of the ways (Gilbert's iteration).
    """
    nearest = ways[0]
    for _ in range(_ROUNDS if len(ways) > 1 else 0):
        found = min(ways, key=lambda way: _dot(way, nearest))
        x, y, z = (f - n for f, n in zip(found, nearest, strict=True))
        length = x * x + y * y + z * z
        share = -_dot((x, y, z), nearest) / length if length > 0.0 else 0.0
        if share <= _LEAST_STEP:
            break
        share = min(share, 1.0)
        a, b, c = nearest
        nearest = a + share * x, b + share * y, c + share * z
    return max(math.sqrt(_dot(nearest, nearest)), _LEAST_AGREEMENT)


def _dot(a: Vec3, b: Vec3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
