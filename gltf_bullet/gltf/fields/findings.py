"""What is said of a wrong member: an error where nothing can stand in for it, else a warning.

A caller that has something to put in the place of a wrong member says so by ``instead``, the end of
the message: ``"0.6 is used"``, ``"it is left out"``. Broken but readable beats refused.
"""

from __future__ import annotations

import reprlib

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, Severity

__all__ = [
    "ABSENCE_MENDED",
    "INDEX_MEANS_NONE",
    "INDEX_MENDED",
    "INDEX_OUT_OF_RANGE",
    "RANGE_MENDED",
    "REFERENCE_MISSING",
    "REQUIRED_MISSING",
    "TYPE_MENDED",
    "VALUE_NOT_ALLOWED",
    "VALUE_OUT_OF_RANGE",
    "WORD_MENDED",
    "WRONG_TYPE",
    "missing",
    "not_allowed",
    "out_of_range",
    "shown",
    "wrong_index",
    "wrong_type",
]

WRONG_TYPE = IssueKind("WRONG_TYPE", Severity.ERROR, "{key} is {got}; must be {allowed}")
TYPE_MENDED = IssueKind(
    "TYPE_MENDED", Severity.WARNING, "{key} is {got}; must be {allowed}; {instead}"
)
VALUE_OUT_OF_RANGE = IssueKind(
    "VALUE_OUT_OF_RANGE", Severity.ERROR, "{key} is {got}; must be {allowed}"
)
RANGE_MENDED = IssueKind(
    "RANGE_MENDED", Severity.WARNING, "{key} is {got}; must be {allowed}; {instead}"
)
VALUE_NOT_ALLOWED = IssueKind(
    "VALUE_NOT_ALLOWED", Severity.ERROR, "{key} is {got}; must be one of {allowed}"
)
WORD_MENDED = IssueKind(
    "WORD_MENDED", Severity.WARNING, "{key} is {got}; must be one of {allowed}; {instead}"
)
INDEX_OUT_OF_RANGE = IssueKind(
    "INDEX_OUT_OF_RANGE", Severity.ERROR, "{key} is {got}; must be an index below {count}"
)
INDEX_MENDED = IssueKind(
    "INDEX_MENDED", Severity.WARNING, "{key} is {got}; must be an index below {count}; {instead}"
)
REFERENCE_MISSING = IssueKind(
    "REFERENCE_MISSING",
    Severity.ERROR,
    "{key} is {got}, which does not exist: there are {count}, counted from 0; {instead}",
    loads=True,
)
INDEX_MEANS_NONE = IssueKind(
    "INDEX_MEANS_NONE",
    Severity.WARNING,
    "{key} is -1; must be left out to mean none; {instead}",
)
REQUIRED_MISSING = IssueKind(
    "REQUIRED_MISSING", Severity.ERROR, "{key} is missing; must be {allowed}"
)
ABSENCE_MENDED = IssueKind(
    "ABSENCE_MENDED", Severity.WARNING, "{key} is missing; must be {allowed}; {instead}"
)

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: object) -> str:
    """A value of the file, short enough for a message."""
    # Content may be megabytes long, nested past the recursion limit, or an integer too long for
    # str(); reprlib looks at its beginning only.
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def wrong_type(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """The member at ``at`` is of another JSON type."""
    kinds = WRONG_TYPE, TYPE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def out_of_range(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """The number at ``at`` is none that it may be."""
    kinds = VALUE_OUT_OF_RANGE, RANGE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def not_allowed(
    key: str,
    value: object,
    allowed: str,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
) -> None:
    """The word at ``at`` is none of the ``allowed`` ones."""
    kinds = VALUE_NOT_ALLOWED, WORD_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), allowed=allowed)


def wrong_index(
    key: str,
    value: int,
    count: int,
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
    *,
    refers: bool = False,
) -> None:
    """The index at ``at`` leads nowhere; exporters write -1 for none.

    Where it ``refers`` to a part of the physics, that part is lost, which is an error.
    """
    if value == -1 and instead is not None:
        diagnostics.report(INDEX_MEANS_NONE, at, key=key, instead=instead)
        return
    kinds = INDEX_OUT_OF_RANGE, REFERENCE_MISSING if refers else INDEX_MENDED
    _report(kinds, at, diagnostics, instead, key=key, got=shown(value), count=count)


def missing(
    key: str, allowed: str, at: JsonPointer, diagnostics: Diagnostics, instead: str | None
) -> None:
    """The required member ``key`` is not there."""
    kinds = REQUIRED_MISSING, ABSENCE_MENDED
    _report(kinds, at, diagnostics, instead, key=key, allowed=allowed)


def _report(
    kinds: tuple[IssueKind, IssueKind],
    at: JsonPointer,
    diagnostics: Diagnostics,
    instead: str | None,
    **values: object,
) -> None:
    """The error of two kinds, or the warning that says what is done ``instead``."""
    error, warning = kinds
    if instead is None:
        diagnostics.report(error, at, **values)
    else:
        diagnostics.report(warning, at, **values, instead=instead)
