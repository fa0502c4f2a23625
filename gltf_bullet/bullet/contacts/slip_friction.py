"""Static against dynamic friction on an engine with one Coulomb coefficient.

KHR_physics_rigid_bodies, "Physics Materials": the coefficient follows the relative velocity of the
surfaces. Only bodies are looked at whose two coefficients differ towards some partner (measured:
2.5 us per such body and step).
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.collision_classes import ClassedLink, CollisionClasses
from gltf_bullet.bullet.contacts.pair_rules import EngineLink
from gltf_bullet.bullet.state.link_states import LinkState, link_state
from gltf_bullet.planning.body_plans import SurfacePlan
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["SlipFriction"]

_SLOWEST_SLIP = 0.05
"""[m/s] below which surfaces count as at rest towards each other."""
_GRAVITY_STEPS = 1.5
"""... or what gravity gives in so many steps, whichever is more: a body at rest creeps."""
_HOLD = 0.02
"""[s] that a slip must last before static friction lets go; impacts are shorter."""
_CERTAIN = 4.0
"""A slip so many times above the threshold lets go at once: thrown bodies never stick."""


class SlipFriction:
    """Switches the friction of sliding and resting bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        contacts: ContactPlan,
        links: list[tuple[EngineLink, SurfacePlan]],
        classed: list[ClassedLink],
        classes: CollisionClasses,
        keeps_points: Container[EngineLink],
    ) -> None:
        """Prepare the links.

        Args:
            client_id: The world.
            contacts: The pairs of surfaces.
            links: All links of the scene with their surfaces.
            classed: The same links with their collision classes.
            classes: Of the world.
            keeps_points: Links whose contact points the engine keeps while they rest: hulls and
                cylinders.
        """
        self._keeps_points = keeps_points
        self._client_id = client_id
        self._classes = classes
        self._surface_of = {link: surface for link, surface in links if surface.slips}
        self._links_of: dict[int, list[EngineLink]] = {}
        for link in self._surface_of:
            self._links_of.setdefault(link[0], []).append(link)
        self.is_any = bool(self._links_of)
        """Whether there is anything to look at."""
        self._gain: dict[EngineLink, float] = dict.fromkeys(self._surface_of, 1.0)
        self._slid: dict[int, float] = dict.fromkeys(self._links_of, 0.0)
        if not self.is_any:
            return
        row = contacts.index_of
        self._row_of = {link: row[surface.key] for link, surface in links}
        self._classed = {link.link: link for link in classed}
        self._at_rest = _rest_gains(contacts)

    def after_step(self, time_step: float, gravity: Vec3) -> None:
        """Choose the coefficient of each body for the next step.

        After the step and not before the next one: contact points that ``restoreState`` brings
        back lack what the step has found (measured).

        Args:
            time_step: [s]
            gravity: Of the world [m/s^2].
        """
        threshold = max(_SLOWEST_SLIP, _GRAVITY_STEPS * math.hypot(*gravity) * time_step)
        states: dict[EngineLink, LinkState] = {}
        for body_id in self._links_of:
            self._switch(body_id, threshold, time_step, states)

    def state(self) -> tuple[dict[EngineLink, float], dict[int, float]]:
        """What ``pybullet.saveState`` leaves out."""
        return dict(self._gain), dict(self._slid)

    def restore(self, state: tuple[dict[EngineLink, float], dict[int, float]]) -> None:
        """Take back a :meth:`state`; contacts are the engine's own snapshot's business."""
        gains, slid = state
        self._slid = dict(slid)
        for link, gain in gains.items():
            self._set(link, gain, renew=False)

    def _switch(
        self,
        body_id: int,
        threshold: float,
        time_step: float,
        states: dict[EngineLink, LinkState],
    ) -> None:
        points = pybullet.getContactPoints(bodyA=body_id, physicsClientId=self._client_id)
        touching = [point for point in points if point[9] > 0.0]
        if not touching:
            self._slid[body_id] = 0.0
            return
        slip = max(self._slip(point, states) for point in touching)
        slid = self._slid[body_id]
        if slip < 0.5 * threshold:
            slid = 0.0
        elif slip > threshold:
            slid = math.inf if slip > _CERTAIN * threshold else slid + time_step
        self._slid[body_id] = slid
        for link in self._links_of[body_id]:
            gain = 1.0
            if slid < _HOLD:
                own = self._row_of[link]
                partners = [
                    self._row_of.get((point[2], point[4]), -1)
                    for point in touching
                    if point[3] == link[1]
                ]
                gain = max((self._at_rest[own, p] for p in partners if p >= 0), default=1.0)
            self._set(link, float(gain), renew=True)

    def _slip(self, point: tuple[Any, ...], states: dict[EngineLink, LinkState]) -> float:
        """Speed of the two surfaces along each other at a contact [m/s]."""
        one, other = (int(point[1]), int(point[3])), (int(point[2]), int(point[4]))
        difference = np.zeros(3)
        for link, sign in ((one, 1.0), (other, -1.0)):
            if link not in states:
                states[link] = link_state(self._client_id, *link)
            com, _, linear, angular = states[link]
            arm = np.subtract(point[5], com)
            difference += sign * (np.array(linear) + np.cross(angular, arm))
        normal = np.array(point[7])
        return float(np.linalg.norm(difference - normal * (normal @ difference)))

    def settle(self, link: EngineLink) -> None:
        """Give a link that was made anew the coefficient that its predecessor had."""
        gain = self._gain.get(link, 1.0)
        if gain != 1.0:
            self._gain[link] = 1.0
            self._set(link, gain, renew=False)

    def _set(self, link: EngineLink, gain: float, *, renew: bool) -> None:
        if gain == self._gain[link]:
            return
        self._gain[link] = gain
        pybullet.changeDynamics(
            *link,
            lateralFriction=self._surface_of[link].friction * gain,
            physicsClientId=self._client_id,
        )
        # Cached contacts of hulls and cylinders keep the old number until the pair is made anew.
        # Only theirs: a pair made anew is not found again by ``restoreState`` (measured).
        if renew and link in self._keeps_points:
            self._classes.write(self._classed[link])


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
