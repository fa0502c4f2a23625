"""The coverage page has a row for every property that any dialect reads, and each is backed."""

from __future__ import annotations

import ast

import pytest

from tools.coverage_table import (
    PAGE,
    TREATMENTS,
    Row,
    coverage_page,
    operation_rows,
    properties,
    written_rows,
)
from tools.list_issues import ROOT, declared_kinds

SECTIONS = written_rows(PAGE.read_text(encoding="utf-8"))
ROWS = [row for rows in SECTIONS.values() for row in rows]
NAMES = {row.name for row in ROWS}
KINDS = declared_kinds()


def row_id(row: Row) -> str:
    return f"{row.name}-{row.treatment}-{row.when}"


def test_every_property_of_every_dialect_has_a_row() -> None:
    assert not set(properties()) - NAMES


def test_no_row_is_left_over() -> None:
    assert not NAMES - set(properties())


@pytest.mark.parametrize("row", [row for row in ROWS if row.treatment == "exact"], ids=row_id)
def test_what_is_called_exact_is_shown_by_a_test(row: Row) -> None:
    path, _, name = row.shown_by.partition("::")
    module = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    (found,) = (
        statement
        for statement in module.body
        if isinstance(statement, ast.FunctionDef) and statement.name == name
    )
    marks = " ".join(map(ast.unparse, found.decorator_list))
    assert "xfail" not in marks
    assert "skip" not in marks


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_the_issue_of_a_row_is_as_severe_as_its_treatment(row: Row) -> None:
    assert row.treatment in TREATMENTS
    if row.issue is not None:
        is_error = KINDS[row.issue].severity == "ERROR" and not KINDS[row.issue].loads
        assert is_error == (row.treatment == "refused")


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_what_is_not_exact_has_a_size_or_an_issue(row: Row) -> None:
    assert row.how or row.treatment == "exact"
    assert row.issue or row.treatment in ("exact", "approximated")


def test_one_case_of_a_property_has_one_row() -> None:
    for section, rows in SECTIONS.items():
        cases = [(row.name, row.when) for row in rows]
        assert len(cases) == len(set(cases)), section


@pytest.mark.parametrize(("name", "test"), [(name, test) for name, _, _, test in operation_rows()])
def test_every_operation_is_shown_by_a_test(name: str, test: str) -> None:
    path, _, function = test.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_the_page_is_what_the_modules_declare() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == coverage_page(page), "out of date: run python -m tools.coverage_table"
