"""What the command says of mistakes: in its own words, with exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
BOX = ASSETS / "falling_box.gltf"


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("inspect", ()),
        ("simulate", ()),
        ("view", ("--web",)),
        ("convert", ("out.glb",)),
        ("bake", ("out.glb", "--seconds", "1")),
    ],
)
@pytest.mark.parametrize("name", ["missing.gltf", "missing.urdf"])
def test_a_missing_file_is_no_such_file(
    run: Run, tmp_path: Path, command: str, more: tuple[str, ...], name: str
) -> None:
    outcome = run(command, tmp_path / name, *more)
    assert outcome.code == 2
    assert "no such file" in outcome.err
    assert name in outcome.err
    assert "Errno" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("simulate", BOX, "--decomposition-threshold", "7"), "--decomposition-threshold"),
        (("check", BOX, "--max-hull-points", "1"), "--max-hull-points"),
        (("convert", BOX, BOX), "--force"),
        (("bake", BOX, BOX, "--seconds", "0.1"), "--force"),
    ],
)
def test_options_are_named_as_they_are_typed(
    run: Run, arguments: tuple[object, ...], option: str
) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert option in outcome.err
    assert option.strip("-").replace("-", "_") + " is" not in outcome.err


def test_inspect_breaks_no_name_at_80_columns(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path in sorted(ASSETS.glob("*.gltf")):
        bodies = [
            line.split() for line in run("inspect", path).out.split("Bodies (", 1)[-1].splitlines()
        ]
        listed = json.loads(run("inspect", path, "--json").out)["bodies"]
        assert all(any(body["name"] in words for words in bodies) for body in listed), path
    long = "a name with blanks, and longer than any terminal is wide " * 2
    text = (ASSETS / "hinge_door.gltf").read_text().replace('"Door"', f'"{long.strip()}"')
    (tmp_path / "long.gltf").write_text(text)
    assert long.strip() in run("inspect", tmp_path / "long.gltf").out


def test_a_conversion_that_takes_its_time_says_what_it_does(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gltf_bullet.cli.waiting.PATIENCE", 0.0)
    robot = tmp_path / "robot.urdf"
    robot.write_text(
        '<robot name="r"><link name="base"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    outcome = run("convert", robot, tmp_path / "robot.glb")
    assert outcome.code == 0
    assert "Reading robot.urdf" in outcome.err


@pytest.mark.skipif(os.name == "nt", reason="there, programs are started with open streams")
@pytest.mark.parametrize("stream", [1, 2])
def test_a_closed_stream_takes_what_is_printed(stream: int) -> None:
    """``>&-``: there was a traceback about None."""
    program = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, sys.argv[2:])"
    command = [sys.executable, "-m", "gltf_bullet", "check", str(BOX)]
    done = subprocess.run(
        [sys.executable, "-c", program, str(stream), *command],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_table_is_kept_when_a_page_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    outcome = run(
        "simulate", BOX, "--seconds", "0.1",
        "--csv", tmp_path / "table.csv", "--html", tmp_path / "page.html",
    )  # fmt: skip
    assert outcome.code == 2
    assert "nothing was written for --html" in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "table.csv"]
