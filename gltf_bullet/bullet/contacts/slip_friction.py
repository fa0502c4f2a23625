"""Static and dynamic friction on an engine with one Coulomb coefficient.

KHR_physics_rigid_bodies, "Physics Materials": the coefficient follows the relative velocity of the
surfaces. Only bodies whose two coefficients differ towards some partner are processed (measured, of
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

_SLOWEST_SLIP = 0.05
"""Slip speed [m/s] below which surfaces count as at rest towards each other."""
_GRAVITY_STEPS = 1.5
"""Number of steps of gravity whose speed is the threshold if larger: a body at rest creeps."""
_HOLD = 0.02
"""Time [s] that a slip must last before the dynamic coefficient applies; impacts are shorter."""
_CERTAIN = 4.0
"""Multiple of the threshold above which it applies at once: thrown bodies never stick."""

_SETTLING = 0.06
"""Time [s] that a body at rest has to settle at first: triangle meshes push a box up by 1 mm, one
corner after the other, so that it hardly touches them for half of this time (measured).
"""


_FEW = 4
"""Largest number of bodies whose contacts are read one by one."""


class _Touch(NamedTuple):
    """A contact with a normal force, as seen by one body."""

    link: int
    partner: EngineLink
    slip: float
    """Relative speed of the surfaces along each other [m/s]."""


class SlipState(NamedTuple):
    """State that ``pybullet.saveState`` leaves out. Treat as opaque.

    Keys are places in the scene: the ids of a rebuilt scene's bodies differ.
    """

    gain: dict[int, float]
    slid: dict[int, float]
    touched: dict[int, float]
    stale: frozenset[int]


class SlipFriction:
    """Switches between static and dynamic friction for the bodies of one scene."""

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
            kind_of: Collision rule of each link.
            classes: Collision classes of the world.
            keeps_points: Returns True if the engine keeps contact points of two links at rest.
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
        """Time for which a body has slid [s]; negative: time left to settle."""
        self._touched: dict[int, float] = dict.fromkeys(self._links_of, math.inf)
        """Time for which a body has had contacts [s]; negative: for which it has had none."""
        self._stale: set[EngineLink] = set()
        """Links with kept contact points that still have an earlier coefficient."""
        row = contacts.index_of
        self._row_of = {link: row[part.surface.key] for link, part in links}
        self._at_rest = _rest_gains(contacts)
        counts = Counter(body_id for body_id, _ in kind_of)
        self._single = {body_id for body_id, count in counts.items() if count == 1}
        """Bodies with colliders on one link only."""
        for link in self._surface_of:
            if self._rests(link):
                self._slid[link[0]] = -_SETTLING
                self._set(link, float(self._at_rest[self._row_of[link]].max()))
        self._stale.clear()

    def _rests(self, link: EngineLink) -> bool:
        """Return True if a link does not move now: it begins with its static coefficient."""
        _, _, linear, angular = link_state(self._client_id, *link)
        return max(math.hypot(*linear), math.hypot(*angular)) < _SLOWEST_SLIP

    def after_step(self, time_step: float, gravity: Vec3) -> None:
        """Choose the coefficient of each body for the next step.

        It is chosen after the step and not before the next one: contact points that
        ``restoreState`` brings back lack the values of the solve (measured).

        Args:
            time_step: Length of the step [s].
            gravity: Gravity of the world [m/s^2].
        """
        threshold = max(_SLOWEST_SLIP, _GRAVITY_STEPS * math.hypot(*gravity) * time_step)
        touches = self._touches()
        for body_id in self._links_of:
            self._switch(body_id, touches.get(body_id, ()), threshold, time_step)

    def _touches(self) -> dict[int, list[_Touch]]:
        """Return the contacts with a normal force on the bodies, by body and from its side."""
        states: dict[EngineLink, LinkState] = {}
        found: dict[int, list[_Touch]] = {}
        # For a single body the engine searches all contacts as well.
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
        """Return the state, which ``pybullet.saveState`` leaves out."""
        place, body_at = self._place_of, self._body_at
        return SlipState(
            {place[link]: gain for link, gain in self._gain.items()},
            {k: self._slid[body] for k, body in body_at.items()},
            {k: self._touched[body] for k, body in body_at.items()},
            frozenset(place[link] for link in self._stale),
        )

    def restore(self, state: SlipState) -> None:
        """Restore a :meth:`state`; contacts belong to the engine's own snapshot.

        Links without a saved value, since their materials were others then, stay as they are.
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
        """Give a body in the air its dynamic coefficient: it lands sliding."""
        for link in self._links_of[body_id]:
            self._set(link, 1.0)
            self._stale.discard(link)

    def _renew(self, link: EngineLink, partners: list[EngineLink]) -> None:
        """Give kept contact points the coefficient of their link.

        The engine combines coefficients when it makes a point, and makes those of most shapes one
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
        """Give a new link the coefficient of its predecessor."""
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
    """Return friction at rest over sliding friction per pair, shape [count, count].

    If both bodies move, both switch, each by the square root. A pair without sliding friction has
    none at rest either: no multiple of zero gives any.
    """
    sliding = contacts.targets.friction
    ratio = np.divide(
        contacts.static_friction, sliding, out=np.ones_like(sliding), where=sliding > 0.0
    )
    pushed = np.array([key.is_dynamic for key in contacts.keys], dtype=bool)
    gains: FloatArray = np.where(pushed[:, None] & pushed[None, :], np.sqrt(ratio), ratio)
    return gains
