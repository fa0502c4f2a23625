"""The README's coverage table names every property that any dialect reads."""

from __future__ import annotations

from tools.coverage_table import BEGIN, END, TREATMENTS, coverage_table, properties
from tools.list_issues import README, readme_with_table


def test_every_property_of_every_dialect_has_a_treatment() -> None:
    assert not set(properties()) - set(TREATMENTS)


def test_no_treatment_is_left_over() -> None:
    assert not set(TREATMENTS) - set(properties())


def test_the_readme_holds_the_table() -> None:
    readme = README.read_text(encoding="utf-8")
    assert readme_with_table(readme, coverage_table(), BEGIN, END) == readme, (
        "out of date: run python -m tools.coverage_table"
    )
