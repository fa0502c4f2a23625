"""The contacts of the last step as arrays, with glTF nodes on both sides; read on demand only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pybullet

from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.transforms import FloatArray, IntArray

_MOST_PAIRS = 8
"""Largest number of pairs that ``repr`` shows."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Contacts:
    """Contact points of the last step (the last substep where the engine takes several)."""

    node_a: IntArray
    """glTF nodes of the colliders of side a, shape [k]; -1: not of this scene."""
    node_b: IntArray
    """glTF nodes of the colliders of side b, shape [k]; -1: not of this scene."""
    body_a: IntArray
    """PyBullet body ids of side a, shape [k]."""
    body_b: IntArray
    """PyBullet body ids of side b, shape [k]."""
    link_a: IntArray
    """Their links of side a, -1 for bases, shape [k]."""
    link_b: IntArray
    """Their links of side b, -1 for bases, shape [k]."""
    positions: FloatArray
    """Points half way between the two surfaces, in the world [m], shape [k, 3]."""
    normals: FloatArray
    """Unit normals from b to a, world axes, shape [k, 3]."""
    distances: FloatArray
    """Distances between the surfaces [m], negative inside, shape [k]."""
    normal_forces: FloatArray
    """Magnitudes of the normal force on a along the normal, and on b against it [N], shape [k]."""
    friction_forces: FloatArray
    """Friction forces on a, world axes [N], shape [k, 3]; those on b are opposite."""

    names: Sequence[str] = ()
    """Names of all nodes of the file; a node without a name has an empty one."""
    foreign_names: Mapping[EngineLink, str] = field(default_factory=dict)
    """Names of colliders of other scenes by body id and link."""

    def __len__(self) -> int:
        return len(self.node_a)

    @property
    def names_a(self) -> tuple[str, ...]:
        """Names of :attr:`node_a`, ``"body 3, link -1"`` for bodies of others."""
        return self._named(self.node_a, self.body_a, self.link_a)

    @property
    def names_b(self) -> tuple[str, ...]:
        """Names of :attr:`node_b`, ``"body 3, link -1"`` for bodies of others.

        A body of another scene has the name of its collider's node before that.
        """
        return self._named(self.node_b, self.body_b, self.link_b)

    def _named(self, nodes: IntArray, bodies: IntArray, links: IntArray) -> tuple[str, ...]:
        sides = zip(nodes.tolist(), bodies.tolist(), links.tolist(), strict=True)
        return tuple([self._name(*side) for side in sides])

    def _name(self, node: int, body: int, link: int) -> str:
        if node >= 0:
            return self.names[node] if node < len(self.names) else ""
        owner = self.foreign_names.get((body, link), "")
        return f"{owner + ', ' if owner else ''}body {body}, link {link}"

    def __repr__(self) -> str:
        """Show the number of contacts and the sum of forces [N] of each pair of nodes."""
        pairs: dict[tuple[str, str], list[float]] = {}
        for k, force in enumerate(self.normal_forces.tolist()):
            a = self._title(int(self.node_a[k]), int(self.body_a[k]), int(self.link_a[k]))
            b = self._title(int(self.node_b[k]), int(self.body_b[k]), int(self.link_b[k]))
            pairs.setdefault((a, b), []).append(force)
        told = [
            f"{a} on {b}: {len(f)} points, {sum(f):.3g} N"
            for (a, b), f in list(pairs.items())[:_MOST_PAIRS]
        ]
        more = len(pairs) - len(told)
        return f"Contacts({'; '.join(told)}{f'; and {more} pairs more' if more > 0 else ''})"

    def _title(self, node: int, body: int, link: int) -> str:
        name = self._name(node, body, link)
        return (repr(name) if node >= 0 else name) if name else f"node {node}"


def read_contacts(
    client_id: int,
    index: ColliderIndex,
    only: Collection[EngineLink] | None = None,
    names: Sequence[str] = (),
    force_scale: float = 1.0,
    name_of: Callable[[int, int, Sequence[float]], str] = lambda *_: "",
) -> Contacts:
    """Read the contacts that involve the scene's colliders.

    Args:
        client_id: The PyBullet world.
        index: The colliders of the scene.
        only: Links to which contacts are restricted, and which are side a then.
        names: Names of all nodes of the file.
        force_scale: See ``EngineSession.force_scale``.
        name_of: Returns the name of what is at a body id, a link and a point of the world [m], for
            bodies of other scenes; empty for those of nobody.
    """
    # Asked for one body, PyBullet swaps the sides but leaves the friction directions (measured):
    # all contacts are read, and sides swapped here.
    rows = []
    flips = []
    for row in pybullet.getContactPoints(physicsClientId=client_id) or ():
        a, b = (row[1], row[3]), (row[2], row[4])
        if only is not None:
            if a not in only and b not in only:
                continue
            flips.append(a not in only)
        else:
            is_ours = index.colliders(*a) is not None
            if not is_ours and index.colliders(*b) is None:
                continue
            flips.append(not is_ours)
        rows.append(row)
    flip = np.array(flips, dtype=bool)
    sign = np.where(flip, -1.0, 1.0)
    nodes = np.array(
        [[_node(index, row[1], row[3], row[5]), _node(index, row[2], row[4], row[6])]
         for row in rows],
        dtype=np.intp,
    ).reshape(-1, 2)  # fmt: skip
    bodies = np.array([row[1:3] for row in rows], dtype=np.intp).reshape(-1, 2)
    nodes[flip] = nodes[flip][:, ::-1]
    bodies[flip] = bodies[flip][:, ::-1]

    links = np.array([row[3:5] for row in rows], dtype=np.intp).reshape(-1, 2)
    links[flip] = links[flip][:, ::-1]
    foreign = {
        (row[1 + k], row[3 + k]): name_of(row[1 + k], row[3 + k], row[5 + k])
        for row in rows
        for k in (0, 1)
        if index.colliders(row[1 + k], row[3 + k]) is None
    }

    def vectors(column: int) -> FloatArray:
        return np.array([row[column] for row in rows], dtype=np.float64).reshape(-1, 3)

    def numbers(column: int) -> FloatArray:
        return np.array([row[column] for row in rows], dtype=np.float64)

    friction = numbers(10)[:, None] * vectors(11) + numbers(12)[:, None] * vectors(13)
    # Points that do not press were not solved: PyBullet tells the friction of an earlier step.
    friction[numbers(9) == 0.0] = 0.0
    return Contacts(
        node_a=nodes[:, 0],
        node_b=nodes[:, 1],
        body_a=bodies[:, 0],
        body_b=bodies[:, 1],
        link_a=links[:, 0],
        link_b=links[:, 1],
        positions=0.5 * (vectors(5) + vectors(6)),
        normals=vectors(7) * sign[:, None],
        distances=numbers(8),
        normal_forces=force_scale * numbers(9),
        friction_forces=force_scale * friction * sign[:, None],
        names=names,
        foreign_names=foreign,
    )


def _node(index: ColliderIndex, body_id: int, link: int, point: tuple[float, ...]) -> int:
    node = index.node_at(body_id, link, point)
    return -1 if node is None else node
