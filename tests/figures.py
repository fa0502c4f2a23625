"""A pytest plugin: what tests measure, asserted against a bound and reported with ``--figures``.

``figure("forward kinematics", worst, most=1e-6, unit="m")`` fails the test where the bound is not
kept: no figure is reported that is not held. The report also names those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

PROPERTY = "figure"
"""In ``report.user_properties``, which pytest-xdist brings home from its workers."""


class Figure(Protocol):
    """Report what was found and require it to be within a bound."""

    def __call__(
        self,
        name: str,
        found: float,
        *,
        most: float | None = None,
        least: float | None = None,
        unit: str = "",
    ) -> None: ...


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """Report what was found and require it to be within a bound."""

    def held(
        name: str,
        found: float,
        *,
        most: float | None = None,
        least: float | None = None,
        unit: str = "",
    ) -> None:
        assert most is not None or least is not None, f"{name}: a figure needs a bound"
        # Written so that what is not a number is not held.
        is_low = most is None or bool(found <= most)
        is_high = least is None or bool(found >= least)
        bound = " and ".join(
            f"{sign} {value:.6g}"
            for sign, value in ((">=", least), ("<=", most))
            if value is not None
        )
        row = (name, f"{found:.4g}", bound, unit, is_low and is_high)
        request.node.user_properties.append((PROPERTY, list(row)))
        assert is_low, f"{name}: {found:.9g} {unit} is above {most:.9g}"
        assert is_high, f"{name}: {found:.9g} {unit} is below {least:.9g}"

    return held


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--figures", action="store_true", help="Print what tests measured against its bounds."
    )


def _by_test(terminalreporter: pytest.TerminalReporter) -> dict[str, list[tuple[str, ...]]]:
    """Rows below the name of each test, which runs once for each of its parameters."""
    rows: dict[str, list[tuple[str, ...]]] = {}
    for outcome in terminalreporter.stats.values():
        for report in outcome:
            if getattr(report, "when", "") == "call":
                test, _, subject = report.nodeid.partition("[")
                for line in _lines(report, subject.removesuffix("]")):
                    rows.setdefault(test, []).append(line)
    return rows


def _lines(report: pytest.TestReport, subject: str) -> Iterator[tuple[str, ...]]:
    for key, values in report.user_properties:
        if key == PROPERTY:
            name, found, bound, unit, is_held = values  # type: ignore[misc]
            yield subject, name, found, bound, unit, "" if is_held else "NOT HELD"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--figures"):
        return
    tests = _by_test(terminalreporter)
    terminalreporter.section("figures")
    for test in sorted(tests):
        terminalreporter.write_line(test)
        names = list(dict.fromkeys(row[1] for row in tests[test]))
        rows = sorted(tests[test], key=lambda row: names.index(row[1]))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            terminalreporter.write_line("    " + "  ".join(cells).rstrip())
