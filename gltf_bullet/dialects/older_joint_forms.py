"""Joint descriptions of MSFT and of first drafts of KHR: ``physicsJointLimits``.

One entry is one joint. Its limits stand under ``limits`` (later schema) or ``constraints`` (text of
004), or the entry is a list of them, or a single one (the schemas' ``jointLimit``): all are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gltf_bullet.dialects.joints import parse_limit
from gltf_bullet.dialects.reading import (
    AS_EMPTY,
    LIST_EMPTY,
    known_keys,
    report_unknown,
)
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import JointDescription
from gltf_bullet.model.properties import JOINT, Dialect

_DIALECT: Final = Dialect.MSFT_LATER
"""The dialect whose names these joints have, in KHR as well."""
_TABLE: Final = "physicsJointLimits"
JOINT_KEYS: Final = known_keys("connectedNode", "jointLimits", *JOINT.names(_DIALECT))
"""The members of a joint on a node."""
_LISTS: Final = ("limits", "constraints")


def read_joint_limits(root: Reader) -> tuple[JointDescription, ...]:
    """The table of joint descriptions; limits that are wrong are left out."""
    entries = root.get(_TABLE, [])
    if not isinstance(entries, list):
        root.wrong_type(_TABLE, entries, "a list of objects", AS_EMPTY)
        return ()
    if _TABLE in root and not entries:
        root.report(LIST_EMPTY, _TABLE, key=_TABLE, got="empty")
    return tuple(
        JointDescription(
            limits=tuple(
                limit
                for item in _limits_of(root, entry, position)
                for limit in parse_limit(item, _DIALECT)
            ),
            pointer=root.at / _TABLE / position,
        )
        for position, entry in enumerate(entries)
    )


def _limits_of(root: Reader, entry: object, position: int) -> Iterator[Reader]:
    """The limit objects of one entry, wherever it keeps them."""
    if isinstance(entry, list):
        for place, item in enumerate(entry):
            if isinstance(item, dict):
                yield Reader(item, root.at / _TABLE / position / place, root.diagnostics)
            else:
                root.wrong_type(_TABLE, item, "an object", AS_EMPTY, position, place)
        return
    if not isinstance(entry, dict):
        root.wrong_type(_TABLE, entry, "an object", AS_EMPTY, position)
        return
    joint = Reader(entry, root.at / _TABLE / position, root.diagnostics)
    present = [key for key in _LISTS if key in entry]
    if not present:
        yield joint
        return
    report_unknown(joint, known_keys(*_LISTS), "a joint")
    for key in present:
        if entry[key] == []:
            joint.report(LIST_EMPTY, key, key=key, got="empty")
        yield from joint.entries(key, instead=AS_EMPTY)
