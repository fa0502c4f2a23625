"""Colliders of a scene that overlap when it is created, and the depth of each overlap.

They are found pair by pair, with closest-point queries: finding all contacts of the world would
change how its other scenes evolve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.session import EngineLink, SolidLink
from gltf_bullet.diagnostics import Diagnostics, Issue, JsonPointer, note
from gltf_bullet.model import may_collide
from gltf_bullet.planning.contacts.touching_boxes import touching_boxes
from gltf_bullet.records import replace
from gltf_bullet.transforms import Vec3

BODIES_OVERLAP = note(
    "BODIES_OVERLAP",
    "the body begins {depth:.3g} m deep inside of node {other}, to which no joint connects it; it "
    "is let out slowly",
)

DEEP = 2e-3
"""Depth [m] from which on an overlap counts: meshes are 0.3 mm thicker than their vertices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOverlap:
    """Two links that overlap."""

    numbers: tuple[int, int]
    """Numbers of both links in the list that was searched."""
    first: EngineLink
    second: EngineLink
    depth: float
    """Depth of the overlap [m]."""
    normal: Vec3
    """Unit normal from the second to the first, world axes: the shortest way out for the first."""

    def of(self, links: Sequence[SolidLink]) -> LoadOverlap:
        """Return the same overlap in another copy of the scene."""
        first, second = self.numbers
        return replace(self, first=links[first][0], second=links[second][0])


def find_overlaps(
    client_id: int,
    links: Sequence[SolidLink],
    are_apart: Callable[[EngineLink, EngineLink], bool],
) -> list[LoadOverlap]:
    """Find all pairs that may collide and overlap by more than :data:`DEEP`.

    Args:
        client_id: The world.
        links: Links of one scene.
        are_apart: Returns True if a rule keeps two links from colliding.
    """
    solid = [
        (number, link, part.surface)
        for number, (link, part) in enumerate(links)
        if part.surface.only_against is None
    ]
    if len(solid) < 2 or not any(surface.key.is_dynamic for _, _, surface in solid):
        return []
    boxes = np.array([pybullet.getAABB(*link, physicsClientId=client_id) for _, link, _ in solid])
    found = []
    for i, j in touching_boxes(boxes[:, 0] + 0.5 * DEEP, boxes[:, 1] - 0.5 * DEEP).tolist():
        (m, a, one), (n, b, other) = solid[i], solid[j]
        if not (one.key.is_dynamic or other.key.is_dynamic):
            continue
        if not may_collide(one.contact_class.filter, other.contact_class.filter):
            continue
        if are_apart(a, b):
            continue
        points = pybullet.getClosestPoints(a[0], b[0], 0.0, a[1], b[1], physicsClientId=client_id)
        deepest = min(points, key=lambda point: float(point[8]), default=None)
        if deepest is not None and deepest[8] < -DEEP:
            x, y, z = deepest[7]
            depth = -deepest[8]
            found.append(
                LoadOverlap(numbers=(m, n), first=a, second=b, depth=depth, normal=(x, y, z))
            )
    return found


def overlap_issues(
    overlaps: Sequence[LoadOverlap], owners: Callable[[], Mapping[EngineLink, int]]
) -> tuple[Issue, ...]:
    """Return one issue per pair of bodies, for its deepest overlap.

    Args:
        overlaps: Pairs of links.
        owners: Returns the glTF node of each link.
    """
    if not overlaps:
        return ()
    owner_of = owners()
    deepest: dict[tuple[int, int], float] = {}
    for overlap in overlaps:
        a, b = owner_of[overlap.first], owner_of[overlap.second]
        deepest[max(a, b), min(a, b)] = max(overlap.depth, deepest.get((max(a, b), min(a, b)), 0.0))
    sink = Diagnostics()
    for (node, other), depth in deepest.items():
        sink.report(BODIES_OVERLAP, JsonPointer(f"/nodes/{node}"), depth=depth, other=other)
    return sink.issues
