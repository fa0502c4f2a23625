"""Which multibody and link each jointed body becomes, the same in all copies of a scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gltf_bullet.planning.body_plans import BodyPlan
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans

__all__ = ["LinkPlaces"]


class LinkPlaces(NamedTuple):
    """Multibodies are counted through all articulations; link -1 is a base."""

    bodies: Mapping[int, tuple[int, int]]
    """Multibody and link by motion node."""
    groups: Mapping[int, tuple[tuple[int, int], ...]]
    """Of the fixed links that carry a body's further collider groups, where it has some."""
    bases: tuple[tuple[int, int], ...]
    """Anchor and multibody, of those that hang on one that moves."""
    solid: frozenset[int]
    """Multibodies with colliders."""

    @staticmethod
    def of(plans: ArticulationPlans, body_plans: Mapping[int, BodyPlan]) -> LinkPlaces:
        """Those of a scene; ``body_plans`` by motion node."""
        bodies: dict[int, tuple[int, int]] = {}
        groups: dict[int, list[tuple[int, int]]] = {}
        bases = []
        multibodies = [multi for plan in plans.articulations for multi in plan.multibodies]
        for number, multibody in enumerate(multibodies):
            if multibody.anchor >= 0:
                bases.append((multibody.anchor, number))
            for node, link in multibody.bodies:
                bodies[node] = number, link
            for link, (node, group) in enumerate(multibody.owners):
                if group > 0:
                    groups.setdefault(node, []).append((number, link))
        solid = {number for node, (number, _) in bodies.items() if body_plans[node].groups}
        further = {node: tuple(links) for node, links in groups.items()}
        return LinkPlaces(bodies, further, tuple(bases), frozenset(solid))
