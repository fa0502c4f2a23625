"""A pytest plugin: after a whole run, each issue code was the only finding of some test asset.

Records the codes that reach each :class:`Diagnostics` of the run, over all worker processes, and
fails the run where a declared code was never reported alone: a code that only comes beside others
is doubled by them, and one that never comes is not tested.
"""

from __future__ import annotations

from typing import Any

import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer
from tools.list_issues import declared_codes

_CONSEQUENCES = {"BEHAVIOR_REQUIRED", "MORE_ISSUES", "PLANE_AS_BOX"}
"""Codes that never come without another one: the graph's own findings, those that are counted,
SLOW_BOUNCE of what bounces on the plane."""

_codes_of_sinks: list[set[str]] = []
_alone_elsewhere: set[str] = set()
_report = Diagnostics.report


def _recording_report(
    sink: Diagnostics, kind: IssueKind, at: JsonPointer, **values: object
) -> None:
    codes: set[str] | None = getattr(sink, "_census", None)
    if codes is None:
        codes = set()
        sink._census = codes  # type: ignore[attr-defined]
        _codes_of_sinks.append(codes)
    codes.add(kind.code)
    _report(sink, kind, at, **values)


Diagnostics.report = _recording_report  # type: ignore[method-assign]


def _alone() -> set[str]:
    return {next(iter(codes)) for codes in _codes_of_sinks if len(codes) == 1}


def _is_whole_run(config: pytest.Config) -> bool:
    """Whether the default selection runs: no path, keyword or other marker was asked for."""
    default_markers = config.getini("addopts")[-1]
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not config.option.keyword
        and config.option.markexpr == default_markers
        and not (config.option.collectonly or config.option.ignore or config.option.deselect)
    )


class _FromWorkers:
    """Takes what the worker processes of pytest-xdist found."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        _alone_elsewhere.update(getattr(node, "workeroutput", {}).get("alone", ()))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_FromWorkers(), "issue code census of workers")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    workeroutput = getattr(session.config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput["alone"] = sorted(_alone())
        return
    if exitstatus != pytest.ExitCode.OK or not _is_whole_run(session.config):
        return
    missing = declared_codes() - _CONSEQUENCES - _alone() - _alone_elsewhere
    if missing:
        session.config._census_missing = sorted(missing)  # type: ignore[attr-defined]
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for code in getattr(config, "_census_missing", ()):
        terminalreporter.write_line(
            f"FAILED issue code census: no test asset raises {code} and nothing else", red=True
        )
