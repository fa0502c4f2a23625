"""Pairs of colliders that do not collide: groups, filtered pairs and articulations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from pxr import UsdPhysics

from gltf_bullet.convert.collision_classes import UNKNOWN, CollisionClasses
from gltf_bullet.convert.usd.joints import UsdJoint
from gltf_bullet.convert.usd.stage import Entry, StagePrims, path_string
from gltf_bullet.model import CollisionFilter
from gltf_bullet.transforms import BoolArray

_SELF_COLLISION = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")


class ColliderPlace(Struct, frozen=True):
    """A collider and the body that carries it."""

    entry: Entry
    body: str
    """Path of the rigid body; empty for a static collider."""


def collision_filters(
    prims: StagePrims,
    colliders: Sequence[ColliderPlace],
    joints: Sequence[UsdJoint],
    chained: Iterable[tuple[str, str]],
) -> list[CollisionFilter | None]:
    """Filters of the colliders.

    Args:
        prims: The stage.
        colliders: All colliders, in order.
        joints: All joints.
        chained: Pairs of bodies between whose joints other links will be, so that no joint of the
            result excludes their collisions.
    """
    count = len(colliders)
    apart = np.zeros((count, count), dtype=bool)
    for one, other in chained:
        _exclude(apart, _of_body(colliders, one), _of_body(colliders, other))
    _exclude_groups(apart, prims, colliders)
    for entry in prims.entries:
        if entry.has(UsdPhysics.FilteredPairsAPI):
            mine = _below(colliders, entry.path)
            for target in (
                UsdPhysics.FilteredPairsAPI(entry.prim).GetFilteredPairsRel().GetTargets()
            ):
                _exclude(apart, mine, _below(colliders, entry.target(path_string(target))))
        if entry.has(UsdPhysics.ArticulationRootAPI) and not _touches_itself(entry.prim):
            members = np.isin([c.body for c in colliders], list(_members(entry, prims, joints)))
            members &= np.array([bool(c.body) for c in colliders], dtype=bool)
            _exclude(apart, members, members)
    if not apart.any():
        return [None] * count
    bodies = np.array([c.body for c in colliders])
    # Colliders of one body never meet, and what stands still does not meet what stands still.
    same = bodies[:, None] == bodies[None, :]
    wanted = np.where(same, UNKNOWN, (~apart).astype(np.intp))
    classes = CollisionClasses(wanted, np.ones(count, dtype=bool))
    return [classes.filter(k) for k in range(count)]


def _exclude(apart: BoolArray, one: BoolArray, other: BoolArray) -> None:
    apart |= one[:, None] & other[None, :]
    apart |= other[:, None] & one[None, :]


def _of_body(colliders: Sequence[ColliderPlace], path: str) -> BoolArray:
    return np.array([c.body == path or c.entry.path == path for c in colliders], dtype=bool)


def _below(colliders: Sequence[ColliderPlace], path: str) -> BoolArray:
    return np.array(
        [c.entry.path == path or c.entry.path.startswith(path + "/") for c in colliders],
        dtype=bool,
    )


def _exclude_groups(
    apart: BoolArray, prims: StagePrims, colliders: Sequence[ColliderPlace]
) -> None:
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(prims.stage)
    groups = list(table.GetGroups())
    members = []
    for group in groups:
        collection = UsdPhysics.CollisionGroup.Get(prims.stage, group).GetCollidersCollectionAPI()
        query = collection.ComputeMembershipQuery()
        members.append(
            np.array([_is_in(query, c.entry) for c in colliders], dtype=bool)
            if collection
            else np.zeros(len(colliders), dtype=bool)
        )
    for a, one in enumerate(groups):
        for b in range(a, len(groups)):
            if not table.IsCollisionEnabled(one, groups[b]):
                _exclude(apart, members[a], members[b])


def _is_in(query: Any, entry: Entry) -> bool:
    return bool(query.IsPathIncluded(entry.prim.GetPath()))


def _touches_itself(root: Any) -> bool:
    stated = [root.GetAttribute(name).Get() for name in _SELF_COLLISION]
    return next((bool(value) for value in stated if value is not None), True)


def _members(root: Entry, prims: StagePrims, joints: Sequence[UsdJoint]) -> set[str]:
    """Bodies of an articulation: those below its root, or joined to it."""
    below = {
        e.path
        for e in prims.entries
        if e.body is e and (e.path == root.path or e.path.startswith(root.path + "/"))
    }
    held = {joint.entry.path: joint for joint in joints}
    if root.path in held:
        below |= {end for end in held[root.path].ends if end in prims.at}
    if root.body is root or root.path in held:
        links = [
            tuple(_body_path(prims, end) for end in joint.ends)
            for joint in joints
            if joint.in_articulation
        ]
        grown = True
        while grown:
            more = {
                end
                for pair in links
                if below.intersection(pair)
                for end in pair
                if end and end not in below
            }
            below |= more
            grown = bool(more)
    return below


def _body_path(prims: StagePrims, path: str) -> str:
    entry = prims.at.get(path)
    return entry.body.path if entry is not None and entry.body is not None else ""
