"""The coverage page has a row for every property that any dialect reads, and each is backed."""

from __future__ import annotations

import ast

import pytest

from gltf_bullet.coverage import CoverageRow, Treatment, approximated
from gltf_bullet.diagnostics import Severity
from tools.coverage_table import (
    PAGE,
    coverage_page,
    declared_rows,
    introduction_of,
    operation_rows,
    properties,
)
from tools.list_issues import ROOT

ROWS = [row for rows in declared_rows().values() for row in rows]
NAMES = {name for row in ROWS for name in row.properties}


def row_id(row: CoverageRow) -> str:
    return f"{row.properties[0]}-{row.treatment.value}-{row.when}"


def test_every_property_of_every_dialect_has_a_row() -> None:
    assert not set(properties()) - NAMES


def test_no_row_is_left_over() -> None:
    assert not NAMES - set(properties())


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.treatment is Treatment.EXACT], ids=row_id
)
def test_what_is_called_exact_is_shown_by_a_test(row: CoverageRow) -> None:
    path, _, name = row.shown_by.partition("::")
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    (found,) = (
        statement
        for statement in module.body
        if isinstance(statement, ast.FunctionDef) and statement.name == name
    )
    marks = " ".join(map(ast.unparse, found.decorator_list))
    assert "xfail" not in marks
    assert "skip" not in marks


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_the_issue_of_a_row_is_as_severe_as_its_treatment(row: CoverageRow) -> None:
    if row.issue is not None:
        is_error = row.issue.severity is Severity.ERROR and not row.issue.loads
        assert is_error == (row.treatment is Treatment.REFUSED)


def test_one_case_of_a_property_has_one_row() -> None:
    for section, rows in declared_rows().items():
        cases = [(name, row.when) for row in rows for name in row.properties]
        assert len(cases) == len(set(cases)), section


@pytest.mark.parametrize(("name", "test"), [(name, test) for name, _, _, test in operation_rows()])
def test_every_operation_is_shown_by_a_test(name: str, test: str) -> None:
    path, _, function = test.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_an_approximation_without_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match="must have a size"):
        approximated("mass", when="always")


def test_the_page_is_what_the_modules_declare() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == coverage_page(introduction_of(page)), (
        "out of date: run python -m tools.coverage_table"
    )
