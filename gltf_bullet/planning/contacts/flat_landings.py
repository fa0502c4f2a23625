"""Pairs of shapes that bounce less than they should where one lands flat on the other.

PyBullet finds one contact point of such a pair per step; what lands flat is then stopped at one of
its corners and turns instead of rising.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    BvhPlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    ShapePlan,
)

__all__ = ["FLAT_LANDING", "Shown", "kinds_of_surfaces", "report_flat_landings"]

FLAT_LANDING = IssueKind(
    "FLAT_LANDING",
    Severity.WARNING,
    "a {mover} that lands flat on a {ground} (node {other}) may lose up to {loss:.2g} of the "
    "restitution of {restitution:.2g}: PyBullet finds one contact point of such a pair at a time",
)

_NAMES: Final[dict[type[ShapePlan], str]] = {
    BoxPlan: "box",
    BvhPlan: "triangle mesh",
    ConvexPartsPlan: "convex hull",
    CylinderPlan: "cylinder",
    HullPlan: "convex hull",
    InfinitePlanePlan: "box",  # as which it stands where things bounce
}
_FLAT: Final = ("box", "convex hull", "cylinder")
_LOSSES: Final[dict[tuple[str, str], float]] = {
    **{(mover, ground): 0.55 for mover in ("convex hull", "cylinder") for ground in _FLAT},
    **{("box", ground): 0.40 for ground in ("convex hull", "cylinder")},
    ("box", "triangle mesh"): 0.22,
}
"""At a restitution of 1, less in proportion (measured, drops of 0.3 to 3 m at 60 and 240 Hz).
Balls, capsules, boxes on boxes, hulls on meshes: below 0.04."""

Shown: TypeAlias = "tuple[int, Iterable[ShapePlan]]"
"""A node, and the shapes of its collider."""


def report_flat_landings(
    pairs: Iterable[tuple[Hashable, Hashable, float]],
    kinds: Mapping[Hashable, Mapping[str, int]],
    diagnostics: Diagnostics,
) -> None:
    """Name each kind of pair once, at the first node that may land.

    Args:
        pairs: Of surfaces that may meet, the first of which moves, and their restitution.
        kinds: From :func:`kinds_of_surfaces`.
        diagnostics: Receives the findings.
    """
    worst: dict[tuple[str, str], tuple[float, int, int]] = {}
    for one, other, restitution in pairs:
        for mover, node in kinds.get(one, {}).items():
            for ground, partner in kinds.get(other, {}).items():
                pair = (mover, ground)
                if pair in _LOSSES and restitution > worst.get(pair, (0.0, 0, 0))[0]:
                    worst[pair] = (restitution, node, partner)
    for (mover, ground), (restitution, node, partner) in worst.items():
        diagnostics.report(
            FLAT_LANDING,
            JsonPointer(f"/nodes/{node}"),
            mover=mover,
            ground=ground,
            other=partner,
            loss=_LOSSES[mover, ground] * restitution,
            restitution=restitution,
        )


def kinds_of_surfaces(shown: Mapping[Hashable, Sequence[Shown]]) -> dict[Hashable, dict[str, int]]:
    """The first node with each kind of shape, for each surface with these colliders."""
    return {surface: _kinds(colliders) for surface, colliders in shown.items()}


def _kinds(colliders: Iterable[Shown]) -> dict[str, int]:
    """The first node with each kind of shape."""
    found: dict[str, int] = {}
    for node, shapes in colliders:
        for shape in shapes:
            if type(shape) in _NAMES:
                found.setdefault(_NAMES[type(shape)], node)
    return found
