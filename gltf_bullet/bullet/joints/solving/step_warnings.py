"""Issues that only steps show: too fast joints, forces that were not found; reported once each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.bullet.joints.articulation_builder import is_engine_constraint
from gltf_bullet.diagnostics import Diagnostics, Issue, IssueKind, JsonPointer, note, warning
from gltf_bullet.planning.joints.rows import RowMetric
from gltf_bullet.solver import outcomes
from gltf_bullet.solver.islands import Islands

FORCES_NOT_FOUND = warning(
    "FORCES_NOT_FOUND",
    "the joint forces of this body, and of all that it touched, were not found to the end in a "
    "step; limits and drives may have acted wrongly in it",
)

JOINT_TOO_FAST = warning(
    "JOINT_TOO_FAST",
    "the joints that carry this body turn so far in an engine step that it had to be made of "
    "{factor} (so many times what LoadOptions(substeps=...) or the file asks for now); limits, "
    "momentum and energy may not hold while they do",
)

JOINT_LIMIT_LEFT = warning(
    "JOINT_LIMIT_LEFT",
    "a body went round so fast that it left this joint's limit across several axes, by {gap:.3g} "
    "{unit} when it was noticed; smaller time steps hold it, and so do limits of one axis each",
)

JOINT_LOOP_TORN = warning(
    "JOINT_LOOP_TORN",
    "the loop that this joint closes is torn by {gap:.3g} m, and no joint in it can close it: it "
    "is held where it is by bodies whose motion is prescribed",
)

DRIVE_TAKEN_OVER = note(
    "DRIVE_TAKEN_OVER",
    "motors that were set with PyBullet's own calls have axes of joints (nodes {nodes}); the "
    "file's drives do not act on them until the motors are switched off, or resume_drives() of "
    "the joint is called",
)


class StepWarnings:
    """Issues found in the steps of one scene's articulations."""

    def __init__(self, articulations: Sequence[Articulation]) -> None:
        self._articulations = articulations
        self._reported: set[tuple[IssueKind, int]] = set()
        self._taken_over: dict[int, None] = {}
        self._issues: tuple[Issue, ...] = ()

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Issues so far."""
        return self._issues

    def report(self, status: int, islands: Islands) -> None:
        """Report the outcome of a solve of ``islands``."""
        if status & outcomes.EXTERNAL_DRIVE:
            self._name_taken_over()
        if status & outcomes.NOT_CONVERGED:
            self._name_unconverged(islands)
        if status & outcomes.LIMIT_EXCEEDED:
            self._name_left()
        if status & outcomes.TOO_FAST:
            self._name_fast()

    def _name_taken_over(self) -> None:
        """Report the joints with externally driven axes."""
        for articulation in self._articulations:
            articulation.arena.record(articulation.record).external_drive_started = 0
            if not articulation.externally_driven.any():
                continue
            for row in np.flatnonzero(articulation.rows.is_drive).tolist():
                if articulation.is_externally_driven(row):
                    planned = articulation.plan.joints[articulation.plan.rows[row].joint]
                    self._taken_over.setdefault(planned.joint.node)
        nodes = list(self._taken_over)
        if not nodes:
            return
        # One issue for all joints, at the first: the list replaces that of an earlier step.
        sink = Diagnostics()
        at = JsonPointer(f"/nodes/{nodes[0]}")
        sink.report(DRIVE_TAKEN_OVER, at, nodes=", ".join(map(str, nodes)))
        issues = list(self._issues)
        place = next((k for k, i in enumerate(issues) if i.kind is DRIVE_TAKEN_OVER), len(issues))
        issues[place : place + 1] = sink.issues
        self._issues = tuple(issues)

    def _name_fast(self) -> None:
        """Report bodies whose joints turn farther in an engine step than it resolves."""
        for articulation in self._articulations:
            fields = articulation.arena.record(articulation.record)
            if fields.steps_for_speed and not fields.speed_reported:
                fields.speed_reported = 1
                factor = int(fields.steps_for_speed)
                self._report(JOINT_TOO_FAST, _body_at(articulation, 0), factor=factor)

    def _name_left(self) -> None:
        """Report the joints whose limits are exceeded."""
        for articulation in self._articulations:
            record, arena = articulation.record, articulation.arena
            fields = arena.record(record)
            row = int(fields.overshot_row) - 1
            if row >= 0:
                fields.overshot_row = 0
                fields.overshoot_reported = 1
                values = arena.view(record, "row_value")
                lower, upper = articulation.rows.lower[row], articulation.rows.upper[row]
                gap = float(max(lower - values[row], values[row] - upper))
                planned_row = articulation.plan.rows[row]
                planned = articulation.plan.joints[planned_row.joint]
                is_angle = planned_row.row.metric in (RowMetric.CONE, RowMetric.ANGLE)
                unit = "rad" if is_angle else "m"
                self._report(JOINT_LIMIT_LEFT, planned.joint.node, gap=gap, unit=unit)

    def _name_unconverged(self, islands: Islands) -> None:
        """Report a body of each island without converged forces."""
        for articulation in self._articulations:
            block = articulation.arena.record(articulation.record).block
            if block >= 0 and islands.block_label[block] == islands.unconverged_label:
                self._report(FORCES_NOT_FOUND, _body_at(articulation, 0))

    def name_open_loops(self) -> None:
        """Report the joints of loops that stay open."""
        for articulation in self._articulations:
            fields = articulation.arena.record(articulation.record)
            number = int(fields.open_loop) - 1
            fields.open_loop = 0
            if number >= 0:
                gaps = articulation.arena.view(articulation.record, "closure_gap")
                closed = [c for c in articulation.plan.loop_constraints if is_engine_constraint(c)]
                planned = articulation.plan.joints[closed[number].joint]
                gap = float(np.abs(gaps[number]).max())
                self._report(JOINT_LOOP_TORN, planned.joint.node, gap=gap)

    def explain(self) -> str:
        """Return the message about forces that are not finite."""
        for articulation in self._articulations:
            record = articulation.record
            tau = articulation.arena.view(record, "joint_force")
            if not np.isfinite(tau).all():
                nodes = [n for n in record.frames.node if n >= 0]
                return f"the joints of nodes {nodes} ask for a force that is not finite"
        return "a joint asks for a force that is not finite"

    def name_lost(self, *, are_back: bool) -> str:
        """Return the message about joints whose states are not finite."""
        nodes = [n for a in self._articulations for n in a.record.frames.node if n >= 0]
        return (
            f"the joints of nodes {nodes} are beyond all numbers, by a step or by somebody else's "
            "call; "
            + (
                "they were put back to where they were before it"
                if are_back
                else "they cannot be put back one by one: restore a state of the scene"
            )
        )

    def _report(self, kind: IssueKind, node: int, **values: float | str) -> None:
        if (kind, node) not in self._reported:
            self._reported.add((kind, node))
            sink = Diagnostics()
            sink.report(kind, JsonPointer(f"/nodes/{node}"), **values)
            self._issues += sink.issues


def _body_at(articulation: Articulation, frame: int) -> int:
    """Return the motion node that a frame moves: its own, or that of the next frame with one."""
    nodes = articulation.record.frames.node
    return next((node for node in nodes[frame:] if node >= 0), max(nodes))
