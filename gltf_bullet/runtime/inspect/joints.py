"""The planned joints as JSON-ready rows: bodies, links, ranges, drives, loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from gltf_bullet.model import DofKind, Joint, JointLimit
from gltf_bullet.model.properties import DRIVE
from gltf_bullet.planning.joints.articulation_plan import (
    ArticulationPlan,
    ArticulationPlans,
    DofPlan,
    JointPlan,
    LinkFrame,
)
from gltf_bullet.planning.joints.axes import BALL
from gltf_bullet.planning.joints.rows import RowMetric

Row: TypeAlias = dict[str, Any]

_AXES = ("x", "y", "z")


def describe_joints(plans: ArticulationPlans, names: Sequence[str]) -> Iterator[Row]:
    """Yield one row per simulated joint, by articulation, in the order of the file.

    Joints between two articulations come last, with the first one's number.

    ``parent`` and ``child`` are the ends of the joint in the multibody's tree; for a loop
    constraint, those of its first and second node. ``body`` is a motion node, or ``None`` for an
    end that forces do not move; then ``anchor`` is a node with a prescribed motion or a fixed base,
    or ``None`` for the fixed world.
    """
    nodes_of = [_nodes_of_links(articulation) for articulation in plans.articulations]
    for number, (articulation, node_of) in enumerate(
        zip(plans.articulations, nodes_of, strict=True)
    ):
        for index, planned in enumerate(articulation.joints):
            joint = planned.joint
            closed_by = next(
                (c.kind.value for c in articulation.loop_constraints if c.joint == index), None
            )
            ends = [planned.frame_a, planned.frame_b]
            if closed_by is None and _hangs_on_second(planned):
                ends.reverse()
            parent, child = (_end(end, node_of, names) for end in ends)
            yield {
                **_whose(joint, number, names),
                "parent": parent,
                "child": child,
                "links": sorted({articulation.dofs[k].link for k in planned.dofs}),
                "enable_collision": joint.enable_collision,
                "closed_by": closed_by,
                "dofs": [_dof(articulation.dofs[k], articulation, index) for k in planned.dofs],
                "limits": list(_other_limits(articulation, index)),
            }
    for cross in plans.cut_constraints:
        if cross.planned is None:
            continue
        yield {
            **_whose(cross.planned.joint, cross.first_articulation, names),
            "parent": _end(cross.planned.frame_a, nodes_of[cross.first_articulation], names),
            "child": _end(cross.planned.frame_b, nodes_of[cross.second_articulation], names),
            "links": [],
            "enable_collision": cross.planned.joint.enable_collision,
            "closed_by": cross.loop_constraint.kind.value,
            "dofs": [],
            "limits": [],
        }


def _whose(joint: Joint, articulation: int, names: Sequence[str]) -> Row:
    return {
        "node": joint.node,
        "name": names[joint.node],
        "connected_node": joint.connected_node,
        "articulation": articulation,
    }


class _LinkNodes(NamedTuple):
    """Nodes of the links of an articulation, by multibody and link."""

    moved: dict[tuple[int, int], int]
    fixed: dict[tuple[int, int], int]


def _nodes_of_links(articulation: ArticulationPlan) -> _LinkNodes:
    found = _LinkNodes({}, {})
    for index, multibody in enumerate(articulation.multibodies):
        for node, link in multibody.bodies:
            is_moved = link >= 0 or multibody.is_floating
            (found.moved if is_moved else found.fixed)[index, link] = node
    return found


def _hangs_on_second(planned: JointPlan) -> bool:
    """Return True if b is the parent: it has the smaller link number, or is an anchor."""
    a, b = planned.frame_a, planned.frame_b
    return b.multibody < 0 or (a.multibody >= 0 and a.link > b.link)


def _end(frame: LinkFrame, node_of: _LinkNodes, names: Sequence[str]) -> Row:
    key = frame.multibody, frame.link
    if frame.multibody < 0 or key in node_of.fixed:
        anchor = node_of.fixed.get(key, frame.link if frame.link >= 0 else None)
        name = "the world" if anchor is None else names[anchor]
        return {"body": None, "name": name, "anchor": anchor, "multibody": None, "link": None}
    body = node_of.moved[key]
    return {
        "body": body,
        "name": names[body],
        "anchor": None,
        "multibody": frame.multibody,
        "link": frame.link,
    }


def _dof(planned: DofPlan, articulation: ArticulationPlan, joint: int) -> Row:
    dof = planned.dof
    drives = articulation.joints[joint].joint.description.drives
    used = sorted(
        {
            entry.row.drive
            for entry in articulation.rows
            if entry.joint == joint
            and entry.row.drive >= 0
            and drives[entry.row.drive].kind is dof.kind
            and (dof.axis == BALL or drives[entry.row.drive].axis == dof.axis)
        }
    )
    return {
        "multibody": planned.multibody,
        "link": planned.link,
        "kind": "ball" if dof.axis == BALL else dof.kind.value,
        "axis": "xyz" if dof.axis == BALL else _AXES[dof.axis],
        "unit": _unit(dof.kind),
        "lower": _finite(dof.lower),
        "upper": _finite(dof.upper),
        "position": dof.position,
        "drives": [
            {
                "mode": drive.mode.value,
                "axis": _AXES[drive.axis],
                **{entry.field: _finite(entry.value_of(drive)) for entry in DRIVE},
            }
            for drive in (drives[k] for k in used)
        ],
    }


def _other_limits(articulation: ArticulationPlan, joint: int) -> Iterator[Row]:
    """Yield limits that are no range of one dof: radial and soft ones, twists of a ball."""
    limits = articulation.joints[joint].joint.description.limits
    acting = {
        k
        for entry in articulation.rows
        if entry.joint == joint
        for k in entry.row.limits
        if entry.row.metric is not RowMetric.COORDINATE or limits[k].stiffness != math.inf
    }
    for k in sorted(acting):
        yield _limit(limits[k])


def _limit(limit: JointLimit) -> Row:
    return {
        "kind": limit.kind.value,
        "axes": "".join(_AXES[axis] for axis in limit.axes),
        "unit": _unit(limit.kind),
        "lower": _finite(limit.minimum),
        "upper": _finite(limit.maximum),
        "stiffness": _finite(limit.stiffness),
        "damping": limit.damping,
    }


def _unit(kind: DofKind) -> str:
    return "m" if kind is DofKind.LINEAR else "rad"


def _finite(value: float) -> float | None:
    """Return ``None`` for an infinite number, which JSON cannot express."""
    return value if math.isfinite(value) else None
