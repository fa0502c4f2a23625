"""Reports as SARIF 2.1.0, which code-review tools show beside the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gltf_bullet.diagnostics import Issue, Severity

if TYPE_CHECKING:
    from gltf_bullet.runtime.report import Report

__all__ = ["sarif_log"]

LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif_log(reports: Sequence[Report]) -> dict[str, Any]:
    """One run over all files; the place of a finding is its JSON pointer."""
    from gltf_bullet.reference import issue_entries
    from gltf_bullet.version import __version__

    kinds = {issue.kind.code: issue.kind for report in reports for issue in report.issues}
    entries = issue_entries()
    codes = sorted(kinds)
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gltf-bullet",
                        "version": __version__,
                        "rules": [
                            {
                                "id": code,
                                "shortDescription": {"text": kinds[code].message},
                                "fullDescription": {"text": entries[code].why},
                                "help": {"text": entries[code].what_to_do},
                                "defaultConfiguration": {"level": LEVEL[kinds[code].severity]},
                            }
                            for code in codes
                        ],
                    }
                },
                "results": [
                    _result(report.path, issue, codes.index(issue.code))
                    for report in reports
                    for issue in report.issues
                ],
            }
        ],
    }


def _result(path: str, issue: Issue, rule: int) -> dict[str, Any]:
    return {
        "ruleId": issue.code,
        "ruleIndex": rule,
        "level": LEVEL[issue.severity],
        "message": {"text": issue.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(PurePath(path).as_posix())},
                    # The reader works on values, not on text: a pointer says where, not a line.
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": str(issue.pointer) or "/", "kind": "object"}
                ],
            }
        ],
    }
