"""Bodies and joints as a graph: components, their roots, spanning trees, and what is cut.

Pure. Vertices are motion nodes of dynamic bodies; anchors (the world, kinematic bodies, animated
attachment nodes) are ends of edges only, so that two chains on one anchor stay two components.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct


class GraphEdge(Struct, frozen=True, kw_only=True):
    """A joint between two ends; an end is a body (``True``) or an anchor."""

    joint: int
    first: int
    second: int
    first_is_body: bool
    second_is_body: bool
    priority: float
    """Edges of higher priority are preferred for the spanning tree."""


class SpanningTree(Struct, frozen=True, kw_only=True):
    """A component's tree, rooted at an anchor or at a body."""

    anchor: int | None
    """The anchor at the root; ``None``: ``root_body`` is the root."""
    root_body: int
    """-1 when an anchor is the root."""
    steps: tuple[tuple[int, int, int], ...]
    """(parent body or -1 for the anchor, joint, child body), parents before children."""
    closing: tuple[int, ...]
    """Joints of the component that are not in the tree."""


def connected_components(bodies: Iterable[int], edges: Sequence[GraphEdge]) -> list[list[int]]:
    """Jointed bodies grouped by connection, in ascending order; other bodies are omitted."""
    parent = {body: body for body in bodies}

    def root(body: int) -> int:
        while parent[body] != body:
            parent[body] = parent[parent[body]]
            body = parent[body]
        return body

    touched: set[int] = set()
    for edge in edges:
        if edge.first_is_body:
            touched.add(edge.first)
        if edge.second_is_body:
            touched.add(edge.second)
        if edge.first_is_body and edge.second_is_body:
            a, b = root(edge.first), root(edge.second)
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for body in sorted(touched):
        groups.setdefault(root(body), []).append(body)
    return list(groups.values())


def span_components(
    bodies: Sequence[int],
    edges: Sequence[GraphEdge],
    weights: Mapping[int, Any],
    world: int,
) -> list[SpanningTree]:
    """A spanning tree for each component of some bodies; a body without joints has its own."""
    groups = connected_components(bodies, edges)
    jointed = {body for group in groups for body in group}
    groups += [[body] for body in bodies if body not in jointed]
    groups.sort()
    return [
        span_component(group, own, weights, world)
        for group, own in zip(groups, edges_by_group(groups, edges), strict=True)
    ]


def edges_by_group(
    groups: Sequence[Sequence[int]], edges: Sequence[GraphEdge]
) -> list[list[GraphEdge]]:
    """For each component, the edges with an end at one of its bodies."""
    group_of = {body: number for number, group in enumerate(groups) for body in group}
    found: list[list[GraphEdge]] = [[] for _ in groups]
    for edge in edges:
        body = edge.first if edge.first_is_body else edge.second
        if (edge.first_is_body or edge.second_is_body) and body in group_of:
            found[group_of[body]].append(edge)
    return found


def span_component(
    bodies: Sequence[int],
    edges: Sequence[GraphEdge],
    weights: Mapping[int, Any],
    world: int,
) -> SpanningTree:
    """Root a component and choose its tree: joints that are hard to close elsewhere come first.

    A kinematic parent is the best root (its links follow it exactly), then the world, then the
    heaviest body (``weights`` are compared). Among equals the joints near the root stay, so that
    loops are cut far away.
    """
    anchors = sorted(
        {e.second for e in edges if not e.second_is_body}
        | {e.first for e in edges if not e.first_is_body},
        reverse=True,
    )
    anchor = None if not anchors else (anchors[0] if anchors[0] != world else world)
    root_body = -1 if anchor is not None else max(bodies, key=lambda b: (weights[b], -b))

    def ends(edge: GraphEdge) -> tuple[int, int] | None:
        """Both vertices, -1 for the root anchor; ``None`` for an edge to another anchor."""
        vertices = []
        for vertex, is_body in (
            (edge.first, edge.first_is_body),
            (edge.second, edge.second_is_body),
        ):
            if not is_body and vertex != anchor:
                return None
            vertices.append(vertex if is_body else -1)
        return vertices[0], vertices[1]

    usable = [(edge, pair) for edge in edges if (pair := ends(edge)) is not None]
    start = -1 if anchor is not None else root_body
    distance = _distances(start, [pair for _, pair in usable])
    far = len(bodies) + 1
    usable.sort(
        key=lambda item: (
            -item[0].priority,
            min(distance.get(item[1][0], far), distance.get(item[1][1], far)),
            item[0].joint,
        )
    )
    chosen = _kruskal(usable)
    in_tree = {edge.joint for edge, _ in chosen}
    return SpanningTree(
        anchor=anchor,
        root_body=root_body,
        steps=_directed(start, chosen),
        closing=tuple(edge.joint for edge in edges if edge.joint not in in_tree),
    )


def _distances(start: int, pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    neighbours: dict[int, list[int]] = {}
    for a, b in pairs:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    distance = {start: 0}
    queue = deque([start])
    while queue:
        vertex = queue.popleft()
        for other in neighbours.get(vertex, []):
            if other not in distance:
                distance[other] = distance[vertex] + 1
                queue.append(other)
    return distance


def _kruskal(
    usable: Sequence[tuple[GraphEdge, tuple[int, int]]],
) -> list[tuple[GraphEdge, tuple[int, int]]]:
    parent: dict[int, int] = {}

    def root(vertex: int) -> int:
        while parent.setdefault(vertex, vertex) != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = parent[vertex]
        return vertex

    chosen = []
    for edge, (a, b) in usable:
        ra, rb = root(a), root(b)
        if ra != rb:
            parent[ra] = rb
            chosen.append((edge, (a, b)))
    return chosen


def _directed(
    start: int, chosen: Sequence[tuple[GraphEdge, tuple[int, int]]]
) -> tuple[tuple[int, int, int], ...]:
    incident: dict[int, list[tuple[int, int]]] = {}
    for edge, (a, b) in chosen:
        incident.setdefault(a, []).append((edge.joint, b))
        incident.setdefault(b, []).append((edge.joint, a))
    steps: list[tuple[int, int, int]] = []
    seen = {start}
    queue = deque([start])
    while queue:
        vertex = queue.popleft()
        for joint, other in sorted(incident.get(vertex, [])):
            if other not in seen:
                seen.add(other)
                steps.append((vertex, joint, other))
                queue.append(other)
    return tuple(steps)
