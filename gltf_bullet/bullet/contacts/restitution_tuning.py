"""Friction, restitution and stiffness of links, corrected for the engine's time step.

Stock Bullet bounces wrongly: a contact made while still apart gives ``e v - gap / dt``, a
penetrating one adds ``ERP * depth / dt`` (measured: e = 1 gives 0.77 at 240 Hz and 0 at 1000 Hz).
The correction is per body, so that no setting of the world changes: contacts of bouncing surfaces
begin at the true surface, fixed ones have a small ERP, and restitution factors correct the rest.
Surfaces that never bounce keep the engine's values: with a small ERP, a heavy body sinks into its
support (measured: 100 kg on a box of 1 kg 117 mm instead of 66 at 60 Hz). Only triangle meshes have
a larger ERP.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.contacts.contact_softness import ENGINE_ERP, fixed_softness
from gltf_bullet.bullet.session import EngineLink, SolidLink
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.planning.body_plans import ColliderGroup, StaticPlan, SurfacePlan
from gltf_bullet.planning.contacts.pair_factors import pair_specific_factor, restitution_factors
from gltf_bullet.planning.contacts.surfaces import ContactPlan
from gltf_bullet.planning.shapes.shape_plans import BvhPlan
from gltf_bullet.transforms import FloatArray

_FIXED_EXCESS, _PUSHED_EXCESS = 0.02, 0.04
"""Restitution that recovery from penetration adds against fixed and pushed partners (measured)."""
_EXCESS_PER_SECOND = 1.96
"""Restitution added per second of time step and per restitution: gravity adds to the speed of the
fall within the step of the impact (measured at 30 to 1000 Hz).
"""

_BOUNCING_ERP = 0.04
"""Error reduction per step of fixed surfaces that things bounce on (measured)."""
_TRIANGLE_ERP, _MOST_ERP = 7.0, 0.7
"""ERP of fixed triangle meshes that nothing bounces on, per root of the time step, and its bound. A
mesh gives a body one contact point per step, so it sinks between them, and a body that has sunk is
stopped by the edges inside of flat floors (measured, of 80 random slides of boxes, plates and hulls
at 3 to 9 m/s on a flat grid off by more than 3 %: at 60 Hz 40 with 0.3, 22 with 0.7, 12 with 0.9;
at 120 Hz 31, 1, 2; at 240 Hz 1, 0, 0; bare PyBullet 79). With 0.9 what rests on a slope hops down
it in steps of 1/60 s: 0.5 m in 6 s, with 0.7 12 mm.
"""
MULTIBODY = 2
"""Body type of multibodies in ``getDynamicsInfo``."""


def pushing_out(time_step: float) -> float:
    """Return the ERP of triangle meshes for a time step [s]."""
    return min(_MOST_ERP, _TRIANGLE_ERP * math.sqrt(time_step))


def surface_values(surface: SurfacePlan, friction: float | None) -> dict[str, float]:
    """Return the values to write for a surface; ``friction``: the link's present one, if known."""
    values = {}
    if surface.friction != friction:
        values["lateralFriction"] = surface.friction
    if (surface.bounces or surface.on_triangles) and surface.key.is_dynamic:
        # Must be set before the link first has a contact (measured). Over triangles, edges that the
        # body only passes would stop it by contacts that are made while apart.
        values["contactProcessingThreshold"] = 0.0
    return values


def _restitution(part: ColliderGroup | StaticPlan) -> float:
    """Return the authored restitution of a link's material."""
    return part.surface.key.material.restitution


