"""``gltf-bullet check``: all errors of files, and everything that the engine approximates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from gltf_bullet.cli.loading import Loading, takes_loading
from gltf_bullet.diagnostics import Issue, Severity
from gltf_bullet.printable import printable

if TYPE_CHECKING:
    from gltf_bullet.runtime.report import Report

SUMMARY = " {:<6}  {:>6}  {:>14}  {:>5}  {}"


@takes_loading
def check(
    files: Annotated[list[Path], typer.Argument(help="One or more .gltf or .glb files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code-review tools.")
    ] = False,
    *,
    loading: Loading,
) -> None:
    """Find what is wrong with files, and what will be approximated or refused; no engine runs.

    Ends with exit code 1 when a file has an error, 2 where no file can be read.

    Example: gltf-bullet check examples/assets/*.gltf
    """
    if as_json and sarif:
        raise typer.BadParameter("--json and --sarif exclude each other")
    from gltf_bullet.cli.output import console, plain, print_issues, print_json
    from gltf_bullet.runtime.report import check as check_file

    with loading.options() as options:
        reports = [check_file(file, options=options) for file in files]
    if as_json:
        print_json([report.to_dict() for report in reports])
    elif sarif:
        print_json(sarif_log(reports))
    else:
        out = console()
        for report in reports:
            if report.issues:
                out.print(plain(report.path, "bold"), soft_wrap=True)
                print_issues(out, report.issues)
        # No table: names of files stay whole, to be searched for and copied.
        out.print(SUMMARY.format("Usable", "Errors", "Approximations", "Notes", "File"))
        for report in reports:
            out.print(SUMMARY.format(*_summary(report)), soft_wrap=True, markup=False)
    errors = [issue for report in reports for issue in report.errors]
    if errors:
        unread = all(issue.code == "FILE_UNREADABLE" for issue in errors)
        raise typer.Exit(2 if unread else 1)


def _summary(report: Report) -> tuple[object, ...]:
    notes = len(report.issues) - len(report.errors) - len(report.warnings)
    usable = "yes" if report.is_usable else "no"
    return usable, len(report.errors), len(report.warnings), notes, printable(report.path)


# --- Reports as SARIF 2.1.0, which code-review tools show beside the file -------------------------

LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif_log(reports: Sequence[Report]) -> dict[str, Any]:
    """One run over all files; the location of a finding is its JSON pointer."""
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
                    # The reader works on values, not on text: a location is a pointer, not a line.
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": str(issue.pointer) or "/", "kind": "object"}
                ],
            }
        ],
    }
