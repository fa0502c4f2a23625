"""Contact stiffness and damping of links, so that overlapping bodies separate slowly.

The engine turns a share (ERP) of a depth into velocity, ``ERP depth / dt``, and the velocity stays:
a box of 0.4 m that begins 0.1 m deep in the ground leaves it at 1.9 m/s at 240 Hz (measured). The
depth that a step of motion causes is small, and corrected so. But where bodies were put into each
other, by a file, ``set``, a reset or a new neighbour, the share is made so small, before the engine
solves, that no body leaves faster than EXIT_SPEED, until they are apart. The engine's solve
includes it: momentum is exact, whichever bodies touch.

Values that a link was given cannot be removed. The engine combines those of two links, springs in
series and dampers in parallel; a link without values counts as 1e30 N/m without a damper. All
values here are on that scale, so that a share means the same against links with values and without.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import pybullet

from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.session import EngineLink, EngineSession, EngineSettings
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.transforms import Vec3

ENGINE_ERP = 0.08
"""Share of a depth per step that contacts push out in PyBullet by default (measured)."""
EXIT_SPEED = 0.1
"""Largest speed [m/s] at which an overlap separates."""
DEEP = 2e-3
"""Depth [m] from which on bodies that were put somewhere overlap: meshes of others are 1 mm thicker
than their vertices.
"""
SHALLOW = 1e-3
"""Depth [m] below which the engine's own ERP applies."""
_ABSENT = 8
"""Number of steps without a deep contact after which two bodies count as separate."""

_UNSET = 1e30
"""Stiffness of links without values [N/m]; their damping of 0.1 N s/m is negligible beside it."""
_MOVING_RATIO = 3.0
"""Stiffness of a moving link with values, over that. In series with a link without values that
makes 3/4 of it, with another one 3/2, and two dampings: the ERP is the same in both cases.
"""
_HARDEST_RATIO = 1e3
"""Largest such ratio of fixed links, whose ERP cannot be the same against links with values and
without: there it is at most a quarter.
"""
_CLOSE = 1.1
"""Factor by which an ERP may differ from the wanted one before it is written again."""
_NORMAL, _DISTANCE = 10, 19
"""Columns of a contact row; bodies and links are the first four."""
_ROUNDS, _LEAST_STEP = 20, 1e-3
"""Rounds of the iteration in :func:`_agreement`, and the smallest step that goes on."""
_LEAST_AGREEMENT = 0.1
"""Lower bound of :func:`_agreement`, for bodies with others on all sides."""

_Pair: TypeAlias = tuple[EngineLink, EngineLink]


class SoftState(NamedTuple):
    """Memory of some bodies.

    They are numbered by their place in the scene, and as -1 - id if they are not of the scene.
    """

    pairs: tuple[tuple[_Pair, int], ...] = ()
    """Pairs that separate slowly, with the number of steps since each was deep."""
    erps: tuple[tuple[EngineLink, float], ...] = ()
    """ERP of links."""
    overlaps_expected: bool = False
    """True if no step has looked yet for bodies that were put into each other."""


def _softness(ratio: float, erp: float, time_step: float) -> dict[str, float]:
    """Return ``changeDynamics`` arguments for a stiffness and an ERP against an unset link."""
    rigidity = ratio / (1.0 + ratio) * _UNSET * time_step
    return {"contactStiffness": ratio * _UNSET, "contactDamping": rigidity * (1.0 - erp) / erp}


def moving_softness(erp: float, time_step: float) -> dict[str, float]:
    """Return the ``changeDynamics`` arguments that give a moving link an ERP; ``time_step`` [s]."""
    return _softness(_MOVING_RATIO, erp, time_step)


def fixed_softness(erp: float, time_step: float) -> dict[str, float]:
    """Return those of a fixed link, against moving ones that have ENGINE_ERP or no values.

    With R for its stiffness over that of links without values and s for (1 - erp) / erp, its
    damping is s R / (1 + R) in the unit of rigidity; against a link with values the series 3 R / (3
    + R) takes the place of R / (1 + R), and the damping of that one adds up: one equation for R.
    """
    m = _MOVING_RATIO
    added = m / (1.0 + m) * (1.0 - ENGINE_ERP) / ENGINE_ERP
    wanted = added * erp / (1.0 - erp)  # m R / (m + R) - R / (1 + R)
    # wanted (m + R) (1 + R) = (m - 1) R^2: the difference of both fractions, multiplied out.
    a, b, c = m - 1.0 - wanted, -wanted * (m + 1.0), -wanted * m
    ratio = (-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a) if a > 0.0 else _HARDEST_RATIO
    return _softness(min(ratio, _HARDEST_RATIO), erp, time_step)