class RestitutionTuning:
    """The surfaces of one scene's links."""

    def __init__(
        self,
        client_id: int,
        contacts: ContactPlan,
        links: Sequence[SolidLink],
        to_write: Sequence[tuple[int, dict[str, float]]],
        former: RestitutionTuning | None = None,
    ) -> None:
        """Write friction, and for bouncing links what must be set before their first contact.

        Args:
            client_id: The world.
            contacts: The pairs of surfaces.
            links: All links of the scene with their colliders.
            to_write: Numbers of the links with :func:`surface_values`, and these.
            former: Tuning of the same links before their materials changed.
        """
        self._client_id = client_id
        self.tuned: set[EngineLink] = set() if former is None else former.tuned
        """Fixed links whose error reduction is not, or once was not, the engine's own."""
        self._contacts = contacts
        self.links = links
        """All links of the scene with their colliders."""
        self._restitution_of: dict[EngineLink, float] = {}
        self.written: dict[EngineLink, float] = {} if former is None else former.written
        """Restitution that we wrote for each link; another value in the engine is the user's."""
        self._renewed: set[EngineLink] = set()
        """Links whose material's restitution has changed since: it replaces also a user's value."""
        if former is not None:
            known = dict(former.links)
            self._renewed = {
                link
                for link, part in links
                if link in known and _restitution(known[link]) != _restitution(part)
            }
        self.pair_specific: set[EngineLink] = set() if former is None else former.pair_specific
        """Links with full restitution in the coming step: see :meth:`set_pair_restitution`."""
        self._time_step = 0.0
        if former is not None:
            self._time_step, self._restitution_of = former.written_for(self)
        for k, values in to_write:
            body_id, link_index = links[k][0]
            pybullet.changeDynamics(body_id, link_index, **values, physicsClientId=client_id)

    @cached_property
    def numbers(self) -> tuple[object, ...]:
        """All that the restitution of the links depends on, besides their shapes."""
        targets, factors, row = (
            self._contacts.targets,
            self._contacts.factors,
            self._contacts.index_of,
        )
        surfaces = [
            (row[s.key], s.bounces, None if s.only_against is None else row[s.only_against.key])
            for s in (part.surface for _, part in self.links)
        ]
        tables = targets.restitution, targets.alone_restitution, factors.restitution
        listed = [table.tolist() for table in tables]
        return listed, targets.edges, targets.fixed, factors.split, factors.light, surfaces

    def written_for(self, other: RestitutionTuning) -> tuple[float, dict[EngineLink, float]]:
        """Return time step and restitution of the links if they are those of another tuning too."""
        if other.numbers != self.numbers:
            return 0.0, {}
        return self._time_step, self._restitution_of

    def adapt(self, time_step: float) -> None:
        """Write restitution for a time step [s]; does nothing while that stays the same."""
        if time_step == self._time_step:
            return
        self._time_step = time_step
        contacts, targets = self._contacts, self._contacts.targets
        wanted = self._engine_restitution(targets.restitution, time_step)
        most = self._engine_restitution(np.maximum(targets.restitution, 1.0), time_step)
        factors = restitution_factors(targets, contacts.factors, wanted, most)
        for (body_id, link_index), part in self.links:
            surface = part.surface
            row = contacts.index_of[surface.key]
            factor = float(factors[row])
            if surface.only_against is not None:
                partner = contacts.index_of[surface.only_against.key]
                factor = pair_specific_factor(wanted[row, partner], factors[partner])
            self._restitution_of[body_id, link_index] = factor
            self._write((body_id, link_index), part)

    def set_pair_restitution(self, landings: Collection[tuple[EngineLink, EngineLink]]) -> None:
        """Give links their full restitution against one partner; reset those of the last call.

        Other contacts have less, which allows for the depth in which they are found; that is too
        little for a body that begins at the surface (measured, e = 1 at 60 and 240 Hz: 0.947 and
        0.971).

        Args:
            landings: Links that begin the coming step at a surface, each with its obstacle.
        """
        specific: dict[EngineLink, float] = {}
        for link, other in landings:
            if link in self._restitution_of and other in self._restitution_of:
                partner = self._restitution_of[other]
                if other not in specific and partner > 0.0:
                    specific[link] = self._target(link, other) / partner
        for link in self.pair_specific - set(specific):
            self._write_restitution(link, self._restitution_of[link])
        for link, restitution in specific.items():
            self._write_restitution(link, restitution)
        self.pair_specific = set(specific)

    def _target(self, link: EngineLink, other: EngineLink) -> float:
        """Return the restitution that two links should have together."""
        rows = [self._contacts.index_of[self._surfaces[one].key] for one in (link, other)]
        return float(self._contacts.targets.restitution[rows[0], rows[1]])

    @cached_property
    def _surfaces(self) -> dict[EngineLink, SurfacePlan]:
        return {link: part.surface for link, part in self.links}

    def _write_restitution(self, link: EngineLink, restitution: float) -> None:
        """Write the restitution of a moving link, unless the user has changed it."""
        info = pybullet.getDynamicsInfo(*link, physicsClientId=self._client_id)
        if info[5] == self.written.get(link, 0.0) != restitution:
            self.written[link] = restitution
            pybullet.changeDynamics(*link, restitution=restitution, physicsClientId=self._client_id)

    def settle(self, link: EngineLink) -> None:
        """Write the contact properties of a new fixed link as its predecessor had them."""
        self.written.pop(link, None)
        part = next(part for other, part in self.links if other == link)
        pybullet.changeDynamics(
            *link, lateralFriction=part.surface.friction, physicsClientId=self._client_id
        )
        if self._time_step > 0.0:
            self._write(link, part)

    def is_untouched(self, link: EngineLink) -> bool:
        """Return True if the engine has our values; friction that follows slip is not compared."""
        surface = next(part.surface for other, part in self.links if other == link)
        info = pybullet.getDynamicsInfo(*link, physicsClientId=self._client_id)
        if not surface.slips and info[1] != surface.friction:
            return False
        return bool(info[10] != MULTIBODY or info[5] == self.written.get(link, 0.0))

    def _write(self, link: EngineLink, part: ColliderGroup | StaticPlan) -> None:
        """Write restitution, and the error reduction if it is not the engine's own."""
        softness = {}
        erp = self._error_reduction(part)
        if erp != ENGINE_ERP or link in self.tuned:
            self.tuned.add(link)
            softness = fixed_softness(erp, self._time_step)
        known = self.written.get(link, 0.0)
        info = pybullet.getDynamicsInfo(*link, physicsClientId=self._client_id)
        # For other kinds, many fixed colliders among them, PyBullet returns uninitialised memory
        # (measured).
        is_readable = info[10] == MULTIBODY
        if link in self._renewed or not is_readable or info[5] == known:
            self._renewed.discard(link)
            self.written[link] = softness["restitution"] = self._restitution_of[link]
        if softness:
            pybullet.changeDynamics(*link, physicsClientId=self._client_id, **softness)

    def _error_reduction(self, part: ColliderGroup | StaticPlan) -> float:
        surface = part.surface
        if surface.key.is_dynamic:
            return ENGINE_ERP
        if surface.bounces:
            return _BOUNCING_ERP
        if any(isinstance(placed.shape, BvhPlan) for placed in part.shapes):
            return pushing_out(self._time_step)
        return ENGINE_ERP

    def _engine_restitution(self, restitution: FloatArray, time_step: float) -> FloatArray:
        """Return the engine restitution per pair that results in a wanted one, [count, count]."""
        pushed = np.array([key.is_dynamic for key in self._contacts.keys], dtype=bool)
        both = pushed[:, None] & pushed[None, :]
        excess = np.where(both, _PUSHED_EXCESS, _FIXED_EXCESS)
        excess = excess + _EXCESS_PER_SECOND * time_step * restitution
        written: FloatArray = np.maximum(restitution - excess, 0.0)
        return written
