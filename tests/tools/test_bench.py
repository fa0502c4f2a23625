"""The benchmarks list their rows and goals, and measure ratios."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tools.bench.__main__ import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_its_rows_and_goals_are_listed() -> None:
    outcome = run("--list")
    assert outcome.exit_code == 0
    for row in ("load-boxes", "load-spheres", "load-parse", "step-falling", "memory"):
        assert row in outcome.stdout


def test_an_unknown_row_is_wrong_usage() -> None:
    assert run("no-such-row").exit_code == 2


def rows(*arguments: str) -> Sequence[dict[str, float]]:
    found: Sequence[dict[str, float]] = json.loads(
        run(*arguments, "--repeats", "1", "--json").stdout
    )
    return found


@pytest.mark.slow
def test_what_a_new_process_costs_is_measured() -> None:
    seconds = {row["row"]: row["seconds"] for row in rows("start")}
    assert seconds["new-process"] > 0.0


@pytest.mark.slow
def test_ratios_are_measured() -> None:
    found = rows("load-parse", "step-falling")
    assert [row["row"] for row in found] == ["load-parse", "step-falling"]
    for row in found:
        assert row["value"] == pytest.approx(row["ours"] / row["pybullet"])
        assert math.isfinite(row["value"])
