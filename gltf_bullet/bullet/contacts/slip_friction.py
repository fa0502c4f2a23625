"""Static against dynamic friction on an engine with one Coulomb coefficient.

KHR_physics_rigid_bodies, "Physics Materials": the coefficient follows the relative velocity of the
surfaces. Only bodies are looked at whose two coefficients differ towards some partner (measured, of
300 boxes that lie on a floor: 17 us per body and step).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.collision_classes import CollisionClasses, LinkKind
from gltf_bullet.bullet.session import EngineLink, SolidLink
from gltf_bullet.bullet.state import LinkState, link_state, velocity_at
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["SlipFriction", "SlipState"]

_SLOWEST_SLIP = 0.05
"""[m/s] below which surfaces count as at rest towards each other."""
_GRAVITY_STEPS = 1.5
"""... or what gravity gives in so many steps, whichever is more: a body at rest creeps."""
_HOLD = 0.02
"""[s] that a slip must last before static friction lets go; impacts are shorter."""
_CERTAIN = 4.0
"""A slip so many times above the threshold lets go at once: thrown bodies never stick."""

_SETTLING = 0.06
"""[s] in which what starts at rest finds its place: triangle meshes push a box up by 1 mm, one
corner after the other, so that it hardly touches them for half of this time (measured)."""


_FEW = 4
"""Bodies whose contacts are asked for one by one."""


class _Touch(NamedTuple):
    """A contact that pushes, from the side of a body."""

    link: int
    partner: EngineLink
    slip: float
    """Speed of the surfaces along each other [m/s]."""


class SlipState(NamedTuple):
    """What ``pybullet.saveState`` leaves out. Treat as opaque.

    Links and bodies by their place in the scene: their ids are others where they were made anew.
    """

    gain: dict[int, float]
    slid: dict[int, float]
    touched: dict[int, float]
    stale: frozenset[int]


class SlipFriction:
    """Switches the friction of sliding and resting bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        contacts: ContactPlan,
        links: Sequence[SolidLink],
        kind_of: Mapping[EngineLink, LinkKind],
        classes: CollisionClasses,
        keeps_points: Callable[[EngineLink, EngineLink], bool],
    ) -> None:
        """Prepare the links.

        Args:
            client_id: The world.
            contacts: The pairs of surfaces.
            links: All links of the scene; the friction of some follows their slip.
            kind_of: What each of them may meet.
            classes: Of the world.
            keeps_points: Whether the engine keeps contact points of two links while they rest.
        """
        self._keeps_points = keeps_points
        self._client_id = client_id
        self._kind_of, self._classes = kind_of, classes
        self._surface_of = {link: part.surface for link, part in links if part.surface.slips}
        self._place_of = {link: k for k, (link, _) in enumerate(links) if link in self._surface_of}
        self._links_of: dict[int, list[EngineLink]] = {}
        for link in self._surface_of:
            self._links_of.setdefault(link[0], []).append(link)
        self._gain: dict[EngineLink, float] = dict.fromkeys(self._surface_of, 1.0)
        self._slid: dict[int, float] = dict.fromkeys(self._links_of, 0.0)
        """[s] for which a body has slid; negative: for which it may still settle."""
        self._touched: dict[int, float] = dict.fromkeys(self._links_of, math.inf)
        """[s] for which a body has touched something; negative: for which it has not."""
        self._stale: set[EngineLink] = set()
        """Links some of whose kept contact points have an earlier coefficient."""
        row = contacts.index_of
        self._row_of = {link: row[part.surface.key] for link, part in links}
        self._at_rest = _rest_gains(contacts)
        counts = Counter(body_id for body_id, _ in kind_of)
        self._single = {body_id for body_id, count in counts.items() if count == 1}
        """Bodies that collide with one link."""
        for link in self._surface_of:
            if self._rests(link):
                self._slid[link[0]] = -_SETTLING
                self._set(link, float(self._at_rest[self._row_of[link]].max()))
        self._stale.clear()

    def _rests(self, link: EngineLink) -> bool:
        """Whether a link does not move now: what it lies on holds it from the first step on."""
        _, _, linear, angular = link_state(self._client_id, *link)
        return max(math.hypot(*linear), math.hypot(*angular)) < _SLOWEST_SLIP

    def after_step(self, time_step: float, gravity: Vec3) -> None:
        """Choose the coefficient of each body for the next step.

        After the step and not before the next one: contact points that ``restoreState`` brings
        back lack what the step has found (measured).

        Args:
            time_step: [s]
            gravity: Of the world [m/s^2].
        """
        threshold = max(_SLOWEST_SLIP, _GRAVITY_STEPS * math.hypot(*gravity) * time_step)
        touches = self._touches()
        for body_id in self._links_of:
            self._switch(body_id, touches.get(body_id, ()), threshold, time_step)

    def _touches(self) -> dict[int, list[_Touch]]:
        """The contacts that push one of the bodies, by body and from its side."""
        states: dict[EngineLink, LinkState] = {}
        found: dict[int, list[_Touch]] = {}
        # For a single one the engine looks through all contacts as well.
        is_many = len(self._links_of) > _FEW
        for asked in ({},) if is_many else [{"bodyA": body} for body in self._links_of]:
            points = pybullet.getContactPoints(**asked, physicsClientId=self._client_id)
            for point in points or ():
                if point[9] <= 0.0:
                    continue
                one, other = (point[1], point[3]), (point[2], point[4])
                is_ours, is_others = (
                    one[0] in self._links_of,
                    is_many and other[0] in self._links_of,
                )
                if is_ours or is_others:
                    slip = self._slip(point, one, other, states)
                    if is_ours:
                        found.setdefault(one[0], []).append(_Touch(one[1], other, slip))
                    if is_others:
                        found.setdefault(other[0], []).append(_Touch(other[1], one, slip))
        return found

    def state(self) -> SlipState:
        """What ``pybullet.saveState`` leaves out."""
        place, body_at = self._place_of, self._body_at
        return SlipState(
            {place[link]: gain for link, gain in self._gain.items()},
            {k: self._slid[body] for k, body in body_at.items()},
            {k: self._touched[body] for k, body in body_at.items()},
            frozenset(place[link] for link in self._stale),
        )

    def restore(self, state: SlipState) -> None:
        """Take back a :meth:`state`; contacts are the engine's own snapshot's business.

        What it does not know, since materials were others then, stays as it is.
        """
        for k, body in self._body_at.items():
            self._slid[body] = state.slid.get(k, self._slid[body])
            self._touched[body] = state.touched.get(k, self._touched[body])
        for link, k in self._place_of.items():
            self._set(link, state.gain.get(k, self._gain[link]))
        self._stale = {link for link, k in self._place_of.items() if k in state.stale}

    @property
    def _body_at(self) -> dict[int, int]:
        """Bodies by the place of their first link."""
        return {self._place_of[links[0]]: body for body, links in self._links_of.items()}

    def _switch(
        self, body_id: int, touching: Sequence[_Touch], threshold: float, time_step: float
    ) -> None:
        touched = self._touched[body_id]
        if not touching:
            self._touched[body_id] = min(touched, 0.0) - time_step
            if self._touched[body_id] < -_HOLD:
                self._slid[body_id] = math.inf
                self._fly(body_id)
            return
        self._touched[body_id] = max(touched, 0.0) + time_step
        slip = max(touch.slip for touch in touching)
        slid = self._slid[body_id]
        if slip > _CERTAIN * threshold:
            slid = math.inf
        elif slid < 0.0:
            slid += time_step
        elif slip < 0.5 * threshold:
            # A landing on one corner stops that corner for a moment.
            slid = slid if self._touched[body_id] < _HOLD else 0.0
        elif slip > threshold:
            slid += time_step
        self._slid[body_id] = slid
        for link in self._links_of[body_id]:
            own = self._row_of[link]
            partners = [
                touch.partner
                for touch in touching
                if touch.link == link[1] and touch.partner in self._row_of
            ]
            gain = 1.0
            if slid < _HOLD:
                gain = max((self._at_rest[own, self._row_of[p]] for p in partners), default=1.0)
            self._set(link, float(gain))
            self._renew(link, partners)

    def _fly(self, body_id: int) -> None:
        """What is in the air lands sliding."""
        for link in self._links_of[body_id]:
            self._set(link, 1.0)
            self._stale.discard(link)

    def _renew(self, link: EngineLink, partners: list[EngineLink]) -> None:
        """Give kept contact points the coefficient of their link.

        The engine combines coefficients when it finds a point, and finds those of most shapes one
        by one. Pairs are made anew only then, since ``restoreState`` does not find them again, and
        never during a landing: a box without its other corners tips over (measured).
        """
        if link not in self._stale or self._touched[link[0]] < _HOLD:
            return
        self._stale.discard(link)
        if any(self._keeps_points(link, partner) for partner in partners):
            if link[0] in self._single:
                self._classes.renew(link[0])
            else:  # the other links are to keep their points
                self._classes.write(link, self._kind_of[link])

    def _slip(
        self,
        point: tuple[Any, ...],
        one: EngineLink,
        other: EngineLink,
        states: dict[EngineLink, LinkState],
    ) -> float:
        """Speed of the two surfaces along each other at a contact [m/s]."""
        for link in (one, other):
            if link not in states:
                states[link] = link_state(self._client_id, *link)
        own, others = velocity_at(states[one], point[5]), velocity_at(states[other], point[5])
        x, y, z = own[0] - others[0], own[1] - others[1], own[2] - others[2]
        a, b, c = point[7]
        away = x * a + y * b + z * c
        return math.hypot(x - away * a, y - away * b, z - away * c)

    def settle(self, link: EngineLink) -> None:
        """Give a link that was made anew the coefficient that its predecessor had."""
        gain = self._gain.get(link, 1.0)
        if gain != 1.0:
            self._gain[link] = 1.0
            self._set(link, gain)

    def _set(self, link: EngineLink, gain: float) -> None:
        if gain == self._gain[link]:
            return
        self._gain[link] = gain
        self._stale.add(link)
        pybullet.changeDynamics(
            *link,
            lateralFriction=self._surface_of[link].friction * gain,
            physicsClientId=self._client_id,
        )


def _rest_gains(contacts: ContactPlan) -> FloatArray:
    """Friction at rest over sliding friction per pair, shape [count, count].

    Two pushed bodies both switch: each takes the root. What slides without friction keeps none at
    rest: no multiple of it gives any.
    """
    sliding = contacts.targets.friction
    ratio = np.divide(
        contacts.static_friction, sliding, out=np.ones_like(sliding), where=sliding > 0.0
    )
    pushed = np.array([key.is_dynamic for key in contacts.keys], dtype=bool)
    gains: FloatArray = np.where(pushed[:, None] & pushed[None, :], np.sqrt(ratio), ratio)
    return gains
