"""Static and dynamic friction on an engine with one Coulomb coefficient.

KHR_physics_rigid_bodies, "Physics Materials": the coefficient follows the relative velocity of the
surfaces. Only bodies whose two coefficients differ towards some partner are processed, by kernels
(``solver.engine.slip``); Python acts where the engine keeps contact points with an earlier one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.collision_classes import CollisionClasses, LinkKind
from gltf_bullet.bullet.exchange.native_calls import python_contacts
from gltf_bullet.bullet.session import EngineLink, SolidLink
from gltf_bullet.bullet.state import link_state
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.engine.slip import (
    BODY,
    HEADER,
    HOLD,
    LINK,
    LOOK,
    SLOWEST_SLIP,
    begin,
    find_slip,
    note,
    slip_speed,
    switch,
)
from gltf_bullet.transforms import FloatArray, Vec3

_FORCE = 20
"""Place of the normal force in a contact's row."""
_SETTLING = 0.06
"""Time [s] that a body at rest has to settle at first: triangle meshes push a box up by 1 mm, one
corner after the other, so that it hardly touches them for half of this time (measured).
"""


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
        counts = Counter(body_id for body_id, _ in kind_of)
        self._single = {body_id for body_id, count in counts.items() if count == 1}
        """Bodies with colliders on one link only."""
        self.find_row: Callable[[], IntTable | None] = lambda: None
        """Returns the kernels' row of the world's engine; ``None`` if only Python calls it."""
        self._bodies: dict[int, int] = {}
        """Place of each body in the table."""
        self._places: dict[EngineLink, int] = {}
        """Place of each link in the table."""
        self.values: FloatArray = np.zeros(0)
        """The table of the kernels."""
        self.begin(contacts, links)

    def begin(self, contacts: ContactPlan, links: Sequence[SolidLink]) -> None:
        """Begin with the surfaces of the same links, as written to the engine."""
        self._surface_of = {link: part.surface for link, part in links if part.surface.slips}
        self._place_of = {link: k for k, (link, _) in enumerate(links) if link in self._surface_of}
        self._links_of: dict[int, list[EngineLink]] = {}
        for link in self._surface_of:
            self._links_of.setdefault(link[0], []).append(link)
        row = contacts.index_of
        self._row_of = {link: row[part.surface.key] for link, part in links}
        self._at_rest = _rest_gains(contacts)
        table = self._table()
        if len(table) == len(self.values):
            self.values[:] = table  # kernels know its address
        else:
            self.values = table
        most: list[float] = self._at_rest.max(axis=1).tolist()
        for link in self._surface_of:
            if self._rests(link):
                self.values[self._bodies[link[0]] + BODY.slid] = -_SETTLING
                self._set(link, most[self._row_of[link]])
        for at in self._places.values():
            self.values[at + LINK.is_stale] = 0.0

    def _table(self) -> FloatArray:
        bodies = sorted(self._links_of)
        partners = sorted((*link, row) for link, row in self._row_of.items())
        own = [link for body in bodies for link in self._links_of[body]]
        first = HEADER.size + BODY.size * len(bodies)
        self._bodies = {body: HEADER.size + BODY.size * k for k, body in enumerate(bodies)}
        self._places = {link: first + LINK.size * k for k, link in enumerate(own)}
        # One by one in a list: for the few numbers of most scenes arrays take twice as long.
        values = [0.0] * (first + LINK.size * len(own))
        values[HEADER.body_count], values[HEADER.link_count] = len(bodies), len(own)
        values[HEADER.partner_count], values[HEADER.surface_count] = (
            len(partners),
            len(self._at_rest),
        )
        count = 0
        for body, at in self._bodies.items():
            values[at + BODY.body_id], values[at + BODY.touched] = body, math.inf
            values[at + BODY.first_link] = count
            values[at + BODY.link_count] = len(self._links_of[body])
            count += len(self._links_of[body])
        for link, at in self._places.items():
            values[at + LINK.link], values[at + LINK.surface] = link[1], self._row_of[link]
            values[at + LINK.friction] = self._surface_of[link].friction
            values[at + LINK.gain] = values[at + LINK.wanted] = 1.0
        values += chain.from_iterable(partners)
        return np.concatenate((values, self._at_rest.ravel()))

    def _rests(self, link: EngineLink) -> bool:
        """Return True if a link does not move now: it begins with its static coefficient."""
        _, _, linear, angular = link_state(self._client_id, *link)
        return max(math.hypot(*linear), math.hypot(*angular)) < SLOWEST_SLIP

    def after_step(self, time_step: float, gravity: Vec3, *, is_seen: bool = False) -> None:
        """Choose the coefficient of each body for the next step.

        It is chosen after the step and not before the next one: contact points that
        ``restoreState`` brings back lack the values of the solve (measured).

        Args:
            time_step: Length of the step [s].
            gravity: Gravity of the world [m/s^2].
            is_seen: Kernels have looked already.
        """
        values = self.values
        if not is_seen:
            row = self._native_row
            if row is None or find_slip(row, values, time_step, *gravity) < 0:
                values[HEADER.is_due] = LOOK
        if values[HEADER.is_due] == LOOK:
            self._look(time_step, gravity)
        if values[HEADER.is_due]:
            self._apply()

    @cached_property
    def _native_row(self) -> IntTable | None:
        return self.find_row()

    def _look(self, time_step: float, gravity: Vec3) -> None:
        """Find who slides, as kernels do."""
        values, rows = self.values, python_contacts(self._client_id).reshape(-1, ROW_SIZE)
        begin(values)
        states: dict[EngineLink, FloatArray] = {}
        for contact in rows:
            if contact[_FORCE] <= 0.0:
                continue
            a, b, link, other = contact[:4].astype(int).tolist()
            if a not in self._bodies and b not in self._bodies:
                continue
            sides = ((a, link), (b, other))
            for side in sides:
                if side not in states:
                    states[side] = np.concatenate(link_state(self._client_id, *side))
            slip = slip_speed(states[sides[0]], 0, contact, states[sides[1]], 0)
            for one, partner in (sides, sides[::-1]):
                if one[0] in self._bodies:
                    surface = self._row_of.get(partner, -1)
                    note(values, self._bodies[one[0]], one[1], surface, slip)
        switch(values, time_step, *gravity)

    def _apply(self) -> None:
        """Give the engine the coefficients that have changed."""
        values = self.values
        for link, at in self._places.items():
            touched = values[self._bodies[link[0]] + BODY.touched]
            if values[at + LINK.wanted] != values[at + LINK.gain]:
                self._set(link, float(values[at + LINK.wanted]))
            if touched < 0.0:
                values[at + LINK.is_stale] = 0.0
            elif values[at + LINK.is_stale] and touched >= HOLD:
                self._renew(link)

    def state(self) -> SlipState:
        """Return the state, which ``pybullet.saveState`` leaves out."""
        place, body_at, values = self._place_of, self._body_at, self.values
        return SlipState(
            {place[link]: float(values[at + LINK.gain]) for link, at in self._places.items()},
            {k: float(values[self._bodies[body] + BODY.slid]) for k, body in body_at.items()},
            {k: float(values[self._bodies[body] + BODY.touched]) for k, body in body_at.items()},
            frozenset(
                place[link] for link, at in self._places.items() if values[at + LINK.is_stale]
            ),
        )

    def restore(self, state: SlipState) -> None:
        """Restore a :meth:`state`; contacts belong to the engine's own snapshot.

        Links without a saved value, since their materials were others then, stay as they are.
        """
        values = self.values
        for k, body in self._body_at.items():
            at = self._bodies[body]
            values[at + BODY.slid] = state.slid.get(k, values[at + BODY.slid])
            values[at + BODY.touched] = state.touched.get(k, values[at + BODY.touched])
        for link, k in self._place_of.items():
            at = self._places[link]
            self._set(link, state.gain.get(k, float(values[at + LINK.gain])))
            values[at + LINK.wanted] = values[at + LINK.gain]
            values[at + LINK.is_stale] = k in state.stale

    @property
    def _body_at(self) -> dict[int, int]:
        """Bodies by the place of their first link."""
        return {self._place_of[links[0]]: body for body, links in self._links_of.items()}

    def _renew(self, link: EngineLink) -> None:
        """Give kept contact points the coefficient of their link.

        The engine combines coefficients when it makes a point, and makes those of most shapes one
        by one. Pairs are made anew only then, since ``restoreState`` does not find them again, and
        never during a landing: a box without its other corners tips over (measured).
        """
        self.values[self._places[link] + LINK.is_stale] = 0.0
        points = pybullet.getContactPoints(*link[:1], physicsClientId=self._client_id) or ()
        sides = [((p[1], p[3]), (p[2], p[4])) for p in points if p[9] > 0.0]
        partners = {two if one == link else one for one, two in sides if link in (one, two)}
        if any(self._keeps_points(link, p) for p in partners if p in self._row_of):
            if link[0] in self._single:
                self._classes.renew(link[0])
            else:  # the other links are to keep their points
                self._classes.write(link, self._kind_of[link])

    def settle(self, link: EngineLink) -> None:
        """Give a new link the coefficient of its predecessor."""
        at = self._places.get(link)
        if at is not None and self.values[at + LINK.gain] != 1.0:
            gain = float(self.values[at + LINK.gain])
            self.values[at + LINK.gain] = 1.0
            self._set(link, gain)

    def _set(self, link: EngineLink, gain: float) -> None:
        at = self._places[link]
        if gain == self.values[at + LINK.gain]:
            return
        self.values[at + LINK.gain] = self.values[at + LINK.wanted] = gain
        self.values[at + LINK.is_stale] = 1.0
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
