"""What becomes of a property of the files, declared beside the code that decides it.

The rows of all modules make the reference page ``coverage``, by ``tools/coverage_table.py``; a test
fails where a property that some dialect reads has no row, or where a row names a test that is not
there.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gltf_bullet.diagnostics import IssueKind

__all__ = [
    "Coverage",
    "CoverageRow",
    "Treatment",
    "approximated",
    "covers",
    "exact",
    "ignored",
    "refused",
]


class Treatment(enum.Enum):
    """What becomes of a property."""

    EXACT = "exact"
    """As the specification says, within rounding or the stated number."""
    APPROXIMATED = "approximated"
    """Otherwise than written, by a number that the issue or the row states."""
    IGNORED = "ignored"
    """Without effect."""
    REFUSED = "refused"
    """The file is not loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """Properties that are treated alike in one case."""

    properties: tuple[str, ...]
    """As the files spell them."""
    treatment: Treatment
    when: str
    """The case; ``""``: always, or in all cases that no other row names."""
    how: str
    """How near, or by which means."""
    issue: IssueKind | None
    """What is reported then."""
    shown_by: str
    """The test that shows it, as pytest names it: ``tests/...::test_...``."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The rows that a module answers for."""

    section: str
    """The heading on the page."""
    rows: tuple[CoverageRow, ...]


def covers(section: str, *rows: CoverageRow) -> Coverage:
    """Declare what a module answers for."""
    return Coverage(section, rows)


def exact(*properties: str, shown_by: str, when: str = "", how: str = "") -> CoverageRow:
    """Treated as the specification says, which the named test shows."""
    return CoverageRow(
        properties=properties,
        treatment=Treatment.EXACT,
        when=when,
        how=how,
        issue=None,
        shown_by=shown_by,
    )


def approximated(
    *properties: str, when: str, by: IssueKind | None = None, how: str = ""
) -> CoverageRow:
    """Treated otherwise: by how much is in the issue ``by``, or in ``how``.

    Raises:
        ValueError: Neither is given.
    """
    if by is None and not how:
        raise ValueError(f"{properties}: an approximation must have a size")
    return CoverageRow(
        properties=properties,
        treatment=Treatment.APPROXIMATED,
        when=when,
        how=how,
        issue=by,
        shown_by="",
    )


def ignored(*properties: str, when: str, by: IssueKind) -> CoverageRow:
    """Without effect in this case, which the issue says."""
    return CoverageRow(
        properties=properties,
        treatment=Treatment.IGNORED,
        when=when,
        how="",
        issue=by,
        shown_by="",
    )


def refused(*properties: str, when: str, by: IssueKind) -> CoverageRow:
    """The file is not loaded in this case."""
    return CoverageRow(
        properties=properties,
        treatment=Treatment.REFUSED,
        when=when,
        how="",
        issue=by,
        shown_by="",
    )
