"""The contacts of the last step as arrays, with glTF nodes on both sides; only on demand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.shapes.collider_index import ColliderIndex
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["Contacts", "read_contacts"]


_MOST_PAIRS = 8
"""That a line tells of."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Contacts:
    """Contact points of the last step (the last substep where the engine takes several)."""

    node_a: IntArray
    """glTF nodes of the colliders of the first side, shape [k]; -1: not of this scene."""
    node_b: IntArray
    """Those of the second side, shape [k]."""
    body_a: IntArray
    """PyBullet body ids of the first side, shape [k]."""
    body_b: IntArray
    """Those of the second side, shape [k]."""
    positions: FloatArray
    """In the world, half way between the two surfaces [m], shape [k, 3]."""
    normals: FloatArray
    """From b to a, world axes, unit length, shape [k, 3]."""
    distances: FloatArray
    """Between the surfaces [m], negative inside, shape [k]."""
    normal_forces: FloatArray
    """That push a along the normal, and b the other way [N], shape [k]."""
    friction_forces: FloatArray
    """On a, world axes [N], shape [k, 3]; b feels the opposite."""

    names: Sequence[str] = ()
    """Names of all nodes of the file; a node without a name has an empty one."""

    def __len__(self) -> int:
        return len(self.node_a)

    @property
    def names_a(self) -> tuple[str, ...]:
        """Names of :attr:`node_a`; empty for bodies of others."""
        return self._named(self.node_a)

    @property
    def names_b(self) -> tuple[str, ...]:
        """Names of :attr:`node_b`; empty for bodies of others."""
        return self._named(self.node_b)

    def _named(self, nodes: IntArray) -> tuple[str, ...]:
        names = self.names
        return tuple([names[k] if 0 <= k < len(names) else "" for k in nodes.tolist()])

    def __repr__(self) -> str:
        """Count the contacts and add up the forces [N] of each pair of nodes."""
        pairs: dict[tuple[int, int], list[float]] = {}
        for a, b, force in zip(
            self.node_a.tolist(), self.node_b.tolist(), self.normal_forces.tolist(), strict=True
        ):
            pairs.setdefault((a, b), []).append(force)
        told = [
            f"{self._title(a)} on {self._title(b)}: {len(f)} points, {sum(f):.3g} N"
            for (a, b), f in list(pairs.items())[:_MOST_PAIRS]
        ]
        more = len(pairs) - len(told)
        return f"Contacts({'; '.join(told)}{f'; and {more} pairs more' if more > 0 else ''})"

    def _title(self, node: int) -> str:
        name = self.names[node] if 0 <= node < len(self.names) else ""
        return repr(name) if name else ("another's body" if node < 0 else f"node {node}")


def read_contacts(
    client_id: int,
    index: ColliderIndex,
    only: Collection[EngineLink] | None = None,
    names: Sequence[str] = (),
    force_scale: float = 1.0,
) -> Contacts:
    """Contacts that involve the scene's colliders.

    Args:
        client_id: The PyBullet world.
        index: The colliders of the scene.
        only: Links to which contacts are restricted, and which are side a then.
        names: Of all nodes of the file.
        force_scale: See ``EngineSession.force_scale``.
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

    def vectors(column: int) -> FloatArray:
        return np.array([row[column] for row in rows], dtype=np.float64).reshape(-1, 3)

    def numbers(column: int) -> FloatArray:
        return np.array([row[column] for row in rows], dtype=np.float64)

    friction = numbers(10)[:, None] * vectors(11) + numbers(12)[:, None] * vectors(13)
    return Contacts(
        node_a=nodes[:, 0],
        node_b=nodes[:, 1],
        body_a=bodies[:, 0],
        body_b=bodies[:, 1],
        positions=0.5 * (vectors(5) + vectors(6)),
        normals=vectors(7) * sign[:, None],
        distances=numbers(8),
        normal_forces=force_scale * numbers(9),
        friction_forces=force_scale * friction * sign[:, None],
        names=names,
    )


def _node(index: ColliderIndex, body_id: int, link: int, point: tuple[float, ...]) -> int:
    node = index.node_at(body_id, link, point)
    return -1 if node is None else node
