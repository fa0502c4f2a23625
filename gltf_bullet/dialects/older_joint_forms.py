"""Joints of MSFT and of first drafts of KHR: ``physicsJointLimits``, and nodes that name them.

One entry is one joint. Its limits stand under ``limits`` (later schema) or ``constraints`` (text of
004), or the entry is a list of them, or a single one (the schemas' ``jointLimit``): all are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gltf_bullet.coverage import covers, exact
from gltf_bullet.diagnostics import Diagnostics, JsonPointer
from gltf_bullet.dialects.joints import JOINT_LEFT_OUT, parse_limit
from gltf_bullet.dialects.reading import (
    AS_EMPTY,
    LIST_EMPTY,
    known_keys,
    read_entry,
    read_values,
    report_unknown,
    require,
)
from gltf_bullet.gltf.fields import (
    JsonObject,
    read_index,
    read_objects,
    wrong_type,
)
from gltf_bullet.model import Joint, JointDescription
from gltf_bullet.model.properties import JOINT, Dialect

COVERAGE: Final = covers(
    "Joints",
    exact(
        "physicsJointLimits", "jointLimits", "constraints",
        shown_by="tests/dialects/test_msft.py::test_a_joint_keeps_its_limits_in_one_of_four_places",
    ),
)  # fmt: skip

_DIALECT: Final = Dialect.MSFT_LATER
"""The dialect whose names these joints have, in KHR as well."""
_TABLE: Final = "physicsJointLimits"
_JOINT_KEYS: Final = known_keys("connectedNode", "jointLimits", *JOINT.names(_DIALECT))
_LISTS: Final = ("limits", "constraints")


def read_joint_limits(
    root: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[JointDescription, ...]:
    """The table of joint descriptions; limits that are wrong are left out."""
    entries = root.get(_TABLE, [])
    at = at / _TABLE
    if not isinstance(entries, list):
        wrong_type(_TABLE, entries, "a list of objects", at, diagnostics, AS_EMPTY)
        return ()
    if _TABLE in root and not entries:
        diagnostics.report(LIST_EMPTY, at, key=_TABLE, got="empty")
    return tuple(
        JointDescription(
            limits=tuple(
                limit
                for pointer, item in _limits_of(entry, at / position, diagnostics)
                for limit in parse_limit(item, pointer, diagnostics, _DIALECT)
            ),
            pointer=at / position,
        )
        for position, entry in enumerate(entries)
    )


def _limits_of(
    entry: object, at: JsonPointer, diagnostics: Diagnostics
) -> Iterator[tuple[JsonPointer, JsonObject]]:
    """The limit objects of one entry, wherever it keeps them."""
    if isinstance(entry, list):
        for position, item in enumerate(entry):
            if isinstance(item, dict):
                yield at / position, item
            else:
                _report_no_object(item, at / position, diagnostics)
        return
    if not isinstance(entry, dict):
        _report_no_object(entry, at, diagnostics)
        return
    present = [key for key in _LISTS if key in entry]
    if not present:
        yield at, entry
        return
    report_unknown(entry, known_keys(*_LISTS), "a joint", at, diagnostics)
    for key in present:
        if entry[key] == []:
            diagnostics.report(LIST_EMPTY, at / key, key=key, got="empty")
        for _, pointer, item in read_objects(entry, key, at, diagnostics, instead=AS_EMPTY):
            yield pointer, item


def _report_no_object(item: object, at: JsonPointer, diagnostics: Diagnostics) -> None:
    wrong_type(_TABLE, item, "an object", at, diagnostics, AS_EMPTY)


def parse_msft_joint(
    joint: JsonObject,
    node: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    table: Sequence[JointDescription],
    *,
    node_count: int,
) -> Joint | None:
    """The joint on ``node``; without ``connectedNode`` it holds on to "a fixed point in space"."""
    report_unknown(joint, _JOINT_KEYS, JOINT.what, at, diagnostics)
    what = "the index of an entry of physicsJointLimits"
    require(joint, "jointLimits", what, at, diagnostics, instead=JOINT_LEFT_OUT)
    # Without a connected node it holds on to the world, which is what -1 for none then says.
    means_none = joint.get("connectedNode", -1) == -1
    connected = read_index(
        joint,
        "connectedNode",
        at,
        diagnostics,
        count=node_count,
        instead="the joint holds on to the world" if means_none else JOINT_LEFT_OUT,
        refers=True,
    )
    description = read_entry(joint, "jointLimits", at, diagnostics, table, instead=JOINT_LEFT_OUT)
    values = read_values(joint, JOINT, at, diagnostics, _DIALECT)
    if description is None or (connected is None and not means_none):
        return None
    return Joint(node=node, connected_node=connected, description=description, **values, pointer=at)
