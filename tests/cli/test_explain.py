"""``gltf-bullet explain``: codes and pages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gltf_bullet.cli import output
from gltf_bullet.cli.explain import explain
from gltf_bullet.reference import issue_entries, page, page_names
from tests.cli.conftest import Run


@pytest.mark.parametrize("name", ["HULL_REDUCED", "hull_reduced", "Hull-Reduced"])
def test_a_code_is_explained(run: Run, name: str) -> None:
    done = run("explain", name)
    assert done.code == 0
    assert done.out.startswith("HULL_REDUCED warning: ")
    for label in ("What happened: ", "Why: ", "How big: ", "What to do: "):
        assert f"\n{label}" in done.out


def test_every_code_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command's own function: building the command line 215 times takes seconds."""
    monkeypatch.setenv("COLUMNS", "200")
    for code, entry in issue_entries().items():
        explain(code)
        out = capsys.readouterr().out
        assert entry.why in out
        assert entry.what_to_do in out


@pytest.mark.parametrize("name", page_names())
def test_a_page_is_printed_as_it_is_where_it_is_piped(run: Run, name: str) -> None:
    assert run("explain", name).out == page(name)
    assert run("explain", f"{name.upper()}.md").out == page(name)


def test_a_page_is_rendered_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = output.console

    def terminal() -> object:
        out = plain()
        out._force_terminal = True
        return out

    monkeypatch.setattr(output, "console", terminal)
    done = run("explain", "issues")
    assert "### HULL_REDUCED" not in done.out
    assert "HULL_REDUCED" in done.out


def test_without_a_name_all_are_listed(run: Run) -> None:
    done = run("explain")
    assert done.code == 0
    for name in [*issue_entries(), *page_names()]:
        assert name in done.out


def test_an_unknown_name_is_a_usage_error_with_near_names(run: Run) -> None:
    done = run("explain", "HULL_REDUCD")
    assert (done.code, done.out) == (2, "")
    assert "no issue code or page 'HULL_REDUCD'; did you mean 'HULL_REDUCED'" in done.err


def test_json(run: Run) -> None:
    entry = json.loads(run("explain", "HULL_REDUCED", "--json").out)
    assert entry["severity"] == "warning"
    assert all(entry.values())
    everything = json.loads(run("explain", "--json").out)
    assert [item["code"] for item in everything["codes"]] == list(issue_entries())
    assert [item["page"] for item in everything["pages"]] == list(page_names())
    assert json.loads(run("explain", "issues", "--json").out)["markdown"] == page("issues")


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys\n"
        "from gltf_bullet.cli import app\n"
        "try: app(['explain', 'HULL_REDUCED'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('pybullet', 'numpy', 'trimesh') if name in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
