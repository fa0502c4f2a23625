"""Declarations of how each property of the files is treated, beside the code that decides it.

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
    """The treatment of a property."""

    EXACT = "exact"
    """The specification is kept, within rounding or the stated number."""
    APPROXIMATED = "approximated"
    """The result differs by a number that the issue or the row states."""
    IGNORED = "ignored"
    """The property has no effect."""
    REFUSED = "refused"
    """The file is not loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """Properties that are treated alike in one case."""

    properties: tuple[str, ...]
    """Their names in the files."""
    treatment: Treatment
    when: str
    """The case; ``""``: always, or in all cases that no other row names."""
    how: str
    """The accuracy, or the means."""
    issue: IssueKind | None
    """The issue that is reported then."""
    shown_by: str
    """The test that shows it, as pytest names it: ``tests/...::test_...``."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The rows that a module declares."""

    section: str
    """The heading on the page."""
    rows: tuple[CoverageRow, ...]


def covers(section: str, *rows: CoverageRow) -> Coverage:
    """Declare the rows of a module."""
    return Coverage(section, rows)


def exact(*properties: str, shown_by: str, when: str = "", how: str = "") -> CoverageRow:
    """The specification is kept, which the named test shows."""
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
    """The result differs, by a number in the issue ``by``, or in ``how``.

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
    """The property has no effect in this case, which the issue says."""
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
