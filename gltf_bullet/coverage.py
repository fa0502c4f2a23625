"""Coverage of the files' properties, declared beside the code that decides about each.

The rows of all modules make the reference page ``coverage``, by ``tools/coverage_table.py``; a test
fails if a property that some dialect reads has no row, or if a row names a test that does not
exist.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gltf_bullet.diagnostics import IssueKind


class Treatment(enum.Enum):
    """Treatment of a property by this library."""

    EXACT = "exact"
    """The specification is kept, within rounding or the stated number."""
    APPROXIMATED = "approximated"
    """Different from the specification, by a number that the issue or the row states."""
    IGNORED = "ignored"
    """The property has no effect."""
    REFUSED = "refused"
    """A reason to refuse the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """Properties with the same treatment in one case."""

    properties: tuple[str, ...]
    """Names in the spelling of the files."""
    treatment: Treatment
    when: str
    """The case; ``""``: always, or in all cases that no other row names."""
    how: str
    """Accuracy or means of the treatment."""
    issue: IssueKind | None
    """Issue that is reported in this case."""
    shown_by: str
    """The test that shows it, as pytest names it: ``tests/...::test_...``."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The rows that a module declares."""

    section: str
    """Heading on the page."""
    rows: tuple[CoverageRow, ...]


def covers(section: str, *rows: CoverageRow) -> Coverage:
    """Declare the rows of a module."""
    return Coverage(section, rows)


def exact(*properties: str, shown_by: str, when: str = "", how: str = "") -> CoverageRow:
    """A row for properties treated as the specification says, which the named test shows."""
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
    """A row for approximated properties; the issue ``by`` or ``how`` states the size of the error.

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
    """A row for properties without effect in this case, which the issue reports."""
    return CoverageRow(
        properties=properties,
        treatment=Treatment.IGNORED,
        when=when,
        how="",
        issue=by,
        shown_by="",
    )


def refused(*properties: str, when: str, by: IssueKind) -> CoverageRow:
    """A row for properties because of which the file is not loaded in this case."""
    return CoverageRow(
        properties=properties,
        treatment=Treatment.REFUSED,
        when=when,
        how="",
        issue=by,
        shown_by="",
    )
