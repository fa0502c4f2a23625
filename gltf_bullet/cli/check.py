"""``gltf-bullet check``: everything wrong with files and everything the engine approximates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gltf_bullet.cli.loading import Concave, ConcaveOption, load_options

if TYPE_CHECKING:
    from gltf_bullet.runtime.report import Report

__all__ = ["check"]


def check(
    files: Annotated[list[Path], typer.Argument(help="One or more .gltf or .glb files.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code-review tools.")
    ] = False,
    concave: ConcaveOption = Concave.AUTO,
) -> None:
    """Find what is wrong with files, and what will be approximated or refused; no engine runs.

    Ends with exit code 1 when a file has an error.

    Example: gltf-bullet check examples/assets/*.gltf
    """
    if as_json and sarif:
        raise typer.BadParameter("--json and --sarif exclude each other")
    from gltf_bullet.cli.output import console, print_issues, print_json, print_table
    from gltf_bullet.cli.sarif import sarif_log
    from gltf_bullet.runtime.report import check as check_file

    with load_options(concave) as options:
        reports = [check_file(file, options=options) for file in files]
    if as_json:
        print_json([report.to_dict() for report in reports])
    elif sarif:
        print_json(sarif_log(reports))
    else:
        out = console()
        for report in reports:
            if report.issues:
                out.print(f"[bold]{report.path}[/bold]", soft_wrap=True)
                print_issues(out, report.issues)
        print_table(
            out,
            "Files",
            ("File", "Usable", "Errors>", "Approximations>", "Notes>"),
            (_summary(report) for report in reports),
        )
    if not all(report.is_usable for report in reports):
        raise typer.Exit(1)


def _summary(report: Report) -> tuple[object, ...]:
    notes = len(report.issues) - len(report.errors) - len(report.warnings)
    return (
        report.path,
        "yes" if report.is_usable else "no",
        len(report.errors),
        len(report.warnings),
        notes,
    )
