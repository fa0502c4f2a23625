"""Figures are held or fail their test, and shown where they are asked for."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.parametrize("robot", ["a1", "r2d2"])
def test_reach(figure, robot):
    figure("reach", 0.5, most=1, unit="m")

@pytest.mark.parametrize("found", [2.0, float("nan")])
def test_too_far(figure, found):
    figure("gap", found, least=0, most=1, unit="m")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["here", "xdist"])
def test_figures_are_shown_with_their_bounds(pytester: pytest.Pytester, workers: list[str]) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("-p", "tests.figures", "--figures", *workers)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.re_match_lines(
        [
            r".*::test_reach$",
            r" +a1 +reach +0\.5 +<= 1 +m$",
            r" +r2d2 +reach +0\.5 +<= 1 +m$",
            r".*::test_too_far$",
            r" +2\.0 +gap +2 +>= 0 and <= 1 +m +NOT HELD$",
            r" +nan +gap +nan +>= 0 and <= 1 +m +NOT HELD$",
        ]
    )


def test_nothing_is_shown_unasked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    assert "reach  " not in str(pytester.runpytest("-p", "tests.figures").stdout)