class ContactSoftness:
    """The contact softness of the moving links of all our scenes in one world."""

    def __init__(self, session: EngineSession) -> None:
        """Start without links; made by ``session.shared``."""
        self._session = session
        self._links: set[EngineLink] = set()
        self._erp_of: dict[EngineLink, float] = {}
        """ERP of each moving link that was given one."""
        self._pairs: dict[_Pair, int] = {}
        """Pairs that separate slowly, with the number of steps since each had a deep contact."""
        self._time_step = 0.0
        self.overlaps_expected = True
        """True if bodies were put somewhere since the engine last found contacts."""
        self.is_idle = False
        """True if :meth:`before_step` has nothing to do."""
        self._is_done = False
        """True if it was done already for the coming step."""

    def add_links(self, links: Collection[EngineLink]) -> None:
        """Include the moving links of a scene."""
        self._links.update(links)
        self.expect_overlaps()

    def remove_links(self, links: Collection[EngineLink]) -> None:
        """Leave out links of bodies that were removed."""
        self._links.difference_update(links)
        for link in links if self._erp_of else ():
            self._erp_of.pop(link, None)
        if self._pairs:
            self._pairs = {
                pair: count
                for pair, count in self._pairs.items()
                if pair[0] not in links and pair[1] not in links
            }

    def expect_overlaps(self) -> None:
        """Look for overlaps before the next step: bodies were put somewhere."""
        self.overlaps_expected, self.is_idle, self._is_done = True, False, False

    def finds_none(self, settings: EngineSettings) -> bool:
        """Return True if nothing is left to do before the coming step and later ones.

        Bodies that were put somewhere mostly overlap none. Call it where nothing else puts any
        elsewhere before that step.
        """
        if not self._pairs:
            self.before_step(settings)
            self._is_done = not self.is_idle
        return self.is_idle

    def before_step(self, settings: EngineSettings) -> None:
        """Reduce the ERP of bodies that were put into others, until they are apart."""
        if self.is_idle or self._is_done:
            self._is_done = False
            return
        time_step = settings.time_step / max(settings.substeps, 1)
        # The contacts that the coming step finds, not those of the last one.
        self._session.detect_collisions()
        rows = python_contacts(self._session.client_id).reshape(-1, ROW_SIZE)
        rows = rows[rows[:, _DISTANCE] < -SHALLOW]
        if not (len(rows) or self._pairs or self._erp_of):  # nearly always
            self.overlaps_expected, self.is_idle, self._time_step = False, True, time_step
            return
        depths: dict[EngineLink, float] = {}
        ways: dict[int, list[Vec3]] = {}
        begins, self.overlaps_expected = self.overlaps_expected, False
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
        for link in [*depths, *(link for link in self._erp_of if link not in depths)]:
            if link in depths:
                erp = min(ENGINE_ERP, speeds[link[0]] * time_step / depths[link])
            elif link in kept:
                continue
            else:
                erp = ENGINE_ERP
            known = self._erp_of.get(link)
            if known is None or not known / _CLOSE < erp < known * _CLOSE:
                self._write(link, erp, time_step)
        if time_step != self._time_step:
            self._time_step = time_step
            for link, erp in self._erp_of.items():
                self._write(link, erp, time_step)
        self.is_idle = not self._pairs

    def state(self, body_ids: Sequence[int]) -> SoftState:
        """Return ERPs and separating pairs of bodies, numbered by their place in the list."""
        place = {body: k for k, body in enumerate(body_ids)}

        def named(link: EngineLink) -> EngineLink:
            return place.get(link[0], -1 - link[0]), link[1]

        pairs = [
            ((named(one), named(two)), count)
            for (one, two), count in self._pairs.items()
            if one[0] in place or two[0] in place
        ]
        erps = [(named(link), erp) for link, erp in self._erp_of.items() if link[0] in place]
        return SoftState(tuple(pairs), tuple(erps), self.overlaps_expected)

    def restore(self, state: SoftState, body_ids: Sequence[int]) -> None:
        """Restore a :meth:`state`, of the same bodies or of copies of them."""
        self.overlaps_expected, self._is_done = state.overlaps_expected, False
        if not (any(state) or self._pairs or self._erp_of):
            self.is_idle = True
            return

        def link_of(named: EngineLink) -> EngineLink:
            place, link = named
            return (body_ids[place] if place >= 0 else -1 - place), link

        own, (pairs, erps, _) = set(body_ids), state
        self._pairs = {
            pair: count
            for pair, count in self._pairs.items()
            if own.isdisjoint((pair[0][0], pair[1][0]))
        }
        for (one, two), count in pairs:
            first, second = sorted((link_of(one), link_of(two)))
            self._pairs[first, second] = count
        wanted = {link_of(named): erp for named, erp in erps}
        for link in [link for link in self._erp_of if link[0] in own]:
            wanted.setdefault(link, ENGINE_ERP)
        for link, erp in wanted.items():
            if link in self._links and self._erp_of.get(link) != erp:
                self._erp_of[link] = erp
                if self._time_step > 0.0:
                    self._write(link, erp, self._time_step)
        self.is_idle = not (self._pairs or self.overlaps_expected)

    def _write(self, link: EngineLink, erp: float, time_step: float) -> None:
        self._erp_of[link] = erp
        pybullet.changeDynamics(
            *link, **moving_softness(erp, time_step), physicsClientId=self._session.client_id
        )


def _agreement(ways: list[Vec3]) -> float:
    """Return the largest speed along all the ways out of a body at unit speed: 1 for a single way.

    A body between two others is squeezed out, the faster the more their normals oppose each other.
    A jointed body counts as one: a doll whose limbs began in each other, and separated at full
    speed, got seven times its energy from its joints. This is the distance of the origin from the
    convex hull of the ways (Gilbert's iteration).
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
